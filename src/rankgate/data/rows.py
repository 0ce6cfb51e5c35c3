"""Rows of judgments or of a run as a file has them, with their defects.

A strict reader raises the first defect; `validate` reports all of them, so that it needs the
rows with duplicates, empty ids and numbers that cannot be read.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

import polars as pl

from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    from rankgate.data.place import Place

Part = Literal["qrels", "run"]
"""What a file is read as, where it could be either."""

NUMBERS = {"qrels": "grade", "run": "score"}
"""The column of numbers that judgments and runs have."""

WRITTEN = "written"
"""The column with the text of a number that is not finite; null in all other rows."""


@dataclass(frozen=True)
class FileRows:
    """The rows of one file.

    Attributes:
        part: what they are.
        table: ``query_id``, ``doc_id`` and ``grade`` or ``score`` (Float64; null where the field
            is empty or no number); ``rank`` (Float64) or ``iteration`` where the file has that
            column; ``written`` where a number is not finite anywhere.
        place: where rows are.
    """

    part: Part
    table: pl.DataFrame
    place: Place

    @classmethod
    def of(cls, part: Part, frames: Iterable[pl.DataFrame], place: Place) -> FileRows:
        """Rows from frames; where there is no score, the rank or the order of lines makes it."""
        number = NUMBERS[part]
        rank = pl.col("rank").cast(pl.Float64, strict=False)
        pieces = [
            frame.with_columns(rank) if "rank" in frame.columns else frame for frame in frames
        ]
        if not pieces:
            schema = {"query_id": pl.String, "doc_id": pl.String, number: pl.Float64}
            return cls(part, pl.DataFrame(schema=schema), place)
        table = pl.concat(pieces, how="diagonal")
        if number not in table.columns:
            in_order = -pl.int_range(pl.len()).cast(pl.Float64)
            score = -pl.col("rank") if "rank" in table.columns else in_order
            table = table.select("query_id", "doc_id", score.alias(number))
        return cls(part, table, place)


def with_defects(frame: pl.DataFrame, number: str) -> pl.DataFrame:
    """Text as numbers; the text of those that are not finite numbers in ``written``."""
    if frame.schema.get(number) != pl.String:
        return frame
    text = pl.col(number).str.strip_chars()
    value = text.cast(pl.Float64, strict=False)
    wrong = ~value.is_finite().fill_null(value=False)
    return frame.with_columns(value, pl.when(wrong).then(text).alias(WRITTEN))
