"""Command-line options made from declarations, NAME=VALUE pairs, and names of grades."""

from __future__ import annotations

import functools
import inspect
import math
import re
from collections.abc import Callable, Container, Iterable, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, TypeVar

import click

from rankgate.core.console.option_types import BY_METAVAR, AliasedChoice, SectionOption
from rankgate.core.declare import Parameter, Registry, declared_parameter, fields_of
from rankgate.core.errors import UsageError

if TYPE_CHECKING:
    from rankgate.core.console.option_types import Command, Decorator


T = TypeVar("T")


def parse_pairs(texts: Sequence[str], option: str, read: Callable[[str], T]) -> dict[str, T]:
    """The names with their values.

    Args:
        texts: as they were written; one may hold several pairs separated by commas.
        option: the name of the option in errors.
        read: converts the text of a value.

    Raises:
        UsageError: no ``=``, a name twice, or a value that cannot be read.

    >>> parse_pairs(["buy=1,view=0.1", "like=2"], "--weight", float)
    {'buy': 1.0, 'view': 0.1, 'like': 2.0}
    """
    values_by_name: dict[str, T] = {}
    split_texts = [text.split(",") for text in texts]
    pairs = [
        pair
        for text, pieces in zip(texts, split_texts, strict=True)
        for pair in (pieces if all("=" in piece for piece in pieces) else [text])
    ]
    for text in pairs:
        name, value = _split_pair(text, option)
        if name in values_by_name:
            raise UsageError(f"{option}: {name} is given twice.", code="duplicate-name")
        try:
            values_by_name[name] = read(value)
        except ValueError:
            raise UsageError(f"{option} {text}: '{value}' is not a number.", code="not-a-number") from None
    return values_by_name


_LABELLED = re.compile(r"\s*(?P<label>[^=]+?)\s*=\s*(?P<number>[^,=]+?)\s*(?:,|$)")


def parse_labelled_numbers(texts: Sequence[str], option: str) -> dict[str, float]:
    """The labels and their numbers, from texts that may hold several pairs separated by commas.

    Args:
        texts: the texts, as the user wrote them.
        option: the name of the option in errors.

    Raises:
        UsageError: see `parse_pairs`.

    >>> parse_labelled_numbers(["Exact=3,Yes, but late=1", "N/A=unrated"], "--grades")
    {'Exact': 3.0, 'Yes, but late': 1.0, 'N/A': nan}
    """
    pair_texts: list[str] = []
    for text in texts:
        matches = list(_LABELLED.finditer(text))
        is_complete = "".join(match[0] for match in matches) == text
        pair_texts += [f"{m['label']}={m['number']}" for m in matches] if is_complete else text.split(",")
    return parse_pairs(pair_texts, option, _parse_grade)


def _parse_grade(value: str) -> float:
    """A grade; NaN for a label that means that a document is unrated."""
    return math.nan if value in {"unrated", "null"} else float(value)


def _split_pair(word: str, option: str) -> tuple[str, str]:
    name, equals, value = word.partition("=")
    if not equals or not name or not value:
        raise UsageError(f"{option} {word}: write it as NAME=VALUE.", code="invalid-syntax")
    return name, value


def parse_labels(texts: tuple[str, ...]) -> dict[float, str]:
    """The names of grades, by grade.

    Raises:
        UsageError: a word that is not GRADE=NAME.
    """
    return dict(map(_parse_label, texts))


def _parse_label(text: str) -> tuple[float, str]:
    grade, _, name = text.partition("=")
    try:
        return float(grade), name.strip() or grade
    except ValueError:
        raise UsageError(f"--label {text}: write GRADE=NAME, as in 3=Exact.", code="invalid-syntax") from None


_REPEATED = " May be given several times."
_QUOTED_NAME = re.compile(r"``(\w+)``")
_SHORT = len("-k")


def option(
    declared: Parameter,
    *flags: str,
    metavar: str | None = None,
    multiple: bool = False,
    aliases: Mapping[str, str] = MappingProxyType({}),
    section: str = "Options",
    kind: Any = None,
) -> Decorator:
    """Return the option that a parameter declares, in a section of the help.

    An alias stands for one of the parameter's choices; a kind of click takes the place of its type.
    """
    name = declared.name
    long_flag, is_flag = _flag_name(name), declared.kind == "bool"
    if is_flag and declared.default:
        long_flag += f"/--no-{long_flag.removeprefix('--')}"
    is_repeated = multiple and "given several times" not in declared.help
    return click.option(
        *flags,
        *([] if any(len(flag) > _SHORT for flag in flags) else [long_flag]),
        name,
        type=kind
        or (AliasedChoice(declared.choices, aliases) if aliases else _click_type(declared, metavar)),
        **({} if declared.required or declared.default == () else {"default": declared.default}),
        show_default=(declared.default not in (None, "", ()) and declared.default is not False) or None,
        required=declared.required,
        # with False, click reads the other words too while a shell completes a value that is required
        is_flag=is_flag or (False if declared.required else None),
        metavar=metavar,
        multiple=multiple,
        help=f"{declared.sentence}{_REPEATED * is_repeated}",
        cls=SectionOption,
        section=section,
    )


def verb_options(
    verb: Command,
    *names: str,
    choices: Mapping[str, Iterable[str]] = MappingProxyType({}),
    kinds: Mapping[str, Any] = MappingProxyType({}),
    section: str = "Options",
) -> Decorator:
    """Return a decorator with options that the parameters of a verb declare.

    Type and default are those of its signature, the help is the text of its docstring under
    ``Args``. Parameters that accept judgments, runs and other inputs are paths on the command line.

    Args:
        verb: the function that the command calls, or the class of a value that it makes.
        names: its parameters in the order of the help; words after a name are the metavariable and
            further flags, as in ``"metric METRIC -m"``.
        choices: the allowed texts, where the annotation does not give them; a registry has aliases.
        kinds: click's types of parameters that annotations do not give, such as a folder.
        section: the heading of the help under which they stand.
    """
    signature = inspect.signature(verb).parameters

    def decorate(function: Command) -> Command:
        for spec in reversed(names):
            name, *extras = spec.split()
            declared = declared_parameter(verb, name)
            help_ = _QUOTED_NAME.sub(lambda match: _flag_name(match[1], signature), declared.help)
            declared = replace(declared, help=help_)
            flags = [extra for extra in extras if extra.startswith("-")]
            metavar = next((extra for extra in extras if not extra.startswith("-")), None)
            if declared.content:
                content = "file" if declared.content == "path" else declared.content
                metavar = metavar or content.upper()
                declared = replace(declared, kind="path")
            elif name in choices:
                declared = replace(declared, kind="choice", choices=tuple(choices[name]))
            registry = choices.get(name)
            aliases = registry.aliases if isinstance(registry, Registry) else {}
            kind = str(signature[name].annotation)
            is_mapping = kind.startswith("Mapping[") and "Path" not in kind  # else the table's file
            is_repeatable = declared.repeatable or is_mapping
            if is_mapping:
                declared = replace(declared, default=())
                value_type = float if "float" in kind else str
                function = _with_pairs(function, declared.name, value_type)
            attributes: dict[str, Any] = {"aliases": aliases, "section": section, "kind": kinds.get(name)}
            function = option(declared, *flags, metavar=metavar, multiple=is_repeatable, **attributes)(
                function
            )
        return function

    return decorate


def own_options(*names: str, **attributes: Any) -> Decorator:
    """Return a decorator with options that the command's own parameters declare, as in `verb_options`.

    In its docstring the section ``Options`` follows a form feed, which ends the help.
    """
    return lambda function: verb_options(inspect.unwrap(function), *names, **attributes)(function)


def _with_pairs(function: Command, name: str, read_value: Callable[[str], Any]) -> Command:
    """The command, which receives the texts ``NAME=VALUE`` of an option as a mapping."""

    @functools.wraps(function)
    def mapped(*args: Any, **options: Any) -> object:

        command = click.get_current_context().command
        flag = next(param.opts[-1] for param in command.params if param.name == name)
        return function(*args, **{**options, name: parse_pairs(options[name], flag, read_value) or None})

    return mapped


def _flag_name(name: str, names: Container[str] | None = None) -> str:
    """The flag of a parameter; an unknown name is returned as it is."""
    flag = f"--{name.rstrip('_').replace('_', '-')}"
    return flag if names is None or name in names else name


def value_options(
    name: str,
    kind: type[Any],
    *fields: str,
    also: Mapping[str, str] = MappingProxyType({}),
    **attributes: Any,
) -> Decorator:
    """Return a decorator with options of a value's fields; the command gets the value.

    It gets None where an argument of ``also`` has no value.

    Args:
        name: the argument of the command that gets the value.
        kind: the value's class.
        fields: its fields that are options, in the words of `verb_options`; all by default.
        also: the argument of the command that holds each field, declared above this decorator.
        attributes: as of `verb_options`.
    """
    declared = fields_of(kind)
    fields = fields or tuple(declared)
    names = [spec.split()[0] for spec in fields]
    arguments = {**{field: declared[field].name for field in names}, **also}

    def decorate(function: Command) -> Command:
        @functools.wraps(function)
        def collect(*args: Any, **options: Any) -> object:
            values = {field: options.pop(argument) for field, argument in arguments.items()}
            is_missing = any(values[field] is None for field in also)
            set_values = {field: value for field, value in values.items() if value is not None}
            return function(*args, **{name: None if is_missing else kind(**set_values)}, **options)

        return verb_options(kind, *fields, **attributes)(collect)

    return decorate


def _click_type(declared: Parameter, metavar: str | None) -> Any:
    if declared.kind == "choice":
        return click.Choice(declared.choices)
    bounds = declared.range.low, declared.range.high
    low, high = (None if math.isinf(bound) else bound for bound in bounds)
    if declared.kind == "int":
        return click.INT if low is None else click.IntRange(int(low), None if high is None else int(high))
    if declared.kind == "float":
        is_exclusive = declared.range.exclusive
        has_bounds = (low, high) != (None, None)
        low_open, high_open = is_exclusive and low is not None, is_exclusive and high is not None
        return click.FloatRange(low, high, low_open, high_open) if has_bounds else click.FLOAT
    simple_types = {"bool": click.BOOL, "path": click.Path()}
    return simple_types.get(declared.kind) or BY_METAVAR.get(metavar or "", click.STRING)


label = option(
    Parameter("labels", help="The name of a grade, as in 3=Exact; may be given several times.", default=()),
    "--label",
    metavar="GRADE=NAME",
    multiple=True,
)
