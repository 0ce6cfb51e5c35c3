"""``rankgate blindspots``: what the chosen metrics cannot see."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rankgate.blind_spots.verb import blindspots
from rankgate.console import options
from rankgate.console.output import print_result
from rankgate.console.places import refuse_clashes
from rankgate.console.progress import Progress
from rankgate.metrics.plugins import from_file
from rankgate.present.write import FORMS

if TYPE_CHECKING:
    from rankgate.scoring import Convention


@click.command("blindspots")
@options.qrels
@click.argument("baseline", type=click.Path())
@click.argument("candidate", type=click.Path(), required=False)
@options.metrics
@options.metrics_from
@options.convention
@click.option(
    "--depth",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="How far the lists of both runs are compared.",
)
@click.option(
    "--page",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="The last rank of the page, which the changes of the profile use.",
)
@options.form(*FORMS)
@options.output
def command(
    qrels: str,
    baseline: str,
    candidate: str | None,
    metrics: tuple[str, ...],
    metrics_from: str | None,
    convention: Convention,
    depth: int,
    page: int,
    form: str,
    output: str | None,
) -> None:
    """Find what the metrics do not see of the change from BASELINE to CANDIDATE.

    Without CANDIDATE only the profile is made: what the metrics would see of typical changes
    to BASELINE.

    \b
    rankgate blindspots qrels.txt old.run new.run -m RR -m nDCG@10
    rankgate blindspots qrels.txt old.run -m RR@10
    """
    runs = (baseline, candidate) if candidate else (baseline,)
    refuse_clashes((qrels, *runs), output)
    with Progress(3) as progress:
        result = blindspots(
            qrels,
            baseline,
            candidate,
            metrics,
            convention,
            depth=depth,
            page=page,
            extra=from_file(metrics_from),
            on_progress=progress,
        )
    print_result(result, form, output)
