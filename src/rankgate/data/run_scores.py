"""Values of metrics by query, sums over groups of queries, and one scored system.

Sums over groups of queries serve comparisons if single values are not stored. A value is one metric
on one query, with the counts behind it. A scored system has values, lists and query states.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, ClassVar, Self
from zlib import crc32

import numpy as np
import polars as pl

from rankgate.core.errors import UsageError
from rankgate.core.frozen import ByContent, dataclass
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.common_columns import DOC_ID, METRIC, QUERY_ID

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.core.arrays import Floats, Ints
    from rankgate.core.value_types import JsonObject


GROUPS = 128
"""Groups of queries, by a hash of the id that is the same in every run and on every machine."""

_HASH_MULTIPLIER = np.uint64(0x9E3779B97F4A7C15)  # Fibonacci hashing: neighbouring ids go to distant groups
_GROUP_SHIFT = np.uint64(64 - 7)
_JSON_BITS = np.uint64((1 << 53) - 1)  # the bits of a whole number that every JSON reader keeps


@dataclass(frozen=True)
class GroupSums:
    """The sums of one metric of one run in each group of queries.

    Two runs that were scored at different times are compared by the differences of their groups,
    because the groups of both runs have the same queries.

    Attributes:
        n: ``(GROUPS,)`` the number of queries with a value.
        sums: ``(GROUPS,)`` the sum of their values.
        queries: a checksum of the ids of these queries.
    """

    n: Ints
    sums: Floats
    queries: int

    def __post_init__(self) -> None:
        if self.n.shape != (GROUPS,) or self.sums.shape != (GROUPS,):
            raise ValueError(f"{len(self.n)} groups, expected {GROUPS}")

    @classmethod
    def from_queries(cls, ids: NDArray[np.uint64], values: Floats) -> GroupSums:
        """Compute the sums for some queries.

        Args:
            ids: ``(n,)`` from `hash_queries`.
            values: ``(n,)``; NaN is left out.
        """
        is_defined = ~np.isnan(values)
        ids, values = ids[is_defined], values[is_defined]
        groups = (ids >> _GROUP_SHIFT).astype(np.int64)
        return cls(
            np.bincount(groups, minlength=GROUPS),
            np.bincount(groups, values, minlength=GROUPS).astype(np.float64),
            int(ids.sum(dtype=np.uint64) & _JSON_BITS),
        )

    def __add__(self, other_sums: GroupSums) -> GroupSums:
        """Add the sums of two objects."""
        query_checksum = (self.queries + other_sums.queries) & int(_JSON_BITS)
        return GroupSums(self.n + other_sums.n, self.sums + other_sums.sums, query_checksum)

    @property
    def total(self) -> int:
        """The number of queries with a value."""
        return int(self.n.sum())

    def values(self) -> dict[str, float]:
        """A value for each group with queries; the mean of these values is the mean of the queries.

        With n queries in B groups, group b having n_b of them and the sum s_b, its value is
        m + (s_b − m·n_b)·B/n around the mean m: the linearised ratio Σs_b/Σn_b (Cochran, Sampling
        Techniques, 1977, section 6.4). Differences of two runs are those of the same queries, and
        Student's interval of these values is that of a sample of groups.
        """
        group_numbers = np.flatnonzero(self.n)
        mean = float(self.sums.sum()) / max(self.total, 1)
        scale = len(group_numbers) / max(self.total, 1)
        group_values = mean + (self.sums[group_numbers] - mean * self.n[group_numbers]) * scale
        return {
            f"group {group + 1}": float(group_value)
            for group, group_value in zip(group_numbers, group_values, strict=True)
        }

    def packed(self) -> list[Any]:
        """The sums as short texts, to be sent."""
        arrays = (self.n.astype("<i4"), self.sums.astype("<f8"))
        return [*(base64.b64encode(array.tobytes()).decode() for array in arrays), self.queries]

    @classmethod
    def from_packed(cls, values: list[Any]) -> Self:
        """The sums from `packed`."""
        n, sums = (base64.b64decode(text) for text in values[:2])
        return cls(np.frombuffer(n, "<i4").astype(np.int64), np.frombuffer(sums, "<f8"), values[2])


def hash_queries(query_ids: pl.Series) -> NDArray[np.uint64]:
    """A 64-bit hash of each query, from its id alone."""
    checksums = (crc32(query_id.encode()) for query_id in query_ids.to_list())
    return np.fromiter(checksums, np.uint64, len(query_ids)) * _HASH_MULTIPLIER


REASONS = ("", "missing", "no relevant", "nothing retrieved", "nothing judged")
"""Reasons why a value is undefined, or substitutes an undefined one: the kinds of empty."""

_REASON_TEXTS = {number: reason or None for number, reason in enumerate(REASONS)}


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
        against_scores: queries ranked by the order of rows in the file, as the convention
            defines, where scores would rank them otherwise.
        zeros_relevant: judgments of grade 0 that the convention's defaults count as relevant.
        unrated: queries of the judgments of which no document is rated.
        served_unjudged: users without judgments; their lists count in metrics of lists.
        catalogue: for metrics of lists: the number of ``items``, whether the user ``stated`` them,
            and the number of judged items ``outside``; the ``places`` of the lists, and how many of
            them show an item ``invented``, ``repeated`` or ``seen``.
        states: the number of queries that are ok, zero, failed and not_run, if the run has states.
        cautions: warnings about the judgments and the run, by code.
    """

    OPTIONAL: ClassVar[tuple[str, ...]] = (
        *("against_scores", "zeros_relevant", "unrated", "served_unjudged"),
        *("catalogue", "states", "cautions"),
    )

    queries: int
    missing: int
    zero_result: int
    without_relevant: int
    unknown_queries: int
    ties_broken: int
    judged_at: Mapping[int, float] = field(default_factory=dict)
    against_scores: int = 0
    zeros_relevant: int = 0
    unrated: int = 0
    served_unjudged: int = 0
    catalogue: Mapping[str, Any] | None = None
    states: Mapping[str, int] = field(default_factory=dict)
    cautions: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class MeanParts:
    """The parts of means over queries: sums that can be added over batches.

    Attributes:
        means: the exact sum (`ExactMean`) and the number of queries with a hit, by metric.
        judged_at: the mean share of judged documents, by cutoff.
        lists: for each metric on lists its sums; None if no lists were measured.
        judged_documents: the number of judged documents retrieved.
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
        values: the values by metric as written, ``(T,)``; NaN if a value is undefined. A metric of
            all lists together has only a mean.
        why: the reasons for undefined or substituted values, by metric: ``(T,)`` indices into
            ``REASONS``.
        means: the means by metric; NaN for a mean without values.
        counts: the counts behind the means.
        convention: name, axes and hash.
        low: no grades of the unjudged documents give lower values, for the metrics that admit
            bounds; None where bounds were not asked for.
        high: no grades of them give higher values.
        all_irrelevant: the same with all unjudged documents irrelevant.
        all_best: the same with all of them of the best grade.
        parts: the parts of the means; empty if they have no parts.
        groups: the sums over groups of queries by metric, if values of single queries are not kept;
            else empty.
    """

    run: str
    tag: str | None
    query_ids: pl.Series
    values: Mapping[str, NDArray[np.float64]]
    why: Mapping[str, NDArray[np.int8]]
    means: Mapping[str, float]
    counts: Counts
    convention: JsonObject
    low: RunScores | None = None
    high: RunScores | None = None
    all_irrelevant: RunScores | None = None
    all_best: RunScores | None = None
    parts: MeanParts = field(default_factory=MeanParts)
    groups: Mapping[str, GroupSums] = field(default_factory=dict)

    @cached_property
    def table(self) -> pl.DataFrame:
        """Long: ``query_id``, ``metric``, ``value``, ``why``; undefined values are null."""
        columns = ["query_id", "metric", "value", "why"]
        if not self.values:
            schema = dict.fromkeys(columns, pl.String) | {"value": pl.Float64}
            return pl.DataFrame(schema=schema)
        reasons = np.concatenate([self.why[label] for label in self.values])
        return pl.DataFrame(
            {
                "query_id": pl.concat([self.query_ids] * len(self.values)),
                "metric": pl.Series(list(self.values)).gather(
                    np.repeat(np.arange(len(self.values)), len(self.query_ids))
                ),
                "value": np.concatenate(list(self.values.values())),
                "why": pl.Series(reasons).replace_strict(_REASON_TEXTS, return_dtype=pl.String),
            }
        ).with_columns(pl.col("value").fill_nan(None))

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


SCORES = Columns(
    "One row per query and metric.",
    QUERY_ID,
    METRIC,
    Column("value", pl.Float64, "the value; null where undefined"),
    Column("why", pl.String, "the kind of empty where it is undefined"),
)

LISTS = Columns(
    "One row per query and rank: the first documents of each list.",
    QUERY_ID,
    Column("rank", pl.Int64, "the rank, from 1"),
    DOC_ID,
    Column("grade", pl.Float64, "the grade; null for a document without one", "grade"),
)

GIVEN_VALUES = "given values"
"""The convention name of values from another tool, with unknown axes."""

SERVED = Columns(
    "One row per user without judgments.",
    QUERY_ID,
    Column("doc_ids", pl.List(pl.String), "the first documents of the list, the best first"),
    further_columns="a tag of the user",
)

QUERIES = Columns(
    "One row per query of a system.",
    QUERY_ID,
    Column("state", pl.String, "its state: ok, zero, failed or not_run"),
    Column("latency_ms", pl.Float64, "its latency", unit="ms"),
    Column("censored", pl.Boolean, "true if its latency is only a lower bound"),
    Column("retrieved", pl.Int64, "the number of its results"),
    Column("judged", pl.Float64, "the share of judged documents among the first ones"),
    further_columns="a tag of the query",
)


@dataclass(frozen=True)
class ScoredRun(ByContent):
    """A scored system with everything that a comparison needs.

    Attributes:
        name: the name of the run.
        tag: the name in the run's file.
        sha256: the SHA-256 of the run.
        qrels: the name of the judgments.
        qrels_sha256: the SHA-256 of the judgments.
        convention: its name, axes and hash.
        metrics: the labels in order.
        depth: the last rank of the lists, and the cutoff of ``judged``.
        scores: the columns of `SCORES`.
        lists: the columns of `LISTS`.
        queries: the columns of `QUERIES`, then tags.
        lower: the metrics that are better when lower.
        served: the columns of `SERVED`, then tags: the lists of users without judgments that
            metrics of lists count; None if they are not known.
        zeros_relevant: judgments of grade 0 that the convention's defaults count as relevant.
        cautions: see `Counts`.
        without_seen: True if items that users had in training were removed from their lists.
        load: how latencies were measured, and under which load; empty if not known.
        earlier: see `Run`.
        repeats: see `Run`.
        seeds: the system scored with each seed, if there are several; values are then the means
            over seeds, and all other fields those of the first one.
    """

    name: str
    tag: str | None
    sha256: str
    qrels: str
    qrels_sha256: str
    convention: JsonObject
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
    load: str = ""
    earlier: Any = field(default=None, compare=False, repr=False)
    repeats: tuple[Any, ...] = field(default=(), compare=False, repr=False)
    seeds: tuple[ScoredRun, ...] = field(default=(), compare=False, repr=False)

    def __post_init__(self) -> None:
        for table, schema in ((self.scores, SCORES), (self.lists, LISTS), (self.queries, QUERIES)):
            missing_columns = [name for name in schema if name not in table.columns]
            if missing_columns:
                raise UsageError(
                    f"{self.name}: a side needs the columns {', '.join(missing_columns)}.",
                    code="missing-column",
                )

    @classmethod
    def from_seeds(cls, name: str, seeds: Sequence[ScoredRun]) -> ScoredRun:
        """The mean of each query over the seeds of a system; undefined where it is with any seed.

        Raises:
            UsageError: a query is missing with some of the seeds only.
        """
        tables, expected = pl.concat(seed.scores for seed in seeds), len(seeds) * len(seeds[0].metrics)
        missing = (pl.col("why") == "missing").sum()
        rows = tables.group_by("query_id", maintain_order=True).agg(pl.len(), missing=missing)
        unequal = rows.filter((pl.col("len") != expected) | ~pl.col("missing").is_in([0, expected]))
        if len(unequal):
            raise UsageError(
                f"{name}: query {unequal['query_id'][0]} was not run with every seed; give runs of the same "
                "queries.",
                code="values-differ",
            )
        value = pl.col("value")
        scores = tables.group_by("query_id", "metric", maintain_order=True).agg(
            pl.when(~value.has_nulls()).then(value.mean()), pl.col("why").drop_nulls().first()
        )
        return replace(
            seeds[0],
            name=name,
            sha256=hashlib.sha256("".join(sorted(seed.sha256 for seed in seeds)).encode()).hexdigest(),
            scores=scores,
            cautions={code: text for seed in reversed(seeds) for code, text in seed.cautions.items()},
            seeds=tuple(seeds),
        )

    @property
    def tags(self) -> tuple[str, ...]:
        """The names of the query tags."""
        return tuple(name for name in self.queries.columns if name not in {*QUERIES, "error"})

    @property
    def tagged(self) -> pl.DataFrame:
        """``query_id`` and the tags of each query, and of users without judgments if known."""
        tagged = self.queries.select("query_id", *self.tags)
        if self.served is None or not set(self.tags) <= set(self.served.columns):
            return tagged
        return pl.concat([tagged, self.served.select(tagged.columns)])
