"""Tables that are in memory already: dicts of dicts, arrays, Polars, pandas and Arrow frames."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import partial
from itertools import chain
from typing import Any

import numpy as np
import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.columns import document_columns, named, shaped
from rankgate.data.dataframes import by_system, is_frame, lazy_frame, refuse_series
from rankgate.data.memory import arrays
from rankgate.data.memory.libraries import from_library
from rankgate.data.memory.matrices import is_source
from rankgate.data.place import Place
from rankgate.data.qrels import Qrels, refuse_holes, without_empty
from rankgate.data.rankings import Rankings
from rankgate.data.run import Run
from rankgate.data.text.utf8 import refuse_surrogates

_BATCH = 1 << 20


def qrels_of(table: Any, name: str = "qrels", label: str | None = None) -> Qrels:
    """Judgments from ``{query_id: {doc_id: grade}}``, a frame, or an array (see `arrays`).

    Where there are no grades, in ``{query_id: {doc_id, …}}`` and a frame of nothing but pairs,
    each is 1.

    Args:
        table: the table.
        name: what to call the judgments.
        label: what errors call their origin; the name if not given.

    Raises:
        InputError: not such a table, ids that are not strings, grades that are no numbers.
    """
    table = from_library(table, judged=True)
    if is_source(table):
        return arrays.qrels_of(table, name)
    if _is_listed(table):
        frame = _from_lists(table, "grade", label or name)
        empty = tuple(str(each) for each in _empty(table))
        return Qrels(frame, name=name, unjudged=empty, place=Place(label or name))
    frame = _graded(table, label or name)
    found = Qrels(frame, name=name, unjudged=tuple(_empty(table)), place=Place(label or name))
    if _is_dict(table):  # its strings know their hashes; new ones would be hashed again
        found.__dict__["documents"] = list(chain.from_iterable(table.values()))
    return found


def run_of(table: Any, name: str = "run", label: str | None = None) -> Run:
    """A run from ``{query_id: {doc_id: score}}``, a frame, or an array (see `arrays`).

    ``{query_id: [doc_id, …]}`` ranks as it is. A query with nothing in it is one that
    returned nothing. Arguments as of `qrels_of`.

    Raises:
        InputError: not such a table, ids that are not strings, scores that are no numbers.
    """
    table = from_library(table)
    if is_source(table):
        return arrays.run_of(table, name)
    rankings, label = None, label or name
    if _is_dict(table) and not _is_listed(table):
        _refuse_flat(table, "score", label)
        rankings = Rankings.of(table, label)
    tables = {} if rankings else _ranked(table, label)
    empty = [str(query) for query in _empty(table)]
    zero = pl.lit("zero", pl.String).alias("state")
    queries = pl.DataFrame([_strings("query_id", empty, label)]).with_columns(zero)

    def pieces(frame: pl.DataFrame | None) -> Iterator[pl.DataFrame]:
        rows = _from_dict(table, "score", label) if frame is None else frame
        yield from (shaped(piece, "score", label).collect() for piece in _slices(rows))

    readings = {column: partial(pieces, frame) for column, frame in tables.items()}
    return Run.of_columns(
        name,
        readings or {"doc_id": partial(pieces, None)},
        rankings=rankings,
        queries=queries if empty else None,
        place=Place(label),
        ordered=False,
    )


def _ranked(table: Any, label: str) -> dict[str, pl.DataFrame]:
    """The rows of a run, checked, by the columns that could hold the ids of documents.

    Ids of a frame are as they are, which may take less memory.
    """
    if _is_listed(table):
        return {"doc_id": _from_lists(table, "score", label)}
    if _is_dict(table):
        return {"doc_id": _checked(_from_dict(table, "score", label), label)}
    if len(systems := by_system(table, label)) > 1:
        problem = (
            f"the rankings of {len(systems)} systems ({', '.join(list(systems)[:5])}) in one "
            "frame; filter the column system, or give the frame where several runs are taken."
        )
        raise InputError(problem, source=label, code="several-candidates")
    lazy = _lazy(table, "score", label)
    names = lazy.collect_schema().names()
    theirs = named(names, ("query_id", "doc_id", "score", "rank"))
    columns = document_columns(names) or tuple(theirs[ours] for ours in theirs if ours == "doc_id")
    shaped(lazy, "score", label, next(iter(columns), None))  # which refuses missing columns
    tables = {
        column: lazy.select((theirs | {"doc_id": column}).values()).collect() for column in columns
    }
    if len(tables) > 1:  # those that hold no ids are left out when judgments choose
        return tables
    return {column: _checked(frame, label) for column, frame in tables.items()}


def _checked(frame: pl.DataFrame, label: str) -> pl.DataFrame:
    """The same rows; ids that are missing and scores that are not finite are an error."""
    first = 0
    for piece in _slices(frame):
        rows = _cast(piece, "score", label)
        refuse_holes(rows, "score", Place(label), first)
        first += len(rows)
    return frame


def _slices(frame: pl.DataFrame) -> Iterator[pl.LazyFrame]:
    """The rows in pieces; one piece where there are none."""
    return (piece.lazy() for piece in (frame.iter_slices(_BATCH) if len(frame) else [frame]))


def _empty(table: Any) -> list[str]:
    """The queries of a dict of dicts that have an empty dict."""
    return [query for query, row in table.items() if not row] if _is_dict(table) else []


def _refuse_flat(table: Mapping[str, Any], number: str, label: str) -> None:
    if not all(map(_is_dict, table.values())):
        problem = f"not a dict of dicts; expected {{query_id: {{doc_id: {number}}}}}."
        raise InputError(problem, source=label, code="wrong-type")


def _is_dict(table: object) -> bool:
    return isinstance(table, Mapping)


def _graded(table: Any, label: str) -> pl.DataFrame:
    """The rows of judgments; each is relevant where there is nothing but pairs."""
    if _is_dict(table):
        return _from_dict(table, "grade", label)
    frame = _lazy(table, "grade", label)
    names = frame.collect_schema().names()
    if len(names) == len(named(names, ("query_id", "doc_id"))):
        frame = frame.with_columns(grade=1.0)
    return without_empty(_cast(frame, "grade", label))


def _lazy(table: Any, number: str, label: str) -> pl.LazyFrame:
    refuse_series(table, label)
    if is_frame(table):  # Polars, pandas, pyarrow, DuckDB, ibis and others
        return lazy_frame(table, label)
    kind = type(table).__name__
    problem = f"a {kind} is no table of {number}s; give a path, a frame or a dict of dicts."
    raise InputError(problem, source=label, code="wrong-type")


def _is_listed(table: object) -> bool:
    """Whether something is ``{query_id: [doc_id, …]}``, or with sets."""
    if not isinstance(table, Mapping):
        return False
    return isinstance(next(iter(table.values()), None), list | tuple | set | frozenset)


def _from_lists(table: Mapping[Any, Any], number: str, label: str) -> pl.DataFrame:
    """Lists of documents: each of grade 1, or ranked as they are."""
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
    place = np.arange(len(owner)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    numbers = np.ones(len(owner)) if number == "grade" else -1.0 - place
    return pl.DataFrame(
        [
            _strings("query_id", [str(query) for query in table], label).gather(owner),
            _strings("doc_id", list(map(str, documents)), label),
            pl.Series(number, numbers),
        ]
    )


def _cast(frame: pl.LazyFrame, number: str, label: str) -> pl.DataFrame:
    try:
        return shaped(frame, number, label).collect()
    except pl.exceptions.InvalidOperationError as error:
        raise InputError(
            f"a {number} is not a number: {error}.", source=label, code="not-a-number"
        ) from None


def _strings(name: str, ids: list[Any], label: str) -> pl.Series:
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


def _from_dict(table: Mapping[str, Mapping[str, float]], number: str, label: str) -> pl.DataFrame:
    rows = list(table.values())
    _refuse_flat(table, number, label)
    lengths = np.fromiter(map(len, rows), np.int64, len(rows))
    values = chain.from_iterable(row.values() for row in rows)
    try:
        numbers = np.fromiter(values, np.float64, int(lengths.sum()))
    except (TypeError, ValueError, OverflowError) as error:
        raise InputError(
            f"a {number} is not a number: {error}.", source=label, code="not-a-number"
        ) from None
    queries = _strings("query_id", list(table), label)
    documents = _strings("doc_id", list(chain.from_iterable(rows)), label)
    owner = queries.gather(np.repeat(np.arange(len(rows)), lengths))
    return pl.DataFrame([owner, documents, pl.Series(number, numbers)])
