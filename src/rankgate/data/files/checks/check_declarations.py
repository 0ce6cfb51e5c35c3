"""The declaration of checks and their findings, and the input of checks.

The input has the raw rows of a file, and facts that several checks need.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal, Self

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.number_formats import count_noun
from rankgate.data.qrels import RATINGS_SCHEMA
from rankgate.data.query_tags import CLUSTER, read_clusters, with_clusters

if TYPE_CHECKING:
    from rankgate.data.file_contents import FileContents
    from rankgate.data.unchecked_rows import RawQrels, RawRun


Severity = Literal["error", "warning", "note"]
"""An error stops rankgate from reading or scoring; a warning changes values; a note is for
information."""

Needs = Literal[
    "failure", "bytes", "contents", "qrels", "ratings", "run", "runs", "both", "queries", "texts", "golden"
]
"""The input of a check: why a file cannot be read (InputError), its `Bytes`, its `Contents`, its
judgments (`Judged`), `Ratings`, a run (`Ranked`), all runs (`Outline`), a run with judgments
(`Both`), a file of queries with judgments (`Asked`), a table of queries with their texts, all files of a
golden set (`GoldenSet`)."""

SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")
"""The severities, the gravest first."""


@dataclass(frozen=True)
class Found:
    """One finding of a check.

    Attributes:
        what: the message with its figures.
        count: the number of affected rows, queries or ids.
        fix: the remedy.
        example: one of the affected rows, queries or ids.
        row: the first affected row of the table; None if there is no row.
        line: the line of that row, if the line is known but the row is not.
        severity: the severity, if it differs from that of the check.
    """

    what: str
    count: int
    fix: str
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
class GoldenSet:
    """Judgments with all that is known beside them.

    Attributes:
        judged: the judgments.
        queries: ``query_id``, ``text``, ``cluster``.
        documents: ``doc_id``, ``title``, ``text`` of the corpus.
        ratings: the ratings behind the judgments.
        runs: the rows of systems that are judged with them, by name.
        now: the time, for ages.
    """

    judged: RawQrels
    queries: pl.DataFrame
    documents: pl.DataFrame
    ratings: pl.DataFrame
    runs: Mapping[str, pl.DataFrame]
    now: datetime

    @classmethod
    def from_subjects(cls, judged: RawQrels, subjects: Sequence[Subject], now: datetime) -> Self:
        """The golden set in several files, whose judgments are known."""
        contents = [subject.contents for subject in subjects if subject.contents is not None]
        ratings = [file.ratings.table for file in contents if file.ratings is not None]
        return cls(
            judged,
            _join_tables([file.queries for file in contents], "query_id", "text", CLUSTER),
            _join_tables([file.documents for file in contents], "doc_id", "title", "text"),
            pl.concat([RATINGS_SCHEMA.empty(), *ratings]),
            {run.name: run.table for subject in subjects for run in subject.ranked},
            now,
        )

    @property
    def relevant(self) -> pl.DataFrame:
        """The judgments with a positive grade."""
        return self.judged.graded.filter(pl.col("grade") > 0)

    @cached_property
    def units(self) -> int:
        """The number of clusters; a query without one is one of its own."""
        clusters = read_clusters([self.queries, with_clusters(self.queries.drop(CLUSTER))])
        return len({clusters.get(query, (query,)) for query in self.judged.query_ids})

    @property
    def is_clustered(self) -> bool:
        """True if clusters are much fewer than queries."""
        return self.units <= 0.8 * len(self.judged.query_ids)


def _join_tables(tables: Sequence[pl.DataFrame | None], *columns: str) -> pl.DataFrame:
    """All rows of tables, with these columns; texts of documents begin with the title."""
    frames = [table.select(set(columns) & set(table.columns)) for table in tables if table is not None]
    schema = dict.fromkeys(columns, pl.String)
    rows = pl.concat([pl.DataFrame(schema=schema), *frames], how="diagonal_relaxed")
    parts = [name for name in columns if name in {"title", "text"}]
    return rows.with_columns(text=pl.concat_str(parts, separator=" ", ignore_nulls=True))


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
