"""One scored system: values, lists and query states."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any

import polars as pl

from rankgate.core.errors import UsageError
from rankgate.core.frozen import ByContent, dataclass

SCORES = {
    "query_id": pl.String,
    "metric": pl.String,
    "value": pl.Float64,
    "why": pl.String,
}
"""Values of a system, long; null where undefined, with the kind of empty in ``why``."""

LISTS = {
    "query_id": pl.String,
    "rank": pl.Int64,
    "doc_id": pl.String,
    "grade": pl.Float64,
}
"""The first documents of each list; grade is null for a document without one."""

GIVEN_VALUES = "given values"
"""The convention name of values from another tool, with unknown axes."""

SERVED: dict[str, Any] = {"query_id": pl.String, "doc_ids": pl.List(pl.String)}
"""The first documents of the lists of users without judgments, the best first, then any tags."""

QUERIES = {
    "query_id": pl.String,
    "state": pl.String,
    "latency_ms": pl.Float64,
    "retrieved": pl.Int64,
    "judged": pl.Float64,
}
"""The data of each query of a system, then any tags: its state (ok, zero, failed, not_run),
its latency, the number of results, and the share of judged documents among the first ones."""


@dataclass(frozen=True)
class ScoredRun(ByContent):
    """One system, scored: all that a comparison needs to know of it.

    Attributes:
        name: the name of the run.
        tag: the name in the run's file.
        sha256: of the run.
        qrels: the name of the judgments.
        qrels_sha256: of the judgments.
        convention: name, axes and hash.
        metrics: the labels, in order.
        depth: the last rank of the lists, and the cutoff of ``judged``.
        scores: the columns of `SCORES`.
        lists: the columns of `LISTS`.
        queries: the columns of `QUERIES`, then tags.
        lower: the metrics that are better when lower.
        served: the columns of `SERVED`, then tags: the lists of users without judgments that
            metrics of lists count; None where they are not known.
        zeros_relevant: judgments of grade 0 that the convention's defaults count as relevant.
        cautions: as of `Counts`.
        without_seen: whether items that users had in training left their lists.
        concurrency: queries that were asked at the same time, where latencies were measured.
        earlier: as of `Run`.
        repeats: as of `Run`.
    """

    name: str
    tag: str | None
    sha256: str
    qrels: str
    qrels_sha256: str
    convention: Mapping[str, Any]
    metrics: tuple[str, ...]
    depth: int
    scores: pl.DataFrame
    lists: pl.DataFrame
    queries: pl.DataFrame
    lower: tuple[str, ...] = ()
    served: pl.DataFrame | None = None
    zeros_relevant: int = 0
    cautions: Mapping[str, str] = field(default_factory=dict)
    without_seen: bool = False
    concurrency: str = ""
    earlier: Any = field(default=None, compare=False, repr=False)
    repeats: tuple[Any, ...] = field(default=(), compare=False, repr=False)

    def __post_init__(self) -> None:
        for table, schema in (
            (self.scores, SCORES),
            (self.lists, LISTS),
            (self.queries, QUERIES),
        ):
            missing_columns = [name for name in schema if name not in table.columns]
            if missing_columns:
                raise UsageError(
                    f"{self.name}: a side needs the columns {', '.join(missing_columns)}.",
                    code="missing-column",
                )

    @property
    def tags(self) -> tuple[str, ...]:
        """The names of the tags that queries have."""
        return tuple(name for name in self.queries.columns if name not in {*QUERIES, "error"})

    @property
    def tagged(self) -> pl.DataFrame:
        """``query_id`` and the tags of each query, and of users without judgments if known."""
        tagged = self.queries.select("query_id", *self.tags)
        if self.served is None or not set(self.tags) <= set(self.served.columns):
            return tagged
        return pl.concat([tagged, self.served.select(tagged.columns)])
