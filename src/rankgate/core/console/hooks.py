"""Functions that the program adds to commands from packages above theirs.

A package never imports one above it. Where a command can do more with such a package, it asks for a
hook by name; ``cli`` says in the context of click what is after the name.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import click

from rankgate.core.frozen import dataclass


@dataclass(frozen=True)
class Hooks:
    """Functions as ``module:function``, imported when they are called.

    Attributes:
        score_ratings: for ``eval``: scores runs by the ratings of single raters, as a tool does;
            None where the input holds judgments.
        on_spark: for ``--backend spark``: a session, with tables on Spark for a command's files.
        record: for ``--record``: records a result with the parameters of its command.
    """

    score_ratings: str
    on_spark: str
    record: str


def find_hook(name: str) -> Callable[..., Any]:
    """The function of a hook; one that returns None in a command outside of the program."""
    hooks = click.get_current_context().find_object(Hooks)
    if hooks is None:
        return lambda *_, **__: None
    from rankgate.core.present.resolve import load_name

    function: Callable[..., Any] = load_name(getattr(hooks, name))
    return function
