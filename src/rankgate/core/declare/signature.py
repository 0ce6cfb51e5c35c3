"""The parameters of a function, read from its keyword-only arguments and its docstring."""

from __future__ import annotations

import functools
import inspect
import re
import sys
import types
from collections.abc import Callable, Mapping
from dataclasses import MISSING, fields, replace
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from rankgate.core.declare.parameter import Kind, OnlyWith, Parameter, Range
from rankgate.core.errors import UsageError

_KINDS: Mapping[object, Kind] = {
    bool: "bool",
    int: "int",
    float: "float",
    str: "text",
    dict[str, Any]: "table",
    list[Any]: "list",
}


@functools.cache
def parameters_of(function: Callable[..., Any]) -> Mapping[str, Parameter]:
    """Return the keyword-only arguments of a function by name, in the order of its signature.

    Raises:
        UsageError: An annotation names something that does not exist at run time.
    """
    try:
        hints = get_type_hints(function, include_extras=True)
    except NameError as error:
        raise UsageError(
            f"{function.__name__}: an annotation cannot be read ({error}); "
            "import its names outside `if TYPE_CHECKING`.",
            code="invalid-metric-function",
        ) from None
    help_of = parse_docstring_section(function.__doc__ or "", "Args")
    return types.MappingProxyType(
        {
            name: make_parameter(
                name, hints.get(name, Any), argument.default, help_=help_of.get(name, "")
            )
            for name, argument in inspect.signature(function).parameters.items()
            if argument.kind is inspect.Parameter.KEYWORD_ONLY
        }
    )


def fields_of(kind: type) -> Mapping[str, Parameter]:
    """Return the parameters that the fields of a dataclass declare, by field.

    The help is what its docstring says under ``Attributes``. A parameter is called as its field,
    or as ``name`` in the metadata of the field.
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
    """Check that fields of a dataclass hold what they declare.

    Args:
        value: an object of the class.
        names: the fields; all by default.
        code: of the error.

    Raises:
        UsageError: A field whose value does not fit; the message names it.
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
    """Extend a parameter by the values that one more annotation allows."""
    if get_origin(hint) in (Union, types.UnionType):
        return functools.reduce(_extend_parameter, get_args(hint), declared)
    if hint is type(None):
        return replace(declared, optional=True)
    if get_origin(hint) is Annotated:
        base_type, *metadata = get_args(hint)
        limits = next((note for note in metadata if isinstance(note, Range)), declared.range)
        conditions = (
            tuple(note for note in metadata if isinstance(note, OnlyWith)) or declared.only_with
        )
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
