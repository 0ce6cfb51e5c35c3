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


def stratified_error(sizes: Counts, deviations: Floats, sample_sizes: Counts) -> float:
    """The standard error of Σ W_h ȳ_h: √Σ W_h² S_h² (1/n_h − 1/N_h), with W_h = N_h / Σ N.

    Cochran (1977), theorem 5.3. A stratum of which nothing is drawn makes it infinite, unless its
    values are all equal.

    Args:
        sizes: (H,) N_h, the units of each stratum.
        deviations: (H,) S_h, the standard deviation of the values in each.
        sample_sizes: (H,) n_h.
    """
    stratum_shares = sizes / sizes.sum()
    with np.errstate(divide="ignore"):
        sampling_factor = np.where(sample_sizes > 0, 1 / sample_sizes - 1 / sizes, np.inf)
    variances = (stratum_shares * deviations) ** 2
    return float(
        np.sqrt(
            np.sum(
                np.where(variances > 0, variances, 0.0)
                * np.where(variances > 0, sampling_factor, 0.0)
            )
        )
    )


def neyman_allocation(
    sizes: Counts, deviations: Floats, error: float, sample_sizes: Counts | None = None
) -> Counts:
    """The fewest units by stratum that reach a standard error: n_h ∝ W_h S_h.

    n_h = W_h S_h Σ W_k S_k / (V + Σ W_k² S_k² / N_k) with V the square of the error (Neyman 1934;
    Cochran 1977, section 5.5). A stratum that would need more than it has is taken whole, and
    the others are allocated again. Rounded up, at least `LEAST` and what is drawn already.

    Args:
        sizes: (H,) N_h, the units of each stratum.
        deviations: (H,) S_h.
        error: the standard error to reach, above 0.
        sample_sizes: (H,) units that are drawn already.

    Returns:
        (H,) units of each stratum, those drawn already among them.
    """
    weighted_deviations = sizes / sizes.sum() * deviations
    is_exhausted = np.zeros(len(sizes), np.bool_)
    while True:
        open_deviations = np.where(is_exhausted, 0.0, weighted_deviations)
        needed = (
            open_deviations
            * open_deviations.sum()
            / (error**2 + float((open_deviations**2 / sizes).sum()))
        )
        exceeds = ~is_exhausted & (needed >= sizes)
        if not exceeds.any():
            break
        is_exhausted |= exceeds
    counts = np.where(is_exhausted, sizes, np.ceil(needed - 1e-9)).astype(np.int64)
    minimum = (
        np.minimum(sizes, LEAST)
        if sample_sizes is None
        else np.maximum(np.minimum(sizes, LEAST), sample_sizes)
    )
    return np.maximum(counts, minimum)
