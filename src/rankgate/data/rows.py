"""Rows of judgments or of a run unchanged from a file, with their defects.

A strict reader raises the first defect; `validate` reports all, so it needs the rows with
duplicates, empty ids and unreadable numbers.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Literal

import polars as pl

from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    from rankgate.data.place import RowLocation

Part = Literal["qrels", "run"]
"""The kinds of input as which a file can be read."""

NUMBER_COLUMNS = {"qrels": "grade", "run": "score"}
"""The column of numbers in judgments and in runs."""

NUMBER_TEXT = "written"
"""The column with the text of a number that is not finite; null in all other rows."""


@dataclass(frozen=True)
class FileRows:
    """The rows of one file.

    Attributes:
        part: judgments or a run.
        table: ``query_id``, ``doc_id`` and ``grade`` or ``score`` (Float64; null where the field
            is empty or no number); ``rank`` (Float64) or ``iteration`` where the file has that
            column; ``written`` where a number is not finite anywhere.
        place: where rows are.
    """

    part: Part
    table: pl.DataFrame
    place: RowLocation

    @classmethod
    def of(
        cls, input_kind: Part, frames: Iterable[pl.DataFrame], location: RowLocation
    ) -> FileRows:
        """Rows from frames; without a score, the rank or the order of lines makes one."""
        number = NUMBER_COLUMNS[input_kind]
        rank = pl.col("rank").cast(pl.Float64, strict=False)
        ranked_frames = [
            frame.with_columns(rank) if "rank" in frame.columns else frame for frame in frames
        ]
        if not ranked_frames:
            schema = {"query_id": pl.String, "doc_id": pl.String, number: pl.Float64}
            return cls(input_kind, pl.DataFrame(schema=schema), location)
        table = pl.concat(ranked_frames, how="diagonal")
        if number not in table.columns:
            line_order = -pl.int_range(pl.len()).cast(pl.Float64)
            score = -pl.col("rank") if "rank" in table.columns else line_order
            table = table.select("query_id", "doc_id", score.alias(number))
        return cls(input_kind, table, location)


def with_defects(frame: pl.DataFrame, number: str) -> pl.DataFrame:
    """Text as numbers; the text of numbers that are not finite in ``written``."""
    if frame.schema.get(number) != pl.String:
        return frame
    text = pl.col(number).str.strip_chars()
    parsed_number = text.cast(pl.Float64, strict=False)
    is_wrong = ~parsed_number.is_finite().fill_null(value=False)
    return frame.with_columns(parsed_number, pl.when(is_wrong).then(text).alias(NUMBER_TEXT))
