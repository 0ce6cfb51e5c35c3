"""Estimates of differences for a population of queries, by weights or a model's judgments."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import field, replace
from math import ceil
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.number_formats import count_noun
from rankgate.data.query_tags import CLUSTER, COPY_CLUSTER, in_slice
from rankgate.decisions.comparison.comparison_columns import PREDICTIONS, QUERIES, REPRESENTED
from rankgate.decisions.comparison.paired_values import compute_figures
from rankgate.measurement.stats.query_power import queries_for_power
from rankgate.measurement.stats.sampling_design import documents_needed
from rankgate.measurement.stats.weighted_means import (
    LEAST_EFFECTIVE,
    Population,
    QueryClusters,
    WeightPrecision,
    conformal_reach,
    estimate_population,
    sample_size_needed,
)

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    from rankgate.core.arrays import Floats
    from rankgate.data.query_sample import Sample
    from rankgate.decisions.comparison.inference import Test
    from rankgate.decisions.comparison.paired_values import PairedFigures, PairedValues
    from rankgate.measurement.evaluation.model_judgments import ModelSaw
    from rankgate.measurement.stats.weighted_means import PopulationEstimate

    Contrast = Callable[[Floats, Floats], Floats]

_MAX_QUERIES = 100_000  # a larger number of queries is not advised

_MIN_SLICE_SHARE = 0.01  # share of all queries; a smaller slice has little effect
_MOST_VALUES = 50  # values of a tag; a tag with more values is an id
_UNTAGGED = frozenset(QUERIES) | {CLUSTER, COPY_CLUSTER}
MIN_QUERIES = 20
"""The least number of queries judged by people that correct a model: with fewer, coverage is low
(docs/validity.md)."""


@dataclass(frozen=True)
class Design:
    """The population that the judged queries represent.

    Attributes:
        sample: the sample in which the queries were drawn.
        predicted: for every query that the model judged: ``query_id``, ``metric``, ``baseline``,
            ``candidate`` and tags; None without a model.
        documents: for every drawn document: ``query_id``, ``metric``, ``inclusion`` and its
            contribution to the values of ``baseline`` and ``candidate``; None if people judged all.
        clusters: the cluster of each query, by id; a query without one is its own cluster.
        saw: the judgments of people that the model saw; None without a model.
    """

    sample: Sample
    predicted: pl.DataFrame | None = None
    documents: pl.DataFrame | None = None
    clusters: Mapping[str, str] = field(default_factory=dict)
    saw: ModelSaw | None = None

    @property
    def min_queries(self) -> int:
        """The least number of queries that gives a verdict."""
        return 10 if self.predicted is None else MIN_QUERIES

    @property
    def population(self) -> str:
        """The population of the figures, as the start of a sentence."""
        source = self.sample.source
        if self.documents is not None:
            return (
                "figures are of all queries that the model judged, corrected by the documents that people "
                f"judged, a random sample of them ({source}); the value of a single query is an estimate, "
                "and may lie outside of its range"
            )
        source_text = "every query was equally likely" if self.sample.table is None else source
        if self.predicted is None:
            return f"figures are of the queries that these were drawn from ({source_text})"
        return (
            "figures are of all queries that the model judged, corrected by those that people judged, a "
            f"random sample of them ({source_text})"
        )

    def conditions(self, people_values: PairedValues) -> tuple[str, ...]:
        """The conditions under which an interval with a model's judgments holds, as sentences."""
        if self.saw is None or self.predicted is None:
            return ()
        n = len(people_values.query_ids)
        rare_losses = (
            f"losses that fewer than about {min(3 / max(n, 1), 1.0):.0%} of the queries have may be missing "
            f"among the {n:,} that people judged; where the model does not see them either, the interval "
            "covers less often than it states."
        )
        undrawn = tuple(
            f"people judged no query with {tag}={value} ({share:.0%} of the queries): an error d of the "
            f"model in these moves the difference by {share:.2f} d, which the interval does not include."
            for tag, value, share in undrawn_slices(self.predicted, people_values.query_ids)
            if share >= _MIN_SLICE_SHARE
        )
        return (f"{self.saw.condition}.", rare_losses, *undrawn)

    def size(self, metric: str, slice_: str | None = None) -> int:
        """The number of queries that the model judged."""
        return len(self._modelled(metric, slice_))

    def changed_elsewhere(self, metric: str, slice_: str | None = None) -> int:
        """The number of queries that change by the model's judgments; 0 without a model."""
        if self.predicted is None:
            return 0
        table = self._modelled(metric, slice_)
        return int((table["candidate"] != table["baseline"]).sum())

    def _modelled(self, metric: str, slice_: str | None) -> pl.DataFrame:
        assert self.predicted is not None
        table = self.predicted.filter(pl.col("metric") == metric)
        return table if slice_ is None else table.filter(in_slice(slice_))

    def estimate(
        self,
        queries: Sequence[str],
        values: Floats,
        metric: str,
        contrast: Contrast,
        slice_: str | None = None,
    ) -> PopulationEstimate:
        """Estimate the mean of a contrast of both systems over the population.

        Args:
            queries: the queries that people judged.
            values: (n,) the contrast of their values.
            metric: the label of the metric.
            contrast: a function of the values of the baseline and of the candidate, such as their
                difference.
            slice_: as ``tag=value``; None for all queries.
        """
        weights, strata = self.sample.weights(queries, part=slice_ is not None)
        units = self._units(queries)
        if self.predicted is None:
            total = self.sample.population if slice_ is None else None  # the value of all queries
            is_certain = None if total is not None else self.sample.certain(queries)
            if units is not None:
                values, weights = units.weighted(values, weights)
                strata, is_certain = (_values_of_first(strata, units), _values_of_first(is_certain, units))
            return estimate_population(values, weights, strata, total=total, certain=is_certain)
        table = self._modelled(metric, slice_)
        model_contrasts = contrast(table["baseline"].to_numpy(), table["candidate"].to_numpy())
        names = table["query_id"].to_list()
        row_of_query = {query: i for i, query in enumerate(names)}
        judged_contrasts = model_contrasts[[row_of_query[query] for query in queries]]
        sizes = self.sample.sizes(names)
        if units is not None:
            judged_contrasts = units.weighted(judged_contrasts, weights)[0]
            values, weights = units.weighted(values, weights)
            strata = _values_of_first(strata, units)
            all_units = QueryClusters.from_queries(names, self.clusters)
            model_contrasts, sizes = all_units.weighted(model_contrasts, sizes)
        return estimate_population(
            values, weights, strata, judged_contrasts, Population(model_contrasts, sizes)
        )

    def _units(self, queries: Sequence[str]) -> QueryClusters | None:
        """The clusters of these queries; None if each query is a cluster of its own."""
        units = QueryClusters.from_queries(queries, self.clusters) if self.clusters else None
        return None if units is None or len(units.first) == len(queries) else units

    def weighing(self, queries: Sequence[str], slice_: str | None = None) -> WeightPrecision:
        """The effective number of these queries, by their weights."""
        weights, strata = self.sample.weights(queries, part=slice_ is not None)
        is_certain, n = self.sample.certain(queries), len(queries)
        if (units := self._units(queries)) is not None:
            weights = units.weighted(np.zeros(n), weights)[1]
            strata, is_certain = (_values_of_first(strata, units), _values_of_first(is_certain, units))
            n = len(weights)
        if weights is None:
            return WeightPrecision(n, float(n), n - 1.0)
        return WeightPrecision.from_weights(weights, strata, is_certain)

    def weights(self, queries: Sequence[str], slice_: str | None = None) -> Floats | None:
        """The weight of each query, or of each cluster."""
        weights = self.sample.weights(queries, part=slice_ is not None)[0]
        units = self._units(queries)
        return weights if units is None else units.weighted(np.zeros(len(queries)), weights)[1]

    def rows(self, queries: Sequence[str]) -> NDArray[np.int64]:
        """The indices of the first queries of clusters; of all queries without clusters."""
        units = self._units(queries)
        return np.arange(len(queries)) if units is None else units.first

    def documents_needed(
        self,
        estimate: PopulationEstimate,
        queries: Sequence[str],
        metric: str,
        contrast: Contrast,
        error: float,
    ) -> int | None:
        """Count the documents that people must judge in addition, for a standard error.

        None if even all documents of the judged queries are not enough.
        """
        assert self.documents is not None
        assert self.sample.documents is not None
        weights = self.sample.weights(queries)[0]
        share = np.full(len(queries), 1 / len(queries))
        if weights is not None:
            share = weights / weights.sum()
        query_shares = pl.DataFrame(
            {"query_id": queries, "share": share}, schema_overrides={"query_id": pl.String}
        )
        document_parts = self.documents.filter(pl.col("metric") == metric).join(query_shares, on="query_id")
        changes = contrast(document_parts["baseline"].to_numpy(), document_parts["candidate"].to_numpy())
        drawn_documents = self.sample.documents.drop_nulls("doc_id").join(query_shares, on="query_id")
        return documents_needed(
            changes * document_parts["share"].to_numpy(),
            document_parts["inclusion"].to_numpy(),
            drawn_documents["inclusion"].to_numpy(),
            estimate.variance,
            error**2,
        )

    def figures(self, values: PairedValues, test: Test, slice_: str | None = None) -> PairedFigures:
        """The figures of the population; wins and losses are those of the sample."""
        raw_figures = compute_figures(values.in_units(self.clusters), test)
        adjusted_values, base = self.adjusted(values, slice_), raw_figures.baseline.copy()
        adjusted_figures = compute_figures(adjusted_values, test)
        undecided_messages: dict[int, str] = {}
        for column in _columns(values):
            if (problem := self._problem(column, slice_)) is not None:
                advice = self.advice(column, test, slice_)
                undecided_messages[column.number] = f"{problem[1]}: no interval is given; {advice}."
            j = column.number
            baseline_values = values.baseline[column.rows, j]
            base[j] = self.estimate(
                column.queries, baseline_values, column.metric, _baseline_contrast, slice_
            ).mean
        nan = np.where(adjusted_figures.n < MIN_QUERIES, np.nan, 1.0) if self.predicted is not None else 1.0
        for j in undecided_messages:
            nan = nan * np.where(np.arange(len(raw_figures.n)) == j, np.nan, 1.0)
        warnings = tuple(
            (_too_few_warning(n),)
            if self.predicted is not None and n < MIN_QUERIES
            else (undecided_messages[j],)
            if j in undecided_messages
            else metric_warnings
            for j, (n, metric_warnings) in enumerate(
                zip(adjusted_figures.n, adjusted_figures.warnings, strict=True)
            )
        )
        needed = adjusted_figures.needed
        if self.predicted is not None:
            needed_by_people = self.table(values, test, slice_)["needed"].cast(pl.Float64)
            needed = needed_by_people.fill_null(float("nan")).to_numpy()
        return replace(
            adjusted_figures,
            baseline=base,
            candidate=base + adjusted_figures.delta,
            wins=raw_figures.wins,
            ties=raw_figures.ties,
            losses=raw_figures.losses,
            low=adjusted_figures.low * nan,
            high=adjusted_figures.high * nan,
            p_raw=adjusted_figures.p_raw * nan,
            mde=adjusted_figures.mde * nan,
            needed=needed * nan,
            gz=raw_figures.gz,
            warnings=warnings,
        )

    def adjusted(self, values: PairedValues, slice_: str | None = None) -> PairedValues:
        """Values of n queries with the mean difference and the standard error of the estimate."""
        result = np.full_like(values.candidate, np.nan)
        degrees = np.full(len(values.metrics), np.nan)
        has_equal_weights = True
        for column in _columns(values):
            estimate = self._difference(column, slice_)
            result[column.rows[self.rows(column.queries)], column.number] = estimate.values
            weighing = self.weighing(column.queries, slice_)
            has_equal_weights = has_equal_weights and weighing.equal
            if weighing.problem(estimate) is None:
                degrees[column.number] = weighing.degrees
        return replace(
            values,
            baseline=np.zeros_like(result),
            candidate=result,
            degrees=None if has_equal_weights else degrees,
        )

    def _problem(self, column: _Column, slice_: str | None) -> tuple[str, str] | None:
        """The code and the reason why the weights of a column allow no decision."""
        return self.weighing(column.queries, slice_).problem(self._difference(column, slice_))

    def advice(self, column: _Column, test: Test, slice_: str | None) -> str:
        """A sentence on drawing enough queries for a verdict."""
        estimate = self._difference(column, slice_)
        return traffic_sampling_advice(
            queries_for_power(estimate.mean, estimate.sd, 1 - test.level, test.power)
        )

    def table(self, values: PairedValues, test: Test, slice_: str | None = None) -> pl.DataFrame:
        """The table `REPRESENTED`: the parts of the estimates."""
        row_of_metric = {column.metric: self._row(column, test, slice_) for column in _columns(values)}
        rows = [row_of_metric.get(metric, {"metric": metric, "queries": 0}) for metric in values.metrics]
        return pl.DataFrame(rows, schema=REPRESENTED)

    def _difference(self, column: _Column, slice_: str | None) -> PopulationEstimate:
        return self.estimate(column.queries, column.delta, column.metric, _difference_contrast, slice_)

    def _row(self, column: _Column, test: Test, slice_: str | None) -> dict[str, object]:
        from rankgate.measurement.stats.mean_intervals import student_quantile

        metric, n = column.metric, len(self.rows(column.queries))
        if n < 2:
            return {"metric": metric, "queries": n}
        estimate = self._difference(column, slice_)
        weighing = self.weighing(column.queries, slice_)
        quantile = student_quantile(weighing.degrees, (1 + test.level) / 2)
        if weighing.problem(estimate) is not None:
            quantile = float("nan")
        error_alone = estimate.sampled_error or float("nan")  # equal values show no spread
        row: dict[str, object] = {
            "metric": metric,
            "queries": n,
            "effective": weighing.worth(estimate),
            "people": estimate.sampled,
            "people_low": _finite_or_none(estimate.sampled - quantile * error_alone),
            "people_high": _finite_or_none(estimate.sampled + quantile * error_alone),
        }
        if self.predicted is None:
            return row
        table = self._modelled(metric, slice_)
        model_deltas = (table["candidate"] - table["baseline"]).to_numpy()
        share = self.sample.sizes(table["query_id"].to_list())
        power = student_quantile(10**6, test.power)
        error = abs(estimate.mean) / (quantile + power)
        more_documents = None
        if self.documents is not None:
            more_documents = self.documents_needed(
                estimate, column.queries, metric, _difference_contrast, error
            )
        saving = 1 - estimate.variance / estimate.sampled_error**2 if estimate.sampled_error else 0.0
        return row | {
            "population": len(table),
            "model": float(share @ model_deltas / share.sum()),
            "correlation": _finite_or_none(estimate.correlation),
            "slope": estimate.slope,
            "saving": saving,
            "needed": sample_size_needed(estimate, estimate.mean, quantile + power, len(table)),
            "documents": self._count_judged(column.queries),
            "more_documents": more_documents,
            "seen": self.saw.left_out if self.saw else None,
            "agreement": self.saw.agreement if self.saw else None,
        }

    def _count_judged(self, queries: Sequence[str]) -> int | None:
        """The number of judged documents of these queries; None if people judged all."""
        if (sample_documents := self.sample.documents) is None:
            return None
        return len(sample_documents.drop_nulls("doc_id").filter(pl.col("query_id").is_in(list(queries))))

    def predictions(self, values: PairedValues, level: float) -> pl.DataFrame:
        """The table `PREDICTIONS`: the queries that people did not judge; empty without a model.

        It is also empty if people judged a part of the documents, as no query's value is known.
        """
        if self.predicted is None or self.documents is not None:
            return pl.DataFrame(schema=PREDICTIONS)
        tables = []
        for j, metric in enumerate(values.metrics):
            people_deltas = pl.DataFrame(
                {"query_id": values.query_ids, "own": values.candidate[:, j] - values.baseline[:, j]},
                schema_overrides={"query_id": pl.String},
            ).drop_nans("own")
            delta = (pl.col("candidate") - pl.col("baseline")).alias("delta")
            predicted_deltas = self.predicted.filter(pl.col("metric") == metric).select("query_id", delta)
            joined = people_deltas.join(predicted_deltas, on="query_id")
            cluster_rows = joined[self.rows(joined["query_id"].to_list())]
            half_width = conformal_reach((cluster_rows["own"] - cluster_rows["delta"]).to_numpy(), level)
            bounds = [pl.lit(None, dtype=pl.Float64)] * 2
            if np.isfinite(half_width):
                bounds = [pl.col("delta") - half_width, pl.col("delta") + half_width]
            unjudged = predicted_deltas.join(people_deltas, on="query_id", how="anti", maintain_order="left")
            tables.append(
                unjudged.select(
                    "query_id",
                    pl.lit(metric).alias("metric"),
                    "delta",
                    bounds[0].alias("low"),
                    bounds[1].alias("high"),
                )
            )
        return pl.concat(tables)


@dataclass(frozen=True)
class _Column:
    """The queries with a value of one metric for both systems.

    Attributes:
        number, metric: the number and metric of the column.
        rows: (n,) the indices of these queries.
        queries: (n,) the ids of these queries.
        delta: (n,) the differences of the systems on these queries.
    """

    number: int
    metric: str
    rows: NDArray[np.int64]
    queries: list[str]
    delta: Floats


def _columns(values: PairedValues) -> Iterator[_Column]:
    """The metrics with at least one query that has values for both systems."""
    delta = values.candidate - values.baseline
    for number, metric in enumerate(values.metrics):
        rows = np.flatnonzero(~np.isnan(delta[:, number]))
        if len(rows):
            queries = [values.query_ids[row] for row in rows]
            yield _Column(number, metric, rows, queries, delta[rows, number])


def _values_of_first(values: NDArray[Any] | None, units: QueryClusters) -> NDArray[Any] | None:
    """(C,) the value of the first query of each cluster."""
    return None if values is None else values[units.first]


def undrawn_slices(predictions: pl.DataFrame, judged_ids: Sequence[str]) -> Iterator[tuple[str, str, float]]:
    """Find tags and values of the model's queries that no judged query has, with their shares."""
    tags = [name for name in predictions.columns if name not in _UNTAGGED]
    queries = predictions.unique("query_id", keep="first")
    for tag in tags:
        values = queries.select("query_id", value=pl.col(tag).fill_null(""))
        shares_by_value = values.group_by("value").agg(
            share=pl.len() / len(values), judged=pl.col("query_id").is_in(list(judged_ids)).sum()
        )
        if len(shares_by_value) > _MOST_VALUES:
            continue
        for value, share, count in shares_by_value.sort("value").iter_rows():
            if value and not count:
                yield tag, value, share


def _difference_contrast(baseline: Floats, candidate: Floats) -> Floats:
    return candidate - baseline


def _baseline_contrast(baseline: Floats, _: Floats) -> Floats:
    return baseline


def traffic_sampling_advice(queries: float) -> str:
    """A sentence that advises to draw a number of queries by traffic."""
    count = max(2 * LEAST_EFFECTIVE, queries)
    query_text = f"{ceil(count):,} queries" if count <= _MAX_QUERIES else "queries"
    return (
        f"draw {query_text} with chances proportional to their traffic (rankgate pool --queries N "
        "--query-sampling pps), and give its file as the sample"
    )


def _finite_or_none(value: float) -> float | None:
    return value if np.isfinite(value) else None


def _too_few_warning(n: int) -> str:
    return (
        f"{count_noun(n, 'query judged by people is', 'queries judged by people are')} too few to correct a "
        f"model's judgments: no interval is given below {MIN_QUERIES}."
    )
