"""Arguments that the commands on logs share."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click


def _one_or_several(
    _ctx: click.Context, _argument: click.Parameter, given: tuple[str, ...]
) -> str | tuple[str, ...]:
    return given[0] if len(given) == 1 else given


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
