"""``rankgate sheet``: create rating sheets from a pool."""

from __future__ import annotations

from pathlib import Path

import click

from rankgate.console import options
from rankgate.console.places import refuse_clashes
from rankgate.judging.sheets.sheets import FORMS, Form, sheets


@click.command("sheet")
@click.argument("pool", type=click.Path())
@click.option(
    "--raters",
    required=True,
    metavar="NAME,...",
    help="Who rates; with several, -o names a folder and each gets a file.",
)
@options.rating_scale
@click.option(
    "--per-document",
    type=click.IntRange(min=1),
    default=1,
    show_default=True,
    metavar="N",
    help="How many raters each document gets.",
)
@click.option(
    "--overlap",
    type=click.FloatRange(0, 1),
    default=0.0,
    show_default=True,
    metavar="SHARE",
    help="The share of documents that get one rater more, to measure agreement.",
)
@options.texts
@options.guideline
@click.option(
    "--show",
    type=click.Path(),
    metavar="RATINGS",
    help="Ratings of others; the sheets show their grades and comments, for an adjudicator.",
)
@options.seed
@click.option(
    "--format",
    "form",
    type=click.Choice(FORMS),
    default="csv",
    show_default=True,
    help="What is written; xlsx needs the extra xlsx.",
)
@click.option("-o", "--output", required=True, metavar="FILE|FOLDER", type=click.Path())
def command(
    pool: str,
    raters: str,
    scale: str,
    per_document: int,
    overlap: float,
    queries: str | None,
    documents: str | None,
    guideline: str,
    show: str | None,
    seed: int,
    form: Form,
    output: str,
) -> None:
    """Create rating sheets from POOL: one per rater, in random order, without systems and ranks.

    No cell is taken for a formula, and ids that a spreadsheet program changes are noticed by
    rankgate collect.

    \b
    rankgate sheet pool.csv --raters ann -o ann.csv
    rankgate sheet pool.csv --raters ann,bob,cyd --overlap 0.2 --format xlsx -o sheets
    rankgate sheet differ.csv --raters dan --show ratings.jsonl -o dan.csv
    """
    if not Path(output).is_dir():
        refuse_clashes(tuple(each for each in (pool, queries, documents, show) if each), output)
    names = [name.strip() for name in raters.split(",")]
    result = sheets(
        pool,
        names,
        scale=scale,
        per_document=per_document,
        overlap=overlap,
        queries=queries,
        documents=documents,
        guideline=guideline,
        seed=seed,
        show=show,
    )
    ends = "xlsx" if output.lower().endswith(".xlsx") else form
    paths = result.write(output, ends)
    for name, path in zip(result.tables, paths, strict=True):
        click.echo(f"{path}: {len(result.tables[name][1])} documents for {name}", err=True)
    if len(paths) > 1:
        click.echo(f"rated by two or more: {result.doubled}", err=True)
