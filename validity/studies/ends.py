"""Ends of a one-sided interval that were tried for the gate, besides the one that it has.

Each end is mean − q · se; what differs is q. A false pass is an end above the true mean; power is
how often the end lies above a bound that is `AWAY` standard errors below the true mean.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np
from scipy.special import ndtri, stdtrit

from rankgate.measurement.stats.mean_intervals import corrected_skewness, guarded_interval, skewness
from studies.gate import ALPHA, FOLDER, REPLICATIONS, SIZES, populations
from tables import percent, table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from pathlib import Path

    from studies.gate import Floats

AWAY = 2.5
RESAMPLES, BLOCK = 1000, 2500
RARE = "rare great losses"
_STRAIGHT = 1e-6  # a skewness that changes nothing, and can be divided by

_REAL = ("adhoc6_ap", "adhoc7_rr", "web2010_ndcg20")


@dataclass(frozen=True)
class Cell:
    """One end in one cell.

    Attributes:
        end, population, n: of what.
        false_pass, power: shares of the samples.
        error: the standard error of a share of alpha.
    """

    end: str
    population: str
    n: int
    false_pass: float
    power: float
    error: float

    @property
    def holds(self) -> bool:
        """Whether false passes are at most alpha, within three standard errors."""
        return self.false_pass <= ALPHA + 3 * self.error


def run(replications: int = REPLICATIONS, seed: int = 0, folder: Path = FOLDER) -> list[Cell]:
    """Every end, population and size."""
    result, error = [], sqrt(ALPHA * (1 - ALPHA) / replications)
    for name, population in {**populations(folder), RARE: _rare()}.items():
        for n in SIZES:
            drawn = np.random.default_rng([seed, n, *name.encode()])
            values = drawn.choice(population - population.mean(), (n, replications))
            bound = -AWAY * float(population.std()) / n**0.5
            for end, make in ENDS.items():
                low = make(values)
                shares = float((low > 0).mean()), float((low > bound).mean())
                result.append(Cell(end, name, n, *shares, error))
    return result


def _rare() -> Floats:
    """One query of five may lose much; the others hardly move."""
    drawn = np.random.default_rng(11)
    lost = drawn.exponential(0.3, 20_000) * (drawn.random(20_000) < 0.2)
    return np.asarray(drawn.normal(0, 0.05, 20_000) - lost)


def _low(values: Floats, reach: Floats | float) -> Floats:
    error = values.std(axis=0, ddof=1) / len(values) ** 0.5
    return np.asarray(values.mean(axis=0) - reach * error)


def _student(values: Floats) -> Floats:
    return _low(values, float(stdtrit(len(values) - 1, 1 - ALPHA)))


def _hall(values: Floats) -> Floats:
    """Hall (1992), J. R. Statist. Soc. B 54: his transformation of T, turned round."""
    t = float(stdtrit(len(values) - 1, 1 - ALPHA))
    gamma = corrected_skewness(skewness(values), len(values))[0]
    slope = np.where(np.abs(gamma) < _STRAIGHT, _STRAIGHT, gamma) / len(values) ** 0.5
    return _low(values, 3 / slope * (np.cbrt(1 + slope * (t - slope / 6)) - 1))


def _chen(values: Floats) -> Floats:
    """Chen (1995), JASA 90: T + a(1 + 2T²) + 4a²(T + 2T³), a = γ/(6√n), held against t."""
    t, a = (
        float(stdtrit(len(values) - 1, 1 - ALPHA)),
        corrected_skewness(skewness(values), len(values))[0] / 6 / len(values) ** 0.5,
    )
    low, high = np.full(a.shape, -5.0), np.full(a.shape, 60.0)
    for _ in range(50):
        middle = (low + high) / 2
        over = middle + a * (1 + 2 * middle**2) + 4 * a**2 * (middle + 2 * middle**3) > t
        low, high = np.where(over, low, middle), np.where(over, middle, high)
    return _low(values, high)


def _edgeworth(values: Floats) -> Floats:
    """Cornish and Fisher's expansion of T to the order 1/n, with skewness and kurtosis."""
    n, z = len(values), float(ndtri(1 - ALPHA))
    centred = values - values.mean(axis=0)
    spread = np.maximum((centred**2).mean(axis=0), 1e-30)
    gamma = corrected_skewness(skewness(values), len(values))[0]
    kappa = ((n + 1) * ((centred**4).mean(axis=0) / spread**2 - 3) + 6) * (n - 1) / ((n - 2) * (n - 3))
    first = gamma * (2 * z**2 + 1) / 6
    second = z * (kappa * (z**2 - 3) / 12 - gamma**2 * (z**4 + 2 * z**2 - 3) / 18)
    turn = first * gamma * 4 * z / 6 - z * first**2 / 2 - second
    return _low(values, float(stdtrit(n - 1, 1 - ALPHA)) - first / n**0.5 + turn / n)


def _bootstrap(values: Floats) -> Floats:
    """Bootstrap-t (Efron 1981): q is the quantile of T of samples drawn again."""
    n = len(values)
    counts = np.random.default_rng(0).multinomial(n, np.full(n, 1 / n), RESAMPLES) / n
    reach = np.empty(values.shape[1])
    for start in range(0, values.shape[1], BLOCK):
        own = values[:, start : start + BLOCK]
        own = own - own.mean(axis=0)
        mean = counts @ own
        spread = counts @ own**2 - mean**2
        none = spread < 1e-14
        t = mean / np.sqrt(np.where(none, 1.0, spread) / (n - 1))
        t = np.where(none, np.sign(mean) * 1e9, t)
        reach[start : start + BLOCK] = np.quantile(t, 1 - ALPHA, axis=0)
    return _low(values, reach)


def _beside(make: Callable[[Floats], Floats]) -> Callable[[Floats], Floats]:
    """The lower one of this end and of Student's."""
    return lambda values: np.fmin(make(values), _student(values))


ENDS: dict[str, Callable[[Floats], Floats]] = {
    "Student's t": _student,
    "Hall": _hall,
    "lower of t and Chen": _beside(_chen),
    "lower of t and Edgeworth, order 1/n": _beside(_edgeworth),
    "lower of t and bootstrap-t": _beside(_bootstrap),
    "lower of t and Hall": _beside(_hall),
    "the gate's: also Hall, skewness less its bias": lambda values: (
        guarded_interval(values, 1 - 2 * ALPHA).low
    ),
}
"""What was tried; the last is what the gate does."""


def section(cells: Sequence[Any]) -> str:
    """Give the part of the page."""
    few = min(c.n for c in cells)
    rows = []
    for end in dict.fromkeys(c.end for c in cells):
        own = {(c.population, c.n): c for c in cells if c.end == end}
        aimed = [c for (name, _), c in own.items() if name != RARE]
        real = [c.power for (name, n), c in own.items() if name in _REAL and n == few]
        rows.append(
            (
                end,
                f"{sum(c.holds for c in aimed)} of {len(aimed)}",
                *(percent(own[name, few].false_pass) for name in ("skewed", "mostly ties", RARE)),
                *(percent(own[name, few].power) for name in ("normal", "skewed")),
                percent(np.mean(real)) if real else "–",
            )
        )
    return (
        "### The end that a pass needs\n\nEach end of the gate's interval is the outermost of three: "
        "Student's, Hall's (1992), which corrects for the skewness of the sample, and Hall's with that "
        "skewness corrected for its bias: a small sample mostly misses the tail and shows too little skew. "
        "The bias is that of a Pearson III law, by the delta method (Bobée and Robitaille, Water Resources "
        "Research 1975, fitted one of the same form); that end stops where the cube root of the solution "
        "would jump, at a root of 0.05 (0 and 0.1 were tried too). Tried next to it, on the same samples: "
        "Chen (JASA 1995), Cornish and Fisher's expansion with skewness and kurtosis, and bootstrap-t of "
        "1,000 samples (Efron 1981). Columns: the cells above that hold; then false passes at n = "
        f"{few}, and how often an end lies above a bound 2.5 standard errors below the true mean, real "
        f"differences on average. In {RARE} (one query of five loses 0.3 on average, the others hardly move) "
        "no end keeps 5 % with "
        f"{few} queries; the verdict reports such skew, and a per_query rule is the remedy.\n\n"
        + table(
            ("end", "cells", "skewed", "mostly ties", RARE, "power, normal", "power, skewed", "power, real"),
            rows,
        )
    )
