"""Tables in memory: dicts of dicts, arrays, Polars, pandas and Arrow frames."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import polars as pl

from rankgate.core.errors import InputError
from rankgate.data import arrays
from rankgate.data.columns import document_columns, map_columns, shape_table, unnest_lists
from rankgate.data.dataframes import frames_by_system, is_frame, lazy_frame, refuse_series
from rankgate.data.memory.matrices import is_source
from rankgate.data.objects import read_rankings, unknown_object_error
from rankgate.data.place import RowLocation
from rankgate.data.qrels import Qrels, check_rows, drop_empty
from rankgate.data.rankings import Rankings, lengths_and_values
from rankgate.data.run import Run
from rankgate.data.text.utf8 import refuse_surrogates

_ROWS_PER_SLICE = 1 << 20


def qrels_of(table: Any, name: str = "qrels", label: str | None = None) -> Qrels:
    """Judgments from ``{query_id: {doc_id: grade}}``, a frame, or an array (see `arrays`).

    Where there are no grades, in ``{query_id: {doc_id, …}}`` and a frame of nothing but pairs,
    each is 1.

    Args:
        table: the table.
        name: the name of the judgments.
        label: the name of their origin in errors; the name if not given.

    Raises:
        InputError: not such a table, ids that are not strings, grades that are no numbers.
    """
    table = read_rankings(table, "qrels")
    if is_source(table):
        return arrays.qrels_of(table, name)
    if _is_listed(table):
        frame = _rows_of_lists(table, "grade", label or name)
        unjudged = tuple(str(query) for query in _empty_queries(table))
        return Qrels(frame, name=name, unjudged=unjudged, place=RowLocation(label or name))
    frame = _judgment_rows(table, label or name)
    qrels = Qrels(
        frame, name=name, unjudged=tuple(_empty_queries(table)), place=RowLocation(label or name)
    )
    if _is_dict(table):  # its strings know their hashes; new ones would be hashed again
        qrels.__dict__["documents"] = list(chain.from_iterable(table.values()))
    return qrels


def run_of(table: Any, name: str = "run", label: str | None = None) -> Run:
    """A run from ``{query_id: {doc_id: score}}``, a frame, or an array (see `arrays`).

    ``{query_id: [doc_id, …]}`` ranks as it is. A query with nothing in it is one that
    returned nothing. Arguments as of `qrels_of`.

    Raises:
        InputError: not such a table, ids that are not strings, scores that are no numbers.
    """
    table = read_rankings(table, "run")
    if is_source(table):
        return arrays.run_of(table, name)
    rankings, label = None, label or name
    if _is_dict(table) and not _is_listed(table):
        _refuse_flat(table, "score", label)
        rankings = Rankings.of(table, label)
    tables = {} if rankings else _run_rows(table, label)
    empty_queries = [str(query) for query in _empty_queries(table)]
    zero_state = pl.lit("zero", pl.String).alias("state")
    queries = pl.DataFrame([_id_column("query_id", empty_queries, label)]).with_columns(zero_state)

    def pieces(frame: pl.DataFrame | None) -> Iterator[pl.DataFrame]:
        rows = _rows_of_dicts(table, "score", label) if frame is None else frame
        yield from (shape_table(slice_, "score", label).collect() for slice_ in _slice_rows(rows))

    readings = {column: partial(pieces, frame) for column, frame in tables.items()}
    return Run.of_columns(
        name,
        readings or {"doc_id": partial(pieces, None)},
        rankings=rankings,
        queries=queries if empty_queries else None,
        place=RowLocation(label),
        ordered=False,
    )


def _run_rows(table: Any, label: str) -> dict[str, pl.DataFrame]:
    """The rows of a run, checked, by the columns that could hold the ids of documents.

    Ids of a frame stay unchanged, which may take less memory.
    """
    if _is_listed(table):
        return {"doc_id": _rows_of_lists(table, "score", label)}
    if _is_dict(table):
        return {"doc_id": _check_rows(_rows_of_dicts(table, "score", label), label)}
    if len(systems := frames_by_system(table, label)) > 1:
        problem = (
            f"the rankings of {len(systems)} systems ({', '.join(list(systems)[:5])}) in one "
            "frame; filter the column system, or give the frame where several runs are taken."
        )
        raise InputError(problem, source=label, code="several-candidates")
    lazy = _to_lazy(table, label)
    names = lazy.collect_schema().names()
    source_columns = map_columns(names, ("query_id", "doc_id", "score", "rank"))
    columns = document_columns(names) or tuple(
        source_columns[column] for column in source_columns if column == "doc_id"
    )
    shape_table(lazy, "score", label, next(iter(columns), None))  # which refuses missing columns
    tables = {
        column: lazy.select((source_columns | {"doc_id": column}).values()).collect()
        for column in columns
    }
    if len(tables) > 1:  # those that hold no ids are left out when judgments choose
        return tables
    return {column: _check_rows(frame, label) for column, frame in tables.items()}


def _check_rows(frame: pl.DataFrame, label: str) -> pl.DataFrame:
    """The same rows, after a check for missing ids and scores that are not finite."""
    first_row = 0
    for slice_ in _slice_rows(frame):
        rows = _shape_rows(slice_, "score", label)
        check_rows(rows, "score", RowLocation(label), first_row)
        first_row += len(rows)
    return frame


def _slice_rows(frame: pl.DataFrame) -> Iterator[pl.LazyFrame]:
    """The rows in slices; one slice if there are none."""
    return (
        slice_.lazy() for slice_ in (frame.iter_slices(_ROWS_PER_SLICE) if len(frame) else [frame])
    )


def _empty_queries(table: Any) -> list[str]:
    """The queries of a dict of dicts that have an empty dict."""
    return [query for query, row in table.items() if not row] if _is_dict(table) else []


def _refuse_flat(table: Mapping[str, Any], number: str, label: str) -> None:
    if not all(map(_is_dict, table.values())):
        problem = f"not a dict of dicts; expected {{query_id: {{doc_id: {number}}}}}."
        raise InputError(problem, source=label, code="wrong-type")


def _is_dict(table: object) -> bool:
    return isinstance(table, Mapping)


def _judgment_rows(table: Any, label: str) -> pl.DataFrame:
    """The rows of judgments; each is relevant if there are only pairs."""
    if _is_dict(table):
        return _rows_of_dicts(table, "grade", label)
    frame = _to_lazy(table, label)
    names = frame.collect_schema().names()
    if len(names) == len(map_columns(names, ("query_id", "doc_id"))):
        frame = frame.with_columns(grade=1.0)
    return drop_empty(_shape_rows(frame, "grade", label))


def _to_lazy(table: Any, label: str) -> pl.LazyFrame:
    refuse_series(table, label)
    if is_frame(table):  # Polars, pandas, pyarrow, DuckDB, ibis and others
        return unnest_lists(lazy_frame(table, label))
    raise unknown_object_error(table, label)


def _is_listed(table: object) -> bool:
    """True for ``{query_id: [doc_id, …]}``, also with sets."""
    if not isinstance(table, Mapping):
        return False
    return isinstance(next(iter(table.values()), None), list | tuple | set | frozenset)


def _rows_of_lists(table: Mapping[Any, Any], number: str, label: str) -> pl.DataFrame:
    """The rows of lists of documents: each of grade 1, or ranked in order."""
    rows = list(table.values())
    kinds = {type(row) for row in rows}
    if not kinds <= {list, tuple, set, frozenset}:
        problem = "lists of documents and others; give every query a list."
        raise InputError(problem, source=label, code="wrong-type")
    if number == "score" and kinds & {set, frozenset}:
        problem = "a set of documents has no order; give lists, the best first."
        raise InputError(problem, source=label, code="wrong-type")
    documents = list(chain.from_iterable(rows))
    for kind in {*map(type, documents)} | {*map(type, table)}:
        if not issubclass(kind, str | int | np.integer):
            problem = f"an id is a {kind.__name__}, where strings or whole numbers are needed."
            raise InputError(problem, source=label, code="invalid-id")
    lengths = np.fromiter(map(len, rows), np.int64, len(rows))
    owner = np.repeat(np.arange(len(rows)), lengths)
    position = np.arange(len(owner)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    numbers = np.ones(len(owner)) if number == "grade" else -1.0 - position
    return pl.DataFrame(
        [
            _id_column("query_id", [str(query) for query in table], label).gather(owner),
            _id_column("doc_id", list(map(str, documents)), label),
            pl.Series(number, numbers),
        ]
    )


def _shape_rows(frame: pl.LazyFrame, number: str, label: str) -> pl.DataFrame:
    try:
        return shape_table(frame, number, label).collect()
    except pl.exceptions.InvalidOperationError as error:
        raise InputError(
            f"a {number} is not a number: {error}.", source=label, code="not-a-number"
        ) from None


def _id_column(name: str, ids: list[Any], label: str) -> pl.Series:
    """Ids as a column.

    Raises:
        InputError: one is no string, or no text.
    """
    try:
        return pl.Series(name, ids, dtype=pl.String)
    except TypeError:
        problem = "ids must be strings; turn them into strings first."
        raise InputError(problem, source=label, code="invalid-id") from None
    except UnicodeEncodeError:
        refuse_surrogates(ids, label)
        raise


def _rows_of_dicts(
    table: Mapping[str, Mapping[str, float]], number: str, label: str
) -> pl.DataFrame:
    rows = list(table.values())
    _refuse_flat(table, number, label)
    lengths, numbers = lengths_and_values(rows, number, label)
    queries = _id_column("query_id", list(table), label)
    documents = _id_column("doc_id", list(chain.from_iterable(rows)), label)
    owner = queries.gather(np.repeat(np.arange(len(rows)), lengths))
    return pl.DataFrame([owner, documents, pl.Series(number, numbers)])
