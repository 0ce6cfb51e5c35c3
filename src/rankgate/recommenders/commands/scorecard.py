"""``rankgate scorecard``: accuracy besides everything else that lists are."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING, Any

import click

from rankgate.core.console import options
from rankgate.core.console.backends import on_backend
from rankgate.core.console.declared_options import options_of
from rankgate.core.console.output import print_result
from rankgate.core.console.pairs import several
from rankgate.core.console.places import inputs, refuse_clashes
from rankgate.core.console.progress import Progress
from rankgate.core.console.recording import recordable
from rankgate.core.present.write import FORMS
from rankgate.measurement import metric_options
from rankgate.measurement.evaluation.commands.list_options import context
from rankgate.recommenders.scorecard import ACCURACY, LISTS, scorecard

if TYPE_CHECKING:
    from rankgate.measurement.evaluation.context import Context


@click.command("scorecard")
@options.qrels
@options.runs
@metric_options.metrics_option(
    "A metric of rankings or of lists; may be given several times. Without it: "
    f"{', '.join(ACCURACY)}, and of {', '.join(LISTS)} those whose inputs are given."
)
@metric_options.convention
@context
@click.option(
    "--drawn",
    multiple=True,
    metavar="NAME=RUN",
    help="Another run of a randomised system, for EEL, EED and EER; may be given several times.",
)
@options_of(scorecard, "candidates", "users", "slices BY --slice")
@options_of(scorecard, "level", "resamples")
@options.seed
@recordable
@options.form(*FORMS)
@options.output
@on_backend("scorecard")
def command(
    qrels: str,
    runs: tuple[str, ...],
    context: Context,
    drawn: tuple[str, ...],
    form: str,
    output: str | None,
    **chosen: Any,
) -> None:
    """Compare recommenders: accuracy, coverage, novelty, diversity and fairness.

    The other runs are compared with the first RUN.

    \b
    rankgate scorecard test.qrels.csv popular.run knn.run --train train.csv
    rankgate scorecard test.qrels.csv a.run b.run --items movies.csv --category genres
    rankgate scorecard test.qrels.csv a.run b.run -m nDCG@10 -m Gini@10 -m Coverage@10
    rankgate scorecard test.qrels.csv a.run b.run --train train.csv --slice activity
    """
    again = several(drawn, "--drawn")
    refuse_clashes((*inputs(), *chain.from_iterable(again.values())), output)
    shared = (
        *("train", "items", "features", "category", "group", "earlier", "drop_seen"),
        "judged_users_only",
    )
    with Progress(len(runs)) as progress:
        card = scorecard(
            qrels,
            list(runs),
            obvious=context.baseline,
            drawn=again or None,
            on_progress=progress,
            **{name: getattr(context, name) for name in shared},
            **chosen,
        )
    print_result(card, form, output)
