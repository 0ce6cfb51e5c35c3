"""Declared columns of tables: name, type, meaning, unit, and how people see them.

A table of a result is declared once, as `Columns`. Its Polars schema, its JSON schema, its
documentation and its table in a document follow from the declaration.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from rankgate.core.present.document_model import Grid, make_printable, shorten_name
from rankgate.core.present.number_formats import (
    UNDEFINED,
    count_queries,
    format_amount,
    format_bounds,
    format_column,
    format_correction,
    format_counts,
    format_decimal,
    format_grade,
    format_hash,
    format_milliseconds,
    format_p_value,
    format_probability,
    format_query_count,
    format_share,
    format_signed,
    list_names,
)

if TYPE_CHECKING:
    import polars as pl
    from polars.datatypes import DataTypeClass

    from rankgate.core.value_types import Json, JsonObject

FORMATS: Mapping[str, Callable[[Any], str]] = {
    "amount": format_amount,
    "correction": format_correction,
    "decimal": format_decimal,
    "grade": format_grade,
    "hash": format_hash,
    "milliseconds": format_milliseconds,
    "names": list_names,
    "p": format_p_value,
    "probability": format_probability,
    "queries": format_query_count,
    "relative": format_share,
    "query_counts": lambda counts: count_queries(*counts),
    "short": lambda names: shorten_name(names if isinstance(names, str) else ", ".join(names)),
    "signed": format_signed,
    "spaced": lambda name: name.replace("_", " "),
}
"""Formats of values by the name that a column gives; any other name is a format of Python."""

FORMATS_OF_COLUMNS: Mapping[str, Callable[[list[Any]], list[str]]] = {
    "counts": format_counts,
    "values": format_column,
}
"""Formats that depend on all values of a column."""


def format_value(value: object, format_name: str = "") -> str:
    """A value as text for people, by a name in `FORMATS` or a format of Python.

    >>> format_value(0.25, ".0%"), format_value(None), format_value(1234, ","), format_value(True)
    ('25%', '–', '1,234', 'yes')
    """
    if format_name in FORMATS:
        return FORMATS[format_name](value)
    if isinstance(value, list | tuple):
        separator = format_name if format_name.endswith(" ") else ", "
        return make_printable(separator.join(map(str, value)))
    if value is None or (isinstance(value, float) and math.isnan(value)):
        return UNDEFINED
    if isinstance(value, str):
        return format(value if value.isprintable() else make_printable(value), format_name)
    if isinstance(value, bool):
        return "yes" if value else "no"
    return format(value, format_name or ("z.4f" if isinstance(value, float) else ","))


Format = str | Callable[..., str] | Mapping[Any, str]
"""How the values of a column become texts; see `Column`."""


class Column(NamedTuple):
    """A column of a table.

    Attributes:
        name: its name in the frame and in JSON.
        type: the Polars type of its values.
        help: the meaning of a value, in a sentence without a full stop.
        format: the format of its values in tables for people: a name in `FORMATS` or
            `FORMATS_OF_COLUMNS`, a format of Python such as ``.0%``, a function, or texts by value; if
            empty, the default of its type.
        unit: the unit of its values, such as ``s`` or ``queries``.
        header: its header in tables for people; if empty, its name. A newline marks a possible line
            break for narrow media.
        arguments: the columns whose values a function takes first, such as the KPI of a value.
        at_most: the column of the largest possible value, where a value is the smallest possible; null
            there is no limit.
        empty: the text of an undefined value or an empty text; if empty, a dash for numbers alone.
    """

    name: str
    type: pl.DataType | type[pl.DataType]
    help: str
    format: Format = ""
    unit: str = ""
    header: str = ""
    arguments: tuple[str, ...] = ()
    empty: str = ""
    at_most: str = ""

    @property
    def is_text(self) -> bool:
        """True if the values are texts."""
        import polars as pl

        return self.type == pl.String or self.type.is_nested()

    @property
    def is_left(self) -> bool:
        """True if the texts of the values are words, which are left-aligned."""
        import polars as pl

        return self.is_text or self.type == pl.Boolean or isinstance(self.format, Mapping)

    @property
    def description(self) -> str:
        """Its help and its unit.

        >>> import polars as pl
        >>> Column("p95", pl.Float64, "the 95th percentile", unit="ms").description
        'the 95th percentile (ms)'
        """
        return f"{self.help} ({self.unit})" if self.unit else self.help

    def json_schema(self) -> JsonObject:
        """The JSON schema of a value; undefined values are null."""
        return {**json_type(self.type), "description": self.description}

    def texts(self, table: pl.DataFrame) -> list[str]:
        """The values of the column in a table as texts for people.

        >>> import polars as pl
        >>> share = Column("share", pl.Float64, "the share of judged documents", ".0%")
        >>> share.texts(pl.DataFrame({"share": [0.25, None]}))
        ['25%', '–']
        """
        values = table[self.name].to_list()
        if self.at_most:
            bounds = zip(values, table[self.at_most].to_list(), strict=True)
            return [
                format_bounds(*pair, lambda value: format_value(value, str(self.format))) for pair in bounds
            ]
        if isinstance(self.format, str):
            if self.format in FORMATS_OF_COLUMNS:
                return FORMATS_OF_COLUMNS[self.format](values)
            undefined = self.empty or ("" if self.is_text else UNDEFINED)
            is_named = self.format in FORMATS
            return [
                undefined
                if value == "" or (value is None and not is_named)
                else format_value(value, self.format)
                for value in values
            ]
        if isinstance(self.format, Mapping):
            return [self.format.get(value, str(value)) for value in values]
        return [self.format(*row) for row in table.select(*self.arguments, self.name).iter_rows()]


Cell = str | tuple[str | tuple[str, str], ...]
"""The columns of a cell: a name, a pair of names as an interval, or names and texts in turn."""


class Columns(Mapping[str, "pl.DataType | type[pl.DataType]"]):
    """The columns of a table in order: a Polars schema with the meaning of each column.

    Args:
        row_meaning: the meaning of a row.
        columns: a column, or all columns of another table.
        further_columns: the meaning of columns that the data name; empty if there are none.

    >>> import polars as pl
    >>> table = Columns(
    ...     "One row per system.",
    ...     Column("system", pl.String, "its name"),
    ...     Column("share", pl.Float64, "the share of judged documents", ".0%", header="judged"),
    ... )
    >>> dict(table)
    {'system': String, 'share': Float64}
    >>> table.grid(pl.DataFrame({"system": ["a"], "share": [0.5]}, table))
    Grid(head=('system', 'judged'), rows=(('a', '50%'),), left=frozenset({0}), keys=1)
    """

    def __init__(self, row_meaning: str, *columns: Column | Columns, further_columns: str = "") -> None:
        self.row_meaning = row_meaning
        self.further_columns = further_columns
        self.by_name: Mapping[str, Column] = {
            column.name: column
            for argument in columns
            for column in ((argument,) if isinstance(argument, Column) else argument.columns)
        }

    @property
    def columns(self) -> tuple[Column, ...]:
        """The declarations in their order."""
        return tuple(self.by_name.values())

    def __getitem__(self, name: str) -> pl.DataType | type[pl.DataType]:
        """The type of a column."""
        return self.by_name[name].type

    def __iter__(self) -> Iterator[str]:
        """The names of the columns."""
        return iter(self.by_name)

    def __len__(self) -> int:
        """The number of columns."""
        return len(self.by_name)

    def __repr__(self) -> str:
        """The names of the columns."""
        return f"Columns({', '.join(self)})"

    def drop(self, *names: str) -> Columns:
        """The same columns except some."""
        remaining = [column for column in self.columns if column.name not in names]
        return Columns(self.row_meaning, *remaining, further_columns=self.further_columns)

    def empty(self) -> pl.DataFrame:
        """A frame without rows."""
        import polars as pl

        return pl.DataFrame(schema=dict(self))

    def json_schema(self) -> JsonObject:
        """The JSON schema of the table as a list of rows."""
        properties = {column.name: column.json_schema() for column in self.columns}
        row: dict[str, Json] = {"type": "object", "properties": properties}
        if self.further_columns:
            row["additionalProperties"] = {"description": self.further_columns}
        return {"type": "array", "description": self.row_meaning, "items": row}

    def documentation(self) -> str:
        """The meaning of a row, and a Markdown table of the columns."""
        rows = [(f"`{column.name}`", type_name(column.type), column.description) for column in self.columns]
        if self.further_columns:
            rows.append(("…", "", self.further_columns))
        escaped = (tuple(cell.replace("|", "\\|") for cell in row) for row in rows)
        lines = [f"| {name} | {kind} | {text} |" for name, kind, text in escaped]
        return "\n".join([self.row_meaning, "", "| column | type | meaning |", "| :-- | :-- | :-- |", *lines])

    def grid(
        self,
        table: pl.DataFrame,
        *column_names: Cell,
        headers: Mapping[str, str] = MappingProxyType({}),
        formats: Mapping[str, Format] = MappingProxyType({}),
        keys: int = 1,
    ) -> Grid:
        """The rows of a table as text for people.

        Args:
            table: with these columns.
            column_names: names of columns; a pair of names is an interval, and a longer tuple has
                names and the texts between them in turn, where a pair of names is an interval that
                is left out where it is undefined. A text is left out before an empty one. All
                columns by default.
            headers: headers by column, where they differ from the declaration.
            formats: formats by column, where they differ from the declaration.
            keys: the number of first columns that identify a row.

        >>> import polars as pl
        >>> low, high = (Column(name, pl.Float64, "an end", "signed") for name in ("low", "high"))
        >>> interval = Columns("One row.", low, high)
        >>> table = pl.DataFrame({"low": [0.1], "high": [0.2]})
        >>> interval.grid(table, ("low", "high"), headers={"low": "95 % interval"})
        Grid(head=('95 % interval',), rows=(('[+0.1000, +0.2000]',),), left=frozenset(), keys=1)
        """
        names_of_cells = [(names,) if isinstance(names, str) else names for names in column_names or self]
        columns = [self.by_name[str(names[0])] for names in names_of_cells]
        cells = [self._cells(table, names, formats) for names in names_of_cells]
        return Grid(
            tuple(
                headers.get(column.name) or column.header or ("interval" if len(names) == 2 else column.name)
                for column, names in zip(columns, names_of_cells, strict=True)
            ),
            tuple(zip(*cells, strict=True)),
            frozenset(i for i, column in enumerate(columns) if column.is_left),
            keys,
        )

    def _cells(
        self, table: pl.DataFrame, names: tuple[str | tuple[str, str], ...], formats: Mapping[str, Format]
    ) -> list[str]:
        """The texts of one or more columns as cells."""
        texts = []
        for name in names[:: 2 if len(names) > 2 else 1]:
            if isinstance(name, str):
                column = self.by_name[name]
                texts.append(column._replace(format=formats.get(name, column.format)).texts(table))
            else:
                intervals = self._cells(table, name, formats)
                texts.append(["" if text == UNDEFINED else text for text in intervals])
        if len(names) == 1:
            return texts[0]
        if len(names) == 2:  # the ends of an interval
            return list(map(_interval_text, *texts))
        cells = texts[0]
        for text_between, next_texts in zip(names[1::2], texts[1:], strict=True):
            pairs = zip(cells, next_texts, strict=True)
            cells = [f"{cell}{text_between}{text}" if text else cell for cell, text in pairs]
        is_undefined = [{*row} == {UNDEFINED} for row in zip(*texts, strict=True)]
        return [UNDEFINED if undefined else cell for undefined, cell in zip(is_undefined, cells, strict=True)]


def _interval_text(low: str, high: str) -> str:
    """An interval, which may have one end only."""
    if UNDEFINED not in {low, high}:
        return f"[{low}, {high}]"
    return UNDEFINED if low == high else f"≤ {high}" if low == UNDEFINED else f"≥ {low}"


def type_name(dtype: pl.DataType | DataTypeClass) -> str:
    """The type of values as text.

    >>> import polars as pl
    >>> type_name(pl.Int64), type_name(pl.List(pl.String))
    ('integer', 'list of text')
    """
    import polars as pl

    if isinstance(dtype, pl.List):
        return f"list of {type_name(dtype.inner)}"
    if dtype.is_temporal():
        return "time"
    name = str(json_type(dtype).get("type", ["any"])[0])
    return {"string": "text", "boolean": "true or false"}.get(name, name)


def json_type(dtype: pl.DataType | DataTypeClass) -> dict[str, Any]:
    """The JSON types for values of a Polars type."""
    import polars as pl

    if dtype.is_integer():
        return {"type": ["integer", "null"]}
    if dtype.is_float():
        return {"type": ["number", "null"]}
    if dtype == pl.Boolean:
        return {"type": ["boolean", "null"]}
    if isinstance(dtype, pl.List):
        return {"type": ["array", "null"], "items": json_type(dtype.inner)}
    if dtype == pl.String or dtype.is_temporal():
        return {"type": ["string", "null"]}
    return {}
