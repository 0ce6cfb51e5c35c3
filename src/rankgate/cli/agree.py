"""``rankgate agree``: how far raters agree, and what looks wrong."""

from __future__ import annotations

import click

from rankgate.cli import options
from rankgate.cli.places import deliver, refuse_clashes
from rankgate.cli.terminal import styled, width
from rankgate.report.agreement import FORMS, render
from rankgate.services.agree import agree


@click.command("agree")
@click.argument("ratings", type=click.Path())
@options.scale
@options.samples
@options.seed
@options.from_
@options.form(*FORMS)
@options.output
def command(  # noqa: PLR0917 - click passes them by name
    ratings: str,
    scale: str | None,
    samples: int,
    seed: int,
    from_: str | None,
    form: str,
    output: str | None,
) -> None:
    """Measure how far the raters in RATINGS agree; say what looks wrong first.

    RATINGS has a row a rating: query, document, rater, grade. Corrections are later rows.

    \b
    rankgate agree ratings.csv
    rankgate agree book.json --scale 0..3 --format json
    """  # noqa: D301 - click needs the character that \b makes
    refuse_clashes((ratings,), output)
    told = agree(ratings, scale=scale, samples=samples, seed=seed, from_=from_)
    deliver(styled(render(told, form, width(output)), form, output), output)
