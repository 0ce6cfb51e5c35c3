"""The declaration of checks and their findings, and the input of checks.

The input has the raw rows of a file, and facts that several checks need.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import field
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.number_formats import count_noun
from rankgate.data.table_rows import RowLocation

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.file_contents import FileContents
    from rankgate.data.qrels import Scale


Severity = Literal["error", "warning", "note"]
"""An error stops rankgate from reading or scoring; a warning changes values; a note is for
information."""

Needs = Literal["failure", "bytes", "contents", "qrels", "ratings", "run", "runs", "both", "queries", "texts"]
"""The input of a check: why a file cannot be read (InputError), its `Bytes`, its `Contents`, its
judgments (`Judged`), `Ratings`, a run (`Ranked`), all runs (`Outline`), a run with judgments
(`Both`), a file of queries with judgments (`Asked`), a table of queries with their texts."""

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")
"""The severities, the gravest first."""


@dataclass(frozen=True)
class Found:
    """One finding of a check.

    Attributes:
        what: the message with its figures.
        count: the number of affected rows, queries or ids.
        mend: the remedy.
        example: one of the affected rows, queries or ids.
        row: the first affected row of the table; None if there is no row.
        line: the line of that row, if the line is known but the row is not.
        severity: the severity, if it differs from that of the check.
    """

    what: str
    count: int
    mend: str
    example: str = ""
    row: int | None = None
    line: int | None = None
    severity: Severity | None = None


@dataclass(frozen=True)
class Check:
    """A check for one problem in a file.

    Attributes:
        name: its name in findings and documentation.
        severity: the severity of its findings.
        needs: the kind of input that `find` takes.
        title: the problem that the check looks for, in one sentence.
        find: a function that yields findings; nothing if there is no problem.
    """

    name: str
    severity: Severity
    needs: Needs
    title: str
    find: Callable[[Any], Iterable[Found]]


def check(
    name: str, severity: Severity, needs: Needs, title: str
) -> Callable[[Callable[[Any], Iterable[Found]]], Check]:
    """Return a decorator that makes a check from a function; arguments as in `Check`."""
    return lambda find: Check(name, severity, needs, title, find)


def find_without_id(is_without: pl.Series) -> Iterator[Found]:
    """Find the marked rows, which lack the id of a query or document."""
    rows = is_without.arg_true()
    if len(rows):
        yield Found(
            f"{count_noun(len(rows), 'row')} without the id of a query or document",
            len(rows),
            "write the ids, or remove the rows",
            row=int(rows[0]),
        )


def first_few(rows: Iterable[object], max_count: int = 5) -> str:
    """The first values of several, separated by commas.

    >>> first_few([1, 2, 3], 2)
    '1, 2, …'
    """
    texts = list(map(str, rows))
    return ", ".join(texts[:max_count]) + (", …" if len(texts) > max_count else "")


PAIR = ["query_id", "doc_id"]


@dataclass(frozen=True)
class FileStart:
    """The first bytes of a file, uncompressed.

    Attributes:
        head: the first bytes, including a byte order mark.
        separator: the text between fields, if the file is a table with a header.
        guarded: True if the format removes the blank that guards against formulas.
        guess: the kind of file, if only the number of fields suggests it; else empty.
        name: the name of the file.
    """

    head: bytes
    separator: str | None = None
    guarded: bool = False
    guess: str = ""
    name: str = ""


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
        top_rows = self.table.select(PAIR)[self.rows[self.best_first][is_top]]
        return top_rows.with_columns(pl.Series("position", position[is_top] + 1))

    @property
    def outline(self) -> Outline:
        """The summary that is kept after the rows are dropped."""
        return Outline(self.name, int(self.lengths.max(initial=0)), frozenset(self.query_ids))


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
class ScoredRun:
    """A run with the judgments that score it."""

    judged: RawQrels
    ranked: RawRun

    @cached_property
    def judged_documents(self) -> pl.DataFrame:
        """Judged documents among the first 1000 of each query: ``position``, ``grade``."""
        graded = self.judged.graded.select(*PAIR, "grade")
        judged_queries = graded["query_id"].unique().implode()
        top_rows = self.ranked.tops(1000).filter(pl.col("query_id").is_in(judged_queries))
        return top_rows.join(graded, on=PAIR)


@dataclass(frozen=True)
class RawQueries:
    """A file of queries with their judgments."""

    judged: RawQrels
    query_ids: pl.Series


@dataclass(frozen=True)
class Subject:
    """One file with all its contents.

    Attributes:
        label: its name in messages.
        format: its format.
        reason: the reason for that format.
        bytes: its first bytes.
        contents: the result of a reader; None if only the raw rows were read.
        judged: the judgments in it.
        ranked: the runs in it.
    """

    label: str
    format: str
    reason: str
    bytes: FileStart
    contents: FileContents | None = None
    judged: RawQrels | None = None
    ranked: tuple[RawRun, ...] = ()
