"""Compatibility: how like the ranking is to its ideal, by rank-biased overlap."""

from typing import Annotated, Literal

import numpy as np

from rankgate.core.declare import Range
from rankgate.measurement.metrics.declare import Metric
from rankgate.measurement.metrics.judged import Counts, Floats, Judged, count, total
from rankgate.measurement.metrics.steps import Steps

Patience = Annotated[float, Range(0, 1)]
Best = Literal["ideal", "endless"]


def compatibility(judged: Judged, *, p: Patience = 0.95, best: Best = "ideal") -> Floats:
    """Rank-biased overlap of the ranking with the ideal that is most like it.

        Compat = RBO(ranking, ideal) / RBO(ideal, ideal),   RBO = Σ_{i≤n} p^(i−1)·|Aᵢ ∩ Bᵢ| / i

    with the first i documents of either list, Aᵢ and Bᵢ. The ideal has all documents with a
    grade above 0, best first, equal grades in the order of the ranking; n is the length of the
    longer list.

    Args:
        judged: the block.
        p: how likely the reader goes on to the next rank.
        best: divided by what the `ideal` reaches with itself, or by what two equal lists that
            never end would (`endless`).

    Returns:
        ``(T,)``; NaN for a query without a document of a grade above 0.

    >>> from rankgate.measurement.metrics.judged import block
    >>> compatibility(block([[0, 1]]), p=0.5)  # (1/2 · 1/2) / (1 + 1/2 · 1/2)
    array([0.2])
    """
    return compatibility_steps(judged, p=p, best=best).value


def compatibility_steps(judged: Judged, *, p: Patience = 0.95, best: Best = "ideal") -> Steps:
    """Documents of the ideal, each weighed by the prefixes at which both lists hold it."""
    ideal_size = count(judged.ideal > 0)
    length = np.maximum(judged.retrieved, ideal_size)
    ranks = np.arange(1.0, length.max(initial=1) + 1)
    weight = p ** (ranks - 1)
    weight_up_to = np.append(0, np.cumsum(weight / ranks))  # of the prefixes up to each length
    total_weight = weight_up_to[length][:, None]
    grade = np.where(judged.known, judged.grade, 0)  # the ideal has no imputed grades
    hits = grade > 0
    shared_from = np.where(hits, np.maximum(judged.rank, _ideal_rank(judged.ideal, grade)), 1)
    norm = np.append(0, np.cumsum(weight))[np.where(ideal_size > 0, length, 0)]
    if best == "ideal":
        places = np.minimum(np.arange(1, judged.ideal.shape[-1] + 1), ranks.size)
        norm = total(np.where(judged.ideal > 0, total_weight - weight_up_to[places - 1], 0))
    return Steps(
        hits.astype(np.float64),
        np.where(hits, total_weight - weight_up_to[shared_from - 1], 0),
        norm,
        weighed="prefixes shared",
        divisor="the ideal's" if best == "ideal" else "all prefixes",
    )


def _ideal_rank(ideal: Floats, grade: Floats) -> Counts:
    """The rank of each retrieved document in the ideal that is most like the ranking."""
    row_order = np.argsort(-grade, axis=-1, kind="stable")  # equal grades in order of rank
    sorted_grades = np.take_along_axis(grade, row_order, axis=-1)
    column = np.broadcast_to(np.arange(grade.shape[-1]), grade.shape)
    is_new_grade = np.ones(grade.shape, bool)
    is_new_grade[:, 1:] = sorted_grades[:, 1:] != sorted_grades[:, :-1]
    begin = np.maximum.accumulate(np.where(is_new_grade, column, 0), axis=-1)
    position = np.empty(grade.shape, np.int64)
    np.put_along_axis(position, row_order, column - begin + 1, axis=-1)
    return _count_better(ideal, grade) + position


def _count_better(ideal: Floats, grade: Floats) -> Counts:
    """Count the documents of the ideal with a higher grade than each one retrieved."""
    T, width = ideal.shape
    top = max(ideal.max(initial=0), grade.max(initial=0)) + 1
    begin = np.arange(T)[:, None]
    ideal_keys = begin * top + (top - 1 - ideal)  # ascending over the rows of all queries
    grade_keys = begin * top + (top - 1 - np.maximum(grade, 0))
    counts: Counts = (
        np.searchsorted(ideal_keys.ravel(), grade_keys.ravel()).reshape(grade_keys.shape)
        - begin * width
    )
    return counts


Compat = Metric(
    "Compat",
    compatibility,
    title="How like the ranking is to the ideal, by rank-biased overlap.",
    formula="Compat = RBO(ranking, ideal) / RBO(ideal, ideal),   RBO = Σ_i p^(i−1)·|Aᵢ ∩ Bᵢ| / i",
    aliases=("compatibility",),
    steps=compatibility_steps,
    at=None,
    source="Clarke, Vtyurina & Smucker, ACM TOIS 39(3), 2021, doi:10.1145/3451161",
    sees="how soon the ranking has shown what the ideal shows",
    blind_to="how far grades are apart, and the order of documents of one grade",
)
