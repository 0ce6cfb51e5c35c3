"""``rankgate stages``: what each stage of a ranking gains, and where most is lost."""

from __future__ import annotations

from typing import Any

import click

from rankgate.comparison.inference import Test
from rankgate.comparison.pairs import UNEQUAL
from rankgate.console import options
from rankgate.console.declared_options import collected, options_of
from rankgate.console.labels import label, labelled
from rankgate.console.output import print_result
from rankgate.console.progress import Progress
from rankgate.pipelines.verb import CORRECTIONS, METRICS, stages
from rankgate.present.write import FORMS


@click.command("stages")
@options.qrels
@options.runs
@options.metrics_option(
    f"A metric such as nDCG@10; may be given several times. Without it: {', '.join(METRICS)}.",
    METRICS,
)
@options.metrics_from
@options.convention
@options_of(stages, "target METRIC", "depth")
@label
@collected("test", Test, "method", "interval", "level", "resamples", "seed")
@options_of(
    stages, "correction", "unequal", choices={"correction": CORRECTIONS, "unequal": UNEQUAL}
)
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

    Shows what each step changes, the ceiling (the best that any reranker could make of its
    candidates), added and removed documents, the grades of the first documents, and the bottleneck.

    \b
    rankgate stages qrels.txt bm25.run dense.run rrf.run rerank.run
    rankgate stages qrels.txt rrf.run rerank.run --depth 50 --label 3=Exact --label 2=Substitute
    """
    drawn = {name: getattr(test, name) for name in ("interval", "level", "resamples", "seed")}
    with Progress(len(runs) + 1) as progress:
        pipeline = stages(
            qrels,
            list(runs),
            labels=labelled(labels),
            test=test.method,
            on_progress=progress,
            **drawn,
            **chosen,
        )
    print_result(pipeline, form, output)
