"""Precision, recall, success, and the F measure at a cutoff.

Precision is the share of relevant documents among the retrieved. Recall and success look at
relevant documents among the first k. The F measure at a cutoff puts precision and recall in
one number.
"""

from typing import Annotated, Literal

import numpy as np

from rankgate.core.arrays import Floats
from rankgate.core.declare import Cutoff, Range
from rankgate.measurement.metrics.judged_block import Judged, Places, Steps, count, ratio, until_hit
from rankgate.measurement.metrics.metric_declaration import Metric

_TREC = "trec_eval; Buckley & Voorhees, in: TREC: Experiment and Evaluation, MIT Press 2005, ch. 3"


def precision(judged: Judged, *, cutoff: Cutoff, rel: float = 1, denominator: Places = "cutoff") -> Steps:
    """Share of the first k places that hold a relevant document.

        P@k = |relevant at ranks ≤ k| / k

    Args:
        judged: the block.
        cutoff: k.
        rel: the smallest grade that counts as relevant.
        denominator: k, regardless of the length of the list (`cutoff`, trec_eval), min(k, length of
            the list) (`returned`), or the judged documents among those (`judged`).

    Returns:
        ``(T,)``; 0 for an empty list under `cutoff`, NaN under the other two.

    >>> from rankgate.measurement.metrics.judged_block import block
    >>> precision(block([[1, 0, None, 1]]), cutoff=4).value
    array([0.5])
    """
    names = {"cutoff": "k", "returned": "min(k, retrieved)", "judged": "judged within k"}
    return Steps(
        judged.hits(rel),
        judged.within(cutoff),
        judged.places(cutoff, denominator),
        summed="relevant within k",
        divisor=names[denominator],
    )


def relative_precision(judged: Judged, *, cutoff: Cutoff, rel: float = 1) -> Steps:
    """Precision over the best that the query allows.

        RelP@k = |relevant at ranks ≤ k| / min(k, R)

    Returns:
        ``(T,)``; NaN for a query without a relevant document.

    >>> from rankgate.measurement.metrics.judged_block import block
    >>> relative_precision(block([[1, 0, None, 1]]), cutoff=10).value
    array([1.])
    """
    return Steps(
        judged.hits(rel),
        judged.within(cutoff),
        np.minimum(judged.at_level(rel).relevant, cutoff),
        summed="relevant within k",
        divisor="min(k, R)",
    )


def r_precision(judged: Judged, *, rel: float = 1, cutoff: Cutoff | None = None) -> Steps:
    """Precision at the rank that a perfect ranking would need.

        Rprec = |relevant at ranks ≤ R| / R

    Args:
        judged: the block.
        rel: the smallest grade that counts as relevant.
        cutoff: k; with it ranks behind k do not count, though R does in full.

    Returns:
        ``(T,)``; NaN for a query without a relevant document.

    >>> from rankgate.measurement.metrics.judged_block import block
    >>> r_precision(block([[1, 0, None, 1]])).value
    array([0.5])
    """
    relevant = judged.at_level(rel).relevant
    return Steps(
        judged.hits(rel),
        judged.within(cutoff) & (judged.rank <= relevant[:, None]),
        relevant,
        summed="relevant within R",
        divisor="R",
    )


def r_precision_multiple(judged: Judged, *, multiple: Annotated[float, Range(0)], rel: float = 1) -> Floats:
    """Precision at a multiple of R, rounded up past a tenth as trec_eval does.

        RprecMult@m = |relevant at ranks ≤ c| / c,   c = ⌊m·R + 0.9⌋

    Returns:
        ``(T,)``; 0 where c is 0, NaN for a query without a relevant document.

    >>> from rankgate.measurement.metrics.judged_block import block
    >>> r_precision_multiple(block([[1, 0, None, 1]]), multiple=0.5)
    array([1.])
    """
    judged = judged.at_level(rel)
    cutoffs = np.floor(multiple * judged.relevant + 0.9).astype(np.int64)
    hits = judged.hits(rel) & (judged.rank <= cutoffs[:, None])
    value = np.nan_to_num(ratio(count(hits), cutoffs))
    return np.where(judged.relevant > 0, value, np.nan)


P = Metric(
    "P",
    precision,
    title="The share of the first k places that hold a relevant document.",
    formula="P@k = |relevant at ranks ≤ k| / k",
    aliases=("precision", "prec"),
    trec=("P",),
    source=_TREC,
    sees="the number of relevant documents in the first k",
    blind_to=(
        "their order within the first k, their grades above rel, and the number of relevant documents: with "
        "fewer than k of them it cannot reach 1"
    ),
    prefix_only=True,
    whole_list_when=(("denominator", "retrieved"),),
    ideal_order_optimal=True,
    additive=True,
    bounds="exact",
)
RelP = Metric(
    "RelP",
    relative_precision,
    title="Precision at k over the best precision at k that the query allows.",
    formula="RelP@k = |relevant at ranks ≤ k| / min(k, R)",
    aliases=("relative_precision", "R_cap", "capped_recall", "calibrated_recall"),
    trec=("relative_P",),
    source=_TREC,
    sees=(
        "the share of the relevant documents that fit into k places; recall over the largest possible recall "
        "is the same number"
    ),
    blind_to="the order within the first k and the grades above rel",
    prefix_only=True,
    bounds="safe",
)
Rprec = Metric(
    "Rprec",
    r_precision,
    title="Precision at rank R, R being the number of relevant documents of the query.",
    formula="Rprec = |relevant at ranks ≤ R| / R",
    aliases=("r_precision", "R-precision"),
    trec=("Rprec",),
    at=None,
    source=_TREC,
    sees="the number of relevant documents in the first R places, of R",
    blind_to="the order within the first R, and everything behind them; R itself grows with every judgment "
    "that is added",
)
RprecMult = Metric(
    "RprecMult",
    r_precision_multiple,
    title="Precision at a multiple of R, the number of relevant documents of the query.",
    formula="RprecMult@m = |relevant at ranks ≤ c| / c,   c = ⌊m·R + 0.9⌋",
    trec=("Rprec_mult",),
    at="multiple",
    source=_TREC,
    sees="the share of relevant documents in a prefix scaled to the query",
    blind_to="the order within that prefix and everything behind it",
)


Wanted = Literal["relevant", "reachable", "retrieved"]


def recall(judged: Judged, *, cutoff: Cutoff, rel: float = 1, denominator: Wanted = "relevant") -> Steps:
    """Share of the relevant documents found in the first k places.

        R@k = |relevant at ranks ≤ k| / R

    Args:
        judged: the block.
        cutoff: k.
        rel: the smallest grade that counts as relevant.
        denominator: R (`relevant`); min(k, R) (`reachable`), which some tools call recall
            too, see RelP; or only the relevant documents in the whole list (`retrieved`).

    Returns:
        ``(T,)``; NaN for a query without a relevant document.

    >>> from rankgate.measurement.metrics.judged_block import block
    >>> recall(block([[1, 0, None, 1]]), cutoff=2).value
    array([0.5])
    """
    judged = judged.at_level(rel)
    name, norm = {
        "relevant": ("R", judged.relevant),
        "reachable": ("min(k, R)", np.minimum(judged.relevant, cutoff)),
        "retrieved": ("relevant retrieved", judged.relevant_retrieved),
    }[denominator]
    return Steps(judged.hits(rel), judged.within(cutoff), norm, summed="relevant within k", divisor=name)


def success(judged: Judged, *, cutoff: Cutoff, rel: float = 1) -> Steps:
    """1 if a relevant document is in the first k places, else 0.

        Success@k = 1 if |relevant at ranks ≤ k| > 0, else 0

    Returns:
        ``(T,)``; NaN for a query without a relevant document, which nothing can satisfy.

    >>> from rankgate.measurement.metrics.judged_block import block
    >>> success(block([[0, 1], [0, None, 1]]), cutoff=2).value
    array([1., 0.])
    """
    hits = judged.hits(rel)
    return Steps(hits, judged.within(cutoff) & until_hit(hits), judged.at_level(rel).relevant > 0)


def full_recall(judged: Judged, *, cutoff: Cutoff, rel: float = 1) -> Steps:
    """1 if every relevant document is in the first k places, else 0.

        FullRecall@k = 1 if |relevant at ranks ≤ k| = R, else 0

    Returns:
        ``(T,)``; NaN for a query without a relevant document.

    >>> from rankgate.measurement.metrics.judged_block import block
    >>> full_recall(block([[1, 0, 1], [1, 0, None, 1]]), cutoff=3).value
    array([1., 0.])
    """
    judged = judged.at_level(rel)
    hits = judged.hits(rel)
    is_last = np.cumsum(hits, axis=-1) == judged.relevant[:, None]
    return Steps(hits & is_last, judged.within(cutoff), judged.relevant > 0)


R = Metric(
    "R",
    recall,
    title="The share of the relevant documents that the first k places hold.",
    formula="R@k = |relevant at ranks ≤ k| / R",
    aliases=("recall",),
    trec=("recall",),
    source="Cleverdon, Mills & Keen, Factors Determining the Performance of Indexing Systems, 1966; "
    "trec_eval",
    sees="the share of the known relevant documents in the first k",
    blind_to="their order, their grades above rel, and relevant documents not judged: R counts the judged "
    "ones only",
    prefix_only=True,
    whole_list_when=(("denominator", "retrieved"),),
    ideal_order_optimal=True,
    bounds="safe",
)
Success = Metric(
    "Success",
    success,
    title="1 if at least one relevant document is in the first k places, else 0.",
    formula="Success@k = [ |relevant at ranks ≤ k| > 0 ]",
    aliases=("hit_rate", "hit", "HR"),
    trec=("success",),
    source="Craswell, Success at n, in: Encyclopedia of Database Systems, 2009, "
    "doi:10.1007/978-0-387-39940-9_1090; trec_eval",
    sees="the presence of a relevant document in the first k",
    blind_to="its rank in the first k, and further relevant documents",
    prefix_only=True,
    ideal_order_optimal=True,
    bounds="exact",
)

FullRecall = Metric(
    "FullRecall",
    full_recall,
    title="1 if all relevant documents are in the first k places, else 0.",
    formula="FullRecall@k = [ |relevant at ranks ≤ k| = R ]",
    aliases=("recall_all",),
    source="Wu et al., LongMemEval, ICLR 2025, arXiv:2410.10813 (its recall_all)",
    sees="whether the first k hold all that an answer needs",
    blind_to="how many relevant documents are missing, and relevant documents not judged",
    prefix_only=True,
    ideal_order_optimal=True,
)


def f_measure(
    judged: Judged, *, cutoff: Cutoff, beta: Annotated[float, Range(0)] = 1.0, rel: float = 1
) -> Steps:
    """Weighted harmonic mean of P@k and R@k; recall weighs beta times as much.

        F@k = (1 + β²)·P·R / (β²·P + R) = (1 + β²)·|relevant at ranks ≤ k| / (β²·R + k)

    where the second R is the number of relevant documents.

    Returns:
        ``(T,)``; NaN for a query without a relevant document.

    >>> from rankgate.measurement.metrics.judged_block import block
    >>> f_measure(block([[1, 0, None, 1]]), cutoff=4).value  # P = 1/2, R = 1
    array([0.66666667])
    """
    relevant, weight = judged.at_level(rel).relevant, beta * beta
    return Steps(
        judged.hits(rel),
        judged.within(cutoff),
        np.where(relevant > 0, weight * relevant + cutoff, 0),
        factor=1 + weight,
        weighed="1 + β²",
        divisor="β²·R + k",
    )


F = Metric(
    "F",
    f_measure,
    title="The weighted harmonic mean of precision and recall at k.",
    formula="F@k = (1 + β²)·P@k·R@k / (β²·P@k + R@k)",
    aliases=("F1", "f_measure", "f1_score"),
    source="van Rijsbergen, Information Retrieval, 2nd ed., Butterworths 1979, ch. 7",
    sees=(
        "the number of relevant documents in the first k, against both k and the number of relevant documents"
    ),
    blind_to="the order within the first k and the grades above rel",
    prefix_only=True,
    ideal_order_optimal=True,
    bounds="safe",
)
