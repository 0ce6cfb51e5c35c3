"""``rankgate eval``: score runs against judgments."""

from __future__ import annotations

import click

from rankgate import services
from rankgate.cli import options
from rankgate.cli.places import deliver, refuse_clashes
from rankgate.cli.progress import Progress
from rankgate.report.evaluation import FORMS, render


@click.command("eval")
@options.qrels
@options.runs
@options.metrics
@options.metrics_from
@options.convention
@click.option("--per-query", is_flag=True, help="Every query too, not only the means.")
@click.option(
    "--bounds",
    is_flag=True,
    help="Beside each value what it would be if all unjudged documents were irrelevant, and if "
    "all were best.",
)
@options.form(*FORMS)
@options.output
def command(  # noqa: PLR0917 - click passes them by name
    qrels: str,
    runs: tuple[str, ...],
    metrics: tuple[str, ...],
    metrics_from: str | None,
    convention: services.Convention,
    per_query: bool,  # noqa: FBT001 - a flag of the command line
    bounds: bool,  # noqa: FBT001 - as above
    form: str,
    output: str | None,
) -> None:
    """Score each RUN against the judgments in QRELS; `-` is standard input.

    \b
    rankgate eval qrels.txt bm25.run dense.run -m nDCG@10 -m RR@10
    """  # noqa: D301 - click needs the character that \b makes
    refuse_clashes((qrels, *runs), output)
    extra = services.metrics_from(metrics_from)
    with Progress(len(runs)) as progress:
        result = services.evaluate(
            qrels, runs, metrics, convention, bounds=bounds, extra=extra, on_progress=progress
        )
    deliver(render(result, form, per_query=per_query), output)
