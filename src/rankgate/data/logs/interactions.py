"""Interactions: users, items, times and kinds; the log that a recommender learns from."""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import polars as pl

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.data.logs.clock import parse_instants
from rankgate.data.place import RowLocation
from rankgate.data.qrels import check_rows

if TYPE_CHECKING:
    from rankgate.data.inputs import Array, Frame, Source
    from rankgate.data.logs.clock import Unit

SCHEMA = {
    "query_id": pl.String,
    "doc_id": pl.String,
    "at": pl.Int64,
    "kind": pl.String,
    "value": pl.Float64,
}
"""The columns every log has."""

LogLike: TypeAlias = "Source | Interactions | Frame | Array"
"""A log, or training data, as functions accept it; see `rankgate.data.inputs`."""

KIND = "interaction"
"""The kind of interactions in a log without kinds."""


@dataclass(frozen=True)
class Interactions:
    """A log: one row for each time that a user or query met an item.

    Attributes:
        table: ``query_id`` (the user, or the query), ``doc_id`` (the item), ``at`` (microseconds
            since 1970, or a bare number in millionths, or null where the log has no time),
            ``kind`` and ``value`` (1 where the log has none); by ``query_id`` and ``at``, rows of
            one time in the order of the file.
        unit: what times were written in.
        name: what to call the log.
        repeated: rows that were the same as another in every column, and were left out.
        place: where the rows come from.
    """

    table: pl.DataFrame
    unit: Unit = "none"
    name: str = "log"
    repeated: int = 0
    place: RowLocation = field(default=RowLocation("log"))

    @property
    def timed(self) -> bool:
        """True if rows have a time, or a number that orders them."""
        return self.unit != "none"

    def kept(self, rows: pl.Series | pl.Expr) -> Interactions:
        """The same log with some of its rows."""
        return replace(self, table=self.table.filter(rows))


def make_interactions(
    raw: pl.DataFrame,
    name: str,
    location: RowLocation,
    unit: Unit | None = None,
    *,
    same: str = "once",
) -> Interactions:
    """A log from rows with our column names, checked and in order.

    Args:
        raw: ``query_id``, ``doc_id`` and, where there are any, ``at``, ``kind``, ``value``.
        name: what to call the log.
        location: the location of the rows, for errors.
        unit: the unit of times that are numbers, if it is known.
        same: what rows are that are equal in every column: counted ``once``, or ``each``.

    Raises:
        InputError: no rows, an id or a time that is missing, a value that is not finite, times in
            mixed units.
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
        InputError: as `make_interactions`.
    """
    expressions = [pl.col("query_id", "doc_id").cast(pl.String)]
    if "kind" in raw.columns:
        expressions.append(pl.col("kind").cast(pl.String).fill_null(KIND))
    value = _parse_numbers(raw["value"], location) if "value" in raw.columns else pl.lit(1.0)
    frame = raw.with_columns(*expressions, value.alias("value"))
    check_rows(frame, "value", location)
    time_unit: Unit = "none"
    if "at" in raw.columns:
        if raw["at"].null_count():
            row = int(raw["at"].is_null().arg_max() or 0)
            problem = "the time is empty, where other rows have one."
            raise InputError(
                problem, source=location.file(row), line=location.line(row), code="empty-value"
            )
        instants_column, time_unit = parse_instants(raw["at"], location, unit)
        frame = frame.with_columns(instants_column.alias("at"))
    return frame.select(name for name in SCHEMA if name in raw.columns), time_unit


def _parse_numbers(values: pl.Series, location: RowLocation) -> pl.Series:
    """Values as numbers.

    Raises:
        InputError: one that is not a number, with its line.
    """
    numbers = values.cast(pl.Float64, strict=False)
    if not values.dtype.is_numeric():
        is_wrong = numbers.is_null() & values.is_not_null()
        if is_wrong.any():
            row = int(is_wrong.arg_max() or 0)
            problem = f"the value {values[row]!r} is not a number."
            raise InputError(
                problem, source=location.file(row), line=location.line(row), code="not-a-number"
            )
    return numbers


def order_rows(rows: pl.DataFrame, unit: Unit, same: str) -> pl.DataFrame:
    """Rows by user and time; of rows that are equal in every column the first, or each."""
    rows = sort_by_user(rows, timed=unit != "none")
    if same == "each":
        return rows
    # only neighbours of one user and time can be equal, and most logs have few such rows
    order = ["query_id", "at"] if unit != "none" else ["query_id"]
    same_as_previous = rows.select(
        pl.all_horizontal(pl.col(name) == pl.col(name).shift() for name in order)
    )
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
    """Rows by user, and with ``timed`` by time; rows of one time keep their order.

    Sorting the numbers of users is several times faster than sorting their names, because there
    are fewer users than rows.
    """
    users = rows["query_id"].unique().sort()
    owner = rows["query_id"].cast(pl.Enum(users)).to_physical().to_numpy()
    by_time = np.argsort(rows["at"].to_numpy(), kind="stable") if timed else np.arange(len(rows))
    keys = owner[by_time].astype(np.uint64) << np.uint64(32)
    keys |= np.arange(len(rows), dtype=np.uint64)  # equal users keep their order
    keys.sort()
    return rows.select(pl.all().gather(by_time[keys & np.uint64(0xFFFFFFFF)]))


def fill_columns(rows: pl.DataFrame) -> pl.DataFrame:
    """The same rows with defaults for missing columns: no time, one kind, a value of 1."""
    defaults = {"at": pl.lit(None, pl.Int64), "kind": pl.lit(KIND), "value": pl.lit(1.0)}
    missing = [
        expression.alias(name) for name, expression in defaults.items() if name not in rows.columns
    ]
    return rows.with_columns(missing).select(*SCHEMA)
