"""System × query × judge: a model with crossed random effects, and differences under it."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

EFFECTS = (
    "system",
    "query",
    "judge",
    "system × query",
    "system × judge",
    "query × judge",
    "residual",
)
"""The components of variance, in order; the residual has the interaction of all three in it."""


@dataclass(frozen=True)
class Crossed:
    """Values = mean + system + query + judge + their interactions; queries and judges at random.

    Attributes:
        components: (7,) components of variance in the order of `EFFECTS`, negative ones set to 0.
        mean_squares, df: (7,) of the analysis of variance.
        delta: (S,) each system's mean minus that of the first.
        error: the standard error of a difference for other queries and other judges.
        error_df: its degrees of freedom.
        low, high: (S,) intervals of delta; 0 to 0 for the first.
        p_value: (S,) of H₀: no difference; NaN for the first.
        level: of the intervals.
    """

    components: Floats
    mean_squares: Floats
    df: Floats
    delta: Floats
    error: float
    error_df: float
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
        level: of the intervals.

    Raises:
        ValueError: a factor with fewer than two levels.
    """
    from scipy.special import stdtr, stdtrit

    if min(values.shape) < 2:
        raise ValueError(f"{values.shape}: queries, systems and judges are 2 or more each.")
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
    # with components that are not negative, as above
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
    return Crossed(
        components,
        square,
        df,
        delta,
        error,
        error_df,
        delta - half_width,
        delta + half_width,
        p,
        level,
    )


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
