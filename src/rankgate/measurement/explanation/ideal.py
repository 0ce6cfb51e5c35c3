"""The relevant documents of one query, the best first, and where a run has them."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rankgate.core.present.numbers import known
from rankgate.measurement.explanation.explanation import IdealRow
from rankgate.measurement.explanation.steps import Mark, contributions
from rankgate.measurement.metrics.judged import block

if TYPE_CHECKING:
    from rankgate.measurement.explanation.ranking import QueryRanking
    from rankgate.measurement.metrics.declare import Metric


def ideal_rows(
    metric: Metric, ranked: QueryRanking, marks: tuple[Mark, ...], defaults: Mapping[str, Any]
) -> tuple[list[IdealRow], float | None]:
    """The ideal ranking with what each of its documents adds, and its value.

    Args:
        metric: the metric.
        ranked: the ranking of the run, with the judgments.
        marks: the ranks of the ideal where the metric forms one itself; else none.
        defaults: what the convention binds.

    Returns:
        The rows, none without a relevant document, and the value of a ranking that has the
        relevant documents first, in this order.
    """
    gains = _gains(metric, ranked, defaults)
    found = ranked.found
    best = sorted(gains, key=lambda doc: (-gains[doc], found.get(doc, math.inf), doc))
    if not best:
        return [], None
    perfect = block([[ranked.grades[doc] for doc in best]])
    ranks = range(1, len(best) + 1)
    if marks:
        placed = _placed(marks, gains, best)
    else:
        added = contributions(metric, (perfect, perfect), ranks, defaults).marks
        placed = [(doc, added[rank]) for rank, doc in zip(ranks, best, strict=True)]
    rows = [
        IdealRow(
            rank=rank,
            doc_id=doc,
            grade=ranked.grades[doc],
            gain=mark.gain,
            weight=mark.weight,
            contribution=mark.contribution,
            running=mark.running,
            found=found.get(doc),
        )
        for rank, (doc, mark) in zip(ranks, placed, strict=True)
    ]
    return rows, known(float(metric.compute(perfect, defaults)[0]))


def _gains(metric: Metric, ranked: QueryRanking, defaults: Mapping[str, Any]) -> dict[str, float]:
    """What each document is worth to the metric, for those that are worth something.

    Where the metric is not a sum of gains, the grade of each relevant document.
    """
    judged = {doc: grade for doc, grade in ranked.grades.items() if grade >= 0}
    steps = metric.decompose(block([list(judged.values())]), defaults)
    if steps is None:
        least = metric.bound(defaults).get("rel", metric.rel)
        return {
            doc: grade
            for doc, grade in judged.items()
            if (grade > 0 if least is None else grade >= least)
        }
    worth = zip(judged, steps.gain[0].tolist(), strict=False)  # a block is never narrower than 1
    return {doc: gain for doc, gain in worth if gain > 0}


def _placed(
    marks: tuple[Mark, ...], gains: dict[str, float], best: list[str]
) -> list[tuple[str, Mark]]:
    """A document for each rank of the ideal, and the others behind them, where nothing counts."""
    left = list(best)
    placed = []
    for mark in marks:
        document = next(doc for doc in left if gains[doc] == mark.gain)
        left.remove(document)
        placed.append((document, mark))
    last = marks[-1].running
    return [*placed, *((doc, Mark(gains[doc], 0.0, 0.0, last)) for doc in left)]
