"""``rankgate online interleave``: mixed lists, and which system users prefer."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from rankgate.core.console import options
from rankgate.core.console.declared_options import verb_options
from rankgate.core.console.definitions import DefiningCommand
from rankgate.core.console.output import print_result
from rankgate.core.console.places import check_paths, input_paths
from rankgate.core.console.sections import FullHelpGroup
from rankgate.core.present.write import FORMS
from rankgate.online.commands.arguments import events_options, optional_events_argument
from rankgate.online.interleaving.catalogue import METHODS
from rankgate.online.interleaving.mix import mix
from rankgate.online.interleaving.score import preference
from rankgate.online.interleaving.simulate_tests import sensitivity
from rankgate.online.simulation.users import USERS

if TYPE_CHECKING:
    from rankgate.online.events.events import Events

_DEFINED = {"Methods": [(method.name, method.title) for method in METHODS.values()]}


@click.group("interleave", cls=FullHelpGroup)
def command() -> None:
    """Mix the lists of systems, and read from clicks which system users prefer.

    \b
    rankgate online interleave lists old.run new.run -o lists.jsonl
    rankgate online interleave score shown.jsonl
    rankgate online interleave sensitivity qrels.txt old.run new.run
    """


@command.command("lists", cls=DefiningCommand, definitions=_DEFINED)
@options.runs
@click.option(
    "-o",
    "--output",
    "target",
    metavar="FILE.jsonl",
    type=click.Path(),
    help="Write the lists to FILE.jsonl, one in a line.",
)
@verb_options(
    mix, "method", "length N", "lists N", "depth N", "seed", choices={"method": list(METHODS)}
)
@options.from_formats("runs runs")
@options.form(*FORMS)
def lists(runs: tuple[str, ...], target: str | None, form: str, **arguments: Any) -> None:
    """Mix the lists of RUNs for every query that all of them have.

    Each line of the file holds the documents to show, and what scoring needs; add clicks (slots
    from 1), session and user when it is logged. A service in Python calls
    rankgate.online.interleave for each request instead.

    \b
    rankgate online interleave lists old.run new.run -o lists.jsonl
    rankgate online interleave lists a.run b.run c.run --method probabilistic --lists 20 -o l.jsonl
    """
    check_paths(input_paths(), target)
    print_result(mix(runs, target, **arguments), form)


@command.command("score")
@click.argument("assignments", type=click.Path(), metavar="LISTS.jsonl")
@optional_events_argument
@verb_options(preference, "unit", "level")
@events_options()
@options.form(*FORMS)
@options.output
@click.pass_context
def score(
    ctx: click.Context,
    /,
    assignments: str,
    events: Events | None,
    form: str,
    output: str | None,
    **arguments: Any,
) -> None:
    """Say which system users prefer, from clicks on interleaved lists.

    LISTS.jsonl holds the lists that were shown. Clicks are in its key clicks (slots from 1), or in
    EVENTS: a folder that rankgate online ingest made, a table of events, or files of logs, whose
    search ids are the requests. Exit code 3: systems have not had equal shares of the slots.

    \b
    rankgate online interleave score shown.jsonl
    rankgate online interleave score lists.jsonl events --unit session
    """
    result = preference(assignments, events, **arguments)
    print_result(result, form, output)
    ctx.exit(result.status)


@command.command(
    "sensitivity",
    cls=DefiningCommand,
    definitions={
        **_DEFINED,
        "Models of users": [(user.name, user.title) for user in USERS.values()],
    },
)
@options.qrels
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
@options.from_formats("judgments qrels", "runs runs")
@options.form(*FORMS)
@options.output
def sensitivities(
    qrels: str, runs: tuple[str, str], form: str, output: str | None, **arguments: Any
) -> None:
    """Count the searches that interleaving and A/B tests need, by simulation.

    \b
    rankgate online interleave sensitivity qrels.txt old.run new.run
    rankgate online interleave sensitivity qrels.txt old.run new.run --user informational
    """
    print_result(sensitivity(qrels, runs, **arguments), form, output)
