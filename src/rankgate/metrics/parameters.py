"""A metric's parameters, read from the keyword-only arguments of its kernel."""

from __future__ import annotations

import functools
import inspect
import math
import types
from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Annotated, Any, Literal, Union, get_args, get_origin, get_type_hints

from rankgate.errors import UsageError

Kind = Literal["choice", "gain", "int", "float", "bool", "any"]

_NUMBERS: Mapping[object, Kind] = {bool: "bool", int: "int", float: "float"}
_EXACT = 2**53  # beyond it a float is whole by lack of digits, not by meaning


@dataclass(frozen=True, slots=True)
class Range:
    """The numbers a parameter may take, both ends included; stands in an ``Annotated``."""

    low: float = -math.inf
    high: float = math.inf

    def __str__(self) -> str:
        """The range in words, to follow the word *number*."""
        if math.isinf(self.low) and math.isinf(self.high):
            return ""
        if math.isinf(self.high):
            return f" of at least {self.low:g}"
        return f" between {self.low:g} and {self.high:g}"


Cutoff = Annotated[int, Range(1)]
"""How many ranks count."""


@dataclass(frozen=True, slots=True)
class Parameter:
    """One parameter of a metric.

    Attributes:
        default: its value where nobody says another; None too where it is required.
        choices: the words it may be, empty for numbers.
        kind: what it takes; a ``gain`` is one of the choices or a map from grade to gain.
        range: the numbers it may be.
        required: whether the metric has no value without it.
    """

    default: Any
    choices: tuple[str, ...] = ()
    kind: Kind = "any"
    range: Range = Range()
    required: bool = False

    def read(self, value: object) -> Hashable:
        """The value as a metric keeps it; raises ValueError saying what it must be."""
        if self.kind == "gain" and isinstance(value, Mapping | tuple):
            return _gain_map(value)
        if self.kind in ("choice", "gain"):
            if value not in self.choices:
                or_map = " or a map such as gain={1: 1, 2: 3}" if self.kind == "gain" else ""
                raise ValueError(f"must be one of {self.choices}{or_map}")
            return str(value)
        if self.kind == "bool":
            if not isinstance(value, bool):
                raise ValueError("must be True or False")
            return value
        return self._number(value) if self.kind in ("int", "float") else _hashable(value)

    def _number(self, value: Any) -> float:  # noqa: ANN401 checked here
        number, needed = (Integral, "whole number") if self.kind == "int" else (Real, "number")
        fits = isinstance(value, number) and not isinstance(value, bool)
        if not (fits and math.isfinite(value) and self.range.low <= value <= self.range.high):
            raise ValueError(f"must be a {needed}{self.range}")
        if self.kind == "int":
            return int(value)
        # rel=2 and rel=2.0 are one value, so they are kept, and printed, as one
        return _plain(value) if isinstance(self.default, int) else float(value)


def _plain(value: float) -> float:
    return int(value) if float(value).is_integer() and abs(value) < _EXACT else float(value)


def _hashable(value: object) -> Hashable:
    if not isinstance(value, Hashable):
        raise ValueError("must be a value that does not change")  # noqa: TRY004 one kind of refusal
    return value


def _gain_map(value: Mapping[Any, Any] | tuple[Any, ...]) -> tuple[tuple[float, float], ...]:
    pairs = tuple(value.items()) if isinstance(value, Mapping) else value
    try:
        read = tuple((_plain(grade), _plain(gain)) for grade, gain in pairs)
    except (TypeError, ValueError, OverflowError):
        read = ()
    if not read or not all(math.isfinite(number) for pair in read for number in pair):
        raise ValueError("must map numbers to numbers, such as gain={1: 1, 2: 3}")
    return read


@functools.cache
def parameters_of(kernel: Callable[..., Any]) -> Mapping[str, Parameter]:
    """The keyword-only arguments of a kernel, in the order of its signature.

    Raises:
        UsageError: an annotation names something that does not exist at run time.
    """
    try:
        hints = get_type_hints(kernel, include_extras=True)
    except NameError as error:
        raise UsageError(
            f"{kernel.__name__}: an annotation cannot be read ({error}); "
            "import its names outside `if TYPE_CHECKING`.",
            code="invalid-metric-function",
        ) from None
    return types.MappingProxyType(
        {
            name: _parameter(hints.get(name, Any), argument.default)
            for name, argument in inspect.signature(kernel).parameters.items()
            if argument.kind is inspect.Parameter.KEYWORD_ONLY
        }
    )


def _parameter(hint: object, default: object) -> Parameter:
    required = default is inspect.Parameter.empty
    found = Parameter(default=None if required else default, required=required)
    for part in get_args(hint) if get_origin(hint) in (Union, types.UnionType) else (hint,):
        found = _widened(found, part)
    return found


def _widened(found: Parameter, hint: object) -> Parameter:
    """A parameter that also takes what one more annotation allows."""
    if get_origin(hint) is Annotated:
        plain, *notes = get_args(hint)
        limits = [note for note in notes if isinstance(note, Range)]
        return replace(_widened(found, plain), range=limits[0] if limits else found.range)
    if get_origin(hint) is Literal:
        kind: Kind = "gain" if found.kind == "gain" else "choice"
        return replace(found, choices=tuple(map(str, get_args(hint))), kind=kind)
    if get_origin(hint) in (tuple, Mapping, dict):
        return replace(found, kind="gain")
    return replace(found, kind=_NUMBERS.get(hint, found.kind))
