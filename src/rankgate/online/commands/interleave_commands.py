"""``rankgate online interleave``: mix lists, and score the clicks on them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rankgate.core.console import shared_options
from rankgate.core.console.declared_options import own_options, verb_options
from rankgate.core.console.option_types import DefiningCommand, FullHelpGroup
from rankgate.core.console.shared_options import check_paths, input_paths
from rankgate.core.console.terminal_output import prints, prints_to_stdout
from rankgate.online.clicks.simulated_users import USERS
from rankgate.online.commands.log_options import events_options, optional_events_argument
from rankgate.online.interleaving.interleaving_methods import METHODS
from rankgate.online.interleaving.mixed_lists import mix
from rankgate.online.interleaving.score_interleaving import preference
from rankgate.online.interleaving.simulate_tests import sensitivity

if TYPE_CHECKING:
    from rankgate.core.present.base_result import Result
    from rankgate.online.events.events import Events


_DEFINED = {"Methods": [(method.name, method.title) for method in METHODS.values()]}


@click.group("interleave", cls=FullHelpGroup)
def interleave_command() -> None:
    """Mix the lists of systems, and compare the systems by clicks on the mixed lists.

    \b
    rankgate online interleave lists old.run new.run -o lists.jsonl
    rankgate online interleave score shown.jsonl
    rankgate online interleave sensitivity qrels.txt old.run new.run
    """


@interleave_command.command("lists", cls=DefiningCommand, definitions=_DEFINED)
@shared_options.runs
@own_options("target FILE.jsonl -o --output", kinds={"target": click.Path()})
@verb_options(mix, "method", "length N", "lists N", "depth N", "seed", choices={"method": list(METHODS)})
@shared_options.from_formats("runs runs")
@prints_to_stdout
def lists(runs: tuple[str, ...], *, target: str | None = None, **arguments: Any) -> Result:
    """Mix the lists of RUNs for every query that all of them have.

    Each line of the file holds the documents to show and the values that scoring needs. Add clicks
    (slots from 1), session and user when you log it. A service in Python calls
    rankgate.online.interleave for each request instead.

    \b
    rankgate online interleave lists old.run new.run -o lists.jsonl
    rankgate online interleave lists a.run b.run c.run --method probabilistic --lists 20 -o l.jsonl
    \f

    Options:
        target: Write the lists to FILE.jsonl, one in a line.
    """
    check_paths(input_paths(), target)
    return mix(runs, target, **arguments)


@interleave_command.command("score")
@shared_options.paths("assignments LISTS.jsonl")
@optional_events_argument
@verb_options(preference, "unit", "level")
@events_options()
@prints
def score(assignments: str, events: Events | None, **arguments: Any) -> Result:
    """Compare systems by clicks on interleaved lists.

    LISTS.jsonl holds the lists that were shown. Clicks are in its key clicks (slots from 1), or in
    EVENTS: a folder that rankgate online ingest made, a table of events, or files of logs; search
    ids in EVENTS are the requests. Exit code 3: the systems did not have equal shares of the slots.

    \b
    rankgate online interleave score shown.jsonl
    rankgate online interleave score lists.jsonl events --unit session
    """
    return preference(assignments, events, **arguments)


@interleave_command.command(
    "sensitivity",
    cls=DefiningCommand,
    definitions={**_DEFINED, "Models of users": [(user.name, user.title) for user in USERS.values()]},
)
@shared_options.qrels
@click.argument("runs", type=click.Path(), nargs=2, metavar="RUN RUN")
@verb_options(
    sensitivity,
    "methods METHOD --method",
    "user",
    "searches N",
    "ranks N",
    "seed",
    choices={"methods": list(METHODS), "user": list(USERS)},
)
@shared_options.from_formats("judgments qrels", "runs runs")
@prints
def sensitivities(qrels: str, runs: tuple[str, str], **arguments: Any) -> Result:
    """Count the searches that interleaving and A/B tests need, by simulation.

    \b
    rankgate online interleave sensitivity qrels.txt old.run new.run
    rankgate online interleave sensitivity qrels.txt old.run new.run --user informational
    """
    return sensitivity(qrels, runs, **arguments)
