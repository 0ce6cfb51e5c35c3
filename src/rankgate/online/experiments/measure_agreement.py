"""Measure whether offline metrics predict what users do."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import polars as pl

from rankgate.core.declare import Count, Draws, Range
from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.online.clicks.packed_searches import PackedSearches
from rankgate.online.events.events import Events, EventsLike
from rankgate.online.experiments.online_agreement import BEST, PAIRS, UNITS, OnlineAgreement
from rankgate.online.experiments.online_prediction import (
    Observations,
    corrected_correlation,
    corrected_interval,
    fit_line,
    observations_of_log,
    pearson,
    predict_left_out,
    read_experiments,
    reliability,
    skill,
    spearman,
    threshold_of_chance,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.core.arrays import Floats
    from rankgate.core.value_types import Json
    from rankgate.data.input_types import QrelsLike, TableLike


MIN_UNITS = 3
"""Units that a metric and a KPI must have in common."""

NOTHING_TO_MEASURE = "name a table of experiments, or --events with --qrels."

_MAX_MISSING = 0.1  # share of resamples without a threshold; above this share there is no interval


@dataclass(frozen=True)
class _Settings:
    chance: float
    level: float
    resamples: int
    seed: int


def agreement(
    data: TableLike | EventsLike | PackedSearches,
    *,
    qrels: QrelsLike | None = None,
    metrics: Sequence[str] = ("nDCG@10",),
    min_searches: Count = 10,
    chance: Annotated[float, Range(0.5, 0.999)] = 0.8,
    level: Annotated[float, Range(0.5, 0.9999)] = 0.95,
    resamples: Draws = 500,
    seed: Annotated[int, Range(0)] = 0,
) -> OnlineAgreement:
    """Measure whether offline metrics predict what users do.

    Over past experiments, or over the queries of a log.

    Args:
        data: a table with a row for each past experiment and metric or KPI: experiment, side
            (offline or online), name, delta, standard_error (needed online); with ``qrels`` what
            users did: a folder of events, a table of them, files of logs, or ``Events``.
        qrels: judgments of the log's queries; query ids are the texts of queries in the log.
        metrics: metrics of the lists that the log shows.
        min_searches: the lowest number of searches of a query of the log.
        chance: with which a KPI must rise at the offline threshold that is sought.
        level: the confidence level of the intervals.
        resamples: the number of resamples of experiments or queries.
        seed: the seed of the bootstrap.

    Raises:
        InputError: a table or log that cannot be read; fewer than three units in common.
        UsageError: events without judgments.
    """
    if qrels is not None:
        observations = observations_of_log(data, qrels, metrics, min_searches)
    elif isinstance(data, Events | PackedSearches):
        raise UsageError(NOTHING_TO_MEASURE, code="missing-argument")
    else:
        observations = read_experiments(data)  # type: ignore[arg-type]
    setting = _Settings(chance, level, resamples, seed)
    pairs, units = [], []
    for k, kpi in enumerate(observations.kpis):
        for m, metric in enumerate(observations.metrics):
            has_both = np.isfinite(observations.offline[:, m]) & np.isfinite(observations.online[:, k])
            if has_both.sum() >= MIN_UNITS:
                row, predicted = _pair_statistics(observations, m, k, has_both, setting)
                pairs.append({"metric": metric, "kpi": kpi, **row})
                units += _unit_rows(observations, m, k, has_both, predicted)
    if not pairs:
        problem = f"no metric and KPI have {MIN_UNITS} experiments in common."
        raise InputError(problem, code="too-few-experiments")
    return OnlineAgreement(
        "experiment" if observations.differences else "query",
        pl.DataFrame(pairs, schema=PAIRS).with_columns(pl.col(pl.Float64).fill_nan(None)),
        _best_metrics(observations, pairs),
        pl.DataFrame(units, schema=UNITS, orient="row").with_columns(pl.col(pl.Float64).fill_nan(None)),
        chance,
        level,
        resamples,
        seed,
    )


def _pair_statistics(
    observations: Observations, m: int, k: int, has_both: NDArray[np.bool_], setting: _Settings
) -> tuple[dict[str, Json], Floats]:
    """The statistics of a metric and a KPI, and predictions of each unit from all other units."""
    x, y = observations.offline[has_both, m], observations.online[has_both, k]
    x_error, y_error = (observations.offline_error[has_both, m], observations.online_error[has_both, k])
    n = len(x)
    # one seed for every pair: the same resamples of the same units
    resampled_rows = np.random.default_rng(setting.seed).integers(n, size=(setting.resamples, n))
    line = fit_line(x, y, y_error)
    predicted, mean = predict_left_out(x, y, y_error)
    r = pearson(x, y)
    leave_one_out = [float(spearman(np.delete(x, index), np.delete(y, index))) for index in range(n)]
    row = {
        "n": n,
        **(_sign_agreement(x, y, setting.level) if observations.differences else {}),
        **_with_interval(
            "spearman", spearman(x, y), spearman(x[resampled_rows], y[resampled_rows]), setting.level
        ),
        "spearman_least": np.nanmin(leave_one_out) if np.isfinite(leave_one_out).any() else math.nan,
        "spearman_most": np.nanmax(leave_one_out) if np.isfinite(leave_one_out).any() else math.nan,
        **_with_interval("pearson", r, pearson(x[resampled_rows], y[resampled_rows]), setting.level),
        "reliability": float(reliability(y, y_error)),
        **_corrected_correlation(r, x, y, x_error, y_error, setting),
        "slope": line.slope,
        "skill": skill(y, predicted, mean),
    }
    if observations.differences:
        row["right_signs"] = float((np.sign(predicted) == np.sign(y)).mean())
        row |= _threshold(x, y, y_error, resampled_rows, setting)
    return row, predicted


def _sign_agreement(x: Floats, y: Floats, level: float) -> dict[str, float]:
    """The share of equal signs; a difference of 0 agrees with no sign."""
    from rankgate.measurement.stats.mean_intervals import wilson_interval

    same = float((np.sign(x) * np.sign(y) > 0).sum())
    low, high = wilson_interval(np.array([same]), np.array([float(len(x))]), level)
    return {"same_sign": same / len(x), "same_sign_low": float(low[0]), "same_sign_high": float(high[0])}


def _with_interval(name: str, value: Floats, resampled: Floats, level: float) -> dict[str, float]:
    """A value with the percentile interval of its resamples, without undefined ones."""
    finite = resampled[np.isfinite(resampled)]
    is_reliable = len(finite) >= len(resampled) / 2
    ends = np.quantile(finite, [(1 - level) / 2, (1 + level) / 2]) if is_reliable else (math.nan,) * 2
    return {name: float(value), f"{name}_low": float(ends[0]), f"{name}_high": float(ends[1])}


def _corrected_correlation(
    r: Floats, x: Floats, y: Floats, x_error: Floats, y_error: Floats, setting: _Settings
) -> dict[str, float]:
    """The correlation of the true values; None if the measured values allow every correlation."""
    low, high = corrected_interval(x, y, x_error, y_error, setting.level, setting.seed)
    value = float(corrected_correlation(r, reliability(x, x_error), reliability(y, y_error)))
    if not math.isfinite(low):
        value = math.nan
    return {"corrected": value, "corrected_low": low, "corrected_high": high}


def _threshold(
    x: Floats, y: Floats, error: Floats, resampled_rows: NDArray[np.int64], setting: _Settings
) -> dict[str, Json]:
    """The offline difference for a chance, with the interval of refitted lines."""
    low, high = float(x.min()), float(x.max())
    estimate = threshold_of_chance(fit_line(x, y, error), setting.chance, low, high)
    if estimate is None:
        return {}
    thresholds = [
        threshold_of_chance(fit_line(x[rows], y[rows], error[rows]), setting.chance, low, high)
        for rows in resampled_rows
        if np.ptp(x[rows]) > 0
    ]
    defined = np.array([limit for limit in thresholds if limit is not None])
    row: dict[str, Json] = {"threshold": estimate, "tried": low <= estimate <= high}
    if len(defined) >= (1 - _MAX_MISSING) * setting.resamples:
        tail = (1 - setting.level) / 2
        ends = np.quantile(defined, [tail, 1 - tail])
        row |= {"threshold_low": float(ends[0]), "threshold_high": float(ends[1])}
    return row


def _unit_rows(
    observations: Observations, m: int, k: int, has_both: NDArray[np.bool_], predicted: Floats
) -> list[tuple[object, ...]]:
    return [
        (
            observations.metrics[m],
            observations.kpis[k],
            observations.units[unit_index],
            float(observations.offline[unit_index, m]),
            float(observations.online[unit_index, k]),
            float(observations.online_error[unit_index, k]),
            float(value),
        )
        for unit_index, value in zip(np.flatnonzero(has_both), predicted, strict=True)
    ]


def _best_metrics(observations: Observations, pairs: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """The metric with the most skill for each KPI, and the skill of this choice."""
    rows = []
    for k, kpi in enumerate(observations.kpis):
        kpi_pairs = [row for row in pairs if row["kpi"] == kpi and math.isfinite(row["skill"])]
        if kpi_pairs:
            best_pair = max(kpi_pairs, key=lambda row: row["skill"])
            rows.append((kpi, best_pair["metric"], best_pair["skill"], _honest_skill(observations, k)))
    return pl.DataFrame(rows, schema=BEST, orient="row").with_columns(pl.col(pl.Float64).fill_nan(None))


def _honest_skill(observations: Observations, k: int) -> float:
    """Skill when the metric is chosen, and its line fitted, without the predicted unit.

    Only units with the KPI and every metric count.
    """
    has_all = np.isfinite(observations.online[:, k]) & np.isfinite(observations.offline).all(axis=1)
    x, y, error = (
        observations.offline[has_all],
        observations.online[has_all, k],
        observations.online_error[has_all, k],
    )
    if len(y) <= MIN_UNITS:
        return math.nan
    predicted, mean = np.full(len(y), np.nan), np.full(len(y), np.nan)
    for held_out in range(len(y)):
        is_other = np.arange(len(y)) != held_out
        weight = 1 / error[is_other] ** 2
        mean[held_out] = float(weight @ y[is_other] / weight.sum())
        skills = {}
        for m in range(x.shape[1]):
            if np.ptp(x[is_other, m]) > 0:
                parts = predict_left_out(x[is_other, m], y[is_other], error[is_other])
                skills[m] = skill(y[is_other], *parts)
        finite_skills = {m: value for m, value in skills.items() if math.isfinite(value)}
        if not finite_skills:
            return math.nan
        best = max(finite_skills, key=lambda m: finite_skills[m])
        line = fit_line(x[is_other, best], y[is_other], error[is_other])
        predicted[held_out] = line.intercept + line.slope * x[held_out, best]
    return skill(y, predicted, mean)
