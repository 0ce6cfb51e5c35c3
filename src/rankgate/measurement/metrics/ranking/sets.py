"""Set metrics: retrieved against relevant documents."""

from typing import Annotated, Literal

import numpy as np

from rankgate.core.declare import Range
from rankgate.measurement.metrics.declare import Metric
from rankgate.measurement.metrics.judged import Floats, Judged, ratio


def set_precision(judged: Judged, *, rel: float = 1) -> Floats:
    """Share of the retrieved documents that are relevant: hits / n; NaN for an empty list.

    >>> from rankgate.measurement.metrics.judged import block
    >>> set_precision(block([[1, 0, None, 1]]))
    array([0.5])
    """
    return ratio(judged.at_level(rel).relevant_retrieved, judged.retrieved)


def set_recall(judged: Judged, *, rel: float = 1) -> Floats:
    """Share of the relevant documents that are retrieved: hits / R; NaN where R is 0.

    >>> from rankgate.measurement.metrics.judged import block
    >>> set_recall(block([[1, 0]], ideal=[[1, 1, 0]]))
    array([0.5])
    """
    judged = judged.at_level(rel)
    return ratio(judged.relevant_retrieved, judged.relevant)


def set_relative_precision(judged: Judged, *, rel: float = 1) -> Floats:
    """Relevant retrieved over the most there could be: hits / min(n, R); NaN where that is 0.

    >>> from rankgate.measurement.metrics.judged import block
    >>> set_relative_precision(block([[1, 0, None]]))
    array([1.])
    """
    judged = judged.at_level(rel)
    return ratio(judged.relevant_retrieved, np.minimum(judged.retrieved, judged.relevant))


def set_average_precision(judged: Judged, *, rel: float = 1) -> Floats:
    """Set precision times set recall: hits² / (n·R); NaN where n or R is 0.

    >>> from rankgate.measurement.metrics.judged import block
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
        beta: how many times as much recall weighs.
        rel: the smallest grade that counts as relevant.
        weighing: β is squared as above, or is there as it is (`plain`): what trec_eval's
            ``set_F.x`` and ir_measures call beta is the square.

    Returns:
        ``(T,)``; NaN for a query without a relevant document.

    >>> from rankgate.measurement.metrics.judged import block
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
    sees="how clean the whole result set is",
    blind_to=_ORDER + "; it falls with the length of the list, so that lists of a fixed depth "
    "are compared on R alone",
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
    sees="how complete the whole result set is",
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
    sees="how near the result set is to the best of its length",
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
