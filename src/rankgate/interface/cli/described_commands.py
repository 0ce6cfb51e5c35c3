"""Commands as ``commands.json`` describes them: help and usage errors without their modules.

The modules of most commands import NumPy and Polars, which takes longer than everything else that
help and usage errors need. `docs/_pages/described_commands.py` writes the file from the commands; a
test proves that it is what they declare.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from importlib import resources
from typing import Any, NoReturn

import click

from rankgate.core.console.option_types import (
    AliasedChoice,
    DefiningCommand,
    FullHelpGroup,
    SectionedCommand,
    SectionOption,
)
from rankgate.core.console.shared_options import RenamedOption

_TYPES: Mapping[str, Callable[..., click.ParamType[Any]]] = {
    "AliasedChoice": AliasedChoice,
    "BoolParamType": lambda: click.BOOL,
    "Choice": click.Choice,
    "FloatParamType": lambda: click.FLOAT,
    "FloatRange": click.FloatRange,
    "IntParamType": lambda: click.INT,
    "IntRange": click.IntRange,
    "Path": click.Path,
    "StringParamType": lambda: click.STRING,
}
_CLASSES: Mapping[str, Callable[..., click.Command]] = {
    "Command": click.Command,
    "DefiningCommand": DefiningCommand,
    "FullHelpGroup": FullHelpGroup,
    "SectionedCommand": SectionedCommand,
}


class CheckedCommand(click.Command):
    """A command that is loaded when its arguments are right.

    Args:
        described: the same command without callbacks.
        load: imports the command.
    """

    def __init__(self, described: click.Command, load: Callable[[], click.Command]) -> None:
        super().__init__(described.name)
        self._described = described
        self._load = load

    def make_context(
        self,
        info_name: str | None,
        args: list[str],
        parent: click.Context | None = None,
        **extra: Any,
    ) -> click.Context:
        """Write help or raise a usage error, else return the context of the loaded command."""
        try:
            with self._described.make_context(info_name, list(args), parent, **extra) as context:
                context.command.invoke(context)  # of groups: checks the arguments of subcommands
        except _NotDescribedError:
            pass
        return self._load().make_context(info_name, args, parent, **extra)


def described_command(name: str) -> click.Command | None:
    """The command without callbacks; None where the file does not describe it."""
    lines = resources.files(__package__).joinpath("commands.json").read_text("utf-8").splitlines()
    prefix = f'"{name}": '
    line = next((line for line in lines if line.startswith(prefix)), None)
    return None if line is None else _command(name, json.loads(line[len(prefix) :].rstrip(",")))


def _command(name: str, description: Mapping[str, Any]) -> click.Command:
    attributes = dict(description)
    make_command = _CLASSES[attributes.pop("class")]
    if "commands" in attributes:
        subcommands = attributes["commands"].items()
        attributes["commands"] = {path: _command(path, entry) for path, entry in subcommands}
    return make_command(name, **attributes | {"params": [*map(_parameter, attributes["params"])]})


def _parameter(description: Mapping[str, Any]) -> click.Parameter:
    attributes = dict(description)
    declarations = attributes.pop("declarations")
    type_name, *type_arguments = attributes.pop("type")
    if attributes.pop("callback", False):
        attributes["callback"] = _ask_command
    attributes["type"] = (
        _TYPES[type_name](**dict(*type_arguments))
        if type_name in _TYPES
        else _NotDescribedType(*type_arguments)
    )
    if attributes.pop("renamed", False):
        return RenamedOption(declarations, **attributes)
    if not declarations[0].startswith("-"):
        return click.Argument(declarations, **attributes)
    return SectionOption(declarations, **{"section": "Options", **attributes})


class _NotDescribedError(Exception):
    """Only the command can check whether a value is right."""


class _NotDescribedType(click.ParamType):  # type: ignore[type-arg]  # generic since click 8.4
    """A type of one command."""

    def __init__(self, name: str) -> None:
        self.name = name

    def convert(self, *_: object) -> NoReturn:
        raise _NotDescribedError


def _ask_command(*_: object) -> NoReturn:
    """Take the place of a parameter's callback."""
    raise _NotDescribedError
