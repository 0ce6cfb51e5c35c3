"""Tables from rows: dictionaries, named tuples, objects with fields, and tuples without names."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date, time
from decimal import Decimal
from itertools import chain
from math import isnan
from numbers import Number
from typing import Any
from uuid import UUID

import numpy as np
import polars as pl

from rankgate.core.errors import InputError, is_from_module, short_repr
from rankgate.core.present.number_formats import count_noun

PAIR_VALUE = "value of the pair"
"""The column of the number of a query and a document, before it is a grade or a score."""

ID_COLUMNS = ("query_id", "doc_id")
PROTOCOLS = ("__arrow_c_stream__", "__dlpack__", "tocoo", "__array__")
"""Methods of frames and arrays, which are not rows."""

PAIR_LENGTH = 2
LIST_TYPES = (list, tuple)
ID_LIST_TYPES = (*LIST_TYPES, set, frozenset)
CELL_TYPES = (str, Number, np.generic, Decimal, UUID, date, time, type(None))
_CONVERTERS = (
    "to_polars",
    "to_pandas",
    "to_arrow",
    "to_arrow_table",
    "to_dataframe",
    "toPandas",
    "to_df",
    "df",
    "to_dict",
    "todict",
    "asdict",
    "model_dump",
    "to_list",
    "tolist",
)
"""Methods that convert objects of many libraries into something that is read."""


def is_row(row: object) -> bool:
    """True for a row with names that has a single value, or for a list of single values."""
    cells = named_cells(row)
    if cells is not None:
        return any(isinstance(cell, CELL_TYPES) for cell in cells.values())
    if not isinstance(row, LIST_TYPES) or len(row) < PAIR_LENGTH:
        return False
    has_cells = all(isinstance(cell, CELL_TYPES) for cell in row)
    return has_cells and (isinstance(row, tuple) or any(isinstance(cell, str) for cell in row))


def named_cells(row: Any) -> Mapping[str, Any] | None:
    """The cells of a row by name; None for rows without names and for other objects."""
    if isinstance(row, Mapping):
        return row if all(isinstance(name, str) for name in row) else None
    if isinstance(row, str | bytes | type) or any(hasattr(row, name) for name in PROTOCOLS):
        return None
    if hasattr(row, "_fields"):  # named tuples, and rows of SQLAlchemy
        return dict(zip(row._fields, row, strict=True))
    if callable(getattr(row, "keys", None)) and hasattr(row, "__getitem__"):
        return {str(name): row[name] for name in row.keys()}  # noqa: SIM118 - sqlite3.Row iterates its cells
    if is_from_module(type(row), "rankgate"):
        return None  # a run or another value, not a row
    names = getattr(type(row), "model_fields", None)  # of pydantic
    if dataclasses.is_dataclass(row):
        names = [field.name for field in dataclasses.fields(row)]
    elif names is None and (attributes := getattr(type(row), "__attrs_attrs__", None)) is not None:
        names = [attribute.name for attribute in attributes]
    return None if names is None else {name: getattr(row, name, None) for name in names}


def table_of_rows(rows: Iterable[Any], label: str = "a table", names: Sequence[str] = ()) -> pl.DataFrame:
    """Convert rows to a frame; columns of dictionaries that differ in types are dropped.

    Args:
        rows: the rows; without names they are a query, a document and perhaps a number.
        label: the name of their origin in errors.
        names: the names of the cells of tuples.

    Raises:
        InputError: there are no rows, rows of several kinds, or tuples that are not pairs or
            triples.
    """
    row_iterator = iter(rows)
    first = next(row_iterator, None)
    if first is None:
        raise InputError("no rows in it.", source=label, code="no-rows")
    if not is_row(first):
        raise unknown_object_error(first, label, "its first row is")
    all_rows = chain([first], row_iterator)
    if named_cells(first) is not None:
        columns = _collect_columns(all_rows, label)
    else:
        columns = _tuple_columns(all_rows, names or _tuple_names(first, label), label)
    series = [make_series(name, cells) for name, cells in columns.items() if _holds_cells(cells)]
    for name, cells in columns.items():
        if not _holds_cells(cells):
            with suppress(TypeError, OverflowError, pl.exceptions.PolarsError):
                series.append(pl.Series(name, cells))
    return pl.DataFrame(series)


def _tuple_names(row: Sequence[object], label: str) -> Sequence[str]:
    """The names of the cells of a tuple.

    Raises:
        InputError: the tuple has neither two cells nor three.
    """
    names = (*ID_COLUMNS, PAIR_VALUE)
    if len(row) > len(names):
        problem = (
            f"tuples of {len(row)}, without names for the cells; give (query, document, number) or "
            "dictionaries."
        )
        raise InputError(problem, source=label, code="wrong-shape")
    return names[: len(row)]


def _tuple_columns(rows: Iterator[Any], names: Sequence[str], label: str) -> dict[str, list[Any]]:
    cells = list(rows)
    for row_number, row in enumerate(cells, 1):
        if not isinstance(row, Sequence) or isinstance(row, str) or len(row) != len(names):
            problem = (
                f"row {row_number} is {short_repr(row)}, where "
                f"{count_noun(len(names), 'cell is', 'cells are')} needed."
            )
            raise InputError(problem, source=label, code="wrong-shape")
    return dict(zip(names, map(list, zip(*cells, strict=True)), strict=True))


def _collect_columns(rows: Iterator[Any], label: str) -> dict[str, list[Any]]:
    columns: dict[str, list[Any]] = {}
    for number, row in enumerate(rows):
        cells = named_cells(row)
        if cells is None:
            problem = f"row {number + 1} is {short_repr(row)}, unlike those before it."
            raise InputError(problem, source=label, code="wrong-shape")
        for name in cells:
            if name not in columns:
                columns[name] = [None] * number
        for name, column in columns.items():
            column.append(cells.get(name))
    return columns


def _holds_cells(cells: Sequence[Any]) -> bool:
    """True for a column of single values, or of lists of these, not of dictionaries."""
    first_cell = next((cell for cell in cells if cell is not None), None)
    if isinstance(first_cell, LIST_TYPES) and first_cell:
        first_cell = first_cell[0]
    return isinstance(first_cell, CELL_TYPES)


def make_series(name: str, cells: list[Any]) -> pl.Series:
    """Cells as a column; numbers mixed with texts become texts."""
    kinds = {type(cell) for cell in cells} - {type(None)}
    if UUID in kinds or (str in kinds and len(kinds) > 1):
        cells = [
            None if cell is None or (isinstance(cell, float) and isnan(cell)) else str(cell) for cell in cells
        ]
    elif Decimal in kinds:
        cells = [None if cell is None else float(cell) for cell in cells]
    return pl.Series(name, cells, strict=False)


def unknown_object_error(value: object, label: str, intro: str = "it is") -> InputError:
    """The error for an object that cannot be read, with the line that converts it."""
    kind = f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")
    if hasattr(value, "read"):
        problem = f"{intro} an open file ({kind}); give its path."
        return InputError(problem, source=label, code="wrong-type")
    method = next((name for name in _CONVERTERS if callable(getattr(value, name, None))), None)
    advice = (
        f"give its {method}()"
        if method
        else "give {query: {document: number}}, [(query, document, number), …] or a frame"
    )
    return InputError(
        f"{intro} a {kind}, which rankgate cannot read; {advice}.", source=label, code="wrong-type"
    )
