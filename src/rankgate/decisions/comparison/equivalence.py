"""Differences that matter: equivalence within a margin, and shares of the baseline's mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.errors import UsageError
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.common_columns import LEVEL, METRIC
from rankgate.core.present.result_frames import make_frame

if TYPE_CHECKING:
    from rankgate.core.arrays import Floats
    from rankgate.core.value_types import Json
    from rankgate.decisions.comparison.inference import Test
    from rankgate.decisions.comparison.paired_values import PairedValues


EQUIVALENCE = Columns(
    "One row per metric: two one-sided tests of H₀, the difference is the margin or more; no rows where no "
    "margin was given. With relative, margin, low, high and the tests are of shares of the baseline's mean.",
    METRIC,
    Column("margin", pl.Float64, "the largest difference that does not matter"),
    Column("relative", pl.Boolean, "true if the figures are shares of the baseline's mean"),
    Column("p_raw", pl.Float64, "the p-value of both tests", "p"),
    Column("p_value", pl.Float64, "the p-value after the correction", "p"),
    Column(
        "low",
        pl.Float64,
        "the low end of the interval of delta with level 1 − 2α, which is within the margin if p_raw is at "
        "most α",
        "signed",
    ),
    Column("high", pl.Float64, "the high end of that interval", "signed"),
    Column("level", pl.Float64, "the level of that interval: 1 − 2α"),
    Column(
        "worse",
        pl.Float64,
        "the probability that the true gain is below −margin, under a flat prior",
        "probability",
        header="P(worse)",
    ),
    Column(
        "same",
        pl.Float64,
        "the probability that the true gain is within the margin, under a flat prior",
        "probability",
        header="P(equi-\nvalent)",
    ),
    Column(
        "better",
        pl.Float64,
        "the probability that the true gain is above the margin, under a flat prior",
        "probability",
        header="P(better)",
    ),
)

RELATIVE = Columns(
    "One row per metric: delta as a share of the baseline's mean, with Fieller's interval; no rows where "
    "shares were not asked for.",
    METRIC,
    Column("relative", pl.Float64, "delta / the baseline's mean; null where that mean is 0", "relative"),
    Column(
        "low",
        pl.Float64,
        "the low end of the interval; null where the mean is not clearly different from 0",
        "relative",
    ),
    Column(
        "high",
        pl.Float64,
        "the high end of the interval; null where the mean is not clearly different from 0",
        "relative",
    ),
    LEVEL,
)


def equivalence_of_pairs(pairs: Sequence[PairedValues], test: Test) -> list[pl.DataFrame]:
    """The table `EQUIVALENCE` of each candidate, p corrected over all; empty without a margin."""
    from rankgate.measurement.stats.multiple_comparisons import correct

    if test.margin is None:
        return [pl.DataFrame(schema=EQUIVALENCE)] * len(pairs)
    rows = [[_equivalence_row(values, j, test) for j in range(len(values.metrics))] for values in pairs]
    raw_p_values = np.array([row["p_raw"] for rows_of_pair in rows for row in rows_of_pair])
    corrected_p_values = iter(correct(raw_p_values, "holm" if test.correction == "maxt" else test.correction))
    return [
        make_frame([row | {"p_value": next(corrected_p_values)} for row in rows_of_pair], EQUIVALENCE)
        for rows_of_pair in rows
    ]


def relative_differences(values: PairedValues, test: Test) -> pl.DataFrame:
    """The table `RELATIVE` of one candidate; empty unless the test asks for it."""
    from rankgate.measurement.stats.paired_tests import fieller

    if not test.relative:
        return RELATIVE.empty()
    rows = []
    for j, metric in enumerate(values.metrics):
        ratio = fieller(*_defined_values(values, j), test.level)
        bounds = [end if np.isfinite(end) else np.nan for end in (ratio.low, ratio.high)]
        rows.append(
            {
                "metric": metric,
                "relative": ratio.value,
                "low": bounds[0],
                "high": bounds[1],
                "level": test.level,
            }
        )
    return make_frame(rows, RELATIVE)


def _defined_values(values: PairedValues, column: int) -> tuple[Floats, Floats]:
    """The values of the queries with a value for both systems."""
    is_defined = ~np.isnan(values.baseline[:, column] + values.candidate[:, column])
    return values.baseline[is_defined, column], values.candidate[is_defined, column]


def _equivalence_row(values: PairedValues, column: int, test: Test) -> dict[str, Json]:
    margin, sign = float(test.margin or 0.0), values.signs[column]
    baseline, candidate = _defined_values(values, column)
    degrees = None if values.degrees is None else float(values.degrees[column])
    statistics = (
        _relative_equivalence(baseline, candidate, margin, test)
        if test.relative
        else _absolute_equivalence(candidate - baseline, margin, test, degrees)
    )
    if len(baseline) > 1:
        largest = _largest_difference(values.metrics[column], baseline, candidate)
        statistics = _with_rare_changes(statistics, (baseline, candidate), largest, test, degrees)
    worse, better = (statistics["below"], statistics["above"])[:: int(sign)]
    return {
        "metric": values.metrics[column],
        "margin": margin,
        "relative": test.relative,
        "p_raw": statistics["p"],
        "low": statistics["low"],
        "high": statistics["high"],
        "level": 2 * test.level - 1,
        "worse": worse,
        "same": 1 - worse - better,
        "better": better,
    }


def _absolute_equivalence(
    delta: Floats, margin: float, test: Test, degrees: float | None
) -> dict[str, float]:
    from rankgate.measurement.stats.paired_tests import posterior, tost

    result = tost(delta, margin, test.level, degrees)
    chance = posterior(delta, margin, degrees)
    figures = (result.p_value, result.low, result.high, chance.worse, chance.better)
    return dict(zip(_STATISTICS, (float(figure[0]) for figure in figures), strict=True))


_STATISTICS = ("p", "low", "high", "below", "above")


def _largest_difference(metric: str, baseline: Floats, candidate: Floats) -> float:
    """The largest difference that a query can have; without a range, the largest value that occurs."""
    from rankgate.measurement.metrics.metric_name_parser import parse

    try:
        declared = parse(metric)
    except UsageError:
        declared = None
    if declared is None or declared.high is None:
        return float(np.abs([baseline, candidate]).max())
    return float(declared.high - declared.low)


def _with_rare_changes(
    statistics: dict[str, float],
    values: tuple[Floats, Floats],
    largest: float,
    test: Test,
    degrees: float | None,
) -> dict[str, float]:
    """Statistics that few changed queries allow, where normal theory knows no spread of the others."""
    from rankgate.measurement.stats.rare_changes import rare_change_ends, rare_change_p

    baseline, candidate = values
    delta, scale = candidate - baseline, abs(float(baseline.mean())) if test.relative else 1.0
    size = None if degrees is None or np.isnan(degrees) else int(degrees + 1)
    p_below, p_above = (
        float(p[0]) for p in rare_change_p(delta, (test.margin or 0.0) * scale, largest, size)
    )
    low, high = (float(end[0]) for end in rare_change_ends(delta, 1 - test.level, (-largest, largest), size))
    probability_below = max(statistics["below"], p_below / 2)
    probability_above = max(statistics["above"], p_above / 2)
    total = max(1.0, probability_below + probability_above)
    return {
        "p": max(statistics["p"], p_below, p_above),
        "low": min(statistics["low"], low / scale) if scale else statistics["low"],
        "high": max(statistics["high"], high / scale) if scale else statistics["high"],
        "below": probability_below / total,
        "above": probability_above / total,
    }


def _relative_equivalence(baseline: Floats, candidate: Floats, margin: float, test: Test) -> dict[str, float]:
    """Test equivalence by candidate − (1 ∓ margin)·baseline: the margin is an estimate too."""
    from rankgate.measurement.stats.paired_tests import fieller, posterior, relative_gain

    if len(baseline) < 2 or not baseline.mean():  # the baseline has no mean to take a share of
        return dict.fromkeys(_STATISTICS, float("nan"))
    share = float(margin * np.sign(baseline.mean()))
    probability_below = posterior(relative_gain(baseline, candidate, share), 0.0).worse[0]
    probability_above = posterior(relative_gain(baseline, candidate, -share), 0.0).better[0]
    interval = fieller(baseline, candidate, 2 * test.level - 1)
    low, high = (end if np.isfinite(end) else np.nan for end in (interval.low, interval.high))
    return dict(
        zip(
            _STATISTICS,
            (
                float(max(probability_below, probability_above)),
                low,
                high,
                probability_below,
                probability_above,
            ),
            strict=True,
        )
    )
