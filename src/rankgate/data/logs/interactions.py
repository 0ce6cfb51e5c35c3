"""Interactions: who did what with which item, when; the log that a recommender learns from."""

from __future__ import annotations

from dataclasses import field, replace
from typing import TYPE_CHECKING, TypeAlias

import numpy as np
import polars as pl

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.data.logs.clock import instants
from rankgate.data.place import Place
from rankgate.data.qrels import refuse_holes

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
"""A log, or who had what in training, as functions accept it; see `rankgate.data.inputs`."""

KIND = "interaction"
"""The kind of an interaction without one."""


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
    place: Place = field(default=Place("log"))

    @property
    def timed(self) -> bool:
        """Whether rows have a time, or a number that orders them."""
        return self.unit != "none"

    def kept(self, rows: pl.Series | pl.Expr) -> Interactions:
        """The same log with some of its rows."""
        return replace(self, table=self.table.filter(rows))


def interactions_of(
    raw: pl.DataFrame, name: str, place: Place, unit: Unit | None = None, *, same: str = "once"
) -> Interactions:
    """A log from rows with our column names, checked and in order.

    Args:
        raw: ``query_id``, ``doc_id`` and, where there are any, ``at``, ``kind``, ``value``.
        name: what to call the log.
        place: where the rows are, for errors.
        unit: the unit of times that are numbers, if it is known.
        same: what rows are that are equal in every column: counted ``once``, or ``each``.

    Raises:
        InputError: no rows, an id or a time that is missing, a value that is not finite, times in
            mixed units.
    """
    if raw.is_empty():
        raise InputError("no interactions found.", source=place.label, code="no-interactions")
    rows, result = checked(raw, place, unit)
    table = ordered(rows, result, same)
    return Interactions(completed(table), result, name, len(rows) - len(table), place)


def checked(raw: pl.DataFrame, place: Place, unit: Unit | None = None) -> tuple[pl.DataFrame, Unit]:
    """The columns of a log that are there, ids as strings and times as instants, and their unit.

    Raises:
        InputError: as `interactions_of`.
    """
    ids = [pl.col("query_id", "doc_id").cast(pl.String)]
    if "kind" in raw.columns:
        ids.append(pl.col("kind").cast(pl.String).fill_null(KIND))
    value = pl.col("value").cast(pl.Float64) if "value" in raw.columns else pl.lit(1.0)
    frame = raw.with_columns(*ids, value.alias("value"))
    refuse_holes(frame, "value", place)
    words: Unit = "none"
    if "at" in raw.columns:
        if raw["at"].null_count():
            row = int(raw["at"].is_null().arg_max() or 0)
            problem = "the time is empty, where other rows have one."
            raise InputError(
                problem, source=place.file(row), line=place.line(row), code="empty-value"
            )
        at, words = instants(raw["at"], place, unit)
        frame = frame.with_columns(at.alias("at"))
    return frame.select(name for name in SCHEMA if name in raw.columns), words


def ordered(rows: pl.DataFrame, unit: Unit, same: str) -> pl.DataFrame:
    """Rows by user and time; of rows that are equal in every column the first, or each."""
    rows = by_user(rows, timed=unit != "none")
    if same == "each":
        return rows
    # only neighbours of one user and time can be equal, and most logs have few such rows
    order = ["query_id", "at"] if unit != "none" else ["query_id"]
    again = rows.select(pl.all_horizontal(pl.col(name) == pl.col(name).shift() for name in order))
    repeated = again.to_series().fill_null(value=False)
    near = (repeated | repeated.shift(-1, fill_value=False)).to_numpy()
    if not near.any():
        return rows
    kept = ~near
    twins = rows.filter(near).with_row_index("row")
    first = twins.unique(rows.columns, keep="first")["row"].to_numpy()
    kept[np.flatnonzero(near)[first]] = True
    return rows.filter(kept)


def by_user(rows: pl.DataFrame, *, timed: bool) -> pl.DataFrame:
    """Rows by user, and with ``timed`` by time; those of one time in the order that they had.

    Sorting the numbers of users is several times faster than sorting their names, of which there
    are fewer than rows.
    """
    users = rows["query_id"].unique().sort()
    owner = rows["query_id"].cast(pl.Enum(users)).to_physical().to_numpy()
    by_time = np.argsort(rows["at"].to_numpy(), kind="stable") if timed else np.arange(len(rows))
    keys = owner[by_time].astype(np.uint64) << np.uint64(32)
    keys |= np.arange(len(rows), dtype=np.uint64)  # equal users keep their order
    keys.sort()
    return rows.select(pl.all().gather(by_time[keys & np.uint64(0xFFFFFFFF)]))


def completed(rows: pl.DataFrame) -> pl.DataFrame:
    """The same with what the log does not say: no time, one kind, a value of 1."""
    usual = {"at": pl.lit(None, pl.Int64), "kind": pl.lit(KIND), "value": pl.lit(1.0)}
    missing = [each.alias(name) for name, each in usual.items() if name not in rows.columns]
    return rows.with_columns(missing).select(*SCHEMA)
