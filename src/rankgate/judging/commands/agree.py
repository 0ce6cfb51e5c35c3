"""``rankgate agree``: how far raters agree, and what looks wrong."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, Any

import click

from rankgate.core.console import options
from rankgate.core.console.declared_options import verb_options
from rankgate.core.console.output import print_result
from rankgate.core.console.progress import TerminalProgress
from rankgate.core.errors import UsageError
from rankgate.core.present.write import FORMS
from rankgate.data.column_map import map_columns
from rankgate.judging.agreement.agree import agree
from rankgate.judging.agreement.rater_resampling import resample_raters
from rankgate.measurement import metric_options, store_options

if TYPE_CHECKING:
    from rankgate.store.stored_project import StoredProject


@click.command("agree")
@click.argument("ratings", type=click.Path())
@click.argument("baseline", type=click.Path(), required=False)
@click.argument("candidate", type=click.Path(), required=False)
@metric_options.metrics_option(
    "A metric to compare BASELINE and CANDIDATE; may be given several times.",
    ("nDCG@10",),
    shown=True,
)
@metric_options.convention
@verb_options(resample_raters, "rule", "draws")
@options.seed
@verb_options(agree, "scale SCALE", "columns NAME=COLUMN,...")
@store_options.instead_of_files(ratings="ratings", baseline="run", candidate="run")
@options.from_option
@options.form(*FORMS)
@options.output
def command(
    ratings: str,
    baseline: str | None,
    candidate: str | None,
    stored: StoredProject | None,  # noqa: ARG001 - it is only read
    form: str,
    output: str | None,
    **arguments: Any,
) -> None:
    """Measure how far the raters in RATINGS agree, and report what looks wrong.

    RATINGS has one row per rating: query, document, rater, grade. Corrections are later rows.
    With two runs it also reports how often another set of raters would have reversed their
    comparison.

    \b
    rankgate agree ratings.csv
    rankgate agree book.json --scale 0..3 --format json
    rankgate agree ratings.csv old.run new.run -m nDCG@10
    rankgate agree all --project shop --store sqlite:///judging.db
    """
    if baseline and not candidate:
        raise UsageError(
            "a comparison takes two runs: rankgate agree RATINGS BASELINE CANDIDATE.",
            code="missing-input",
        )
    resampling = {name: arguments.pop(name) for name in ("metrics", "rule", "draws", "seed")}
    convention = arguments.pop("convention")
    mapped_ratings = map_columns(ratings, arguments.pop("columns"), "ratings")
    result = agree(mapped_ratings, **arguments)
    if baseline and candidate:
        resampling |= {"how": convention, "from_": arguments["from_"]}
        with TerminalProgress(resampling["draws"]):
            effect = resample_raters(mapped_ratings, baseline, candidate, **resampling)
        result = replace(result, effect=effect)
    print_result(result, form, output)
