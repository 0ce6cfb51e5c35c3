"""From values to a mean: the kinds of empty, and how a metric adds up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.metrics.declare import Metric
    from rankgate.scoring.convention import Convention

_LEAST = 0.00001  # trec_eval's floor for a geometric mean

MISSING, NO_RELEVANT, NOTHING_RETRIEVED = 1, 2, 3  # places in data.scores.REASONS


def filled(
    values: NDArray[np.float64],
    *,
    present: NDArray[np.bool_],
    retrieved: NDArray[np.int64],
    metric: Metric,
    how: Convention,
) -> tuple[NDArray[np.float64], NDArray[np.int8]]:
    """Values with each kind of empty as the convention has it, and why.

    Args:
        values: ``(T,)`` from the kernel, NaN where undefined.
        present: ``(T,)``, whether the run has the query.
        retrieved: ``(T,)``, documents retrieved.
        metric: whose values they are.
        how: the convention.

    Returns:
        ``(T,)`` values, NaN where they stay undefined, and ``(T,)`` places in ``REASONS``.
    """
    undefined = np.isnan(values)
    empty = undefined & (retrieved == 0)
    why = np.zeros(len(values), np.int8)
    why[undefined] = NO_RELEVANT
    why[empty] = NOTHING_RETRIEVED
    why[~present] = MISSING
    out = values.copy()
    for reason, value in (
        (NO_RELEVANT, how.empty(metric, "without_relevant")),
        (NOTHING_RETRIEVED, how.empty(metric, "nothing_retrieved")),
        (MISSING, 0.0),
    ):
        out[undefined & (why == reason)] = np.nan if value is None else value
    return out, why


def mean(
    values: NDArray[np.float64], why: NDArray[np.int8], metric: Metric, how: Convention
) -> float:
    """One number for many queries, added in query order as trec_eval does.

    Queries whose kind of empty the convention leaves out do not count; any other undefined
    value makes the mean undefined.
    """
    out = np.zeros(len(values), bool)
    if how.empty(metric, "without_relevant") is None:
        out |= why == NO_RELEVANT
    if how.empty(metric, "nothing_retrieved") is None:
        out |= why == NOTHING_RETRIEVED
    left = values[~out]
    if not len(left):
        return float("nan")
    if metric.aggregate == "sum":
        return float(np.cumsum(left)[-1])
    if metric.aggregate == "geometric":
        return float(np.exp(np.cumsum(np.log(np.maximum(left, _LEAST)))[-1] / len(left)))
    return float(np.cumsum(left)[-1] / len(left))
