"""Krippendorff's alpha, for ratings with gaps and any level of measurement."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

from rankgate.measurement.stats.agreement.ratings import ratio

if TYPE_CHECKING:
    from rankgate.measurement.stats.agreement.ratings import Floats, Tallies

Level = Literal["nominal", "ordinal", "interval", "ratio"]


def alpha(tallies: Tallies, level: Level = "ordinal") -> Floats:
    """α = 1 − D_o/D_e over the pairs of ratings that items have (Krippendorff 2011).

    o_ck = Σ_u (n_uc n_uk − [c=k] n_uc)/(m_u − 1) over items with m_u ≥ 2 ratings;
    D_o = Σ o_ck δ²_ck / n, D_e = Σ n_c n_k δ²_ck / (n(n−1)), n_c = Σ_k o_ck. δ² is 0/1 for
    nominal, (c−k)² for interval, ((c−k)/(c+k))² for ratio, and for ordinal the squared number of
    ratings from c to k with half of each end. The ordinal level is not Gwet's weights of that
    name: on one sheet they give .815 and .834.

    Args:
        tallies: of the ratings, N rows.
        level: of the scale.

    Returns:
        (N,) the coefficient; NaN where no item has two ratings, or all have the same grade.
    """
    grade_counts = tallies.coincidences.sum(axis=2)
    n = grade_counts.sum(axis=1)
    distances = _distances(tallies.grades, grade_counts, level)
    observed = (tallies.coincidences * distances).sum(axis=(1, 2))
    expected = np.einsum("nc,nck,nk->n", grade_counts, distances, grade_counts, optimize=True)
    return 1.0 - ratio(observed * (n - 1), expected)


def _distances(grades: Floats, grade_counts: Floats, level: Level) -> Floats:
    """(N, K, K) δ² between grades; only the ordinal one depends on how often they occur."""
    rows, columns = grades[:, None], grades[None, :]
    if level == "ordinal":
        cumulated = np.cumsum(grade_counts, axis=1)
        midpoints = cumulated - grade_counts / 2  # ratings below a grade, and half of its own
        return np.asarray((midpoints[:, :, None] - midpoints[:, None, :]) ** 2, np.float64)
    if level == "nominal":
        fixed = (rows != columns).astype(np.float64)
    elif level == "interval":
        fixed = (rows - columns) ** 2
    else:
        total = rows + columns
        fixed = np.where(total != 0, (rows - columns) / np.where(total != 0, total, 1.0), 0.0) ** 2
    return np.broadcast_to(fixed, (len(grade_counts), *fixed.shape))
