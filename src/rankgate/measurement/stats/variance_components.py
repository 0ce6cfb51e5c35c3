"""Crossed random effects: system × query × judge, and means over several crossed facets."""

from __future__ import annotations

from itertools import combinations
from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.frozen import dataclass
from rankgate.measurement.stats.mean_intervals import guarded_interval, t_interval

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankgate.core.arrays import Floats


EFFECTS = ("system", "query", "judge", "system × query", "system × judge", "query × judge", "residual")
"""The components of variance, in order; the residual has the interaction of all three in it."""


@dataclass(frozen=True)
class Crossed:
    """Values = mean + system + query + judge + their interactions; queries and judges at random.

    Attributes:
        components: (7,) components of variance in the order of `EFFECTS`, negative ones set to 0.
        delta: (S,) the mean of each system minus that of the first.
        error: the standard error of a difference for other queries and other judges.
        low, high: (S,) intervals of delta; both are 0 for the first system.
        p_value: (S,) the p-value of H₀: no difference; NaN for the first.
        level: the confidence level of the intervals.
    """

    components: Floats
    delta: Floats
    error: float
    low: Floats
    high: Floats
    p_value: Floats
    level: float


def crossed(values: Floats, level: float = 0.95) -> Crossed:
    """Components of variance and differences between systems, by the analysis of variance.

    The design is balanced, every judge's value of every system for every query, so that these
    estimates are those of REML wherever none of them is negative (Searle, Casella and McCulloch
    1992, chapter 4). The expected mean squares of the random model give the components (Brennan
    2001, table 3.2). A difference of two systems has the variance

        2(σ²sq/n + σ²sj/J + σ²e/(nJ)) = 2(MSsq + MSsj − MSe)/(nJ),

    with the degrees of freedom of Satterthwaite (1946): it holds for other queries and for other
    judges, where a test over queries alone takes these judges for the only ones there are.

    Args:
        values: (n, S, J) queries by systems by judges, each 2 or more, all finite.
        level: the confidence level of the intervals.

    Raises:
        ValueError: a factor with fewer than two levels.
    """
    from rankgate.measurement.stats.special_functions import stdtr, stdtrit

    if min(values.shape) < 2:
        raise ValueError(f"{values.shape}: at least 2 queries, systems and judges are needed.")
    n, systems, judges = values.shape
    square, df = _mean_squares(values)
    s, q, j, sq, sj, qj, e = square
    parts = [
        (s - sq - sj + e) / (n * judges),
        (q - sq - qj + e) / (systems * judges),
        (j - sj - qj + e) / (n * systems),
        (sq - e) / judges,
        (sj - e) / n,
        (qj - e) / systems,
        e,
    ]
    components = np.maximum(parts, 0.0)
    # with non-negative components, as above
    terms = np.array([max(sq, e), max(sj, e), -e])
    variance, term_df = terms.sum(), np.array([df[3], df[4], df[6]])
    error = float(np.sqrt(2 * variance / (n * judges)))
    error_df = float(variance**2 / (terms**2 / term_df).sum()) if variance > 0 else float("nan")
    means = values.mean(axis=(0, 2))
    delta = means - means[0]
    with np.errstate(divide="ignore", invalid="ignore"):
        p = 2 * stdtr(error_df, -np.abs(delta) / error)
    p[0] = np.nan
    half_width = np.where(np.arange(systems) > 0, stdtrit(error_df, (1 + level) / 2) * error, 0.0)
    return Crossed(components, delta, error, delta - half_width, delta + half_width, p, level)


def _mean_squares(values: Floats) -> tuple[Floats, Floats]:
    """(7,) mean squares and degrees of freedom in the order of `EFFECTS`."""
    sizes = values.shape
    query, system, judge = 0, 1, 2
    factors = (
        (system,),
        (query,),
        (judge,),
        (system, query),
        (system, judge),
        (query, judge),
        (query, system, judge),
    )
    squares, df = [], []
    for factor in factors:
        effect = np.zeros_like(values)
        for size in range(len(factor) + 1):  # inclusion and exclusion of the means of its margins
            for subset in _subsets(factor, size):
                other_axes = tuple(axis for axis in range(3) if axis not in subset)
                mean = values.mean(axis=other_axes, keepdims=True) if other_axes else values
                effect = effect + (-1.0) ** (len(factor) - size) * mean
        freedom = float(np.prod([sizes[axis] - 1 for axis in factor]))
        squares.append(float((effect**2).sum()) / freedom)
        df.append(freedom)
    return np.array(squares), np.array(df)


def _subsets(axes: tuple[int, ...], size: int) -> list[tuple[int, ...]]:
    from itertools import combinations

    return list(combinations(axes, size))


Effect = tuple[int, ...]
"""The facets, by number, whose levels an effect is of; two or more are an interaction."""


@dataclass(frozen=True)
class Facets:
    """The mean of values over all levels of all facets, each drawn at random.

    Attributes:
        mean: the mean over all values.
        sizes: (K,) the number of levels of each facet.
        effects: the facets and their interactions.
        shares: (E,) the contribution of each to the variance of the mean, not below 0.
    """

    mean: float
    sizes: tuple[int, ...]
    effects: tuple[Effect, ...]
    shares: Floats

    @property
    def error(self) -> float:
        """The standard error for new levels of all facets."""
        return float(np.sqrt(self.shares.sum()))

    def ends(self, level: float = 0.95, extra_variance: float = 0.0) -> tuple[float, float]:
        """The ends of the interval of the mean.

        Student's quantiles of the facets are weighed by what each adds to the variance (Cochran and
        Cox 1957, section 4.14), interactions with those of the first facet: where a facet of two
        or three levels adds much, the interval is as wide as so few levels need.

        Args:
            level: the confidence level of the interval.
            extra_variance: an additional variance, known exactly.
        """
        from rankgate.measurement.stats.special_functions import stdtrit

        total = float(self.shares.sum()) + extra_variance
        if not total > 0:
            return self.mean, self.mean
        facet_variance = np.zeros(len(self.sizes))
        for effect, share in zip(self.effects, self.shares, strict=True):
            facet_variance[effect[0] if len(effect) == 1 else 0] += share
        quantiles = stdtrit(np.array(self.sizes) - 1, (1 + level) / 2)
        remaining = total - float(facet_variance.sum())
        half_width = float(facet_variance @ quantiles + remaining * stdtrit(np.inf, (1 + level) / 2)) / total
        half_width *= total**0.5
        return self.mean - half_width, self.mean + half_width

    def correlated(self, facets: Sequence[int], correlation: float) -> float:
        """The variance that facets add if the effects of their levels correlate.

        A common part of all levels does not differ among them, and analysis of variance cannot
        detect it. Of R levels whose effects have the variance σ² and correlate by ρ, the
        differences show σ²(1 − ρ), and their mean has the variance σ²(1 + (R − 1)ρ)/R.

        Args:
            facets: their numbers.
            correlation: ρ, at least 0 and below 1.
        """
        increase = 0.0
        for effect, share in zip(self.effects, self.shares, strict=True):
            sizes = [self.sizes[axis] for axis in effect if axis in facets]
            if sizes:
                factor = (1 + (min(sizes) - 1) * correlation) / (1 - correlation)
                increase += float(share) * (factor - 1)
        return increase

    def error_with(self, facet: int, levels: int) -> float:
        """The standard error if a facet had a given number of levels."""
        factor = [self.sizes[facet] / levels if facet in effect else 1.0 for effect in self.effects]
        return float(np.sqrt((self.shares * factor).sum()))


def facets(values: Floats) -> Facets:
    """Components of the variance of a mean, by the analysis of variance of a crossed design.

    Values = mean + an effect of each facet + all their interactions, all at random. With θ_A for
    σ²_A times the numbers of levels of the facets that are not in A, expected mean squares are
    E[MS_A] = Σ θ_B over B that contain A, so that θ_A = Σ (−1)^(|B|−|A|) MS_B, and the variance of
    the mean of N values is Σ θ_A / N (Searle, Casella and McCulloch 1992, chapter 4; Brennan 2001,
    section 5.3). Estimates below 0 count as 0.

    Args:
        values: (n₁, …, n_K), each facet with 2 levels or more; all finite.

    Raises:
        ValueError: a facet with one level.
    """
    if min(values.shape) < 2:
        raise ValueError(f"{values.shape}: each facet needs 2 levels or more.")
    axes = range(values.ndim)
    effects = tuple(effect for size in range(1, values.ndim + 1) for effect in combinations(axes, size))
    squares = {effect: _mean_square(values, effect) for effect in effects}
    theta = np.array(
        [
            sum(
                (-1.0) ** (len(superset) - len(effect)) * squares[superset]
                for superset in effects
                if set(effect) <= set(superset)
            )
            for effect in effects
        ]
    )
    shares = np.maximum(theta, 0.0) / values.size
    return Facets(float(values.mean()), values.shape, effects, shares)


def skewed_interval_ends(
    values: Floats, components: Facets, level: float = 0.95, other: float = 0.0
) -> tuple[float, float]:
    """The ends of `Facets.ends`, moved outwards where the queries' means are skewed.

    Few large losses make the distribution of the mean skewed. The excess of `guarded_interval` over
    Student's interval of the queries' means is added here, as variances add: d² = d(total)² +
    d(guarded)² − d(Student)², for the distance d of each end from the mean.

    Args:
        values: (n₁, …, n_K), the queries first.
        components: the variance components of these values.
        level: the confidence level of the interval.
        other: an additional variance, known exactly.
    """
    low, high = components.ends(level, other)
    means = values.reshape(len(values), -1).mean(axis=1)
    student_interval, hall_interval = t_interval(means, level), guarded_interval(means, level)
    middle = components.mean
    ends = []
    for end, student, hall in (
        (low, student_interval.low[0], hall_interval.low[0]),
        (high, student_interval.high[0], hall_interval.high[0]),
    ):
        excess = max(float((hall - middle) ** 2 - (student - middle) ** 2), 0.0)
        ends.append(float(np.sqrt((end - middle) ** 2 + excess)))
    return middle - ends[0], middle + ends[1]


def _mean_square(values: Floats, effect: Effect) -> float:
    """The mean square of an effect."""
    shape = [size if axis in effect else 1 for axis, size in enumerate(values.shape)]
    deviations = np.zeros(shape)
    for size in range(len(effect) + 1):  # inclusion and exclusion of the means of its margins
        for subset in combinations(effect, size):
            other_axes = tuple(axis for axis in range(values.ndim) if axis not in subset)
            mean = values.mean(axis=other_axes, keepdims=True) if other_axes else values
            deviations = deviations + (-1.0) ** (len(effect) - size) * mean
    repeats = values.size / deviations.size
    df = np.prod([values.shape[axis] - 1 for axis in effect])
    return float((deviations**2).sum() * repeats / df)
