"""Measure whether offline metrics predict what users do."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import polars as pl

from rankgate.core.declare import Count, Range
from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.online.clicks.packed import PackedSearches
from rankgate.online.events.events import Events, EventsLike
from rankgate.online.offline_online.observations import Observations, of_experiments, of_log
from rankgate.online.offline_online.online_agreement import BEST, PAIRS, UNITS, OnlineAgreement
from rankgate.online.offline_online.prediction import (
    corrected,
    corrected_interval,
    fit,
    left_out,
    pearson,
    reliability,
    skill,
    spearman,
    threshold,
)

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.inputs import QrelsLike, TableLike

    Floats = NDArray[np.float64]

LEAST = 3
"""Units that a metric and a KPI must have in common."""

NOTHING_TO_MEASURE = "name a table of experiments, or --events with --qrels."

_MISSING = 0.1  # share of resamples without a threshold above which it has no interval


@dataclass(frozen=True)
class _Setting:
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
    resamples: Count = 500,
    seed: Annotated[int, Range(0)] = 0,
) -> OnlineAgreement:
    """Measure whether offline metrics predict what users do.

    Over past experiments, or over the queries of a log.

    Args:
        data: a table with a row for each past experiment and metric or KPI: experiment, side
            (offline or online), name, delta, standard_error (needed online); with ``qrels`` what
            users did: a folder of events, a table of them, files of logs, or ``Events``.
        qrels: judgments of the log's queries; their ids are the words of the log.
        metrics: of the lists that the log shows.
        min_searches: that a query of the log must have.
        chance: with which a KPI must rise at the offline threshold that is sought.
        level: of the intervals.
        resamples: of the bootstrap over experiments or queries.
        seed: of the bootstrap.

    Raises:
        InputError: a table or log that cannot be read; fewer than three units in common.
        UsageError: events without judgments.
    """
    if qrels is not None:
        seen = of_log(data, qrels, metrics, min_searches)  # type: ignore[arg-type]
    elif isinstance(data, Events | PackedSearches):
        raise UsageError(NOTHING_TO_MEASURE, code="missing-argument")
    else:
        seen = of_experiments(data)  # type: ignore[arg-type]
    setting = _Setting(chance, level, resamples, seed)
    pairs, units = [], []
    for k, kpi in enumerate(seen.kpis):
        for m, metric in enumerate(seen.metrics):
            both = np.isfinite(seen.offline[:, m]) & np.isfinite(seen.online[:, k])
            if both.sum() >= LEAST:
                row, predicted = _pair(seen, m, k, both, setting)
                pairs.append({"metric": metric, "kpi": kpi, **row})
                units += _units(seen, m, k, both, predicted)
    if not pairs:
        problem = f"no metric and KPI have {LEAST} experiments in common."
        raise InputError(problem, code="too-few-experiments")
    return OnlineAgreement(
        "experiment" if seen.differences else "query",
        pl.DataFrame(pairs, schema=PAIRS).with_columns(pl.col(pl.Float64).fill_nan(None)),
        _best(seen, pairs),
        pl.DataFrame(units, schema=UNITS, orient="row").with_columns(
            pl.col(pl.Float64).fill_nan(None)
        ),
        chance,
        level,
        resamples,
        seed,
    )


def _pair(
    seen: Observations, m: int, k: int, both: NDArray[np.bool_], setting: _Setting
) -> tuple[dict[str, Any], Floats]:
    """What a metric says of a KPI, and what the others predict of each unit."""
    x, y = seen.offline[both, m], seen.online[both, k]
    x_error, y_error = seen.offline_error[both, m], seen.online_error[both, k]
    n = len(x)
    # one seed for every pair: the same resamples of the same units
    drawn = np.random.default_rng(setting.seed).integers(n, size=(setting.resamples, n))
    line = fit(x, y, y_error)
    predicted, mean = left_out(x, y, y_error)
    r = pearson(x, y)
    without = [float(spearman(np.delete(x, at), np.delete(y, at))) for at in range(n)]
    row = {
        "n": n,
        **(_signs(x, y, setting.level) if seen.differences else {}),
        **_with_ends("spearman", spearman(x, y), spearman(x[drawn], y[drawn]), setting.level),
        "spearman_least": np.nanmin(without) if np.isfinite(without).any() else math.nan,
        "spearman_most": np.nanmax(without) if np.isfinite(without).any() else math.nan,
        **_with_ends("pearson", r, pearson(x[drawn], y[drawn]), setting.level),
        "reliability": float(reliability(y, y_error)),
        **_corrected(r, x, y, x_error, y_error, setting),
        "slope": line.slope,
        "skill": skill(y, predicted, mean),
    }  # fmt: skip
    if seen.differences:
        row["right_signs"] = float((np.sign(predicted) == np.sign(y)).mean())
        row |= _threshold(x, y, y_error, drawn, setting)
    return row, predicted


def _signs(x: Floats, y: Floats, level: float) -> dict[str, float]:
    """The share of equal signs; a difference of 0 agrees with none."""
    from rankgate.measurement.stats.proportion import wilson

    same = float((np.sign(x) * np.sign(y) > 0).sum())
    low, high = wilson(np.array([same]), np.array([float(len(x))]), level)
    return {
        "same_sign": same / len(x), "same_sign_low": float(low[0]),
        "same_sign_high": float(high[0]),
    }  # fmt: skip


def _with_ends(name: str, value: Floats, drawn: Floats, level: float) -> dict[str, float]:
    """A value with the percentile interval of its resamples that have one."""
    known = drawn[np.isfinite(drawn)]
    enough = len(known) >= len(drawn) / 2
    ends = np.quantile(known, [(1 - level) / 2, (1 + level) / 2]) if enough else (math.nan,) * 2
    return {name: float(value), f"{name}_low": float(ends[0]), f"{name}_high": float(ends[1])}


def _corrected(
    r: Floats, x: Floats, y: Floats, x_error: Floats, y_error: Floats, setting: _Setting
) -> dict[str, float]:
    """The correlation of the true values; none where the measured ones allow every correlation."""
    low, high = corrected_interval(x, y, x_error, y_error, setting.level, setting.seed)
    value = float(corrected(r, reliability(x, x_error), reliability(y, y_error)))
    if not math.isfinite(low):
        value = math.nan
    return {"corrected": value, "corrected_low": low, "corrected_high": high}


def _threshold(
    x: Floats, y: Floats, error: Floats, drawn: NDArray[np.int64], setting: _Setting
) -> dict[str, Any]:
    """The offline difference for a chance, with the interval of refitted lines."""
    low, high = float(x.min()), float(x.max())
    found = threshold(fit(x, y, error), setting.chance, low, high)
    if found is None:
        return {}
    several = [
        threshold(fit(x[at], y[at], error[at]), setting.chance, low, high)
        for at in drawn
        if np.ptp(x[at]) > 0
    ]
    known = np.array([each for each in several if each is not None])
    row: dict[str, Any] = {"threshold": found, "tried": low <= found <= high}
    if len(known) >= (1 - _MISSING) * setting.resamples:
        tail = (1 - setting.level) / 2
        ends = np.quantile(known, [tail, 1 - tail])
        row |= {"threshold_low": float(ends[0]), "threshold_high": float(ends[1])}
    return row


def _units(
    seen: Observations, m: int, k: int, both: NDArray[np.bool_], predicted: Floats
) -> list[tuple[Any, ...]]:
    return [
        (seen.metrics[m], seen.kpis[k], seen.units[at], float(seen.offline[at, m]),
         float(seen.online[at, k]), float(seen.online_error[at, k]), float(value))
        for at, value in zip(np.flatnonzero(both), predicted, strict=True)
    ]  # fmt: skip


def _best(seen: Observations, pairs: Sequence[Mapping[str, Any]]) -> pl.DataFrame:
    """For each KPI the metric with the most skill, and the skill of choosing so."""
    rows = []
    for k, kpi in enumerate(seen.kpis):
        own = [row for row in pairs if row["kpi"] == kpi and math.isfinite(row["skill"])]
        if own:
            most = max(own, key=lambda row: row["skill"])
            rows.append((kpi, most["metric"], most["skill"], _honest(seen, k)))
    return pl.DataFrame(rows, schema=BEST, orient="row").with_columns(
        pl.col(pl.Float64).fill_nan(None)
    )


def _honest(seen: Observations, k: int) -> float:
    """Skill where the metric is chosen, and its line fitted, without the unit that is predicted.

    It is of the units that have the KPI and every metric.
    """
    both = np.isfinite(seen.online[:, k]) & np.isfinite(seen.offline).all(axis=1)
    x, y, error = seen.offline[both], seen.online[both, k], seen.online_error[both, k]
    if len(y) <= LEAST:
        return math.nan
    predicted, mean = np.full(len(y), np.nan), np.full(len(y), np.nan)
    for at in range(len(y)):
        others = np.arange(len(y)) != at
        weight = 1 / error[others] ** 2
        mean[at] = float(weight @ y[others] / weight.sum())
        found = {}
        for m in range(x.shape[1]):
            if np.ptp(x[others, m]) > 0:
                parts = left_out(x[others, m], y[others], error[others])
                found[m] = skill(y[others], *parts)
        known = {m: value for m, value in found.items() if math.isfinite(value)}
        if not known:
            return math.nan
        best = max(known, key=lambda m: known[m])
        line = fit(x[others, best], y[others], error[others])
        predicted[at] = line.intercept + line.slope * x[at, best]
    return skill(y, predicted, mean)
