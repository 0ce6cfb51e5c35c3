"""Analyse three systems or more: pairwise tests, orders, and reliability of the queries."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.present.frames import frame
from rankgate.data.clusters import clusters_of
from rankgate.decisions.comparison.inference import MOST
from rankgate.decisions.comparison.orders import redrawn_orders
from rankgate.decisions.comparison.systems import FRIEDMAN, Many
from rankgate.decisions.comparison.values import signs_of
from rankgate.measurement.stats.clusters import Units

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.comparison import ScoredRun
    from rankgate.decisions.comparison.inference import Test
    from rankgate.measurement.stats.ranks.friedman import Friedman
    from rankgate.measurement.stats.reliability import Reliability

_TARGET = 0.95


def many(runs: Sequence[ScoredRun], test: Test) -> Many:
    """Everything in `Many`, from systems that were scored by the same judgments."""
    from rankgate.measurement.stats.ranks.friedman import friedman

    names = tuple(system.name for system in runs)
    metrics = runs[0].metrics
    matrices = {metric: matrix_of(runs, metric) for metric in metrics}
    resamples = min(test.resamples, MOST)
    usable = {metric: table for metric, table in matrices.items() if len(table) > 1}
    means = {metric: table.mean(axis=0) for metric, table in usable.items()}
    signs = dict(zip(metrics, signs_of(metrics, runs[0].lower), strict=True))
    worth = {metric: signs[metric] * mean for metric, mean in means.items()}
    ranked = {
        metric: friedman(signs[metric] * table, test.level) for metric, table in usable.items()
    }
    return Many(
        names,
        _means(names, usable, signs, ranked),
        _frame([_anova(metric, table) for metric, table in usable.items()], _ANOVA),
        _frame(
            [
                row | {"gain": signs[metric] * row["delta"]}
                for metric, table in usable.items()
                for row in _pairs(metric, names, table, ranked[metric], test)
            ],
            _PAIRS,
        ),
        _frame(_orderings(names, worth, redrawn_orders(runs, signs, test)), _ORDERINGS),
        _frame([_reliable(metric, each, test) for metric, each in usable.items()], _RELIABLE),
        test.level,
        resamples,
        test.seed,
        _frame([_by_ranks(metric, each) for metric, each in ranked.items()], FRIEDMAN),
    )


_MEANS = {
    "metric": pl.String,
    "system": pl.String,
    "mean": pl.Float64,
    "n": pl.Int64,
    "mean_rank": pl.Float64,
}
_ANOVA = {
    "metric": pl.String,
    "f": pl.Float64,
    "p_value": pl.Float64,
    "ms_system": pl.Float64,
    "ms_query": pl.Float64,
    "ms_residual": pl.Float64,
}
_PAIRS = {
    "metric": pl.String,
    "first": pl.String,
    "second": pl.String,
    "delta": pl.Float64,
    "gain": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "p_tukey": pl.Float64,
    "p_randomised": pl.Float64,
    "p_nemenyi": pl.Float64,
}
_ORDERINGS = {
    "first": pl.String,
    "second": pl.String,
    "tau": pl.Float64,
    "tau_ap_b": pl.Float64,
    "rbo": pl.Float64,
    "spearman": pl.Float64,
    "pearson": pl.Float64,
    "tau_low": pl.Float64,
    "tau_high": pl.Float64,
    "spearman_low": pl.Float64,
    "spearman_high": pl.Float64,
}
_RELIABLE = {
    "metric": pl.String, "queries": pl.Int64, "var_system": pl.Float64, "var_query": pl.Float64,
    "var_residual": pl.Float64, "e_rho2": pl.Float64, "e_rho2_low": pl.Float64,
    "e_rho2_high": pl.Float64, "phi": pl.Float64, "phi_low": pl.Float64, "phi_high": pl.Float64,
    "needed": pl.Float64, "needed_absolute": pl.Float64, "tau": pl.Float64, "tau_ap": pl.Float64,
    "split_half": pl.Float64, "split_half_low": pl.Float64, "split_half_high": pl.Float64,
    "split_half_tau": pl.Float64,
}  # fmt: skip


def matrix_of(runs: Sequence[ScoredRun], metric: str) -> NDArray[np.float64]:
    """(n, S) values of the queries, or their clusters, on which every system has one."""
    table = None
    for i, system in enumerate(runs):
        own = system.scores.filter((pl.col("metric") == metric) & pl.col("value").is_not_null())
        column = own.select("query_id", pl.col("value").alias(str(i)))
        table = column if table is None else table.join(column, on="query_id")
    if table is None:
        return np.zeros((0, 0))
    table = table.sort("query_id")
    matrix = table.drop("query_id").to_numpy().astype(np.float64)
    clusters = clusters_of(system.tagged for system in runs)
    return Units.of(table["query_id"].to_list(), clusters).values(matrix) if clusters else matrix


def _means(
    names: Sequence[str],
    matrices: dict[str, NDArray[np.float64]],
    signs: dict[str, float],
    ranked: dict[str, Friedman],
) -> pl.DataFrame:
    rows = [
        {"metric": metric, "system": name, "mean": float(mean), "n": len(table),
         "mean_rank": float(rank)}
        for metric, table in matrices.items()
        for mean, name, rank in sorted(
            zip(table.mean(axis=0), names, ranked[metric].ranks, strict=True),
            key=lambda row: (-signs[metric] * row[0], row[1]),
        )
    ]  # fmt: skip
    return _frame(rows, _MEANS)


def _anova(metric: str, table: NDArray[np.float64]) -> dict[str, Any]:
    from rankgate.measurement.stats.systems import anova

    result = asdict(anova(table))
    return {"metric": metric, **{name: result[name] for name in _ANOVA if name != "metric"}}


def _by_ranks(metric: str, result: Friedman) -> dict[str, Any]:
    return {"metric": metric, **{name: getattr(result, name) for name in list(FRIEDMAN)[1:]}}


def _pairs(
    metric: str, names: Sequence[str], table: NDArray[np.float64], ranked: Friedman, test: Test
) -> list[dict[str, Any]]:
    from rankgate.measurement.stats.systems import randomised_tukey, tukey

    result = tukey(table, test.level)
    drawn = randomised_tukey(table, samples=min(test.resamples, MOST), seed=test.seed)
    return [
        {
            "metric": metric,
            "first": names[i],
            "second": names[j],
            "delta": result.delta[i, j],
            "low": result.low[i, j],
            "high": result.high[i, j],
            "p_tukey": result.p_value[i, j],
            "p_randomised": drawn.p_value[i, j],
            "p_nemenyi": ranked.nemenyi[i, j],
        }
        for i, j in combinations(range(len(names)), 2)
    ]


def _orderings(
    names: Sequence[str],
    worth: dict[str, NDArray[np.float64]],
    ends: Mapping[tuple[str, str], Mapping[str, float]],
) -> list[dict[str, Any]]:
    """How much metrics agree on the order of systems, by means of which the larger is better."""
    from rankgate.measurement.stats.ranks.correlation import product_moment, rank_correlation
    from rankgate.measurement.stats.ranks.order import tau, tau_ap
    from rankgate.measurement.stats.ranks.rbo import rbo, tied

    labels = list(worth)
    order = {label: tied(dict(zip(names, worth[label], strict=True))) for label in labels}
    return [
        {
            "first": one,
            "second": two,
            "tau": tau(worth[one], worth[two]),
            "tau_ap_b": tau_ap(worth[one], worth[two], "b"),
            "rbo": rbo(order[one], order[two], ties="b").value,
            "spearman": rank_correlation(worth[one], worth[two]),
            "pearson": product_moment(worth[one], worth[two]),
            **ends[one, two],
        }
        for i, one in enumerate(labels)
        for two in labels[i + 1 :]
    ]


def _reliable(metric: str, table: NDArray[np.float64], test: Test) -> dict[str, Any]:
    from rankgate.measurement.stats.reliability import reliability
    from rankgate.measurement.stats.resampling.split_half import split_half

    result: Reliability = reliability(table, test.level)
    halves = split_half(table, seed=test.seed)
    known = {name: getattr(result, name) for name in _RELIABLE if hasattr(result, name)}
    return {
        **known,
        "metric": metric,
        "needed": result.needed(_TARGET),
        "needed_absolute": result.needed(_TARGET, absolute=True),
        "split_half": halves.value,
        "split_half_low": halves.low,
        "split_half_high": halves.high,
        "split_half_tau": halves.tau,
    }


def _frame(rows: list[dict[str, Any]], schema: dict[str, Any]) -> pl.DataFrame:
    return frame([{name: row[name] for name in schema} for row in rows], schema)
