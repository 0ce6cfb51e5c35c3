"""Values: one metric, one query, and the counts behind them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, field
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.frozen import ByContent, dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.group_sums import GroupSums

REASONS = ("", "missing", "no relevant", "nothing retrieved", "nothing judged")
"""Reasons why a value is undefined, or substitutes an undefined one: the kinds of empty."""

_REASON_TEXTS = {number: reason or None for number, reason in enumerate(REASONS)}


_OPTIONAL_COUNTS = frozenset(
    {"against_scores", "zeros_relevant", "served_unjudged", "catalogue", "states", "cautions"}
)
"""Counts that only some runs, conventions and metrics have."""


@dataclass(frozen=True)
class Counts:
    """The counts behind the means of a run.

    Attributes:
        queries: queries that the means are over.
        missing: judged queries that the run does not have.
        zero_result: queries that ran and returned nothing.
        without_relevant: queries evaluated that have no relevant document.
        unknown_queries: queries of the run without judgments; they are left out.
        ties_broken: groups of equal scores within a query evaluated.
        judged_at: share of judged documents among the first k, mean over queries, by k.
        against_scores: queries ranked by the order of rows in the file, as the convention says,
            where scores would rank them otherwise.
        zeros_relevant: judgments of grade 0 that the convention's defaults count as relevant.
        served_unjudged: users without judgments whose lists count in metrics of lists.
        catalogue: of metrics of lists, the number of ``items``, whether the user ``stated`` them,
            and how many are known only from training, judgments or lists (``outside``).
        states: how many of the queries are ok, zero, failed and not_run, where the run says it.
        cautions: by code what the reader should know of the judgments and the run.
    """

    queries: int
    missing: int
    zero_result: int
    without_relevant: int
    unknown_queries: int
    ties_broken: int
    judged_at: Mapping[int, float] = field(default_factory=dict)
    against_scores: int = 0
    zeros_relevant: int = 0
    served_unjudged: int = 0
    catalogue: Mapping[str, Any] | None = None
    states: Mapping[str, int] = field(default_factory=dict)
    cautions: Mapping[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """As plain values; the cutoffs of ``judged_at`` become strings, as JSON needs."""
        judged_shares = {str(k): share for k, share in self.judged_at.items()}
        values = {**asdict(self), "judged_at": judged_shares}
        return {
            name: value for name, value in values.items() if value or name not in _OPTIONAL_COUNTS
        }


@dataclass(frozen=True)
class MeanParts:
    """The parts of means over queries: sums, which add up over batches.

    Attributes:
        means: by metric the exact sum (`ExactMean`), and how many queries have a hit.
        judged_at: by cutoff the mean share of judged documents.
        lists: for each metric on lists its sums; None where no lists were measured.
        judged_documents: how many judged documents were retrieved.
    """

    means: Mapping[str, Any] = field(default_factory=dict)
    judged_at: Mapping[int, Any] = field(default_factory=dict)
    lists: Sequence[Any] | None = None
    judged_documents: int = 0


@dataclass(frozen=True)
class RunScores(ByContent):
    """Values of several metrics for one run.

    Attributes:
        run: the run's name.
        tag: the name in the run's file.
        query_ids: ``(T,)``, the judged queries that count, in byte order.
        values: by metric as written, ``(T,)``; NaN where a value is undefined. A metric that is
            about all lists together has none, and only a mean.
        why: by metric, why values are undefined or are substituted: ``(T,)`` places in ``REASONS``.
        means: by metric; NaN where there is nothing to take a mean of.
        counts: the counts behind the means.
        convention: name, axes and hash.
        low: no grades of the unjudged documents give lower values, for the metrics that admit
            bounds; None where bounds were not asked for.
        high: no grades of them give higher values.
        all_irrelevant: the same with all unjudged documents irrelevant.
        all_best: the same with all of them of the best grade.
        parts: what the means are made of; empty where nobody made them of parts.
        groups: by metric its sums over groups of queries, where values of single queries are not
            kept; else empty.
    """

    run: str
    tag: str | None
    query_ids: pl.Series
    values: Mapping[str, NDArray[np.float64]]
    why: Mapping[str, NDArray[np.int8]]
    means: Mapping[str, float]
    counts: Counts
    convention: Mapping[str, Any]
    low: RunScores | None = None
    high: RunScores | None = None
    all_irrelevant: RunScores | None = None
    all_best: RunScores | None = None
    parts: MeanParts = field(default_factory=MeanParts)
    groups: Mapping[str, GroupSums] = field(default_factory=dict)

    @cached_property
    def table(self) -> pl.DataFrame:
        """Long: ``query_id``, ``metric``, ``value``, ``why``; undefined values are null."""
        tables = [
            pl.DataFrame({"query_id": self.query_ids, "value": value}).with_columns(
                pl.lit(label).alias("metric"),
                pl.col("value").fill_nan(None),
                pl.Series("why", self.why[label]).replace_strict(
                    _REASON_TEXTS, return_dtype=pl.String
                ),
            )
            for label, value in self.values.items()
        ]
        columns = ["query_id", "metric", "value", "why"]
        schema = dict.fromkeys(columns, pl.String) | {"value": pl.Float64}
        return pl.concat(tables).select(columns) if tables else pl.DataFrame(schema=schema)

    def per_query(self, metric: str) -> dict[str, float | None]:
        """One metric by query id; None if undefined.

        Raises:
            KeyError: there is no such metric.
        """
        if metric not in self.values and metric in self.means:  # about all lists together
            return dict.fromkeys(self.query_ids.to_list())
        values = self.values[metric]
        return {
            query: None if np.isnan(value) else float(value)
            for query, value in zip(self.query_ids.to_list(), values, strict=True)
        }
