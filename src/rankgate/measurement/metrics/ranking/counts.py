"""Counts, which are added over queries where other metrics are averaged."""

import numpy as np

from rankgate.measurement.metrics.declare import Metric
from rankgate.measurement.metrics.judged import Floats, Judged, count


def queries(judged: Judged) -> Floats:
    """One for each query.

    >>> from rankgate.measurement.metrics.judged import block
    >>> queries(block([[1], [0]]))
    array([1., 1.])
    """
    return np.ones(judged.retrieved.shape)


def retrieved(judged: Judged) -> Floats:
    """Documents retrieved.

    >>> from rankgate.measurement.metrics.judged import block
    >>> retrieved(block([[1, None]]))
    array([2.])
    """
    return judged.retrieved.astype(np.float64)


def relevant(judged: Judged, *, rel: float = 1) -> Floats:
    """Documents judged with a grade of ``rel`` or more.

    >>> from rankgate.measurement.metrics.judged import block
    >>> relevant(block([[1]], ideal=[[2, 1, 0]]))
    array([2.])
    """
    return judged.at_level(rel).relevant.astype(np.float64)


def relevant_retrieved(judged: Judged, *, rel: float = 1) -> Floats:
    """Relevant documents retrieved.

    >>> from rankgate.measurement.metrics.judged import block
    >>> relevant_retrieved(block([[1]], ideal=[[2, 1, 0]]))
    array([1.])
    """
    return judged.at_level(rel).relevant_retrieved.astype(np.float64)


def nonrelevant_judged_retrieved(judged: Judged, *, rel: float = 1) -> Floats:
    """Retrieved documents that are judged, and not relevant; negative grades are unjudged.

    >>> from rankgate.measurement.metrics.judged import block
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
    sees="which queries count",
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
    blind_to="what is in them",
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
    sees="how many relevant documents are in the lists",
    blind_to="their ranks, and how many there were to find",
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
