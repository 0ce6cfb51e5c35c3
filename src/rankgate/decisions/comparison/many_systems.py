"""Analyse three systems or more: pairwise tests, orders, and reliability of the queries.

It also computes intervals, over queries, of the agreement of two metrics on the order of systems.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.present.result_frames import make_frame
from rankgate.data.query_tags import read_clusters
from rankgate.decisions.comparison.comparison import ManySystems
from rankgate.decisions.comparison.comparison_columns import (
    ANOVA,
    FRIEDMAN,
    MEANS,
    ORDERINGS,
    PAIRS,
    RELIABILITY,
)
from rankgate.decisions.comparison.inference import MAX_INTERVAL_RESAMPLES
from rankgate.decisions.comparison.paired_values import ValueTable, metric_signs
from rankgate.measurement.stats.weighted_means import QueryClusters

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.core.arrays import Floats
    from rankgate.core.value_types import Json, JsonObject, Schema
    from rankgate.data.run_scores import ScoredRun
    from rankgate.decisions.comparison.inference import Test
    from rankgate.measurement.stats.multiple_comparisons import Friedman
    from rankgate.measurement.stats.query_reliability import Reliability


DRAWS = 1000
"""Resamples of the queries."""

_INTERVAL_NAMES = ("tau_low", "tau_high", "spearman_low", "spearman_high")


def order_intervals(
    metrics: Sequence[str], values: Floats, signs: Mapping[str, float], test: Test
) -> dict[tuple[str, str], dict[str, float]]:
    """Intervals of Kendall's tau b and Spearman's rho between the orders by two metrics.

    The ends are percentiles over resampled queries, the same for all metrics; only queries with a
    value of every metric for every system count. The intervals are about other queries, not other
    systems; NaN with fewer than two such queries, or if all systems are tied in a resample.

    Args:
        metrics: (M,) the metrics.
        values: (n, M, S) the values of all systems; NaN without a value.
        signs: -1 by metric if less is better, else 1.
        test: the level and the seed of the intervals.
    """
    metrics, values = _common_values(metrics, values, signs)
    pairs = list(combinations(metrics, 2))
    if len(values) < 2 or not pairs:
        return {pair: dict.fromkeys(_INTERVAL_NAMES, float("nan")) for pair in pairs}
    resampled = _resample(values, test.seed)
    return {
        (first_metric, second_metric): _correlation_intervals(
            resampled, metrics.index(first_metric), metrics.index(second_metric), test.level
        )
        for first_metric, second_metric in pairs
    }


def pair_intervals(first_values: Floats, second_values: Floats, level: float, seed: int) -> dict[str, float]:
    """Intervals of tau b and rho between the orders of systems by two tables of values.

    Args:
        first_values: (n, S), larger is better; queries with a NaN in either table are left out.
        second_values: (n, S), of the same queries.
        level: the confidence level of the intervals.
        seed: the seed of the resampling.
    """
    is_complete = ~(np.isnan(first_values) | np.isnan(second_values)).any(axis=1)
    if is_complete.sum() < 2:
        return dict.fromkeys(_INTERVAL_NAMES, float("nan"))
    resampled = _resample(np.stack([first_values[is_complete], second_values[is_complete]], axis=1), seed)
    return _correlation_intervals(resampled, 0, 1, level)


def _correlation_intervals(agreements: Sequence[Floats], i: int, j: int, level: float) -> dict[str, float]:
    tails = [(1 - level) / 2, (1 + level) / 2]
    bounds = [np.quantile(_cosine(products, i, j), tails) for products in agreements]
    return dict(zip(_INTERVAL_NAMES, map(float, np.concatenate(bounds)), strict=True))


def _common_values(
    metrics: Sequence[str], values: Floats, signs: Mapping[str, float]
) -> tuple[list[str], Floats]:
    """The metrics, and (n, M, S) values of the queries without missing values."""
    has_values = [j for j in range(len(metrics)) if (~np.isnan(values[:, j])).any(axis=0).all()]
    values = values[:, has_values]
    values = values[~np.isnan(values).any(axis=(1, 2))]
    common_metrics = [metrics[j] for j in has_values]
    metric_signs = np.array([signs[metric] for metric in common_metrics])
    return common_metrics, values * metric_signs[:, None]


def _resample(values: Floats, seed: int) -> tuple[Floats, Floats]:
    """(B, M, M) products of metrics in each resample: of signs of all pairs, of centred ranks.

    Their terms are whole numbers or quarters, so that sums in any order are exact.
    """
    from rankgate.measurement.stats.rank_correlation import mean_ranks, order_products

    n, metrics, systems = values.shape
    rng = np.random.default_rng(seed)
    flat_values, uniform_weights = values.reshape(n, -1), np.full(n, 1.0 / n)
    resample_counts = rng.multinomial(n, uniform_weights, size=DRAWS).astype(np.float64)
    means = np.round(
        (resample_counts @ flat_values / n).reshape(DRAWS, metrics, systems), 12
    )  # ties, except for rounding
    ranks = mean_ranks(means)
    centred_ranks = ranks - ranks.mean(axis=2, keepdims=True)
    return order_products(ranks), centred_ranks @ centred_ranks.transpose(0, 2, 1)


def _cosine(products: Floats, i: int, j: int) -> Floats:
    """(B,) tau b from products of signs, or Pearson's r from products of centred ranks."""
    size = np.sqrt(products[:, i, i] * products[:, j, j])
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.asarray(products[:, i, j] / size, np.float64)


_TARGET = 0.95


def compare_many(runs: Sequence[ScoredRun], test: Test) -> ManySystems:
    """Compute `ManySystems` from systems that were scored by the same judgments."""
    from rankgate.measurement.stats.multiple_comparisons import friedman

    names = tuple(system.name for system in runs)
    metrics = runs[0].metrics
    table = ValueTable.of_runs(runs)
    matrices = _value_matrices(table, runs)
    resamples = min(test.resamples, MAX_INTERVAL_RESAMPLES)
    usable_matrices = {metric: matrix for metric, matrix in matrices.items() if len(matrix) > 1}
    means = {metric: matrix.mean(axis=0) for metric, matrix in usable_matrices.items()}
    signs = dict(zip(metrics, metric_signs(metrics, runs[0].lower), strict=True))
    signed_means = {metric: signs[metric] * mean for metric, mean in means.items()}
    friedman_by_metric = {
        metric: friedman(signs[metric] * matrix, test.level) for metric, matrix in usable_matrices.items()
    }
    return ManySystems(
        names,
        _means(names, usable_matrices, signs, friedman_by_metric),
        _frame([_anova_row(metric, matrix) for metric, matrix in usable_matrices.items()], ANOVA),
        _pairs(names, usable_matrices, friedman_by_metric, signs, test),
        _frame(
            _orderings(names, signed_means, order_intervals(metrics, table.values, signs, test)), ORDERINGS
        ),
        _frame(
            [_reliability_row(metric, matrix, test) for metric, matrix in usable_matrices.items()],
            RELIABILITY,
        ),
        test.level,
        resamples,
        test.seed,
        _frame(
            [
                {"metric": metric, **{name: getattr(result, name) for name in list(FRIEDMAN)[1:]}}
                for metric, result in friedman_by_metric.items()
            ],
            FRIEDMAN,
        ),
    )


def value_matrix(runs: Sequence[ScoredRun], metric: str) -> NDArray[np.float64]:
    """(n, S) values of the queries, or clusters, on which all systems have a value."""
    return _value_matrices(ValueTable.of_runs(runs), runs)[metric]


def _value_matrices(table: ValueTable, runs: Sequence[ScoredRun]) -> dict[str, NDArray[np.float64]]:
    """The matrix of each metric, as `value_matrix`."""
    clusters = read_clusters(system.tagged for system in runs)
    matrices = {}
    for metric, matrix in zip(runs[0].metrics, table.values.swapaxes(0, 1), strict=True):
        rows = np.flatnonzero(~np.isnan(matrix).any(axis=1))
        matrices[metric] = np.asfortranarray(matrix[rows])  # sums over systems take one pass
        if clusters:
            units = QueryClusters.from_queries(table.query_ids.gather(rows).to_list(), clusters)
            matrices[metric] = units.values(matrices[metric])
    return matrices


def _means(
    names: Sequence[str],
    matrices: dict[str, NDArray[np.float64]],
    signs: dict[str, float],
    friedman_by_metric: dict[str, Friedman],
) -> pl.DataFrame:
    rows: list[JsonObject] = [
        {"metric": metric, "system": name, "mean": float(mean), "n": len(table), "mean_rank": float(rank)}
        for metric, table in matrices.items()
        for mean, name, rank in sorted(
            zip(table.mean(axis=0), names, friedman_by_metric[metric].ranks, strict=True),
            key=lambda row: (-signs[metric] * row[0], row[1]),
        )
    ]
    return _frame(rows, MEANS)


def _anova_row(metric: str, table: NDArray[np.float64]) -> dict[str, Json]:
    from rankgate.measurement.stats.multiple_comparisons import anova

    result = asdict(anova(table))
    return {"metric": metric, **{name: result[name] for name in ANOVA if name != "metric"}}


def _pairs(
    names: Sequence[str],
    matrices: Mapping[str, NDArray[np.float64]],
    friedman_by_metric: Mapping[str, Friedman],
    signs: Mapping[str, float],
    test: Test,
) -> pl.DataFrame:
    from rankgate.measurement.stats.multiple_comparisons import randomised_tukey, tukey

    samples = min(test.resamples, MAX_INTERVAL_RESAMPLES)
    randomised_tests = randomised_tukey([*matrices.values()], samples=samples, seed=test.seed)
    upper = np.triu_indices(len(names), 1)
    first, second = (pl.Series(names, dtype=pl.String).gather(systems) for systems in upper)
    frames = [make_frame([], PAIRS)]
    for (metric, table), randomised in zip(matrices.items(), randomised_tests, strict=True):
        result = tukey(table, test.level)
        columns = {
            "metric": metric,
            "first": first,
            "second": second,
            "delta": result.delta[upper],
            "gain": signs[metric] * result.delta[upper],
            "low": result.low[upper],
            "high": result.high[upper],
            "p_tukey": result.p_value[upper],
            "p_randomised": randomised.p_value[upper],
            "p_nemenyi": friedman_by_metric[metric].nemenyi[upper],
        }
        frames.append(make_frame({name: columns[name] for name in PAIRS}, PAIRS))
    return pl.concat(frames)


def _orderings(
    names: Sequence[str],
    signed_means: dict[str, NDArray[np.float64]],
    intervals: Mapping[tuple[str, str], Mapping[str, float]],
) -> list[dict[str, Json]]:
    """Agreement of metrics on the order of systems, by means where larger is better."""
    from rankgate.measurement.stats.rank_correlation import (
        group_ties,
        product_moment,
        rank_correlation,
        rbo,
        tau,
        tau_ap,
    )

    labels = list(signed_means)
    tied_ranking = {label: group_ties(dict(zip(names, signed_means[label], strict=True))) for label in labels}
    return [
        {
            "first": first_metric,
            "second": second_metric,
            "tau": tau(signed_means[first_metric], signed_means[second_metric]),
            "tau_ap_b": tau_ap(signed_means[first_metric], signed_means[second_metric], "b"),
            "rbo": rbo(tied_ranking[first_metric], tied_ranking[second_metric], ties="b").value,
            "spearman": rank_correlation(signed_means[first_metric], signed_means[second_metric]),
            "pearson": product_moment(signed_means[first_metric], signed_means[second_metric]),
            **intervals[first_metric, second_metric],
        }
        for i, first_metric in enumerate(labels)
        for second_metric in labels[i + 1 :]
    ]


def _reliability_row(metric: str, table: NDArray[np.float64], test: Test) -> dict[str, Json]:
    from rankgate.measurement.stats.query_reliability import reliability, split_half

    result: Reliability = reliability(table, test.level)
    split_half_values = split_half(table, seed=test.seed)
    coefficients = {name: getattr(result, name) for name in RELIABILITY if hasattr(result, name)}
    return {
        **coefficients,
        "metric": metric,
        "needed": result.needed(_TARGET),
        "needed_absolute": result.needed(_TARGET, absolute=True),
        "split_half": split_half_values.value,
        "split_half_low": split_half_values.low,
        "split_half_high": split_half_values.high,
        "split_half_tau": split_half_values.tau,
    }


def _frame(rows: Sequence[JsonObject], schema: Schema) -> pl.DataFrame:
    return make_frame([{name: row[name] for name in schema} for row in rows], schema)
