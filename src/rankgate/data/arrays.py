"""Judgments and runs from arrays: a row a query, a column a document, or sparse, or lists.

NumPy arrays, tensors of any library that speaks DLPack, and SciPy's sparse matrices; none of
these libraries but NumPy is imported.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.memory.devices import to_numpy
from rankgate.data.memory.ids import Ids
from rankgate.data.memory.matrices import Padded, make_source, refuse_shape, require_numbers
from rankgate.data.place import RowLocation
from rankgate.data.qrels import SCHEMA, Qrels, check_rows
from rankgate.data.run import SCHEMA as RUN
from rankgate.data.run import Run

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.memory.matrices import Flat, MatrixInput


def from_arrays(
    labels: Any,
    scores: Any,
    *,
    mask: Any = None,
    padding: float | None = -1,
    query_ids: Sequence[object] | None = None,
    doc_ids: Sequence[object] | None = None,
    names: tuple[str, str] = ("qrels", "run"),
) -> tuple[Qrels, Run]:
    """Judgments and a run from labels and scores of the same shape, as rankers are trained.

    Row ``i`` is a query, column ``j`` its ``j``-th candidate. Where the mask is false, or the
    label is the padding, there is no candidate: neither its label nor its score counts. A label
    of NaN is an unjudged candidate, a score of NaN or minus infinity one that was not ranked.

    >>> qrels, run = from_arrays(np.array([[3, 0, -1]]), np.array([[0.2, 0.9, 7.0]]))
    >>> qrels.table.rows()
    [('0', '0', 3.0), ('0', '1', 0.0)]
    >>> run.table.rows()
    [('0', '0', 0.2), ('0', '1', 0.9)]

    Args:
        labels: ``(Q, D)``, or ``(D,)`` for one query.
        scores: the same shape.
        mask: the same shape; true where a candidate is there.
        padding: the label that says that there is no candidate; None for none.
        query_ids: ``Q`` ids; 0, 1, … if not given.
        doc_ids: ``D`` ids for columns that are one document in all rows; if not given, ids are
            the places 0, 1, … in the row.
        names: what to call the two.

    Raises:
        InputError: no numbers, other shapes, infinite labels or scores, ids that are not as many.
    """
    label, score = _dense_array(labels, names[0]), _dense_array(scores, names[1])
    is_candidate = np.ones(label.shape, np.bool_)
    if mask is not None:
        is_candidate = _dense_array(mask, "mask").astype(np.bool_)
    for array, array_name in ((score, names[1]), (is_candidate, "mask")):
        if array.shape != label.shape:
            problem = f"shape {array.shape}, where {names[0]} has {label.shape}; make them equal."
            raise InputError(problem, source=array_name, code="wrong-shape")
    if padding is not None:
        is_candidate &= label != padding
    rows, columns = np.nonzero(is_candidate)
    users = Ids.of(query_ids, label.shape[0], "query_ids")
    items = Ids.of(doc_ids, label.shape[1], "doc_ids")
    judged = _make_table(users, items, (rows, columns, label[rows, columns]), "grade")
    ranked = _make_table(users, items, (rows, columns, score[rows, columns]), "score")
    return _make_qrels(judged, users, names[0]), _make_run(ranked, users, names[1])


def qrels_of(labels: Any, name: str = "qrels") -> Qrels:
    """Judgments from a `Matrix`, `Lists` or an array; NaN and missing entries are unjudged.

    A row without judgments is an unknown user, like a user that a frame does not name.

    Raises:
        InputError: as `make_source`; or a negative label, which could be padding.
        DuplicateError: an item appears twice for a user.
    """
    source = make_source(labels, name)
    table = _make_table(source.users, source.items, read_grades(source), "grade")
    return Qrels(table, source.name, place=RowLocation(source.name))


def read_grades(source: MatrixInput) -> Flat:
    """Row, item and grade of all judgments; each item of lists without grades has grade 1.

    Raises:
        InputError: a negative grade, one that is not finite.
        DuplicateError: an item appears twice for a user.
    """
    rows, columns, grades = source.flat(slice(0, source.users.size))
    if isinstance(source, Padded) and source.values is None:
        return rows, columns, np.ones(len(rows))
    if (grades < 0).any():
        problem = (
            "a negative label, which pads rows as a rule, and then the scores are padded too; "
            "give both to rankgate.from_arrays, or items by number as rankgate.Lists."
        )
        raise InputError(problem, source=source.name, code="negative-label")
    if not np.isfinite(grades).all():
        raise InputError(
            "grade inf is not a finite number.", source=source.name, code="not-a-number"
        )
    return rows, columns, grades


def run_of(scores: Any, name: str = "run") -> Run:
    """A run from a `Matrix`, `Lists` or an array; NaN and minus infinity are not ranked.

    Raises:
        InputError: as `make_source`.
    """
    source = make_source(scores, name)
    return _make_run(next(run_frames(source)), source.users, source.name)


def run_frames(source: MatrixInput) -> Iterator[pl.DataFrame]:
    """Yield all entries of a source as the rows of a run."""
    rows = slice(0, source.users.size)
    entries = source.flat(rows, refuse=False) if isinstance(source, Padded) else source.flat(rows)
    yield _make_table(source.users, source.items, entries, "score")


def _make_table(users: Ids, items: Ids, entries: Flat, name: str) -> pl.DataFrame:
    """One row for each entry."""
    rows, columns, values = entries
    ids = users.names.gather(rows).alias("query_id"), items.names.gather(columns).alias("doc_id")
    return pl.DataFrame([*ids, pl.Series(name, values)])


def _make_qrels(table: pl.DataFrame, users: Ids, name: str) -> Qrels:
    judged = table.filter(pl.col("grade").is_not_nan())
    unjudged_queries = users.names.filter(~users.names.is_in(judged["query_id"].unique().implode()))
    location = RowLocation(name)
    return Qrels(
        judged.select(*SCHEMA), name, unjudged=tuple(unjudged_queries.to_list()), place=location
    )


def _make_run(table: pl.DataFrame, users: Ids, name: str) -> Run:
    score = pl.col("score")
    ranked = table.filter(score.is_not_nan() & (score != -np.inf)).select(*RUN)
    location = RowLocation(name)
    check_rows(ranked, "score", location)
    empty_queries = users.names.filter(~users.names.is_in(ranked["query_id"].unique().implode()))
    states = pl.DataFrame([empty_queries.alias("query_id")]).with_columns(state=pl.lit("zero"))

    def pieces() -> Iterator[pl.DataFrame]:
        yield ranked

    return Run(
        name, pieces, queries=states if len(empty_queries) else None, place=location, ordered=False
    )


def _dense_array(table: Any, name: str) -> NDArray[np.float64]:
    """An array as ``(Q, D)`` floats."""
    if hasattr(table, "tocoo"):
        problem = (
            "a sparse matrix, in which missing values and zeros look the same; give a dense array."
        )
        raise InputError(problem, source=name, code="wrong-type")
    array = require_numbers(to_numpy(table, name), name).astype(np.float64)
    array = array[None, :] if array.ndim == 1 else array
    refuse_shape(array, name, "(queries, documents)")
    return array
