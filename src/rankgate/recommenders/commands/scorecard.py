"""``rankgate scorecard``: accuracy beside everything else that lists are."""

from __future__ import annotations

from itertools import chain
from typing import TYPE_CHECKING

import click

from rankgate.console import options
from rankgate.console.pairs import pairs, several
from rankgate.console.places import deliver, refuse_clashes
from rankgate.console.progress import Progress
from rankgate.console.terminal import width
from rankgate.evaluation.commands.list_options import context, drop_seen, judged_users_only, paths
from rankgate.recommenders.documents.scorecard import FORMS, render
from rankgate.recommenders.scorecard import ACCURACY, LISTS, scorecard

if TYPE_CHECKING:
    from rankgate.evaluation.context import Context
    from rankgate.scoring import Convention


@click.command("scorecard")
@options.qrels
@options.runs
@options.metrics_option(
    "Of accuracy or of lists; may be given several times. Without it: "
    f"{', '.join(ACCURACY)}, and of {', '.join(LISTS)} those for which all is there."
)
@options.convention
@context
@click.option(
    "--earlier",
    multiple=True,
    metavar="NAME=RUN",
    help="Lists of a system at an earlier time; one for each system.",
)
@click.option(
    "--drawn",
    multiple=True,
    metavar="NAME=RUN",
    help="Another run of a system that draws its rankings, for EEL, EED and EER; may be given "
    "several times.",
)
@click.option("--candidates", type=click.Path(), help="The items that lists may hold; see split.")
@click.option("--users", type=click.Path(), help="A table of users: user_id and columns.")
@click.option(
    "--slice",
    "slices",
    multiple=True,
    metavar="BY",
    help="Tell apart new, light and heavy users (activity), items of head and tail (popularity), "
    "or the values of a column of users or items. May be given several times.",
)
@drop_seen
@judged_users_only
@click.option("--level", type=float, default=0.95, show_default=True, help="Of the intervals.")
@click.option(
    "--resamples",
    type=click.IntRange(min=1),
    default=1000,
    show_default=True,
    help="Of users, for numbers about all lists together.",
)
@options.seed
@options.form(*FORMS)
@options.output
def command(
    qrels: str,
    runs: tuple[str, ...],
    metrics: tuple[str, ...],
    convention: Convention,
    context: Context,
    earlier: tuple[str, ...],
    drawn: tuple[str, ...],
    candidates: str | None,
    users: str | None,
    slices: tuple[str, ...],
    drop_seen: bool,
    judged_users_only: bool,
    level: float,
    resamples: int,
    seed: int,
    form: str,
    output: str | None,
) -> None:
    """Put each RUN on one card: accuracy beside coverage, novelty, diversity, fairness.

    The first RUN is what the others are compared with.

    \b
    rankgate scorecard test.qrels.csv popular.run knn.run --train train.csv
    rankgate scorecard test.qrels.csv a.run b.run --items movies.csv --category genres
    rankgate scorecard test.qrels.csv a.run b.run -m nDCG@10 -m Gini@10 -m Coverage@10
    rankgate scorecard test.qrels.csv a.run b.run --train train.csv --slice activity
    """
    again = several(drawn, "--drawn")
    more = (*(each for each in (candidates, users) if each), *chain.from_iterable(again.values()))
    refuse_clashes((qrels, *runs, *paths(context), *more), output)
    with Progress(len(runs)) as progress:
        card = scorecard(
            qrels, list(runs), metrics, convention, train=context.train, items=context.items,
            users=users, features=context.features, category=context.category, group=context.group,
            obvious=context.baseline, earlier=pairs(earlier, "--earlier", str) or None,
            candidates=candidates, drop_seen=drop_seen, drawn=again or None,
            judged_users_only=judged_users_only, slices=slices, level=level, resamples=resamples,
            seed=seed, on_progress=progress,
        )  # fmt: skip
    deliver(render(card, form, width(output)), output)
