"""Judgments, runs and ratings in figures."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.data.files.checks.subject import PAIR, RawRun

if TYPE_CHECKING:
    from rankgate.data.qrels import Qrels
    from rankgate.data.ratings import Ratings
    from rankgate.data.run import Run


@dataclass(frozen=True)
class Spread:
    """Documents of a query: the fewest, the middle, the most."""

    least: int
    median: float
    most: int


@dataclass(frozen=True)
class Judgments:
    """A set of judgments in figures.

    Attributes:
        name: of the set.
        queries: with judgments.
        unjudged: queries that are named and have none.
        judgments: pairs with a grade.
        documents: different ones.
        per_query: judgments of a query.
        grades: how often each was given, the lowest first.
        without_positive: queries without a document of a positive grade.
        scale: the lowest and highest grade that were possible, if it is known.
        sha256: of the canonical table, the same in any format.
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
        lowest, highest: of the scores.
        sha256: of the canonical table, the same in any format.
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
    """A run in figures; reads all of it."""
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
