"""Differences estimated for the queries that matter: weighted, or with a model's judgments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, replace
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.data.clusters import CLUSTER, COPIES
from rankgate.decisions.comparison.comparison import SCHEMAS
from rankgate.decisions.comparison.design_tables import PREDICTIONS, REPRESENTED
from rankgate.decisions.comparison.paired import figures
from rankgate.measurement.stats.clusters import Units
from rankgate.measurement.stats.planning.power import needed
from rankgate.measurement.stats.represented import (
    LEAST_EFFECTIVE,
    Population,
    Weighing,
    conformal_reach,
    represented,
    sample_needed,
)
from rankgate.measurement.stats.within_queries import documents_needed

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from rankgate.data.sample import Sample
    from rankgate.decisions.comparison.inference import Test
    from rankgate.decisions.comparison.paired import Figures
    from rankgate.decisions.comparison.values import PairedValues
    from rankgate.measurement.evaluation.model_saw import ModelSaw
    from rankgate.measurement.stats.represented import Represented

    Floats = NDArray[np.float64]
    Contrast = Callable[[Floats, Floats], Floats]

_MOST = 100_000  # queries that are worth advising

_SMALL = 0.01  # share of queries; a smaller slice moves little
_MOST_VALUES = 50  # of a tag; one with more is an id
_UNTAGGED = frozenset(SCHEMAS["queries"]) | {CLUSTER, COPIES}
LEAST = 20
"""Fewer queries judged by people correct no model: their intervals cover too rarely
(docs/validity.md)."""


@dataclass(frozen=True)
class Design:
    """What the judged queries represent.

    Attributes:
        sample: how they were drawn.
        predicted: of every query that the model judged ``query_id``, ``metric``, ``baseline``,
            ``candidate`` and tags; None where no model did.
        documents: of every drawn document ``query_id``, ``metric``, ``inclusion`` and what it adds
            to the values of ``baseline`` and ``candidate``; None where people judged all.
        clusters: of queries, by id; a query without one is its own.
        saw: what the model saw of people's judgments; None where no model judged.
    """

    sample: Sample
    predicted: pl.DataFrame | None = None
    documents: pl.DataFrame | None = None
    clusters: Mapping[str, str] = field(default_factory=dict)
    saw: ModelSaw | None = None

    @property
    def least(self) -> int:
        """Fewer queries decide nothing."""
        return 10 if self.predicted is None else LEAST

    @property
    def words(self) -> str:
        """What figures are about, as the begin of a sentence."""
        source = self.sample.source
        if self.documents is not None:
            return (
                "figures are of all queries that the model judged, corrected by the documents that "
                f"people judged, a random sample of them ({source}); the value of a single query "
                "is an estimate, and may lie outside of its range"
            )
        how = "every query had the same chance" if self.sample.table is None else source
        if self.predicted is None:
            return f"figures are of the queries that these were drawn from ({how})"
        return (
            "figures are of all queries that the model judged, corrected by those that people "
            f"judged, a random sample of them ({how})"
        )

    def conditions(self, people: PairedValues) -> tuple[str, ...]:
        """The conditions under which an interval with a model's judgments holds, as sentences."""
        if self.saw is None or self.predicted is None:
            return ()
        n = len(people.query_ids)
        rare = (
            f"losses that fewer than about {min(3 / max(n, 1), 1.0):.0%} of the queries have may "
            f"be missing among the {n:,} that people judged; where the model does not see them "
            "either, the interval covers less often than it states."
        )
        never = tuple(
            f"people judged no query with {tag}={value} ({share:.0%} of the queries): an error d "
            f"of the model in these moves the difference by {share:.2f} d, which the interval "
            "does not have."
            for tag, value, share in undrawn_slices(self.predicted, people.query_ids)
            if share >= _SMALL
        )
        return (f"{self.saw.condition}.", rare, *never)

    def size(self, metric: str, slice_: str | None = None) -> int:
        """How many queries the model judged."""
        tag, _, value = (slice_ or "").partition("=")
        return len(self._modelled(metric, (tag, value) if slice_ else None))

    def changed_elsewhere(self, metric: str, slice_: str | None = None) -> int:
        """How many queries have another value by the model; 0 without a model."""
        if self.predicted is None:
            return 0
        tag, _, value = (slice_ or "").partition("=")
        table = self._modelled(metric, (tag, value) if slice_ else None)
        return int((table["candidate"] != table["baseline"]).sum())

    def _modelled(self, metric: str, slice_: tuple[str, str] | None) -> pl.DataFrame:
        assert self.predicted is not None
        table = self.predicted.filter(pl.col("metric") == metric)
        if slice_ is None:
            return table
        return table.filter(pl.col(slice_[0]).fill_null("") == slice_[1])

    def estimate(
        self, queries: Sequence[str], values: Floats, metric: str, contrast: Contrast,
        slice_: tuple[str, str] | None = None,
    ) -> Represented:  # fmt: skip
        """The mean of a contrast of both systems over the population.

        Args:
            queries: that people judged.
            values: (n,) the contrast of their values.
            metric: its label.
            contrast: of the values of the baseline and of the candidate, such as their difference.
            slice_: a tag and its value; None for all queries.
        """
        weights, strata = self.sample.weights(queries, part=slice_ is not None)
        units = self._units(queries)
        if self.predicted is None:
            total = self.sample.population if slice_ is None else None  # that of all queries
            certain = None if total is not None else self.sample.certain(queries)
            if units is not None:
                values, weights = units.weighted(values, weights)
                strata, certain = _of_first(strata, units), _of_first(certain, units)
            return represented(values, weights, strata, total=total, certain=certain)
        table = self._modelled(metric, slice_)
        every = contrast(table["baseline"].to_numpy(), table["candidate"].to_numpy())
        names = table["query_id"].to_list()
        place = {query: i for i, query in enumerate(names)}
        known = every[[place[query] for query in queries]]
        sizes = self.sample.sizes(names)
        if units is not None:
            known = units.weighted(known, weights)[0]
            values, weights = units.weighted(values, weights)
            strata = _of_first(strata, units)
            all_units = Units.of(names, self.clusters)
            every, sizes = all_units.weighted(every, sizes)
        return represented(values, weights, strata, known, Population(every, sizes))

    def _units(self, queries: Sequence[str]) -> Units | None:
        """The clusters of these queries; None where each is its own."""
        units = Units.of(queries, self.clusters) if self.clusters else None
        return None if units is None or len(units.first) == len(queries) else units

    def weighing(self, queries: Sequence[str], slice_: tuple[str, str] | None = None) -> Weighing:
        """How much these queries tell, by their weights."""
        weights, strata = self.sample.weights(queries, part=slice_ is not None)
        certain, n = self.sample.certain(queries), len(queries)
        if (units := self._units(queries)) is not None:
            weights = units.weighted(np.zeros(n), weights)[1]
            strata, certain = _of_first(strata, units), _of_first(certain, units)
            n = len(weights)
        if weights is None:
            return Weighing(n, float(n), n - 1.0)
        return Weighing.of(weights, strata, certain)

    def weights(
        self, queries: Sequence[str], slice_: tuple[str, str] | None = None
    ) -> Floats | None:
        """The weight of each query, or of each cluster."""
        weights = self.sample.weights(queries, part=slice_ is not None)[0]
        units = self._units(queries)
        return weights if units is None else units.weighted(np.zeros(len(queries)), weights)[1]

    def rows(self, queries: Sequence[str]) -> NDArray[np.int64]:
        """The places of the queries that stand for their clusters: of all without any."""
        units = self._units(queries)
        return np.arange(len(queries)) if units is None else units.first

    def documents_needed(
        self, found: Represented, queries: Sequence[str], metric: str, contrast: Contrast,
        error: float,
    ) -> int | None:  # fmt: skip
        """Documents that people must judge in addition, for a standard error of the estimate.

        None where all documents of their queries would not do.
        """
        assert self.documents is not None
        assert self.sample.documents is not None
        weights = self.sample.weights(queries)[0]
        share = np.full(len(queries), 1 / len(queries))
        if weights is not None:
            share = weights / weights.sum()
        own = pl.DataFrame({"query_id": queries, "share": share},
                           schema_overrides={"query_id": pl.String})  # fmt: skip
        parts = self.documents.filter(pl.col("metric") == metric).join(own, on="query_id")
        changes = contrast(parts["baseline"].to_numpy(), parts["candidate"].to_numpy())
        every = self.sample.documents.drop_nulls("doc_id").join(own, on="query_id")
        return documents_needed(
            changes * parts["share"].to_numpy(), parts["inclusion"].to_numpy(),
            every["inclusion"].to_numpy(), found.variance, error**2,
        )  # fmt: skip

    def figures(
        self, values: PairedValues, test: Test, slice_: tuple[str, str] | None = None
    ) -> Figures:
        """The figures of the population; wins and losses are those of the sample."""
        raw = figures(values.in_units(self.clusters), test)
        adjusted, base = self.adjusted(values, slice_), raw.baseline.copy()
        own = figures(adjusted, test)
        undecided: dict[int, str] = {}
        for column in _columns(values):
            if (problem := self._problem(column, slice_)) is not None:
                advice = self.advice(column, test, slice_)
                undecided[column.number] = f"{problem[1]}: no interval is given; {advice}."
            j = column.number
            first = values.baseline[column.rows, j]
            base[j] = self.estimate(column.queries, first, column.metric, _first, slice_).mean
        nan = np.where(own.n < LEAST, np.nan, 1.0) if self.predicted is not None else 1.0
        for j in undecided:
            nan = nan * np.where(np.arange(len(raw.n)) == j, np.nan, 1.0)
        words = tuple(
            (_few(n),)
            if self.predicted is not None and n < LEAST
            else (undecided[j],)
            if j in undecided
            else each
            for j, (n, each) in enumerate(zip(own.n, own.warnings, strict=True))
        )
        needed = own.needed
        if self.predicted is not None:
            people = self.table(values, test, slice_)["needed"].cast(pl.Float64)
            needed = people.fill_null(float("nan")).to_numpy()
        return replace(
            own, baseline=base, candidate=base + own.delta, wins=raw.wins, ties=raw.ties,
            losses=raw.losses, low=own.low * nan, high=own.high * nan, p_raw=own.p_raw * nan,
            mde=own.mde * nan, needed=needed * nan, gz=raw.gz, warnings=words,
        )  # fmt: skip

    def adjusted(self, values: PairedValues, slice_: tuple[str, str] | None = None) -> PairedValues:
        """Values of n queries whose mean difference is the estimate, and its spread the error."""
        result = np.full_like(values.candidate, np.nan)
        degrees = np.full(len(values.metrics), np.nan)
        equal = True
        for column in _columns(values):
            found = self._difference(column, slice_)
            result[column.rows[self.rows(column.queries)], column.number] = found.values
            weighing = self.weighing(column.queries, slice_)
            equal = equal and weighing.equal
            if weighing.problem(found) is None:
                degrees[column.number] = weighing.degrees
        return replace(
            values, baseline=np.zeros_like(result), candidate=result,
            degrees=None if equal else degrees,
        )  # fmt: skip

    def _problem(self, column: _Column, slice_: tuple[str, str] | None) -> tuple[str, str] | None:
        """The code and the reason why the weights of a column decide nothing."""
        return self.weighing(column.queries, slice_).problem(self._difference(column, slice_))

    def advice(self, column: _Column, test: Test, slice_: tuple[str, str] | None) -> str:
        """How to draw queries whose number decides."""
        found = self._difference(column, slice_)
        return draw_by_weight(needed(found.mean, found.sd, 1 - test.level, test.power))

    def table(
        self, values: PairedValues, test: Test, slice_: tuple[str, str] | None = None
    ) -> pl.DataFrame:
        """`REPRESENTED`: what the estimates are made of."""
        known = {column.metric: self._row(column, test, slice_) for column in _columns(values)}
        rows = [known.get(metric, {"metric": metric, "queries": 0}) for metric in values.metrics]
        return pl.DataFrame(rows, schema=REPRESENTED)

    def _difference(self, column: _Column, slice_: tuple[str, str] | None) -> Represented:
        return self.estimate(column.queries, column.delta, column.metric, _difference, slice_)

    def _row(
        self, column: _Column, test: Test, slice_: tuple[str, str] | None
    ) -> dict[str, object]:
        from rankgate.measurement.stats.interval import student_quantile

        metric, n = column.metric, len(self.rows(column.queries))
        if n < 2:
            return {"metric": metric, "queries": n}
        found = self._difference(column, slice_)
        weighing = self.weighing(column.queries, slice_)
        reach = student_quantile(weighing.degrees, (1 + test.level) / 2)
        if weighing.problem(found) is not None:
            reach = float("nan")
        error_alone = found.sampled_error or float("nan")  # equal values show no spread
        row: dict[str, object] = {
            "metric": metric, "queries": n, "effective": weighing.worth(found),
            "people": found.sampled,
            "people_low": _none(found.sampled - reach * error_alone),
            "people_high": _none(found.sampled + reach * error_alone),
        }  # fmt: skip
        if self.predicted is None:
            return row
        table = self._modelled(metric, slice_)
        every = (table["candidate"] - table["baseline"]).to_numpy()
        share = self.sample.sizes(table["query_id"].to_list())
        power = student_quantile(10**6, test.power)
        error = abs(found.mean) / (reach + power)
        more = None
        if self.documents is not None:
            more = self.documents_needed(found, column.queries, metric, _difference, error)
        saving = 1 - found.variance / found.sampled_error**2 if found.sampled_error else 0.0
        return row | {
            "population": len(table), "model": float(share @ every / share.sum()),
            "correlation": _none(found.correlation), "slope": found.slope, "saving": saving,
            "needed": sample_needed(found, found.mean, reach + power, len(table)),
            "documents": self._drawn(column.queries), "more_documents": more,
            "seen": self.saw.left_out if self.saw else None,
            "agreement": self.saw.agreement if self.saw else None,
        }  # fmt: skip

    def _drawn(self, queries: Sequence[str]) -> int | None:
        """How many documents of these queries people judged; None where they judged all."""
        if (drawn := self.sample.documents) is None:
            return None
        return len(drawn.drop_nulls("doc_id").filter(pl.col("query_id").is_in(list(queries))))

    def predictions(self, values: PairedValues, level: float) -> pl.DataFrame:
        """`PREDICTIONS`: the queries that people did not judge; none without a model.

        None either where people judged a part of the documents: the value of none is known.
        """
        if self.predicted is None or self.documents is not None:
            return pl.DataFrame(schema=PREDICTIONS)
        parts = []
        for j, metric in enumerate(values.metrics):
            people = pl.DataFrame(
                {"query_id": values.query_ids,
                 "own": values.candidate[:, j] - values.baseline[:, j]},
                schema_overrides={"query_id": pl.String},
            ).drop_nans("own")  # fmt: skip
            delta = (pl.col("candidate") - pl.col("baseline")).alias("delta")
            every = self.predicted.filter(pl.col("metric") == metric).select("query_id", delta)
            both = people.join(every, on="query_id")
            one_each = both[self.rows(both["query_id"].to_list())]
            reach = conformal_reach((one_each["own"] - one_each["delta"]).to_numpy(), level)
            ends = [pl.lit(None, dtype=pl.Float64)] * 2
            if np.isfinite(reach):
                ends = [pl.col("delta") - reach, pl.col("delta") + reach]
            left = every.join(people, on="query_id", how="anti", maintain_order="left")
            parts.append(left.select(
                "query_id", pl.lit(metric).alias("metric"), "delta",
                ends[0].alias("low"), ends[1].alias("high"),
            ))  # fmt: skip
        return pl.concat(parts)


@dataclass(frozen=True)
class _Column:
    """The queries that both systems have a value of, for one metric.

    Attributes:
        number, metric: of the column.
        rows: (n,) where these queries are.
        queries: (n,) their ids.
        delta: (n,) their differences.
    """

    number: int
    metric: str
    rows: NDArray[np.int64]
    queries: list[str]
    delta: Floats


def _columns(values: PairedValues) -> Iterator[_Column]:
    """The columns with at least one such query."""
    delta = values.candidate - values.baseline
    for number, metric in enumerate(values.metrics):
        rows = np.flatnonzero(~np.isnan(delta[:, number]))
        if len(rows):
            queries = [values.query_ids[row] for row in rows]
            yield _Column(number, metric, rows, queries, delta[rows, number])


def _of_first(values: NDArray[Any] | None, units: Units) -> NDArray[Any] | None:
    """(C,) what the first query of each cluster has."""
    return None if values is None else values[units.first]


def undrawn_slices(
    predicted: pl.DataFrame, judged: Sequence[str]
) -> Iterator[tuple[str, str, float]]:
    """Each tag and value that queries of the model have and no judged query has, with its share."""
    tags = [name for name in predicted.columns if name not in _UNTAGGED]
    queries = predicted.unique("query_id")
    for tag in tags:
        values = queries.select("query_id", value=pl.col(tag).fill_null(""))
        shares = values.group_by("value").agg(
            share=pl.len() / len(values), judged=pl.col("query_id").is_in(list(judged)).sum()
        )
        if len(shares) > _MOST_VALUES:
            continue
        for value, share, count in shares.sort("value").iter_rows():
            if value and not count:
                yield tag, value, share


def _difference(baseline: Floats, candidate: Floats) -> Floats:
    return candidate - baseline


def _first(baseline: Floats, _: Floats) -> Floats:
    return baseline


def draw_by_weight(queries: float) -> str:
    """The advice to draw queries by traffic, and how many."""
    count = max(2 * LEAST_EFFECTIVE, queries)
    some = f"{ceil(count):,} queries" if count <= _MOST else "queries"
    return (
        f"draw {some} with chances proportional to their traffic (rankgate pool --queries N "
        "--query-sampling pps), and give its file as the sample"
    )


def _none(value: float) -> float | None:
    return value if np.isfinite(value) else None


def _few(n: int) -> str:
    return (
        f"{n} queries judged by people are too few to correct a model's judgments: no interval is "
        f"given below {LEAST}."
    )
