"""Times of a log in any unit; mixed units raise an error."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.place import RowLocation
from rankgate.data.text.times import format_time, parse_time

if TYPE_CHECKING:
    from numpy.typing import NDArray

Unit = Literal["s", "ms", "us", "ns", "date", "order", "place", "none"]
"""The unit of a time: a count since 1970, a date, a bare number that only orders rows, a
position in a user's own list, or none."""

UNITS: tuple[Unit, ...] = ("s", "ms", "us", "ns", "order")
"""The units of times that are numbers."""

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
_LATEST_TIME = 4_102_444_800 * 1e6  # the year 2100
_FORMS = ("%Y-%m-%dT%H:%M:%S%.f", "%Y-%m-%d %H:%M:%S%.f", "%Y-%m-%d")


def parse_instants(
    raw: pl.Series, location: RowLocation, unit: Unit | None = None
) -> tuple[pl.Series, Unit]:
    """Times as whole microseconds since 1970, and the unit that they were written in.

    The unit of numbers is inferred from their size: since 1973 a count of seconds has nine to
    eleven digits, one of milliseconds twelve to fourteen, and so on. Smaller numbers are not
    times: they only order the rows.

    Args:
        raw: numbers, strings or times, none missing.
        location: the location of the rows, for errors.
        unit: the unit of numbers, if it is known.

    Returns:
        an Int64 column (bare numbers in millionths), and the unit.

    Raises:
        InputError: no time, units that are mixed, a date that cannot be; with the line.
    """
    if raw.dtype.is_temporal():
        return raw.cast(pl.Datetime("us")).to_physical().cast(pl.Int64), "date"
    numbers = raw.cast(pl.Float64, strict=False)
    is_number = numbers.is_not_null() & numbers.is_finite().fill_null(value=False)
    if is_number.all():
        return _parse_numbers(numbers.to_numpy(), location, unit)
    if is_number.any():
        row, number_row = int(is_number.arg_min() or 0), int(is_number.arg_max() or 0)
        problem = (
            f"time '{raw[row]}' is a date or no time, and '{raw[number_row]}' on line "
            f"{location.line(number_row) or number_row + 1} is a number; write all times in one "
            "form."
        )
        raise InputError(
            problem, source=location.file(row), line=location.line(row), code="mixed-times"
        )
    return _parse_dates(raw, location), "date"


def parse_instant(text: str, unit: Unit) -> int:
    """Read one time in microseconds: a date, or a number in a log's own unit.

    Raises:
        InputError: it is neither.

    >>> parse_instant("2024-01-01", "s") == parse_instant("1704067200", "s")
    True
    """
    instants_read, _ = parse_instants(
        pl.Series([text]), RowLocation("the cut"), None if unit == "date" else unit
    )
    return int(instants_read[0])


def format_instant(time: int, unit: Unit) -> str:
    """A time for people: a date, or the bare number.

    >>> format_instant(1_704_067_200_000_000, "s"), format_instant(7_000_000, "order")
    ('2024-01-01T00:00:00Z', '7')
    """
    if unit in {"order", "place"}:
        return f"{time / 1e6:g}" if time % 1_000_000 else str(time // 1_000_000)
    return format_time(datetime.fromtimestamp(time / 1e6, UTC)) or ""


def _parse_numbers(
    numbers: NDArray[np.float64], location: RowLocation, unit: Unit | None
) -> tuple[pl.Series, Unit]:
    bands = np.searchsorted(_EDGES, np.abs(numbers), side="right")
    if unit is None:
        counts = np.bincount(bands, minlength=len(_BANDS))
        usual_band = int(counts.argmax())
        if counts[usual_band] < len(numbers):
            raise _mixed_units_error(numbers, bands, usual_band, location)
        unit = _BANDS[usual_band]
    microseconds = np.round(numbers * _MICROSECONDS[unit])
    if unit not in {"order", "place"} and len(microseconds) and microseconds.max() > _LATEST_TIME:
        row = int(microseconds.argmax())
        problem = (
            f"time {numbers[row]:.0f} would be after the year 2100 in {_NAMES[unit]}; "
            "say its unit, or write dates as 2026-01-31T12:00:00Z."
        )
        raise InputError(
            problem, source=location.file(row), line=location.line(row), code="not-a-time"
        )
    return pl.Series("at", microseconds.astype(np.int64)), unit


def _mixed_units_error(
    numbers: NDArray[np.float64], bands: NDArray[np.int64], usual_band: int, location: RowLocation
) -> InputError:
    unusual_rows = np.flatnonzero(bands != usual_band)
    row = int(unusual_rows[0])
    problem = (
        f"time {numbers[row]:.0f} looks like {_NAMES[_BANDS[int(bands[row])]]}, where most are "
        f"{_NAMES[_BANDS[usual_band]]} ({len(unusual_rows):,} of {len(numbers):,} rows differ); "
        "write all in one unit."
    )
    return InputError(
        problem, source=location.file(row), line=location.line(row), code="mixed-times"
    )


def _parse_dates(raw: pl.Series, location: RowLocation) -> pl.Series:
    plain_text = raw.cast(pl.String).str.strip_chars().str.replace(r"( UTC|Z|\+00:?00)$", "")
    frame = pl.DataFrame({"text": plain_text})
    forms = [pl.col("text").str.to_datetime(form, time_unit="us", strict=False) for form in _FORMS]
    microseconds = frame.select(pl.coalesce(forms).to_physical().cast(pl.Int64).alias("at"))["at"]
    unread_rows = microseconds.is_null().arg_true().to_list()
    if unread_rows:  # other zones, one by one, or what is not a time
        times = microseconds.to_list()
        for row in unread_rows:
            time = parse_time(str(raw[row]), "time", location.label, location.line(row))
            times[row] = round(time.timestamp() * 1e6)
        microseconds = pl.Series("at", times, dtype=pl.Int64)
    return microseconds
