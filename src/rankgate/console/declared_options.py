"""Options of the command line from a declaration: type, range, default and help written once."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import click

from rankgate.declare import fields_of

if TYPE_CHECKING:
    from collections.abc import Callable

    from rankgate.declare import Parameter

    Command = Callable[..., Any]


def option(declared: Parameter) -> Callable[[Command], Command]:
    """Return the option that a parameter declares."""
    name = declared.name
    return click.option(
        f"--{name.rstrip('_').replace('_', '-')}",
        name,
        type=_type(declared),
        default=declared.default,
        show_default=declared.default is not None,
        required=declared.required,
        help=declared.help,
    )


def collected(name: str, kind: type[Any], *fields: str) -> Callable[[Command], Command]:
    """Return a decorator with the options that a dataclass declares; the command gets one value.

    Args:
        name: the argument of the command that gets the value.
        kind: the dataclass.
        fields: which of its fields are options, by default all.
    """
    declared = fields_of(kind)
    chosen = {field: declared[field] for field in fields or declared}

    def decorate(function: Command) -> Command:
        @functools.wraps(function)
        def collect(*args: Any, **given: Any) -> Any:  # noqa: ANN401 - as click gives them
            values = {field: given.pop(each.name) for field, each in chosen.items()}
            return function(*args, **{name: kind(**values)}, **given)

        command: Command = collect
        for each in reversed(chosen.values()):
            command = option(each)(command)
        return command

    return decorate


def _type(declared: Parameter) -> Any:  # noqa: ANN401 - one of click
    if declared.kind == "choice":
        return click.Choice(declared.choices)
    if declared.kind == "int":
        low = declared.range.low
        return click.IntRange(min=int(low)) if low > -float("inf") else click.INT
    return {"float": click.FLOAT, "bool": click.BOOL}.get(declared.kind, click.STRING)
