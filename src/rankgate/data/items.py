"""Tables of items: an id, and whatever columns describe it."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.data import arrow, records
from rankgate.data.log_columns import ALIASES, mapped
from rankgate.data.source import Source, source
from rankgate.errors import InputError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence


def read_items(table: Any) -> pl.DataFrame:  # noqa: ANN401 - a path or a frame
    """A table of items from CSV, TSV, Parquet, Arrow or a frame: ``doc_id``, and what describes it.

    Raises:
        InputError: no column of ids, an id that is missing or stands twice, a record with the
            wrong number of fields; with the line.
    """
    frame, label = _frame(table, "items")
    return _checked(frame, _id_of(frame.columns, label), label)


def described(items: pl.DataFrame, column: str) -> pl.Series:
    """One column of a table of items.

    Raises:
        UsageError: it is not there.
    """
    if column not in items.columns:
        known = ", ".join(name for name in items.columns if name != "doc_id")
        raise UsageError(f"items have no column '{column}'; there are {known or 'none'}.")
    return items[column]


def measured(items: pl.DataFrame, column: str) -> pl.Series:
    """One column of numbers.

    Raises:
        UsageError: it is not there.
        InputError: a value in it is no finite number.
    """
    words = described(items, column)
    found = words.cast(pl.Float64, strict=False)
    wrong = words.is_not_null() & ~found.is_finite().fill_null(value=False)
    if wrong.any():
        row = int(wrong.arg_max() or 0)
        problem = f"{column} '{words[row]}' of item '{items['doc_id'][row]}' is no finite number."
        raise InputError(problem, source="items")
    return found


def _frame(table: Any, label: str) -> tuple[pl.DataFrame, str]:  # noqa: ANN401 - a path or a frame
    """All columns, and what errors call their origin."""
    if not isinstance(table, str | Path):
        return pl.DataFrame(table), label
    place = source(table)
    if place.head(6).startswith((b"PAR1", b"ARROW1")):
        return arrow.collected(arrow.scanned(place), place), place.label
    return _separated(place), place.label


def _separated(place: Source) -> pl.DataFrame:
    first = next(place.chunks(), b"")
    counts = {sep: len(records.first_fields(first, sep)) for sep in records.SEPARATORS}
    header = records.header_in(first, max(counts, key=lambda sep: counts[sep]))
    names = {name: name for name in header.names}
    layout = records.Layout(header, names, frozenset(), frozenset(names))
    schema = dict.fromkeys(names, pl.String)
    return pl.concat([pl.DataFrame(schema=schema), *records.frames(place, layout)])


def _id_of(names: Sequence[str], label: str) -> str:
    lower = {name.strip().lower(): name for name in reversed(names)}
    for alias in (*ALIASES["doc_id"], "id"):
        if alias in lower:
            return lower[alias]
    problem = f"no column of ids among {', '.join(names[:10])}; call one item_id."
    raise InputError(problem, source=label, line=1)


def _checked(frame: pl.DataFrame, theirs: str, label: str) -> pl.DataFrame:
    rows = frame.rename({theirs: "doc_id"}).with_columns(pl.col("doc_id").cast(pl.String))
    if rows["doc_id"].null_count():
        raise InputError("an item has no id.", source=label)
    twice = rows["doc_id"].is_duplicated()
    if twice.any():
        item = rows["doc_id"][int(twice.arg_max() or 0)]
        problem = f"item '{item}' stands twice; remove one of its rows."
        raise InputError(problem, source=label)
    return rows


def read_candidates(table: Any) -> tuple[pl.DataFrame, str]:  # noqa: ANN401 - a path or a frame
    """The pairs that lists may hold, as `split` writes them, and the mark of a sample.

    Raises:
        InputError: a column that is missing, or several marks in one file.
    """
    frame, label = _frame(table, "candidates")
    found = mapped(frame.columns, {}, label, 1)
    marks = frame["candidates"].unique().to_list() if "candidates" in frame.columns else [""]
    if len(marks) > 1:
        problem = f"candidates of several kinds: {', '.join(map(str, marks[:5]))}."
        raise InputError(problem, source=label)
    pairs = frame.select(
        pl.col(found[ours]).cast(pl.String).alias(ours) for ours in ("query_id", "doc_id")
    )
    return pairs, str(marks[0] or "") if marks else ""
