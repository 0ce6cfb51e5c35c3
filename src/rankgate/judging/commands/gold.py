"""``rankgate gold``: gold labels, checked by raters who have not seen them."""

from __future__ import annotations

from typing import Any

import click

from rankgate.core.console import options
from rankgate.core.console.declared_options import options_of
from rankgate.core.console.output import print_result
from rankgate.core.present.write import FORMS
from rankgate.core.target import replacing
from rankgate.judging.gold.check import check_gold
from rankgate.judging.gold.draw import draw_gold
from rankgate.measurement import metric_options


@click.group("gold")
def command() -> None:
    """Check gold labels: draw pairs for a blind rating, then say which labels are wrong."""


@command.command("draw")
@click.argument("gold", type=click.Path())
@options_of(draw_gold, "pairs")
@options.seed
@click.option("-o", "--output", required=True, metavar="FILE.csv", type=click.Path(),
              help="The pool: pairs in random order, without their grades.")  # fmt: skip
def draw(gold: str, pairs: int, seed: int, output: str) -> None:
    """Draw pairs of GOLD for raters; each pair has the same chance.

    \b
    rankgate gold draw qrels.txt --pairs 200 -o blind.csv
    rankgate sheet blind.csv --raters ann,bob,eve -o sheets
    """
    found = draw_gold(gold, pairs, seed=seed)
    with replacing(output) as file:
        found.write_csv(file)
    click.echo(f"{len(found)} pairs are in {output}", err=True)


@command.command("check")
@click.argument("gold", type=click.Path())
@click.argument("ratings", type=click.Path())
@click.argument("runs", nargs=-1, type=click.Path())
@metric_options.metrics_option(
    "A metric of RUNS; may be given several times.", ("nDCG@10",), shown=True
)
@metric_options.convention
@options_of(check_gold, "majority", "fewest")
@options.form(*FORMS)
@options.output
def check(
    gold: str, ratings: str, runs: tuple[str, ...], form: str, output: str | None, **chosen: Any
) -> None:
    """Check the labels of GOLD by RATINGS of people who have not seen them.

    A label is wrong where raters agree on another grade, and ambiguous where they do not agree.
    With RUNS their means are computed with the wrong labels replaced, too.

    \b
    rankgate gold check qrels.txt blind.jsonl
    rankgate gold check qrels.txt blind.jsonl old.run new.run -m nDCG@10
    """
    print_result(check_gold(gold, ratings, runs, **chosen), form, output)
