"""Results of comparisons of two systems, of candidates with a baseline, of many systems.

The results are statistics for three systems or more, the comparison of two systems on the same
queries, and the comparisons of several candidates with one baseline. The columns of their tables
are declared in `comparison_columns`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import TYPE_CHECKING, Any, ClassVar, overload

import polars as pl

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import Coded, Notice, Result
from rankgate.data.run_scores import GroupSums  # noqa: TC001 - read by its type
from rankgate.decisions.comparison.comparison_columns import (
    ANOVA,
    FRIEDMAN,
    MEANS,
    METRICS,
    ORDERINGS,
    PAIRS,
    QUERIES,
    RELIABILITY,
    SCHEMAS,
)

if TYPE_CHECKING:
    from rankgate.core.present.columns import Columns
    from rankgate.core.value_types import JsonObject


@dataclass(frozen=True)
class ManySystems:
    """Statistics that need three systems or more.

    Attributes:
        systems: their names, the baseline first.
        means: the columns of `MEANS`.
        anova: the columns of `ANOVA`.
        pairs: the columns of `PAIRS`.
        orderings: the columns of `ORDERINGS`.
        reliability: the columns of `RELIABILITY`.
        level: the confidence level of the intervals.
        resamples: of the randomised Tukey test.
        seed: the seed of the random draws.
        friedman: the columns of `FRIEDMAN`.
    """

    SCHEMAS: ClassVar[Mapping[str, Columns]] = {
        "means": MEANS,
        "anova": ANOVA,
        "pairs": PAIRS,
        "orderings": ORDERINGS,
        "reliability": RELIABILITY,
        "friedman": FRIEDMAN,
    }

    systems: tuple[str, ...]
    means: pl.DataFrame
    anova: pl.DataFrame
    pairs: pl.DataFrame
    orderings: pl.DataFrame
    reliability: pl.DataFrame
    level: float
    resamples: int
    seed: int
    friedman: pl.DataFrame = field(default_factory=FRIEDMAN.empty)


@dataclass(frozen=True)
class Identity:
    """Identity of a run: its name, the tag in its file, and the hash of its rankings."""

    name: str
    tag: str | None
    sha256: str


@dataclass(frozen=True, kw_only=True)
class Comparison(Coded):
    """Differences between a baseline and a candidate, with their tests.

    Attributes:
        baseline, candidate: who they are.
        qrels, qrels_sha256: the judgments both were scored by.
        convention: name, axes and hash.
        metrics, queries, lists, latency, states, excluded, slices, interactions, judged, plans,
            equivalence, relative, represented, predictions, seeds: the columns of `SCHEMAS`.
        warnings: what a reader should know before using a figure, a sentence each.
        level: of the intervals; `alpha` is 1 minus it.
        interval: their method.
        test: the test behind ``p_raw``.
        correction: what made ``p_value`` of it, over how many tests.
        power: the power that ``mde`` and ``needed`` are for.
        depth: the last rank of the lists.
        seed, resamples: of what was drawn at random.
        lower: the metrics that are better when lower; ``gain`` has their direction applied.
        zeros, signed_ranks: of Wilcoxon's test; empty for any other.
        sample: how the queries were drawn, a file or random; empty if every query counts equally.
        predicted_saw: people's judgments that the model saw: none, unknown or a file; empty
            without a model.
        groups: of ``baseline`` and ``candidate``, by metric the sums over groups of queries, where
            values of single queries are not kept; else empty.
        maker: the `ComparedPair` of this process that it was made from, which makes further parts
            for the gate; None if it was read from JSON.
    """

    SCHEMAS: ClassVar[Mapping[str, Columns]] = SCHEMAS
    DERIVED: ClassVar[tuple[str, ...]] = ("schema_version",)
    KEYS: ClassVar[Mapping[str, str]] = {"qrels": "qrels.name", "qrels_sha256": "qrels.sha256"}
    OPTIONAL: ClassVar[tuple[str, ...]] = ("seeds", "groups")
    PARTS: ClassVar[Mapping[str, tuple[str, bool]]] = {
        "queries": ("per_query", True),
        "predictions": ("per_query", True),
        "lists": ("lists", False),
    }
    schema_version: ClassVar[int] = 1

    baseline: Identity
    candidate: Identity
    qrels: str
    qrels_sha256: str
    convention: JsonObject
    level: float = 0.95
    interval: str = "t"
    test: str = "t"
    correction: str = "holm over 1 test"
    power: float = 0.8
    depth: int = 10
    seed: int = 0
    resamples: int = 0
    zeros: str = ""
    signed_ranks: str = ""
    sample: str = ""
    predicted_saw: str = ""
    lower: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    metrics: pl.DataFrame
    slices: pl.DataFrame
    interactions: pl.DataFrame
    judged: pl.DataFrame
    latency: pl.DataFrame
    states: pl.DataFrame
    excluded: pl.DataFrame
    plans: pl.DataFrame = field(default_factory=SCHEMAS["plans"].empty)
    equivalence: pl.DataFrame = field(default_factory=SCHEMAS["equivalence"].empty)
    relative: pl.DataFrame = field(default_factory=SCHEMAS["relative"].empty)
    represented: pl.DataFrame = field(default_factory=SCHEMAS["represented"].empty)
    queries: pl.DataFrame
    predictions: pl.DataFrame = field(default_factory=SCHEMAS["predictions"].empty)
    lists: pl.DataFrame
    seeds: pl.DataFrame = field(default_factory=SCHEMAS["seeds"].empty)
    groups: Mapping[str, Mapping[str, GroupSums]] = field(default_factory=dict)
    maker: object = field(default=None, compare=False, repr=False, metadata={"stored": False})

    def __post_init__(self) -> None:
        missing_columns = [name for name in METRICS if name not in self.metrics.columns]
        if missing_columns:
            raise UsageError(
                f"a comparison needs the columns {', '.join(missing_columns)}.", code="missing-column"
            )

    def __getstate__(self) -> dict[str, Any]:
        """Drop the maker, because another process has neither its runs nor its judgments."""
        return {**self.__dict__, "maker": None}

    @property
    def names(self) -> tuple[str, ...]:
        """The metrics."""
        return tuple(self.metrics["metric"].to_list())

    @property
    def tags(self) -> tuple[str, ...]:
        """The names of the queries' tags."""
        return tuple(name for name in self.queries.columns if name not in QUERIES)

    @property
    def strictest(self) -> float:
        """The level below which a p is significant regardless of the other tests."""
        method, _, tests = self.correction.partition(" over ")
        return (1 - self.level) / (1 if method == "none" else int(tests.split()[0]))

    def with_names(self, table: pl.DataFrame) -> pl.DataFrame:
        """A table by ``system`` with the names of both systems."""
        names = {"baseline": self.baseline.name, "candidate": self.candidate.name}
        return table.with_columns(pl.col("system").replace(names))

    @property
    def judged_shares(self) -> pl.DataFrame:
        """The columns of ``judged``, with the names of both systems."""
        return self.with_names(self.judged)

    def deltas(self, metric: str) -> pl.DataFrame:
        """The queries of one metric, worst first."""
        return self.queries.filter(pl.col("metric") == metric)


@dataclass(frozen=True)
class Comparisons(Result):
    """Several candidates against one baseline, corrected together; tables are Polars frames.

    Attributes:
        comparisons: one for each candidate, in the order given.
        many: what needs three systems or more; None for two.
    """

    kind = "comparison"
    main_table = "metrics_by_system"
    document_from = "rankgate.decisions.comparison.documents.comparison_document:comparison_document"
    report_from = "rankgate.decisions.comparison.documents.comparison_report:comparison_report_document"
    order = 5
    charts: ClassVar = {
        "deltas": "rankgate.decisions.comparison.query_charts:DELTAS",
        "scatter": "rankgate.decisions.comparison.query_charts:SCATTER",
        "forest": "rankgate.decisions.comparison.system_charts:FOREST",
        "heat": "rankgate.decisions.comparison.system_charts:SYSTEM_HEAT",
        "power": "rankgate.decisions.comparison.system_charts:POWER",
        "judged": "rankgate.decisions.comparison.system_charts:JUDGED_CHART",
        "grades": "rankgate.decisions.comparison.system_charts:GRADES_CHART",
    }

    KEYS: ClassVar[Mapping[str, str]] = {"many": "systems"}
    OPTIONAL: ClassVar[tuple[str, ...]] = ("many",)
    PARTS = Comparison.PARTS

    comparisons: tuple[Comparison, ...]
    many: ManySystems | None = None

    @property
    def only(self) -> Comparison:
        """The comparison with the first candidate."""
        return self.comparisons[0]

    @property
    def convention(self) -> Mapping[str, Any]:
        """Name, hash and axes."""
        return self.only.convention

    @property
    def metrics(self) -> pl.DataFrame:
        """Means, difference, interval, p and power of each metric, for the first candidate."""
        return self.only.metrics

    @property
    def queries(self) -> pl.DataFrame:
        """The queries of all metrics, worst first, for the first candidate."""
        return self.only.queries

    @property
    def warnings(self) -> tuple[str, ...]:
        """Warnings about the figures, for the first candidate."""
        return self.only.warnings

    @property
    def notices(self) -> tuple[Notice, ...]:
        """The warnings of every candidate."""
        return tuple(
            Notice("comparison", warning, comparison.candidate.name)
            for comparison in self.comparisons
            for warning in comparison.warnings
        )

    @property
    def inputs(self) -> tuple[tuple[str, str, str], ...]:
        """Judgments, baseline and candidates."""
        first = self.only
        runs = (first.baseline, *(comparison.candidate for comparison in self.comparisons))
        return (
            (first.qrels, "judgments" if first.depth else "values", first.qrels_sha256),
            *((run.name, "run", run.sha256) for run in runs),
        )

    def __len__(self) -> int:
        """The number of candidates."""
        return len(self.comparisons)

    @overload
    def __getitem__(self, key: str) -> Comparison: ...

    @overload
    def __getitem__(self, key: tuple[str, str]) -> dict[str, Any]: ...

    def __getitem__(self, key: str | tuple[str, str]) -> Comparison | dict[str, Any]:
        """The comparison with a candidate, or its figures by one metric.

        ``result["new"]`` is the comparison, ``result["new", "nDCG@10"]`` a row of its metrics.

        Raises:
            KeyError: there is no such candidate or metric.
        """
        name, *metric = (key,) if isinstance(key, str) else key
        matches = [comparison for comparison in self.comparisons if comparison.candidate.name == name]
        if not matches or (metric and metric[0] not in matches[0].names):
            raise KeyError(key)
        return matches[0].metrics.row(matches[0].names.index(metric[0]), named=True) if metric else matches[0]

    @property
    def metrics_by_system(self) -> pl.DataFrame:
        """The metrics of every candidate, with its name as ``system``."""
        return pl.concat(
            comparison.metrics.select(pl.lit(comparison.candidate.name).alias("system"), pl.all())
            for comparison in self.comparisons
        )
