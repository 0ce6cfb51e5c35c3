"""Dials: what a sweep changes, and the values that it tries."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import product
from typing import TYPE_CHECKING, Annotated, Any

from rankgate.core.declare import Range, fields_of
from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    from rankgate.core.declare.toml import Toml

Point = Mapping[str, Any]
"""A value for each dial."""

_DIGITS = 6  # significant digits of the values between the ends of a range


@dataclass(frozen=True)
class Between:
    """The keys of a dial that is a range.

    Attributes:
        low: The least value.
        high: The greatest value.
        steps: How many values a grid has of it, both ends included.
        log: Whether the values are evenly spaced on a logarithmic scale.
        integer: Whether they are whole numbers.
    """

    low: float
    high: float
    steps: Annotated[int, Range(2, 1000)] | None = None
    log: bool = False
    integer: bool = False


@dataclass(frozen=True)
class Dial:
    """One dial.

    Attributes:
        name: the name in templates, of a parameter or a key of an engine.
        values: the values that a grid tries; empty for a range without steps.
        low: the least value of a range; None for a list of values.
        high: the greatest one.
        log: whether a range is on a logarithmic scale.
        integer: whether its values are whole numbers.
    """

    name: str
    values: tuple[Any, ...] = ()
    low: float | None = None
    high: float | None = None
    log: bool = False
    integer: bool = False

    def __contains__(self, value: object) -> bool:
        """Whether a search can give the value."""
        if self.low is None or self.high is None:
            return any(same(value, each) for each in self.values)
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return number and self.low <= value <= self.high  # type: ignore[operator]


def read_dials(toml: Toml, *, grid: bool) -> tuple[Dial, ...]:
    """The dials of a file.

    Raises:
        InputError: no dials; a dial without values, with a value twice, or a range that is none.
    """
    tables = toml.values.get("dials")
    if not isinstance(tables, dict) or not tables:
        raise toml.error("[dials] is missing: what to change, as in k1 = [0.9, 1.2].", "dials")
    return tuple(_dial(toml, name, given, grid=grid) for name, given in tables.items())


def _dial(toml: Toml, name: str, given: Any, *, grid: bool) -> Dial:
    place = ("dials", name)
    if isinstance(given, dict) and "values" in given:
        toml.check_keys(given, ("values",), *place)
        given = given["values"]
    if isinstance(given, list):
        return Dial(name, _values(toml, given, *place))
    if not isinstance(given, dict):
        raise toml.error(f"{name} is a list of values, or a table with low and high.", *place)
    between = Between(**toml.read_values(given, fields_of(Between).values(), *place))
    if between.low >= between.high:
        raise toml.error(f"{name}: low is not below high.", *place, "low")
    if between.log and between.low <= 0:
        raise toml.error(f"{name}: a logarithmic range begins above 0.", *place, "low")
    if between.integer and not (between.low.is_integer() and between.high.is_integer()):
        raise toml.error(f"{name}: the ends of a range of integers are integers.", *place)
    if grid and between.steps is None:
        raise toml.error(f"{name}: a grid needs steps, the number of values.", *place)
    values = tuple(dict.fromkeys(_between(between))) if between.steps else ()
    return Dial(name, values, between.low, between.high, between.log, between.integer)


def _values(toml: Toml, given: list[Any], *place: str) -> tuple[Any, ...]:
    name = place[-1]
    if not given:
        raise toml.error(f"{name} has no values.", *place, code="empty-grid")
    for at, value in enumerate(given):
        if not isinstance(value, str | int | float):
            raise toml.error(f"{name}: a value is a number, a text, true or false.", *place)
        if isinstance(value, float) and not math.isfinite(value):
            raise toml.error(f"{name}: a value is a finite number.", *place)
        if any(same(value, each) for each in given[:at]):
            raise toml.error(f"{name} has {value!r} twice.", *place)
    return tuple(given)


def _between(given: Between) -> Iterator[int | float]:
    """The values of a range, evenly spaced."""
    low, high, steps = given.low, given.high, given.steps or 2
    for step in range(steps):
        share = step / (steps - 1)
        value = low * (high / low) ** share if given.log else low + (high - low) * share
        yield round(value) if given.integer else float(f"{value:.{_DIGITS}g}")


def same(one: object, other: object) -> bool:
    """Whether two values are one; 1 and true are not, 1 and 1.0 are.

    >>> same(1, 1.0), same(1, True)
    (True, False)
    """
    return isinstance(one, bool) == isinstance(other, bool) and one == other


def grid(dials: tuple[Dial, ...]) -> Iterator[Point]:
    """Every combination of values, the last dial fastest.

    >>> [dict(point) for point in grid((Dial("k", (1, 2)),))]
    [{'k': 1}, {'k': 2}]
    """
    names = [dial.name for dial in dials]
    for values in product(*(dial.values for dial in dials)):
        yield dict(zip(names, values, strict=True))


def words(point: Point) -> str:
    """A point in words.

    >>> words({"k1": 0.9, "form": "or"})
    'k1=0.9 form=or'
    """
    return " ".join(f"{name}={shown(value)}" for name, value in point.items())


def shown(value: object) -> str:
    """A value of a dial in words.

    >>> shown(1.0), shown(True), shown("or")
    ('1', 'true', 'or')
    """
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)
