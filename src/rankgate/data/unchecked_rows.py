"""The rows of a file with their faults: duplicates, empty ids and numbers that cannot be read.

A reader raises an error for the first of them; `validate` reports all.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.data.table_rows import NUMBER_COLUMNS, RowLocation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.qrels import Scale
    from rankgate.data.streams.source import InputKind


@dataclass(frozen=True)
class RawQrels:
    """Unchecked judgments.

    Attributes:
        table: ``query_id``, ``doc_id``, ``grade``; perhaps ``iteration`` and ``written``.
        scale: the grades that were possible, if known.
        unjudged: queries that the file names without judgments.
        place: the location of the rows.
    """

    table: pl.DataFrame
    scale: Scale | None = None
    unjudged: tuple[str, ...] = ()
    place: RowLocation = field(default=RowLocation("qrels"))

    @cached_property
    def graded(self) -> pl.DataFrame:
        """The rows with an id and a finite grade, numbered by ``row``."""
        return self.table.with_row_index("row").filter(
            pl.col("grade").is_finite() & pl.col("query_id").is_not_null()
        )

    @cached_property
    def grades(self) -> pl.DataFrame:
        """``grade`` and ``len``: the number of times that each grade was given, lowest first."""
        return self.graded.group_by("grade").len().sort("grade")

    @cached_property
    def query_ids(self) -> pl.Series:
        """Every query, in the order of the file."""
        return self.graded["query_id"].unique(maintain_order=True)


@dataclass(frozen=True)
class Outline:
    """The facts of a run that other runs are compared with.

    Attributes:
        name: the name of the run.
        depth: the number of documents in its longest list.
        query_ids: its queries.
    """

    name: str
    depth: int
    query_ids: frozenset[str]


@dataclass(frozen=True)
class RawRun:
    """An unchecked run.

    Attributes:
        name: the name of the run.
        table: ``query_id``, ``doc_id``, ``score``; perhaps ``rank`` and ``written``.
        place: the location of the rows.
        tasks: the tasks that rankings belong to, if the run has tasks.
    """

    name: str
    table: pl.DataFrame
    place: RowLocation = field(default=RowLocation("run"))
    tasks: pl.Series | None = None

    @cached_property
    def _grouped(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The rows grouped by query, and the start of each query."""
        queries = self.table["query_id"].fill_null("")
        lengths = queries.rle().struct.field("len").to_numpy().astype(np.int64)
        starts = np.cumsum(lengths) - lengths
        rows = np.arange(len(queries))
        if queries.gather(starts).n_unique() < len(starts):
            first = pl.col("row").min().over("query_id")
            numbered_queries = queries.to_frame("query_id").with_row_index("row")
            codes = numbered_queries.select(first)["row"].cast(pl.Int64).to_numpy()
            rows = np.argsort(codes, kind="stable")
            starts = np.flatnonzero(np.diff(codes[rows], prepend=-1))
        return rows, starts

    @property
    def rows(self) -> NDArray[np.int64]:
        """``(n,)``: the rows of the table, grouped by query, in their order."""
        return self._grouped[0]

    @property
    def starts(self) -> NDArray[np.int64]:
        """``(T,)``: the start of each query among `rows`."""
        return self._grouped[1]

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """``(T,)``: the number of documents of each query."""
        return np.diff(self.starts, append=len(self.table))

    @cached_property
    def query_ids(self) -> pl.Series:
        """``(T,)``: the queries, in the order of the file."""
        return self.table["query_id"].gather(self.rows[self.starts])

    @cached_property
    def score(self) -> NDArray[np.float64]:
        """``(n,)``: the scores of `rows`; invalid numbers are NaN."""
        return self._column("score")

    @cached_property
    def rank(self) -> NDArray[np.float64] | None:
        """``(n,)``: the rank column of `rows`, if there is one."""
        return self._column("rank") if "rank" in self.table.columns else None

    def _column(self, name: str) -> NDArray[np.float64]:
        values = self.table[name].fill_null(float("nan")).to_numpy()
        column: NDArray[np.float64] = values if len(self.starts) < 1 else values[self.rows]
        return column

    @cached_property
    def follows(self) -> NDArray[np.bool_]:
        """``(n - 1,)``: True if a row belongs to the query of the row before it."""
        is_same_query = np.ones(max(len(self.table) - 1, 0), bool)
        is_same_query[self.starts[1:] - 1] = False
        return is_same_query

    def by_query(self, flags: NDArray[np.bool_]) -> NDArray[np.int64]:
        """``(T,)``: the number of flagged rows of each query."""
        if not len(self.starts):
            return np.zeros(0, np.int64)
        return np.add.reduceat(flags.astype(np.int64), self.starts)

    def steps(self, *, up: bool) -> NDArray[np.bool_]:
        """``(n,)``: True if the score of a row is above (or below) that of the row before."""
        is_step = np.zeros(len(self.score), bool)
        scores_before, scores_after = self.score[:-1], self.score[1:]
        is_step[1:] = (
            (scores_after > scores_before) if up else (scores_after < scores_before)
        ) & self.follows
        return is_step

    @cached_property
    def best_first(self) -> NDArray[np.int64]:
        """``(n,)``: positions in `rows`, each query's in order of falling score."""
        if not self.steps(up=True).any():
            return np.arange(len(self.table))
        owner = np.repeat(np.arange(len(self.starts)), self.lengths)
        return np.lexsort((-self.score, owner))

    @cached_property
    def tied(self) -> NDArray[np.bool_]:
        """``(n,)``: True if a row in the order of `best_first` has the score of the row before."""
        scores = self.score[self.best_first]
        is_tied = np.zeros(len(scores), bool)
        is_tied[1:] = (scores[1:] == scores[:-1]) & np.isfinite(scores[1:]) & self.follows
        return is_tied

    def tops(self, depth: int) -> pl.DataFrame:
        """The best rows of each query: ``query_id``, ``doc_id``, ``position`` from 1."""
        position = np.arange(len(self.table)) - np.repeat(self.starts, self.lengths)
        is_top = position < depth
        top_rows = self.table.select("query_id", "doc_id")[self.rows[self.best_first][is_top]]
        return top_rows.with_columns(pl.Series("position", position[is_top] + 1))

    @property
    def outline(self) -> Outline:
        """The summary that is kept after the rows are dropped."""
        return Outline(self.name, int(self.lengths.max(initial=0)), frozenset(self.query_ids))


def unchecked_rows(
    input_kind: InputKind, frames: Iterable[pl.DataFrame], name: str, location: RowLocation
) -> RawQrels | RawRun:
    """Judgments or a run of unchecked rows; a missing score is made from the rank or the order of lines.

    Args:
        input_kind: judgments or a run.
        frames: ``query_id``, ``doc_id`` and ``grade`` or ``score`` (Float64; null where the field is
            empty or not a number); ``rank`` or ``iteration`` where the file has that column; ``written``
            where a number is not finite anywhere.
        name: the name of a run.
        location: the location of the rows.
    """
    number = NUMBER_COLUMNS[input_kind]
    rank = pl.col("rank").cast(pl.Float64, strict=False)
    empty_frame = pl.DataFrame(schema={"query_id": pl.String, "doc_id": pl.String, number: pl.Float64})
    ranked_frames = [frame.with_columns(rank) if "rank" in frame.columns else frame for frame in frames]
    table = pl.concat(ranked_frames or [empty_frame], how="diagonal")
    if number not in table.columns:
        line_order = -pl.int_range(pl.len()).cast(pl.Float64)
        score = -pl.col("rank") if "rank" in table.columns else line_order
        table = table.select("query_id", "doc_id", score.alias(number))
    return RawQrels(table, place=location) if input_kind == "qrels" else RawRun(name, table, location)
