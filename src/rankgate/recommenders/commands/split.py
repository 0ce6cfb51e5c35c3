"""``rankgate split``: a log in parts to learn from and to predict."""

from __future__ import annotations

import click

from rankgate.console import options
from rankgate.console.output import print_result
from rankgate.console.pairs import pairs
from rankgate.data.logs.candidates import CANDIDATES
from rankgate.data.logs.relevance import Truth
from rankgate.data.logs.splits import WAYS, SplitPlan
from rankgate.present.write import FORMS
from rankgate.recommenders.split_files import SUFFIXES
from rankgate.recommenders.split_stream import split_into


@click.command("split")
@click.argument("log", type=click.Path(), metavar="LOG")
@click.option(
    "--way",
    type=click.Choice(list(WAYS)),
    default="global",
    show_default=True,
    help="; ".join(f"{name}: {way.title}" for name, way in WAYS.items()) + ".",
)
@click.option("--share", type=float, default=0.2, show_default=True, help="How much is predicted.")
@click.option(
    "--last", type=int, default=1, show_default=True, help="Of each user, for leave-last."
)
@click.option("--cut", metavar="TIME", help="The moment from which on global predicts.")
@click.option("--windows", type=int, default=5, show_default=True, help="Folds of windows.")
@click.option("--validation", is_flag=True, help="Another part, as large as the test, before it.")
@click.option(
    "--candidates",
    type=click.Choice(CANDIDATES),
    default="unseen",
    show_default=True,
    help="What lists may hold: all but what the user had; all; or a sample of it.",
)
@click.option(
    "--negatives", type=int, default=99, show_default=True, help="Drawn for each user, if sampled."
)
@click.option(
    "--weight",
    "weights",
    multiple=True,
    metavar="KIND=X",
    help="What one interaction of a kind weighs; kinds that are not named do not count then.",
)
@click.option(
    "--threshold", type=float, default=0.0, show_default=True, help="The least relevant worth."
)
@click.option(
    "--least",
    multiple=True,
    metavar="KIND=X",
    help="The least value that one interaction of a kind must have, such as rating=4 or dwell=30; "
    "one below it is worth nothing.",
)
@click.option(
    "--repeats",
    type=click.Choice(["max", "last", "first", "sum", "mean"]),
    default="max",
    show_default=True,
    help="What several interactions with one item are worth.",
)
@click.option(
    "--grades",
    type=click.Choice(["binary", "value"]),
    default="binary",
    show_default=True,
    help="Grade 1 or 0, or the worth itself.",
)
@click.option(
    "--column",
    "columns",
    multiple=True,
    metavar="OURS=THEIRS",
    help="The log's column for query_id, doc_id, at, kind or value; found by its name otherwise.",
)
@options.from_
@click.option(
    "--time-unit",
    "unit",
    type=click.Choice(["s", "ms", "us", "ns", "order"]),
    help="The unit of numeric times. Default: inferred from their size.",
)
@click.option(
    "--equal-rows",
    "same",
    type=click.Choice(["once", "each"]),
    default="once",
    show_default=True,
    help="What rows count that are equal in every column.",
)
@click.option(
    "--into", metavar="FOLDER", type=click.Path(writable=True), help="Write the parts there."
)
@click.option(
    "--to",
    type=click.Choice(SUFFIXES),
    default="csv",
    show_default=True,
    help="The format of the parts.",
)
@options.seed
@options.form(*FORMS)
@options.output
def command(
    log: str,
    way: str,
    share: float,
    last: int,
    cut: str | None,
    windows: int,
    validation: bool,
    candidates: str,
    negatives: int,
    weights: tuple[str, ...],
    threshold: float,
    least: tuple[str, ...],
    repeats: str,
    grades: str,
    columns: tuple[str, ...],
    from_: str | None,
    unit: str | None,
    same: str,
    into: str | None,
    to: str,
    seed: int,
    form: str,
    output: str | None,
) -> None:
    """Split LOG into what is learned from and what is predicted; check that nothing leaks.

    LOG is CSV, TSV, Parquet, JSONL, MovieLens, RecBole's .inter or lines of `user: item item`.

    \b
    rankgate split ratings.csv --threshold 4 --into parts
    rankgate split events.parquet --weight buy=1 --weight view=0.1 --cut 2026-03-01
    rankgate split ml-100k.inter --way leave-last --candidates sampled --into parts
    """
    plan = SplitPlan(way, share, last, None, windows, validation, seed)
    rule = Truth(
        pairs(weights, "--weight", float),
        threshold,
        repeats,  # type: ignore[arg-type]
        grades,  # type: ignore[arg-type]
        pairs(least, "--least", float),
    )
    result, names = split_into(
        log, plan, rule, folder=into, to=to, candidates=candidates, negatives=negatives, cut=cut,
        columns=pairs(columns, "--column", str), from_=from_, unit=unit, same=same,
    )  # fmt: skip
    if into is not None:
        click.echo(f"written to {into}: {', '.join(names)}", err=True)
    print_result(result, form, output)
