"""Metrics of abstention: what is gained if a system answers only where it is confident."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

RATES = np.linspace(0, 1, 11)[:-1]
"""The shares of questions that are left unanswered, in the curves of `normalized_auc`."""

_ROUNDING = 1e-9  # of sums of risks


def normalized_auc(confidence: Floats, values: Floats) -> float:
    """The area under the curve of means over the questions that are answered, as MTEB normalizes it.

        nAUC = (AUC − AUC of random answers) / (AUC of an oracle − AUC of random answers)

    A point of the curve is the mean of the values without the share r of the questions with the
    lowest confidence, r = 0, 0.1, …, 0.9; the oracle leaves out the lowest values. 1 is the best; 0
    is confidence without information.

    Gisserot-Boukhlef and others, Towards trustworthy reranking: a simple yet effective abstention
    mechanism, TMLR 2024, arXiv:2402.12997; rounding and ties as in MTEB 2 (``nauc``).

    Args:
        confidence: (T,) the confidence of each question.
        values: (T,) the metric of each question.

    Returns:
        The number; NaN without questions, or if no order of questions changes the mean.

    >>> normalized_auc(np.array([3.0, 1, 2, 4]), np.array([0.5, 0, 0.5, 1]))
    1.0
    """
    if not len(values):
        return float("nan")
    curve, oracle = _mean_curve(confidence, values), _mean_curve(values, values)
    flat = oracle[0] * (RATES[-1] - RATES[0])
    area, best = (float(np.trapezoid(means, RATES)) for means in (curve, oracle))
    return float("nan") if best == flat else float((area - flat) / (best - flat))


def _mean_curve(confidence: Floats, values: Floats) -> Floats:
    ordered_values, n = values[np.argsort(confidence, stable=True)], len(values)
    return np.array([ordered_values[min(round(rate * n), n - 1) :].mean() for rate in RATES])


def coverage_at_risk(confidence: Floats, risks: Floats, limit: float) -> float:
    """The largest share of questions that can be answered with a mean risk of at most a limit.

    Questions are answered from the highest confidence down; those of equal confidence all are, or
    none (El-Yaniv and Wiener, JMLR 11, 2010).

    Args:
        confidence: (T,) the confidence of each question.
        risks: (T,) the risk of each question, such as 1 − metric.
        limit: the largest mean risk.

    >>> coverage_at_risk(np.array([3.0, 2, 1, 0]), np.array([0.0, 0, 1, 1]), 0.4)
    0.75
    """
    order = np.argsort(-confidence, stable=True)
    counts = np.arange(1, len(order) + 1)
    is_last = np.append(np.diff(confidence[order]) < 0, True)[: len(order)]
    is_within = is_last & (np.cumsum(risks[order]) <= limit * counts + _ROUNDING)
    return float(counts[is_within].max(initial=0) / max(len(order), 1))
