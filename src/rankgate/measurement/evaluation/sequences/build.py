"""Build the input of metrics on sequences from the rankings of tasks."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.measurement.evaluation.sequences.asked import SEQUENCE
from rankgate.measurement.metrics.sequences.sequence import NOTHING, Sequences

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.measurement.evaluation.sequences.tasks import Tasks

_CELLS = 1 << 22


@dataclass(frozen=True)
class TaskRows:
    """The rankings of tasks as tables.

    Attributes:
        tasks: the tasks of the rankings.
        rows: ``query_id``, ``rank``, ``doc_id``, ``source``, ``grade``, ``score``, and ``tokens``
            where lengths are known.
        values: by the name of a metric its value for each ranking, ``query_id`` to value.
    """

    tasks: Tasks
    rows: pl.DataFrame
    values: Mapping[str, Mapping[str, float]]

    def blocks(self) -> Iterator[tuple[slice, Sequences]]:
        """Blocks of tasks of bounded size: places among the names of tasks, and the input."""
        names = self.tasks.names
        code = pl.DataFrame({SEQUENCE: names}).with_row_index("g")
        table = self.tasks.table.join(code, on=SEQUENCE, maintain_order="left")
        table = table.with_columns(pl.int_range(pl.len()).over("g").alias("q"))
        rows = self.rows.join(table.select("query_id", "g", "q"), on="query_id")
        rows = rows.sort("g", "q", "rank").with_columns(
            (pl.col("rank") - 1).alias("k"), (pl.col("doc_id") == pl.col("query_id")).alias("same")
        )
        rows = rows.with_columns(pl.int_range(pl.len()).over("g", "q").alias("k"))
        pool = _pool(self.tasks, table)
        rows = _code_documents(rows)
        widest = _size(rows["k"]) * _size(table["q"])
        step = max(1, _CELLS // widest)
        for begin in range(0, len(names), step):
            end = min(begin + step, len(names))
            within = pl.col("g").is_between(begin, end - 1)
            local_code = (pl.col("g").cast(pl.Int64) - begin).alias("g")
            block_rows, calls, judged = (
                table_part.filter(within).with_columns(local_code)
                for table_part in (rows, table, pool)
            )
            yield slice(begin, end), self._block(block_rows, calls, judged, names[begin:end])

    def _block(
        self, rows: pl.DataFrame, table: pl.DataFrame, pool: pl.DataFrame, names: pl.Series
    ) -> Sequences:
        G = len(names)
        Q, K = _size(table["q"]), _size(rows["k"])
        cells = tuple(rows[name].to_numpy() for name in ("g", "q", "k"))
        places = tuple(table[name].to_numpy() for name in ("g", "q"))
        ids = table["query_id"].to_list()
        codes = dict(zip(rows["doc_id"].to_list(), rows["doc"].to_list(), strict=True))
        best = pool.filter(pl.col("grade") >= 0).sort("g", "grade", descending=[False, True])
        return Sequences(
            doc=_array((G, Q, K), cells, rows["doc"], NOTHING),
            grade=_array((G, Q, K), cells, rows["grade"], np.nan),
            source=_array((G, Q, K), cells, rows["source_code"], NOTHING),
            calls=np.bincount(places[0], minlength=G),
            ideal=_ragged(best, G, "grade", 0.0),
            judged=np.bincount(best["g"].to_numpy(), minlength=G),
            position=_array((G, Q), places, table["position"], np.nan),
            score=_array((G, Q, K), cells, rows["score"], 0.0),
            same=_array((G, Q, K), cells, rows["same"], False),  # noqa: FBT003 - the padding
            tokens=_array((G, Q, K), cells, rows["tokens"], 0.0)
            if "tokens" in rows.columns
            else None,
            spent=_array((G, Q), places, table["tokens"], np.nan),
            seconds=_array((G, Q), places, table["latency_ms"] / 1000, np.nan),
            letters=names.str.len_chars().to_numpy().astype(np.int64),
            right=_has_right_id(best, names),
            **_answers(self.tasks.answers, names, pool, codes),
            values={
                name: _array(
                    (G, Q),
                    places,
                    pl.Series([value_of_query.get(query_id) for query_id in ids], dtype=pl.Float64),
                    np.nan,
                )
                for name, value_of_query in self.values.items()
            },
        )


def _has_right_id(best: pl.DataFrame, names: pl.Series) -> NDArray[np.bool_]:
    """``(G,)``, True if the id of a task is one of its relevant documents."""
    matches = best.filter((pl.col("grade") >= 1) & (names.gather(best["g"]) == best["doc_id"]))
    is_right = np.zeros(len(names), bool)
    is_right[matches["g"].to_numpy()] = True
    return is_right


def _size(places: pl.Series) -> int:
    """The number of cells for places that begin with 0; at least one."""
    return 1 + int(places.to_numpy().max(initial=0))


def _pool(tasks: Tasks, table: pl.DataFrame) -> pl.DataFrame:
    """All judged documents of each task, with their best grades: ``g``, ``doc_id``, ``grade``."""
    owner = table.select("query_id", "g")
    grouped = tasks.judgments.table.join(owner, on="query_id").group_by("g", "doc_id")
    return grouped.agg(pl.col("grade").max())


def _code_documents(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows with documents as numbers."""
    names = pl.concat([rows["doc_id"], rows["source"].alias("doc_id")]).unique().sort()
    ids = pl.DataFrame({"doc_id": names}).with_row_index("doc")
    ids = ids.with_columns(pl.col("doc").cast(pl.Int64))
    sources = ids.rename({"doc_id": "source", "doc": "source_code"})
    return rows.join(ids, on="doc_id", maintain_order="left").join(
        sources, on="source", maintain_order="left"
    )


def _answers(
    answers: pl.DataFrame, names: pl.Series, pool: pl.DataFrame, codes: Mapping[str, int]
) -> dict[str, Any]:
    """The answers of tasks; documents that were never shown have codes below `NOTHING`."""
    if answers.is_empty():
        return {}
    tasks = pl.DataFrame({SEQUENCE: names}).with_row_index("g")
    tasks = tasks.join(answers, on=SEQUENCE, how="left", maintain_order="left")
    cited = (
        tasks.select(pl.col("g").cast(pl.Int64), pl.col("cited").list.unique(maintain_order=True))
        .explode("cited")
        .drop_nulls()
    )
    graded = cited.join(
        pool, left_on=["g", "cited"], right_on=["g", "doc_id"], how="left", maintain_order="left"
    )
    unseen = {doc: -2 - i for i, doc in enumerate(graded["cited"].unique().to_list())}
    code = [codes.get(doc, unseen[doc]) for doc in graded["cited"].to_list()]
    graded = graded.with_columns(pl.Series("doc", code, dtype=pl.Int64))
    return {
        "cited": _ragged(graded, len(names), "doc", NOTHING),
        "cited_grade": _ragged(graded, len(names), "grade", np.nan),
        "answered": tasks["answered"].to_numpy().astype(np.float64),
    }


def _array(
    shape: tuple[int, ...], cells: tuple[NDArray[Any], ...], values: pl.Series, empty: float
) -> NDArray[Any]:
    """Put values into cells of an array; all others are empty."""
    cell_values = values.to_numpy()
    out = np.full(shape, empty, dtype=np.result_type(cell_values.dtype, type(empty)))
    out[cells] = cell_values
    return out


def _ragged(rows: pl.DataFrame, G: int, name: str, empty: float) -> NDArray[Any]:
    """One row a task, values in the order of rows, padded."""
    owner = rows["g"].to_numpy()
    lengths = np.bincount(owner, minlength=G)
    column = np.arange(len(owner)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    return _array((G, max(1, int(lengths.max(initial=0)))), (owner, column), rows[name], empty)
