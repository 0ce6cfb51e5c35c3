"""Progress messages at a terminal."""

from __future__ import annotations

import os
import sys
from typing import Self

import click

_CLEAR = "\r\x1b[K"


class Progress:
    """One line on standard error that names what is being done; silent if nobody watches.

    Args:
        total: how many steps there will be; nothing is shown for a single step.
    """

    def __init__(self, total: int) -> None:
        self.total = total
        self.done = 0
        dumb = os.environ.get("TERM") == "dumb"  # such a terminal shows escapes as they are
        self.watched = total > 1 and sys.stderr.isatty() and not dumb

    def __call__(self, name: str) -> None:
        """Say that the next step begins."""
        self.done += 1
        if self.watched:
            click.echo(f"{_CLEAR}{self.done}/{self.total} {name}", err=True, nl=False)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        if self.watched and self.done:
            click.echo(_CLEAR, err=True, nl=False)
