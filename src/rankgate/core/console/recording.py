"""``--record``: a command records its result for the history."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from rankgate.core.console.hooks import hook

if TYPE_CHECKING:
    from rankgate.core.present.result import Result

_CHOSEN = "rankgate.record"


def recordable(function: Callable[..., Any]) -> Callable[..., Any]:
    """``--record`` of a command that prints a result with figures."""

    @functools.wraps(function)
    def noted(*args: Any, record: bool, **given: Any) -> Any:
        click.get_current_context().meta[_CHOSEN] = record
        return function(*args, **given)

    chosen = click.option(
        "--record",
        is_flag=True,
        help="Record the result for rankgate history, in the folder RANKGATE_HISTORY, or in the "
        "RANKGATE_PROJECT of RANKGATE_STORE.",
    )
    return chosen(noted)


def record_chosen(result: Result) -> None:
    """Record the result of the command at work, if ``--record`` was given.

    Raises:
        UsageError: no place is named; it cannot be written.
    """
    context = click.get_current_context(silent=True)
    if context is not None and context.meta.get(_CHOSEN):
        record_now(result)


def record_now(result: Result) -> None:
    """Record the result of the command at work, and say where."""
    done = hook("record")(result, click.get_current_context().params)
    if done is not None:
        for line in str(done).splitlines()[:1]:
            click.echo(line, err=True)
        for notice in done.notices:
            click.echo(f"warning: {notice.text}", err=True)
