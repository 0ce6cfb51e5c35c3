"""Personalization: dissimilarity of the lists of different users."""

from typing import Literal

from rankgate.core.declare import Cutoff
from rankgate.measurement.metrics.lists.declare import ListMetric
from rankgate.measurement.metrics.lists.listed import Sums


def personalization(
    sums: Sums,
    *,
    similarity: Literal["cosine", "overlap"] = "cosine",
    cutoff: Cutoff | None = None,
) -> float:
    """1 less the mean cosine of all pairs of lists, without looking at pairs.

        Personalization = 1 − mean_{a<b} |A ∩ B| / √(|A| · |B|)
                        = 1 − (Σ_i sᵢ² − Σ w²) / ((Σ w)² − Σ w²),   sᵢ = Σ_{lists with i} w/√length

    Lists are sets of items: one that shows an item twice has it once. Empty lists are left out.
    Where lists weigh w, a list is no pair with itself.

    Args:
        sums: of the lists.
        similarity: the cosine, as above; or |A ∩ B| / K, with every list taken for a full one
            (`overlap`: evidently; the same where all lists are full).
        cutoff: K; the mean length if not given.

    Returns:
        0 where all lists show the same; NaN for fewer than two lists.

    >>> import numpy as np
    >>> from rankgate.measurement.metrics.lists.listed import Listed
    >>> round(personalization(Listed(np.array([[0, 1], [0, 2]]), 4).sums()), 12)
    0.5
    """
    pairs = sums.filled**2 - sums.squares
    if pairs <= 0:
        return float("nan")
    if similarity == "overlap":
        k = cutoff or float(sums.counts.sum()) / sums.filled
        return 1 - (float((sums.distinct**2).sum()) / k - sums.squares) / pairs
    value = 1 - (float((sums.scaled.sum(axis=0) ** 2).sum()) - sums.squares) / pairs
    return min(1.0, max(0.0, value))  # roots are rounded


Personalization = ListMetric(
    "Personalization",
    personalization,  # type: ignore[arg-type]
    title="How little lists have in common, 0 where all show the same.",
    formula="Personalization = 1 − mean_{a<b} |A ∩ B| / √(|A| · |B|)",
    aliases=("inter_list_diversity",),
    merge="items",
    source="Zhou et al., PNAS 107(10), 2010, doi:10.1073/pnas.1000488107; recmetrics, rexmex",
    sees="which items lists share",
    blind_to="whether anything shown is relevant, and the order within a list",
)
