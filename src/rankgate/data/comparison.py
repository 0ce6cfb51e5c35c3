"""Two systems on the same queries: what each gave, and what lies between them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Mapping

SCHEMA_VERSION = 1

SCORES = {
    "query_id": pl.String,
    "metric": pl.String,
    "value": pl.Float64,
    "why": pl.String,
}
"""Values of a side, long; null where undefined, with the kind of empty in ``why``."""

LISTS = {
    "query_id": pl.String,
    "rank": pl.Int64,
    "doc_id": pl.String,
    "grade": pl.Float64,
}
"""The first documents of each list; grade is null for a document without one."""

QUERIES = {
    "query_id": pl.String,
    "state": pl.String,
    "latency_ms": pl.Float64,
    "retrieved": pl.Int64,
    "judged": pl.Float64,
}
"""What is known of each query of a side, then any tags: its state (ok, zero, failed, not_run),
how long it took, how much it returned, the share of judged documents among the first ones."""

METRICS = {
    "metric": pl.String,
    "n": pl.Int64,
    "baseline": pl.Float64,
    "candidate": pl.Float64,
    "delta": pl.Float64,
    "gain": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "level": pl.Float64,
    "test": pl.String,
    "p_raw": pl.Float64,
    "p_value": pl.Float64,
    "correction": pl.String,
    "mc_error": pl.Float64,
    "effect": pl.Float64,
    "wins": pl.Int64,
    "ties": pl.Int64,
    "losses": pl.Int64,
    "sd": pl.Float64,
    "mde": pl.Float64,
    "needed": pl.Float64,
}
"""One row a metric. delta is candidate − baseline, its mean over the n queries where both have a
value; gain is delta, or −delta for a metric that is better when lower; low and high are the ends
of the interval of delta; effect is Hedges' gz; sd the standard deviation of the differences; mde
the smallest true difference that n queries show with the power asked for, whatever the correction
makes of the other tests; needed how many queries show one as large as delta after the correction,
if the other means stay too. In slices both are of one uncorrected test."""


PLANS = {"metric": pl.String, "wanted": pl.Float64, "queries": pl.Float64}
"""How many queries show a true difference of the wanted size after the correction, if the other
means stay as measured."""


@dataclass(frozen=True)
class Side:
    """One system, scored: all that a comparison needs to know of it.

    Attributes:
        name: of the run.
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

    def __post_init__(self) -> None:
        for table, schema in (
            (self.scores, SCORES), (self.lists, LISTS), (self.queries, QUERIES),
        ):  # fmt: skip
            lacking = [name for name in schema if name not in table.columns]
            if lacking:
                raise UsageError(
                    f"{self.name}: a side needs the columns {', '.join(lacking)}.",
                    code="missing-column",
                )

    @property
    def tags(self) -> tuple[str, ...]:
        """The names of the tags that queries have."""
        return tuple(name for name in self.queries.columns if name not in {*QUERIES, "error"})


@dataclass(frozen=True)
class Identity:
    """Who is compared: a run's name, the tag in its file, and the hash of its rankings."""

    name: str
    tag: str | None
    sha256: str


@dataclass(frozen=True)
class Comparison:
    """What lies between a baseline and a candidate.

    Attributes:
        baseline, candidate: who they are.
        qrels, qrels_sha256: the judgments both were scored by.
        convention: name, axes and hash.
        metrics: the columns of `METRICS`, in the order asked for.
        queries: ``query_id``, ``metric``, ``baseline``, ``candidate``, ``delta``, ``gain`` (above
            0 where the candidate is better), ``judged_baseline``, ``judged_candidate``,
            ``overlap`` (share of the first documents that both have), then tags; metrics in order,
            the worst query of each first.
        lists: ``query_id``, ``system`` (baseline or candidate), ``rank``, ``doc_id``, ``grade``,
            ``moved`` (ranks gained against the other list; null where the other lacks it).
        latency: ``system``, ``n``, ``mean``, ``p50``, ``p90``, ``p95``, ``p99`` in milliseconds;
            no rows where no latency is known.
        states: ``system``, ``state``, ``queries``.
        excluded: ``query_id``, ``metric`` (null: of all), ``reason``.
        slices: as ``metrics`` after ``tag``, ``value``, for each value of each tag asked for.
        interactions: ``tag``, ``metric``, ``p_value``: do the values of a tag differ in delta?
        judged: ``system``, ``k``, ``share``: mean share of judged documents among the first k.
        plans: ``metric``, ``wanted``, ``queries``: how many queries show a true difference of the
            size that was wanted; no rows where none was.
        warnings: what a reader should know before trusting a figure, a sentence each.
        level: of the intervals; `alpha` is 1 minus it.
        interval: their method.
        test: the test behind ``p_raw``.
        correction: what made ``p_value`` of it, over how many tests.
        power: the power that ``mde`` and ``needed`` are for.
        depth: the last rank of the lists.
        seed, resamples: of what was drawn at random.
        lower: the metrics that are better when lower; ``gain`` has their direction applied.
    """

    baseline: Identity
    candidate: Identity
    qrels: str
    qrels_sha256: str
    convention: Mapping[str, Any]
    metrics: pl.DataFrame
    queries: pl.DataFrame
    lists: pl.DataFrame
    latency: pl.DataFrame
    states: pl.DataFrame
    excluded: pl.DataFrame
    slices: pl.DataFrame
    interactions: pl.DataFrame
    judged: pl.DataFrame
    warnings: tuple[str, ...] = ()
    level: float = 0.95
    interval: str = "t"
    test: str = "t"
    correction: str = "holm over 1 test"
    power: float = 0.8
    depth: int = 10
    seed: int = 0
    resamples: int = 0
    lower: tuple[str, ...] = ()
    names: tuple[str, ...] = field(default=())
    plans: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=PLANS))

    def __post_init__(self) -> None:
        lacking = [name for name in METRICS if name not in self.metrics.columns]
        if lacking:
            raise UsageError(
                f"a comparison needs the columns {', '.join(lacking)}.", code="missing-column"
            )
        object.__setattr__(self, "names", tuple(self.metrics["metric"].to_list()))

    @property
    def tags(self) -> tuple[str, ...]:
        """The names of the tags that queries have."""
        known = {"query_id", "metric", "baseline", "candidate", "delta", "gain", "judged_baseline",
                 "judged_candidate", "overlap"}  # fmt: skip
        return tuple(name for name in self.queries.columns if name not in known)

    @property
    def strictest(self) -> float:
        """The level below which a p is significant whatever the other tests show."""
        method, _, tests = self.correction.partition(" over ")
        return (1 - self.level) / (1 if method == "none" else int(tests.split()[0]))

    def deltas(self, metric: str) -> pl.DataFrame:
        """The queries of one metric, worst first."""
        return self.queries.filter(pl.col("metric") == metric)

    def to_dict(self, *, per_query: bool = True, lists: bool = False) -> dict[str, Any]:
        """Plain values for JSON; undefined numbers are None.

        Args:
            per_query: with the table of queries.
            lists: with both lists of every query.
        """
        told: dict[str, Any] = {
            "schema_version": SCHEMA_VERSION,
            "baseline": _plain(self.baseline),
            "candidate": _plain(self.candidate),
            "qrels": {"name": self.qrels, "sha256": self.qrels_sha256},
            "convention": dict(self.convention),
            **{name: getattr(self, name) for name in _FIGURES},
            "lower": list(self.lower),
            "warnings": list(self.warnings),
        }
        for name in _TABLES:
            told[name] = getattr(self, name).to_dicts()
        if per_query:
            told["queries"] = self.queries.to_dicts()
        if lists:
            told["lists"] = self.lists.to_dicts()
        return told


_FIGURES = ("level", "interval", "test", "correction", "power", "depth", "seed", "resamples")
_TABLES = ("metrics", "slices", "interactions", "judged", "latency", "states", "excluded",
           "plans")  # fmt: skip


def _plain(identity: Identity) -> dict[str, Any]:
    return {"name": identity.name, "tag": identity.tag, "sha256": identity.sha256}
