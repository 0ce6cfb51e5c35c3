"""Average recall: the mean of recall over the first ranks."""

from typing import Literal

import numpy as np

from rankgate.core.declare import Cutoff
from rankgate.measurement.metrics.declare import Metric
from rankgate.measurement.metrics.judged import Counts, Floats, Judged, ratio, total

Points = Literal["ranks", "relevant"]


def average_recall(
    judged: Judged, *, cutoff: Cutoff, rel: float = 1, over: Points = "ranks"
) -> Floats:
    """Mean of the recall at many ranks.

        AR@k = 1/k · Σ_{i≤k} R@i

    Args:
        judged: the block.
        cutoff: k.
        rel: the smallest grade that counts as relevant.
        over: each of the k ranks (`ranks`, elliot); or only those that hold a relevant
            document, over the relevant documents in the list, which recall is over too
            then (`relevant`, evidently).

    Returns:
        ``(T,)``; NaN for a query without a relevant document, or under `relevant` without
        one in the list.

    >>> from rankgate.measurement.metrics.judged import block
    >>> average_recall(block([[1, 0]], ideal=[[1, 1]]), cutoff=2)  # (1/2 + 1/2) / 2
    array([0.5])
    """
    judged = judged.at_level(rel)
    hits = judged.hits(rel, cutoff)
    if over == "relevant":
        hit_counts: Counts = np.cumsum(hits, axis=-1)
        relevant_count = judged.relevant_retrieved
        return ratio(total(np.where(hits, hit_counts, 0.0)), relevant_count * relevant_count)
    later_ranks = np.where(hits, cutoff + 1.0 - judged.rank[:, :cutoff], 0.0)
    return ratio(total(later_ranks), cutoff * judged.relevant)


AR = Metric(
    "AR",
    average_recall,
    title="The mean of recall over the first k ranks.",
    formula="AR@k = 1/k · Σ_{i≤k} R@i",
    aliases=("average_recall", "MAR", "mean_average_recall"),
    source="elliot, Anelli et al., SIGIR 2021, doi:10.1145/3404835.3463245; what recmetrics and "
    "rexmex call so is AP@k",
    sees="how early the first k ranks gather the relevant documents",
    blind_to="grades above rel and all that is after k; a perfect ranking stays below 1 "
    "where more than one document is relevant",
    prefix_only=True,
    whole_list_when=(("over", "relevant"),),
    bounds="safe",
)
