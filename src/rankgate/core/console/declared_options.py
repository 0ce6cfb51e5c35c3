"""Options of the command line from a declaration: type, range, default and help written once."""

from __future__ import annotations

import functools
import inspect
import math
import re
import sys
from collections.abc import Callable, Container, Iterable, Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import click

from rankgate.core.console.sections import SectionOption
from rankgate.core.declare import Registry, fields_of
from rankgate.core.declare.signature import documented, parameter

if TYPE_CHECKING:
    from rankgate.core.declare import Parameter

    Command = Callable[..., Any]

_REPEATED = " May be given several times."
_LIKE = re.compile(r"\b(\w+)Like\b")
_NAMED = re.compile(r"``(\w+)``")


def option(
    declared: Parameter,
    *flags: str,
    metavar: str | None = None,
    multiple: bool = False,
    aliases: Mapping[str, str] = MappingProxyType({}),
    section: str = "Options",
) -> Callable[[Command], Command]:
    """Return the option that a parameter declares, in a section of the help.

    An alias stands for one of its choices.
    """
    name = declared.name
    help_ = declared.help.replace("`", "")
    long = _flag(name)
    return click.option(
        *flags,
        *([] if any(each.startswith("--") for each in flags) else [long]),
        name,
        type=_Choice(declared.choices, aliases) if aliases else _type(declared),
        **({} if declared.required else {"default": declared.default}),
        show_default=declared.default not in (None, "", ()) and declared.kind != "bool",
        required=declared.required,
        is_flag=declared.kind == "bool",
        metavar=metavar,
        multiple=multiple,
        help=f"{help_[:1].upper()}{help_[1:]}{_REPEATED * multiple}",
        cls=SectionOption,
        section=section,
    )


def options_of(
    verb: Command, *names: str, choices: Mapping[str, Iterable[str]] | None = None
) -> Callable[[Command], Command]:
    """Return a decorator with options that the parameters of a verb declare.

    Type and default are those of its signature, the help is what its docstring says under
    ``Args``. What accepts judgments, runs and other inputs is a path on the command line.

    Args:
        verb: the function that the command calls, or the class of a value that it makes.
        names: its parameters in the order of the help; with words behind a name: how the value is
            called there, and further flags, as in ``"metric METRIC -m"``.
        choices: what a text may be, where the annotation does not say it; a registry has aliases.
    """
    signature = inspect.signature(verb).parameters
    help_of = documented(verb.__doc__ or "", "Attributes" if isinstance(verb, type) else "Args")

    def decorate(function: Command) -> Command:
        for words in reversed(names):
            name, *rest = words.split()
            help_ = _NAMED.sub(lambda found: _flag(found[1], signature), help_of[name])
            declared = _declared(verb, signature[name], help_)
            flags = [each for each in rest if each.startswith("-")]
            metavar = next((each for each in rest if not each.startswith("-")), None)
            shown = _LIKE.search(str(signature[name].annotation))
            if shown or "Path" in str(signature[name].annotation):
                metavar = metavar or (shown[1].upper() if shown else "FILE")
                declared = replace(declared, kind="path")
            elif choices and name in choices:
                declared = replace(declared, kind="choice", choices=tuple(choices[name]))
            registry = choices.get(name) if choices else None
            aliases = registry.aliases if isinstance(registry, Registry) else {}
            kind = str(signature[name].annotation)
            pairs = kind.startswith("Mapping[") and "Path" not in kind  # else the table's file
            several = kind.startswith("Sequence[") or pairs
            if pairs:
                function = _with_pairs(function, name, float if "float" in kind else str)
            function = option(declared, *flags, metavar=metavar, multiple=several, aliases=aliases)(
                function
            )
        return function

    return decorate


def _with_pairs(function: Command, name: str, read: Callable[[str], Any]) -> Command:
    """The command with the words ``NAME=VALUE`` of an option as a mapping."""

    @functools.wraps(function)
    def mapped(*args: Any, **given: Any) -> Any:
        from rankgate.core.console.pairs import pairs

        command = click.get_current_context().command
        flag = next(each.opts[-1] for each in command.params if each.name == name)
        return function(*args, **{**given, name: pairs(given[name], flag, read) or None})

    return mapped


def _flag(name: str, known: Container[str] | None = None) -> str:
    """The flag of a parameter; an unknown name is returned as it is."""
    flag = f"--{name.rstrip('_').replace('_', '-')}"
    return flag if known is None or name in known else name


def _declared(verb: Command, each: inspect.Parameter, help_: str) -> Parameter:
    """What an argument declares; its type is open where an annotation is of type checkers only."""
    try:
        names = vars(sys.modules[verb.__module__])
        hint = eval(str(each.annotation), names)  # noqa: S307 - our own source
    except NameError:
        hint = Any
    return parameter(each.name, hint, each.default, help_=help_)


def collected(
    name: str, kind: type[Any], *fields: str, section: str = "Options"
) -> Callable[[Command], Command]:
    """Return a decorator with the options that a dataclass declares; the command gets one value.

    Args:
        name: the argument of the command that gets the value.
        kind: the dataclass.
        fields: which of its fields are options, by default all, in the order of the help; with
            words behind a field: how the value is called there, and further flags, as in
            ``"weights KIND=X --weight"``.
        section: the heading of the help under which they stand.
    """
    declared = dict(fields_of(kind))
    for field, annotation in inspect.get_annotations(kind).items():
        if field in declared and ("Path" in str(annotation) or _LIKE.search(str(annotation))):
            declared[field] = replace(declared[field], kind="path")
    labels = {field: words for field, *words in map(str.split, fields or declared)}
    chosen = {field: declared[field] for field in labels}

    def decorate(function: Command) -> Command:
        @functools.wraps(function)
        def collect(*args: Any, **given: Any) -> Any:
            values = {field: given.pop(each.name) for field, each in chosen.items()}
            stated = {field: value for field, value in values.items() if value is not None}
            return function(*args, **{name: kind(**stated)}, **given)

        command: Command = collect
        for field, one in reversed(chosen.items()):
            flags = [word for word in labels[field] if word.startswith("-")]
            metavar = next((word for word in labels[field] if not word.startswith("-")), None)
            pairs = isinstance(one.default, Mapping)
            if pairs:
                command = _with_pairs(command, one.name, float)
            shown = replace(one, default=()) if pairs else one
            command = option(shown, *flags, metavar=metavar, multiple=pairs, section=section)(
                command
            )
        return command

    return decorate


def value_options(
    name: str,
    kind: type[Any],
    *fields: str,
    also: Mapping[str, str] = MappingProxyType({}),
    choices: Mapping[str, Iterable[str]] | None = None,
) -> Callable[[Command], Command]:
    """Return a decorator with options of a value's fields; the command gets the value.

    It gets None where an argument of ``also`` has no value.

    Args:
        name: the argument of the command that gets the value.
        kind: the value's class.
        fields: its fields that are options, in the words of `options_of`.
        also: by field the argument of the command that holds it, declared above this decorator.
        choices: as of `options_of`.
    """
    arguments = {**{words.split()[0]: words.split()[0] for words in fields}, **also}

    def decorate(function: Command) -> Command:
        @functools.wraps(function)
        def collect(*args: Any, **given: Any) -> Any:
            values = {field: given.pop(argument) for field, argument in arguments.items()}
            missing = any(values[field] is None for field in also)
            return function(*args, **{name: None if missing else kind(**values)}, **given)

        return options_of(kind, *fields, choices=choices)(collect)

    return decorate


class _Choice(click.Choice):  # type: ignore[type-arg]  # generic since click 8.2
    """Names of which some have aliases; the help shows the names."""

    def __init__(self, names: Iterable[str], aliases: Mapping[str, str]) -> None:
        super().__init__(tuple(names))
        self._aliases = aliases

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:
        return str(super().convert(self._aliases.get(value, value), param, ctx))


def _type(declared: Parameter) -> Any:
    if declared.kind == "choice":
        return click.Choice(declared.choices)
    ends = declared.range.low, declared.range.high
    low, high = (None if math.isinf(end) else end for end in ends)
    if declared.kind == "int":
        return (
            click.INT
            if low is None
            else click.IntRange(int(low), None if high is None else int(high))
        )
    if declared.kind == "float":
        open_ = declared.range.exclusive
        limited = (low, high) != (None, None)
        low_open, high_open = open_ and low is not None, open_ and high is not None
        return click.FloatRange(low, high, low_open, high_open) if limited else click.FLOAT
    return {"bool": click.BOOL, "path": click.Path()}.get(declared.kind, click.STRING)
