"""The list of adapters: how objects in memory become tables, judgments or runs.

Each kind of object is one declaration in `ADAPTERS`: how it is recognised, by its class or by its
shape, and the function that reads it. They are tried in order. No library is imported.

`read_table` is for any table, `read_rankings` for judgments and runs.
"""

from __future__ import annotations

import operator
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from itertools import chain, islice
from numbers import Integral, Number
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, TypeAlias

import numpy as np
import polars as pl

from rankgate.core.errors import InputError, is_from_module, version_error
from rankgate.core.frozen import dataclass
from rankgate.data.column_names import match_columns
from rankgate.data.memory.ids import text_ids
from rankgate.data.memory.libraries import is_pair, lists_by_user, padded_lists
from rankgate.data.memory.rows import (
    ID_COLUMNS,
    ID_LIST_TYPES,
    LIST_TYPES,
    PAIR_LENGTH,
    PAIR_VALUE,
    PROTOCOLS,
    is_row,
    make_series,
    named_cells,
    table_of_rows,
)
from rankgate.data.spark_tables import is_on_spark, refuse_on_spark

if TYPE_CHECKING:
    from rankgate.data.streams.source import InputKind

    Kind: TypeAlias = InputKind | Literal["table"]

_MAX_COLUMNS = 200  # keys of a dictionary that could name columns
_MAX_PATH_BYTES = 255  # bytes of the name of a file
_COLUMN_TYPES = (list, tuple, np.ndarray, pl.Series)


class Adapted(dict[Any, Any]):
    """Documents by query, or runs by name, as an adapter leaves them.

    Attributes:
        fields: the columns and fields of the user that it was read with; with others it is read again.
    """

    fields: tuple[str | None, ...] = (None, None)


class ParallelLists(Adapted):
    """The ids of documents of each query by its position, from lists without queries."""


_READY_TYPES = (str, Path, pl.DataFrame, pl.LazyFrame, type(None))


class Reading(NamedTuple):
    """What an object is read as.

    Attributes:
        input_kind: judgments or a run.
        doc_field: the stored field of results with the ids of documents, instead of their own.
        query_field: the column of the queries in tables; results have no such column.
        label: the name of the object in errors.
        kind: ``table`` if it may be a table of another kind.
    """

    input_kind: InputKind
    doc_field: str | None = None
    query_field: str | None = None
    label: str = "a table"
    kind: Kind = "run"

    def rankings(self, source: object) -> Any:
        """Another object, read alike."""
        return read_rankings(source, self.input_kind, self.doc_field, self.query_field)


_ALL: tuple[Kind, ...] = ("qrels", "run", "table")
_RANKINGS: tuple[Kind, ...] = ("qrels", "run")


@dataclass(frozen=True)
class Adapter:
    """A kind of object, and the function that reads it.

    Attributes:
        title: the name of such an object for people.
        read: a function that reads the rows, a frame, or ``{query: {document: number}}``.
        kinds: what it can be read as.
        fits: a function that recognises it by its shape; None if its class does.
        module: the package or module of its class.
        classes: the names of its class, or of classes that it inherits.
        package: the package as it is installed.
        tested: the version of the package that the tests were written for.
    """

    title: str
    read: Callable[[Any, Reading], Any]
    kinds: tuple[Kind, ...] = _RANKINGS
    fits: Callable[[Any], bool] | None = None
    module: str = ""
    classes: tuple[str, ...] = ()
    package: str = ""
    tested: str = ""

    def recognises(self, value: object, kind: Kind) -> bool:
        """True for an object of the class, or of the shape and read as this kind."""
        if self.fits is not None:
            return kind in self.kinds and self.fits(value)
        bases = type(value).__mro__[:-1]
        return any(base.__name__ in self.classes and is_from_module(base, self.module) for base in bases)


def _adapter_of(value: object, kind: Kind) -> Adapter | None:
    if isinstance(value, _READY_TYPES):
        return None
    adapter = next((adapter for adapter in ADAPTERS if adapter.recognises(value, kind)), None)
    return adapter if adapter is not None and kind in adapter.kinds else None


def _adapt(source: Any, reading: Reading) -> Any:
    """Read an object with the function of its declaration; other objects unchanged.

    Raises:
        InputError: an attribute is missing, as in another version of the library.
    """
    if isinstance(source, Adapted) and reading[1:3] in {(None, None), source.fields}:
        return source
    adapter = _adapter_of(source, reading.kind)
    if adapter is None:
        return source
    if adapter.fits is not None:
        return adapter.read(source, reading)
    try:
        table = adapter.read(source, reading)
    except AttributeError as error:
        name = error.name or "what is read"
        raise version_error(source, name, adapter.title, adapter.package, adapter.tested) from None
    return _adapt(table, reading)


def read_rankings(
    source: Any, input_kind: InputKind, doc_field: str | None = None, query_field: str | None = None
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
    if isinstance(source, str):
        is_json = source.lstrip()[:1] in {"{", "["}
        if len(source) > _MAX_PATH_BYTES and (is_json or "\n" in source):
            kind, advice = ("JSON", "give json.loads(text)") if is_json else ("lines", "write it into a file")
            problem = f"a text of {kind}, where a path is needed; {advice}."
            raise InputError(problem, source="a text", code="wrong-type")
    table = _adapt(source, Reading(input_kind, doc_field, query_field, kind=input_kind))
    is_polars = isinstance(table, pl.DataFrame)
    if not (is_polars or hasattr(table, "iloc")) or PAIR_VALUE not in getattr(table, "columns", ()):
        return table
    name = {PAIR_VALUE: "grade" if input_kind == "qrels" else "score"}
    return table.rename(name) if is_polars else table.rename(columns=name)


def is_table(value: object) -> bool:
    """True for objects that `read_table` turns into frames."""
    return _adapter_of(value, "table") is not None


def read_table(value: Any, label: str = "a table") -> Any:
    """Rows of an object as a frame of Polars, pandas or Arrow; other objects unchanged.

    Rows without names are a query, a document and perhaps a number.

    Raises:
        InputError: there are no rows, or rows of several kinds.
    """
    return _adapt(value, Reading("qrels", label=label, kind="table"))


def repeatable(value: Any, label: str) -> Any:
    """The table of an object that can only be read once; other objects unchanged."""
    return read_table(value, label) if is_read_once(value) else value


def column_names(value: object) -> list[str]:
    """The columns of a table; empty if the rows must be read to find them."""
    if isinstance(value, LIST_TYPES) and value:
        return [*(named_cells(value[0]) or ())]
    if isinstance(value, pl.LazyFrame):
        return value.collect_schema().names()
    of_schema = getattr(getattr(value, "schema", None), "names", None)  # of a stream of batches
    names = getattr(value, "column_names", getattr(value, "columns", of_schema))
    return [] if is_read_once(value) or names is None else list(names)


def is_ranking(table: Mapping[Any, Any]) -> bool:
    """True for ``{query: {doc: score}}`` and ``{query: [doc, …]}``, but not for ``{name: run}``."""
    first = next(iter(table.values()), None)
    if isinstance(first, Mapping):
        return not isinstance(next(iter(first.values()), 0.0), Mapping | list | tuple | set)
    if isinstance(first, ID_LIST_TYPES):
        first_id = next(iter(first), None)
        return first_id is None or isinstance(first_id, str | Number)
    return first is None


def _read_mapping(source: Mapping[Any, Any], reading: Reading) -> Any:
    """A dictionary of columns as a table, of queries with ids as texts, or ``{name: run}``."""
    table = _table_of_columns(source, {reading.doc_field, reading.query_field})
    table = _rankings_of_mapping(source, reading) if table is None else table
    if not isinstance(table, Mapping):
        return table
    adapted = table if isinstance(table, Adapted) else Adapted(table)
    adapted.fields = reading[1:3]
    return adapted


def _rankings_of_mapping(source: Mapping[Any, Any], reading: Reading) -> Any:
    """``{query: …}`` with ids as texts, answers as rankings, or ``{name: run}``."""
    first = next((value for value in source.values() if not _is_empty(value)), None)
    if first is None or isinstance(first, str | Path):
        return source
    from rankgate.data.answers.clients import is_answer, rankings_of_answers, refuse_without_queries

    refuse_without_queries(source)
    is_mapping, has_lists = isinstance(first, Mapping), isinstance(first, ID_LIST_TYPES)
    first_value = next(iter(first.values() if is_mapping else first)) if is_mapping or has_lists else None
    has_numbers = is_mapping and isinstance(first_value, Number)
    if is_answer(first) or (not has_numbers and any(map(is_answer, source.values()))):
        return rankings_of_answers(source, reading.input_kind, reading.doc_field)
    if is_mapping and isinstance(first_value, str | Number | None):
        return _with_text_ids(source, first)
    if reading.input_kind == "qrels" or (has_lists and isinstance(first_value, str | Number)):
        return source
    if has_lists and _is_result(first_value, reading):
        return rankings_of_answers(source, reading.input_kind, reading.doc_field)
    runs = {name: reading.rankings(run) for name, run in source.items()}
    return runs if (rows := _rows_by_query(runs)) is None else rows


def _is_empty(value: object) -> bool:
    """True for None and for what has no elements, except for arrays and frames."""
    return value is None or (isinstance(value, Sized) and not hasattr(value, "shape") and not len(value))


def _table_of_columns(source: Mapping[Any, Any], user_columns: set[str | None]) -> pl.DataFrame | None:
    """The table of a dictionary of columns, as ``to_dict`` of frames gives it; None for other ones.

    Its values are as long as another. Its keys are names of columns, or its values are of several
    kinds, where rankings by query are all lists of ids.

    Raises:
        InputError: the keys could be queries too, because queries or documents have no column.
    """
    keys = [key for key in islice(source, _MAX_COLUMNS) if isinstance(key, str)]
    names = match_columns(keys, (*ID_COLUMNS, "grade", "score", "rank"))
    matched_names = {*names.values(), *user_columns} & source.keys()
    may_be_columns = len(keys) == len(source) and isinstance(next(iter(source.values()), None), _COLUMN_TYPES)
    if len(matched_names) < PAIR_LENGTH and not may_be_columns:
        return None
    columns = {  # pandas gives the cells of a column by row number
        name: list(cells.values())
        if isinstance(cells, Mapping) and list(cells) == list(range(len(cells)))
        else cells
        for name, cells in source.items()
    }
    sizes = {
        len(cells) if isinstance(cells, _COLUMN_TYPES) and getattr(cells, "ndim", 1) != 0 else None
        for cells in columns.values()
    }
    if None in sizes or len(sizes) > 1:
        return None
    from rankgate.data.unfold import names_list

    ids = {*map(names.get, ID_COLUMNS), *user_columns} & source.keys()
    with_lists = ids | {key for key in keys if ids and names_list(key)}
    kinds = {*map(_kind_of_cells, columns.values())} - {None}
    if (
        len(ids) < PAIR_LENGTH
        and len(with_lists) < max(PAIR_LENGTH, len(source) / 2)
        and (len(kinds) < PAIR_LENGTH or (not matched_names and kinds <= {str, Integral}))
    ):
        if len(matched_names) < PAIR_LENGTH:
            return None
        problem = (
            f"keys {', '.join(sorted(map(str, matched_names)))} could be columns or queries; give a table "
            "with a column for queries and one for documents, or {query: {document: number}}."
        )
        raise InputError(problem, source="a dictionary", code="ambiguous-input")
    return pl.DataFrame([make_series(str(name), list(cells)) for name, cells in columns.items()])


def _kind_of_cells(cells: Iterable[Any]) -> type | None:
    """The kind of the first cell: text, whole number, other number, object or list."""
    cell = next((cell for cell in cells if cell is not None), None)
    return next((kind for kind in (str, Integral, Number, Mapping, Iterable) if isinstance(cell, kind)), None)


def _is_result(row: object, reading: Reading) -> bool:
    """True for a dictionary that is a result of a query, not a row of a table with queries."""
    from rankgate.data.answers.clients import QUERY_KEYS, SCORE_KEYS

    if not isinstance(row, Mapping) or any(key in row for key in (*QUERY_KEYS, reading.query_field)):
        return False
    return any(key in row for key in (reading.doc_field, *SCORE_KEYS))


def _rows_by_query(runs: Mapping[Any, Any]) -> pl.DataFrame | None:
    """One table from ``{query: rows}`` with rows that repeat their query; None for runs by name."""
    from rankgate.data.answers.clients import QUERY_KEYS

    for name, rows in runs.items():
        columns = rows.columns if isinstance(rows, pl.DataFrame) else ()
        query = next((column for column in columns if column in QUERY_KEYS), None)
        if query is None or rows[query].cast(pl.String).unique().to_list() != [str(name)]:
            return None
    table: pl.DataFrame = pl.concat(runs.values(), how="diagonal_relaxed")
    return table


def _with_text_ids(table: Mapping[Any, Any], first: Mapping[Any, Any]) -> Mapping[Any, Any]:
    """The same dictionary with texts for ids, where ids are whole numbers.

    Raises:
        InputError: an id is neither text nor whole number, or two ids give the same text.
    """
    if isinstance(next(iter(table)), str) and isinstance(next(iter(first)), str):
        return table
    rows = [
        dict(zip(text_ids(row, "documents"), row.values(), strict=True)) if isinstance(row, Mapping) else row
        for row in table.values()
    ]
    return dict(zip(text_ids(table, "queries"), rows, strict=True))


def _has_answers(source: object) -> bool:
    """True for a list of answers with their queries.

    Raises:
        InputError: answers of a client do not contain their queries.
    """
    if isinstance(source, Mapping) or hasattr(source, "shape"):
        return False
    from rankgate.data.answers.clients import answers_by_query, refuse_without_queries

    refuse_without_queries(source)
    return answers_by_query(source) is not None


def _read_answers(source: object, reading: Reading) -> Any:
    from rankgate.data.answers.clients import answers_by_query

    return _read_mapping(answers_by_query(source) or {}, reading)


def _are_parallel_lists(source: Any) -> bool:
    """True for a list of lists of ids that can be neither rows nor a matrix, by their lengths.

    >>> _are_parallel_lists([["k12", "k7"], ["k3"]]), _are_parallel_lists([["q", "d"], ["q", "e"]])
    (True, False)
    """
    if not _is_list(source) or not source or not all(map(_is_list_of_ids, source)):
        return False
    lengths = {len(ids) for ids in source}
    if len(lengths) > 1:
        return True
    # rows of three are a query, a document and a number; numbers alone could be a matrix
    has_words = any(isinstance(cell, str) and not cell.replace(".", "").isdigit() for cell in source[0][2:])
    return has_words and lengths.isdisjoint({PAIR_LENGTH})


def _is_list(source: Any) -> bool:
    return isinstance(source, LIST_TYPES) and not hasattr(source, "_fields")


def _is_list_of_ids(ids: Any) -> bool:
    return _is_list(ids) and all(isinstance(cell, str | int) and not isinstance(cell, bool) for cell in ids)


def _read_iterator(source: Iterator[Any], reading: Reading) -> Any:
    """Rows that can be read once as a table, and an iterator of runs as a list."""
    rows = iter(source)
    first_rows = list(islice(rows, 1))
    all_rows = chain(first_rows, rows)
    if not first_rows or isinstance(first_rows[0], str) or is_row(first_rows[0]):
        return table_of_rows(all_rows)
    return _adapt(list(all_rows), reading)


def _read_runs(runs: Sequence[Any], reading: Reading) -> Sequence[Any]:
    rankings = [*map(reading.rankings, runs)]
    if all(map(operator.is_, runs, rankings)):
        return runs
    return tuple(rankings) if isinstance(runs, tuple) else rankings


def is_read_once(value: object) -> bool:
    """True for iterators, cursors of databases, and other objects that can only be iterated."""
    if isinstance(value, Mapping | str | bytes | list | tuple) or hasattr(value, "read"):
        return False
    if hasattr(value, "__next__"):
        return not hasattr(value, "__arrow_c_stream__")
    has_protocol = any(hasattr(value, name) for name in (*PROTOCOLS, "__contains__"))
    return (hasattr(value, "__iter__") and not has_protocol) or _is_cursor(value)


def _is_cursor(value: object) -> bool:
    has_fetch = hasattr(value, "description") and callable(getattr(value, "fetchall", None))
    return has_fetch and not hasattr(value, "__arrow_c_stream__")


def _read_cursor(cursor: Any, reading: Reading) -> pl.DataFrame:
    """The remaining rows of a cursor.

    Raises:
        InputError: the cursor has no result.
    """
    if cursor.description is None:
        problem = "a cursor without rows; execute a SELECT with it first."
        raise InputError(problem, source=reading.label, code="no-rows")
    names = [str(column[0]) for column in cursor.description]
    return table_of_rows(cursor.fetchall(), reading.label, names)


def _is_rows(value: Any) -> bool:
    """True for a list of rows: dictionaries, named tuples, objects with fields, or tuples.

    >>> _is_rows([{"query_id": "q", "doc_id": "d"}]), _is_rows([("q", "d", 1.0)])
    (True, True)
    >>> _is_rows([{"q": {"d": 1.0}}]), _is_rows(["old.run", "new.run"]), _is_rows([[0, 1], [1, 0]])
    (False, False, False)
    """
    return _is_list(value) and bool(value) and is_row(value[0]) and not _are_parallel_lists(value)


def _has_index(value: object) -> bool:
    """True for a series by query and document, and for pandas frames with a named index."""
    pandas = sys.modules.get("pandas")
    if pandas is None or not isinstance(value, pandas.Series | pandas.DataFrame):
        return False
    names = value.index.names
    return len(names) == PAIR_LENGTH or (value.ndim == PAIR_LENGTH and set(names) != {None})


def _reset_index(value: Any, _: Reading) -> Any:
    """A frame with its index as columns; two levels without names are query and document."""
    if len(value.index.names) == PAIR_LENGTH and not any(value.index.names):
        value = value.rename_axis(index=list(ID_COLUMNS))
    if value.ndim == 1:
        has_ranks = str(value.name).strip().lower() in {"rank", "position"}
        return value.rename(value.name if has_ranks else PAIR_VALUE).reset_index()
    levels = [name for name in value.index.names if name not in {None, *value.columns}]
    return value.reset_index(level=levels)


def _read_ir_dataset(dataset: Any, reading: Reading) -> Any:
    """The qrels of a data set, or its scored documents as a run."""
    is_judged = reading.input_kind == "qrels"
    if not (dataset.has_qrels() if is_judged else dataset.has_scoreddocs()):
        noun = "judgments (qrels)" if is_judged else "rankings (scoreddocs)"
        problem = f"{dataset!r} has no {noun}; name a data set that has."
        raise InputError(problem, source="ir_datasets", code="missing-input")
    return _read_ir_rows(dataset.qrels_iter() if is_judged else dataset.scoreddocs_iter(), reading)


def _read_ir_rows(rows: Any, _: Reading) -> pl.DataFrame:
    return table_of_rows(rows, "ir_datasets").rename({"iprob": "inclusion"}, strict=False)


def _refuse_splits(splits: Any, _: Reading) -> Any:
    """Reject a dictionary of splits: the user must choose one of the tables.

    Raises:
        InputError: always.
    """
    first = next(iter(splits), "test")
    problem = f"splits {', '.join(splits)}, where one table is needed; give DATASET[{first!r}]."
    raise InputError(problem, source="datasets", code="several-tables")


def _dictionary_of(table: Any, _: Reading) -> Any:
    return table.to_dict()


_IR_DATASETS = ("ir_datasets", "0.6.3")
_HUGGING_FACE = ("datasets", "5.2.0")

ADAPTERS: tuple[Adapter, ...] = (
    Adapter("table on Spark", lambda table, _: refuse_on_spark(table), _ALL, is_on_spark),
    Adapter(
        "ir_datasets data set",
        _read_ir_dataset,
        _RANKINGS,
        None,
        "ir_datasets.datasets",
        ("Dataset",),
        *_IR_DATASETS,
    ),
    Adapter(
        "qrels and scoreddocs of ir_datasets",
        _read_ir_rows,
        _ALL,
        None,
        "ir_datasets.datasets",
        ("_BetaPythonApiQrels", "_BetaPythonApiScoreddocs"),
        *_IR_DATASETS,
    ),
    Adapter(
        "ranx Qrels and Run", _dictionary_of, _RANKINGS, None, "ranx", ("Qrels", "Run"), "ranx", "0.3.21"
    ),
    Adapter(
        "Qrels and Run of rankgate.compat.ranx",
        _dictionary_of,
        _RANKINGS,
        None,
        "rankgate",
        ("RanxGrades",),
        "rankgate",
        "0.1.0",
    ),
    Adapter(
        "LensKit item lists",
        lambda lists, reading: lists_by_user(lists, reading.input_kind),
        _RANKINGS,
        None,
        "lenskit",
        ("ItemListCollection",),
        "lenskit",
        "2025.8.1",
    ),
    Adapter(
        "Hugging Face Dataset",
        lambda dataset, _: dataset.with_format("arrow")[:],
        _ALL,
        None,
        "datasets",
        ("Dataset",),
        *_HUGGING_FACE,
    ),
    Adapter(
        "Hugging Face IterableDataset",
        lambda dataset, _: iter(dataset),
        _ALL,
        None,
        "datasets",
        ("IterableDataset",),
        *_HUGGING_FACE,
    ),
    Adapter(
        "Hugging Face DatasetDict",
        _refuse_splits,
        _RANKINGS,
        None,
        "datasets",
        ("DatasetDict", "IterableDatasetDict"),
        *_HUGGING_FACE,
    ),
    Adapter("answers with their queries", _read_answers, ("run",), _has_answers),
    Adapter("dictionary", _read_mapping, _RANKINGS, lambda value: isinstance(value, Mapping)),
    Adapter(
        "dictionary of columns",
        lambda columns, _: _table_of_columns(columns, set()),
        ("table",),
        lambda value: isinstance(value, Mapping) and _table_of_columns(value, set()) is not None,
    ),
    Adapter("items and scores of users", lambda arrays, _: padded_lists(*arrays), _RANKINGS, is_pair),
    Adapter(
        "lists of ids without queries",
        lambda lists, _: ParallelLists((str(position), list(ids)) for position, ids in enumerate(lists)),
        _RANKINGS,
        _are_parallel_lists,
    ),
    Adapter("cursor of a database", _read_cursor, _ALL, _is_cursor),
    Adapter("iterator of rows or of runs", _read_iterator, ("run",), is_read_once),
    Adapter(
        "rows",
        lambda rows, reading: table_of_rows(rows, reading.label),
        _ALL,
        lambda value: _is_rows(value) or is_read_once(value),
    ),
    Adapter("pandas object with an index", _reset_index, _ALL, _has_index),
    Adapter("list of runs", _read_runs, ("run",), lambda value: isinstance(value, LIST_TYPES)),
)
"""All kinds of objects that are read as judgments, runs or tables, in the order in which they are tried."""
