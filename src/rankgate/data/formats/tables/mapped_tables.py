"""Tables that are made from others: with other names, rows that keep their lines, or unfolded lists."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.formats.table import Table
from rankgate.data.formats.tables.parquet_arrow import FrameTable, file_of
from rankgate.data.formats.tables.schemas import find_run_columns
from rankgate.data.streams.source import InputFile

if TYPE_CHECKING:
    from rankgate.data.formats.table import TableSchema
    from rankgate.data.table_rows import RowLocation
    from rankgate.data.unfold import Unfolded


class RenamedTable(Table):
    """A table under other names of its columns.

    Args:
        table: the table.
        names: the new name of each column, in the order of the columns.
        named_by_user: see `Table`.
    """

    def __init__(self, table: Table, names: Sequence[str], named_by_user: Collection[str]) -> None:
        self.source, self.noun, self.header_line = table.source, table.noun, table.header_line
        self.is_ragged = table.is_ragged
        self.names, self.named_by_user = names, named_by_user
        self._table = table

    def frames(self, schema: TableSchema) -> Iterator[pl.DataFrame]:
        """The rows of some columns; see `Table.frames`."""
        return self._table.frames(self._with_old_names(schema))

    def frame(self) -> pl.LazyFrame:
        """All columns under the new names."""
        frame = self._table.frame()
        old_names = frame.collect_schema().names()
        return frame.rename(dict(zip(old_names, self.names, strict=True)))

    def line(self, row: int) -> int | None:
        """The line of a row."""
        return self._table.line(row)

    def cautions(self, schema: TableSchema) -> dict[str, str]:
        """What has to be said about the values of these columns."""
        return self._table.cautions(self._with_old_names(schema))

    def log_source(self) -> InputFile:
        """The rows as a file of Arrow."""
        return file_of(self.frame().collect(), self.source)

    def _with_old_names(self, schema: TableSchema) -> TableSchema:
        old_names = dict(zip(reversed(self.names), reversed(self._table.names), strict=True))
        return replace(schema, kept={name: old_names[column] for name, column in schema.kept.items()})


class DerivedTable(FrameTable):
    """Rows that are computed from those of a table, and have their lines.

    Args:
        table: the table.
        rows: the computed rows.
        origin: for each row the row of the table that it comes from; by default the same one.
    """

    def __init__(self, table: Table, rows: pl.DataFrame, origin: pl.Series | None = None) -> None:
        super().__init__(table.source, rows.lazy())
        self.header_line = table.header_line
        self._table, self._origin = table, origin

    def line(self, row: int) -> int | None:
        """The line of a row."""
        return self._table.line(row if self._origin is None else self._origin[row])


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
