"""The key loop of the terminal rater."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from rankgate.core.console.terminal import output_width
from rankgate.judging.commands.keyboard import BACKSPACE, ESCAPE, MORE, Keyboard, PastedText
from rankgate.judging.rating.screen import count_pages, render

if TYPE_CHECKING:
    from rankgate.judging.rating.terminal import Rating
    from rankgate.judging.store.remote_rating import RemoteRating
    from rankgate.judging.store.store_rating import StoreRating

_QUIT_KEYS = ("", "\x04", "q")
_CLEAR_KEY = "\x15"
_PASTED_MESSAGE = "pasted text is not a grade; nothing was rated"


def rate_by_keys(work: Rating | StoreRating | RemoteRating) -> None:
    """Show pairs and take keys until all are rated, or the rater quits."""
    needs_display, page = True, 0
    with Keyboard() as keyboard:
        while (screen := work.screen) is not None:
            if needs_display:
                click.echo(render(screen, output_width(), page), err=True, nl=False)
            event = keyboard.read()
            if isinstance(event, PastedText):
                click.echo(_PASTED_MESSAGE, err=True)
                needs_display = False
                continue
            key = event.char.lower()
            if key in _QUIT_KEYS:
                return
            if key in screen.grades:
                work.rate(screen.grades[key][0])
                needs_display, page = True, 0
            elif key == MORE:
                needs_display, page = count_pages(screen) > 1, page + 1
            else:
                needs_display, page = _handle_key(work, key, keyboard), 0


def _handle_key(work: Rating | StoreRating | RemoteRating, key: str, keyboard: Keyboard) -> bool:
    """Handle a key that is not a grade; True if there is another pair to show."""
    if key == "c":
        click.echo("why? (Enter: no reason, Esc: cancel) ", err=True, nl=False)
        reason = _read_line(keyboard)
        if reason is None:
            click.echo("cancelled", err=True)
            return False
        work.cannot_tell(reason)
    elif key == "s":
        work.skip()
    elif key == "u":
        if not work.undo():
            click.echo("nothing to undo", err=True)
            return False
    else:
        if key.strip() and key != ESCAPE:
            click.echo(f"{key!r} is no key here", err=True)
        return False
    return True


def _read_line(keyboard: Keyboard) -> str | None:
    """Read a line until Enter; None if Esc cancelled it."""
    if not keyboard.terminal:
        line = sys.stdin.readline()
        return None if ESCAPE in line else line
    text = ""
    while True:
        event = keyboard.read()
        if isinstance(event, PastedText) and event.marked:
            text += _echo(" ".join(event.text.split()))
            continue
        for char in event.text if isinstance(event, PastedText) else event.char or "\n":
            if char in "\r\n":
                click.echo(err=True)
                return text
            if char == ESCAPE:
                return None
            if char in (BACKSPACE, "\b", _CLEAR_KEY):
                remaining = text[:-1] if char != _CLEAR_KEY else ""
                click.echo("\b \b" * (len(text) - len(remaining)), err=True, nl=False)
                text = remaining
            elif char.isprintable():
                text += _echo(char)


def _echo(text: str) -> str:
    printable = "".join(char for char in text if char.isprintable())
    click.echo(printable, err=True, nl=False)
    return printable
