"""Declared parameters: type, default and check of values, and how functions declare them.

Options of commands, fields of requests and arguments of assistants' tools are made of them.
"""

from __future__ import annotations

import ast
import functools
import inspect
import math
import re
import sys
import types
from collections.abc import Callable, Hashable, Mapping
from dataclasses import MISSING, fields, replace
from difflib import get_close_matches
from numbers import Integral, Real
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from rankgate.core.declare.flag_words import parse_flag
from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass

Kind = Literal[
    "any", "bool", "choice", "float", "gain", "int", "list", "map", "number", "path", "table", "text", "texts"
]
"""The kinds of values that parameters take.

A ``number`` keeps its type as it was written, a ``float`` becomes one; a ``gain`` is one of the
choices or a map from grade to gain; a ``map`` has a number, or none, for each of the choices.
"""

_EXACT = 2**53  # larger floats have no fraction digits, so a whole value means nothing
_KIND_DESCRIPTIONS: Mapping[str, str] = {
    "bool": "true or false",
    "float": "a number",
    "int": "a whole number",
    "list": "a list",
    "texts": "a list of strings",
    "number": "a number",
    "table": "a table",
    "text": "a text",
}
_TYPES: Mapping[str, tuple[Any, str]] = {
    "any": (Hashable, "a value that does not change"),
    "bool": (bool, "True or False"),
    "list": (list, "a list in brackets"),
    "texts": (list, "a list of strings in brackets"),
    "table": (dict, "a table, as in {title = 'name'}"),
    "text": (str, "a quoted string"),
}

_JSON_TYPES: Mapping[str, str] = {
    "bool": "boolean",
    "choice": "string",
    "float": "number",
    "int": "integer",
    "list": "array",
    "number": "number",
    "text": "string",
    "texts": "array",
}


@dataclass(frozen=True, slots=True)
class Range:
    """The numbers that a parameter may be, both ends included; belongs in an ``Annotated``.

    Attributes:
        low: the least number.
        high: the greatest number.
        finite: True if infinity and NaN are refused.
        exclusive: True if the ends themselves are refused.
    """

    low: float = -math.inf
    high: float = math.inf
    finite: bool = True
    exclusive: bool = False

    def __str__(self) -> str:
        """The range as text, to be put after the word *number*."""
        if math.isinf(self.low) and math.isinf(self.high):
            return ""
        if math.isinf(self.high):
            return f" {'above' if self.exclusive else 'of at least'} {self.low:g}"
        suffix = ", without these" if self.exclusive else ""
        return f" between {self.low:g} and {self.high:g}{suffix}"

    def __contains__(self, value: float) -> bool:
        if not math.isfinite(value):
            return not self.finite
        if self.exclusive:
            return self.low < value < self.high
        return self.low <= value <= self.high


@dataclass(frozen=True, slots=True, init=False)
class OnlyWith:
    """A condition on another parameter that gives this one an effect; used inside ``Annotated``.

    Attributes:
        other: the name of the other parameter.
        values: the values of the other parameter for which this one has an effect.
        mapping: True if this parameter also has an effect when the other one is a mapping.
    """

    other: str
    values: tuple[str, ...]
    mapping: bool

    def __init__(self, other: str, *values: str, mapping: bool = False) -> None:
        for name, value in (("other", other), ("values", values), ("mapping", mapping)):
            object.__setattr__(self, name, value)

    def __contains__(self, value: object) -> bool:
        return value in self.values or (self.mapping and isinstance(value, tuple))

    @property
    def decides(self) -> str | None:
        """The only value that the other parameter can have; None if several are possible."""
        return self.values[0] if len(self.values) == 1 and not self.mapping else None

    def __str__(self) -> str:
        """The values as text."""
        conditions = [f"{self.other}={value!r}" for value in self.values]
        return " or ".join([*conditions, *([f"a map as {self.other}"] if self.mapping else [])])


_GREATEST = (1 << 53) - 1  # the largest whole number that a float also holds exactly

Cutoff = Annotated[int, Range(1)]
"""The number of ranks that count."""
Count = Annotated[int, Range(1)]
"""A number of objects."""
Draws = Annotated[int, Range(1, 1_000_000)]
"""A number of resamples, which memory and time must hold."""
Share = Annotated[float, Range(0, 1)]
"""A share from 0 to 1."""


@dataclass(frozen=True)
class Parameter:
    """One parameter.

    Attributes:
        name: its spelling.
        kind: the type of its values.
        help: its meaning, in a sentence.
        default: its value where nothing is given; None too if required.
        choices: the words that it may be.
        range: the numbers that it may be.
        required: True if a value must be given.
        optional: True if None is a value.
        only_with: the values of other parameters that this one needs to have an effect.
        content: the content of an input, such as qrels, run or path; empty for other values.
        repeatable: True if several values may be given.
    """

    name: str
    kind: Kind = "any"
    help: str = ""
    default: Any = None
    choices: tuple[str, ...] = ()
    range: Range = Range()
    required: bool = False
    optional: bool = False
    only_with: tuple[OnlyWith, ...] = ()
    content: str = ""
    repeatable: bool = False

    @property
    def sentence(self) -> str:
        """The help as a sentence of plain text."""
        text = self.help.replace("`", "")
        return text if text[1:2].isupper() else text[:1].upper() + text[1:]  # nDCG stays

    @property
    def takes(self) -> str:
        """The values that it takes, in words."""
        if self.kind == "map":
            return f"{self.name}.KIND=VALUE for the kinds {', '.join(self.choices)}"
        description = " or ".join(self.choices) or _KIND_DESCRIPTIONS.get(self.kind, "a value") + str(
            self.range
        )
        return f"{description} or none" if self.optional else description

    @property
    def schema(self) -> dict[str, Any]:
        """The JSON schema of its value."""
        schema: dict[str, Any] = {"type": _JSON_TYPES[self.kind], "description": self.help}
        if self.choices:
            schema["enum"] = list(self.choices)
        bounds = {"minimum": self.range.low, "maximum": self.range.high}
        number = int if self.kind == "int" else float  # equal ranges are merged, in both notations
        schema |= {name: number(bound) for name, bound in bounds.items() if math.isfinite(bound)}
        if self.default is not None:
            is_list = self.kind in {"list", "texts"}
            schema["default"] = list(self.default) if is_list else self.default
        return schema

    def read(self, value: object) -> Any:
        """Return the value as it is stored.

        Raises:
            ValueError: It is not what the parameter takes; the message follows the value and
                begins with *must be*.
        """
        if value is None and self.optional:
            return None
        if self.kind == "gain" and isinstance(value, Mapping | tuple):
            return _gain_map(value)
        if self.kind in ("choice", "gain"):
            return str(self._chosen(value))
        if self.kind in ("float", "int", "number"):
            return self._number(value)
        if self.kind == "map":
            return self._map(value)
        expected_type, description = _TYPES[self.kind]
        is_valid = isinstance(value, expected_type)
        if self.kind == "texts" and isinstance(value, list):
            is_valid = all(isinstance(text, str) for text in value)
        if not is_valid:
            raise ValueError(f"must be {description}.")
        return self._chosen(value) if self.choices else value

    def parse(self, word: object) -> Any:
        """Return the value of a word, as the command line has it; other values as `read` does.

        Raises:
            ValueError: As in `read`.
        """
        if not isinstance(word, str) or word in self.choices or self.kind == "text":
            return self.read(word)
        if self.kind == "bool" and (flag := parse_flag(word)) is not None:
            return flag
        return self.read(_parse_map(word) if word.startswith("{") else parse_literal(word))

    def _chosen(self, value: object) -> object:
        if value in self.choices:
            return value
        or_map = " or a map such as gain={1: 1, 2: 3}" if self.kind == "gain" else ""
        matches = get_close_matches(str(value), self.choices, n=1)
        hint = f"; did you mean {matches[0]}?" if matches else "."
        raise ValueError(f"must be one of {self.choices}{or_map}{hint}")

    def _number(self, value: Any) -> float:
        number_type, noun = (Integral, "whole number") if self.kind == "int" else (Real, "number")
        is_number = isinstance(value, number_type) and not isinstance(value, bool)
        if is_number and isinstance(value, Integral) and abs(int(value)) > _GREATEST:
            raise ValueError(f"must be a {noun} of at most {_GREATEST}.")
        if not (is_number and value in self.range):
            raise ValueError(f"must be a {noun}{self.range}{' or none' * self.optional}.")
        if self.kind == "int":
            return int(value)
        if self.kind == "number":
            return value  # type: ignore[no-any-return]  # as a policy writes it
        # rel=2 and rel=2.0 are the same value, so both are stored and printed alike
        return as_integer_if_whole(value) if isinstance(self.default, int) else float(value)

    def _map(self, value: object) -> dict[str, float | None]:
        if not isinstance(value, Mapping) or not set(value) <= set(self.choices):
            raise ValueError(f"must be {self.takes}.")
        number_parameter = Parameter(self.name, "float", range=Range(finite=False), optional=True)
        return {kind: number_parameter.parse(setting) for kind, setting in value.items()}


def as_integer_if_whole(value: float) -> float:
    """A number without a fraction as an integer, if the conversion is exact."""
    return int(value) if float(value).is_integer() and abs(value) < _EXACT else float(value)


def parse_literal(word: str) -> Any:
    """Read a word: none, nan, true, false, a number; else the word itself.

    >>> (parse_literal("none"), parse_literal("True"), parse_literal("10"),
    ...  parse_literal("0.5"), parse_literal("exp"))
    (None, True, 10, 0.5, 'exp')
    """
    normalized = word.strip().lower()
    if normalized in _LITERALS:
        return _LITERALS[normalized]
    for kind in (int, float):
        try:
            return kind(normalized)
        except ValueError:
            continue
    return word


_LITERALS: Mapping[str, Any] = {
    **dict.fromkeys(("none", "null")),
    **dict.fromkeys(("nan", "undefined"), math.nan),
    "true": True,
    "false": False,
}


def _parse_map(word: str) -> object:
    try:
        return ast.literal_eval(word)
    except (ValueError, SyntaxError):
        return word


def _gain_map(value: Mapping[Any, Any] | tuple[Any, ...]) -> tuple[tuple[float, float], ...]:
    pairs = tuple(value.items()) if isinstance(value, Mapping) else value
    try:
        gain_map = tuple(
            sorted((as_integer_if_whole(grade), as_integer_if_whole(gain)) for grade, gain in pairs)
        )
    except (TypeError, ValueError, OverflowError):
        gain_map = ()
    if not gain_map or not all(math.isfinite(number) for pair in gain_map for number in pair):
        raise ValueError("must map numbers to numbers, such as gain={1: 1, 2: 3}.")
    return gain_map


_KINDS: Mapping[object, Kind] = {
    bool: "bool",
    int: "int",
    float: "float",
    str: "text",
    dict[str, Any]: "table",
    list[Any]: "list",
}


@functools.cache
def parameters_of(function: Callable[..., object]) -> Mapping[str, Parameter]:
    """Return the keyword-only arguments of a function by name, in the order of its signature.

    Raises:
        UsageError: An annotation names something that does not exist at run time.
    """
    try:
        hints = get_type_hints(function, include_extras=True)
    except NameError as error:
        raise UsageError(
            f"{function.__name__}: an annotation cannot be read ({error}); import its names outside `if "
            "TYPE_CHECKING`.",
            code="invalid-metric-function",
        ) from None
    help_of = parse_docstring_section(function.__doc__ or "", "Args")
    return types.MappingProxyType(
        {
            name: make_parameter(name, hints.get(name, Any), argument.default, help_=help_of.get(name, ""))
            for name, argument in inspect.signature(function).parameters.items()
            if argument.kind is inspect.Parameter.KEYWORD_ONLY
        }
    )


_INPUT_TYPE = re.compile(r"\b(\w+)Like\b")
_SEQUENCE = re.compile(r"^Sequence\[|Sequence\[\w+Like\]|^tuple\[\w+, \.\.\.\]")


def declared_parameter(verb: Callable[..., object], name: str) -> Parameter:
    """Return the parameter that an argument of a function, or a field of a value, declares.

    Type and default are those of the signature, the help is the text of the docstring under
    ``Args`` or ``Attributes``, or ``Options`` of a command. The type is open where an annotation is
    of type checkers only.
    """
    argument = inspect.signature(verb).parameters[name]
    annotation = str(argument.annotation)
    if isinstance(verb, type):
        declared = fields_of(verb)[name]
    else:
        hint = _resolve_hint(annotation, vars(sys.modules[verb.__module__]))
        docstring = verb.__doc__ or ""
        help_of = parse_docstring_section(docstring, "Args") | parse_docstring_section(docstring, "Options")
        declared = make_parameter(name, hint, argument.default, help_=help_of[name])
    like_match = _INPUT_TYPE.search(annotation)
    content = like_match[1].lower() if like_match else "path" if "Path" in annotation else ""
    if argument.kind is inspect.Parameter.VAR_POSITIONAL:
        return replace(declared, content=content, repeatable=True, default=(), required=False)
    repeatable = content == "runs" or bool(_SEQUENCE.search(annotation))
    return replace(declared, content=content, repeatable=repeatable)


def fields_of(kind: type) -> Mapping[str, Parameter]:
    """Return the parameters that the fields of a dataclass declare, by field.

    The help is the text under ``Attributes`` in the docstring. The name of a parameter is the name
    of the field, or ``name`` in the metadata of the field.
    """
    return _fields_of(kind)


@functools.cache
def _fields_of(kind: Any) -> Mapping[str, Parameter]:
    hints = _hints_of(kind)
    help_of = parse_docstring_section(kind.__doc__ or "", "Attributes")
    empty = inspect.Parameter.empty
    parameters = {}
    for field in fields(kind):
        default = empty if field.default is MISSING else field.default
        if field.default_factory is not MISSING:
            default = field.default_factory()
        name = field.metadata.get("name", field.name)
        help_ = help_of.get(field.name, "")
        parameters[field.name] = make_parameter(name, hints[field.name], default, help_=help_)
    return types.MappingProxyType(parameters)


def check_fields(value: Any, *names: str, code: str = "invalid-parameter") -> None:
    """Check that fields of a dataclass hold values of their declared types.

    Args:
        value: an object of the class.
        names: the fields to check; all by default.
        code: the code of the error.

    Raises:
        UsageError: A value does not fit its field; the message names the field.
    """
    declared = fields_of(type(value))
    for name in names or declared:
        try:
            declared[name].read(getattr(value, name))
        except ValueError as error:
            problem = f"{declared[name].name}={getattr(value, name)!r} {error}"
            raise UsageError(problem, code=code) from None


def _hints_of(kind: Any) -> Mapping[str, Any]:
    """The types of fields; ``Any`` where an annotation is for type checkers only."""
    try:
        return get_type_hints(kind, include_extras=True)
    except NameError:
        names = vars(sys.modules[kind.__module__])
        return {field.name: _resolve_hint(str(field.type), names) for field in fields(kind)}


def _resolve_hint(annotation: str, names: dict[str, Any]) -> Any:
    try:
        return eval(annotation, names)  # noqa: S307 - our own source
    except NameError:
        return Any


def make_parameter(name: str, hint: object, default: object, *, help_: str = "") -> Parameter:
    """Return the parameter that an annotation and a default declare."""
    required = default is inspect.Parameter.empty
    declared = Parameter(name, help=help_, default=None if required else default, required=required)
    return _extend_parameter(declared, hint)


def _extend_parameter(declared: Parameter, hint: object) -> Parameter:
    """Add to a parameter the values that one more annotation allows."""
    if get_origin(hint) in (Union, types.UnionType):
        return functools.reduce(_extend_parameter, get_args(hint), declared)
    if hint is type(None):
        return replace(declared, optional=True)
    if get_origin(hint) is Annotated:
        base_type, *metadata = get_args(hint)
        limits = next((note for note in metadata if isinstance(note, Range)), declared.range)
        conditions = tuple(note for note in metadata if isinstance(note, OnlyWith)) or declared.only_with
        return replace(_extend_parameter(declared, base_type), range=limits, only_with=conditions)
    if get_origin(hint) is Literal:
        kind: Kind = "gain" if declared.kind == "gain" else "choice"
        return replace(declared, choices=tuple(map(str, get_args(hint))), kind=kind)
    if hint not in _KINDS and get_origin(hint) in (tuple, Mapping, dict):
        return replace(declared, kind="gain")
    return replace(declared, kind=_KINDS.get(hint, declared.kind))


def parse_docstring_section(docstring: str, section: str) -> dict[str, str]:
    r"""Return the help of each name in one section of a docstring; names may share a line.

    >>> parse_docstring_section("Title.\n\nArgs:\n    a, b: two\n        numbers.\n", "Args")
    {'a': 'two numbers.', 'b': 'two numbers.'}
    """
    _, _, section_text = inspect.cleandoc(docstring).partition(f"{section}:\n")
    section_text = re.split(r"\n(?=\S)", section_text)[0]
    help_by_name: dict[str, str] = {}
    for paragraph in re.split(r"\n(?=    \w)", "\n" + section_text):
        names, _, text = paragraph.strip().partition(":")
        sentence = " ".join(text.split())
        help_by_name |= dict.fromkeys(names.replace(" ", "").split(","), sentence)
    help_by_name.pop("", None)
    return help_by_name
