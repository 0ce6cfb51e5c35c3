"""Read objects of other libraries as judgments, runs and tables.

Each kind of object is one declaration: the class that identifies it, and a reader of its rows. No
library is imported. Objects without a declared class are recognised by shape: rows (dictionaries,
named tuples, tuples of query, document and number), iterators of rows, cursors of databases, frames
and series of pandas with an index, ``{query: answer}`` of search clients (see `answers.clients`).

`read_table` is for any table, `read_rankings` for judgments and runs.
"""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from datetime import date, time
from decimal import Decimal
from itertools import chain, islice
from numbers import Number
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import UUID

import numpy as np
import polars as pl

from rankgate.core.errors import InputError, is_from_module, short_repr, version_error
from rankgate.core.frozen import dataclass
from rankgate.core.present.number_formats import count_noun
from rankgate.data.column_names import match_columns
from rankgate.data.memory.ids import text_ids
from rankgate.data.memory.libraries import is_pair, lists_by_user, padded_lists

if TYPE_CHECKING:
    from rankgate.data.table_rows import Part


PAIR_VALUE = "value of the pair"
"""The column of the number of a query and a document, before it is a grade or a score."""

_IDS = ("query_id", "doc_id")
_MAX_COLUMNS = 200  # keys of a dictionary that could name columns
_PAIR, _TRIPLE = 2, 3
_MAX_PATH_BYTES = 255  # bytes of the name of a file
_TABLE_TYPES = (str, Path, pl.DataFrame, pl.LazyFrame)
_CELL_TYPES = (str, Number, np.generic, Decimal, UUID, date, time, type(None))
_LIST_TYPES = (list, tuple)
_PROTOCOLS = ("__arrow_c_stream__", "__dlpack__", "tocoo", "__array__", "__contains__")
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


@dataclass(frozen=True)
class ObjectKind:
    """A class of a library that holds rows, judgments or rankings.

    Attributes:
        title: the name of such an object for people.
        module: the package or module of the class.
        classes: the names of the class, or of classes that it inherits.
        package: the package as it is installed.
        tested: the version of the package that the tests were written for.
        read: a function that reads the rows, a frame, or ``{query: {document: number}}``.
        rankings: True if the object holds judgments or a run, not a table of another kind.
    """

    title: str
    module: str
    classes: tuple[str, ...]
    package: str
    tested: str
    read: Callable[[Any, Part], Any]
    rankings: bool = False


def find_kind(value: object) -> ObjectKind | None:
    """The declaration of an object's class; None for classes without one."""
    for base in type(value).__mro__[:-1]:
        for kind in OBJECTS:
            if base.__name__ in kind.classes and is_from_module(base, kind.module):
                return kind
    return None


def _read_object(kind: ObjectKind, value: object, input_kind: Part) -> Any:
    """Read an object with the function of its declaration.

    Raises:
        InputError: an attribute is missing, as in another version of the library.
    """
    try:
        return kind.read(value, input_kind)
    except AttributeError as error:
        name = error.name or "what is read"
        raise version_error(value, name, kind.title, kind.package, kind.tested) from None


def read_rankings(
    source: Any, input_kind: Part, doc_field: str | None = None, query_field: str | None = None
) -> Any:
    """Judgments or a run as a table, a dictionary, a matrix or a path; a list for several runs.

    Args:
        source: any object; objects of unknown libraries are returned unchanged.
        input_kind: the kind of input to read the object as.
        doc_field: the stored field of results with the ids of documents, instead of their own.
        query_field: the column of the queries in tables; results have no such column.

    Raises:
        InputError: an attribute is missing, as in another version of the library.
    """
    table = source
    if isinstance(source, str) and len(source) > _MAX_PATH_BYTES:
        _refuse_text(source)
    if source is None or isinstance(source, _TABLE_TYPES):
        return _name_number_column(source, input_kind)
    if kind := find_kind(source):
        table = read_rankings(_read_object(kind, source, input_kind), input_kind, doc_field, query_field)
    elif input_kind == "run" and (answers := _answers_in_list(source)):
        table = _rankings_of_mapping(answers, input_kind, doc_field, query_field)
    elif isinstance(source, Mapping):
        columns = _table_of_columns(source, {doc_field, query_field})
        table = (
            _rankings_of_mapping(source, input_kind, doc_field, query_field)
            if columns is None
            else _name_number_column(columns, input_kind)
        )
    elif is_pair(source) or _are_parallel_lists(source):
        table = padded_lists(*source) if is_pair(source) else ParallelLists.from_lists(source)
    elif input_kind == "run" and is_read_once(source) and not _is_cursor(source):
        table = _rankings_of_iterator(iter(source), doc_field, query_field)
    elif is_table(source):
        table = _name_number_column(read_table(source), input_kind)
    elif isinstance(source, _LIST_TYPES) and input_kind == "run":
        runs = [read_rankings(run, input_kind, doc_field, query_field) for run in source]
        table = runs if _are_different(source, runs) else source
    return table


class ParallelLists(dict[str, list[Any]]):
    """The ids of documents of each query by its position, from lists without queries."""

    @classmethod
    def from_lists(cls, lists: Sequence[Sequence[Any]]) -> ParallelLists:
        """Number the lists from 0."""
        return cls((str(position), list(ids)) for position, ids in enumerate(lists))


def _are_parallel_lists(source: object) -> bool:
    """True for a list of lists of ids that can be neither rows nor a matrix, by their lengths.

    >>> _are_parallel_lists([["k12", "k7"], ["k3"]]), _are_parallel_lists([["q", "d"], ["q", "e"]])
    (True, False)
    """
    if not isinstance(source, _LIST_TYPES) or hasattr(source, "_fields"):
        return False
    if not source or not all(map(_is_list_of_ids, source)):
        return False
    lengths = {len(ids) for ids in source}
    if len(lengths) > 1:
        return True
    # rows of three are a query, a document and a number; numbers alone could be a matrix
    has_words = any(isinstance(cell, str) and not cell.replace(".", "").isdigit() for cell in source[0][2:])
    return has_words and lengths.isdisjoint({_PAIR})


def _is_list_of_ids(ids: object) -> bool:
    return (
        isinstance(ids, _LIST_TYPES)
        and not hasattr(ids, "_fields")
        and all(isinstance(cell, str | int) and not isinstance(cell, bool) for cell in ids)
    )


def _rankings_of_iterator(rows: Iterator[Any], doc_field: str | None, query_field: str | None) -> Any:
    """Convert rows that can be read once to a table, and an iterator of runs to a list."""
    first_rows = list(islice(rows, 1))
    all_rows = chain(first_rows, rows)
    if not first_rows or isinstance(first_rows[0], str) or _is_row(first_rows[0]):
        return _name_number_column(_make_table(all_rows, "a table"), "run")
    return read_rankings(list(all_rows), "run", doc_field, query_field)


def _refuse_text(source: str) -> None:
    """Check that a long text is a path.

    Raises:
        InputError: the text is JSON, or has several lines.
    """
    is_json = source.lstrip()[:1] in {"{", "["}
    if is_json or "\n" in source:
        kind, advice = ("JSON", "give json.loads(text)") if is_json else ("lines", "write it into a file")
        problem = f"a text of {kind}, where a path is needed; {advice}."
        raise InputError(problem, source="a text", code="wrong-type")


def _answers_in_list(source: object) -> dict[Any, Any] | None:
    """``{query: answer}`` from a list of dictionaries that are answers with their query.

    Raises:
        InputError: answers of a client do not contain their queries.
    """
    first = source[0] if isinstance(source, _LIST_TYPES) and source else source
    if isinstance(first, _CELL_TYPES) or hasattr(first, "shape") or isinstance(source, Mapping):
        return None
    from rankgate.data.answers.clients import answers_by_query, refuse_without_queries

    refuse_without_queries(source)
    return answers_by_query(source) if isinstance(first, Mapping) else None


def _rankings_of_mapping(
    source: Mapping[Any, Any], input_kind: Part, doc_field: str | None, query_field: str | None
) -> Any:
    """``{query: …}`` with ids as texts, answers as rankings, or ``{name: run}``."""
    first = next((value for value in source.values() if not _is_empty(value)), None)
    if first is None or isinstance(first, str | Path):
        return source
    from rankgate.data.answers.clients import is_answer, rankings_of_answers, refuse_without_queries

    refuse_without_queries(source)
    first_value = next(iter(first.values())) if isinstance(first, Mapping) else None
    has_numbers = isinstance(first, Mapping) and isinstance(first_value, Number)
    if is_answer(first) or (not has_numbers and any(map(is_answer, source.values()))):
        return rankings_of_answers(source, input_kind, doc_field)
    if isinstance(first, Mapping) and isinstance(first_value, str | Number | None):
        return _with_text_ids(source)
    has_lists = isinstance(first, list | tuple | set | frozenset)
    if input_kind == "qrels" or (has_lists and isinstance(next(iter(first)), str | Number)):
        return source
    if input_kind == "run" and has_lists and _are_results(next(iter(first)), doc_field, query_field):
        return rankings_of_answers(source, input_kind, doc_field)
    runs = [read_rankings(run, input_kind, doc_field, query_field) for run in source.values()]
    return _runs_or_table(source, runs)


def _table_of_columns(source: Mapping[Any, Any], user_columns: set[str | None]) -> pl.DataFrame | None:
    """The table of a dictionary of columns, as ``to_dict`` of frames gives it; None for other ones.

    Its values are as long as another, and two of its keys or more are names of columns.

    Raises:
        InputError: the keys could be queries too, because queries or documents have no column.
    """
    keys = (key for key in islice(source, _MAX_COLUMNS) if isinstance(key, str))
    names = match_columns(keys, (*_IDS, "grade", "score", "rank"))
    matched_names = {*names.values(), *user_columns} & source.keys()
    if len(matched_names) < _PAIR:
        return None
    columns = {  # pandas gives the cells of a column by row number
        name: list(cells.values())
        if isinstance(cells, Mapping) and list(cells) == list(range(len(cells)))
        else cells
        for name, cells in source.items()
    }
    is_column = (isinstance(cells, list | tuple | np.ndarray | pl.Series) for cells in columns.values())
    if not all(is_column) or len(set(map(len, columns.values()))) > 1:
        return None
    if len(matched_names & {*map(names.get, _IDS), *user_columns}) < _PAIR:
        problem = (
            f"keys {', '.join(sorted(map(str, matched_names)))} could be columns or queries; give a table "
            "with a column for queries and one for documents, or {query: {document: number}}."
        )
        raise InputError(problem, source="a dictionary", code="ambiguous-input")
    return pl.DataFrame([_make_series(str(name), list(cells)) for name, cells in columns.items()])


def _runs_or_table(source: Mapping[Any, Any], runs: Sequence[object]) -> Any:
    """``{name: run}`` with converted runs, or one table from ``{query: rows}``."""
    if (rows := _rows_by_query(source, runs)) is not None:
        return rows
    return dict(zip(source, runs, strict=True)) if _are_different(source.values(), runs) else source


def _are_results(row: object, doc_field: str | None, query_field: str | None) -> bool:
    """True for a dictionary that is a result of a query, not a row of a table with queries."""
    from rankgate.data.answers.clients import QUERY_KEYS, SCORE_KEYS

    if not isinstance(row, Mapping) or any(key in row for key in (*QUERY_KEYS, query_field)):
        return False
    return doc_field in row or any(key in row for key in SCORE_KEYS)


def _rows_by_query(source: Mapping[Any, Any], runs: Sequence[Any]) -> pl.DataFrame | None:
    """One table from ``{query: rows}`` with rows that repeat their query; None for runs by name."""
    if not all(isinstance(run, pl.DataFrame) for run in runs):
        return None
    from rankgate.data.answers.clients import QUERY_KEYS

    for name, rows in zip(source, runs, strict=True):
        column = next((column for column in rows.columns if column in QUERY_KEYS), None)
        if column is None or rows[column].cast(pl.String).unique().to_list() != [str(name)]:
            return None
    table: pl.DataFrame = pl.concat(runs, how="diagonal_relaxed")
    return table


def _are_different(before: Iterable[object], after: Iterable[object]) -> bool:
    return any(before_item is not after_item for before_item, after_item in zip(before, after, strict=True))


def _is_empty(value: object) -> bool:
    """True if a value is empty; False if it has no length."""
    return value is None or (
        hasattr(value, "__len__") and getattr(value, "shape", None) != () and len(value) == 0
    )


def _with_text_ids(table: Mapping[Any, Mapping[Any, Any]]) -> Mapping[Any, Mapping[Any, Any]]:
    """The same dictionary with texts for ids, where ids are whole numbers.

    Raises:
        InputError: an id is neither text nor whole number, or two ids give the same text.
    """
    first: Mapping[Any, Any] = next(row for row in table.values() if row)
    if isinstance(next(iter(table)), str) and isinstance(next(iter(first)), str):
        return table
    rows = [
        dict(zip(text_ids(row, "documents"), row.values(), strict=True)) if isinstance(row, Mapping) else row
        for row in table.values()
    ]
    return dict(zip(text_ids(table, "queries"), rows, strict=True))


def _name_number_column(table: Any, input_kind: Part) -> Any:
    """Name the number column of a table that has no name: grade or score."""
    is_frame_ = isinstance(table, pl.DataFrame) or hasattr(table, "iloc")
    if not is_frame_ or PAIR_VALUE not in table.columns:
        return table
    name = {PAIR_VALUE: "grade" if input_kind == "qrels" else "score"}
    return table.rename(name) if isinstance(table, pl.DataFrame) else table.rename(columns=name)


def is_table(value: object) -> bool:
    """True for objects that `read_table` turns into frames."""
    if isinstance(value, _TABLE_TYPES):
        return False
    kind = find_kind(value)
    if kind is not None:
        return not kind.rankings
    return is_rows(value) or is_read_once(value) or _has_index(value)


def read_table(value: Any, label: str = "a table") -> Any:
    """Rows of an object as a frame of Polars, pandas or Arrow; other objects unchanged.

    Rows without names are a query, a document and perhaps a number.

    Raises:
        InputError: there are no rows, or rows of several kinds.
    """
    if isinstance(value, _TABLE_TYPES):
        return value
    kind = find_kind(value)
    if kind is not None:
        return value if kind.rankings else read_table(_read_object(kind, value, "qrels"), label)
    if _is_cursor(value):
        return _make_table(
            _cursor_rows(value, label), label, [str(column[0]) for column in value.description]
        )
    if is_rows(value) or is_read_once(value):
        return _make_table(iter(value), label)
    return _reset_index(value) if _has_index(value) else value


def column_names(value: object) -> list[str]:
    """The columns of an object for `read_table`; empty if the rows must be read to find them."""
    if isinstance(value, _LIST_TYPES) and value:
        return _cell_names(value[0]) or []
    names = getattr(value, "column_names", getattr(value, "columns", None))
    return [] if is_read_once(value) or names is None else list(names)


def is_read_once(value: object) -> bool:
    """True for iterators, cursors of databases, and other objects that can only be iterated."""
    if isinstance(value, Mapping | str | bytes | list | tuple) or hasattr(value, "read"):
        return False
    if hasattr(value, "__next__"):
        return not hasattr(value, "__arrow_c_stream__")
    only_iterates = hasattr(value, "__iter__") and not any(hasattr(value, name) for name in _PROTOCOLS)
    return only_iterates or _is_cursor(value)


def _is_cursor(value: object) -> bool:
    has_fetch = hasattr(value, "description") and callable(getattr(value, "fetchall", None))
    return has_fetch and not hasattr(value, "__arrow_c_stream__")


def _cursor_rows(cursor: Any, label: str) -> Iterator[Any]:
    """The remaining rows of a cursor.

    Raises:
        InputError: the cursor has no result.
    """
    if cursor.description is None:
        problem = "a cursor without rows; execute a SELECT with it first."
        raise InputError(problem, source=label, code="no-rows")
    return iter(cursor.fetchall())


def is_rows(value: object) -> bool:
    """True for a list of rows: dictionaries, named tuples, objects with fields, or tuples.

    >>> is_rows([{"query_id": "q", "doc_id": "d"}]), is_rows([("q", "d", 1.0)])
    (True, True)
    >>> is_rows([{"q": {"d": 1.0}}]), is_rows(["old.run", "new.run"]), is_rows([[0, 1], [1, 0]])
    (False, False, False)
    """
    if not isinstance(value, _LIST_TYPES) or not value or hasattr(value, "_fields"):
        return False
    return _is_row(value[0]) and not _are_parallel_lists(value)


def _is_row(row: object) -> bool:
    names = _cell_names(row)
    if names is not None:
        return any(isinstance(cell, _CELL_TYPES) for cell in _row_cells(row, names))
    if not isinstance(row, _LIST_TYPES) or len(row) < _PAIR:
        return False
    has_cells = all(isinstance(cell, _CELL_TYPES) for cell in row)
    return has_cells and (isinstance(row, tuple) or any(isinstance(cell, str) for cell in row))


def _cell_names(row: Any) -> list[str] | None:
    """The names of the cells of a row; None for rows without names and for other objects."""
    if isinstance(row, Mapping):
        return list(row) if all(isinstance(name, str) for name in row) else None
    is_no_row = any(hasattr(row, name) for name in _PROTOCOLS[:-1])
    if is_no_row or isinstance(row, str | bytes | type):
        return None
    if hasattr(row, "_fields"):
        return list(row._fields)  # named tuples, and rows of SQLAlchemy
    if callable(getattr(row, "keys", None)) and hasattr(row, "__getitem__"):
        return [str(name) for name in row.keys()]  # noqa: SIM118 - sqlite3.Row iterates its cells
    return _field_names(row)


def _field_names(row: object) -> list[str] | None:
    """The fields of a dataclass, pydantic or attrs object; None for other objects."""
    if is_from_module(type(row), "rankgate"):
        return None  # a run or another value, not a row
    if dataclasses.is_dataclass(row):
        return [field.name for field in dataclasses.fields(row)]
    fields = getattr(type(row), "model_fields", None)
    if fields is not None:
        return list(fields)
    attributes = getattr(type(row), "__attrs_attrs__", None)
    return None if attributes is None else [field.name for field in attributes]


def _row_cells(row: Any, names: Sequence[str]) -> list[Any]:
    if isinstance(row, Mapping):
        return [row.get(name) for name in names]
    if hasattr(row, "_fields"):
        return list(row)
    if hasattr(row, "keys"):
        return [row[name] for name in names]
    return [getattr(row, name, None) for name in names]


def _make_table(rows: Iterator[Any], label: str, names: Sequence[str] = ()) -> pl.DataFrame:
    """Convert rows to a frame; columns of dictionaries that differ in types are dropped.

    Raises:
        InputError: there are no rows, rows of several kinds, or tuples that are not pairs or
            triples.
    """
    first = next(rows, None)
    if first is None:
        raise InputError("no rows in it.", source=label, code="no-rows")
    if not _is_row(first):
        raise unknown_object_error(first, label, "its first row is")
    row_names = _cell_names(first)
    all_rows = chain([first], rows)
    if row_names is not None:
        columns = _collect_columns(all_rows, label)
    else:
        columns = _tuple_columns(all_rows, names or _tuple_names(first, label), label)
    series = [_make_series(name, cells) for name, cells in columns.items() if _holds_cells(cells)]
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
    if len(row) not in {_PAIR, _TRIPLE}:
        problem = (
            f"tuples of {len(row)}, without names for the cells; give (query, document, number) or "
            "dictionaries."
        )
        raise InputError(problem, source=label, code="wrong-shape")
    return (*_IDS, PAIR_VALUE)[: len(row)]


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
        names = _cell_names(row)
        if names is None:
            problem = f"row {number + 1} is {short_repr(row)}, unlike those before it."
            raise InputError(problem, source=label, code="wrong-shape")
        for name in names:
            if name not in columns:
                columns[name] = [None] * number
        cells = dict(zip(names, _row_cells(row, names), strict=True))
        for name, column in columns.items():
            column.append(cells.get(name))
    return columns


def _holds_cells(cells: Sequence[Any]) -> bool:
    """True for a column of single values, or of lists of these, not of dictionaries."""
    first_cell = next((cell for cell in cells if cell is not None), None)
    if isinstance(first_cell, _LIST_TYPES) and first_cell:
        first_cell = first_cell[0]
    return isinstance(first_cell, _CELL_TYPES)


def _make_series(name: str, cells: list[Any]) -> pl.Series:
    """Cells as a column; numbers mixed with texts become texts."""
    kinds = {type(cell) for cell in cells} - {type(None)}
    if UUID in kinds or (str in kinds and len(kinds) > 1):
        cells = [None if cell is None else str(cell) for cell in cells]
    elif Decimal in kinds:
        cells = [None if cell is None else float(cell) for cell in cells]
    return pl.Series(name, cells, strict=False)


def _has_index(value: object) -> bool:
    """True for a series by query and document, and for pandas frames with a named index."""
    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(value, pandas.Series | pandas.DataFrame):
        return False
    if value.index.nlevels == _PAIR:
        return True
    return value.ndim == _PAIR and any(name is not None for name in value.index.names)


def _reset_index(value: Any) -> Any:
    """A frame with its index as columns; two levels without names are query and document."""
    if len(value.index.names) == _PAIR and not any(value.index.names):
        value = value.rename_axis(index=list(_IDS))
    if value.ndim == 1:
        has_ranks = str(value.name).strip().lower() in {"rank", "position"}
        return value.rename(value.name if has_ranks else PAIR_VALUE).reset_index()
    levels = [name for name in value.index.names if name not in {None, *value.columns}]
    return value.reset_index(level=levels)


def unknown_object_error(value: object, label: str, intro: str = "it is") -> InputError:
    """The error for an object that cannot be read, with the line that converts it."""
    method = next((name for name in _CONVERTERS if callable(getattr(value, name, None))), None)
    kind = f"{type(value).__module__}.{type(value).__qualname__}".removeprefix("builtins.")
    if hasattr(value, "read"):
        problem = f"{intro} an open file ({kind}); give its path."
        return InputError(problem, source=label, code="wrong-type")
    advice = (
        f"give its {method}()"
        if method
        else "give {query: {document: number}}, [(query, document, number), …] or a frame"
    )
    return InputError(f"{intro} a {kind}, which is not read; {advice}.", source=label, code="wrong-type")


def _read_ir_dataset(dataset: Any, input_kind: Part) -> Any:
    """The qrels of a data set, or its scored documents as a run."""
    has_part = dataset.has_qrels() if input_kind == "qrels" else dataset.has_scoreddocs()
    if not has_part:
        noun = "judgments (qrels)" if input_kind == "qrels" else "rankings (scoreddocs)"
        problem = f"{dataset!r} has no {noun}; name a data set that has."
        raise InputError(problem, source="ir_datasets", code="missing-input")
    return _read_ir_rows(dataset.qrels_iter() if input_kind == "qrels" else dataset.scoreddocs_iter())


def _read_ir_rows(rows: Iterable[object]) -> pl.DataFrame:
    return _make_table(iter(rows), "ir_datasets").rename({"iprob": "inclusion"}, strict=False)


def _refuse_splits(splits: Any, _: Part) -> Any:
    """Reject a dictionary of splits: the user must choose one of the tables.

    Raises:
        InputError: always.
    """
    first = next(iter(splits), "test")
    problem = f"splits {', '.join(splits)}, where one table is needed; give DATASET[{first!r}]."
    raise InputError(problem, source="datasets", code="several-tables")


_IR_DATASETS = ("ir_datasets", "0.6.3")
_HUGGING_FACE = ("datasets", "5.2.0")

OBJECTS: tuple[ObjectKind, ...] = (
    ObjectKind(
        "ir_datasets data set",
        "ir_datasets.datasets",
        ("Dataset",),
        *_IR_DATASETS,
        _read_ir_dataset,
        rankings=True,
    ),
    ObjectKind(
        "qrels and scoreddocs of ir_datasets",
        "ir_datasets.datasets",
        ("_BetaPythonApiQrels", "_BetaPythonApiScoreddocs"),
        *_IR_DATASETS,
        lambda rows, _: _read_ir_rows(rows),
    ),
    ObjectKind(
        "ranx Qrels and Run",
        "ranx",
        ("Qrels", "Run"),
        "ranx",
        "0.3.21",
        lambda table, _: table.to_dict(),
        rankings=True,
    ),
    ObjectKind(
        "Qrels and Run of rankgate.compat.ranx",
        "rankgate",
        ("RanxGrades",),
        "rankgate",
        "0.1.0",
        lambda table, _: table.to_dict(),
        rankings=True,
    ),
    ObjectKind(
        "LensKit item lists",
        "lenskit",
        ("ItemListCollection",),
        "lenskit",
        "2025.8.1",
        lists_by_user,
        rankings=True,
    ),
    ObjectKind(
        "Hugging Face Dataset",
        "datasets",
        ("Dataset",),
        *_HUGGING_FACE,
        lambda dataset, _: dataset.with_format("arrow")[:],
    ),
    ObjectKind(
        "Hugging Face IterableDataset",
        "datasets",
        ("IterableDataset",),
        *_HUGGING_FACE,
        lambda dataset, _: iter(dataset),
    ),
    ObjectKind(
        "Hugging Face DatasetDict",
        "datasets",
        ("DatasetDict", "IterableDatasetDict"),
        *_HUGGING_FACE,
        _refuse_splits,
        rankings=True,
    ),
)
"""The classes of objects that are read as judgments, runs or tables."""
