"""``rankgate online simulate``: clicks whose truth is known."""

from __future__ import annotations

from typing import Any

import click

from rankgate.core.console import options
from rankgate.core.console.declared_options import verb_options
from rankgate.core.console.definitions import DefiningCommand
from rankgate.core.console.output import print_result
from rankgate.core.console.places import check_paths, input_paths
from rankgate.core.present.write import FORMS
from rankgate.online.clicks.catalogue import MODELS
from rankgate.online.commands.arguments import events_options
from rankgate.online.simulation.simulate import simulate
from rankgate.online.simulation.users import USERS


@click.command(
    "simulate",
    cls=DefiningCommand,
    definitions={"Models of users": [(user.name, user.title) for user in USERS.values()]},
)
@click.argument("qrels", type=click.Path(), required=False)
@click.argument("runs", type=click.Path(), nargs=-1, metavar="[RUN...]")
@click.option(
    "-o",
    "--output",
    "target",
    metavar="FILE.parquet",
    type=click.Path(writable=True),
    help="Write the events to FILE.parquet.",
)
@verb_options(
    simulate,
    "user",
    "learned_from EVENTS",
    "model",
    "searches N",
    "ranks N",
    "seed",
    choices={"user": list(USERS), "model": list(MODELS)},
)
@events_options("judgments qrels", "runs runs", log="learned_from")
@options.form(*FORMS)
def command(
    qrels: str | None, runs: tuple[str, ...], target: str | None, form: str, **arguments: Any
) -> None:
    """Simulate clicks of users on the lists of RUNs, or by a click model learned from a log.

    With several RUNs each search is answered by one of them at random, which is its variant. The
    true rates are printed next to the simulated ones.

    \b
    rankgate online simulate qrels.txt old.run new.run -o events.parquet
    rankgate online simulate qrels.txt new.run --user informational --searches 50000
    rankgate online simulate --learned-from events --model pbm -o more.parquet
    """
    check_paths(input_paths(), target)
    print_result(simulate(qrels, runs, output=target, **arguments), form)
