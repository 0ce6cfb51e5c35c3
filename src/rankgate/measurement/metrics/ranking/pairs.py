"""Pairwise metrics: the share of correctly ordered pairs."""

import numpy as np

from rankgate.measurement.metrics.declare import Metric
from rankgate.measurement.metrics.judged import Floats, Judged, count
from rankgate.measurement.metrics.ranking.groups import count_through_group
from rankgate.measurement.metrics.steps import Steps


def ordered_pair_accuracy(judged: Judged) -> Floats:
    """Share of the pairs of different grades in which the better document scores higher.

        OPA = |pairs with gradeᵢ > gradeⱼ and sᵢ > sⱼ| / |pairs with gradeᵢ > gradeⱼ|

    Pairs are formed of all documents judged or retrieved. Unjudged documents, and those with
    a negative grade, have grade 0 here. Those that were not retrieved score below all others
    and equal each other; a pair of equal scores is not in order.

    Returns:
        ``(T,)``; NaN where all documents have the same grade.

    >>> from rankgate.measurement.metrics.judged import block
    >>> ordered_pair_accuracy(block([[1, None, 2]])).round(4)  # only 1 before None, of 3 pairs
    array([0.3333])
    """
    return ordered_pair_accuracy_steps(judged).value


def ordered_pair_accuracy_steps(judged: Judged) -> Steps:
    """The pairs that each document wins."""
    wins = np.zeros_like(judged.grade)
    remaining = judged.documents
    same_grade_pairs = np.zeros_like(remaining)
    for level in np.unique(judged.ideal[judged.ideal > 0]):
        level_count = count(judged.ideal == level)
        same_grade_pairs += level_count * level_count
        remaining = remaining - level_count
        is_at_level = judged.grade >= level
        lower = judged.documents - count(judged.ideal >= level)  # documents of lower grades
        lower_above = judged.last - count_through_group(
            judged, is_at_level
        )  # those of them that score as high
        wins += np.where(judged.grade == level, lower[:, None] - lower_above, 0)
    pairs = (judged.documents**2 - same_grade_pairs - remaining**2) / 2
    return Steps(wins, np.ones_like(wins), pairs, divisor="pairs of different grades")


OPA = Metric(
    "OPA",
    ordered_pair_accuracy,
    title="The share of the pairs of different grades in which the better document scores higher.",
    formula="OPA = |pairs with gradeᵢ > gradeⱼ and sᵢ > sⱼ| / |pairs with gradeᵢ > gradeⱼ|",
    aliases=("ordered_pair_accuracy",),
    at=None,
    steps=ordered_pair_accuracy_steps,
    source="rax, opa_metric; TensorFlow Ranking, ordered_pair_accuracy; over relevant and other "
    "documents it is the area under the ROC curve: Hanley & McNeil, Radiology 143(1), 1982, "
    "doi:10.1148/radiology.143.1.7063747",
    sees="the order of all documents of different grades, at the end of the list as at its head",
    blind_to="ranks: an exchange at the top costs what one at the bottom does; how far apart two "
    "grades are; and unjudged documents, which count as not relevant",
)
