"""Shared options of metrics on lists: training data, items, baseline lists."""

from __future__ import annotations

import functools
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rankgate.core.errors import UsageError

if TYPE_CHECKING:
    from rankgate.measurement.evaluation.context import Context


def context(function: Callable[..., Any]) -> Callable[..., Any]:
    """All options of metrics on lists, the same in every command, as one `Context`."""

    @functools.wraps(function)
    def result(*args: Any, obvious: str | None, earlier: tuple[str, ...], **rest: Any) -> Any:  # noqa: ANN401 - of the command
        from rankgate.measurement.evaluation.context import Context

        fields = {name: rest.pop(name) for name in _FIELDS}
        given = Context(baseline=obvious, earlier=_named(earlier), **fields)
        return function(*args, context=given, **rest)

    for option in reversed(_OPTIONS):
        result = option(result)
    return result


def tasks(function: Callable[..., Any]) -> Callable[..., Any]:
    """The options of passages and of rankings that belong together, as part of the `Context`."""

    @functools.wraps(function)
    def result(*args: Any, context: Context, **rest: Any) -> Any:  # noqa: ANN401 - of the command
        fields = {name: rest.pop(name) for name in ("length", "document", "sequences")}
        return function(*args, context=replace(context, **fields), **rest)

    for option in reversed(_TASKS):
        result = option(result)
    return result


def _named(earlier: tuple[str, ...]) -> dict[str, str] | None:
    """Earlier runs by the name of their system; one without a name is of every system."""
    from rankgate.core.console.pairs import pairs
    from rankgate.measurement.evaluation.context import EVERY

    alone = [each for each in earlier if "=" not in each or Path(each).exists()]
    if len(alone) > 1:
        raise UsageError(
            f"--earlier {alone[1]}: name the system, as in NAME={alone[1]}.",
            code="invalid-syntax",
        )
    named = pairs([each for each in earlier if each not in alone], "--earlier", str)
    return ({EVERY: alone[0]} if alone else {}) | named or None


_TASKS = (
    click.option(
        "--length", metavar="COLUMN", help="The item column with lengths of passages in tokens."
    ),
    click.option(
        "--document",
        metavar="COLUMN",
        help="The item column with the document that each passage is a part of.",
    ),
    click.option(
        "--sequences",
        metavar="FILE",
        help="Which rankings belong together (sessions, variations of a topic): query_id, sequence "
        "and perhaps position; or ids:PATTERN with these names as groups.",
    ),
)

_FIELDS = ("train", "items", "features", "category", "group", "drop_seen", "judged_users_only")
"""Options that are fields of a context by name; the others have another name, or are pairs."""

_OPTIONS = (
    click.option("--train", type=click.Path(), help="The training log of the systems."),
    click.option("--items", type=click.Path(), help="A table of items: item_id and columns."),
    click.option(
        "--feature",
        "features",
        multiple=True,
        metavar="COLUMN",
        help="Item columns with numbers (features).",
    ),
    click.option(
        "--category",
        metavar="COLUMN",
        help="The item column with categories; several are separated by bars.",
    ),
    click.option(
        "--group", metavar="COLUMN", help="The item column with groups, for fairness of exposure."
    ),
    click.option(
        "--obvious",
        type=click.Path(),
        metavar="RUN",
        help="The run of a simple system to compare with, such as the most popular items.",
    ),
    click.option(
        "--earlier",
        multiple=True,
        metavar="[NAME=]RUN",
        help="Earlier recommendations, of the system NAME or of every system. "
        "May be given several times.",
    ),
    click.option(
        "--drop-seen",
        is_flag=True,
        help="Remove items that the user had in training from the lists.",
    ),
    click.option(
        "--judged-users-only",
        is_flag=True,
        help="Compute list metrics over users with judgments only, not over all users.",
    ),
)
