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
from rankgate.data.memory.devices import home
from rankgate.data.memory.ids import Ids
from rankgate.data.memory.matrices import Padded, numbers, refuse_shape, source_of
from rankgate.data.place import Place
from rankgate.data.qrels import SCHEMA, Qrels, refuse_holes
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
    label, score = _dense(labels, names[0]), _dense(scores, names[1])
    there = np.ones(label.shape, np.bool_)
    if mask is not None:
        there = _dense(mask, "mask").astype(np.bool_)
    for other, what in ((score, names[1]), (there, "mask")):
        if other.shape != label.shape:
            words = f"shape {other.shape}, where {names[0]} has {label.shape}; make them equal."
            raise InputError(words, source=what, code="wrong-shape")
    if padding is not None:
        there &= label != padding
    rows, columns = np.nonzero(there)
    users = Ids.of(query_ids, label.shape[0], "query_ids")
    items = Ids.of(doc_ids, label.shape[1], "doc_ids")
    judged = _table(users, items, (rows, columns, label[rows, columns]), "grade")
    ranked = _table(users, items, (rows, columns, score[rows, columns]), "score")
    return _qrels(judged, users, names[0]), _run(ranked, users, names[1])


def qrels_of(labels: Any, name: str = "qrels") -> Qrels:
    """Judgments from a `Matrix`, `Lists` or an array; NaN is unjudged, and so is what is left out.

    A row without judgments is a user of whom nothing is known, as one that a frame does not name.

    Raises:
        InputError: as `source_of`; or a negative label, which could be padding.
        DuplicateError: an item appears twice for a user.
    """
    source = source_of(labels, name)
    table = _table(source.users, source.items, graded(source), "grade")
    return Qrels(table, source.name, place=Place(source.name))


def graded(source: MatrixInput) -> Flat:
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
        InputError: as `source_of`.
    """
    source = source_of(scores, name)
    return _run(next(pieces_of(source)), source.users, source.name)


def pieces_of(source: MatrixInput) -> Iterator[pl.DataFrame]:
    """All that is in a source as the rows of a run."""
    rows = slice(0, source.users.size)
    flat = source.flat(rows, refuse=False) if isinstance(source, Padded) else source.flat(rows)
    yield _table(source.users, source.items, flat, "score")


def _table(users: Ids, items: Ids, flat: Flat, name: str) -> pl.DataFrame:
    """One row an entry."""
    rows, columns, values = flat
    ids = users.names.gather(rows).alias("query_id"), items.names.gather(columns).alias("doc_id")
    return pl.DataFrame([*ids, pl.Series(name, values)])


def _qrels(table: pl.DataFrame, users: Ids, name: str) -> Qrels:
    judged = table.filter(pl.col("grade").is_not_nan())
    without = users.names.filter(~users.names.is_in(judged["query_id"].unique().implode()))
    place = Place(name)
    return Qrels(judged.select(*SCHEMA), name, unjudged=tuple(without.to_list()), place=place)


def _run(table: pl.DataFrame, users: Ids, name: str) -> Run:
    score = pl.col("score")
    ranked = table.filter(score.is_not_nan() & (score != -np.inf)).select(*RUN)
    place = Place(name)
    refuse_holes(ranked, "score", place)
    empty = users.names.filter(~users.names.is_in(ranked["query_id"].unique().implode()))
    states = pl.DataFrame([empty.alias("query_id")]).with_columns(state=pl.lit("zero"))

    def pieces() -> Iterator[pl.DataFrame]:
        yield ranked

    return Run(name, pieces, queries=states if len(empty) else None, place=place, ordered=False)


def _dense(table: Any, name: str) -> NDArray[np.float64]:
    """An array as ``(Q, D)`` floats."""
    if hasattr(table, "tocoo"):
        problem = (
            "a sparse matrix, in which missing values and zeros look the same; give a dense array."
        )
        raise InputError(problem, source=name, code="wrong-type")
    array = numbers(home(table, name), name).astype(np.float64)
    array = array[None, :] if array.ndim == 1 else array
    refuse_shape(array, name, "(queries, documents)")
    return array
