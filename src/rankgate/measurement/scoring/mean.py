"""Means of values: the kinds of empty, rounding, and aggregation."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.measurement.scoring.convention import Convention
    from rankgate.measurement.scoring.job import Job

_GEOMETRIC_FLOOR = 0.00001  # trec_eval's floor for a geometric mean

MISSING, NO_RELEVANT, NOTHING_RETRIEVED, NOTHING_JUDGED = 1, 2, 3, 4  # as in data.scores.REASONS


def fill_undefined(
    values: NDArray[np.float64],
    has_no_relevant: NDArray[np.bool_],
    *,
    present: NDArray[np.bool_],
    retrieved: NDArray[np.int64],
    job: Job,
) -> tuple[NDArray[np.float64], NDArray[np.int8]]:
    """Replace undefined values as the convention says, with the reason for each.

    Args:
        values: ``(T,)`` from the kernel, NaN where undefined.
        has_no_relevant: ``(T,)``, whether a query has no relevant document.
        present: ``(T,)``, whether the run has the query.
        retrieved: ``(T,)``, documents retrieved.
        job: the job of the values.

    Returns:
        ``(T,)`` values, NaN where they stay undefined, and ``(T,)`` places in ``REASONS``.
    """
    left_out = ~present & (job.how.missing == "leave_out")
    undefined = np.isnan(values) | left_out
    reason_codes = np.zeros(len(values), np.int8)
    reason_codes[undefined] = NOTHING_JUDGED
    reason_codes[undefined & has_no_relevant] = NO_RELEVANT
    reason_codes[undefined & (retrieved == 0)] = NOTHING_RETRIEVED
    reason_codes[~present] = MISSING
    out = np.where(left_out, np.nan, values)
    for reason, value in _substitutes(job.how).items():
        out[undefined & (reason_codes == reason)] = np.nan if value is None else value
    return _round(out, job.how), reason_codes


def _substitutes(how: Convention) -> dict[int, float | None]:
    return {
        NO_RELEVANT: how.without_relevant,
        NOTHING_RETRIEVED: how.nothing_retrieved,
        NOTHING_JUDGED: how.nothing_judged,
        MISSING: None if how.missing == "leave_out" else 0.0,
    }


def _round(values: NDArray[np.float64], how: Convention) -> NDArray[np.float64]:
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


def sum_terms(
    values: NDArray[np.float64],
    reason_codes: NDArray[np.int8],
    job: Job,
    weight: NDArray[np.float64] | None = None,
) -> tuple[NDArray[np.float64], NDArray[np.float64] | None]:
    """The terms of the sum: values that count, or their logarithms, and their weights.

    Queries whose kind of empty the convention leaves out do not count; any other undefined
    value makes the sum undefined.

    Args:
        values: ``(T,)``.
        reason_codes: ``(T,)``, as ``filled`` gives them.
        job: the job of the values.
        weight: ``(T,)``, the weight of each query, if the metric has one.
    """
    out = np.zeros(len(values), bool)
    for reason, value in _substitutes(job.how).items():
        if value is None:
            out |= (reason_codes == reason) & np.isnan(values)
    summands = values[~out]
    if job.metric.aggregate == "geometric":
        summands = np.log(np.maximum(summands, _GEOMETRIC_FLOOR))
    weighted = job.metric.aggregate == "weighted" and weight is not None
    return summands, weight[~out] if weighted and weight is not None else None


def parts(
    values: NDArray[np.float64],
    reason_codes: NDArray[np.int8],
    job: Job,
    weight: NDArray[np.float64] | None = None,
    hit: NDArray[np.bool_] | None = None,
) -> NDArray[np.float64]:
    """The parts of one number, added in query order as trec_eval does.

    Args:
        values: as of `sum_terms`.
        reason_codes: as of `sum_terms`.
        job: as of `sum_terms`.
        weight: as of `sum_terms`.
        hit: ``(T,)``, whether a query has a relevant document within the cutoff.

    Returns:
        ``(3,)``: the sum of the `sum_terms`; how many they are, or their weight; how many queries
        have a hit, NaN where the convention does not ask.
    """
    summands, weights = sum_terms(values, reason_codes, job, weight)
    hits = np.nan if hit is None else float(hit.sum())
    if not len(summands):
        return np.array([0.0, 0.0, hits])
    count = float(len(summands))
    if weights is not None:
        summands, count = summands * weights, float(np.cumsum(weights)[-1])
    return np.array([np.cumsum(summands)[-1], count, hits])


def mean_of_parts(sums: NDArray[np.float64], job: Job, unknown: int = 0) -> float:
    """One number for many queries; NaN where there is nothing to take a mean of.

    Args:
        sums: as ``parts`` gives it, or the sum of several.
        job: the job of the values.
        unknown: queries of the run without judgments.
    """
    total, count, hits = (float(number) for number in sums)
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
    values: NDArray[np.float64], reason_codes: NDArray[np.int8], job: Job, *, unknown: int = 0
) -> float:
    """The one number of `parts`; arguments as of `parts`."""
    return mean_of_parts(parts(values, reason_codes, job), job, unknown)
