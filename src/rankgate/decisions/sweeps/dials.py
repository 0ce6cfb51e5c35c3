"""Dials: the settings that a sweep changes, and the values that it tries."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from itertools import product
from typing import TYPE_CHECKING, Annotated, Any

from rankgate.core.declare import Range, fields_of
from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    from rankgate.core.declare.toml import TomlFile

Point = Mapping[str, Any]
"""A value for each dial."""

_DIGITS = 6  # significant digits of the values between the ends of a range


@dataclass(frozen=True)
class RangeKeys:
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
        log: True for a range on a logarithmic scale.
        integer: True if its values are whole numbers.
    """

    name: str
    values: tuple[Any, ...] = ()
    low: float | None = None
    high: float | None = None
    log: bool = False
    integer: bool = False

    def __contains__(self, value: object) -> bool:
        """True if a search can propose the value."""
        if self.low is None or self.high is None:
            return any(is_same_value(value, dial_value) for dial_value in self.values)
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return number and self.low <= value <= self.high  # type: ignore[operator]


def read_dials(toml: TomlFile, *, grid: bool) -> tuple[Dial, ...]:
    """The dials of a file.

    Raises:
        InputError: no dials; a dial without values, with a value twice, or a range that is none.
    """
    tables = toml.values.get("dials")
    if not isinstance(tables, dict) or not tables:
        raise toml.error("[dials] is missing: what to change, as in k1 = [0.9, 1.2].", "dials")
    return tuple(_dial(toml, name, table, grid=grid) for name, table in tables.items())


def _dial(toml: TomlFile, name: str, dial_table: Any, *, grid: bool) -> Dial:
    key_path = ("dials", name)
    if isinstance(dial_table, dict) and "values" in dial_table:
        toml.check_keys(dial_table, ("values",), *key_path)
        dial_table = dial_table["values"]
    if isinstance(dial_table, list):
        return Dial(name, _values(toml, dial_table, *key_path))
    if not isinstance(dial_table, dict):
        raise toml.error(f"{name} is a list of values, or a table with low and high.", *key_path)
    between = RangeKeys(**toml.read_values(dial_table, fields_of(RangeKeys).values(), *key_path))
    if between.low >= between.high:
        raise toml.error(f"{name}: low is not below high.", *key_path, "low")
    if between.log and between.low <= 0:
        raise toml.error(f"{name}: a logarithmic range begins above 0.", *key_path, "low")
    if between.integer and not (between.low.is_integer() and between.high.is_integer()):
        raise toml.error(f"{name}: the ends of a range of integers are integers.", *key_path)
    if grid and between.steps is None:
        raise toml.error(f"{name}: a grid needs steps, the number of values.", *key_path)
    values = tuple(dict.fromkeys(_range_values(between))) if between.steps else ()
    return Dial(name, values, between.low, between.high, between.log, between.integer)


def _values(toml: TomlFile, values: list[Any], *key_path: str) -> tuple[Any, ...]:
    name = key_path[-1]
    if not values:
        raise toml.error(f"{name} has no values.", *key_path, code="empty-grid")
    for index, value in enumerate(values):
        if not isinstance(value, str | int | float):
            raise toml.error(f"{name}: a value is a number, a text, true or false.", *key_path)
        if isinstance(value, float) and not math.isfinite(value):
            raise toml.error(f"{name}: a value is a finite number.", *key_path)
        if any(is_same_value(value, earlier_value) for earlier_value in values[:index]):
            raise toml.error(f"{name} has {value!r} twice.", *key_path)
    return tuple(values)


def _range_values(value_range: RangeKeys) -> Iterator[int | float]:
    """The values of a range, evenly spaced."""
    low, high, steps = value_range.low, value_range.high, value_range.steps or 2
    for step in range(steps):
        share = step / (steps - 1)
        value = low * (high / low) ** share if value_range.log else low + (high - low) * share
        yield round(value) if value_range.integer else float(f"{value:.{_DIGITS}g}")


def is_same_value(first: object, second: object) -> bool:
    """True if two values are equal, and both or neither are booleans: 1 is 1.0, and not true.

    >>> is_same_value(1, 1.0), is_same_value(1, True)
    (True, False)
    """
    return isinstance(first, bool) == isinstance(second, bool) and first == second


def grid_points(dials: tuple[Dial, ...]) -> Iterator[Point]:
    """Every combination of values, the last dial fastest.

    >>> [dict(point) for point in grid_points((Dial("k", (1, 2)),))]
    [{'k': 1}, {'k': 2}]
    """
    names = [dial.name for dial in dials]
    for values in product(*(dial.values for dial in dials)):
        yield dict(zip(names, values, strict=True))


def point_text(point: Point) -> str:
    """A point in words.

    >>> point_text({"k1": 0.9, "form": "or"})
    'k1=0.9 form=or'
    """
    return " ".join(f"{name}={value_text(value)}" for name, value in point.items())


def value_text(value: object) -> str:
    """A value of a dial in words.

    >>> value_text(1.0), value_text(True), value_text("or")
    ('1', 'true', 'or')
    """
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)
