"""Metrics estimated from ranks among sampled items (Krichene and Rendle, KDD 2020).

The relevant item of a user has rank R among n items, and rank r among itself and m items drawn from
the others. A metric of r differs from the metric of R, and can order systems differently. For each
r the estimator finds a value whose mean over the draws is near the metric of R.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np
from numpy.typing import NDArray

from rankgate.core.arrays import Floats
from rankgate.core.errors import UsageError
from rankgate.core.present.number_formats import count_noun

OF_RANK: Mapping[str, Callable[[Floats, float], Floats]] = {
    "nDCG": lambda rank, k: (rank <= k) / np.log2(rank + 1),
    "R": lambda rank, k: (rank <= k).astype(np.float64),
    "Success": lambda rank, k: (rank <= k).astype(np.float64),
    "P": lambda rank, k: (rank <= k) / k,
    "RR": lambda rank, k: (rank <= k) / rank,
    "AP": lambda rank, k: (rank <= k) / rank,
}
"""Metrics of one relevant item by its rank, and the cutoff (infinite without one)."""


def rank_chances(items: int, negatives: int) -> Floats:
    """The probability of each sampled rank given each rank among all items, ``(n, m + 1)``.

    Of the R − 1 better items among the n − 1 others, the number drawn has a hypergeometric
    distribution, m being drawn without replacement.

    >>> rank_chances(3, 1)  # at rank 2 of 3, one of both others is better
    array([[1. , 0. ],
           [0.5, 0.5],
           [0. , 1. ]])
    """
    log_factorial = np.concatenate([[0.0], np.cumsum(np.log(np.arange(1, items + 1)))])

    def log_choose(n: NDArray[np.int64], k: NDArray[np.int64]) -> Floats:
        fits = (k >= 0) & (k <= n)
        n, k = np.where(fits, n, 0), np.where(fits, k, 0)
        log_ratio = log_factorial[n] - log_factorial[k] - log_factorial[n - k]
        return np.where(fits, log_ratio, -np.inf)

    better_count = np.arange(items)[:, None]
    sampled_better = np.arange(negatives + 1)[None, :]
    log_total = log_choose(np.array(items - 1), np.array(negatives))
    log_others = log_choose(items - 1 - better_count, negatives - sampled_better)
    return np.exp(log_choose(better_count, sampled_better) + log_others - log_total)


def estimator(values: Floats, items: int, negatives: int, variance: float) -> Floats:
    """For each sampled rank the value that represents the metric of the rank among all items.

        M̂ = ((1 − γ) AᵀA + γ diag(Aᵀ1))⁻¹ Aᵀ M

    with A the probabilities of sampled ranks, and all ranks among all items as likely beforehand.

    Args:
        values: ``(n,)``, the metric at each rank among all items.
        items: n, how many items there are.
        negatives: m, how many of the others were drawn for each user.
        variance: γ, 0 to 1: how much weight the variance of the estimate has against its bias.

    Returns:
        ``(m + 1,)``; γ = 1 is the mean of the metric given the sampled rank.
    """
    chances = rank_chances(items, negatives)
    normal = (1 - variance) * chances.T @ chances + variance * np.diag(chances.sum(axis=0))
    solution = np.linalg.lstsq(normal, chances.T @ values, rcond=None)[0]
    return np.asarray(solution, np.float64)


def corrected_mean(
    ranks: NDArray[np.int64], metric: str, items: int, negatives: int, variance: float = 0.1
) -> tuple[float, float]:
    """The mean of a metric by sampled ranks, and its estimate for ranks among all items.

    Args:
        ranks: ``(T,)``, of each user's relevant item among itself and the items drawn, from 1.
        metric: a name of `OF_RANK`, with a cutoff or without: ``nDCG@10``, ``RR``.
        items: the number of items, including the relevant one.
        negatives: the number of other items drawn for each user, without replacement.
        variance: as of `estimator`.

    Raises:
        UsageError: another metric; numbers that do not fit together.

    >>> every = np.array([1, 3])
    >>> [round(each, 6) for each in corrected_mean(every, "RR", 4, 3, 0.0)]  # all were drawn
    [0.666667, 0.666667]
    """
    values, estimated = estimates(ranks, metric, items, negatives, variance)
    if not len(ranks):
        return float("nan"), float("nan")
    return float(values.mean()), float(estimated.mean())


def estimates(
    ranks: NDArray[np.int64], metric: str, items: int, negatives: int, variance: float = 0.1
) -> tuple[Floats, Floats]:
    """The values of users by sampled ranks, and their estimates, ``(T,)`` each.

    Arguments and errors are those of `corrected_mean`.
    """
    name, _, cutoff = metric.partition("@")
    if name not in OF_RANK or (cutoff and not cutoff.isdigit()) or (name == "P" and not cutoff):
        metric_names = ", ".join(OF_RANK)
        raise UsageError(
            f"'{metric}' is not a metric of one rank; there are {metric_names}, with @k.",
            code="unknown-metric",
        )
    if not 0 < negatives < items or not 0 <= variance <= 1:
        raise UsageError(
            f"{count_noun(negatives, 'item')} drawn of {items}, variance {variance:g}; draw 1 or more, but "
            "not all, and set a variance from 0 to 1.",
            code="out-of-range",
        )
    if len(ranks) and not 1 <= ranks.min() <= ranks.max() <= negatives + 1:
        raise UsageError(
            f"a rank that is not from 1 to {negatives + 1}; check how many items were drawn.",
            code="out-of-range",
        )
    of_rank, k = OF_RANK[name], float(cutoff) if cutoff else np.inf
    values = of_rank(np.arange(1.0, items + 1), k)
    by_rank = estimator(values, items, negatives, variance)
    return of_rank(ranks.astype(np.float64), k), by_rank[ranks - 1]
