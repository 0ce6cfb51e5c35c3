"""Share of judged documents among the first k."""

from typing import Literal

import numpy as np

from rankgate.core.declare import Cutoff
from rankgate.measurement.metrics.declare import Metric
from rankgate.measurement.metrics.judged import PAD, Counts, Floats, Judged, count, ratio

Negative = Literal["unjudged", "judged"]


def judged_share(
    judged: Judged, *, cutoff: Cutoff | None = None, negative: Negative = "unjudged"
) -> Floats:
    """Share of the first documents that have a judgment.

        Judged@k = |judged at ranks ≤ k| / min(k, length of the list)

    Args:
        judged: the block.
        cutoff: k; without it the whole list counts.
        negative: a negative grade says that a document was in the pool and is `unjudged`, or
            it is a judgment like any other (`judged`, ir_measures).

    Returns:
        ``(T,)``; NaN for an empty list.

    >>> from rankgate.measurement.metrics.judged import block
    >>> judged_share(block([[1, None, 0]]), cutoff=2)
    array([0.5])
    """
    shown_count, judged_count = _counts(judged, cutoff)
    if negative == "judged":
        last = PAD - 1 if cutoff is None else cutoff
        judged_count = count(judged.known & (judged.rank <= last))
    return ratio(judged_count, shown_count)


def unjudged_share(judged: Judged, *, cutoff: Cutoff) -> Floats:
    """Share of the first k places that hold an unjudged document.

        Unjudged@k = |unjudged at ranks ≤ k| / k

    The divisor is k even where the list is shorter: such a list has fewer holes.

    Returns:
        ``(T,)``; 0 for an empty list.

    >>> from rankgate.measurement.metrics.judged import block
    >>> unjudged_share(block([[1, None, 0]]), cutoff=10)
    array([0.1])
    """
    shown_count, judged_count = _counts(judged, cutoff)
    share: Floats = (shown_count - judged_count) / cutoff
    return share


def unjudged_count(judged: Judged, *, cutoff: Cutoff | None = None) -> Floats:
    """Documents without a judgment in the first k places.

    >>> from rankgate.measurement.metrics.judged import block
    >>> unjudged_count(block([[1, None, 0]]))
    array([1.])
    """
    shown_count, judged_count = _counts(judged, cutoff)
    return (shown_count - judged_count).astype(np.float64)


def _counts(judged: Judged, cutoff: int | None) -> tuple[Counts, Counts]:
    """Documents in the first k places, and those of them that are judged, ``(T,)`` each."""
    judged_count = count(judged.hits(0, cutoff) & judged.known[:, :cutoff])
    return (
        judged.retrieved if cutoff is None else np.minimum(judged.retrieved, cutoff)
    ), judged_count


_BLIND = "what the documents are worth, and where in the first k the holes are"

JudgedAt = Metric(
    "Judged",
    judged_share,
    title="The share of the first k documents that have a judgment.",
    formula="Judged@k = |judged at ranks ≤ k| / min(k, |retrieved|)",
    source="ir_measures",
    sees="how far the other metrics of this run are based on judgments, not on assumptions",
    blind_to=_BLIND,
    prefix_only=True,
    scenarios=False,
)
Unjudged = Metric(
    "Unjudged",
    unjudged_share,
    title="The share of the first k places that hold a document without a judgment.",
    formula="Unjudged@k = |unjudged at ranks ≤ k| / k",
    trec=("unj",),
    higher_is_better=False,
    source="trec_eval 10",
    sees="the holes in the first k places",
    blind_to=_BLIND + "; a short list has fewer",
    prefix_only=True,
    scenarios=False,
)
NumUnjudged = Metric(
    "NumUnjudged",
    unjudged_count,
    title="The number of documents in the first k places that have no judgment.",
    formula="NumUnjudged@k = |unjudged at ranks ≤ k|",
    high=None,
    aggregate="sum",
    higher_is_better=False,
    source="Elasticsearch, ranking evaluation API (unrated_docs)",
    sees="how many judgments would close the holes",
    blind_to=_BLIND,
    prefix_only=True,
    scenarios=False,
)
