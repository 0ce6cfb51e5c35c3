"""Judgments and runs from objects in memory, as adapters leave them: dictionaries, frames and arrays.

Arrays are dense (a row per query, a column per document), sparse, or lists. They may be NumPy
arrays, tensors of any library that supports DLPack, and SciPy's sparse matrices; only NumPy is
imported.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.errors import InputError
from rankgate.core.present.number_formats import count_noun
from rankgate.data.adapters import ParallelLists, read_rankings
from rankgate.data.column_names import match_columns
from rankgate.data.foreign_frames import frames_by_system, is_frame, polars_frame, refuse_series
from rankgate.data.memory.ids import Ids, find_positions, text_id
from rankgate.data.memory.matrices import (
    Padded,
    is_source,
    make_source,
    positions_of,
    refuse_shape,
    require_numbers,
    to_numpy,
)
from rankgate.data.memory.rows import ID_LIST_TYPES, unknown_object_error
from rankgate.data.qrels import Qrels, check_rows, rated_rows
from rankgate.data.run import Rankings, Run, lengths_and_values
from rankgate.data.table_rows import RowLocation, no_rows_error
from rankgate.data.text.text_values import refuse_surrogates
from rankgate.data.unfold import Unfolded, unfold

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.memory.matrices import Flat, MatrixInput
    from rankgate.data.run import Pieces
    from rankgate.data.table_rows import Positions


def from_arrays(
    labels: Any,
    scores: Any,
    *,
    mask: Any = None,
    padding: float | None = -1,
    query_ids: Sequence[object] | None = None,
    doc_ids: Sequence[object] | None = None,
    groups: Sequence[int] | None = None,
    names: tuple[str, str] = ("qrels", "run"),
) -> tuple[Qrels, Run]:
    """Judgments and a run from labels and scores of the same shape, as rankers are trained.

    Row ``i`` is a query, column ``j`` its ``j``-th candidate. If the mask is false, or the
    label is the padding, there is no candidate: neither its label nor its score counts. A label
    of NaN is an unjudged candidate, a score of NaN or minus infinity one that was not ranked.

    >>> qrels, run = from_arrays(np.array([[3, 0, -1]]), np.array([[0.2, 0.9, 7.0]]))
    >>> qrels.table.rows()
    [('0', '0', 3.0), ('0', '1', 0.0)]
    >>> run.table.rows()
    [('0', '0', 0.2), ('0', '1', 0.9)]

    Flat arrays have the candidates of all queries one after another, as LightGBM, XGBoost and
    CatBoost take them: with an id of the query for each (``qid``, ``group_id``), or with the number
    of candidates of each query (``group``).

    >>> qrels, run = from_arrays([1, 0, 1], [0.2, 0.9, 0.4], query_ids=["a", "a", "b"])
    >>> run.table.rows()
    [('a', '0', 0.2), ('a', '1', 0.9), ('b', '0', 0.4)]

    Args:
        labels: ``(Q, D)``; ``(D,)`` for one query; ``(N,)`` if flat.
        scores: the same shape.
        mask: the same shape; true for a candidate, false for padding.
        padding: the label that means that there is no candidate; None if no label does.
        query_ids: ``Q`` ids; 0, 1, … if not given. If flat, ``N`` ids, equal ones in any order, or
            with groups one for each group.
        doc_ids: ``D`` ids for columns that are one document in all rows; if flat, ``N`` ids. If not
            given, ids are the places 0, 1, … among the candidates of a query.
        groups: the number of candidates of each query, if flat.
        names: the names of the two columns.

    Raises:
        InputError: no numbers, other shapes, infinite labels or scores, a wrong number of ids or
            candidates.
    """
    label, score = _dense_array(labels, names[0]), _dense_array(scores, names[1])
    is_flat = np.ndim(labels) == 1 and len(query_ids if query_ids is not None else ()) == label.size > 1
    if is_flat or groups is not None:
        users, rows = _queries_of_candidates(label, query_ids, groups)
        items, columns = _documents_of_candidates(rows, doc_ids)
    else:
        users = Ids.from_axis(query_ids, label.shape[0], "query_ids")
        items = Ids.from_axis(doc_ids, label.shape[1], "doc_ids")
        rows, columns = np.divmod(np.arange(label.size), max(items.size, 1))
    is_candidate = np.ones(label.shape, np.bool_)
    if mask is not None:
        is_candidate = _dense_array(mask, "mask").astype(np.bool_)
    for array, array_name in ((score, names[1]), (is_candidate, "mask")):
        if array.shape != label.shape:
            problem = f"shape {array.shape}, where {names[0]} has {label.shape}; make them equal."
            raise InputError(problem, source=array_name, code="wrong-shape")
    if padding is not None:
        is_candidate &= label != padding
    candidates = is_candidate.ravel()
    rows, columns = rows[candidates], columns[candidates]
    judged = _make_table(users, items, (rows, columns, label[is_candidate]), "grade")
    ranked = _make_table(users, items, (rows, columns, score[is_candidate]), "score")
    positions = users.unnamed, items.unnamed
    judged = judged.filter(pl.col("grade").is_not_nan())
    location = RowLocation(names[0], positions=positions)
    qrels = Qrels(judged, names[0], unjudged=tuple(_missing_queries(users, judged)), place=location)
    return qrels, _run_of_entries(ranked, users, names[1], positions)


def _queries_of_candidates(
    label: NDArray[np.float64], query_ids: Sequence[object] | None, groups: Sequence[int] | None
) -> tuple[Ids, NDArray[np.int64]]:
    """The queries of flat arrays, and the index of each candidate's.

    Raises:
        InputError: a wrong number of candidates, or arrays that are not flat.
    """
    if groups is None:
        return _coded_ids(query_ids, "query_ids", label.size)
    sizes = require_numbers(to_numpy(groups, "groups"), "groups").astype(np.int64)
    if label.shape[0] != 1 or sizes.ndim != 1 or (sizes < 0).any() or sizes.sum() != label.size:
        problem = (
            f"groups add up to {sizes.sum()}, where flat arrays have {label.size} candidates; give the "
            "number of candidates of each query."
        )
        raise InputError(problem, source="groups", code="wrong-shape")
    return Ids.from_axis(query_ids, len(sizes), "query_ids"), np.repeat(np.arange(len(sizes)), sizes)


def _documents_of_candidates(
    queries: NDArray[np.int64], doc_ids: Sequence[object] | None
) -> tuple[Ids, NDArray[np.int64]]:
    """The documents of flat arrays, by default numbered within each query, and each candidate's index."""
    if doc_ids is not None:
        return _coded_ids(doc_ids, "doc_ids", len(queries))
    places = pl.DataFrame({"query": queries}).select(pl.int_range(pl.len()).over("query"))
    numbers = places.to_series().to_numpy()
    return Ids(int(numbers.max(initial=-1)) + 1), numbers


def _coded_ids(ids: Any, name: str, size: int) -> tuple[Ids, NDArray[np.int64]]:
    """Ids in a list, an array or a tensor, which may be repeated, and the index of each.

    Raises:
        InputError: the number of ids is not the size.
    """
    array = to_numpy(ids, "ids") if hasattr(ids, "__dlpack__") else ids
    is_integer = isinstance(array, np.ndarray) and array.dtype.kind in "iu"
    texts = (
        pl.Series(array).cast(pl.String) if is_integer else pl.Series(map(text_id, array), dtype=pl.String)
    )
    if len(texts) != size:
        problem = f"{count_noun(len(texts), 'id')} for {size} candidates; give one for each."
        raise InputError(problem, source=name, code="wrong-shape")
    names = texts.unique(maintain_order=True)
    return Ids.from_axis(names.to_list(), len(names), name), find_positions(texts, names)


def read_grades(source: MatrixInput) -> Flat:
    """Row, item and grade of all judgments; in lists without grades each item has grade 1.

    Raises:
        InputError: a grade is negative or not finite.
        DuplicateError: an item appears twice for a user.
    """
    rows, columns, grades = source.flat(slice(0, source.users.size))
    if isinstance(source, Padded) and source.values is None:
        return rows, columns, np.ones(len(rows))
    if (grades < 0).any():
        problem = (
            "a negative label, which pads rows as a rule, and then the scores are padded too; give both to "
            "rankgate.from_arrays, or items by number as rankgate.Lists."
        )
        raise InputError(problem, source=source.name, code="negative-label")
    if not np.isfinite(grades).all():
        raise InputError("grade inf is not a finite number.", source=source.name, code="not-a-number")
    return rows, columns, grades


def run_table(source: MatrixInput, rows: slice) -> pl.DataFrame:
    """The entries of some users as the rows of a run."""
    owner, item, score = source.flat(rows, refuse=False) if isinstance(source, Padded) else source.flat(rows)
    return _make_table(source.users, source.items, (owner + rows.start, item, score), "score")


def _make_table(users: Ids, items: Ids, entries: Flat, name: str) -> pl.DataFrame:
    """One row for each entry."""
    rows, columns, values = entries
    ids = users.names.gather(rows).alias("query_id"), items.names.gather(columns).alias("doc_id")
    return pl.DataFrame([*ids, pl.Series(name, values)])


def _run_of_entries(entries: pl.DataFrame, users: Ids, name: str, positions: Positions) -> Run:
    score = pl.col("score")
    ranked = entries.filter(score.is_not_nan() & (score != -np.inf))
    location = RowLocation(name, positions=positions)
    check_rows(ranked, "score", location)
    return _make_run({"doc_id": lambda: iter([ranked])}, _missing_queries(users, ranked), name, location)


def _missing_queries(users: Ids, rows: pl.DataFrame) -> list[str]:
    """The users without rows."""
    return users.names.filter(~users.names.is_in(rows["query_id"].unique().implode())).to_list()


def _dense_array(table: object, name: str) -> NDArray[np.float64]:
    """An array as ``(Q, D)`` floats."""
    if hasattr(table, "tocoo"):
        problem = "a sparse matrix, in which missing values and zeros look the same; give a dense array."
        raise InputError(problem, source=name, code="wrong-type")
    array = require_numbers(to_numpy(table, name), name).astype(np.float64)
    array = array[None, :] if array.ndim == 1 else array
    refuse_shape(array, name, "(queries, documents)")
    return array


_ROWS_PER_SLICE = 1 << 20


def qrels_of_table(table: Any, name: str = "qrels", label: str | None = None) -> Qrels:
    """Judgments from ``{query_id: {doc_id: grade}}``, a frame, or an array.

    Without grades (``{query_id: {doc_id, …}}``, or a frame of pairs alone) each grade is 1.

    Args:
        table: the table.
        name: the name of the judgments.
        label: the name of their origin in errors; by default the name.

    Raises:
        InputError: the object is not such a table, ids are not strings, or grades are not numbers.
    """
    table, label = read_rankings(table, "qrels"), label or name
    if is_source(table):
        source = make_source(table, name)  # a row without judgments is an unknown user, as in a frame
        rows = _make_table(source.users, source.items, read_grades(source), "grade")
        return Qrels(rows, source.name, place=RowLocation(source.name, positions=positions_of(source)))
    if not isinstance(table, Mapping):
        return qrels_of_unfolded(_unfold_table(table, "grade", label), name, label)
    rows = _rows_of_mapping(table, "grade", label)
    graded_rows, unrated_queries, location = rated_rows(rows, _location(table, label))
    unjudged = (*_empty_queries(table), *unrated_queries)
    qrels = Qrels(graded_rows, name=name, unjudged=unjudged, place=location)
    if not _is_listed(table) and len(qrels.table) == len(rows):
        # its strings have cached hashes; new ones would not
        qrels.__dict__["documents"] = list(chain.from_iterable(table.values()))
    return qrels


def qrels_of_unfolded(unfolded: Unfolded, name: str, label: str | None = None) -> Qrels:
    """Judgments from a table with a row per document; arguments and errors as of `qrels_of_table`."""
    from rankgate.data.formats.tables.mapped_tables import UnfoldedTable
    from rankgate.data.formats.tables.table_contents import read_table_qrels

    label, names = label or name, unfolded.rows.collect_schema().names()
    if len(names) == len(match_columns(names, ("query_id", "doc_id"))):  # each pair is relevant
        unfolded = replace(unfolded, rows=unfolded.rows.with_columns(grade=1.0))
    qrels = read_table_qrels(UnfoldedTable(unfolded, label))
    unjudged = (*unfolded.empty_queries, *qrels.unjudged)
    return replace(qrels, name=name, unjudged=unjudged, cautions=unfolded.cautions("grade", label))


def run_of_table(table: Any, name: str = "run", label: str | None = None) -> Run:
    """A run from ``{query_id: {doc_id: score}}``, a frame, or an array.

    ``{query_id: [doc_id, …]}`` is ranked in its order. An empty query returned no documents. For
    the arguments see `qrels_of_table`.

    Raises:
        InputError: the object is not such a table, ids are not strings, or scores are not numbers.
    """
    table, label = read_rankings(table, "run"), label or name
    if is_source(table):
        source = make_source(table, name)
        entries = run_table(source, slice(0, source.users.size))
        return _run_of_entries(entries, source.users, source.name, positions_of(source))
    if not isinstance(table, Mapping):
        return run_of_unfolded(_unfold_table(table, "score", label), name, label)
    location = _location(table, label)
    if _is_listed(table):
        rows = _rows_of_mapping(table, "score", label)
        check_rows(rows, "score", location)
        return _make_run({"doc_id": lambda: _slices(rows)}, _empty_queries(table), name, location)
    _refuse_flat(table, "score", label)
    for query, documents in table.items():
        if not str(query).strip() or "" in documents or " " in documents:
            problem = f"an id of query {query!r} is empty."
            raise InputError(problem, source=label, code="empty-value")
    rankings = Rankings.from_dict(table, label)
    readings = {"doc_id": lambda: _slices(_rows_of_mapping(table, "score", label))}
    return _make_run(readings, _empty_queries(table), name, location, rankings=rankings)


def _location(table: Mapping[Any, Any], label: str) -> RowLocation:
    """The origin of rows in a dictionary; lists without queries have positions as ids of queries."""
    return RowLocation(label, positions=(len(table) if isinstance(table, ParallelLists) else None, None))


def run_of_unfolded(unfolded: Unfolded, name: str, label: str | None = None) -> Run:
    """A run from a table with a row per document; arguments and errors as of `run_of_table`.

    Lists are unfolded when their rows are needed.
    """
    from rankgate.data.formats.tables.mapped_tables import UnfoldedTable
    from rankgate.data.formats.tables.table_contents import read_table_run

    label = label or name
    table = UnfoldedTable(unfolded, label)
    run = read_table_run(table if unfolded.lists else table.with_collected_rows())
    if run.queries is None:
        run = replace(run, queries=_states_of_empty(unfolded.empty_queries, label))
    return replace(run, name=name, ordered=False, cautions=unfolded.cautions("score", label))


def _slices(rows: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """The rows in slices; a single slice if there are no rows."""
    return rows.iter_slices(_ROWS_PER_SLICE) if len(rows) else iter([rows])


def _make_run(
    readings: Mapping[str, Pieces],
    empty_queries: Iterable[str],
    name: str,
    location: RowLocation,
    **fields: Any,
) -> Run:
    """A run from checked rows, which may be made when needed, by column of documents."""
    states = _states_of_empty(empty_queries, location.label)
    return Run.of_columns(name, readings, queries=states, place=location, ordered=False, **fields)


def _states_of_empty(query_ids: Iterable[str], label: str) -> pl.DataFrame | None:
    """The states of queries that returned no documents; None if there are none."""
    zero_state = pl.lit("zero", pl.String).alias("state")
    queries = pl.DataFrame([_id_column("query_id", query_ids, label)]).with_columns(zero_state)
    return None if queries.is_empty() else queries


def _empty_queries(table: Mapping[Any, Any]) -> list[str]:
    """The queries with no documents."""
    return [str(query) for query, row in table.items() if not row]


def _refuse_flat(table: Mapping[Any, Any], number: str, label: str) -> None:
    if not all(isinstance(row, Mapping) for row in table.values()):
        problem = f"not a dict of dicts; expected {{query_id: {{doc_id: {number}}}}}."
        raise InputError(problem, source=label, code="wrong-type")


def _unfold_table(table: object, number: str, label: str) -> Unfolded:
    refuse_series(table, label)
    if number == "score" and len(systems := frames_by_system(table, label)) > 1:
        problem = (
            f"the rankings of {count_noun(len(systems), 'system')} "
            f"({', '.join(list(systems)[:5])}) in one frame; filter the column system, or give the frame "
            "where several runs are taken."
        )
        raise InputError(problem, source=label, code="several-candidates")
    if not is_frame(table):  # of Polars, pandas, pyarrow, DuckDB, ibis and others
        is_empty = isinstance(table, list | tuple) and not table
        raise no_rows_error(number, label) if is_empty else unknown_object_error(table, label)
    frame = table if isinstance(table, pl.LazyFrame) else polars_frame(table, label)
    if isinstance(frame, pl.DataFrame) and frame.is_empty():  # columns without values have no type
        raise no_rows_error(number, label)
    return unfold(frame.lazy(), number, label)


def _is_listed(table: Mapping[Any, Any]) -> bool:
    """True for ``{query_id: [doc_id, …]}``, including sets."""
    return isinstance(next(iter(table.values()), None), ID_LIST_TYPES)


def _refuse_lists(table: Mapping[Any, Any], number: str, label: str) -> None:
    kinds = {type(row) for row in table.values()}
    if not kinds <= {*ID_LIST_TYPES}:
        problem = "lists of documents and others; give every query a list."
        raise InputError(problem, source=label, code="wrong-type")
    if number == "score" and kinds & {set, frozenset}:
        problem = "a set of documents has no order; give lists, the best first."
        raise InputError(problem, source=label, code="wrong-type")
    for kind in {*map(type, chain.from_iterable(table.values()))} | {*map(type, table)}:
        if not issubclass(kind, str | int | np.integer):
            noun = "an object" if issubclass(kind, dict) else f"a {kind.__name__}"
            problem = f"an id is {noun}, where strings or whole numbers are needed."
            raise InputError(problem, source=label, code="invalid-id")


def _rows_of_mapping(table: Mapping[Any, Any], number: str, label: str) -> pl.DataFrame:
    """The rows of documents with numbers, or of lists: each with grade 1, or ranked in order."""
    rows, is_listed = list(table.values()), _is_listed(table)
    (_refuse_lists if is_listed else _refuse_flat)(table, number, label)
    queries: Iterable[Any] = table
    documents: Iterable[Any] = chain.from_iterable(rows)
    if is_listed:
        lengths = np.fromiter(map(len, rows), np.int64, len(rows))
        first_row = np.repeat(np.cumsum(lengths) - lengths, lengths)
        position = np.arange(len(first_row)) - first_row
        numbers = np.ones(len(position)) if number == "grade" else -1.0 - position
        queries, documents = map(str, queries), map(str, documents)
    else:
        lengths, numbers = lengths_and_values(rows, number, label)
    values = pl.Series(number, numbers)
    if number == "grade" and values.is_nan().any():  # None is unrated, and NumPy makes it NaN
        grades = chain.from_iterable(row.values() for row in rows)
        values = pl.Series(number, [None if grade is None else float(grade) for grade in grades], pl.Float64)
    owner = np.repeat(np.arange(len(rows)), lengths)
    query_ids = _id_column("query_id", queries, label).gather(owner)
    return pl.DataFrame([query_ids, _id_column("doc_id", documents, label), values])


def _id_column(name: str, ids: Iterable[Any], label: str) -> pl.Series:
    """Ids as a column.

    Raises:
        InputError: an id is not a string, or not valid text.
    """
    id_list = list(ids)
    try:
        return pl.Series(name, id_list, dtype=pl.String)
    except TypeError:
        problem = "ids must be strings; turn them into strings first."
        raise InputError(problem, source=label, code="invalid-id") from None
    except UnicodeEncodeError:
        refuse_surrogates(id_list, label)
        raise
