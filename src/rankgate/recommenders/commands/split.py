"""``rankgate split``: split a log into training and test sets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rankgate.core.console import options
from rankgate.core.console.backends import backend_options
from rankgate.core.console.declared_options import value_options, verb_options
from rankgate.core.console.definitions import DefiningCommand
from rankgate.core.console.output import print_result
from rankgate.core.present.write import FORMS
from rankgate.data.logs.candidates import CANDIDATES
from rankgate.data.logs.clock import UNITS
from rankgate.data.logs.relevance import Truth
from rankgate.data.logs.splits import SPLIT_METHODS, SplitPlan
from rankgate.recommenders.split_files import SUFFIXES
from rankgate.recommenders.split_stream import split_into
from rankgate.recommenders.splitting import split

if TYPE_CHECKING:
    from rankgate.recommenders.split import Split


@click.command(
    "split",
    cls=DefiningCommand,
    definitions={"Ways": [(name, split_way.title) for name, split_way in SPLIT_METHODS.items()]},
)
@click.argument("log", type=click.Path(), metavar="LOG")
@value_options(
    "plan", SplitPlan, "way WAY", "share", "last", "cut TIME", "windows", "validation", "seed"
)
@verb_options(split, "candidates", "negatives", choices={"candidates": CANDIDATES})
@value_options(
    "rule", Truth, "weights KIND=X --weight", "threshold", "least KIND=X", "repeats", "grades"
)
@verb_options(split, "columns OURS=THEIRS --column")
@options.from_option
@verb_options(split, "time_unit", "equal_rows", choices={"time_unit": UNITS})
@click.option(
    "--into",
    metavar="FOLDER",
    type=click.Path(writable=True),
    help="Write the training set, test set and judgments into this folder.",
)
@click.option(
    "--to",
    type=click.Choice(SUFFIXES),
    default="csv",
    show_default=True,
    help="The file format of these files.",
)
@options.form(*FORMS)
@options.output
@backend_options
def command(
    log: str, *, into: str | None, to: str, form: str, output: str | None, **options: Any
) -> None:
    """Split LOG into training and test sets; check for leakage.

    LOG is CSV, TSV, Parquet, JSONL, MovieLens, RecBole's .inter or lines of `user: item item`.

    \b
    rankgate split ratings.csv --threshold 4 --into parts
    rankgate split events.parquet --weight buy=1 --weight view=0.1 --cut 2026-03-01
    rankgate split ml-100k.inter --way leave-last --candidates sampled --into parts
    """
    result: Split
    result, names = split_into(log, folder=into, to=to, **options)
    if into is not None:
        click.echo(f"written to {into}: {', '.join(names)}", err=True)
    print_result(result, form, output)
