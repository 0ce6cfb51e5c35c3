"""``rankgate gold``: gold labels, checked by raters who have not seen them."""

from __future__ import annotations

from typing import Any

import click

from rankgate.core.console import options
from rankgate.core.console.declared_options import verb_options
from rankgate.core.console.output import print_result
from rankgate.core.console.sections import FullHelpGroup
from rankgate.core.present.write import FORMS
from rankgate.core.target import replace_file
from rankgate.judging.gold.check import check_gold
from rankgate.judging.gold.draw import draw_gold
from rankgate.measurement import metric_options


@click.group("gold", cls=FullHelpGroup)
def command() -> None:
    """Check gold labels: draw pairs for a blind rating, then say which labels are wrong."""


@command.command("draw")
@click.argument("gold", type=click.Path())
@verb_options(draw_gold, "pairs")
@options.from_formats("judgments gold")
@options.seed
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="FILE.csv",
    type=click.Path(),
    help="The pool: pairs in random order, without their grades.",
)
def draw(gold: str, pairs: int, seed: int, output: str) -> None:
    """Draw a random sample of the pairs in GOLD, for raters.

    \b
    rankgate gold draw qrels.txt --pairs 200 -o blind.csv
    rankgate sheet blind.csv --raters ann,bob,eve -o sheets
    """
    sample = draw_gold(gold, pairs, seed=seed)
    with replace_file(output) as file:
        sample.write_csv(file)
    click.echo(f"{len(sample)} pairs are in {output}", err=True)


@command.command("check")
@click.argument("gold", type=click.Path())
@click.argument("ratings", type=click.Path())
@click.argument("runs", nargs=-1, type=click.Path())
@metric_options.metrics_option(
    "A metric of RUNS; may be given several times.", ("nDCG@10",), shown=True
)
@metric_options.convention
@verb_options(check_gold, "majority", "fewest")
@options.from_formats("judgments gold", "ratings ratings", "runs runs")
@options.form(*FORMS)
@options.output
def check(
    gold: str, ratings: str, runs: tuple[str, ...], form: str, output: str | None, **arguments: Any
) -> None:
    """Check the labels of GOLD by RATINGS of people who have not seen them.

    A label is wrong where raters agree on another grade, and ambiguous where they do not agree.
    With RUNS their means are computed with the wrong labels replaced, too.

    \b
    rankgate gold check qrels.txt blind.jsonl
    rankgate gold check qrels.txt blind.jsonl old.run new.run -m nDCG@10
    """
    print_result(check_gold(gold, ratings, runs, **arguments), form, output)
