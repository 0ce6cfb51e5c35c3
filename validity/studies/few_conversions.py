"""Experiments with few or skewed values: p, relative intervals and guardrails of one test.

Both arms have the same distribution, and a guardrail is at its margin: the treatment loses exactly
the 10 % that it may. Before, p was of Welch's test, or of the pooled z-test of shares, and relative
intervals and guardrails were of the logarithm of the ratio.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from scipy.special import ndtri, stdtr

from rankgate.measurement.stats.experiment_arms import TwoMeans, quantile
from rankgate.online.experiments.effects import (
    compare_means,
    compute_moments,
    covariate_slope,
    independent_effect,
    pooled_central_moments,
)
from rankgate.online.experiments.estimate_effects import bootstrap_effect
from rankgate.online.experiments.units import Measure

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.online.experiments.effects import Effect

    Floats = NDArray[np.float64]
    Draw = Callable[[np.random.Generator, int], dict[str, Floats]]

RUNS = 2000
RESAMPLED_RUNS, RESAMPLES = 400, 400
ALPHA, MARGIN, GAIN = 0.05, 0.1, 0.5
_FOUND = ("p", "relative", "passes", "fails", "power", "two_ends")


@dataclass(frozen=True)
class Cell:
    """Shares of experiments, of one kind of values.

    Attributes:
        values: of a unit.
        units: of the control and the treatment.
        runs: experiments.
        p, p_before: arms are equal and p is below 5 %.
        relative, relative_before: arms are equal and the relative interval leaves out 0.
        passes, passes_before: a guardrail at its margin passes.
        fails, fails_before: a guardrail at its margin fails.
        power, power_before: p is below 5 % where the treatment has half as much again.
        two_ends: relative intervals of equal arms with two finite ends.
    """

    values: str
    units: tuple[int, int]
    runs: int
    p: float
    p_before: float
    relative: float
    relative_before: float
    passes: float
    passes_before: float
    fails: float
    fails_before: float
    power: float
    power_before: float
    two_ends: float

    @property
    def holds(self) -> bool:
        """True if every error is at most 5 %, within two standard errors."""
        return max(self.p, self.relative, self.passes, self.fails) <= _limit(self.runs)


def _limit(runs: int) -> float:
    """Two standard errors above 5 %."""
    return ALPHA + 2 * float(np.sqrt(ALPHA * (1 - ALPHA) / runs))


def _buyers(share: float, spread: float = 1.0, price: float = 3.0) -> Draw:
    def draw(random: np.random.Generator, n: int) -> dict[str, Floats]:
        return {"value": (random.random(n) < share) * random.lognormal(price, spread, n)}

    return draw


def _lognormal(spread: float) -> Draw:
    return lambda random, n: {"value": random.lognormal(0, spread, n)}


def _pareto(random: np.random.Generator, n: int) -> dict[str, Floats]:
    return {"value": random.pareto(2.5, n) + 1}


def _normal(random: np.random.Generator, n: int) -> dict[str, Floats]:
    return {"value": random.normal(5, 1, n)}


def _share(share: float) -> Draw:
    return lambda random, n: {"value": (random.random(n) < share).astype(float)}


def _by_visits(random: np.random.Generator, n: int) -> dict[str, Floats]:
    """Money and visits; 2 % of visits buy."""
    visits = random.poisson(random.gamma(1, 2, n)) + 1
    return {"value": random.binomial(visits, 0.02) * random.lognormal(3, 0.7, n), "per": visits.astype(float)}


def _with_before(random: np.random.Generator, n: int) -> dict[str, Floats]:
    """Money of a fifth of the units, and what they spent before."""
    level = random.lognormal(0, 0.7, n)
    return {
        name: (random.random(n) < 0.2) * level * random.lognormal(2, 0.5, n) for name in ("value", "before")
    }


def _latencies(random: np.random.Generator, n: int) -> dict[str, Floats]:
    """Ten latencies of a user; users differ."""
    speed = np.repeat(random.normal(0, 0.5, n), 10)
    return {
        "value": np.exp(speed + random.normal(0, 0.5, 10 * n)),
        "unit": np.repeat(np.arange(n), 10).astype(float),
    }


CELLS: Sequence[tuple[str, Draw, tuple[int, int]]] = (
    ("money of 2 %", _buyers(0.02), (500, 500)),
    ("money of 2 %", _buyers(0.02), (4500, 500)),
    ("money of 2 %", _buyers(0.02), (500, 4500)),
    ("money of 2 %", _buyers(0.02), (900, 100)),
    ("money of 10 %", _buyers(0.1), (2700, 300)),
    ("money of 10 %", _buyers(0.1), (600, 400)),
    ("lognormal, sd 2", _lognormal(2), (100, 100)),
    ("lognormal, sd 2", _lognormal(2), (900, 100)),
    ("lognormal, sd 1", _lognormal(1), (900, 100)),
    ("Pareto, index 2.5", _pareto, (500, 500)),
    ("Pareto, index 2.5", _pareto, (900, 100)),
    ("normal", _normal, (900, 100)),
    ("share of 2 %", _share(0.02), (500, 500)),
    ("share of 2 %", _share(0.02), (4500, 500)),
    ("share of 2 %", _share(0.02), (900, 100)),
    ("money by visits (delta method)", _by_visits, (500, 500)),
    ("money by visits (delta method)", _by_visits, (2700, 300)),
    ("money, CUPED", _with_before, (500, 500)),
    ("money, CUPED", _with_before, (1800, 200)),
    ("p95 of latencies of users", _latencies, (200, 200)),
    ("p95 of latencies of users", _latencies, (800, 200)),
)
FEWER_BUYERS = ("half of the buyers, twice the money", _buyers(0.05, 1.0, 3 + np.log(2)))
"""A treatment with another distribution of the same mean, against money of 10 %."""


def run(runs: int = RUNS, seed: int = 0) -> list[Cell]:
    """Every kind of values, then arms of different shapes, then the bootstrap."""
    random = np.random.default_rng([seed, 44])
    cells = [_cell(name, draw, draw, units, runs, random) for name, draw, units in CELLS]
    name, fewer = FEWER_BUYERS
    cells += [_cell(name, _buyers(0.1), fewer, units, runs, random) for units in ((1000, 1000), (4500, 500))]
    few = max(2, runs * RESAMPLED_RUNS // RUNS)
    cells += [
        _cell(f"{name}, bootstrap", draw, draw, units, few, random)
        for name, draw, units in (CELLS[0], CELLS[6])
    ]
    return cells


def _cell(
    name: str,
    of_control: Draw,
    of_treatment: Draw,
    units: tuple[int, int],
    runs: int,
    random: np.random.Generator,
) -> Cell:
    counts = np.zeros(11)
    for _ in range(runs):
        control, equal = of_control(random, units[0]), of_treatment(random, units[1])
        worse = {**equal, "value": equal["value"] * (1 - MARGIN)}
        better = {**equal, "value": equal["value"] * (1 + GAIN)}
        if name.startswith("share"):  # of other units, as a share of a share is none
            base = float(name.split()[2]) / 100
            worse, better = (_share(base * factor)(random, units[1]) for factor in (1 - MARGIN, 1 + GAIN))
        effects = [
            _effect(name, control, arm, 1 - level)
            for arm, level in ((equal, ALPHA), (worse, 2 * ALPHA), (better, ALPHA))
        ]
        null, at_margin, gained = effects
        by_log = [_before(effect, level) for effect, level in ((null, ALPHA), (at_margin, 2 * ALPHA))]
        counts += [
            null.p_value < ALPHA,
            _p_before(null) < ALPHA,
            _leaves_out_0(null.relative_low, null.relative_high),
            _leaves_out_0(*by_log[0]),
            at_margin.relative_low > -MARGIN,
            by_log[1][0] > -MARGIN,
            at_margin.relative_high < -MARGIN,
            by_log[1][1] < -MARGIN,
            gained.p_value < ALPHA and gained.delta > 0,
            _p_before(gained) < ALPHA and gained.delta > 0,
            np.isfinite(null.relative_low) and np.isfinite(null.relative_high),
        ]
    return Cell(name, units, runs, *(counts / runs).tolist())


def _leaves_out_0(low: float, high: float) -> bool:
    return low > 0 or high < 0


def _effect(name: str, control: dict[str, Floats], treatment: dict[str, Floats], level: float) -> Effect:
    if "p95" in name:
        parts = [quantile(arm["value"], 0.95, arm["unit"].astype(np.int64)) for arm in (control, treatment)]
        one, two = parts
        return independent_effect(
            one.value, two.value, (one.se, two.se), (one.clusters, two.clusters), level, "order-statistics"
        )
    frames = [pl.DataFrame(arm) for arm in (control, treatment)]
    if "bootstrap" in name:
        rows = [frame.with_row_index("unit") for frame in frames]
        return bootstrap_effect(rows, Measure("money", "value"), RESAMPLES, level, 0)
    sums = [compute_moments(frame) for frame in frames]
    units = compute_moments(pl.concat(frames))
    slope, center = covariate_slope(units) if "before" in control else (None, 0.0)
    shape = pooled_central_moments(frames, sums, slope)
    return compare_means(*sums, level, slope=slope, center=center, shape=shape)


def _p_before(effect: Effect) -> float:
    """Of Welch's test without a correction; with so many units its freedom changes little."""
    if not isinstance(effect.arms, TwoMeans) or not effect.arms.skewness:
        return effect.p_value
    statistic = replace(effect.arms, skewness=0.0).statistic()
    return float(2 * stdtr(effect.n / 10 - 1, -abs(statistic)))


def _before(effect: Effect, alpha: float) -> tuple[float, float]:
    """The interval of the ratio on its logarithm; of quantiles by the delta method."""
    arms = effect.arms
    if not (arms.control > 0 and arms.treatment > 0):
        return np.nan, np.nan
    reach = float(ndtri(1 - alpha / 2))
    ratio = arms.treatment / arms.control
    errors = (arms.control_variance / arms.control**2, arms.treatment_variance / arms.treatment**2)
    wide = reach * float(np.sqrt(sum(errors)))
    if effect.method == "order-statistics":
        return ratio * (1 - wide) - 1, ratio * (1 + wide) - 1
    return ratio * np.exp(-wide) - 1, ratio * np.exp(wide) - 1


def section(cells: Sequence[Any]) -> str:
    """Give the part of the page: errors now, and before in brackets."""
    from tables import marked, percent, table

    def both(runs: int, share: float, before: float) -> str:
        return f"{marked(share, share <= _limit(runs))} ({percent(before)})"

    rows = [
        (
            c.values,
            f"{c.units[0]:,} / {c.units[1]:,}",
            both(c.runs, c.p, c.p_before),
            both(c.runs, c.relative, c.relative_before),
            both(c.runs, c.passes, c.passes_before),
            both(c.runs, c.fails, c.fails_before),
            f"{percent(c.power)} ({percent(c.power_before)})",
            percent(c.two_ends),
        )
        for c in cells
    ]
    missed = sum(not c.holds for c in cells)
    words = (
        "Both arms have the same distribution, and a guardrail is at its margin, that is, the treatment "
        "loses exactly the accepted 10 %; every error is meant to be 5 % (2,000 experiments each, 400 of the "
        "bootstrap). In brackets as it was before: p of Welch's test or the pooled z-test, relative "
        "intervals and guardrails on the logarithm of the ratio. Now all are of one test: Welch's, with a "
        "correction for skewness where arms are unequal, and Fieller's interval of the ratio; of shares the "
        "score tests of Mee and Koopman. Power is the share of p below 5 % where the treatment has half as "
        "much again. An interval of the ratio has no high end where the control may be 0. "
        f"{missed} of {len(cells)} rows have an error above 5 % and two standard errors (✘). Where arms are "
        "unequal and one has fewer than 10 units with a value above 0, `rankgate online ab` warns of it. "
        "Quantiles, standard errors by the bootstrap, and arms with values of different shapes have no "
        "correction for skewness, or a wrong correction."
    )
    head = (
        "values",
        "units",
        "p < 5 %",
        "relative interval without 0",
        "guardrail passes",
        "guardrail fails",
        "power",
        "two finite ends",
    )
    return f"## Experiments with few or skewed values\n\n{words}\n\n{table(head, rows)}"
