"""Experiments in which both arms are the same: how often a difference is found.

One look at tests of means, proportions, ratios, CUPED and quantiles; a look after every pair of
units at intervals that hold at every look, at five planned looks with spent alpha, and, for
comparison, at ordinary intervals.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl
from scipy.special import ndtri

from rankgate.measurement.stats.experiment_arms import quantile
from rankgate.measurement.stats.sequential_experiments import half_width, sample_ratio, spending_bounds
from rankgate.online.experiments.effects import compare_means, compute_moments, independent_effect

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

RUNS = 2000
ALPHA = 0.05
UNITS = 1000  # of each arm, at one look
LAST, FIRST = 5000, 100  # units of each arm, at the last and at the first look
_BLOCK = 200


@dataclass(frozen=True)
class Cell:
    """How often equal arms differ significantly.

    Attributes:
        method: what is tested, and how.
        values: of one unit.
        looks: at the data.
        runs: experiments.
        rejected: share of the experiments with a significant difference at some look.
        level: that is meant.
    """

    method: str
    values: str
    looks: str
    runs: int
    rejected: float
    level: float

    @property
    def holds(self) -> bool:
        """Whether no more are found than the level says, within two standard errors."""
        error = np.sqrt(self.level * (1 - self.level) / self.runs)
        return bool(self.rejected <= self.level + 2 * error)


def run(runs: int = RUNS, seed: int = 0) -> list[Cell]:
    """Every method at one look, then those for several looks."""
    random = np.random.default_rng(seed)
    cells = [
        Cell(method, values, "1", runs, float(np.mean([finds_effect(random) for _ in range(runs)])), ALPHA)
        for method, values, finds_effect in _ONE_LOOK
    ]
    ratio = [sample_ratio(_split(random), [1, 1]).p_value < ALPHA for _ in range(runs)]
    cells.append(Cell("sample ratio", "2,000 units", "1", runs, float(np.mean(ratio)), ALPHA))
    return cells + _several(random, runs)


def _split(random: np.random.Generator) -> list[int]:
    first = int(random.binomial(2 * UNITS, 0.5))
    return [first, 2 * UNITS - first]


def _found(control: dict[str, Floats], treatment: dict[str, Floats]) -> bool:
    arms = (compute_moments(pl.DataFrame(arm)) for arm in (control, treatment))
    return compare_means(*arms, 1 - ALPHA).p_value < ALPHA


def _twice(make: Callable[[np.random.Generator], dict[str, Floats]]) -> Callable[..., bool]:
    return lambda random: _found(make(random), make(random))


def _money(random: np.random.Generator, n: int) -> Floats:
    """What few users spend: 10 % of them, lognormal."""
    return np.asarray((random.random(n) < 0.1) * random.lognormal(3, 1, n))


def _ratio(random: np.random.Generator) -> dict[str, Floats]:
    """Clicks and searches; users differ in how often they search and click."""
    searches = random.poisson(random.gamma(2, 2, UNITS)) + 1
    clicks = random.binomial(searches, random.beta(2, 3, UNITS))
    return {"value": clicks.astype(float), "per": searches.astype(float)}


def _before(random: np.random.Generator) -> dict[str, Floats]:
    level = random.gamma(2, 2, UNITS)
    return {"value": level + random.normal(0, 1, UNITS), "before": level}


def _latency(random: np.random.Generator) -> bool:
    """The 95th percentile of ten values of each of 200 users, who differ."""
    user = np.repeat(np.arange(200), 10)
    quantiles = []
    for _ in range(2):
        speed = np.repeat(random.normal(0, 0.5, 200), 10)
        quantiles.append(quantile(np.exp(speed + random.normal(0, 0.5, 2000)), 0.95, user))
    first, second = quantiles
    errors, units = (first.se, second.se), (first.clusters, second.clusters)
    p = independent_effect(first.value, second.value, errors, units, 1 - ALPHA, "order-statistics").p_value
    return p < ALPHA


_ONE_LOOK: Sequence[tuple[str, str, Callable[[np.random.Generator], bool]]] = (
    ("mean, Welch's t", "normal", _twice(lambda r: {"value": r.normal(0, 1, UNITS)})),
    ("mean, Welch's t", "money of one user in ten", _twice(lambda r: {"value": _money(r, UNITS)})),
    ("proportion, pooled z", "5 %", _twice(lambda r: {"value": (r.random(UNITS) < 0.05).astype(float)})),
    ("ratio, delta method", "clicks by searches", _twice(_ratio)),
    ("mean, CUPED", "with an earlier value", _twice(_before)),
    ("95th percentile, order statistics", "latencies of users", _latency),
)


def _several(random: np.random.Generator, runs: int) -> list[Cell]:
    """A look after every pair of units, and five planned ones."""
    kinds: dict[str, Callable[[np.random.Generator, int], Floats]] = {
        "normal": lambda r, n: r.normal(0, 1, n),
        "proportion of 5 %": lambda r, n: (r.random(n) < 0.05).astype(float),
        "money of one user in ten": _money,
    }
    n = np.arange(1, LAST + 1, dtype=float)
    planned = np.linspace(LAST / 5, LAST, 5).astype(int) - 1
    bounds = spending_bounds([0.2, 0.4, 0.6, 0.8, 1.0], ALPHA)
    half_widths = half_width(np.ones(LAST), 2 * n, ALPHA, 2 * LAST)
    cells = []
    for name, draw in kinds.items():
        counts = np.zeros(3)
        for begin in range(0, runs, _BLOCK):
            size = min(_BLOCK, runs - begin)
            z = _statistics([draw(random, size * LAST).reshape(size, LAST) for _ in range(2)], n)
            late = z[:, FIRST - 1 :]
            counts += [
                (late > half_widths[FIRST - 1 :]).any(axis=1).sum(),
                (z[:, planned] > bounds).any(axis=1).sum(),
                (late > ndtri(1 - ALPHA / 2)).any(axis=1).sum(),
            ]
        shares = (counts / runs).tolist()
        look_count = f"{LAST - FIRST + 1:,}"
        for method, looks, share in zip(
            ("always-valid interval", "O'Brien-Fleming spending", "ordinary interval"),
            (look_count, "5", look_count),
            shares,
            strict=True,
        ):
            cells.append(Cell(method, name, looks, runs, share, ALPHA))
    return cells


def _statistics(arms: Sequence[Floats], n: Floats) -> Floats:
    """(S, LAST) the absolute z of the difference after each pair of units."""
    means, variances = [], []
    for values in arms:
        total, squares = np.cumsum(values, axis=1), np.cumsum(values**2, axis=1)
        mean = total / n
        means.append(mean)
        variances.append((squares / n - mean**2) * n / np.maximum(n - 1, 1))
    error = np.sqrt(sum(variances) / n)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.nan_to_num(np.abs(means[0] - means[1]) / error)


def section(cells: Sequence[Any]) -> str:
    """Give the part of the page: every method, with what it finds where nothing is."""
    from tables import percent, table

    rows = [(c.method, c.values, c.looks, percent(c.rejected)) for c in cells]
    ordinary = [c.rejected for c in cells if c.method == "ordinary interval"]
    text = (
        f"{cells[0].runs:,} experiments each in which both arms are the same, at a level of {percent(ALPHA)} "
        f"(standard error of the share .5 %). One look has {UNITS:,} units an arm; several looks are after "
        f"every pair of units from {FIRST} to {LAST:,} units an arm, or at five planned ones. An ordinary "
        "interval that is looked at as often finds a difference in "
        f"{percent(min(ordinary))} to {percent(max(ordinary))} of them."
    )
    heads = ("method", "values", "looks", "significant")
    return f"## Experiments with equal arms\n\n{text}\n\n{table(heads, rows)}"
