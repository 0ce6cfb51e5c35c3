"""Rank-biased precision (RBP) with its residual, and compatibility with the ideal ranking.

Rank-biased precision models a reader who goes on with probability p. Compatibility is
the similarity of the ranking to its ideal, by rank-biased overlap.
"""

from typing import Annotated, Literal

import numpy as np

from rankgate.core.arrays import Flags, Floats
from rankgate.core.declare import Cutoff, OnlyWith, Range
from rankgate.measurement.metrics.graded.gains_ideals import GainMap, Ties, gain_of_grades
from rankgate.measurement.metrics.judged_block import PAD, Counts, Judged, Ranks, Steps, count, total
from rankgate.measurement.metrics.metric_declaration import Metric

Persistence = Annotated[float, Range(0, 1)]
Worth = Literal["binary", "scaled", "linear", "exp"] | GainMap
Top = Annotated[float, Range(0), OnlyWith("gain", "linear", "exp", mapping=True)]
Tail = Literal["always", "holes"]


def rank_biased_precision(
    judged: Judged,
    *,
    p: Persistence = 0.8,
    rel: Annotated[float, OnlyWith("gain", "binary")] = 1,
    gain: Worth = "binary",
    cutoff: Cutoff | None = None,
    max_grade: Top | None = None,
    ties: Ties = "broken",
    horizon: Cutoff | None = None,
) -> Steps:
    """Expected gain a document for a reader who looks at the next one with probability p.

        RBP = (1 − p) · Σ_i p^(i−1) · g(gradeᵢ)

    Args:
        judged: the block.
        p: the persistence, 0.5 an impatient reader, 0.95 a patient one.
        rel: the smallest grade that counts as relevant, for `binary`.
        gain: 1 if relevant (`binary`); the grade over the highest that the query
            has, if that is above 1 (`scaled`, trec_eval 10); the grade (`linear`);
            2 to the grade less 1 (`exp`); or a map from grade to gain.
        cutoff: k; without it the whole list counts.
        max_grade: the grade whose gain counts as 1; without it gains are taken as they are.
        ties: documents with equal scores are at their own ranks (`broken`), or share the
            mean of their weights (`averaged`, trectools).
        horizon: the rank at which even a patient reader stops, so that the weights of the
            ranks above add up to 1; without it there is none.

    Returns:
        ``(T,)``; 0 if nothing relevant is retrieved.

    >>> from rankgate.measurement.metrics.judged_block import block
    >>> rank_biased_precision(block([[1, 0, 1]]), p=0.5).value  # (1 + 1/4) / 2
    array([0.625])
    """
    end = min([last for last in (cutoff, horizon) if last is not None], default=None)
    weight = _weight(judged.rank, p, end)
    if ties == "averaged":
        first, last = judged.first, judged.last if end is None else np.minimum(judged.last, end)
        weight_sum = _weight_sum(last, p) - _weight_sum(first - 1, p)
        weight = np.where(judged.within(end), weight_sum / np.maximum(last - first + 1, 1), 0)
    return Steps(
        _worth(judged, gain, rel, max_grade),
        weight,
        factor=1 - p if horizon is None else 1 / float(_weight_sum(horizon, p)),  # weights sum to 1
        weighed="(1−p)·p^(i−1)",
    )


def _worth(judged: Judged, gain: Worth, rel: float, max_grade: float | None) -> Flags | Floats:
    """The gain of each document, ``(T, J)``."""
    if gain == "binary":
        return judged.hits(rel)
    if gain == "scaled":
        return np.maximum(judged.grade, 0) / np.maximum(judged.ideal[:, :1], 1)
    top = 1.0 if max_grade is None else gain_of_grades(np.array([max_grade]), gain)[0]
    return np.where(judged.rank < PAD, gain_of_grades(judged.grade, gain) / top, 0)


def _weight_sum(ranks: Ranks | int, p: float) -> Floats:
    """The sum of the weights of the first ranks: 1 + p + p² + …, a term for each rank."""
    term_count = np.asarray(ranks, np.float64)
    return term_count if p == 1 else (1 - np.power(p, term_count)) / (1 - p)


def rank_biased_residual(
    judged: Judged, *, p: Persistence = 0.8, tail: Tail = "always", cutoff: Cutoff | None = None
) -> Floats:
    """The gain of RBP if all unjudged and unseen documents were relevant.

        RBPResid = 1 − (1 − p) · Σ_{judged at rank i} p^(i−1)

    Args:
        judged: the block.
        p: the persistence.
        tail: count what lies behind the list `always`, or only if the list has
            `holes`, unjudged documents in it (trec_eval 10).
        cutoff: k; with it, all that is behind k is unseen.

    Returns:
        ``(T,)``, from 0 to 1.

    >>> from rankgate.measurement.metrics.judged_block import block
    >>> rank_biased_residual(block([[1, None]]), p=0.5)
    array([0.5])
    """
    is_judged = judged.hits(0, cutoff) & judged.known[:, :cutoff]
    weight = np.where(is_judged, _weight(judged.rank[:, :cutoff], p, cutoff), 0)
    open_ends: Floats = 1 - (1 - p) * total(weight)
    if tail == "always":
        return open_ends
    length = judged.retrieved if cutoff is None else np.minimum(judged.retrieved, cutoff)
    return np.where(count(is_judged) < length, open_ends, 0)


def rank_biased_tail(
    judged: Judged,
    *,
    p: Persistence = 0.8,
    gain: Worth = "binary",
    cutoff: Cutoff | None = None,
    best: float = 1,
) -> Floats:
    """The gain of RBP from documents behind the end of a list, if all had the grade ``best``.

    An empty list is not continued.
    """
    residual = rank_biased_residual(judged, p=p, cutoff=cutoff) * (best if gain == "linear" else 1.0)
    return np.where(judged.retrieved > 0, residual, 0)


def _weight(rank: Ranks, p: float, cutoff: int | None) -> Floats:
    """The probability that the reader reaches a rank, p^(i−1); 0 after the cutoff."""
    weight: Floats = np.power(p, rank - 1.0)
    weight[rank > (PAD - 1 if cutoff is None else cutoff)] = 0
    return weight


_SOURCE = "Moffat & Zobel, ACM TOIS 27(1), 2008, doi:10.1145/1416950.1416952"

RBP = Metric(
    "RBP",
    rank_biased_precision,
    residual=rank_biased_tail,
    title="The gain a document for a reader who goes on to the next with probability p.",
    formula="RBP = (1 − p) · Σ_i p^(i−1) · g(gradeᵢ)",
    aliases=("rank_biased_precision",),
    trec=("rbp",),
    high=None,
    source=_SOURCE,
    sees=(
        "relevance weighted by the probability that a reader gets that far; it needs no ideal, so new "
        "judgments never lower it"
    ),
    blind_to=(
        "the number of relevant documents: a query with one reaches 1 − p at most; and the possible gain of "
        "unjudged documents, which RBPResid measures"
    ),
    prefix_only=True,
    additive=True,
    ideal_order_optimal=True,
    bounds="safe",
)
RBPResid = Metric(
    "RBPResid",
    rank_biased_residual,
    title="The possible rise of RBP if all unjudged or unseen documents were relevant.",
    formula="RBPResid = 1 − (1 − p) · Σ_{judged at rank i} p^(i−1)",
    trec=("rbp_resid",),
    higher_is_better=False,
    source=_SOURCE,
    sees="the ranks of documents that are not judged",
    blind_to="the gain of the judged documents; and gains above 1, of `linear` RBP",
    prefix_only=True,
    scenarios=False,
)


Patience = Annotated[float, Range(0, 1)]
Best = Literal["ideal", "endless"]


def compatibility(judged: Judged, *, p: Patience = 0.95, best: Best = "ideal") -> Steps:
    """Rank-biased overlap of the ranking with the ideal that is most like it.

        Compat = RBO(ranking, ideal) / RBO(ideal, ideal),   RBO = Σ_{i≤n} p^(i−1)·|Aᵢ ∩ Bᵢ| / i

    with the first i documents of either list, Aᵢ and Bᵢ. The ideal has all documents with a
    grade above 0, best first, equal grades in the order of the ranking; n is the length of the
    longer list.

    Args:
        judged: the block.
        p: the probability that a reader continues to the next rank.
        best: divided by what the `ideal` reaches with itself, or by what two equal lists that
            never end would (`endless`).

    Returns:
        ``(T,)``; NaN for a query without a document of a grade above 0.

    >>> from rankgate.measurement.metrics.judged_block import block
    >>> compatibility(block([[0, 1]]), p=0.5).value  # (1/2 · 1/2) / (1 + 1/2 · 1/2)
    array([0.2])
    """
    ideal_size = count(judged.ideal > 0)
    length = np.maximum(judged.retrieved, ideal_size)
    ranks = np.arange(1.0, length.max(initial=1) + 1)
    weight = p ** (ranks - 1)
    weight_up_to = np.append(0, np.cumsum(weight / ranks))  # sums of the prefixes up to each length
    total_weight = weight_up_to[length][:, None]
    grade = np.where(judged.known, judged.grade, 0)  # the ideal has no imputed grades
    hits = grade > 0
    shared_from = np.where(hits, np.maximum(judged.rank, _ideal_rank(judged.ideal, grade)), 1)
    norm = np.append(0, np.cumsum(weight))[np.where(ideal_size > 0, length, 0)]
    if best == "ideal":
        places = np.minimum(np.arange(1, judged.ideal.shape[-1] + 1), ranks.size)
        norm = total(np.where(judged.ideal > 0, total_weight - weight_up_to[places - 1], 0))
    return Steps(
        hits,
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
    """Count the documents of the ideal with a higher grade than each retrieved document."""
    T, width = ideal.shape
    top = max(ideal.max(initial=0), grade.max(initial=0)) + 1
    begin = np.arange(T)[:, None]
    ideal_keys = begin * top + (top - 1 - ideal)  # ascending over the rows of all queries
    grade_keys = begin * top + (top - 1 - np.maximum(grade, 0))
    return np.searchsorted(ideal_keys.ravel(), grade_keys.ravel()).reshape(grade_keys.shape) - begin * width


Compat = Metric(
    "Compat",
    compatibility,
    title="The similarity of the ranking to the ideal, by rank-biased overlap.",
    formula="Compat = RBO(ranking, ideal) / RBO(ideal, ideal),   RBO = Σ_i p^(i−1)·|Aᵢ ∩ Bᵢ| / i",
    aliases=("compatibility",),
    at=None,
    source="Clarke, Vtyurina & Smucker, ACM TOIS 39(3), 2021, doi:10.1145/3451161",
    sees="the ranks of the documents of the ideal",
    blind_to="the distance of grades, and the order of documents of one grade",
)
