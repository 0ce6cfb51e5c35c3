"""``rankgate resolve``: judgments of the ratings of several raters."""

from __future__ import annotations

import click

from rankgate.console import options
from rankgate.console.places import deliver, refuse_clashes
from rankgate.judging.resolution.document import FORMS, as_pool, render, summary
from rankgate.judging.resolution.resolve import resolve, rules


def _rules() -> str:
    return "  ".join(f"{rule.name}: {rule.title};" for rule in rules()).rstrip(";") + "."


@click.command("resolve", epilog=f"Rules. {_rules()}")
@click.argument("ratings", type=click.Path())
@click.option(
    "--rule",
    type=click.Choice([rule.name for rule in rules()]),
    default="majority",
    show_default=True,
    help="How several grades become one.",
)
@click.option(
    "--set",
    "parameters",
    multiple=True,
    metavar="NAME=VALUE",
    help="A parameter of the rule, as in adjudicator=ann or expected=yes.",
)
@click.option(
    "--transform",
    metavar="NAME|FILE",
    help="What each grade becomes before grades are put together: graded-to-binary and its like, "
    "or a file with one 'from: to' a line.",
)
@options.scale
@click.option(
    "--slots",
    type=click.IntRange(min=1),
    metavar="N",
    help="Only the first N grades of a pair count.",
)
@click.option(
    "--sample",
    type=click.Path(),
    metavar="POOL",
    help="The sampled pool that was rated; its strata and chances go into the judgments (csv, "
    "json).",
)
@click.option(
    "--rest",
    type=click.Path(),
    metavar="FILE",
    help="The pool's documents that were not drawn, graded -1; they are added, as infAP needs.",
)
@click.option(
    "--unresolved",
    type=click.Path(),
    metavar="FILE",
    help="Write the pairs without a judgment as a pool (csv), to be rated again or adjudicated.",
)
@options.from_
@options.form(*FORMS)
@options.output
def command(
    ratings: str,
    rule: str,
    parameters: tuple[str, ...],
    transform: str | None,
    scale: str | None,
    slots: int | None,
    sample: str | None,
    rest: str | None,
    unresolved: str | None,
    from_: str | None,
    form: str,
    output: str | None,
) -> None:
    """Make judgments of RATINGS: at most one grade per query and document, by a stated rule.

    RATINGS has a row a rating: query, document, rater, grade; an empty grade says that the rater
    could not tell. The judgments go to standard output or to -o FILE, together with FILE.meta.json
    that says how they were made; what became of the ratings is printed on standard error.

    \b
    rankgate resolve ratings.csv -o qrels.txt
    rankgate resolve ratings.csv --rule mean --transform graded-to-detail -o qrels.csv
    rankgate resolve ratings.csv --sample sample.csv --rest rest.qrels -o qrels.txt
    rankgate resolve ratings.csv --rule unanimous --unresolved differ.csv -o agreed.txt
    rankgate resolve book.json --rule adjudicated --set adjudicator=ann -o qrels.txt
    """
    refuse_clashes(tuple(each for each in (ratings, sample, rest) if each), output)
    result = resolve(
        ratings,
        rule,
        parameters,
        transform=transform,
        scale=scale,
        slots=slots,
        sample=sample,
        rest=rest,
        from_=from_,
    )
    deliver(render(result, form), output)
    if output not in (None, "-"):
        deliver(render(result, "meta"), f"{output}.meta.json")
    if unresolved:
        deliver(as_pool(result), unresolved)
    click.echo(summary(result), err=True, nl=False)
