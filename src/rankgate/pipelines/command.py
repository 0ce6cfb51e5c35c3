"""``rankgate stages``: what each stage of a ranking gains, and where most is lost."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rankgate.comparison.commands import options as comparing
from rankgate.comparison.inference import Test
from rankgate.console import options
from rankgate.console.declared_options import collected
from rankgate.console.labels import label, labelled
from rankgate.console.output import print_result
from rankgate.console.places import refuse_clashes
from rankgate.console.progress import Progress
from rankgate.metrics.plugins import from_file
from rankgate.pipelines.verb import CORRECTIONS, DEPTH, METRICS, stages
from rankgate.present.write import FORMS

if TYPE_CHECKING:
    from rankgate.scoring import Convention


@click.command("stages")
@options.qrels
@options.runs
@options.metrics_option(
    f"A metric such as nDCG@10; may be given several times. Without it: {', '.join(METRICS)}.",
    METRICS,
)
@options.metrics_from
@options.convention
@click.option(
    "--target",
    metavar="METRIC",
    help="The metric whose ceiling is computed; without it the first nDCG with a cutoff.",
)
@click.option(
    "--depth",
    type=click.IntRange(min=1),
    default=DEPTH,
    show_default=True,
    help="How many documents of a stage are the candidates of the next.",
)
@label
@collected("test", Test, "method", "interval", "level", "resamples", "seed")
@click.option(
    "--correction",
    type=click.Choice(CORRECTIONS),
    default="holm",
    show_default=True,
    help="Of p over all steps and metrics.",
)
@comparing.unequal
@options.form(*FORMS)
@options.output
def command(
    qrels: str,
    runs: tuple[str, ...],
    metrics: tuple[str, ...],
    metrics_from: str | None,
    convention: Convention,
    target: str | None,
    depth: int,
    labels: tuple[str, ...],
    test: Test,
    correction: str,
    unequal: str,
    form: str,
    output: str | None,
) -> None:
    """Follow a ranking through its stages: one RUN after each, the first retrieval first.

    Tells what each step changes, the ceiling that its candidates leave to any reranker, documents
    that came and went, the labels of the first documents, and the bottleneck.

    \b
    rankgate stages qrels.txt bm25.run dense.run rrf.run rerank.run
    rankgate stages qrels.txt rrf.run rerank.run --depth 50 --label 3=Exact --label 2=Substitute
    """
    refuse_clashes((qrels, *runs), output)
    named = labelled(labels)
    with Progress(len(runs) + 1) as progress:
        pipeline = stages(
            qrels, list(runs), metrics, convention, target=target, depth=depth, labels=named,
            test=test.method, interval=test.interval, level=test.level, correction=correction,
            resamples=test.resamples, seed=test.seed, unequal=unequal,
            extra=from_file(metrics_from), on_progress=progress,
        )  # fmt: skip
    print_result(pipeline, form, output)
