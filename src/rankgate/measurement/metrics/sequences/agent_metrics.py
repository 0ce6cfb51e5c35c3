"""Agents that search in several calls: finds, costs, citations and refusals."""

from typing import Annotated, Literal

import numpy as np

from rankgate.core.arrays import Flags, Floats
from rankgate.core.declare import Range
from rankgate.core.errors import UsageError
from rankgate.measurement.metrics.judged_block import ratio
from rankgate.measurement.metrics.sequences.sequence import NOTHING, SequenceMetric, Sequences, Tokens, count

Calls = Annotated[int, Range(1)]
Seconds = Annotated[float, Range(0)]
Cost = Literal["calls", "tokens", "seconds"]
_THOUSAND = 1000


def evidence_recall(
    sequences: Sequences,
    *,
    calls: Calls | None = None,
    tokens: Tokens | None = None,
    seconds: Seconds | None = None,
    rel: float = 1,
) -> Floats:
    """The share of the evidence that the calls of a task have shown.

        EvidenceR = relevant documents shown in any call, each once / relevant documents

    Args:
        sequences: the tasks.
        calls: only the first so many calls.
        tokens: only the calls that end within so many tokens.
        seconds: only the calls that end within so many seconds.
        rel: the smallest grade that counts as relevant.

    Returns:
        ``(G,)``; NaN for a task without a relevant document.

    Raises:
        UsageError: a budget of tokens or seconds, and calls do not have theirs.

    >>> from rankgate.measurement.metrics.sequences.sequence import sequences
    >>> task = sequences([[[("a", 1), ("b", 0)], [("a", 1), ("c", 1)]]], [[1, 1, 1, 0]])
    >>> evidence_recall(task).round(4), evidence_recall(task, calls=1).round(4)
    (array([0.6667]), array([0.3333]))
    """
    is_used = _within_budgets(sequences, calls, tokens, seconds) & sequences.hits(rel)
    return ratio(count(sequences.new(is_used, of="source")), sequences.relevant(rel))


def evidence_precision(
    sequences: Sequences,
    *,
    calls: Calls | None = None,
    tokens: Tokens | None = None,
    seconds: Seconds | None = None,
    rel: float = 1,
) -> Floats:
    """The share of the documents shown that are evidence; a document shown twice counts once.

        EvidenceP = relevant documents shown, each once / documents shown, each once

    Arguments, errors and what has no value as of `EvidenceR`; 0 if no document is shown.

    >>> from rankgate.measurement.metrics.sequences.sequence import sequences
    >>> evidence_precision(sequences([[[("a", 1), ("b", 0)], [("a", 1), ("c", 0)]]])).round(4)
    array([0.3333])
    """
    is_used = sequences.new(_within_budgets(sequences, calls, tokens, seconds))
    value = np.nan_to_num(ratio(count(is_used & sequences.hits(rel)), count(is_used)))
    return np.where(sequences.relevant(rel) > 0, value, np.nan)


def evidence_rate(sequences: Sequences, *, per: Cost = "calls", rel: float = 1) -> Floats:
    """Evidence that a task finds, over its calls, tokens or seconds.

        EvidenceRate = relevant documents shown, each once / calls, thousand tokens, or seconds

    Args:
        sequences: the tasks.
        per: the unit of cost: calls, tokens (by the thousand) or seconds.
        rel: the smallest grade that counts as relevant.

    Returns:
        ``(G,)``; NaN for a task without a relevant document; 0 where nothing was spent.

    Raises:
        UsageError: calls do not have their tokens or seconds.

    >>> import numpy as np
    >>> from rankgate.measurement.metrics.sequences.sequence import sequences
    >>> task = sequences(
    ...     [[[("a", 1)], [("b", 1)]]],
    ...     spent=np.array([[300.0, 500.0]]), seconds=np.array([[1.0, 3.0]]),
    ... )
    >>> [float(evidence_rate(task, per=each)[0]) for each in ("calls", "tokens", "seconds")]
    [1.0, 2.5, 0.5]
    """
    evidence_count = count(sequences.new(sequences.is_filled & sequences.hits(rel), of="source"))
    cost = sequences.calls.astype(float)
    if per != "calls":
        cost = cost_of_tasks(sequences, per)
    value = np.nan_to_num(ratio(evidence_count.astype(float), cost))
    return np.where(sequences.relevant(rel) > 0, value, np.nan)


def first_useful(sequences: Sequences, *, rel: float = 1) -> Floats:
    """The number of the first call that shows evidence.

        FirstUseful = min{ q : call q shows a relevant document }, calls + 1 if none does

    Args:
        sequences: the tasks.
        rel: the smallest grade that counts as relevant.

    Returns:
        ``(G,)``; NaN for a task without a relevant document; 2 for one without calls, as for one
        call that shows nothing.

    >>> from rankgate.measurement.metrics.sequences.sequence import sequences
    >>> first_useful(sequences([[[("b", 0)], [("a", 1)]], [[("b", 0)]]], [[1], [1]]))
    array([2., 2.])
    """
    useful: Flags = np.any(sequences.is_filled & sequences.hits(rel), axis=-1)
    value = np.where(useful.any(axis=1), useful.argmax(axis=1) + 1.0, sequences.calls + 1.0)
    return np.where(sequences.relevant(rel) > 0, value, np.nan)


def citation_precision(sequences: Sequences, *, rel: float = 1) -> Floats:
    """The share of the documents that an answer cites that are evidence.

        CitationP = relevant documents cited / documents cited

    Args:
        sequences: the tasks.
        rel: the smallest grade that counts as relevant.

    Returns:
        ``(G,)``; NaN for an answer that cites nothing.

    Raises:
        UsageError: runs do not state what answers cite.

    >>> import numpy as np
    >>> from rankgate.measurement.metrics.sequences.sequence import sequences
    >>> task = sequences(
    ...     [[[("a", 1), ("b", 0), ("c", 1)]]], cited=np.array([[0, 1]]),
    ...     cited_grade=np.array([[1.0, 0.0]]),
    ... )
    >>> citation_precision(task), citation_recall(task)
    (array([0.5]), array([0.5]))
    """
    is_cited, grade = _cited_documents(sequences)
    return ratio(count(is_cited & (grade >= rel)), count(is_cited))


def citation_recall(sequences: Sequences, *, rel: float = 1) -> Floats:
    """The share of the evidence that an answer cites.

        CitationR = relevant documents cited / relevant documents

    Args:
        sequences: the tasks.
        rel: the smallest grade that counts as relevant.

    Returns:
        ``(G,)``; NaN for a task without a relevant document.

    Raises:
        UsageError: runs do not state what answers cite.
    """
    is_cited, grade = _cited_documents(sequences)
    return ratio(count(is_cited & (grade >= rel)), sequences.relevant(rel))


def refusal_precision(sequences: Sequences, *, rel: float = 1) -> Floats:
    """The share of the refusals that were right: nothing relevant is judged for the question.

    Args:
        sequences: the tasks.
        rel: the smallest grade that makes a question one that can be answered.

    Returns:
        ``(G,)``, 1 or 0 for a refusal; NaN for an answer, so that the mean is over refusals.

    Raises:
        UsageError: runs do not state whether there is an answer.

    >>> import numpy as np
    >>> from rankgate.measurement.metrics.sequences.sequence import sequences
    >>> tasks = sequences([[[("a", 1)]], [[("b", 0)]], [[]]], answered=np.array([0.0, 0.0, 1.0]))
    >>> refusal_precision(tasks), refusal_recall(tasks)
    (array([ 0.,  1., nan]), array([nan,  1.,  0.]))
    """
    is_refused = _answered_flags(sequences) == 0
    return np.where(is_refused, np.where(sequences.relevant(rel) == 0, 1.0, 0.0), np.nan)


def refusal_recall(sequences: Sequences, *, rel: float = 1) -> Floats:
    """The share of the questions without evidence that were refused.

    Args:
        sequences: the tasks.
        rel: the smallest grade that makes a question one that can be answered.

    Returns:
        ``(G,)``, 1 or 0 for a question without evidence; NaN for any other.

    Raises:
        UsageError: runs do not state whether there is an answer.
    """
    answered = _answered_flags(sequences)
    value = np.where(np.isnan(answered), np.nan, np.where(answered == 0, 1.0, 0.0))
    return np.where(sequences.relevant(rel) == 0, value, np.nan)


def _within_budgets(
    sequences: Sequences, calls: int | None, tokens: int | None, seconds: float | None
) -> Flags:
    """The documents of the calls within budgets, ``(G, Q, K)``."""
    is_used = sequences.is_filled.copy()
    if calls is not None:
        is_used[:, calls:] = False
    for budget, cost in ((tokens, "tokens"), (seconds, "seconds")):
        if budget is not None:
            spent_sums = np.nancumsum(_cost_of_calls(sequences, cost), axis=1)
            is_used &= (spent_sums <= budget)[:, :, None]
    return is_used


def cost_of_tasks(sequences: Sequences, per: Cost) -> Floats:
    """The thousands of tokens, or the seconds, of each task, ``(G,)``.

    Raises:
        UsageError: no call has it.
    """
    cost: Floats = np.nansum(_cost_of_calls(sequences, per), axis=1) / (_THOUSAND if per == "tokens" else 1)
    return cost


def _cost_of_calls(sequences: Sequences, cost: str) -> Floats:
    """The tokens or seconds of each call.

    Raises:
        UsageError: no call has it.
    """
    spent = sequences.spent if cost == "tokens" else sequences.seconds
    if spent is None or np.isnan(spent).all():
        raise UsageError(
            f"the run does not have the {cost} of calls; a trajectory has {cost} in each call.",
            code="missing-lengths",
        )
    return spent


def _cited_documents(sequences: Sequences) -> tuple[Flags, Floats]:
    if sequences.cited is None or sequences.cited_grade is None:
        raise UsageError(
            "the run has no citations of answers; a trajectory lists them under cited.", code="missing-input"
        )
    return sequences.cited != NOTHING, sequences.cited_grade


def _answered_flags(sequences: Sequences) -> Floats:
    if sequences.answered is None:
        raise UsageError(
            "the run does not state whether questions are answered; a trajectory has answered.",
            code="missing-input",
        )
    return sequences.answered


_TERMS = "terms of Kent et al., American Documentation 6(2), 1955, doi:10.1002/asi.5090060209"
_REFUSALS = "Rajpurkar et al., ACL 2018, doi:10.18653/v1/P18-2124, for questions without an answer"

EvidenceR = SequenceMetric(
    "EvidenceR",
    evidence_recall,
    title="The share of the evidence that an agent's calls have shown.",
    formula="EvidenceR = relevant documents shown in any call / relevant documents; no value without "
    "relevant documents",
    at="calls",
    source=f"recall over the calls of a task; {_TERMS}",
    sees="the documents that the calls find together, in a budget of calls, tokens or seconds",
    blind_to=("the other documents of calls; without a budget, the division of documents among calls"),
    undefined=True,
)
EvidenceP = SequenceMetric(
    "EvidenceP",
    evidence_precision,
    title="The share of the documents that an agent's calls show that are evidence.",
    formula="EvidenceP = relevant documents shown / documents shown, each once",
    at="calls",
    source=f"precision over the calls of a task; {_TERMS}",
    sees="the share of relevant documents among those that the calls find",
    blind_to="documents shown again, which Redundancy measures",
    undefined=True,
)
EvidenceRate = SequenceMetric(
    "EvidenceRate",
    evidence_rate,
    title="Evidence found per call, per thousand tokens or per second.",
    formula="EvidenceRate(per=c) = relevant documents shown / c",
    at=None,
    high=None,
    source=f"evidence for its cost; {_TERMS}",
    sees="the cost of evidence",
    blind_to="the number of relevant documents",
    undefined=True,
)
FirstUseful = SequenceMetric(
    "FirstUseful",
    first_useful,
    title="The number of the first call that shows evidence.",
    formula="FirstUseful = first call with a relevant document; calls + 1, at least 2, if none has",
    at=None,
    low=1.0,
    high=None,
    higher_is_better=False,
    source="expected search length, Cooper, American Documentation 19(1), 1968, doi:10.1002/asi.5090190108, "
    "in calls",
    sees="the call in which an agent first has evidence",
    blind_to="everything after that call; the rank inside it",
    undefined=True,
)
CitationP = SequenceMetric(
    "CitationP",
    citation_precision,
    title="The share of the documents that an answer cites that are evidence.",
    formula="CitationP = relevant documents cited / documents cited",
    at=None,
    source="Gao et al., EMNLP 2023, doi:10.18653/v1/2023.emnlp-main.398, by judged documents",
    sees="citations of documents that are not relevant, or not judged",
    blind_to="answers without citations; the content of sentences",
    undefined=True,
)
CitationR = SequenceMetric(
    "CitationR",
    citation_recall,
    title="The share of the evidence that an answer cites.",
    formula="CitationR = relevant documents cited / relevant documents",
    at=None,
    source="Gao et al., EMNLP 2023, doi:10.18653/v1/2023.emnlp-main.398, by judged documents",
    sees="evidence that was not cited, found or not",
    blind_to="superfluous citations; the content of sentences",
    undefined=True,
)
RefusalP = SequenceMetric(
    "RefusalP",
    refusal_precision,
    title="The share of refusals where nothing relevant is judged: they were right.",
    formula="RefusalP = right refusals / refusals",
    at=None,
    source=_REFUSALS,
    sees="refusals of questions that can be answered",
    blind_to="questions that should have been refused",
    undefined=True,
)
RefusalR = SequenceMetric(
    "RefusalR",
    refusal_recall,
    title="The share of questions without evidence that were refused.",
    formula="RefusalR = right refusals / questions without a relevant document",
    at=None,
    source=_REFUSALS,
    sees="answers to questions without a relevant document",
    blind_to="refusals of questions that can be answered",
    undefined=True,
)
