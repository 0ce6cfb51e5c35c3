"""Tables in memory, and tables whose lists were unfolded: read by their columns like those in files."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.formats.tables.parquet_arrow import FrameTable
from rankgate.data.formats.tables.schemas import find_run_columns
from rankgate.data.streams.source import InputFile

if TYPE_CHECKING:
    from rankgate.data.formats.table import TableSchema
    from rankgate.data.table_rows import RowLocation
    from rankgate.data.unfold import Unfolded


_ROWS_PER_SLICE = 1 << 20


class UnfoldedTable(FrameTable):
    """A table with a row per document; lists are unfolded piece by piece.

    Args:
        unfolded: the table.
        label: the name of its origin in errors.
    """

    def __init__(self, unfolded: Unfolded, label: str) -> None:
        super().__init__(InputFile.in_memory(label), unfolded.rows)
        self._unfolded = unfolded

    def with_collected_rows(self) -> UnfoldedTable:
        """The same run with its columns collected, so that a lazy frame is read once."""
        schema, names = self.required_schema("runs"), self.names
        columns = {*schema.kept.values(), *schema.document_columns(names), *find_run_columns(names).values()}
        rows = self._scan.select(name for name in names if name in columns).collect()
        return UnfoldedTable(replace(self._unfolded, rows=rows.lazy()), self.source.label)

    @property
    def location(self) -> RowLocation:
        """The location of the rows."""
        return self._unfolded.location

    def _pieces(self, schema: TableSchema) -> Iterator[pl.DataFrame]:
        lists, pieces = self._unfolded.lists, iter([self._scan])
        if schema.part == "runs" and lists is not None:
            pieces = lists.pieces()
        elif schema.part == "runs":  # in slices, as the conversion of ids takes memory
            row_count = self._scan.select(pl.len()).collect().item()
            pieces = (
                self._scan.slice(begin, _ROWS_PER_SLICE) for begin in range(0, row_count, _ROWS_PER_SLICE)
            )
        try:
            for piece in pieces:
                yield self.rows(schema, piece).collect(engine="streaming")
        except (pl.exceptions.InvalidOperationError, pl.exceptions.SchemaError) as error:
            problem = f"a column has invalid values: {str(error).splitlines()[0]}."
            raise InputError(problem, source=self.source.label, code="wrong-type") from None
