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
    one, two = (np.sign(np.subtract.outer(each, each))[upper] for each in _both(first, second))
    same = float((one * two).sum())
    whole = n * (n - 1) / 2
    if ties == "b":
        whole = float(np.sqrt(np.count_nonzero(one) * np.count_nonzero(two)))
    return same / whole if whole else float("nan")


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
    one, two = _both(estimate, reference)
    if len(one) < 2:  # nothing is in any order
        return float("nan")
    if ties == "a":
        return _tau_ap_a(one, two)
    return (_tau_ap_b(one, two) + _tau_ap_b(two, one)) / 2


def _tau_ap_a(estimate: Floats, reference: Floats) -> float:
    """Of a thing in a group of g ties at places p..p+g−1, each place is as likely as any other."""
    n = len(estimate)
    agree = (np.sign(np.subtract.outer(reference, reference)) + 1) / 2  # row above column
    above = estimate[:, None] > estimate[None, :]
    equal = (estimate[:, None] == estimate[None, :]) & ~np.eye(n, dtype=bool)
    total = 0.0
    before, group = above.sum(axis=0), equal.sum(axis=0)
    right, other = (above * agree).sum(axis=0), (equal * agree).sum(axis=0)
    for i in range(n):
        places = before[i] + np.arange(group[i] + 1)  # how many are before it
        peers = np.arange(group[i] + 1)
        share = other[i] / group[i] if group[i] else 0.0
        used = places > 0
        total += float(((right[i] + peers * share)[used] / places[used]).sum() / len(places))
    return 2 * total / (n - 1) - 1


def _tau_ap_b(estimate: Floats, reference: Floats) -> float:
    above = estimate[:, None] > estimate[None, :]
    sign = np.sign(np.subtract.outer(reference, reference))
    before = above.sum(axis=0)
    used = before > 0
    if not used.any():
        return float("nan")
    ordered = (above * sign).sum(axis=0)[used] / before[used]
    return float(ordered.mean())


def levels(values: Floats) -> NDArray[np.float64]:
    """(n,) 0 for the smallest values, 1 for the next larger ones, and so on.

    Sorted values share a level where each is within `PRECISION` of the largest absolute value of
    the one before it. NaN stays NaN.

    >>> levels(np.array([0.3, 0.1 + 0.2, 0.1])).tolist()
    [1.0, 1.0, 0.0]
    """
    table = np.asarray(values, np.float64)
    order = np.argsort(table, kind="stable")
    ranked = table[order]
    finite = np.abs(ranked[np.isfinite(ranked)])
    with np.errstate(invalid="ignore"):  # inf - inf
        step = np.diff(ranked) > PRECISION * finite.max(initial=0.0)
    found = np.empty_like(table)
    found[order] = np.concatenate([[0.0], np.cumsum(step)])[: len(table)]
    found[np.isnan(table)] = np.nan
    return found


def _both(first: Floats, second: Floats) -> tuple[Floats, Floats]:
    if len(first) != len(second):
        raise ValueError(
            f"{len(first)} values against {len(second)}: orderings are of the same things."
        )
    return levels(first), levels(second)
