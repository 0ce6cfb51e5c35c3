"""From values to a mean: the kinds of empty, rounding, and how a metric adds up."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.measurement.scoring.convention import Convention
    from rankgate.measurement.scoring.job import Job

_LEAST = 0.00001  # trec_eval's floor for a geometric mean

MISSING, NO_RELEVANT, NOTHING_RETRIEVED, NOTHING_JUDGED = 1, 2, 3, 4  # as in data.scores.REASONS


def filled(
    values: NDArray[np.float64],
    lacking: NDArray[np.bool_],
    *,
    present: NDArray[np.bool_],
    retrieved: NDArray[np.int64],
    job: Job,
) -> tuple[NDArray[np.float64], NDArray[np.int8]]:
    """Values with each kind of empty as the convention has it, and why.

    Args:
        values: ``(T,)`` from the kernel, NaN where undefined.
        lacking: ``(T,)``, whether a query has no relevant document.
        present: ``(T,)``, whether the run has the query.
        retrieved: ``(T,)``, documents retrieved.
        job: whose values they are.

    Returns:
        ``(T,)`` values, NaN where they stay undefined, and ``(T,)`` places in ``REASONS``.
    """
    left_out = ~present & (job.how.missing == "leave_out")
    undefined = np.isnan(values) | left_out
    why = np.zeros(len(values), np.int8)
    why[undefined] = NOTHING_JUDGED
    why[undefined & lacking] = NO_RELEVANT
    why[undefined & (retrieved == 0)] = NOTHING_RETRIEVED
    why[~present] = MISSING
    out = np.where(left_out, np.nan, values)
    for reason, value in _stand_ins(job.how).items():
        out[undefined & (why == reason)] = np.nan if value is None else value
    return _rounded(out, job.how), why


def _stand_ins(how: Convention) -> dict[int, float | None]:
    return {
        NO_RELEVANT: how.without_relevant,
        NOTHING_RETRIEVED: how.nothing_retrieved,
        NOTHING_JUDGED: how.nothing_judged,
        MISSING: None if how.missing == "leave_out" else 0.0,
    }


def _rounded(values: NDArray[np.float64], how: Convention) -> NDArray[np.float64]:
    """Values with the convention's decimals, as a person would round them."""
    if how.digits is None:
        return values
    if how.rounding == "even":
        return np.round(values, how.digits)
    scaled = values * 10.0**how.digits
    if how.rounding == "nearest":
        return np.floor(scaled + 0.5) / 10.0**how.digits
    # 0.29 · 100 is a little less than 29 in binary, and must not fall to 28
    return np.floor(np.round(scaled, 9)) / 10.0**how.digits


def terms(
    values: NDArray[np.float64],
    why: NDArray[np.int8],
    job: Job,
    weight: NDArray[np.float64] | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    """What is added up: the values that count, or their logarithms, and what each weighs.

    Queries whose kind of empty the convention leaves out do not count; any other undefined
    value makes the sum undefined.

    Args:
        values: ``(T,)``.
        why: ``(T,)``, as ``filled`` gives them.
        job: whose values they are.
        weight: ``(T,)``, what each query weighs where the metric says so.
    """
    out = np.zeros(len(values), bool)
    for reason, value in _stand_ins(job.how).items():
        if value is None:
            out |= (why == reason) & np.isnan(values)
    left = values[~out]
    if job.metric.aggregate == "geometric":
        left = np.log(np.maximum(left, _LEAST))
    weighted = job.metric.aggregate == "weighted" and weight is not None
    return left, weight[~out] if weighted and weight is not None else None


def parts(
    values: NDArray[np.float64],
    why: NDArray[np.int8],
    job: Job,
    weight: NDArray[np.float64] | None = None,
    hit: NDArray[np.bool_] | None = None,
) -> NDArray[np.float64]:
    """What one number is made of. Added in query order, as trec_eval does.

    Args:
        values: as of `terms`.
        why: as of `terms`.
        job: as of `terms`.
        weight: as of `terms`.
        hit: ``(T,)``, whether a query has a relevant document within the cutoff.

    Returns:
        ``(3,)``: the sum of the `terms`; how many they are, or their weight; how many queries
        have a hit, NaN where the convention does not ask.
    """
    left, weights = terms(values, why, job, weight)
    hits = np.nan if hit is None else float(hit.sum())
    if not len(left):
        return np.array([0.0, 0.0, hits])
    count = float(len(left))
    if weights is not None:
        left, count = left * weights, float(np.cumsum(weights)[-1])
    return np.array([np.cumsum(left)[-1], count, hits])


def of_parts(found: NDArray[np.float64], job: Job, unknown: int = 0) -> float:
    """One number for many queries; NaN where there is nothing to take a mean of.

    Args:
        found: as ``parts`` gives it, or the sum of several.
        job: whose values they are.
        unknown: queries of the run without judgments.
    """
    total, count, hits = (float(each) for each in found)
    if job.how.no_hits is not None and hits == 0:
        return job.how.no_hits
    if not count:
        return float("nan")
    if job.metric.aggregate == "sum":
        return total
    if job.metric.aggregate != "weighted" and job.how.unknown == "zero":
        count += unknown
    return float(np.exp(total / count)) if job.metric.aggregate == "geometric" else total / count


def mean(
    values: NDArray[np.float64], why: NDArray[np.int8], job: Job, *, unknown: int = 0
) -> float:
    """The one number of `parts`; arguments as there."""
    return of_parts(parts(values, why, job), job, unknown)
