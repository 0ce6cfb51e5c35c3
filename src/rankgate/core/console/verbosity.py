"""Whether a command is quiet or without colours: options of all commands, and the environment."""

from __future__ import annotations

import os

import click


def quiet() -> bool:
    """Whether progress and summaries are left out (``--quiet``)."""
    return _flag("quiet")


def colours() -> bool:
    """Whether colours may be used: not with ``--no-color`` or NO_COLOR, nor at a dumb terminal."""
    barred = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return not (barred or _flag("no_color"))


def _flag(name: str) -> bool:
    """A flag of the program; false where a command is called by itself."""
    context = click.get_current_context(silent=True)
    return bool(context and context.find_root().params.get(name))
