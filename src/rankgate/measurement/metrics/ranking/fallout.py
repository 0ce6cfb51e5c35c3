"""Fall-out: the share of irrelevant documents that are retrieved."""

import numpy as np

from rankgate.core.declare import Cutoff
from rankgate.measurement.metrics.declare import Metric
from rankgate.measurement.metrics.judged import Floats, Judged, count, ratio


def fall_out(judged: Judged, *, cutoff: Cutoff | None = None, rel: float = 1) -> Floats:
    """Share of the documents without relevance that are in the first k places.

        FallOut@k = |not relevant at ranks ≤ k| / |not relevant|

    All documents count that are judged or retrieved: nobody knows the others.

    Args:
        judged: the block.
        cutoff: k; without it the whole list counts.
        rel: the smallest grade that counts as relevant.

    Returns:
        ``(T,)``; NaN where no document is without relevance.

    >>> from rankgate.measurement.metrics.judged import block
    >>> fall_out(block([[1, 0, None, 1]]), cutoff=2)
    array([0.5])
    """
    judged = judged.at_level(rel)
    length = judged.retrieved if cutoff is None else np.minimum(judged.retrieved, cutoff)
    nonrelevant_count = length - count(judged.hits(rel, cutoff))
    return ratio(nonrelevant_count, judged.documents - judged.relevant)


FallOut = Metric(
    "FallOut",
    fall_out,
    title="The share of the documents without relevance that are in the first k places.",
    formula="FallOut@k = |not relevant at ranks ≤ k| / |not relevant|",
    aliases=("fall_out",),
    higher_is_better=False,
    source="van Rijsbergen, Information Retrieval, 2nd ed., Butterworths 1979, ch. 7; "
    "torchmetrics, retrieval_fall_out",
    sees="how many of the first k documents are not relevant",
    blind_to="their order, and the collection: it counts documents judged or retrieved only, so "
    "a longer list lowers it",
)
