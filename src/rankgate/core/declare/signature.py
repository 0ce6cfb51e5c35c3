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
    help_of = documented(function.__doc__ or "", "Args")
    return types.MappingProxyType(
        {
            name: parameter(
                name, hints.get(name, Any), argument.default, help_=help_of.get(name, "")
            )
            for name, argument in inspect.signature(function).parameters.items()
            if argument.kind is inspect.Parameter.KEYWORD_ONLY
        }
    )


def fields_of(kind: type) -> Mapping[str, Parameter]:
    """Return what the fields of a dataclass declare, by field.

    The help is what its docstring says under ``Attributes``. A parameter is called as its field,
    or as ``name`` in the metadata of the field.
    """
    return _fields_of(kind)


@functools.cache
def _fields_of(kind: Any) -> Mapping[str, Parameter]:
    hints = _hints_of(kind)
    help_of = documented(kind.__doc__ or "", "Attributes")
    empty = inspect.Parameter.empty
    found = {}
    for each in fields(kind):
        default = empty if each.default is MISSING else each.default
        if each.default_factory is not MISSING:
            default = each.default_factory()
        name = each.metadata.get("name", each.name)
        help_ = help_of.get(each.name, "")
        found[each.name] = parameter(name, hints[each.name], default, help_=help_)
    return types.MappingProxyType(found)


def check_fields(value: Any, *names: str) -> None:
    """Check that fields of a dataclass hold what they declare.

    Args:
        value: an object of the class.
        names: the fields; all by default.

    Raises:
        UsageError: A field whose value does not fit; the message names it.
    """
    declared = fields_of(type(value))
    for name in names or declared:
        try:
            declared[name].read(getattr(value, name))
        except ValueError as error:
            problem = f"{declared[name].name}={getattr(value, name)!r} {error}"
            raise UsageError(problem, code="invalid-parameter") from None


def _hints_of(kind: Any) -> Mapping[str, Any]:
    """The types of fields; open where an annotation is of type checkers only."""
    try:
        return get_type_hints(kind, include_extras=True)
    except NameError:
        names = vars(sys.modules[kind.__module__])
        return {each.name: _hint(str(each.type), names) for each in fields(kind)}


def _hint(annotation: str, names: dict[str, Any]) -> Any:
    try:
        return eval(annotation, names)  # noqa: S307 - our own source
    except NameError:
        return Any


def parameter(name: str, hint: object, default: object, *, help_: str = "") -> Parameter:
    """Return the parameter that an annotation and a default declare."""
    required = default is inspect.Parameter.empty
    found = Parameter(name, help=help_, default=None if required else default, required=required)
    return _widened(found, hint)


def _widened(found: Parameter, hint: object) -> Parameter:
    """A parameter that also takes what one more annotation allows."""
    if get_origin(hint) in (Union, types.UnionType):
        return functools.reduce(_widened, get_args(hint), found)
    if hint is type(None):
        return replace(found, optional=True)
    if get_origin(hint) is Annotated:
        bare, *notes = get_args(hint)
        limits = next((note for note in notes if isinstance(note, Range)), found.range)
        only = tuple(note for note in notes if isinstance(note, OnlyWith)) or found.only_with
        return replace(_widened(found, bare), range=limits, only_with=only)
    if get_origin(hint) is Literal:
        kind: Kind = "gain" if found.kind == "gain" else "choice"
        return replace(found, choices=tuple(map(str, get_args(hint))), kind=kind)
    if hint not in _KINDS and get_origin(hint) in (tuple, Mapping, dict):
        return replace(found, kind="gain")
    return replace(found, kind=_KINDS.get(hint, found.kind))


def documented(docstring: str, section: str) -> dict[str, str]:
    r"""Return what one section of a docstring says of each name; names may share a line.

    >>> documented("Title.\n\nArgs:\n    a, b: two\n        numbers.\n", "Args")
    {'a': 'two numbers.', 'b': 'two numbers.'}
    """
    _, _, listed = inspect.cleandoc(docstring).partition(f"{section}:\n")
    listed = re.split(r"\n(?=\S)", listed)[0]
    found: dict[str, str] = {}
    for entry in re.split(r"\n(?=    \w)", "\n" + listed):
        names, _, text = entry.strip().partition(":")
        sentence = " ".join(text.split())
        found |= dict.fromkeys(names.replace(" ", "").split(","), sentence)
    found.pop("", None)
    return found
