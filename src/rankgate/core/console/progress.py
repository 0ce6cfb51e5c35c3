"""Progress messages at a terminal."""

from __future__ import annotations

import os
import sys
import time
from contextlib import AbstractContextManager
from typing import Self

import click

from rankgate.core.console.verbosity import is_quiet
from rankgate.core.progress import progress

_CLEAR = "\r\x1b[K"
_FIRST_ESTIMATE = 5.0  # seconds: of less no estimate is of use
_MINUTE = 60


class TerminalProgress:
    """One line on standard error that names the current step; silent outside of a terminal.

    It shows the steps that are reported inside ``with Progress(total):``. After some seconds it
    has an estimate of the time that is left, as if all steps took alike.

    Args:
        total: how many steps there will be; nothing is shown for a single step.
    """

    def __init__(self, total: int) -> None:
        self.total = total
        self.done = 0
        dumb = os.environ.get("TERM") == "dumb"  # such a terminal shows escapes as they are
        self.watched = total > 1 and sys.stderr.isatty() and not dumb and not is_quiet()
        self._began = time.monotonic()
        self._reporting: AbstractContextManager[None] = progress(self)

    def __call__(self, name: str) -> None:
        """Say that the next step begins."""
        self.done += 1
        if self.watched:
            time_left = format_time_left(time.monotonic() - self._began, self.done - 1, self.total)
            line = f"{_CLEAR}{self.done}/{self.total} {name}{time_left}"
            click.echo(line, err=True, nl=False)

    def __enter__(self) -> Self:
        self._reporting.__enter__()
        return self

    def __exit__(self, *error: object) -> None:
        self._reporting.__exit__(None, None, None)
        if self.watched and self.done:
            click.echo(_CLEAR, err=True, nl=False)


def format_time_left(seconds: float, steps_done: int, total: int) -> str:
    """Text for the remaining time at the end of a line; empty without an estimate.

    >>> (format_time_left(30, 1, 4), format_time_left(20, 1, 19), format_time_left(3, 1, 4),
    ...  format_time_left(20, 0, 4))
    (', about 90 s left', ', about 6 min left', '', '')
    """
    if steps_done < 1 or seconds < _FIRST_ESTIMATE:
        return ""
    seconds_left = seconds / steps_done * (total - steps_done)
    if seconds_left > 2 * _MINUTE:
        return f", about {seconds_left / _MINUTE:.0f} min left"
    return f", about {seconds_left:.0f} s left"
