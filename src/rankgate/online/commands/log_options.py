"""Arguments and options that the commands on logs share."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from rankgate.core.console.declared_options import option, value_options
from rankgate.core.console.shared_options import from_formats
from rankgate.core.declare import Parameter
from rankgate.online.events.events import Events

if TYPE_CHECKING:
    from rankgate.core.console.option_types import Command, Decorator


def _single_or_tuple(
    _ctx: click.Context, _argument: click.Parameter, paths: tuple[str, ...]
) -> str | tuple[str, ...] | None:
    return paths[0] if len(paths) == 1 else paths or None


kpi_option = option(
    Parameter(
        "kpis",
        "texts",
        "A KPI that is a mean over searches, clicks or sessions, such as search_ctr; may be given several "
        "times. Without it the most important ones.",
        (),
    ),
    *("-k", "--kpi"),
    metavar="KPI",
    multiple=True,
)
"""``-k``: the KPIs to compute; by default those of the verb."""


def events_argument(function: Command) -> Command:
    """``EVENTS...``: a folder or table of events, or files of logs."""
    return _paths_argument(function, required=True, metavar="EVENTS...")


def optional_events_argument(function: Command) -> Command:
    """``[EVENTS]...``: a folder or table of events, or files of logs; optional."""
    return _paths_argument(function, required=False, metavar="[EVENTS]...")


def _paths_argument(function: Command, *, required: bool, metavar: str) -> Command:
    argument = click.argument(
        "events", type=click.Path(), nargs=-1, required=required, metavar=metavar, callback=_single_or_tuple
    )
    return argument(function)


def events_options(
    *inputs: str, log: str = "events", goals: bool = False, figures: bool = False
) -> Decorator:
    """Options for reading a log, with ``--from``; the command gets `Events` in place of the log.

    Args:
        inputs: other files of the command, in the words of `from_formats`.
        log: the argument of the command that holds the log; without it there are no events.
        goals: True if the verb needs to know when a session reached its goal.
        figures: True if faults of the log can block figures.
    """
    as_events = value_options(
        log,
        Events,
        "mapping",
        "without_bots",
        "without_duplicates",
        *(["success RULE"] if goals else []),
        *(["despite"] if figures else []),
        "memory SIZE",
        "threads N",
        also={"log": log},
    )
    in_format = from_formats(f"logs {log}", *inputs)
    return lambda function: in_format(as_events(function))
