"""Times of a log in any unit; mixed units are found and refused."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.place import Place
from rankgate.data.text.times import moment, stamp

if TYPE_CHECKING:
    from numpy.typing import NDArray

Unit = Literal["s", "ms", "us", "ns", "date", "order", "place", "none"]
"""What a time was written in: a count since 1970, a date, a bare number that only orders rows, a
place in a user's own list, or nothing at all."""

UNITS: tuple[Unit, ...] = ("s", "ms", "us", "ns", "order")
"""The units that a number can be said to have."""

_NAMES = {
    "order": "bare numbers",
    "s": "seconds",
    "ms": "milliseconds",
    "us": "microseconds",
    "ns": "nanoseconds",
}
_BANDS: tuple[Unit, ...] = ("order", "s", "ms", "us", "ns")
_EDGES = np.array([1e8, 1e11, 1e14, 1e17])  # since 1970: 1973 in seconds, in milliseconds, …
_MICROSECONDS = {"order": 1e6, "place": 1e6, "s": 1e6, "ms": 1e3, "us": 1.0, "ns": 1e-3}
_LATEST = 4_102_444_800 * 1e6  # the year 2100
_FORMS = ("%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%d")


def instants(raw: pl.Series, place: Place, unit: Unit | None = None) -> tuple[pl.Series, Unit]:
    """Times as whole microseconds since 1970, and the unit that they were written in.

    The unit of numbers is inferred from their size: since 1973 a count of seconds has nine to
    eleven digits, one of milliseconds twelve to fourteen, and so on. Smaller numbers are not
    times: they only order the rows.

    Args:
        raw: numbers, strings or times, none missing.
        place: where the rows are, for errors.
        unit: the unit of numbers, if it is known.

    Returns:
        an Int64 column (bare numbers in millionths), and the unit.

    Raises:
        InputError: no time, units that are mixed, a date that cannot be; with the line.
    """
    if raw.dtype.is_temporal():
        return raw.cast(pl.Datetime("us")).to_physical().cast(pl.Int64), "date"
    numbers = raw.cast(pl.Float64, strict=False)
    known = numbers.is_not_null() & numbers.is_finite().fill_null(value=False)
    if known.all():
        return _counted(numbers.to_numpy(), place, unit)
    if known.any():
        row, other = int(known.arg_min() or 0), int(known.arg_max() or 0)
        problem = (
            f"time '{raw[row]}' is a date or no time, and '{raw[other]}' on line "
            f"{place.line(other) or other + 1} is a number; write all times in one form."
        )
        raise InputError(problem, source=place.file(row), line=place.line(row), code="mixed-times")
    return _dates(raw, place), "date"


def instant(text: str, unit: Unit) -> int:
    """One time that somebody names, in microseconds: a date, or a number in a log's own unit.

    Raises:
        InputError: it is neither.

    >>> instant("2024-01-01", "s") == instant("1704067200", "s")
    True
    """
    at, _ = instants(pl.Series([text]), Place("the cut"), None if unit == "date" else unit)
    return int(at[0])


def shown(at: int, unit: Unit) -> str:
    """A time as people read it: a date, or the bare number.

    >>> shown(1_704_067_200_000_000, "s"), shown(7_000_000, "order")
    ('2024-01-01T00:00:00Z', '7')
    """
    if unit in {"order", "place"}:
        return f"{at / 1e6:g}" if at % 1_000_000 else str(at // 1_000_000)
    return stamp(datetime.fromtimestamp(at / 1e6, UTC)) or ""


def _counted(
    numbers: NDArray[np.float64], place: Place, unit: Unit | None
) -> tuple[pl.Series, Unit]:
    bands = np.searchsorted(_EDGES, np.abs(numbers), side="right")
    if unit is None:
        counts = np.bincount(bands, minlength=len(_BANDS))
        usual = int(counts.argmax())
        if counts[usual] < len(numbers):
            raise _mixed(numbers, bands, usual, place)
        unit = _BANDS[usual]
    found = np.round(numbers * _MICROSECONDS[unit])
    if unit not in {"order", "place"} and len(found) and found.max() > _LATEST:
        row = int(found.argmax())
        problem = (
            f"time {numbers[row]:.0f} would be after the year 2100 in {_NAMES[unit]}; "
            "say its unit, or write dates as 2026-01-31T12:00:00Z."
        )
        raise InputError(problem, source=place.file(row), line=place.line(row), code="not-a-time")
    return pl.Series("at", found.astype(np.int64)), unit


def _mixed(
    numbers: NDArray[np.float64], bands: NDArray[np.int64], usual: int, place: Place
) -> InputError:
    odd = np.flatnonzero(bands != usual)
    row = int(odd[0])
    problem = (
        f"time {numbers[row]:.0f} looks like {_NAMES[_BANDS[int(bands[row])]]}, where most are "
        f"{_NAMES[_BANDS[usual]]} ({len(odd):,} of {len(numbers):,} rows differ); "
        "write all in one unit."
    )
    return InputError(problem, source=place.file(row), line=place.line(row), code="mixed-times")


def _dates(raw: pl.Series, place: Place) -> pl.Series:
    plain = raw.cast(pl.String).str.strip_chars().str.replace(r"( UTC|Z|\+00:?00)$", "")
    frame = pl.DataFrame({"text": plain})
    forms = [pl.col("text").str.to_datetime(form, time_unit="us", strict=False) for form in _FORMS]
    found = frame.select(pl.coalesce(forms).to_physical().cast(pl.Int64).alias("at"))["at"]
    rest = found.is_null().arg_true().to_list()
    if rest:  # other zones, one by one, or what is not a time
        values = found.to_list()
        for row in rest:
            at = moment(str(raw[row]), "time", place.label, place.line(row))
            values[row] = round(at.timestamp() * 1e6)
        found = pl.Series("at", values, dtype=pl.Int64)
    return found
