"""Differences that matter: equivalence within a margin, and shares of the baseline's mean."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.present.frames import frame

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.decisions.comparison.inference import Test
    from rankgate.decisions.comparison.values import PairedValues

    Floats = NDArray[np.float64]

EQUIVALENCE: dict[str, Any] = {
    "metric": pl.String, "margin": pl.Float64, "relative": pl.Boolean, "p_raw": pl.Float64,
    "p_value": pl.Float64, "low": pl.Float64, "high": pl.Float64, "level": pl.Float64,
    "worse": pl.Float64, "same": pl.Float64, "better": pl.Float64,
}  # fmt: skip
"""Two one-sided tests: p_raw and p_value (corrected) of H₀, the difference is the margin or more;
low and high are the ends of the interval of delta of level 1 − 2α, which lies within the margin
where p_raw is at most α. worse, same, better: the probabilities that the candidate's true gain is
below −margin, within it, above it, under a flat prior. With relative all are shares of the
baseline's mean."""

RELATIVE: dict[str, Any] = {
    "metric": pl.String, "relative": pl.Float64, "low": pl.Float64, "high": pl.Float64,
    "level": pl.Float64,
}  # fmt: skip
"""Delta as a share of the baseline's mean, with Fieller's interval; null where that mean is 0, ends
null where it is not clearly different from 0."""


def equivalences(pairs: Sequence[PairedValues], test: Test) -> list[pl.DataFrame]:
    """`EQUIVALENCE` of each candidate, p corrected over all of them; empty without a margin."""
    from rankgate.measurement.stats.corrections import correct

    if test.margin is None:
        return [pl.DataFrame(schema=EQUIVALENCE)] * len(pairs)
    rows = [[_equivalent(values, j, test) for j in range(len(values.metrics))] for values in pairs]
    raw = np.array([row["p_raw"] for each in rows for row in each])
    corrected = iter(correct(raw, "holm" if test.correction == "maxt" else test.correction))
    return [
        frame([row | {"p_value": next(corrected)} for row in each], EQUIVALENCE) for each in rows
    ]


def relatives(values: PairedValues, test: Test) -> pl.DataFrame:
    """`RELATIVE` of one candidate; empty where it is not asked for."""
    from rankgate.measurement.stats.ratio import fieller

    rows = []
    for j, metric in enumerate(values.metrics) if test.relative else ():
        found = fieller(*_known(values, j), test.level)
        ends = [end if np.isfinite(end) else np.nan for end in (found.low, found.high)]
        rows.append({"metric": metric, "relative": found.value, "low": ends[0], "high": ends[1],
                     "level": test.level})  # fmt: skip
    return frame(rows, RELATIVE)


def _known(values: PairedValues, column: int) -> tuple[Floats, Floats]:
    """The values of the queries that both systems have one of."""
    both = ~np.isnan(values.baseline[:, column] + values.candidate[:, column])
    return values.baseline[both, column], values.candidate[both, column]


def _equivalent(values: PairedValues, column: int, test: Test) -> dict[str, Any]:
    margin, sign = float(test.margin or 0.0), values.signs[column]
    base, other = _known(values, column)
    degrees = None if values.degrees is None else float(values.degrees[column])
    found = (
        _relative(base, other, margin, test)
        if test.relative
        else _plain(other - base, margin, test, degrees)
    )
    worse, better = (found["below"], found["above"])[:: int(sign)]
    return {
        "metric": values.metrics[column], "margin": margin, "relative": test.relative,
        "p_raw": found["p"], "low": found["low"], "high": found["high"],
        "level": 2 * test.level - 1, "worse": worse, "same": 1 - worse - better,
        "better": better,
    }  # fmt: skip


def _plain(delta: Floats, margin: float, test: Test, degrees: float | None) -> dict[str, float]:
    from rankgate.measurement.stats.equivalence import tost
    from rankgate.measurement.stats.posterior import posterior

    result = tost(delta, margin, test.level, degrees)
    chance = posterior(delta, margin, degrees)
    figures = (result.p_value, result.low, result.high, chance.worse, chance.better)
    return dict(zip(_FIGURES, (float(each[0]) for each in figures), strict=True))


_FIGURES = ("p", "low", "high", "below", "above")


def _relative(base: Floats, other: Floats, margin: float, test: Test) -> dict[str, float]:
    """The same by candidate − (1 ∓ margin)·baseline, so that the margin is an estimate too."""
    from rankgate.measurement.stats.posterior import posterior
    from rankgate.measurement.stats.ratio import fieller, relative_gain

    if len(base) < 2 or not base.mean():  # there is nothing to take a share of
        return dict.fromkeys(_FIGURES, float("nan"))
    share = float(margin * np.sign(base.mean()))
    below = posterior(relative_gain(base, other, share), 0.0).worse[0]
    above = posterior(relative_gain(base, other, -share), 0.0).better[0]
    ends = fieller(base, other, 2 * test.level - 1)
    low, high = (end if np.isfinite(end) else np.nan for end in (ends.low, ends.high))
    return dict(zip(_FIGURES, (float(max(below, above)), low, high, below, above), strict=True))
