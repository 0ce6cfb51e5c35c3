"""Reciprocal rank: how soon the first relevant document comes."""

import numpy as np

from rankgate.metrics.declare import Cutoff, Metric
from rankgate.metrics.judged import Floats, Judged
from rankgate.metrics.steps import Steps, until_found, worth


def reciprocal_rank(judged: Judged, *, cutoff: Cutoff | None = None, rel: float = 1) -> Floats:
    """One over the rank of the first relevant document.

        RR@k = 1 / min{ i ≤ k : gradeᵢ ≥ rel }, 0 if there is none

    Returns:
        ``(T,)``; NaN for a query without a relevant document.

    >>> from rankgate.metrics.judged import block
    >>> reciprocal_rank(block([[0, 1, 1]]))
    array([0.5])
    """
    judged = judged.at_level(rel)
    hits = judged.hits(rel, cutoff)
    first = hits.argmax(axis=-1)[:, None]  # the first column that is True
    found = np.take_along_axis(hits, first, axis=-1)[:, 0]
    value = found / np.take_along_axis(judged.rank, first, axis=-1)[:, 0]
    return np.where(judged.relevant > 0, value, np.nan)


def reciprocal_rank_steps(judged: Judged, *, cutoff: Cutoff | None = None, rel: float = 1) -> Steps:
    """The reciprocal rank as the worth of the one document that counts."""
    known = judged.at_level(rel).relevant > 0
    return Steps(
        worth(judged, rel),
        until_found(judged, cutoff, rel) / judged.rank,
        known.astype(np.float64),
        weighed="1 / rank",
    )


RR = Metric(
    "RR",
    reciprocal_rank,
    title="One over the rank of the first relevant document.",
    formula="RR@k = 1 / rank of the first relevant document, 0 if it is not within k",
    aliases=("MRR", "reciprocal_rank", "mean_reciprocal_rank"),
    trec=("recip_rank",),
    steps=reciprocal_rank_steps,
    source="Kantor & Voorhees, Information Retrieval 2(2/3), 2000, doi:10.1023/A:1009902609570",
    sees="where the reader who wants one relevant document stops",
    blind_to="everything below the first relevant document, and its grade above rel; a step "
    "from rank 1 to 2 costs as much as from 2 to never",
)
