"""Input of checks: the raw rows of a file, and facts that several checks need."""

from __future__ import annotations

from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.data.place import Place

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.contents import FileContents
    from rankgate.data.qrels import Scale

PAIR = ["query_id", "doc_id"]


@dataclass(frozen=True)
class Bytes:
    """The beginning of a file, unpacked.

    Attributes:
        head: its first bytes, a byte order mark kept.
        separator: what is between fields, where the file is a table with a header.
        guarded: whether the format takes away the blank that guards against formulas.
        guess: what the file is taken for where only the number of fields says so; else empty.
        name: of the file.
    """

    head: bytes
    separator: str | None = None
    guarded: bool = False
    guess: str = ""
    name: str = ""


@dataclass(frozen=True)
class RawQrels:
    """Judgments as they are.

    Attributes:
        table: ``query_id``, ``doc_id``, ``grade``; perhaps ``iteration`` and ``written``.
        scale: the grades that were possible, where that is known.
        unjudged: queries that are named without any judgment.
        place: where rows are.
    """

    table: pl.DataFrame
    scale: Scale | None = None
    unjudged: tuple[str, ...] = ()
    place: Place = field(default=Place("qrels"))

    @cached_property
    def graded(self) -> pl.DataFrame:
        """The rows with an id and a finite grade, numbered by ``row``."""
        return self.table.with_row_index("row").filter(
            pl.col("grade").is_finite() & pl.col("query_id").is_not_null()
        )

    @cached_property
    def grades(self) -> pl.DataFrame:
        """``grade`` and ``len``: how often each grade was given, the lowest first."""
        return self.graded.group_by("grade").len().sort("grade")

    @cached_property
    def query_ids(self) -> pl.Series:
        """Every query, in the order in which they come."""
        return self.graded["query_id"].unique(maintain_order=True)


@dataclass(frozen=True)
class RawRun:
    """A run as it is.

    Attributes:
        name: of the run.
        table: ``query_id``, ``doc_id``, ``score``; perhaps ``rank`` and ``written``.
        place: where rows are.
        tasks: the tasks that rankings belong to, where the run says so.
    """

    name: str
    table: pl.DataFrame
    place: Place = field(default=Place("run"))
    tasks: pl.Series | None = None

    @cached_property
    def _grouped(self) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """The rows with those of each query together, and where each query begins."""
        queries = self.table["query_id"].fill_null("")
        lengths = queries.rle().struct.field("len").to_numpy().astype(np.int64)
        starts = np.cumsum(lengths) - lengths
        rows = np.arange(len(queries))
        if queries.gather(starts).n_unique() < len(starts):
            first = pl.col("row").min().over("query_id")
            numbered = queries.to_frame("query_id").with_row_index("row")
            codes = numbered.select(first)["row"].cast(pl.Int64).to_numpy()
            rows = np.argsort(codes, kind="stable")
            starts = np.flatnonzero(np.diff(codes[rows], prepend=-1))
        return rows, starts

    @property
    def rows(self) -> NDArray[np.int64]:
        """``(n,)``: the table's rows with those of each query together, in their order."""
        return self._grouped[0]

    @property
    def starts(self) -> NDArray[np.int64]:
        """``(T,)``: where each query begins among `rows`."""
        return self._grouped[1]

    @cached_property
    def lengths(self) -> NDArray[np.int64]:
        """``(T,)``: documents of each query."""
        return np.diff(self.starts, append=len(self.table))

    @cached_property
    def query_ids(self) -> pl.Series:
        """``(T,)``: the queries, in the order in which they come."""
        return self.table["query_id"].gather(self.rows[self.starts])

    @cached_property
    def score(self) -> NDArray[np.float64]:
        """``(n,)``: the scores of `rows`; what is not a number is NaN."""
        return self._column("score")

    @cached_property
    def rank(self) -> NDArray[np.float64] | None:
        """``(n,)``: what the rank column says of `rows`, if there is one."""
        return self._column("rank") if "rank" in self.table.columns else None

    def _column(self, name: str) -> NDArray[np.float64]:
        values = self.table[name].fill_null(float("nan")).to_numpy()
        found: NDArray[np.float64] = values if len(self.starts) < 1 else values[self.rows]
        return found

    @cached_property
    def follows(self) -> NDArray[np.bool_]:
        """``(n - 1,)``: whether a row belongs to the query of the row before it."""
        same = np.ones(max(len(self.table) - 1, 0), bool)
        same[self.starts[1:] - 1] = False
        return same

    def by_query(self, flags: NDArray[np.bool_]) -> NDArray[np.int64]:
        """``(T,)``: how many of some rows, ``(n,)``, each query has."""
        if not len(self.starts):
            return np.zeros(0, np.int64)
        return np.add.reduceat(flags.astype(np.int64), self.starts)

    def steps(self, *, up: bool) -> NDArray[np.bool_]:
        """``(n,)``: whether a row's score is above (or below) that of the row before it."""
        found = np.zeros(len(self.score), bool)
        before, after = self.score[:-1], self.score[1:]
        found[1:] = ((after > before) if up else (after < before)) & self.follows
        return found

    @cached_property
    def best_first(self) -> NDArray[np.int64]:
        """``(n,)``: places among `rows`, each query's by falling score."""
        if not self.steps(up=True).any():
            return np.arange(len(self.table))
        owner = np.repeat(np.arange(len(self.starts)), self.lengths)
        return np.lexsort((-self.score, owner))

    @cached_property
    def tied(self) -> NDArray[np.bool_]:
        """``(n,)``: whether the row at a place of `best_first` has the score of the one before."""
        score = self.score[self.best_first]
        found = np.zeros(len(score), bool)
        found[1:] = (score[1:] == score[:-1]) & np.isfinite(score[1:]) & self.follows
        return found

    def tops(self, depth: int) -> pl.DataFrame:
        """The best rows of each query: ``query_id``, ``doc_id``, ``position`` from 1."""
        at = np.arange(len(self.table)) - np.repeat(self.starts, self.lengths)
        best = at < depth
        result = self.table.select(PAIR)[self.rows[self.best_first][best]]
        return result.with_columns(pl.Series("position", at[best] + 1))

    @property
    def outline(self) -> Outline:
        """What is left of it when its rows are let go."""
        return Outline(self.name, int(self.lengths.max(initial=0)), frozenset(self.query_ids))


@dataclass(frozen=True)
class Outline:
    """What a run is compared with others by.

    Attributes:
        name: of the run.
        depth: documents of its longest list.
        query_ids: its queries.
    """

    name: str
    depth: int
    query_ids: frozenset[str]


@dataclass(frozen=True)
class Both:
    """A run with the judgments that it is to be scored by."""

    judged: RawQrels
    ranked: RawRun

    @cached_property
    def met(self) -> pl.DataFrame:
        """Documents among the first 1000 of a query that are judged: ``position``, ``grade``."""
        graded = self.judged.graded.select(*PAIR, "grade")
        known = graded["query_id"].unique().implode()
        tops = self.ranked.tops(1000).filter(pl.col("query_id").is_in(known))
        return tops.join(graded, on=PAIR)


@dataclass(frozen=True)
class RawQueries:
    """A file of queries with the judgments that they belong to."""

    judged: RawQrels
    query_ids: pl.Series


@dataclass(frozen=True)
class Subject:
    """One file with everything that is in it.

    Attributes:
        label: what to call it.
        format: its format.
        reason: why it was taken for that.
        bytes: its beginning.
        contents: what a reader made of it; None where the rows alone were read.
        judged: its judgments.
        ranked: its runs.
    """

    label: str
    format: str
    reason: str
    bytes: Bytes
    contents: FileContents | None = None
    judged: RawQrels | None = None
    ranked: tuple[RawRun, ...] = ()
