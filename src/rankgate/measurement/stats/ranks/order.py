"""Agreement of two orderings of the same things.

Values that differ by no more than `PRECISION` of the largest are equal: means over the same queries
that are equal on paper differ in their last bits once they are computed.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.measurement.stats.paired import Floats

Ties = Literal["a", "b"]

PRECISION = 1e-10
"""Relative to the largest absolute value: smaller steps between neighbouring values are ties."""


def tau(first: Floats, second: Floats, ties: Ties = "b") -> float:
    """Kendall's tau: pairs in the same order minus pairs in opposite order.

    ``a``: over all pairs; ``b``: over the geometric mean of the pairs that either orders (Kendall
    1945). 1 is the same order, −1 the reverse; NaN for fewer than two things, and under ``b``
    where one of them ties everything.
    """
    n = len(first)
    upper = np.triu_indices(n, 1)
    first_signs, second_signs = (
        np.sign(np.subtract.outer(values, values))[upper]
        for values in _levels_of_both(first, second)
    )
    order_balance = float((first_signs * second_signs).sum())
    norm = n * (n - 1) / 2
    if ties == "b":
        norm = float(np.sqrt(np.count_nonzero(first_signs) * np.count_nonzero(second_signs)))
    return order_balance / norm if norm else float("nan")


def tau_ap(estimate: Floats, reference: Floats, ties: Ties = "a") -> float:
    """τ_AP: as tau, but the top of the list weighs more (Yilmaz, Aslam and Robertson 2008).

    τ_AP = 2/(n−1) Σ_{i=2..n} C(i)/(i−1) − 1, things by the estimate's order, C(i) those before
    the i-th that the reference puts before it too. It is not symmetric.

    With ties (Urbano and Marrero, ICTIR 2017): ``a`` is the mean over all orders that break the
    estimate's ties; a tie in the reference is half right. ``b`` leaves pairs that either ties out
    and is symmetric: the mean of both directions over the things that have a pair.

    Args:
        estimate: (n,) values, larger is better.
        reference: (n,) values of the same things.
        ties: the treatment.
    """
    estimate_levels, reference_levels = _levels_of_both(estimate, reference)
    if len(estimate_levels) < 2:  # nothing is in any order
        return float("nan")
    if ties == "a":
        return _tau_ap_a(estimate_levels, reference_levels)
    return (
        _tau_ap_b(estimate_levels, reference_levels) + _tau_ap_b(reference_levels, estimate_levels)
    ) / 2


def _tau_ap_a(estimate: Floats, reference: Floats) -> float:
    """Of a thing in a group of g ties at places p..p+g−1, each place is as likely as any other."""
    n = len(estimate)
    agreement = (np.sign(np.subtract.outer(reference, reference)) + 1) / 2  # row above column
    is_above = estimate[:, None] > estimate[None, :]
    is_tied = (estimate[:, None] == estimate[None, :]) & ~np.eye(n, dtype=bool)
    total = 0.0
    count_above, group = is_above.sum(axis=0), is_tied.sum(axis=0)
    agreeing_above, agreeing_ties = (
        (is_above * agreement).sum(axis=0),
        (is_tied * agreement).sum(axis=0),
    )
    for i in range(n):
        places = count_above[i] + np.arange(group[i] + 1)  # how many are before it
        peers = np.arange(group[i] + 1)
        share = agreeing_ties[i] / group[i] if group[i] else 0.0
        is_used = places > 0
        total += float(
            ((agreeing_above[i] + peers * share)[is_used] / places[is_used]).sum() / len(places)
        )
    return 2 * total / (n - 1) - 1


def _tau_ap_b(estimate: Floats, reference: Floats) -> float:
    is_above = estimate[:, None] > estimate[None, :]
    sign = np.sign(np.subtract.outer(reference, reference))
    count_above = is_above.sum(axis=0)
    is_used = count_above > 0
    if not is_used.any():
        return float("nan")
    agreement = (is_above * sign).sum(axis=0)[is_used] / count_above[is_used]
    return float(agreement.mean())


def tie_levels(values: Floats) -> NDArray[np.float64]:
    """(n,) 0 for the smallest values, 1 for the next larger ones, and so on.

    Sorted values share a level where each is within `PRECISION` of the largest absolute value of
    the one before it. NaN stays NaN.

    >>> tie_levels(np.array([0.3, 0.1 + 0.2, 0.1])).tolist()
    [1.0, 1.0, 0.0]
    """
    table = np.asarray(values, np.float64)
    order = np.argsort(table, kind="stable")
    ranked = table[order]
    finite = np.abs(ranked[np.isfinite(ranked)])
    with np.errstate(invalid="ignore"):  # inf - inf
        step = np.diff(ranked) > PRECISION * finite.max(initial=0.0)
    level_index = np.empty_like(table)
    level_index[order] = np.concatenate([[0.0], np.cumsum(step)])[: len(table)]
    level_index[np.isnan(table)] = np.nan
    return level_index


def _levels_of_both(first: Floats, second: Floats) -> tuple[Floats, Floats]:
    if len(first) != len(second):
        raise ValueError(
            f"{len(first)} values against {len(second)}: orderings are of the same things."
        )
    return tie_levels(first), tie_levels(second)
