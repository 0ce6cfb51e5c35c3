"""The relevant documents of one query, the best first, with their ranks in a run."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rankgate.core.present.numbers import finite_or_none
from rankgate.measurement.explanation.explanation import IdealRow
from rankgate.measurement.explanation.steps import Mark, contributions
from rankgate.measurement.metrics.judged import block

if TYPE_CHECKING:
    from rankgate.measurement.explanation.ranking import QueryRanking
    from rankgate.measurement.metrics.declare import Metric


def ideal_rows(
    metric: Metric, ranked: QueryRanking, marks: tuple[Mark, ...], defaults: Mapping[str, Any]
) -> tuple[list[IdealRow], float | None]:
    """The ideal ranking with the contribution of each document, and its value.

    Args:
        metric: the metric.
        ranked: the ranking of the run, with the judgments.
        marks: the ranks of the ideal where the metric forms one itself; else none.
        defaults: the parameters that the convention binds.

    Returns:
        The rows, none without a relevant document, and the value of a ranking that has the
        relevant documents first, in this order.
    """
    gains = _gains(metric, ranked, defaults)
    rank_of = ranked.found
    best = sorted(gains, key=lambda doc: (-gains[doc], rank_of.get(doc, math.inf), doc))
    if not best:
        return [], None
    perfect = block([[ranked.grades[doc] for doc in best]])
    ranks = range(1, len(best) + 1)
    if marks:
        marked_documents = _pair_with_marks(marks, gains, best)
    else:
        added = contributions(metric, (perfect, perfect), ranks, defaults).marks
        marked_documents = [(doc, added[rank]) for rank, doc in zip(ranks, best, strict=True)]
    rows = [
        IdealRow(
            rank=rank,
            doc_id=doc,
            grade=ranked.grades[doc],
            gain=mark.gain,
            weight=mark.weight,
            contribution=mark.contribution,
            running=mark.running,
            found=rank_of.get(doc),
        )
        for rank, (doc, mark) in zip(ranks, marked_documents, strict=True)
    ]
    return rows, finite_or_none(float(metric.compute(perfect, defaults)[0]))


def _gains(metric: Metric, ranked: QueryRanking, defaults: Mapping[str, Any]) -> dict[str, float]:
    """The worth of each document to the metric, for those with any.

    Where the metric is not a sum of gains, the grade of each relevant document.
    """
    judged = {doc: grade for doc, grade in ranked.grades.items() if grade >= 0}
    steps = metric.decompose(block([list(judged.values())]), defaults)
    if steps is None:
        relevant_grade = metric.bound(defaults).get("rel", metric.rel)
        return {
            doc: grade
            for doc, grade in judged.items()
            if (grade > 0 if relevant_grade is None else grade >= relevant_grade)
        }
    gain_of_document = zip(
        judged, steps.gain[0].tolist(), strict=False
    )  # a block is never narrower than 1
    return {doc: gain for doc, gain in gain_of_document if gain > 0}


def _pair_with_marks(
    marks: tuple[Mark, ...], gains: dict[str, float], best: list[str]
) -> list[tuple[str, Mark]]:
    """Pair documents with ranks of the ideal; the others follow, where nothing counts."""
    remaining = list(best)
    marked_documents = []
    for mark in marks:
        document = next(doc for doc in remaining if gains[doc] == mark.gain)
        remaining.remove(document)
        marked_documents.append((document, mark))
    last = marks[-1].running
    return [*marked_documents, *((doc, Mark(gains[doc], 0.0, 0.0, last)) for doc in remaining)]
