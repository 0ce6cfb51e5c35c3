"""The key loop of the terminal rater."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from rankgate.core.console.terminal import width
from rankgate.judging.commands.keyboard import BACKSPACE, ESCAPE, MORE, Keyboard, Pasted
from rankgate.judging.rating.screen import parts_of, render

if TYPE_CHECKING:
    from rankgate.judging.rating.terminal import Rating
    from rankgate.judging.store.remote_rating import RemoteRating
    from rankgate.judging.store.store_rating import StoreRating

_QUIT = ("", "\x04", "q")
_CLEAR = "\x15"
_PASTED = "pasted text is not a grade; nothing was rated"


def rated(work: Rating | StoreRating | RemoteRating) -> None:
    """Show pairs and take keys until all are rated, or the rater quits."""
    shown, part = True, 0
    with Keyboard() as keyboard:
        while (screen := work.screen) is not None:
            if shown:
                click.echo(render(screen, width(), part), err=True, nl=False)
            read = keyboard.read()
            if isinstance(read, Pasted):
                click.echo(_PASTED, err=True)
                shown = False
                continue
            key = read.char.lower()
            if key in _QUIT:
                return
            if key in screen.grades:
                work.rate(screen.grades[key][0])
                shown, part = True, 0
            elif key == MORE:
                shown, part = parts_of(screen) > 1, part + 1
            else:
                shown, part = _other(work, key, keyboard), 0


def _other(work: Rating | StoreRating | RemoteRating, key: str, keyboard: Keyboard) -> bool:
    """What keys do that are not grades; whether there is another pair to show."""
    if key == "c":
        click.echo("why? (Enter: no reason, Esc: cancel) ", err=True, nl=False)
        reason = _line(keyboard)
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


def _line(keyboard: Keyboard) -> str | None:
    """What is typed until Enter; None if it was cancelled by Esc."""
    if not keyboard.terminal:
        line = sys.stdin.readline()
        return None if ESCAPE in line else line
    text = ""
    while True:
        read = keyboard.read()
        if isinstance(read, Pasted) and read.marked:
            text += _echoed(" ".join(read.text.split()))
            continue
        for char in read.text if isinstance(read, Pasted) else read.char or "\n":
            if char in "\r\n":
                click.echo(err=True)
                return text
            if char == ESCAPE:
                return None
            if char in (BACKSPACE, "\b", _CLEAR):
                kept = text[:-1] if char != _CLEAR else ""
                click.echo("\b \b" * (len(text) - len(kept)), err=True, nl=False)
                text = kept
            elif char.isprintable():
                text += _echoed(char)


def _echoed(text: str) -> str:
    shown = "".join(char for char in text if char.isprintable())
    click.echo(shown, err=True, nl=False)
    return shown
