"""``rankgate stages``: the gain of each stage of a ranking, and the bottleneck."""

from __future__ import annotations

import functools
import sys
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from rankgate.core.console import shared_options
from rankgate.core.console.declared_options import (
    label,
    own_options,
    parse_labels,
    value_options,
    verb_options,
)
from rankgate.core.console.option_types import TEST, SectionedCommand
from rankgate.core.console.terminal_output import TerminalProgress, prints
from rankgate.core.errors import InputError, UsageError
from rankgate.decisions.comparison.inference import Correction, Test
from rankgate.decisions.pipelines.stage_runner import LivePipeline, is_pipeline
from rankgate.decisions.pipelines.stages_verb import CORRECTIONS, METRICS, TEST_FIELDS, stages
from rankgate.engines.snapshots.query_sender import queries_of
from rankgate.measurement import metric_options
from rankgate.measurement.collection_options import of_collection

if TYPE_CHECKING:
    from rankgate.core.console.option_types import Command
    from rankgate.core.present.base_result import Result
    from rankgate.data.collection import Collection


def _pipeline_arguments(function: Command) -> Command:
    """PIPELINE.toml QUERIES QRELS as a `LivePipeline` and judgments, where the first is one."""

    @functools.wraps(function)
    def with_pipeline(
        *args: Any,
        qrels: str,
        runs: tuple[str, ...],
        parameters: tuple[str, ...],
        folder: str | None,
        again: bool,
        force: bool,
        **options: Any,
    ) -> object:
        pipeline = None
        if is_pipeline(qrels):
            if len(runs) != 2:
                problem = f"{qrels}: a pipeline takes two more files, QUERIES and QRELS."
                raise UsageError(problem, code="missing-input")
            pipeline = LivePipeline(qrels, queries_of(runs[0]), parameters, folder, again, force)
            qrels, runs = runs[1], ()
        elif parameters or folder or again or force:
            problem = (
                "queries, parameters, folder, again and force are for a pipeline's TOML file; leave them out "
                "where the runs of its stages are given."
            )
            raise UsageError(problem, code="unused-option")
        return function(*args, qrels=qrels, runs=runs, pipeline=pipeline, **options)

    return with_pipeline


@click.command("stages", cls=SectionedCommand)
@shared_options.paths("qrels QRELS RUN... | PIPELINE.toml QUERIES QRELS")
@click.argument("runs", type=click.Path(), nargs=-1, required=True, metavar="")
@metric_options.metrics_option(
    f"A metric such as nDCG@10; may be given several times. Without it: {', '.join(METRICS)}.", METRICS
)
@metric_options.metrics_from
@metric_options.convention
@verb_options(stages, "target METRIC", "depth")
@label
@own_options("approximates STAGE")
@shared_options.parameters(
    "A setting of a pipeline's stage, as in hybrid.k=30 or rerank.depth=50; may be given several times."
)
@verb_options(LivePipeline, "folder", "again", "force")
@value_options("test", Test, *(name for name in TEST_FIELDS if name != "correction"), section=TEST)
@own_options("correction", choices={"correction": CORRECTIONS}, section=TEST)
@prints
@_pipeline_arguments
@of_collection("runs")
def stages_command(
    collection: Collection,
    runs: tuple[str, ...],
    *,
    pipeline: LivePipeline | None,
    labels: tuple[str, ...],
    approximates: tuple[str, ...] = (),
    test: Test,
    correction: Correction = Test.correction,
    **options_of_stages: Any,
) -> Result:
    """Follow a ranking through its stages: one RUN after each stage, retrieval first.

    With PIPELINE.toml, which names engines, fusions and rerankers, the stages run QUERIES
    first, and the latency of each stage and of the whole is shown too. Their runs are kept, so
    that the same command goes on after an interruption. Exits with 3 if an engine is down before
    all queries have run.

    Shows what each step changes, the ceiling (the best that any reranker could make of its
    candidates), added and removed documents, the grades of the first documents, and the bottleneck.

    \b
    rankgate stages qrels.txt bm25.run dense.run rrf.run rerank.run
    rankgate stages qrels.txt rrf.run rerank.run --depth 50 --label 3=Exact --label 2=Substitute
    rankgate stages neighbours.qrels exact.run graph.run --approximates graph
    rankgate stages pipeline.toml queries.tsv qrels.txt
    rankgate stages pipeline.toml queries.tsv qrels.txt --parameter rerank.depth=50
    \f

    Options:
        approximates: Stages that are an approximate search of the one before, by quantised vectors or
            a graph; may be given several times.
        correction: The correction of p-values over all steps and metrics.
    """
    if pipeline is None:
        ranked: Any = list(runs)
        steps = len(runs)
    else:
        ranked = pipeline
        steps = len(pipeline.file.stages) * (len(queries_of(pipeline.queries)) + 1)
    try:
        with TerminalProgress(steps + 1):
            result = stages(
                collection,
                ranked,
                labels=parse_labels(labels),
                approximates=approximates,
                test=replace(test, correction=correction),
                **options_of_stages,
            )
    except InputError as error:
        if error.code != "unfinished-snapshot":
            raise
        click.echo(f"rankgate: {error}", err=True)
        sys.exit(3)
    return result
