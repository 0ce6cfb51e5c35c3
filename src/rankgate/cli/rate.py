"""``rankgate rate``: a person at the terminal rates a pool."""

from __future__ import annotations

import getpass

import click

from rankgate.cli import options
from rankgate.cli.places import refuse_clashes
from rankgate.cli.rating_keys import rated
from rankgate.services.rating import Rating


@click.command("rate")
@click.argument("pool", type=click.Path())
@click.option("--rater", metavar="NAME", help="Who rates; without it, the user's name.")
@options.rating_scale
@options.texts
@options.guideline
@click.option("--batch", type=click.IntRange(min=1), metavar="N", help="Only this batch.")
@options.seed
@click.option(
    "-o",
    "--output",
    required=True,
    metavar="FILE.jsonl",
    type=click.Path(),
    help="The ratings; they are only added to, and work goes on where the file ends.",
)
def command(  # noqa: PLR0917 - click passes them by name
    pool: str,
    rater: str | None,
    scale: str,
    queries: str | None,
    documents: str | None,
    guideline: str,
    batch: int | None,
    seed: int,
    output: str,
) -> None:
    """Rate POOL here, one document after another, a key a grade.

    Every rating is on disk before the next document is shown. c: can't tell, s: skip, u: undo,
    q: quit; the same command goes on later.

    \b
    rankgate rate pool.csv --queries queries.csv --documents docs.csv -o ann.jsonl --rater ann
    """  # noqa: D301 - click needs the character that \b makes
    refuse_clashes(tuple(each for each in (pool, queries, documents) if each), output)
    with Rating(
        pool, output, rater or getpass.getuser(), scale=scale, queries=queries,
        documents=documents, guideline=guideline, batch=batch, seed=seed,
    ) as work:  # fmt: skip
        if work.cut:
            click.echo("an unfinished line at the end of the file was cut off", err=True)
        rated(work)
        click.echo(f"rated {work.done} of {work.total}; the ratings are in {output}", err=True)
