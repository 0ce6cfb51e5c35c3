"""Any metric for queries of several intents: the mean over intents, and D#-measures."""

import functools
from typing import Annotated

import numpy as np

from rankgate.core.declare import Range
from rankgate.core.errors import UsageError
from rankgate.measurement.metrics.declare import Metric
from rankgate.measurement.metrics.facets.declare import FacetMetric
from rankgate.measurement.metrics.facets.faceted import Faceted, Grades
from rankgate.measurement.metrics.judged import PAD, Flags, Floats, Judged, block
from rankgate.measurement.metrics.views import RANKING


def intent_aware(faceted: Faceted, *, of: str = "nDCG@10", rel: float = 1) -> Floats:
    """A metric of rankings on the judgments of each intent, mean over the intents of a query.

    The mean is weighted where the judgments say what intents weigh (``subtopic_weight``).

    Args:
        faceted: the block.
        of: the metric, by its name; one that needs judged documents without relevance, such as
            Bpref, is refused.
        rel: an intent counts that has a document of this grade.

    Returns:
        ``(T,)``; NaN for a query without a relevant document.

    >>> from rankgate.measurement.metrics.facets.faceted import block
    >>> intent_aware(block([[{0: 2}, {1: 1}]], [[{0: 2}, {1: 1}]]), of="RR")  # (1 + 1/2) / 2
    array([0.75])
    """
    metric = _metric(of)
    faceted = faceted.at_level(rel)
    has_relevant: Flags = np.any(faceted.pool, axis=1)
    values = np.zeros(has_relevant.shape)
    for s in range(has_relevant.shape[1]):
        has_intent = has_relevant[:, s]
        if has_intent.any():
            rows = _as_judged(faceted, faceted.grades[:, :, s], faceted.pool_grades[:, :, s])
            values[:, s] = np.where(has_intent, np.nan_to_num(metric.compute(rows)), 0)
    return _safe_ratio((values * faceted.worth).sum(axis=-1), has_relevant.sum(axis=-1))


def d_sharp(
    faceted: Faceted,
    *,
    of: str = "nDCG@10",
    gamma: Annotated[float, Range(0, 1)] = 0.5,
    rel: float = 1,
) -> Floats:
    """Intent recall and a metric on global gains: the grades added over intents.

        D# = γ · I-rec + (1 − γ) · D-metric,   gain = Σ_s P(s) · gradeₛ

    P(s) is the weight of the intent (``subtopic_weight``) over that of all; without weights 1/S.

    Args:
        faceted: the block.
        of: the metric, by its name; its cutoff is that of intent recall.
        gamma: the weight of intent recall; 0 is the D-metric alone.
        rel: the grade from which a document answers an intent.

    Returns:
        ``(T,)``; NaN for a query without a relevant document.

    >>> from rankgate.measurement.metrics.facets.faceted import block
    >>> d_sharp(block([[{0: 1}]], [[{0: 1}, {1: 1}]]), of="nDCG@1")  # 1/2 · 1/2 + 1/2 · 1
    array([0.75])
    """
    metric = _metric(of)
    faceted = faceted.at_level(rel)
    count, intent_weights = np.maximum(faceted.subtopics, 1)[:, None], faceted.worth[:, None]
    grades, pool = (
        (intent_grades * intent_weights).sum(-1) / count
        for intent_grades in (faceted.grades, faceted.pool_grades)
    )
    rows = _as_judged(faceted, grades, pool)
    cutoff = dict(metric.given).get("cutoff", PAD)
    covered_count = (faceted.covers & (faceted.rank <= cutoff)[:, :, None]).any(axis=1).sum(axis=-1)
    value = gamma * covered_count / count[:, 0] + (1 - gamma) * np.nan_to_num(metric.compute(rows))
    return _safe_ratio(value, (faceted.subtopics > 0).astype(np.int64))


@functools.cache
def _metric(name: str) -> Metric:
    """The metric of rankings that a name names.

    Raises:
        UsageError: another kind of metric, or one that needs documents judged not relevant.
    """
    from rankgate.measurement.metrics.names import parse

    metric = parse(name)
    if metric.view == RANKING and not metric.missing:
        complete_block = block([[0, 1, 0, 1]], ideal=[[1, 1, 0, 0]])
        sparse_block = block([[None, 1, None, 1]], ideal=[[1, 1]])
        if np.array_equal(
            metric.compute(complete_block), metric.compute(sparse_block), equal_nan=True
        ):
            return metric
    raise UsageError(
        f"of={name!r}: a metric of rankings is needed that does not look at documents judged "
        "not relevant, such as nDCG@10.",
        code="unsupported-metric",
    )


def _as_judged(faceted: Faceted, grades: Grades | Floats, pool: Grades | Floats) -> Judged:
    """Documents with these grades ``(T, J)`` as kernels of rankings see them; 0 is unjudged."""
    is_judged = (grades > 0) & (faceted.rank < PAD)
    order = np.argsort(~is_judged, axis=1, kind="stable")
    rank = np.take_along_axis(np.where(is_judged, faceted.rank, PAD), order, axis=1).astype(
        np.int32
    )
    grade = np.take_along_axis(np.where(is_judged, grades, 0.0), order, axis=1).astype(np.float64)
    ideal = -np.sort(-pool.astype(np.float64), axis=1)
    judged = np.count_nonzero(ideal > 0, axis=1)
    last = np.where(faceted.rank < PAD, faceted.rank, 0).max(axis=1, initial=0).astype(np.int64)
    return Judged(
        rank=rank,
        grade=grade,
        known=rank < PAD,
        first=rank,
        last=rank.copy(),
        ideal=ideal,
        below=np.zeros((len(rank), 0)),
        retrieved=last,
        judged=judged,
        pooled=judged.copy(),
        relevant=judged.copy(),
        relevant_retrieved=judged.copy(),
        level=np.nan,
    ).at_level(1)


def _safe_ratio(numerator: Floats, denominator: Floats) -> Floats:
    quotient: Floats = np.full(len(numerator), np.nan)
    return np.divide(numerator, denominator, out=quotient, where=denominator > 0)


IntentAware = FacetMetric(
    "IA",
    intent_aware,
    title="A metric of rankings, mean over the intents of a query.",
    formula="IA(of=M) = Σ_s P(s) · M on the judgments of intent s,   P(s) = 1/S without weights",
    at=None,
    source="Agrawal et al., WSDM 2009, doi:10.1145/1498759.1498766",
    sees="grades and ranks, for each intent by itself",
    blind_to="whether one document serves many intents; unjudged documents",
)
DSharp = FacetMetric(
    "Dsharp",
    d_sharp,
    title="Intent recall and a metric on the gains of all intents together.",
    formula="Dsharp(of=M) = γ · I-rec + (1 − γ) · M on gain = Σ_s P(s) · gradeₛ",
    at=None,
    source="Sakai & Song, SIGIR 2011, doi:10.1145/2009916.2010055",
    sees="grades of all intents, ranks, and how many intents are answered",
    blind_to="which intents are rare or frequent, where no weights are given; unjudged documents",
)
