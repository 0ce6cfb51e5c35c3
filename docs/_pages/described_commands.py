"""What all commands declare to click, so that help and usage errors need none of their modules."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import click

from rankgate.core.console.option_types import (
    DefiningCommand,
    FullHelpGroup,
    RenamedOption,
    SectionedCommand,
    SectionOption,
    help_text,
)
from rankgate.interface.cli import rankgate

FILE = Path(__file__).parents[2] / "src/rankgate/interface/cli/commands.json"

_CLASSES = (DefiningCommand, SectionedCommand, FullHelpGroup, click.Command)
_SIMPLE_TYPES = ("BoolParamType", "FloatParamType", "IntParamType")
_RANGE = dict.fromkeys(("min", "max")) | dict.fromkeys(("min_open", "max_open"), False)
_PATH = {key: vars(click.Path())[key] for key in ("exists", "file_okay", "dir_okay", "writable", "readable")}
_ARGUMENT = {key: vars(click.Option(["--name"]))[key] for key in ("metavar", "nargs", "default")}
_OPTION = {
    **_ARGUMENT,
    **dict.fromkeys(("help", "envvar", "show_default")),
    **dict.fromkeys(("required", "multiple", "is_flag"), False),
    "section": "Options",
}


def page() -> str:
    """The commands as JSON, a line each."""
    context = click.Context(rankgate)
    commands = {name: rankgate.get_command(context, name) for name in rankgate.list_commands(context)}
    lines = [
        f"{json.dumps(name)}: {json.dumps(described(command, context), ensure_ascii=False, default=dict)}"
        for name, command in commands.items()
        if command is not None and command.add_help_option
    ]
    return "{\n" + ",\n".join(lines) + "\n}\n"


def described(command: click.Command, context: click.Context) -> dict[str, Any]:
    """The arguments of the class of a command that make one with the same help and errors."""
    kind = next(kind for kind in _CLASSES if isinstance(command, kind))
    description: dict[str, Any] = {
        "class": kind.__name__,
        "help": help_text(command),
        "params": [_parameter(param) for param in command.params],
    }
    if command.context_settings:
        description["context_settings"] = command.context_settings
    if isinstance(command, DefiningCommand):
        description["definitions"] = command.definitions
    if isinstance(command, click.Group):
        context = click.Context(command, parent=context)
        subcommands = {name: command.get_command(context, name) for name in command.list_commands(context)}
        description["invoke_without_command"] = command.invoke_without_command
        description["commands"] = {
            name: described(subcommand, context)
            for name, subcommand in subcommands.items()
            if subcommand is not None
        }
    return description


def _parameter(param: click.Parameter) -> dict[str, Any]:
    attributes = vars(param)
    is_option = isinstance(param, click.Option)
    description = _different(attributes, _OPTION if is_option else _ARGUMENT)
    if description.get("default") is False and not param.secondary_opts:
        del description["default"]  # flags have it anyway, in some versions of click
    if is_option:
        *flags, last_flag = param.opts
        switch = "/".join([last_flag, *param.secondary_opts])
        description["declarations"] = [*flags, switch, param.name]
        if param.required and isinstance(param, SectionOption):  # as `declared_options` makes it
            description["is_flag"] = False
    else:
        description |= {"declarations": [param.name], "required": param.required}
    if isinstance(param, RenamedOption):
        description["renamed"] = True
    if param.callback is not None:
        description["callback"] = True
    return description | {"type": _type(param.type)}


def _type(kind: click.ParamType[Any]) -> list[Any]:
    """The class of a type and its arguments; of the type of one command its name."""
    attributes = vars(kind)
    if isinstance(kind, click.types.StringParamType):  # names are any text
        return ["StringParamType"]
    arguments: dict[str, Any] = {}
    if isinstance(kind, click.Choice):
        arguments = {key: attributes[key] for key in ("choices", "aliases") if key in attributes}
    elif isinstance(kind, click.IntRange | click.FloatRange):
        arguments = _different(attributes, _RANGE)
    elif isinstance(kind, click.Path):
        return ["Path", _different(attributes, _PATH)]
    elif type(kind).__name__ not in _SIMPLE_TYPES:
        return ["", kind.name]
    return [type(kind).__name__, *([arguments] if arguments else [])]


def _different(attributes: Mapping[str, Any], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """The attributes that differ from click's defaults."""
    return {
        key: attributes[key]
        for key, default in defaults.items()
        if attributes.get(key) not in (None, default)
    }
