"""Arguments that the commands on logs share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click


def _one_or_several(
    _ctx: click.Context, _argument: click.Parameter, given: tuple[str, ...]
) -> str | tuple[str, ...]:
    return given[0] if len(given) == 1 else given


def kpi_names(function: Callable[..., Any]) -> Callable[..., Any]:
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


def logs(function: Callable[..., Any]) -> Callable[..., Any]:
    """``EVENTS...``: a folder or table of events, or files of logs."""
    named = click.argument(
        "events",
        type=click.Path(),
        nargs=-1,
        required=True,
        metavar="EVENTS...",
        callback=_one_or_several,
    )
    return named(function)
