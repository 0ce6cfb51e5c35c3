"""The area under the ROC curve, plain and weighted over queries, and the ranking loss."""

from typing import Literal

import numpy as np

from rankgate.measurement.metrics.declare import Metric
from rankgate.measurement.metrics.judged import Counts, Floats, Judged, count, total
from rankgate.measurement.metrics.ranking.groups import count_before_group, count_through_group

Ties = Literal["half", "lost"]
Over = Literal["known", "retrieved"]
By = Literal["relevant", "documents"]


def area(judged: Judged, *, rel: float = 1, ties: Ties = "half", over: Over = "known") -> Floats:
    """Share of the pairs whose relevant document scores above the other.

        AUC = ( |pairs with s₊ > s₋| + ½ |pairs with s₊ = s₋| ) / (R · N)

    with R relevant documents and N others.

    Args:
        judged: the block.
        rel: the smallest grade that counts as relevant.
        ties: what a pair of equal scores counts: a half (`half`, scikit-learn, RecBole,
            torchmetrics), or nothing (`lost`).
        over: all documents judged or retrieved, of which those that were not retrieved score
            below all others and equal each other (`known`), or those retrieved (`retrieved`).

    Returns:
        ``(T,)``; NaN where there is no pair, or nothing retrieved.

    >>> from rankgate.measurement.metrics.judged import block
    >>> area(block([[1, 0, 1]]))  # one of two pairs
    array([0.5])
    """
    judged = judged.at_level(rel)
    hits = judged.hits(rel)
    relevant, other_count = _class_counts(judged, over)
    highest_wins = other_count[:, None] - (
        judged.first - 1 - count_before_group(judged, hits)
    )  # not above its group
    lowest_wins = other_count[:, None] - (
        judged.last - count_through_group(judged, hits)
    )  # below its group
    wins = np.where(hits, (highest_wins + lowest_wins) / 2 if ties == "half" else lowest_wins, 0.0)
    pairs = (relevant * other_count).astype(np.float64)
    win_sum = total(wins)
    if ties == "half":
        unretrieved_others = other_count - (judged.retrieved - judged.relevant_retrieved)
        win_sum += (relevant - judged.relevant_retrieved) * unretrieved_others / 2
    areas: Floats = np.full(pairs.shape, np.nan)
    return np.divide(win_sum, pairs, out=areas, where=(pairs > 0) & (judged.retrieved > 0))


def grouped_area(
    judged: Judged,
    *,
    rel: float = 1,
    ties: Ties = "half",
    over: Over = "known",
    by: By = "relevant",  # noqa: ARG001 - what the mean is weighted by
) -> Floats:
    """The area of each query, whose mean is weighted.

        GAUC = Σ_q w_q · AUC_q / Σ_q w_q

    Args:
        judged: the block.
        rel: as in AUC.
        ties: as in AUC.
        over: as in AUC.
        by: the weight of a query: its relevant documents (`relevant`: the clicks; RecBole), or
            all (`documents`: the impressions).

    Returns:
        ``(T,)``; NaN as in AUC, regardless of the weight.

    >>> from rankgate.measurement.metrics.judged import block
    >>> grouped_area(block([[1, 0], [0, 1]]))
    array([1., 0.])
    """
    return area(judged, rel=rel, ties=ties, over=over)


def weights(
    judged: Judged,
    *,
    rel: float = 1,
    ties: Ties = "half",  # noqa: ARG001 - as the kernel has it
    over: Over = "known",
    by: By = "relevant",
) -> Floats:
    """The weight of each query in the mean, ``(T,)``."""
    relevant, other_count = _class_counts(judged.at_level(rel), over)
    weight = relevant if by == "relevant" else relevant + other_count
    return weight.astype(np.float64)


def ranking_loss(judged: Judged, *, rel: float = 1, over: Over = "known") -> Floats:
    """Share of the pairs whose relevant document does not score above the other.

        RankingLoss = |pairs with s₊ ≤ s₋| / (R · N)

    Args:
        judged: the block.
        rel: the smallest grade that counts as relevant.
        over: as in AUC.

    Returns:
        ``(T,)``; NaN where there is no pair, or nothing retrieved.

    >>> from rankgate.measurement.metrics.judged import block
    >>> ranking_loss(block([[1, 0, 0, 1]]))
    array([0.5])
    """
    return 1 - area(judged, rel=rel, ties="lost", over=over)


def coverage_error(judged: Judged, *, rel: float = 1) -> Floats:
    """The rank, ties at their last, down to which all relevant documents are found.

        CoverageError = max_{relevant i} |documents with score ≥ sᵢ|

    Documents that were not retrieved score below all others and equal each other: where one of
    them is relevant, the value is the number of all documents judged or retrieved.

    Args:
        judged: the block.
        rel: the smallest grade that counts as relevant.

    Returns:
        ``(T,)``; NaN where nothing is relevant.

    >>> from rankgate.measurement.metrics.judged import block
    >>> coverage_error(block([[1, 0, 1, 0]]))
    array([3.])
    """
    judged = judged.at_level(rel)
    deepest = np.where(judged.hits(rel), judged.last, 0).max(axis=-1)
    has_all = judged.relevant_retrieved == judged.relevant
    depth = np.where(has_all, deepest, judged.documents)
    return np.where(judged.relevant > 0, depth.astype(np.float64), np.nan)


def _class_counts(judged: Judged, over: Over) -> tuple[Counts, Counts]:
    """The relevant documents and the others, ``(T,)`` each."""
    if over == "retrieved":
        return judged.relevant_retrieved, judged.retrieved - judged.relevant_retrieved
    relevant_count: Counts = judged.relevant
    if judged.level <= 0:  # grade 0 is relevant then, and every hit counts
        relevant_count = np.maximum(relevant_count, count(judged.hits(judged.level)))
    return relevant_count, judged.documents - relevant_count


_HANLEY = "Hanley & McNeil, Radiology 143(1), 1982, doi:10.1148/radiology.143.1.7063747"
_TSOUMAKAS = (
    "Tsoumakas, Katakis & Vlahavas, Mining Multi-label Data, 2010, "
    "doi:10.1007/978-0-387-09823-4_34; scikit-learn, "
)
_SEES = "the order of every relevant document and every other, each pair as much as any"
_BLIND = (
    "where in the list a pair is: an exchange at the end costs what one at the top does; "
    "grades above rel; unjudged documents, which count as not relevant"
)

AUC = Metric(
    "AUC",
    area,
    title="The share of the pairs whose relevant document scores above the other, ties a half.",
    formula="AUC = ( |pairs with s₊ > s₋| + ½ |pairs with s₊ = s₋| ) / (R · N)",
    aliases=("roc_auc", "ROC_AUC", "area_under_the_curve"),
    at=None,
    source=f"{_HANLEY}; scikit-learn, roc_auc_score",
    sees=_SEES,
    blind_to=_BLIND,
)
GAUC = Metric(
    "GAUC",
    grouped_area,
    title="The area under the ROC curve, its mean weighted by what each query has.",
    formula="GAUC = Σ_q w_q · AUC_q / Σ_q w_q",
    aliases=("group_AUC",),
    at=None,
    aggregate="weighted",
    weight=weights,
    source="Zhu et al., Optimized Cost per Click in Taobao Display Advertising, KDD 2017, "
    "doi:10.1145/3097983.3098134; RecBole, GAUC",
    sees=f"{_SEES}; queries as much as they have relevant documents",
    blind_to=_BLIND,
)
RankingLoss = Metric(
    "RankingLoss",
    ranking_loss,
    title="The share of the pairs whose relevant document does not score above the other.",
    formula="RankingLoss = |pairs with s₊ ≤ s₋| / (R · N)",
    aliases=("label_ranking_loss",),
    at=None,
    higher_is_better=False,
    source=f"{_TSOUMAKAS}label_ranking_loss",
    sees=f"{_SEES}; a tie is a loss",
    blind_to=_BLIND,
)
CoverageError = Metric(
    "CoverageError",
    coverage_error,
    title="How far down the list one has to go to have seen every relevant document.",
    formula="CoverageError = max_{relevant i} |documents with score ≥ sᵢ|",
    aliases=("coverage_error",),
    at=None,
    high=None,
    higher_is_better=False,
    source=f"{_TSOUMAKAS}coverage_error",
    sees="the last of the relevant documents, ties at their last rank",
    blind_to="all relevant documents but the last, grades above rel, and how long the lists are: "
    "queries with many documents dominate a mean",
)
