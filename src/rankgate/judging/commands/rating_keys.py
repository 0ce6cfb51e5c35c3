"""One key after another: the loop of a rater at a terminal."""

from __future__ import annotations

import sys
from contextlib import contextmanager
from typing import TYPE_CHECKING

import click

from rankgate.console.terminal import width
from rankgate.judging.rating.screen import render

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rankgate.judging.rating.terminal import Rating

_END = ("", "\x04")


def rated(work: Rating) -> None:
    """Show pairs and take keys until all are rated, or the rater goes."""
    shown = True
    with _keys_at_once():
        while (screen := work.screen) is not None:
            if shown:
                click.echo(render(screen, width()), err=True, nl=False)
            key = sys.stdin.read(1)
            if key in _END or key.lower() == "q":
                return
            if key in screen.grades:
                work.rate(screen.grades[key][0])
                shown = True
            else:
                shown = _other(work, key.lower())


def _other(work: Rating, key: str) -> bool:
    """What keys do that are no grade; whether there is another pair to show."""
    if key == "c":
        click.echo("why? ", err=True, nl=False)
        with _whole_lines():
            work.cannot_tell(sys.stdin.readline())
    elif key == "s":
        work.skip()
    elif key == "u":
        if not work.undo():
            click.echo("nothing to undo", err=True)
            return False
    else:
        if key.strip():
            click.echo(f"{key!r} is no key here", err=True)
        return False
    return True


@contextmanager
def _keys_at_once() -> Iterator[None]:
    """A terminal that gives each key when it is pressed; anything else stays as it is."""
    with _changed(at_once=True):
        yield


@contextmanager
def _whole_lines() -> Iterator[None]:
    """A terminal that shows what is typed and gives it line by line."""
    with _changed(at_once=False):
        yield


@contextmanager
def _changed(*, at_once: bool) -> Iterator[None]:
    try:
        import termios  # noqa: PLC0415 - not on every system
    except ImportError:
        yield
        return
    if not sys.stdin.isatty():
        yield
        return
    handle = sys.stdin.fileno()
    before = termios.tcgetattr(handle)
    wanted = termios.tcgetattr(handle)
    flags = termios.ICANON | termios.ECHO
    wanted[3] = wanted[3] & ~flags if at_once else wanted[3] | flags
    # at once, and without throwing away what was typed already
    termios.tcsetattr(handle, termios.TCSANOW, wanted)
    try:
        yield
    finally:
        termios.tcsetattr(handle, termios.TCSANOW, before)
