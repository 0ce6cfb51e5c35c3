"""The contribution of each rank to a value."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from rankgate.core.frozen import dataclass
from rankgate.core.present.numbers import finite_or_none
from rankgate.measurement.explanation.explanation import Sum
from rankgate.measurement.metrics.judged import PAD, Judged

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.measurement.metrics.declare import Metric
    from rankgate.measurement.metrics.steps import Steps


@dataclass(frozen=True)
class Mark:
    """One rank: its ``gain``, ``weight``, ``contribution``, and the ``running`` sum or value."""

    gain: float | None
    weight: float | None
    contribution: float | None
    running: float | None


@dataclass(frozen=True)
class Contributions:
    """The contributions of some ranks.

    Attributes:
        marks: by given rank.
        summed: the sum over all ranks; None where the metric is not a sum.
        norm: the divisor.
        weighed: the name of the weight.
        start: the value before the first rank, where the metric is not a sum.
        ideal: the ranks of the ideal ranking, where the norm is the sum over them.
    """

    marks: Mapping[int, Mark]
    summed: Sum | None = None
    norm: Sum | None = None
    weighed: str = ""
    start: float | None = None
    ideal: tuple[Mark, ...] = ()


def contributions(
    metric: Metric, blocks: tuple[Judged, Judged], ranks: Sequence[int], defaults: Mapping[str, Any]
) -> Contributions:
    """The contribution of each given rank to the value of a metric.

    Args:
        metric: the metric.
        blocks: one query, with the judged documents only and with the unjudged ones in it.
        ranks: the ranks to explain, ascending.
        defaults: the parameters that the convention binds.
    """
    block, full = blocks
    steps = metric.decompose(block, defaults)
    if steps is None:
        return _from_prefixes(metric, block, ranks, defaults)
    wider = metric.decompose(full, defaults)
    if wider is not None and np.array_equal(wider.value, steps.value, equal_nan=True):
        return _from_steps(wider, full, ranks)
    return _from_steps(steps, block, ranks)  # unjudged documents have no weight of their own here


def _from_steps(steps: Steps, block: Judged, ranks: Sequence[int]) -> Contributions:
    terms = (steps.gain * steps.weight)[0]
    running = np.cumsum(terms)
    column = {int(rank): j for j, rank in enumerate(block.rank[0]) if rank < PAD}
    marks = {}
    for rank in ranks:
        j = column.get(rank)
        if j is None:
            position = int(np.searchsorted(block.rank[0], rank)) - 1
            marks[rank] = Mark(0.0, None, 0.0, float(running[position]) if position >= 0 else 0.0)
        else:
            gain, weight = float(steps.gain[0, j]), float(steps.weight[0, j])
            marks[rank] = Mark(gain, weight, float(terms[j]), float(running[j]))
    ideal = _ideal(steps)
    return Contributions(
        marks,
        summed=Sum(steps.summed, _terms(terms), float(running[-1])),
        norm=Sum(steps.divisor, tuple(m.contribution or 0.0 for m in ideal), float(steps.norm[0])),
        weighed=steps.weighed,
        ideal=ideal,
    )


def _ideal(steps: Steps) -> tuple[Mark, ...]:
    """The ranks of the ideal ranking that hold a gain."""
    if steps.ideal is None:
        return ()
    gain, weight = (rows[0] for rows in steps.ideal)
    running = np.cumsum(gain * weight)
    return tuple(
        Mark(float(g), float(w), float(g * w), float(r))
        for g, w, r in zip(gain, weight, running, strict=True)
        if g > 0
    )


def _terms(terms: NDArray[np.float64]) -> tuple[float, ...]:
    return tuple(float(term) for term in terms if term != 0)


def _from_prefixes(
    metric: Metric, block: Judged, ranks: Sequence[int], defaults: Mapping[str, Any]
) -> Contributions:
    """Measure the list cut after each rank, by the kernel itself."""
    cuts = sorted({0, *ranks, *(rank - 1 for rank in ranks)})
    values = metric.compute(_prefixes(block, cuts), defaults)
    value_at = dict(zip(cuts, map(float, values), strict=True))
    marks = {}
    for rank in ranks:
        before = 0.0 if np.isnan(value_at[rank - 1]) else value_at[rank - 1]
        marks[rank] = Mark(
            None, None, finite_or_none(value_at[rank] - before), finite_or_none(value_at[rank])
        )
    return Contributions(marks, start=finite_or_none(value_at[0]))


def _prefixes(block: Judged, cuts: Sequence[int]) -> Judged:
    """Repeat the one query of a block, cut after each of these ranks."""
    T = len(cuts)
    end = np.array(cuts, np.int64)
    is_kept = block.rank <= end[:, None]
    return replace(
        block,
        rank=np.where(is_kept, block.rank, np.int32(PAD)),
        grade=np.where(is_kept, block.grade, 0),
        known=is_kept & block.known,
        first=np.where(is_kept, block.first, np.int32(PAD)),
        last=np.where(is_kept, block.last, np.int32(PAD)),
        ideal=np.repeat(block.ideal, T, axis=0),
        retrieved=np.minimum(block.retrieved, end),
        judged=np.repeat(block.judged, T),
        relevant=np.repeat(block.relevant, T),
        relevant_retrieved=np.zeros(T, np.int64),
        level=np.nan,  # so that relevant documents are counted again
    )
