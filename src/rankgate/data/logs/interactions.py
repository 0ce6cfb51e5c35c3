"""Interactions: users, items, times and kinds; the log that a recommender learns from.

Times of a log may be in any unit; mixed units raise an error. The names that logs use for our
columns are also translated here.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np
import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.number_formats import count_noun
from rankgate.data.column_names import KIND_NAMES, TIME_NAMES
from rankgate.data.guessed_column_names import guess_fields
from rankgate.data.qrels import check_rows
from rankgate.data.table_rows import RowLocation
from rankgate.data.text.text_values import format_time, parse_time

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.input_types import Array, Frame, Source


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
_DAY_FIRST = ("%d.%m.%Y %H:%M:%S%.f", "%d.%m.%Y %H:%M", "%d.%m.%Y")
_MONTHS = 12


def parse_instants(raw: pl.Series, location: RowLocation, unit: Unit | None = None) -> tuple[pl.Series, Unit]:
    """Times as whole microseconds since 1970, and their unit in the file.

    The unit of numbers is inferred from their size: since 1973 a count of seconds has nine to
    eleven digits, a count of milliseconds twelve to fourteen, and so on. Smaller numbers are not
    times: they only order the rows. Dates between points have the day first; between slashes, some
    date must show whether the day or the month is first.

    Args:
        raw: numbers, strings or times, none missing.
        location: the location of the rows, for errors.
        unit: the unit of numbers, if it is known.

    Returns:
        an Int64 column (bare numbers in millionths), and the unit.

    Raises:
        InputError: there is no time, units are mixed, or a date is impossible; the message has the
            line.
    """
    if raw.dtype.is_temporal():
        return raw.cast(pl.Datetime("us")).to_physical().cast(pl.Int64), "date"
    numbers = raw.cast(pl.Float64, strict=False)
    is_number = numbers.is_not_null() & numbers.is_finite().fill_null(value=False)
    if is_number.all():
        return _parse_epoch_times(numbers.to_numpy(), location, unit)
    if is_number.any():
        row, number_row = int(is_number.arg_min() or 0), int(is_number.arg_max() or 0)
        problem = (
            f"time '{raw[row]}' is a date or not a time, but '{raw[number_row]}' on line "
            f"{location.line(number_row) or number_row + 1} is a number; write all times in one form."
        )
        raise location.error(problem, row, "mixed-times")
    return _parse_dates(raw, location), "date"


def parse_instant(text: str, unit: Unit) -> int:
    """Read one time in microseconds: a date, or a number in a log's own unit.

    Raises:
        InputError: the value is neither.

    >>> parse_instant("2024-01-01", "s") == parse_instant("1704067200", "s")
    True
    """
    instants_read, _ = parse_instants(
        pl.Series([text]), RowLocation("the cut"), None if unit == "date" else unit
    )
    return int(instants_read[0])


def format_instant(time: int, unit: Unit) -> str:
    """A time for people: a date, or the plain number.

    >>> format_instant(1_704_067_200_000_000, "s"), format_instant(7_000_000, "order")
    ('2024-01-01T00:00:00Z', '7')
    """
    if unit in {"order", "place"}:
        return f"{time / 1e6:g}" if time % 1_000_000 else str(time // 1_000_000)
    return format_time(datetime.fromtimestamp(time / 1e6, UTC)) or ""


def _parse_epoch_times(
    numbers: NDArray[np.float64], location: RowLocation, unit: Unit | None
) -> tuple[pl.Series, Unit]:
    bands = np.searchsorted(_EDGES, np.abs(numbers), side="right")
    if unit is None:
        counts = np.bincount(bands, minlength=len(_BANDS))
        usual_band = int(counts.argmax())
        if counts[usual_band] < len(numbers):
            unusual_rows = np.flatnonzero(bands != usual_band)
            row = int(unusual_rows[0])
            problem = (
                f"time {numbers[row]:.0f} looks like {_NAMES[_BANDS[int(bands[row])]]}, where most are "
                f"{_NAMES[_BANDS[usual_band]]} ({len(unusual_rows):,} of "
                f"{count_noun(len(numbers), 'row')} differ); write all in one unit."
            )
            raise location.error(problem, row, "mixed-times")
        unit = _BANDS[usual_band]
    microseconds = np.round(numbers * _MICROSECONDS[unit])
    if unit not in {"order", "place"} and len(microseconds) and microseconds.max() > _LATEST_TIME:
        row = int(microseconds.argmax())
        problem = (
            f"time {numbers[row]:.0f} would be after the year 2100 in {_NAMES[unit]}; give its unit, or "
            "write dates as 2026-01-31T12:00:00Z."
        )
        raise location.error(problem, row, "not-a-time")
    return pl.Series("at", microseconds.astype(np.int64)), unit


def _parse_dates(raw: pl.Series, location: RowLocation) -> pl.Series:
    plain_text = raw.cast(pl.String).str.strip_chars().str.replace(r"( UTC|Z|\+00:?00)$", "")
    frame = pl.DataFrame({"text": plain_text.str.replace(", ", " ", literal=True)})
    forms = [
        pl.col("text").str.to_datetime(form, time_unit="us", strict=False)
        for form in (*_FORMS, *_DAY_FIRST, *_slash_forms(frame["text"]))
    ]
    microseconds = frame.select(pl.coalesce(forms).to_physical().cast(pl.Int64).alias("at"))["at"]
    unread_rows = microseconds.is_null().arg_true().to_list()
    if unread_rows:  # times in other zones are read one by one; other values are errors
        times = microseconds.to_list()
        for row in unread_rows:
            time = parse_time(str(raw[row]), "time", location.label, location.line(row))
            times[row] = round(time.timestamp() * 1e6)
        microseconds = pl.Series("at", times, dtype=pl.Int64)
    return microseconds


def _slash_forms(texts: pl.Series) -> Sequence[str]:
    """The forms of dates between slashes, if some of them show whether the day or the month is first.

    >>> _slash_forms(pl.Series(["02/03/2026", "25/03/2026"]))[-1]
    '%d/%m/%Y'
    """
    parts = texts.str.extract_groups(r"^(\d{1,2})/(\d{1,2})/\d{4}").struct.unnest().cast(pl.Int64)
    has_days = [(parts[name].max() or 0) > _MONTHS for name in parts.columns]  # type: ignore[operator]
    if sum(has_days) != 1:
        return ()
    day_first = [form.replace(".%m.", "/%m/") for form in _DAY_FIRST]
    return day_first if has_days[0] else [form.replace("%d/%m", "%m/%d") for form in day_first]


ALIASES: Mapping[str, tuple[str, ...]] = {
    "query_id": (
        "query_id",
        "user_id",
        "userid",
        "user",
        "uid",
        "visitor_id",
        "visitorid",
        "customer_id",
        "reviewerid",
        "session_id",
        "sessionid",
        "session",
        "sess_id",
        "query",
        "qid",
    ),
    "doc_id": (
        "doc_id",
        "item_id",
        "itemid",
        "item",
        "iid",
        "movie_id",
        "movieid",
        "product_id",
        "productid",
        "asin",
        "parent_asin",
        "article_id",
        "track_id",
        "book_id",
        "news_id",
        "clicked_doc_id",
        "doc",
        "document",
        "content_id",
        "contentid",
        "content",
    ),
    "at": TIME_NAMES,
    "kind": KIND_NAMES,
    "value": (
        "value",
        "rating",
        "overall",
        "stars",
        "weight",
        "count",
        "plays",
        "play_count",
        "playcount",
        "quantity",
        "score",
        "label",
    ),
}
"""The names that each of our columns may have, best first; case is ignored."""

_REQUIRED = {"query_id": ("the user or query", "user"), "doc_id": ("the item", "item")}
_SHORT_NAMES = {"query": "query_id", "user": "query_id", "doc": "doc_id", "item": "doc_id"}


def map_columns(
    log_columns: Sequence[str], chosen_columns: Mapping[str, str], label: str, line: int | None = None
) -> dict[str, str]:
    """Map our columns to the columns of a log (ours -> theirs).

    Args:
        log_columns: the log's columns.
        chosen_columns: ours -> theirs, from the user, ours also as query, user, doc or item; all
            others are found by their names.
        label: the name of the log in errors.
        line: the line of the column names.

    Raises:
        UsageError: a chosen column is not one of ours.
        InputError: a column does not exist, or there is none for the user or the item.
    """
    columns = {_SHORT_NAMES.get(column, column): name for column, name in chosen_columns.items()}
    for column, log_column in columns.items():
        if column not in ALIASES:
            raise UsageError(
                f"a log has no column '{column}'; choose {', '.join(ALIASES)}.", code="missing-column"
            )
        if log_column not in log_columns:
            problem = f"no column '{log_column}' among {', '.join(log_columns[:10])}."
            raise InputError(problem, source=label, line=line, code="missing-column")
    name_by_lower_case: dict[str, str] = {}
    for name in log_columns:
        name_by_lower_case.setdefault(name.strip().lower(), name)
    for column, aliases in ALIASES.items():
        log_column = next(
            (
                name_by_lower_case[alias]
                for alias in aliases
                if alias in name_by_lower_case and name_by_lower_case[alias] not in columns.values()
            ),
            "",
        )
        if column not in columns and log_column:
            columns[column] = log_column
    missing = {column: nouns for column, nouns in _REQUIRED.items() if column not in columns}
    if missing:
        missing_nouns = " and ".join(noun for noun, _ in missing.values())
        problem = f"no column for {missing_nouns} among {', '.join(log_columns[:10])}; name what is missing"
        if len(log_columns) < 2 or not all(map(str.isprintable, log_columns)):  # no log at all
            raise InputError(f"{problem}.", source=label, line=line, code="missing-column")
        fields = guess_fields([name for name in log_columns if name not in columns.values()])
        owner = fields.get("user") or fields.get("query")
        guesses = {
            column: (owner if column == "query_id" else fields.get(column)) or "COLUMN" for column in missing
        }
        column_words = ",".join(f"{missing[column][1]}={name}" for column, name in guesses.items())
        lines = (f"--columns {column_words}", f"or in Python: columns={guesses}")
        is_whole = "COLUMN" not in guesses.values()
        raise InputError(
            f"{problem}; if this guess is right, add:"
            if is_whole
            else f"{problem}, with its name for COLUMN:",
            source=label,
            line=line,
            code="missing-column",
            suggestions=lines,
        )
    return {column: columns[column] for column in ALIASES if column in columns}


SCHEMA = Columns(
    "One row for each time that a user or query met an item, by query_id and at, rows of one time in the "
    "order of the file.",
    Column("query_id", pl.String, "the user or the query"),
    Column("doc_id", pl.String, "the item"),
    Column(
        "at",
        pl.Int64,
        "microseconds since 1970, or a bare number in millionths; null where the log has no time",
    ),
    Column("kind", pl.String, "the kind of the event"),
    Column("value", pl.Float64, "its value; 1 where the log has none"),
)

LogLike: TypeAlias = "Source | Interactions | Frame | Array"
"""A log, or training data, as functions accept it; see `rankgate.data.input_types`."""

KIND = "interaction"
"""The kind of interactions in a log without kinds."""


def kind_counts(table: pl.DataFrame) -> dict[str, int]:
    """The number of rows of each kind of interaction, the most frequent first."""
    if "kind" not in table.columns:
        return {KIND: len(table)}
    counts = table["kind"].value_counts().sort("count", "kind", descending=[True, False])
    return dict(counts.iter_rows())


@dataclass(frozen=True)
class Interactions:
    """A log: one row for each interaction of a user or query with an item.

    Attributes:
        table: ``query_id`` (the user, or the query), ``doc_id`` (the item), ``at`` (microseconds
            since 1970, or a bare number in millionths, or null where the log has no time),
            ``kind`` and ``value`` (1 where the log has none); by ``query_id`` and ``at``, rows of
            one time in the order of the file.
        unit: the unit of times in the file.
        name: its name.
        repeated: the number of rows that equal another row in every column, and were left out.
        place: the location of the rows.
    """

    table: pl.DataFrame
    unit: Unit = "none"
    name: str = "log"
    repeated: int = 0
    place: RowLocation = field(default=RowLocation("log"))

    @property
    def timed(self) -> bool:
        """True if rows have a time, or a number that gives their order."""
        return self.unit != "none"

    def filter_rows(self, rows: pl.Series | pl.Expr) -> Interactions:
        """The same log with only some of its rows."""
        return replace(self, table=self.table.filter(rows))


def make_interactions(
    raw: pl.DataFrame, name: str, location: RowLocation, unit: Unit | None = None, *, same: str = "once"
) -> Interactions:
    """A log from rows with our column names, checked and in order.

    Args:
        raw: ``query_id``, ``doc_id`` and, where there are any, ``at``, ``kind``, ``value``.
        name: the name of the log.
        location: the location of the rows, for errors.
        unit: the unit of times that are numbers, if it is known.
        same: how to count rows that are equal in every column: ``once``, or ``each``.

    Raises:
        InputError: there are no rows, an id or a time is missing, a value is not finite, or times
            have mixed units.
    """
    if raw.is_empty():
        raise InputError("no interactions found.", source=location.label, code="no-interactions")
    rows, time_unit = parse_log_rows(raw, location, unit)
    table = order_rows(rows, time_unit, same)
    return Interactions(fill_columns(table), time_unit, name, len(rows) - len(table), location)


def parse_log_rows(
    raw: pl.DataFrame, location: RowLocation, unit: Unit | None = None
) -> tuple[pl.DataFrame, Unit]:
    """The columns of a log: ids as strings, times as instants; and the unit of times.

    Raises:
        InputError: see `make_interactions`.
    """
    expressions = [pl.col("query_id", "doc_id").cast(pl.String)]
    if "kind" in raw.columns:
        expressions.append(pl.col("kind").cast(pl.String).fill_null(KIND))
    value = _parse_values(raw["value"], location) if "value" in raw.columns else pl.lit(1.0)
    frame = raw.with_columns(*expressions, value.alias("value"))
    check_rows(frame, "value", location)
    time_unit: Unit = "none"
    if "at" in raw.columns:
        if raw["at"].null_count():
            row = int(raw["at"].is_null().arg_max() or 0)
            problem = "the time is empty, where other rows have one."
            raise location.error(problem, row, "empty-value")
        instants_column, time_unit = parse_instants(raw["at"], location, unit)
        frame = frame.with_columns(instants_column.alias("at"))
    return frame.select(name for name in SCHEMA if name in raw.columns), time_unit


def _parse_values(values: pl.Series, location: RowLocation) -> pl.Series:
    """Values as numbers.

    Raises:
        InputError: a value is not a number; the message has its line.
    """
    numbers = values.cast(pl.Float64, strict=False)
    if not values.dtype.is_numeric():
        is_wrong = numbers.is_null() & values.is_not_null()
        if is_wrong.any():
            row = int(is_wrong.arg_max() or 0)
            problem = f"the value {values[row]!r} is not a number."
            raise location.error(problem, row, "not-a-number")
    return numbers


def order_rows(rows: pl.DataFrame, unit: Unit, same: str) -> pl.DataFrame:
    """Rows by user and time; of rows that are equal in every column, the first or all.

    With ``timed`` as `same` it is the first where rows have times: equal ones are then one event.
    """
    rows = sort_by_user(rows, timed=unit != "none")
    if same == "each" or (same == "timed" and unit == "none"):
        return rows
    # equal rows are neighbours with one user and time, and most logs have few
    order = ["query_id", "at"] if unit != "none" else ["query_id"]
    same_as_previous = rows.select(pl.all_horizontal(pl.col(name) == pl.col(name).shift() for name in order))
    is_repeated = same_as_previous.to_series().fill_null(value=False)
    is_near = (is_repeated | is_repeated.shift(-1, fill_value=False)).to_numpy()
    if not is_near.any():
        return rows
    is_kept = ~is_near
    near_rows = rows.filter(is_near).with_row_index("row")
    first_rows = near_rows.unique(rows.columns, keep="first")["row"].to_numpy()
    is_kept[np.flatnonzero(is_near)[first_rows]] = True
    return rows.filter(is_kept)


def sort_by_user(rows: pl.DataFrame, *, timed: bool) -> pl.DataFrame:
    """Rows by user, and with ``timed`` also by time; rows with equal times keep their order.

    Sorting the numbers of users is several times faster than sorting their names, because there
    are fewer users than rows.
    """
    users = rows["query_id"].unique().sort()
    owner = rows["query_id"].cast(pl.Enum(users)).to_physical().to_numpy()
    by_time = np.argsort(rows["at"].to_numpy(), kind="stable") if timed else np.arange(len(rows))
    keys = owner[by_time].astype(np.uint64) << np.uint64(32)
    keys |= np.arange(len(rows), dtype=np.uint64)  # rows of one user keep their order
    keys.sort()
    return rows.select(pl.all().gather(by_time[keys & np.uint64(0xFFFFFFFF)]))


def fill_columns(rows: pl.DataFrame) -> pl.DataFrame:
    """The same rows with defaults for missing columns: no time, one kind, a value of 1."""
    defaults = {"at": pl.lit(None, pl.Int64), "kind": pl.lit(KIND), "value": pl.lit(1.0)}
    missing = [expression.alias(name) for name, expression in defaults.items() if name not in rows.columns]
    return rows.with_columns(missing).select(*SCHEMA)
