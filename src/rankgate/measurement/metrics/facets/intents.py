"""Plain metrics, mean over the subtopics of a query: P-IA, AP-IA, subtopic recall."""

import numpy as np

from rankgate.core.declare import Cutoff
from rankgate.measurement.metrics.facets.declare import FacetMetric
from rankgate.measurement.metrics.facets.faceted import Faceted
from rankgate.measurement.metrics.judged import PAD, Flags, Floats

_AGRAWAL = "Agrawal et al., WSDM 2009, doi:10.1145/1498759.1498766"


def precision_ia(faceted: Faceted, *, cutoff: Cutoff, rel: float = 1) -> Floats:
    """Precision at k, mean over subtopics.

        P-IA@k = 1/S · Σ_s |relevant to s at ranks ≤ k| / k

    >>> from rankgate.measurement.metrics.facets.faceted import block
    >>> precision_ia(block([[{0}, {0, 1}]], [[{0}, {0, 1}]]), cutoff=2)
    array([0.75])
    """
    faceted = faceted.at_level(rel)
    relevant_counts = (faceted.covers & _inside(faceted, cutoff)).sum(axis=1) * faceted.worth
    return _mean(relevant_counts.sum(axis=-1) / cutoff, faceted)


def average_precision_ia(
    faceted: Faceted, *, cutoff: Cutoff | None = None, rel: float = 1
) -> Floats:
    """Average precision, mean over subtopics.

        AP-IA = 1/S · Σ_s 1/R_s · Σ_{i relevant to s} |relevant to s at ranks ≤ i| / i

    >>> from rankgate.measurement.metrics.facets.faceted import block
    >>> average_precision_ia(block([[{0}, {0, 1}]], [[{0}, {0, 1}]]))
    array([0.75])
    """
    faceted = faceted.at_level(rel)
    covers = faceted.covers & _inside(faceted, cutoff)
    rank = np.where(faceted.rank < PAD, faceted.rank, 1)[:, :, None]
    precision_sums = np.where(covers, np.cumsum(covers, axis=1) / rank, 0).sum(axis=1)
    intent_precision = precision_sums / np.maximum(faceted.relevant, 1) * faceted.worth
    return _mean(intent_precision.sum(axis=-1), faceted)


def subtopic_recall(faceted: Faceted, *, cutoff: Cutoff | None = None, rel: float = 1) -> Floats:
    """The share of the subtopics that a document of the first k answers.

        StRecall@k = |subtopics answered at ranks ≤ k| / S

    >>> from rankgate.measurement.metrics.facets.faceted import block
    >>> subtopic_recall(block([[{0}, {1}]], [[{0}, {1}]]), cutoff=1)
    array([0.5])
    """
    faceted = faceted.at_level(rel)
    answered = (faceted.covers & _inside(faceted, cutoff)).any(axis=1).sum(axis=-1)
    return _mean(answered.astype(np.float64), faceted)


def _inside(faceted: Faceted, cutoff: int | None) -> Flags:
    is_inside: Flags = (faceted.rank <= (cutoff or PAD))[:, :, None]
    return is_inside


def _mean(total: Floats, faceted: Faceted) -> Floats:
    """A sum over subtopics as a mean; NaN without any."""
    count = faceted.subtopics
    mean: Floats = np.where(count > 0, total / np.maximum(count, 1), np.nan)
    return mean


PIA = FacetMetric(
    "P_IA",
    precision_ia,
    title="Precision, mean over subtopics.",
    formula="P-IA@k = 1/S · Σ_s |relevant to s at ranks ≤ k| / k",
    source=f"{_AGRAWAL}; ndeval",
    prefix_only=True,
)
APIA = FacetMetric(
    "AP_IA",
    average_precision_ia,
    title="Average precision, mean over subtopics.",
    formula="AP-IA = 1/S · Σ_s 1/R_s · Σ_{i relevant to s} |relevant to s at ranks ≤ i| / i",
    aliases=("MAP_IA",),
    source=f"{_AGRAWAL}; ndeval (MAP-IA)",
    prefix_only=True,
)
StRecall = FacetMetric(
    "StRecall",
    subtopic_recall,
    title="The share of the subtopics that the first k answer.",
    formula="StRecall@k = |subtopics answered at ranks ≤ k| / S",
    aliases=("strec", "S_recall"),
    source="Zhai, Cohen & Lafferty, SIGIR 2003, doi:10.1145/860435.860440; ndeval (strec)",
    prefix_only=True,
)
