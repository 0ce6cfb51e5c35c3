"""Rebuild a command line so that it can be repeated."""

from __future__ import annotations

from collections.abc import Collection

import click
from click.core import ParameterSource

_OMITTED_OPTIONS = ("form", "output")


def repeat_arguments(context: click.Context, only: Collection[str] = ()) -> list[str]:
    """The arguments and options of the running command, without ``--format`` and ``--output``.

    Args:
        context: of the command that runs.
        only: names of options; empty is everything.
    """
    arguments: list[str] = []
    for parameter in context.command.params:
        name = str(parameter.name)
        is_repeated = name in only if only else name not in _OMITTED_OPTIONS
        if not is_repeated or context.get_parameter_source(name) is not ParameterSource.COMMANDLINE:
            continue
        value = context.params[name]
        texts = [str(raw_value) for raw_value in (value if isinstance(value, tuple) else (value,))]
        if isinstance(parameter, click.Argument):
            arguments += texts
        elif getattr(parameter, "is_flag", False):
            arguments.append(parameter.opts[-1])
        else:
            arguments += [argument for text in texts for argument in (parameter.opts[-1], text)]
    return arguments
