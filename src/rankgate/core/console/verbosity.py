"""Quiet output and colours: options of all commands, and the environment."""

from __future__ import annotations

import os

import click


def is_quiet() -> bool:
    """True if progress and summaries are left out (``--quiet``)."""
    return _is_set("quiet")


def uses_colours() -> bool:
    """True if colours may be used: not with ``--no-color`` or NO_COLOR, nor at a dumb terminal."""
    colours_disabled = os.environ.get("NO_COLOR") or os.environ.get("TERM") == "dumb"
    return not (colours_disabled or _is_set("no_color"))


def _is_set(name: str) -> bool:
    """A flag of the program; false where a command is called by itself."""
    context = click.get_current_context(silent=True)
    return bool(context and context.find_root().params.get(name))
