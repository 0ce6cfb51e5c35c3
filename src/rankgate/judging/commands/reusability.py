"""``rankgate reusability``: what runs lose when they are left out of the pool."""

from __future__ import annotations

import click

from rankgate.console import options
from rankgate.console.output import print_result
from rankgate.console.places import refuse_clashes
from rankgate.console.progress import Progress
from rankgate.judging.pooling.pool import DEPTH
from rankgate.judging.pooling.reusability import reusability
from rankgate.present.write import FORMS
from rankgate.scoring import Convention


@click.command("reusability")
@options.qrels
@options.runs
@options.metrics
@options.convention
@click.option(
    "--depth",
    type=click.IntRange(min=1),
    default=DEPTH,
    show_default=True,
    help="How far each run was judged.",
)
@options.form(*FORMS)
@options.output
def command(
    qrels: str,
    runs: tuple[str, ...],
    metrics: tuple[str, ...],
    convention: Convention,
    depth: int,
    form: str,
    output: str | None,
) -> None:
    """Leave each RUN out of the pool: how much would it have lost if it had not been judged?

    Large losses say that the judgments are unfair to systems that come later.

    \b
    rankgate reusability qrels.txt *.run -m nDCG@10 --depth 10
    """
    refuse_clashes((qrels, *runs), output)
    with Progress(len(runs)) as progress:
        result = reusability(qrels, runs, metrics, convention, depth=depth, on_progress=progress)
    print_result(result, form, output)
