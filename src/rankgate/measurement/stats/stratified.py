"""Sample sizes of strata for an interval of a given width, and the error that a sample leaves."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Counts = NDArray[np.int64]

LEAST = 2
"""Units drawn from each stratum, where it has so many: fewer show no variance."""


def stratified_error(sizes: Counts, deviations: Floats, drawn: Counts) -> float:
    """The standard error of Σ W_h ȳ_h: √Σ W_h² S_h² (1/n_h − 1/N_h), with W_h = N_h / Σ N.

    Cochran (1977), theorem 5.3. A stratum of which nothing is drawn makes it infinite, unless its
    values are all equal.

    Args:
        sizes: (H,) N_h, the units of each stratum.
        deviations: (H,) S_h, the standard deviation of the values in each.
        drawn: (H,) n_h.
    """
    shares = sizes / sizes.sum()
    with np.errstate(divide="ignore"):
        lacking = np.where(drawn > 0, 1 / drawn - 1 / sizes, np.inf)
    spread = (shares * deviations) ** 2
    return float(
        np.sqrt(np.sum(np.where(spread > 0, spread, 0.0) * np.where(spread > 0, lacking, 0.0)))
    )


def neyman_allocation(
    sizes: Counts, deviations: Floats, error: float, drawn: Counts | None = None
) -> Counts:
    """The fewest units by stratum that reach a standard error: n_h ∝ W_h S_h.

    n_h = W_h S_h Σ W_k S_k / (V + Σ W_k² S_k² / N_k) with V the square of the error (Neyman 1934;
    Cochran 1977, section 5.5). A stratum that would need more than it has is taken whole, and
    the others are allocated again. Rounded up, at least `LEAST` and what is drawn already.

    Args:
        sizes: (H,) N_h, the units of each stratum.
        deviations: (H,) S_h.
        error: the standard error to reach, above 0.
        drawn: (H,) units that are drawn already.

    Returns:
        (H,) units of each stratum, those drawn already among them.
    """
    spread = sizes / sizes.sum() * deviations
    whole = np.zeros(len(sizes), np.bool_)
    while True:
        left = np.where(whole, 0.0, spread)
        asked = left * left.sum() / (error**2 + float((left**2 / sizes).sum()))
        over = ~whole & (asked >= sizes)
        if not over.any():
            break
        whole |= over
    counts = np.where(whole, sizes, np.ceil(asked - 1e-9)).astype(np.int64)
    least = (
        np.minimum(sizes, LEAST) if drawn is None else np.maximum(np.minimum(sizes, LEAST), drawn)
    )
    return np.maximum(counts, least)
