"""Tables of a result's JSON form: figures by what their names say they are."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.present.document import Table
from rankgate.present.figures import interval, p_value, signed
from rankgate.present.grid import Grid
from rankgate.present.numbers import UNDEFINED, decimal

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    Row = Mapping[str, Any]

_WORDS = {
    "query_id": "query",
    "doc_id": "document",
    "p_value": "p",
    "p_tukey": "p (Tukey)",
    "p_randomised": "p (randomised)",
    "mde": "detectable",
    "n": "queries",
    "equal": "agreement",
    "sha256": "SHA-256",
    "low": "interval",
}
_SIGNED = {"delta", "loss", "mean_loss", "largest_loss", "worst", "best", "condensed", "expected",
           "bias", "effect"}  # fmt: skip
_SHARES = {"share", "blind", "unmoved", "realised", "flip", "reversed"}
_LONG, _MOST = 15, 500


def table(heading: str, rows: Sequence[Row], *, level: float | None = None) -> Table:
    """Rows of plain values as a table; columns that say nothing are left out.

    Args:
        heading: what it shows.
        rows: of JSON, one mapping each.
        level: of intervals, whose ends share a column.
    """
    names = [
        name
        for name in dict.fromkeys(key for row in rows for key in row)
        if any(row.get(name) not in (None, "", []) for row in rows)
    ]
    both = {"low", "high"} <= set(names)
    names = [name for name in names if not (both and name == "high")]
    whole = {name: _whole([row.get(name) for row in rows]) for name in names}
    shown = rows[:_MOST]
    cells = tuple(
        tuple(_cell(name, row, both=both, whole=whole[name]) for name in names) for row in shown
    )
    head = [_WORDS.get(name, name.replace("_", " ")) for name in names]
    if both:
        place = names.index("low")
        head[place] = f"{level:.0%} interval" if level else "interval"
    left = {i for i, name in enumerate(names) if not _numeric(name, rows, both=both)}
    if len(rows) > _MOST:
        heading = f"{heading} (the first {_MOST} of {len(rows):,})"
    return Table(heading, Grid(tuple(head), cells, frozenset(left)), find=len(rows) > _LONG)


def pairs(heading: str, result: Row, *, folded: bool = True) -> Table:
    """Names and values."""
    rows = tuple(
        (name.replace("_", " "), word(value))
        for name, value in result.items()
        if value not in (None, "", [], {})
    )
    return Table(heading, Grid(("what", "value"), rows, frozenset({0, 1})), folded=folded)


def is_table(value: object) -> bool:
    """Whether JSON holds rows there."""
    return isinstance(value, list) and bool(value) and all(isinstance(row, dict) for row in value)


def word(value: Any) -> str:  # noqa: ANN401 - of JSON
    """A value as text: items of lists and mappings one after the other."""
    if isinstance(value, dict):
        return _mapping(value)
    if isinstance(value, list):
        gap = "; " if any(isinstance(each, dict) for each in value) else ", "
        return gap.join(map(word, value))
    if isinstance(value, float):
        return f"{value:g}" if value.is_integer() else decimal(value)
    if value is None or isinstance(value, bool):
        return {None: UNDEFINED, True: "yes", False: "no"}[value]
    return str(value)


def _mapping(result: Row) -> str:
    if "words" in result:
        return str(result["words"])
    if {"axes", "begin", "end"} <= result.keys():
        steps = zip(result["axes"], result["begin"], result["end"], strict=False)
        return ", ".join(f"{axis}: {word(a)} → {word(b)}" for axis, a, b in steps)
    return ", ".join(f"{name.replace('_', ' ')}: {word(each)}" for name, each in result.items())


def _cell(name: str, row: Row, *, both: bool, whole: bool) -> str:
    value = row.get(name)
    if both and name == "low":
        return _interval(row)
    if not isinstance(value, float | int) or isinstance(value, bool):
        return "" if value is None and name == "why" else word(value)
    if name.startswith("p_"):
        return p_value(value)
    if name in _SHARES:
        return f"{value:.0%}"
    if name in _SIGNED:
        return signed(value)
    return f"{value:,.0f}" if whole else decimal(value)


def _interval(row: Row) -> str:
    """Ends with signs where they are of a difference."""
    low, high = row["low"], row.get("high")
    if low is None or high is None or _SIGNED & row.keys():
        return interval(low, high)
    return f"[{decimal(low)}, {decimal(high)}]"


def _whole(values: Sequence[Any]) -> bool:
    known = [value for value in values if isinstance(value, int | float)]
    return all(float(value).is_integer() for value in known)


def _numeric(name: str, rows: Sequence[Row], *, both: bool) -> bool:
    values = [row.get(name) for row in rows if row.get(name) is not None]
    return (both and name == "low") or all(
        isinstance(value, int | float) and not isinstance(value, bool) for value in values
    )
