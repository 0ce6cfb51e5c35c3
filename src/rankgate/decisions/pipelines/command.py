"""``rankgate stages``: what each stage of a ranking gains, and where most is lost."""

from __future__ import annotations

import sys
from typing import Any

import click

from rankgate.core.console import options
from rankgate.core.console.declared_options import collected, options_of
from rankgate.core.console.labels import label, labelled
from rankgate.core.console.output import print_result
from rankgate.core.console.progress import Progress
from rankgate.core.errors import InputError, UsageError
from rankgate.core.present.write import FORMS
from rankgate.decisions.comparison.inference import Test
from rankgate.decisions.pipelines.live import is_pipeline
from rankgate.decisions.pipelines.verb import CORRECTIONS, METRICS, stages
from rankgate.measurement import metric_options


@click.command("stages")
@click.argument("qrels", type=click.Path(), metavar="QRELS RUN... | PIPELINE.toml QUERIES QRELS")
@click.argument("runs", type=click.Path(), nargs=-1, required=True, metavar="")
@metric_options.metrics_option(
    f"A metric such as nDCG@10; may be given several times. Without it: {', '.join(METRICS)}.",
    METRICS,
)
@metric_options.metrics_from
@metric_options.convention
@options_of(stages, "target METRIC", "depth")
@label
@collected("test", Test, "method", "interval", "level", "resamples", "seed")
@options_of(stages, "correction", "unequal", choices={"correction": CORRECTIONS})
@options.parameters(
    "A setting of a pipeline's stage, as in hybrid.k=30 or rerank.depth=50; may be given several "
    "times."
)
@options_of(stages, "folder", "again", "force")
@options.form(*FORMS)
@options.output
def command(
    qrels: str,
    runs: tuple[str, ...],
    labels: tuple[str, ...],
    test: Test,
    form: str,
    output: str | None,
    **chosen: Any,
) -> None:
    """Follow a ranking through its stages: one RUN after each stage, retrieval first.

    With PIPELINE.toml, which names engines, fusions and rerankers, the stages are asked QUERIES
    first, and the latency of each stage and of the whole is shown too. Their runs are kept, so
    that the same command goes on after an interruption. Exits with 3 if an engine is down before
    all queries are asked.

    Shows what each step changes, the ceiling (the best that any reranker could make of its
    candidates), added and removed documents, the grades of the first documents, and the bottleneck.

    \b
    rankgate stages qrels.txt bm25.run dense.run rrf.run rerank.run
    rankgate stages qrels.txt rrf.run rerank.run --depth 50 --label 3=Exact --label 2=Substitute
    rankgate stages pipeline.toml queries.tsv qrels.txt
    rankgate stages pipeline.toml queries.tsv qrels.txt --parameter rerank.depth=50
    """
    live: dict[str, Any] = {}
    given: str | list[str] = list(runs)
    steps = len(runs)
    if is_pipeline(qrels):
        live, qrels, given, steps = _live(qrels, runs)
    drawn = {name: getattr(test, name) for name in ("interval", "level", "resamples", "seed")}
    try:
        with Progress(steps + 1):
            pipeline = stages(
                qrels,
                given,
                labels=labelled(labels),
                test=test.method,
                **drawn,
                **live,
                **chosen,
            )
    except InputError as error:
        if error.code != "unfinished-snapshot":
            raise
        click.echo(f"rankgate: {error}", err=True)
        sys.exit(3)
    print_result(pipeline, form, output)


def _live(pipeline: str, words: tuple[str, ...]) -> tuple[dict[str, Any], str, str, int]:
    """The queries, the judgments, the pipeline, and how many steps it has."""
    if len(words) != 2:
        problem = f"{pipeline}: a pipeline takes two more files, QUERIES and QRELS."
        raise UsageError(problem, code="missing-input")
    from rankgate.decisions.pipelines.pipeline_file import read
    from rankgate.engines.snapshots.queries import queries_of

    asked = queries_of(words[0])
    count = len(read(pipeline).stages)
    return {"queries": asked}, words[1], pipeline, count * (len(asked) + 1)
