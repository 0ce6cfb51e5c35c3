"""Read ratings from files of any format and from frames."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.columns import map_columns, one_document_column
from rankgate.data.dataframes import is_frame, lazy_frame
from rankgate.data.ratings import SCHEMA, Ratings
from rankgate.data.read import contents_of
from rankgate.data.streams.source import InputFile

if TYPE_CHECKING:
    from rankgate.data.inputs import RatingsLike


def read_ratings(
    table: RatingsLike | InputFile, name: str | None = None, from_: str | None = None
) -> Ratings:
    """The ratings of single raters, from a path (``-`` is standard input) or a frame.

    Args:
        table: where they are; a path may be ``NAME:PATH`` to name its format.
        name: what to call them where they have no name of their own.
        from_: the name of the file's format; found by looking into it if not given.

    Raises:
        InputError: what is wrong, with file and line; or that nobody knows who rated what.
        UsageError: no such format.
    """
    if isinstance(table, Ratings):
        return table
    if isinstance(table, str | Path | InputFile):
        content = contents_of(table, from_)
        if content.ratings is None:
            problem = (
                "it does not say who rated what; ratings need a column rater besides query_id, "
                "doc_id and grade."
            )
            label = table.label if isinstance(table, InputFile) else str(table)
            raise InputError(problem, source=label, code="missing-column")
        return content.ratings
    return _ratings_of_frame(table, name or "ratings")


def _ratings_of_frame(table: Any, name: str) -> Ratings:
    if not is_frame(table):
        problem = f"a {type(table).__name__} is no table of ratings; give a path or a frame."
        raise InputError(problem, source=name, code="wrong-type")
    frame = lazy_frame(table, name)
    columns = frame.collect_schema().names()
    one_document_column(columns, name)
    column_map = map_columns(columns, ("query_id", "doc_id", "rater", "grade"))
    columns_read = [pl.col(file_column).alias(column) for column, file_column in column_map.items()]
    other_columns = [column for column in SCHEMA if column in columns and column not in column_map]
    try:
        return Ratings(frame.select(*columns_read, *other_columns).collect(), name=name)
    except pl.exceptions.PolarsError as error:
        raise InputError(
            f"the columns cannot be read as ratings: {error}.", source=name, code="invalid-syntax"
        ) from None
