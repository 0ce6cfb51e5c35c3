"""Reciprocal rank, and average reciprocal rank over all relevant documents.

Reciprocal rank measures how soon the first relevant document comes, average reciprocal rank
how soon every relevant document comes.
"""

from typing import Annotated, Literal

import numpy as np

from rankgate.core.declare import Cutoff, Range
from rankgate.measurement.metrics.judged_block import Judged, Steps, until_hit
from rankgate.measurement.metrics.metric_declaration import Metric

Target = Literal["relevant", "highest", "best"]
Offset = Annotated[int, Range(0)]


def reciprocal_rank(
    judged: Judged,
    *,
    cutoff: Cutoff | None = None,
    rel: float = 1,
    target: Target = "relevant",
    offset: Offset = 0,
) -> Steps:
    """One over the rank of the first relevant document.

        RR@k = 1 / min{ i ≤ k : gradeᵢ ≥ rel }, 0 if there is none

    Args:
        judged: the block.
        cutoff: k; without it the whole list counts.
        rel: the smallest grade that counts as relevant.
        target: the first document with `rel` or more (`relevant`), the first of those
            that no other in the first k surpasses (`highest`), or of those that no judged
            document surpasses (`best`).
        offset: added to the rank; 1 takes 1 / (1 + rank) at its word, and no ranking
            gets above a half.

    Returns:
        ``(T,)``; NaN for a query without a relevant document.

    >>> from rankgate.measurement.metrics.judged_block import block
    >>> reciprocal_rank(block([[0, 1, 1]])).value
    array([0.5])
    """
    hits = judged.hits(rel) & judged.within(cutoff)
    if target == "highest":
        grade = np.where(hits, judged.grade, -np.inf)
        hits &= grade == grade.max(axis=-1, keepdims=True)
    if target == "best":
        hits &= judged.grade == judged.ideal[:, :1]
    return Steps(
        hits,
        judged.within(cutoff) & until_hit(hits),
        judged.at_level(rel).relevant > 0,
        discount=judged.rank + offset,
        weighed=f"1 / (rank + {offset})" if offset else "1 / rank",
    )


RR = Metric(
    "RR",
    reciprocal_rank,
    title="One over the rank of the first relevant document.",
    formula="RR@k = 1 / rank of the first relevant document, 0 if it is not within k",
    aliases=("MRR", "reciprocal_rank", "mean_reciprocal_rank"),
    trec=("recip_rank",),
    source="Kantor & Voorhees, Information Retrieval 2(2/3), 2000, doi:10.1023/A:1009902609570",
    sees="the rank where a reader who wants one relevant document stops",
    blind_to="everything below the first relevant document, and its grade above rel; a step from rank 1 to 2 "
    "costs as much as from 2 to never",
    prefix_only=True,
    ideal_order_optimal=True,
    bounds="exact",
)


def average_reciprocal_rank(judged: Judged, *, cutoff: Cutoff | None = None, rel: float = 1) -> Steps:
    """Mean over the relevant documents of one over the rank of each.

        ARR@k = 1/R · Σ_{relevant at rank i ≤ k} 1/i

    Returns:
        ``(T,)``; NaN for a query without a relevant document.

    >>> from rankgate.measurement.metrics.judged_block import block
    >>> average_reciprocal_rank(block([[1, 1]])).value  # (1/1 + 1/2) / 2
    array([0.75])
    """
    return Steps(
        judged.hits(rel),
        judged.within(cutoff),
        judged.at_level(rel).relevant,
        discount=judged.rank,
        weighed="1 / rank",
        divisor="R",
    )


ARR = Metric(
    "ARR",
    average_reciprocal_rank,
    title="The mean, over all relevant documents, of one over the rank of each.",
    formula="ARR@k = 1/R · Σ_{relevant at rank i ≤ k} 1/i",
    aliases=("average_reciprocal_rank",),
    source="rexmex 0.1.3, where it is called mean reciprocal rank",
    sees="the rank of every relevant document, and those that are missing",
    blind_to="grades above rel; a perfect ranking stays below 1 where more than one document is relevant, "
    "and the lower the more there are",
    prefix_only=True,
    bounds="safe",
)
