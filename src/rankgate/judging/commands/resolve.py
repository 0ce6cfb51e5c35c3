"""``rankgate resolve``: judgments of the ratings of several raters."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rankgate.core.console import options
from rankgate.core.console.declared_options import verb_options
from rankgate.core.console.definitions import DefiningCommand
from rankgate.core.console.output import print_result, print_summary
from rankgate.core.console.places import write_output
from rankgate.core.present.suffixes import check_suffix
from rankgate.judging.resolution.document import as_pool, origin_json, summary, trec
from rankgate.judging.resolution.resolve import resolve, rules
from rankgate.measurement import store_options

if TYPE_CHECKING:
    from rankgate.store.stored_project import StoredProject


@click.command(
    "resolve",
    cls=DefiningCommand,
    definitions={"Rules": [(rule.name, rule.title) for rule in rules()]},
)
@click.argument("ratings", type=click.Path())
@verb_options(resolve, "rule", choices={"rule": [rule.name for rule in rules()]})
@options.parameters("A parameter of the rule, as in adjudicator=ann or expected=yes.")
@verb_options(resolve, "transform NAME|FILE", "scale SCALE", "slots N", "sample", "rest FILE")
@click.option(
    "--unresolved",
    type=click.Path(writable=True),
    metavar="FILE",
    help="Write the pairs without a judgment as a pool (csv), to be rated again or adjudicated.",
)
@verb_options(resolve, "columns NAME=COLUMN,...")
@store_options.instead_of_files(ratings="counted")
@store_options.save_as("Keep the judgments in the project under this name.")
@options.from_option
@options.form("trec", "csv", "json")
@options.output
def command(
    ratings: str,
    unresolved: str | None,
    stored: StoredProject | None,
    save_as: str | None,
    form: str,
    output: str | None,
    **arguments: Any,
) -> None:
    """Combine RATINGS into judgments: one grade per query and document, by a named rule.

    RATINGS has one row per rating: query, document, rater, grade; an empty grade means that the
    rater could not tell. The judgments go to standard output or to -o FILE, together with
    FILE.meta.json, which records how they were made; a summary is printed on standard error.

    \b
    rankgate resolve ratings.csv -o qrels.txt
    rankgate resolve ratings.csv --rule mean --transform graded-to-detail -o qrels.csv
    rankgate resolve ratings.csv --sample sample.csv --rest rest.qrels -o qrels.txt
    rankgate resolve ratings.csv --rule unanimous --unresolved differ.csv -o agreed.txt
    rankgate resolve book.json --rule adjudicated --parameter adjudicator=ann -o qrels.txt
    rankgate resolve all --project shop --save-as gold
    """
    check_suffix(unresolved, "csv")
    result = resolve(ratings, **arguments)
    if stored is not None and save_as is not None and result.qrels is not None:
        stored.add_judgments(result.qrels, save_as)
    if form == "trec":
        write_output(trec(result), output)
    else:
        print_result(result, form, output)
    if output not in (None, "-"):
        write_output(origin_json(result), f"{output}.meta.json")
    if unresolved:
        write_output(as_pool(result), unresolved)
    print_summary(summary(result))
