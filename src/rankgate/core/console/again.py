"""Rebuild a command line so that it can be repeated."""

from __future__ import annotations

from collections.abc import Collection

import click
from click.core import ParameterSource

_NOT_AGAIN = ("form", "output")


def again(context: click.Context, only: Collection[str] = ()) -> list[str]:
    """What was said behind the command's name, without its form and its output.

    Args:
        context: of the command that runs.
        only: names of options; empty is everything.
    """
    words: list[str] = []
    for parameter in context.command.params:
        name = str(parameter.name)
        wanted = name in only if only else name not in _NOT_AGAIN
        if not wanted or context.get_parameter_source(name) is not ParameterSource.COMMANDLINE:
            continue
        value = context.params[name]
        values = [str(each) for each in (value if isinstance(value, tuple) else (value,))]
        if isinstance(parameter, click.Argument):
            words += values
        elif getattr(parameter, "is_flag", False):
            words.append(parameter.opts[-1])
        else:
            words += [word for each in values for word in (parameter.opts[-1], each)]
    return words
