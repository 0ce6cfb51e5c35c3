"""Set metrics, counts, fall-out and utility of the retrieved documents.

Set metrics compare retrieved with relevant documents. Counts are added over queries where
other metrics are averaged. Fall-out is the share of irrelevant documents that are retrieved,
and utility is the linear gain and cost of each shown document.
"""

from typing import Annotated, Literal

import numpy as np

from rankgate.core.arrays import Floats
from rankgate.core.declare import Cutoff, Range
from rankgate.measurement.metrics.judged_block import Judged, count, ratio
from rankgate.measurement.metrics.metric_declaration import Metric


def set_precision(judged: Judged, *, rel: float = 1) -> Floats:
    """Share of the retrieved documents that are relevant: hits / n; NaN for an empty list.

    >>> from rankgate.measurement.metrics.judged_block import block
    >>> set_precision(block([[1, 0, None, 1]]))
    array([0.5])
    """
    return ratio(judged.at_level(rel).relevant_retrieved, judged.retrieved)


def set_recall(judged: Judged, *, rel: float = 1) -> Floats:
    """Share of the relevant documents that are retrieved: hits / R; NaN where R is 0.

    >>> from rankgate.measurement.metrics.judged_block import block
    >>> set_recall(block([[1, 0]], ideal=[[1, 1, 0]]))
    array([0.5])
    """
    judged = judged.at_level(rel)
    return ratio(judged.relevant_retrieved, judged.relevant)


def set_relative_precision(judged: Judged, *, rel: float = 1) -> Floats:
    """Relevant retrieved over the most there could be: hits / min(n, R); NaN where that is 0.

    >>> from rankgate.measurement.metrics.judged_block import block
    >>> set_relative_precision(block([[1, 0, None]]))
    array([1.])
    """
    judged = judged.at_level(rel)
    return ratio(judged.relevant_retrieved, np.minimum(judged.retrieved, judged.relevant))


def set_average_precision(judged: Judged, *, rel: float = 1) -> Floats:
    """Set precision times set recall: hits² / (n·R); NaN where n or R is 0.

    >>> from rankgate.measurement.metrics.judged_block import block
    >>> set_average_precision(block([[1, 0]], ideal=[[1, 1, 0]]))
    array([0.25])
    """
    judged = judged.at_level(rel)
    hits = judged.relevant_retrieved
    return ratio(hits * hits, judged.retrieved * judged.relevant)


def set_f(
    judged: Judged,
    *,
    beta: Annotated[float, Range(0)] = 1.0,
    rel: float = 1,
    weighing: Literal["squared", "plain"] = "squared",
) -> Floats:
    """Weighted harmonic mean of set precision and set recall.

        SetF = (1 + β²)·P·R / (β²·P + R), 0 if nothing relevant is retrieved

    Args:
        judged: the block.
        beta: the weight of recall relative to precision.
        rel: the smallest grade that counts as relevant.
        weighing: β is squared as above, or is there as it is (`plain`): what trec_eval's
            ``set_F.x`` and ir_measures call beta is the square.

    Returns:
        ``(T,)``; NaN for a query without a relevant document.

    >>> from rankgate.measurement.metrics.judged_block import block
    >>> set_f(block([[1, 0, 0]]), beta=2)  # P = 1/3, R = 1: 5·(1/3) / (4/3 + 1)
    array([0.71428571])
    """
    judged = judged.at_level(rel)
    precision = ratio(judged.relevant_retrieved, judged.retrieved)
    recall = ratio(judged.relevant_retrieved, judged.relevant)
    weight = beta * beta if weighing == "squared" else beta
    value = ratio((1 + weight) * precision * recall, weight * precision + recall)
    return np.where((judged.relevant > 0) & (judged.relevant_retrieved == 0), 0, value)


_CLEVERDON = "Cleverdon, Aslib Proceedings 19(6), 1967, doi:10.1108/eb050097; trec_eval"
_ORDER = "the order of the list altogether, and grades above rel"

SetP = Metric(
    "SetP",
    set_precision,
    title="The share of the retrieved documents that are relevant.",
    formula="SetP = |relevant retrieved| / |retrieved|",
    trec=("set_P",),
    at=None,
    source=_CLEVERDON,
    sees="the share of relevant documents in the whole result set",
    blind_to=_ORDER + "; it falls with the length of the list, so that lists of a fixed depth are compared "
    "on R alone",
    bounds="exact",
)
SetR = Metric(
    "SetR",
    set_recall,
    title="The share of the relevant documents that are retrieved at any rank.",
    formula="SetR = |relevant retrieved| / R",
    trec=("set_recall",),
    at=None,
    source=_CLEVERDON,
    sees="the share of the relevant documents that the whole result set contains",
    blind_to=_ORDER + "; retrieving everything scores 1",
    bounds="safe",
)
SetF = Metric(
    "SetF",
    set_f,
    title="The weighted harmonic mean of set precision and set recall.",
    formula="SetF = (1 + β²)·SetP·SetR / (β²·SetP + SetR)",
    trec=("set_F",),
    at=None,
    source="van Rijsbergen, Information Retrieval, 2nd ed., Butterworths 1979, ch. 7; trec_eval",
    sees="cleanness and completeness of the result set together",
    blind_to=_ORDER,
    bounds="safe",
)
SetRelP = Metric(
    "SetRelP",
    set_relative_precision,
    title="Relevant documents retrieved, over the most that this list could hold.",
    formula="SetRelP = |relevant retrieved| / min(|retrieved|, R)",
    trec=("set_relative_P",),
    at=None,
    source="trec_eval",
    sees="the distance of the result set from the best of its length",
    blind_to=_ORDER,
    bounds="safe",
)
SetAP = Metric(
    "SetAP",
    set_average_precision,
    title="Set precision times set recall.",
    formula="SetAP = |relevant retrieved|² / (|retrieved|·R)",
    trec=("set_map",),
    at=None,
    source="trec_eval",
    sees="cleanness and completeness of the result set together",
    blind_to=_ORDER,
    bounds="safe",
)


def queries(judged: Judged) -> Floats:
    """One for each query.

    >>> from rankgate.measurement.metrics.judged_block import block
    >>> queries(block([[1], [0]]))
    array([1., 1.])
    """
    return np.ones(judged.retrieved.shape)


def retrieved(judged: Judged) -> Floats:
    """Documents retrieved.

    >>> from rankgate.measurement.metrics.judged_block import block
    >>> retrieved(block([[1, None]]))
    array([2.])
    """
    return judged.retrieved.astype(np.float64)


def relevant(judged: Judged, *, rel: float = 1) -> Floats:
    """Documents judged with a grade of ``rel`` or more.

    >>> from rankgate.measurement.metrics.judged_block import block
    >>> relevant(block([[1]], ideal=[[2, 1, 0]]))
    array([2.])
    """
    return judged.at_level(rel).relevant.astype(np.float64)


def relevant_retrieved(judged: Judged, *, rel: float = 1) -> Floats:
    """Relevant documents retrieved.

    >>> from rankgate.measurement.metrics.judged_block import block
    >>> relevant_retrieved(block([[1]], ideal=[[2, 1, 0]]))
    array([1.])
    """
    return judged.at_level(rel).relevant_retrieved.astype(np.float64)


def nonrelevant_judged_retrieved(judged: Judged, *, rel: float = 1) -> Floats:
    """Retrieved documents that are judged, and not relevant; negative grades are unjudged.

    >>> from rankgate.measurement.metrics.judged_block import block
    >>> nonrelevant_judged_retrieved(block([[1, 0, None, -1]]))
    array([1.])
    """
    is_nonrelevant = judged.hits(0) & ~judged.hits(rel) & judged.known
    return count(is_nonrelevant).astype(np.float64)


NumQ = Metric(
    "NumQ",
    queries,
    title="The number of queries evaluated.",
    formula="NumQ = Σ 1",
    trec=("num_q",),
    at=None,
    high=None,
    aggregate="sum",
    source="trec_eval",
    sees="the queries that count",
    blind_to="everything about their results",
    scenarios=False,
)
NumRet = Metric(
    "NumRet",
    retrieved,
    title="The number of documents retrieved.",
    formula="NumRet = |retrieved|",
    trec=("num_ret",),
    at=None,
    high=None,
    aggregate="sum",
    source="trec_eval",
    sees="the lengths of the lists",
    blind_to="the content of the lists",
    scenarios=False,
)
NumRel = Metric(
    "NumRel",
    relevant,
    title="The number of relevant documents known, retrieved or not.",
    formula="NumRel = |judged, grade ≥ rel|",
    trec=("num_rel",),
    at=None,
    high=None,
    aggregate="sum",
    source="trec_eval",
    sees="the judgments",
    blind_to="the run",
)
NumRelRet = Metric(
    "NumRelRet",
    relevant_retrieved,
    title="The number of relevant documents retrieved.",
    formula="NumRelRet = |retrieved, grade ≥ rel|",
    trec=("num_rel_ret",),
    at=None,
    high=None,
    aggregate="sum",
    source="trec_eval",
    sees="the number of relevant documents in the lists",
    blind_to="their ranks, and the number of relevant documents",
    bounds="exact",
)
NumNonrelJudgedRet = Metric(
    "NumNonrelJudgedRet",
    nonrelevant_judged_retrieved,
    title="The number of retrieved documents that are judged not relevant.",
    formula="NumNonrelJudgedRet = |retrieved, 0 ≤ grade < rel|",
    trec=("num_nonrel_judged_ret",),
    at=None,
    high=None,
    aggregate="sum",
    higher_is_better=False,
    source="trec_eval",
    sees="judged non-relevant documents in the lists",
    blind_to="their ranks, and unjudged documents",
    scenarios=False,
)


def fall_out(judged: Judged, *, cutoff: Cutoff | None = None, rel: float = 1) -> Floats:
    """Share of the documents without relevance that are in the first k places.

        FallOut@k = |not relevant at ranks ≤ k| / |not relevant|

    All documents that are judged or retrieved count: the others are not known.

    Args:
        judged: the block.
        cutoff: k; without it the whole list counts.
        rel: the smallest grade that counts as relevant.

    Returns:
        ``(T,)``; NaN where no document is without relevance.

    >>> from rankgate.measurement.metrics.judged_block import block
    >>> fall_out(block([[1, 0, None, 1]]), cutoff=2)
    array([0.5])
    """
    judged = judged.at_level(rel)
    length = judged.retrieved if cutoff is None else np.minimum(judged.retrieved, cutoff)
    nonrelevant_count = length - count(judged.hits(rel, cutoff))
    return ratio(nonrelevant_count, judged.documents - judged.relevant)


FallOut = Metric(
    "FallOut",
    fall_out,
    title="The share of the documents without relevance that are in the first k places.",
    formula="FallOut@k = |not relevant at ranks ≤ k| / |not relevant|",
    aliases=("fall_out",),
    higher_is_better=False,
    source="van Rijsbergen, Information Retrieval, 2nd ed., Butterworths 1979, ch. 7; torchmetrics, "
    "retrieval_fall_out",
    sees="the number of nonrelevant documents in the first k",
    blind_to="their order, and the collection: it counts documents judged or retrieved only, so a longer "
    "list lowers it",
)


def utility(
    judged: Judged,
    *,
    found: float = 1.0,
    noise: float = -1.0,
    missed: float = 0.0,
    avoided: float = 0.0,
    documents: float = 0.0,
    rel: float = 1,
) -> Floats:
    """Worth of the result set, so much for each document of four kinds.

        Utility = a·hits + b·(n − hits) + c·(R − hits) + d·(N + hits − n − R)

    Args:
        judged: the block.
        found: a, the worth of a relevant document retrieved.
        noise: b, of another document retrieved.
        missed: c, of a relevant document left out.
        avoided: d, of another document left out.
        documents: N, how many documents the collection has.
        rel: the smallest grade that counts as relevant.

    Returns:
        ``(T,)`` in the unit of the four worths.

    >>> from rankgate.measurement.metrics.judged_block import block
    >>> utility(block([[1, 0, None]]))  # one found, two of noise
    array([-1.])
    """
    judged = judged.at_level(rel)
    hits, retrieved, relevant = judged.relevant_retrieved, judged.retrieved, judged.relevant
    return (
        found * hits
        + noise * (retrieved - hits)
        + missed * (relevant - hits)
        + avoided * (documents + hits - retrieved - relevant)
    )


Utility = Metric(
    "Utility",
    utility,
    title="The worth of the result set, so much for each document found, shown or missed.",
    formula="Utility = a·hits + b·(n − hits) + c·(R − hits) + d·(N + hits − n − R)",
    trec=("utility",),
    at=None,
    low=float("-inf"),
    high=None,
    source="Lewis, The TREC-4 filtering track, TREC-4, NIST SP 500-236, 1995; trec_eval",
    sees="the documents that a filter lets through, and those it keeps out",
    blind_to=(
        "the order of the list, grades above rel, and differences among queries: those with the most "
        "relevant documents dominate a mean"
    ),
)
