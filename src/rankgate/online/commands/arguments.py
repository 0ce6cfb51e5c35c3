"""Arguments and options that the commands on logs share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from rankgate.core.console.declared_options import value_options
from rankgate.online.events.events import Events

Command = Callable[..., Any]


def _one_or_several(
    _ctx: click.Context, _argument: click.Parameter, paths: tuple[str, ...]
) -> str | tuple[str, ...] | None:
    return paths[0] if len(paths) == 1 else paths or None


def kpi_names(function: Command) -> Command:
    """``-k``: the KPIs of users; without it those of the verb."""
    named = click.option(
        "-k",
        "--kpi",
        "kpis",
        multiple=True,
        metavar="KPI",
        help="A KPI that is a mean over searches, clicks or sessions, such as search_ctr; may be "
        "given several times. Without it the most important ones.",
    )
    return named(function)


def logs(function: Command) -> Command:
    """``EVENTS...``: a folder or table of events, or files of logs."""
    return _paths(function, required=True, metavar="EVENTS...")


def optional_logs(function: Command) -> Command:
    """``[EVENTS]...``: the same, or none."""
    return _paths(function, required=False, metavar="[EVENTS]...")


def _paths(function: Command, *, required: bool, metavar: str) -> Command:
    named = click.argument(
        "events",
        type=click.Path(),
        nargs=-1,
        required=required,
        metavar=metavar,
        callback=_one_or_several,
    )
    return named(function)


def events_options(
    *, log: str = "events", goals: bool = False, figures: bool = False
) -> Callable[[Command], Command]:
    """How a log is read; the command gets `Events` in place of the log.

    Args:
        log: the argument of the command that holds the log; without it there are no events.
        goals: whether the verb needs to know when a session reached its goal.
        figures: whether faults of the log can forbid figures.
    """
    return value_options(
        log, Events, "mapping", "without_bots", "without_duplicates",
        *(["success RULE"] if goals else []), *(["despite"] if figures else []),
        "memory SIZE", "threads N",
        also={"log": log},
    )  # fmt: skip
