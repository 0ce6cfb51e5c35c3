"""What the program adds to commands from packages above theirs.

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
        run_on_spark: for ``--backend spark``: runs a command's verb on Spark and prints its result.
        record: for ``--record``: records a result with the parameters of its command.
    """

    score_ratings: str
    run_on_spark: str
    record: str


def hook(name: str) -> Callable[..., Any]:
    """The function behind a name; one that returns None in a command that has no program."""
    hooks = click.get_current_context().find_object(Hooks)
    if hooks is None:
        return lambda *_, **__: None
    from rankgate.core.present.resolve import resolved

    found: Callable[..., Any] = resolved(getattr(hooks, name))
    return found
