"""Label ranking average precision: average precision in which ties never help."""

import numpy as np

from rankgate.measurement.metrics.declare import Metric
from rankgate.measurement.metrics.judged import Floats, Judged
from rankgate.measurement.metrics.ranking.groups import count_through_group
from rankgate.measurement.metrics.steps import Steps


def label_ranking_average_precision(judged: Judged, *, rel: float = 1) -> Floats:
    """Mean over the relevant documents of the precision down to all that score as high.

        LRAP = 1/R · Σ_{relevant i} |relevant with score ≥ sᵢ| / |documents with score ≥ sᵢ|

    Without equal scores it is AP. A group of equal scores counts as if it were one rank,
    its last.

    Returns:
        ``(T,)``; 0 where none of the relevant documents is found, NaN where there are none.

    >>> from rankgate.measurement.metrics.judged import block
    >>> label_ranking_average_precision(block([[1, 0, 1]])).round(4)  # (1/1 + 2/3) / 2
    array([0.8333])
    """
    return label_ranking_average_precision_steps(judged, rel=rel).value


def label_ranking_average_precision_steps(judged: Judged, *, rel: float = 1) -> Steps:
    """The precision down to the last of each relevant document's equals."""
    judged = judged.at_level(rel)
    hits = judged.hits(rel)
    return Steps(
        hits.astype(np.float64),
        count_through_group(judged, hits) / judged.last,
        judged.relevant.astype(np.float64),
        weighed="P@last of its score",
        divisor="R",
    )


LRAP = Metric(
    "LRAP",
    label_ranking_average_precision,
    title="The mean, over all relevant documents, of the precision down to all that score as high.",
    formula="LRAP = 1/R · Σ_{relevant i} |relevant with score ≥ sᵢ| / |documents with score ≥ sᵢ|",
    aliases=("label_ranking_average_precision",),
    at=None,
    steps=label_ranking_average_precision_steps,
    source="Tsoumakas, Katakis & Vlahavas, Mining Multi-label Data, 2010, "
    "doi:10.1007/978-0-387-09823-4_34; scikit-learn, label_ranking_average_precision_score",
    sees="the scores' order of every relevant document, and ties, which it counts at their last "
    "rank: equal scores never help",
    blind_to="grades above rel, and unjudged documents, which count as not relevant",
)
