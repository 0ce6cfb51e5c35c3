"""``--record``: a command records its result for the history."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import click

from rankgate.core.console.hooks import find_hook

if TYPE_CHECKING:
    from rankgate.core.present.result import Result

_RECORD_KEY = "rankgate.record"


def with_record_option(function: Callable[..., Any]) -> Callable[..., Any]:
    """``--record`` of a command that prints a result with figures."""

    @functools.wraps(function)
    def noted(*args: Any, record: bool, **options: Any) -> Any:
        click.get_current_context().meta[_RECORD_KEY] = record
        return function(*args, **options)

    record_option = click.option(
        "--record",
        is_flag=True,
        help="Record the result for rankgate history, in the folder RANKGATE_HISTORY, or in the "
        "RANKGATE_PROJECT of RANKGATE_STORE.",
    )
    return record_option(noted)


def record_if_requested(result: Result) -> None:
    """Record the result of the running command, if ``--record`` was given.

    Raises:
        UsageError: no place is named; it cannot be written.
    """
    context = click.get_current_context(silent=True)
    if context is not None and context.meta.get(_RECORD_KEY):
        record_now(result)


def record_now(result: Result) -> None:
    """Record the result of the running command, and print the place."""
    record = find_hook("record")(result, click.get_current_context().params)
    if record is not None:
        for line in str(record).splitlines()[:1]:
            click.echo(line, err=True)
        for notice in record.notices:
            click.echo(f"warning: {notice.text}", err=True)
