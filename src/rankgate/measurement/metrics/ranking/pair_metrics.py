"""Pairwise metrics: shares of correctly ordered pairs, ROC area, label ranking."""

from typing import Literal

import numpy as np

from rankgate.core.arrays import Flags, Floats
from rankgate.core.declare import Cutoff
from rankgate.measurement.metrics.judged_block import Counts, Judged, Steps, count, ratio, total
from rankgate.measurement.metrics.metric_declaration import Metric


def count_through_group(judged: Judged, rows: Flags) -> Counts:
    """Count the rows that have the score of each document or a higher one, ``(T, J)``.

    Args:
        judged: the block.
        rows: ``(T, J)``, the rows to count.
    """
    columns = np.arange(rows.shape[-1])
    ends = np.append(judged.first[:, 1:] != judged.first[:, :-1], np.ones((len(rows), 1), bool), -1)
    last = np.where(ends, columns, columns[-1])
    last_column = np.minimum.accumulate(last[:, ::-1], axis=-1)[:, ::-1]
    return np.take_along_axis(np.cumsum(rows, axis=-1), last_column, axis=-1)


def count_before_group(judged: Judged, rows: Flags) -> Counts:
    """Count the rows that have a higher score than each document, ``(T, J)``.

    Args:
        judged: the block.
        rows: ``(T, J)``, the rows to count.
    """
    columns = np.arange(rows.shape[-1])
    starts = np.append(np.ones((len(rows), 1), bool), judged.first[:, 1:] != judged.first[:, :-1], -1)
    start = np.maximum.accumulate(np.where(starts, columns, 0), axis=-1)
    return np.take_along_axis(np.cumsum(rows, axis=-1) - rows, start, axis=-1)


def pairwise_accuracy(judged: Judged, *, cutoff: Cutoff | None = None, rel: float = 1) -> Steps:
    """Share of the retrieved pairs with the relevant document above the other.

        Accuracy@k = 1/H · Σ_{relevant at rank i ≤ k} (others below it, up to k) / (n − H)

    with H relevant documents among the first n = min(k, length of the list).

    Returns:
        ``(T,)``; NaN where there is no such pair: nothing relevant there, or nothing else.

    >>> from rankgate.measurement.metrics.judged_block import block
    >>> pairwise_accuracy(block([[1, None, 1]])).value  # one of two pairs
    array([0.5])
    """
    hits = judged.hits(rel) & judged.within(cutoff)
    hit_counts = np.cumsum(hits, axis=-1)
    shown_count = judged.retrieved if cutoff is None else np.minimum(judged.retrieved, cutoff)
    other_count = shown_count - hit_counts[:, -1]
    others_above = judged.rank - hit_counts
    below = np.where(hits, other_count[:, None] - others_above, 0).astype(np.float64)
    share = ratio(below, np.broadcast_to(other_count[:, None], below.shape))
    norm = np.where(other_count > 0, hit_counts[:, -1], 0)
    return Steps(judged.hits(rel), np.nan_to_num(share), norm, weighed="others below", divisor="relevant")


Accuracy = Metric(
    "Accuracy",
    pairwise_accuracy,
    title="The share of retrieved pairs in which the relevant document is above the other.",
    formula="Accuracy@k = |pairs (relevant above other)| / |pairs (relevant, other)|",
    aliases=("pairwise_accuracy",),
    source="ir_measures",
    sees="the order of relevant documents and others, each pair as much as any",
    blind_to=("relevant documents that were not retrieved, grades above rel, and the depth of the pairs"),
    prefix_only=True,
)


def ordered_pair_accuracy(judged: Judged) -> Steps:
    """Share of the pairs of different grades in which the better document scores higher.

        OPA = |pairs with gradeᵢ > gradeⱼ and sᵢ > sⱼ| / |pairs with gradeᵢ > gradeⱼ|

    Pairs are formed of all documents judged or retrieved. Unjudged documents, and those with
    a negative grade, have grade 0 here. Those that were not retrieved score below all others
    and equal each other; a pair of equal scores is not in order.

    Returns:
        ``(T,)``; NaN where all documents have the same grade.

    >>> from rankgate.measurement.metrics.judged_block import block
    >>> ordered_pair_accuracy(block([[1, None, 2]])).value.round(4)  # only 1 before None, of 3 pairs
    array([0.3333])
    """
    wins = np.zeros_like(judged.grade)
    remaining = judged.documents
    same_grade_pairs = np.zeros_like(remaining)
    for level in np.unique(judged.ideal[judged.ideal > 0]):
        level_count = count(judged.ideal == level)
        same_grade_pairs += level_count * level_count
        remaining = remaining - level_count
        is_at_level = judged.grade >= level
        lower = judged.documents - count(judged.ideal >= level)  # documents with lower grades
        lower_above = judged.last - count_through_group(judged, is_at_level)  # with an equal score
        wins += np.where(judged.grade == level, lower[:, None] - lower_above, 0)
    pairs = (judged.documents**2 - same_grade_pairs - remaining**2) / 2
    return Steps(wins, norm=pairs, divisor="pairs of different grades")


OPA = Metric(
    "OPA",
    ordered_pair_accuracy,
    title="The share of the pairs of different grades in which the better document scores higher.",
    formula="OPA = |pairs with gradeᵢ > gradeⱼ and sᵢ > sⱼ| / |pairs with gradeᵢ > gradeⱼ|",
    aliases=("ordered_pair_accuracy",),
    at=None,
    source="rax, opa_metric; TensorFlow Ranking, ordered_pair_accuracy; over relevant and other documents it "
    "is the area under the ROC curve: Hanley & McNeil, Radiology 143(1), 1982, "
    "doi:10.1148/radiology.143.1.7063747",
    sees="the order of all documents of different grades, at the end of the list as at its head",
    blind_to=(
        "ranks: an exchange at the top costs as much as one at the bottom; the distance of two grades; and "
        "unjudged documents, which count as not relevant"
    ),
)


Ties = Literal["half", "lost"]
Over = Literal["known", "retrieved"]
By = Literal["relevant", "documents"]


def area(judged: Judged, *, rel: float = 1, ties: Ties = "half", over: Over = "known") -> Floats:
    """Share of the pairs with the relevant document scored above the other.

        AUC = ( |pairs with s₊ > s₋| + ½ |pairs with s₊ = s₋| ) / (R · N)

    with R relevant documents and N others.

    Args:
        judged: the block.
        rel: the smallest grade that counts as relevant.
        ties: the value of a pair of equal scores: a half (`half`, scikit-learn, RecBole,
            torchmetrics), or 0 (`lost`).
        over: all documents judged or retrieved, where those that were not retrieved score
            below all others and equal each other (`known`), or those retrieved (`retrieved`).

    Returns:
        ``(T,)``; NaN where there is no pair, or nothing retrieved.

    >>> from rankgate.measurement.metrics.judged_block import block
    >>> area(block([[1, 0, 1]]))  # one of two pairs
    array([0.5])
    """
    judged = judged.at_level(rel)
    hits = judged.hits(rel)
    relevant, other_count = _class_counts(judged, over)
    highest_wins = other_count[:, None] - (
        judged.first - 1 - count_before_group(judged, hits)
    )  # not above its group
    lowest_wins = other_count[:, None] - (judged.last - count_through_group(judged, hits))  # below its group
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
    """The area of each query, for a weighted mean.

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

    >>> from rankgate.measurement.metrics.judged_block import block
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
    """Share of the pairs with the relevant document not scored above the other.

        RankingLoss = |pairs with s₊ ≤ s₋| / (R · N)

    Args:
        judged: the block.
        rel: the smallest grade that counts as relevant.
        over: as in AUC.

    Returns:
        ``(T,)``; NaN where there is no pair, or nothing retrieved.

    >>> from rankgate.measurement.metrics.judged_block import block
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
        ``(T,)``; NaN if no document is relevant.

    >>> from rankgate.measurement.metrics.judged_block import block
    >>> coverage_error(block([[1, 0, 1, 0]]))
    array([3.])
    """
    judged = judged.at_level(rel)
    deepest = np.where(judged.hits(rel), judged.last, 0).max(axis=-1)
    has_all = judged.relevant_retrieved == judged.relevant
    depth = np.where(has_all, deepest, judged.documents)
    return np.where(judged.relevant > 0, depth.astype(np.float64), np.nan)


def _class_counts(judged: Judged, over: Over) -> tuple[Counts, Counts]:
    """The number of relevant documents and of all others, ``(T,)`` each."""
    if over == "retrieved":
        return judged.relevant_retrieved, judged.retrieved - judged.relevant_retrieved
    relevant_count: Counts = judged.relevant
    if judged.level <= 0:  # then grade 0 is relevant, and every hit counts
        relevant_count = np.maximum(relevant_count, count(judged.hits(judged.level)))
    return relevant_count, judged.documents - relevant_count


_HANLEY = "Hanley & McNeil, Radiology 143(1), 1982, doi:10.1148/radiology.143.1.7063747"
_TSOUMAKAS = (
    "Tsoumakas, Katakis & Vlahavas, Mining Multi-label Data, 2010, doi:10.1007/978-0-387-09823-4_34; "
    "scikit-learn, "
)
_SEES = "the order of every relevant document and every other, each pair as much as any"
_BLIND = (
    "where in the list a pair is: an exchange at the end costs as much as one at the top; grades above rel; "
    "unjudged documents, which count as not relevant"
)

AUC = Metric(
    "AUC",
    area,
    title=(
        "The share of pairs in which the relevant document scores above the other; a tie counts one half."
    ),
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
    title="The area under the ROC curve, with the mean weighted by query.",
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
    title="The share of pairs in which the relevant document does not score above the other.",
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
    title="The depth in the list at which every relevant document has been seen.",
    formula="CoverageError = max_{relevant i} |documents with score ≥ sᵢ|",
    aliases=("coverage_error",),
    at=None,
    high=None,
    higher_is_better=False,
    source=f"{_TSOUMAKAS}coverage_error",
    sees="the last of the relevant documents, ties at their last rank",
    blind_to=(
        "all relevant documents but the last, grades above rel, and the length of the lists: queries with "
        "many documents dominate a mean"
    ),
)


def label_ranking_average_precision(judged: Judged, *, rel: float = 1) -> Steps:
    """Mean over the relevant documents of the precision down to all that score as high.

        LRAP = 1/R · Σ_{relevant i} |relevant with score ≥ sᵢ| / |documents with score ≥ sᵢ|

    Without equal scores it is AP. A group of equal scores counts as if it were one rank,
    its last.

    Returns:
        ``(T,)``; 0 where none of the relevant documents is found, NaN where there are none.

    >>> from rankgate.measurement.metrics.judged_block import block
    >>> label_ranking_average_precision(block([[1, 0, 1]])).value.round(4)  # (1/1 + 2/3) / 2
    array([0.8333])
    """
    judged = judged.at_level(rel)
    hits = judged.hits(rel)
    return Steps(
        hits,
        count_through_group(judged, hits) / judged.last,
        judged.relevant,
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
    source="Tsoumakas, Katakis & Vlahavas, Mining Multi-label Data, 2010, doi:10.1007/978-0-387-09823-4_34; "
    "scikit-learn, label_ranking_average_precision_score",
    sees="the scores' order of every relevant document, and ties, which it counts at their last rank: equal "
    "scores never help",
    blind_to="grades above rel, and unjudged documents, which count as not relevant",
)
