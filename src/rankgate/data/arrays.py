"""Judgments and runs from arrays: a row a query, a column a document, or sparse.

NumPy arrays, tensors of any library that speaks DLPack, and SciPy's sparse matrices; none of
these libraries but NumPy is imported.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.data.place import Place
from rankgate.data.qrels import SCHEMA, Qrels, refuse_holes
from rankgate.data.run import SCHEMA as RUN
from rankgate.data.run import Run
from rankgate.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

_MATRIX = 2


def is_array(table: object) -> bool:
    """Whether something is an array: it speaks DLPack, or is a sparse matrix."""
    return hasattr(table, "__dlpack__") or hasattr(table, "tocoo")


def from_arrays(
    labels: Any,  # noqa: ANN401 - any array
    scores: Any,  # noqa: ANN401 - as above
    *,
    mask: Any = None,  # noqa: ANN401 - as above
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
            told = f"shape {other.shape}, where {names[0]} has {label.shape}; give both alike."
            raise InputError(told, source=what)
    if padding is not None:
        there &= label != padding
    rows, columns = np.nonzero(there)
    ids = _Ids(label.shape, query_ids, doc_ids)
    judged = _qrels(ids.table(rows, columns, "grade", label[rows, columns]), ids, names[0])
    ranked = _run(ids.table(rows, columns, "score", score[rows, columns]), ids, names[1])
    return judged, ranked


def qrels_of(labels: Any, name: str = "qrels") -> Qrels:  # noqa: ANN401 - any array
    """Judgments from labels alone; NaN is unjudged, and so is what a sparse matrix leaves out.

    Raises:
        InputError: as `from_arrays`; or a negative label, which could be padding and could not
            be taken out of the scores.
    """
    rows, columns, values, shape = _entries(labels, name)
    if (values < 0).any():
        problem = (
            "a negative label, which pads rows as a rule, and then the scores are padded too; "
            "give both to rankgate.from_arrays."
        )
        raise InputError(problem, source=name)
    ids = _Ids(shape)
    return _qrels(ids.table(rows, columns, "grade", values), ids, name)


def run_of(scores: Any, name: str = "run") -> Run:  # noqa: ANN401 - any array
    """A run from scores alone; NaN and minus infinity are not ranked, as what is left out.

    Raises:
        InputError: as `from_arrays`.
    """
    rows, columns, values, shape = _entries(scores, name)
    ids = _Ids(shape)
    return _run(ids.table(rows, columns, "score", values), ids, name)


class _Ids:
    """The ids of rows and columns."""

    def __init__(
        self,
        shape: tuple[int, ...],
        query_ids: Sequence[object] | None = None,
        doc_ids: Sequence[object] | None = None,
    ) -> None:
        self.queries = _named(query_ids, shape[0], "query_ids")
        self._documents = _named(doc_ids, shape[1], "doc_ids")

    def table(
        self, rows: NDArray[np.int64], columns: NDArray[np.int64], name: str, values: NDArray[Any]
    ) -> pl.DataFrame:
        """One row an entry."""
        ids = [self.queries.gather(rows), self._documents.gather(columns)]
        pair = [each.alias(key) for each, key in zip(ids, ("query_id", "doc_id"), strict=True)]
        return pl.DataFrame([*pair, pl.Series(name, values.astype(np.float64))])


def _named(ids: Sequence[object] | None, length: int, what: str) -> pl.Series:
    names = [str(each) for each in (range(length) if ids is None else ids)]
    if len(names) != length:
        problem = f"{len(names)} of them for {length} in the array; give one for each."
        raise InputError(problem, source=what)
    return pl.Series(names, dtype=pl.String)


def _qrels(table: pl.DataFrame, ids: _Ids, name: str) -> Qrels:
    judged = table.filter(pl.col("grade").is_not_nan())
    without = ids.queries.filter(~ids.queries.is_in(judged["query_id"].unique().implode()))
    place = Place(name)
    return Qrels(judged.select(*SCHEMA), name, unjudged=tuple(without.to_list()), place=place)


def _run(table: pl.DataFrame, ids: _Ids, name: str) -> Run:
    score = pl.col("score")
    ranked = table.filter(score.is_not_nan() & (score != -np.inf)).select(*RUN)
    place = Place(name)
    refuse_holes(ranked, "score", place)
    empty = ids.queries.filter(~ids.queries.is_in(ranked["query_id"].unique().implode()))
    states = pl.DataFrame([empty.alias("query_id")]).with_columns(state=pl.lit("zero"))

    def pieces() -> Iterator[pl.DataFrame]:
        yield ranked

    return Run(name, pieces, queries=states if len(empty) else None, place=place)


def _entries(
    table: Any,  # noqa: ANN401 - any array
    name: str,
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.float64], tuple[int, ...]]:
    """Rows, columns and values of what is there."""
    if hasattr(table, "tocoo"):
        found = table.tocoo()
        if len(found.shape) != _MATRIX:
            raise InputError(f"shape {found.shape}, where rows of queries are needed.", source=name)
        row, column = np.asarray(found.row, np.int64), np.asarray(found.col, np.int64)
        order = np.lexsort((column, row))
        return row[order], column[order], _numbers(np.asarray(found.data), name)[order], found.shape
    array = _dense(table, name)
    rows, columns = np.nonzero(~np.isnan(array))
    return rows, columns, array[rows, columns], array.shape


def _dense(table: Any, name: str) -> NDArray[np.float64]:  # noqa: ANN401 - any array
    """An array as ``(Q, D)`` floats."""
    if hasattr(table, "tocoo"):
        problem = "a sparse matrix, whose gaps are not told from zeros here; give a whole array."
        raise InputError(problem, source=name)
    array = _numbers(_taken(table, name), name)
    array = array[None, :] if array.ndim == 1 else array
    if array.ndim != _MATRIX:
        problem = f"shape {array.shape}, where (queries, documents) is needed; reshape it."
        raise InputError(problem, source=name)
    return array


def _taken(table: Any, name: str) -> NDArray[Any]:  # noqa: ANN401 - any array
    if isinstance(table, np.ndarray | list | tuple) or not hasattr(table, "__dlpack__"):
        try:
            return np.asarray(table)
        except ValueError:  # rows of several lengths
            problem = "rows of several lengths; pad them, and give the mask to from_arrays."
            raise InputError(problem, source=name) from None
    try:
        return np.from_dlpack(table)
    except (BufferError, RuntimeError, TypeError, ValueError) as error:
        problem = f"no array of the main memory: {str(error).splitlines()[0]}"
        mend = "detach it and move it there, as with .detach().cpu()."
        raise InputError(f"{problem.rstrip('.')}; {mend}", source=name) from None


def _numbers(array: NDArray[Any], name: str) -> NDArray[np.float64]:
    if array.dtype.kind not in "biuf":
        problem = f"an array of {array.dtype}, where numbers are needed; turn it into floats."
        raise InputError(problem, source=name)
    return array.astype(np.float64)
