"""The result of ``describe``: contents of files, and figures of judgments, runs and ratings.

The module holds the figures of judgments, runs and ratings, then the side tables of a
collection (their ids, and how many of them the judgments have), then the result.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import Result
from rankgate.data import read_qrels, read_run
from rankgate.data.column_map import map_columns
from rankgate.data.file_contents import Note  # noqa: TC001 - read by its type
from rankgate.data.files.checks.check_declarations import PAIR
from rankgate.data.foreign_frames import rename_columns
from rankgate.data.logs.item_tables import read_candidates, read_described_table
from rankgate.data.logs.large_logs import read_user_items
from rankgate.data.query_sample import Sample
from rankgate.data.query_tags import read_tags
from rankgate.data.unchecked_rows import RawRun
from rankgate.measurement.description.description_document import DESCRIPTION_LAYOUT

if TYPE_CHECKING:
    from rankgate.data.collection import Collection
    from rankgate.data.qrels import Qrels, Ratings
    from rankgate.data.run import Run


@dataclass(frozen=True)
class Spread:
    """The number of documents of a query: minimum, median and maximum."""

    least: int
    median: float
    most: int


@dataclass(frozen=True)
class Judgments:
    """A set of judgments in figures.

    Attributes:
        name: the name of the set.
        queries: with judgments.
        unjudged: queries without judgments that a file names.
        judgments: pairs with a grade.
        documents: different ones.
        per_query: judgments of a query.
        grades: the number of each grade, the lowest first.
        without_positive: queries without a document of a positive grade.
        scale: the lowest and highest grade that were possible, if it is known.
        sha256: the SHA-256 of the canonical table, the same in any format.
    """

    name: str
    queries: int
    unjudged: int
    judgments: int
    documents: int
    per_query: Spread | None
    grades: tuple[tuple[float, int], ...]
    without_positive: int
    scale: tuple[float, float] | None
    sha256: str

    @property
    def grade_counts(self) -> list[str]:
        """The first grades with their numbers."""
        more = [f"… {len(self.grades):,} different ones"] if len(self.grades) > _MOST_GRADES else []
        return [*(f"{grade:g}: {count:,}" for grade, count in self.grades[:_MOST_GRADES]), *more]

    @property
    def selection_advice(self) -> str:
        """What unjudged documents could mean, with its evidence; empty where nothing points to it."""
        if self.per_query is None or self.queries < _MIN_QUERIES:
            return ""
        if self.documents > 1 and self.judgments == self.queries * self.documents:
            return "complete: each document is judged for each query"
        if self.grades[0][0] <= 0:
            return ""
        count = f"{self.per_query.median:g}"
        if self.per_query.median <= _FEW_ANSWERS:
            return f"sparse: no grade is 0 or less, and a query has {count} judged in the median"
        return (
            f"no grade is 0 or less, with {count} judged a query in the median: complete if people looked at "
            "all documents, sparse if these are known answers only"
        )


_MOST_GRADES = 12  # grades to show; a set with more grades has no scale of steps
_MIN_QUERIES = 5
_FEW_ANSWERS = 2


@dataclass(frozen=True)
class RunSummary:
    """A run in figures.

    Attributes:
        name: the name of the run.
        tag: its tag, if it has one.
        queries: with documents.
        rows: ranked documents of all queries.
        documents: different ones.
        per_query: documents of a query.
        tied: rows with the score of the row above, in the order of scores.
        lowest, highest: the lowest and highest score.
        sha256: the SHA-256 of the canonical table, the same in any format.
    """

    name: str
    tag: str | None
    queries: int
    rows: int
    documents: int
    per_query: Spread | None
    tied: int
    lowest: float | None
    highest: float | None
    sha256: str


@dataclass(frozen=True)
class RatingSummary:
    """Ratings of single people in figures; ``shared`` are pairs with several raters."""

    ratings: int
    raters: int
    queries: int
    pairs: int
    shared: int
    ungraded: int


def summarise_judgments(qrels: Qrels) -> Judgments:
    """Judgments in figures."""
    table = qrels.table
    best = table.group_by("query_id").agg(n=pl.len(), best=pl.col("grade").max())
    return Judgments(
        name=qrels.name,
        queries=len(best),
        unjudged=len(qrels.unjudged),
        judgments=len(table),
        documents=table["doc_id"].n_unique(),
        per_query=_spread(best["n"]),
        grades=tuple(table.group_by("grade").len().sort("grade").rows()),
        without_positive=int((best["best"] <= 0).sum()),
        scale=(qrels.scale.lowest, qrels.scale.highest) if qrels.scale else None,
        sha256=qrels.sha256,
    )


def summarise_run(run: Run) -> RunSummary:
    """A run in figures; reads all rows of the run."""
    raw_run = RawRun(run.name, run.table)
    scores = run.table["score"]
    return RunSummary(
        name=run.name,
        tag=run.tag,
        queries=len(raw_run.query_ids),
        rows=len(run.table),
        documents=run.table["doc_id"].n_unique(),
        per_query=_spread(pl.Series(raw_run.lengths)),
        tied=int(raw_run.tied.sum()),
        lowest=scores.min(),  # type: ignore[arg-type]
        highest=scores.max(),  # type: ignore[arg-type]
        sha256=run.sha256,
    )


def _spread(lengths: pl.Series) -> Spread | None:
    if lengths.is_empty():
        return None
    return Spread(int(lengths.min()), float(lengths.median()), int(lengths.max()))  # type: ignore[arg-type]


def summarise_ratings(ratings: Ratings) -> RatingSummary:
    """Ratings in figures."""
    table = ratings.table
    graded = table.filter(pl.col("grade").is_not_null())
    pairs = graded.group_by(PAIR).agg(raters=pl.col("rater").n_unique())
    return RatingSummary(
        ratings=len(table),
        raters=table["rater"].n_unique(),
        queries=table["query_id"].n_unique(),
        pairs=table.select(PAIR).n_unique(),
        shared=int((pairs["raters"] > 1).sum()),
        ungraded=len(table) - len(graded),
    )


@dataclass(frozen=True)
class SideTable:
    """One table of a collection besides the judgments.

    Attributes:
        name: the field of the collection.
        source: its file, or ``in memory``.
        of: the kind of its ids: queries or documents.
        ids: different ids in it.
        judged: queries or documents that have judgments.
        matched: those of them that the table has.
    """

    name: str
    source: str
    of: str
    ids: int
    judged: int
    matched: int

    @property
    def missing(self) -> int:
        """Queries or documents with judgments that the table lacks."""
        return self.judged - self.matched


def side_tables(collection: Collection, qrels: Qrels) -> tuple[SideTable, ...]:
    """Read the tables that a collection names in addition to judgments.

    Raises:
        InputError: a table cannot be read.
    """
    judged = {"queries": qrels.table["query_id"].unique(), "documents": qrels.table["doc_id"].unique()}
    tables = []
    for name, (kind, read) in _TABLES.items():
        source = _source(collection, name)
        if source is None:
            continue
        ids = read(collection, source, judged["queries"]).cast(pl.String).drop_nulls().unique()
        matched = int(judged[kind].is_in(ids.implode()).sum())
        label = str(source) if isinstance(source, str | Path) else "in memory"
        tables.append(SideTable(name, label, kind, len(ids), len(judged[kind]), matched))
    return tuple(tables)


def _source(collection: Collection, name: str) -> Any:
    """The table of a field; None if the collection does not name it."""
    if name == "items":
        return collection.items.table
    if name in {"predicted", "saw"}:
        predicted = collection.predicted
        source = None if predicted is None else predicted.judgments if name != "saw" else predicted.saw
        return None if source in ("none", "unknown") else source
    source = getattr(collection, name)
    return None if isinstance(source, str) and source == "random" else source


def _sample(_: Collection, source: Any, queries: pl.Series) -> pl.Series:
    sample = Sample.read(source)
    table = sample.table if sample.table is not None else sample.documents
    return queries.clear() if table is None else table["query_id"]


def _judgments(collection: Collection, source: object, _: pl.Series) -> pl.Series:
    return read_qrels(map_columns(source, collection.columns, "qrels")).table["query_id"]


_Reader = Callable[["Collection", Any, pl.Series], pl.Series]

_TABLES: Mapping[str, tuple[str, _Reader]] = {
    "tags": ("queries", lambda _, source, queries: read_tags(source, queries)["query_id"]),
    "sample": ("queries", _sample),
    "predicted": ("queries", _judgments),
    "saw": ("queries", _judgments),
    "sequences": ("queries", lambda _, source, queries: read_tags(source, queries)["query_id"]),
    "items": ("documents", lambda _, source, __: read_described_table(source).ids),
    "users": ("queries", lambda _, source, __: read_described_table(source, "users").ids),
    "training": (
        "queries",
        lambda collection, source, _: read_user_items(rename_columns(source, collection.frame_columns)).users,
    ),
    "candidates": ("queries", lambda _, source, __: read_candidates(source)[0]["query_id"]),
    "reference": ("queries", lambda collection, source, _: read_run(collection.run_source(source)).query_ids),
}
"""For each field of a collection, the kind of its ids and the function that reads them."""


@dataclass(frozen=True)
class Description:
    """One file.

    Attributes:
        file: its name.
        format: the format it was read as, with the ``reason``.
        bytes: its size as it is stored.
        sha256: the SHA-256 of its bytes as they are stored; empty for what is in memory.
        judgments, runs, ratings: the judgments, runs and ratings in it.
        queries, documents, values: the numbers of rows of these kinds; None for a kind that it does
            not have.
        notes: notes of the reader.
        tables: the tables of a collection besides its judgments.
    """

    file: str
    format: str
    reason: str
    bytes: int
    sha256: str
    judgments: Judgments | None
    runs: tuple[RunSummary, ...]
    ratings: RatingSummary | None
    queries: int | None
    documents: int | None
    values: int | None
    notes: tuple[Note, ...]
    tables: tuple[SideTable, ...] = ()


@dataclass(frozen=True)
class SharedIds:
    """Ids that two files have in common, and the number of ids of each.

    Attributes:
        first, second: the files.
        queries: the queries of the first, of the second, of both.
        queries: numbers of the first, of the second, of both.
    """

    first: str
    second: str
    queries: tuple[int, int, int]
    documents: tuple[int, int, int]

    @property
    def shared_queries(self) -> int:
        """The number of queries of both."""
        return self.queries[2]

    @property
    def shared_documents(self) -> int:
        """The number of documents of both."""
        return self.documents[2]


@dataclass(frozen=True)
class JudgedDepth:
    """The share of judged documents in the first documents of a run.

    Attributes:
        qrels, run: the names.
        cutoff: the depth of the description.
        judged: the mean share of judged documents among the first ``cutoff``; None where no
            query is in both.
        queries: those that are in both.
    """

    qrels: str
    run: str
    cutoff: int
    judged: float | None
    queries: int


@dataclass(frozen=True)
class Descriptions(Result):
    """Some files, and what they have in common."""

    kind = "description"
    main_table = "file_hashes"
    label = "What the files hold"
    csv_table = None
    layout = DESCRIPTION_LAYOUT
    order = 90

    files: tuple[Description, ...]
    overlaps: tuple[SharedIds, ...]
    holes: tuple[JudgedDepth, ...]

    @property
    def file_hashes(self) -> pl.DataFrame:
        """A row for each file: ``file``, ``format``, ``bytes``, ``sha256``."""
        rows = [(file.file, file.format, file.bytes, file.sha256) for file in self.files]
        return pl.DataFrame(rows, ["file", "format", "bytes", "sha256"], orient="row")
