"""Calls of tools: those that an agent made against those that were expected.

Each call is a ranking of one document; an expected call that is made has its place as its grade.
"""

from typing import Literal

import numpy as np

from rankgate.core.arrays import Flags, Floats
from rankgate.core.errors import UsageError
from rankgate.measurement.metrics.judged_block import Counts, ratio
from rankgate.measurement.metrics.sequences.agent_metrics import Cost, cost_of_tasks
from rankgate.measurement.metrics.sequences.sequence import SequenceMetric, Sequences, count

Order = Literal["exact", "in_order", "any"]
"""The expected calls and no others, in order; in order among others; or in any order among others."""

REPEATED = -1.0
"""The score of a call that repeats an earlier one, and was not expected again."""


def call_match(sequences: Sequences, *, order: Order = "exact") -> Floats:
    """1 if a task has all expected calls, else 0.

    Args:
        sequences: the tasks.
        order: no other calls and in order (`exact`), in order among others (`in_order`), or in any
            order among others (`any`).

    Returns:
        ``(G,)``; for a task that expects no calls 1 without calls, and under the others always.

    Raises:
        UsageError: an order is asked for, and expected calls have equal grades, so that none is known.

    >>> from rankgate.measurement.metrics.sequences.sequence import sequences
    >>> task = sequences([[[("b", 2)], [("x", None)], [("a", 1)]]], [[2, 1]])
    >>> [float(call_match(task, order=order)[0]) for order in ("exact", "in_order", "any")]
    [0.0, 0.0, 1.0]
    """
    hits = _expected_calls(sequences)
    is_complete = count(hits) == sequences.relevant(1)
    if order == "any":
        return is_complete.astype(np.float64)
    if np.any((sequences.ideal[:, 1:] > 0) & (sequences.ideal[:, 1:] == sequences.ideal[:, :-1])):
        problem = "expected calls have equal grades, which name no order; take CallMatch(order='any')."
        raise UsageError(problem, code="missing-input")
    places = np.where(hits, sequences.grade, 0).reshape(len(hits), -1)
    reached = np.maximum.accumulate(places, axis=1)
    is_late = (places[:, 1:] > 0) & (places[:, 1:] < reached[:, :-1])
    is_complete &= ~is_late.any(axis=1)
    if order == "exact":
        is_complete &= _count_calls(sequences) == sequences.relevant(1)
    return is_complete.astype(np.float64)


def call_precision(sequences: Sequences) -> Floats:
    """The share of the calls made that were expected.

        CallP = expected calls made / calls made

    Returns:
        ``(G,)``; NaN for a task without calls.

    >>> from rankgate.measurement.metrics.sequences.sequence import sequences
    >>> task = sequences([[[("b", 2)], [("x", None)]]], [[2, 1]])
    >>> call_precision(task), call_recall(task)
    (array([0.5]), array([0.5]))
    """
    return ratio(count(_expected_calls(sequences)), _count_calls(sequences))


def call_recall(sequences: Sequences) -> Floats:
    """The share of the expected calls that were made.

        CallR = expected calls made / expected calls

    Returns:
        ``(G,)``; NaN for a task that expects no calls.
    """
    return ratio(count(_expected_calls(sequences)), sequences.relevant(1))


def redundant_calls(sequences: Sequences) -> Floats:
    """The share of the calls that repeat an earlier call, same arguments, and were not expected again.

    Returns:
        ``(G,)``; NaN for a task without calls.

    >>> import numpy as np
    >>> from rankgate.measurement.metrics.sequences.sequence import sequences
    >>> redundant_calls(sequences([[[("a", 1)], [("b", None)]]], score=np.array([[[0.0], [-1.0]]])))
    array([0.5])
    """
    return ratio(count(sequences.is_filled & (sequences.score == REPEATED)), _count_calls(sequences))


def success_cost(sequences: Sequences, *, per: Cost = "calls", order: Order = "exact") -> Floats:
    """The calls, tokens or seconds of a task that has all expected calls.

    Args:
        sequences: the tasks.
        per: calls, tokens (by the thousand) or seconds.
        order: as of `CallMatch`.

    Returns:
        ``(G,)``; NaN for a task that fails, so that the mean is that of successes.

    Raises:
        UsageError: calls do not have their tokens or seconds.
    """
    cost = _count_calls(sequences).astype(float) if per == "calls" else cost_of_tasks(sequences, per)
    return np.where(call_match(sequences, order=order) == 1, cost, np.nan)


def _expected_calls(sequences: Sequences) -> Flags:
    """True for calls that match an expected one, ``(G, Q, K)``."""
    return sequences.new(sequences.is_filled & sequences.hits(1))


def _count_calls(sequences: Sequences) -> Counts:
    return count(sequences.is_filled)


_SOURCE = (
    "trajectories of tool calls as LangChain's agentevals and Vertex AI's trajectory metrics compare them"
)

CallMatch = SequenceMetric(
    "CallMatch",
    call_match,
    title="1 if an agent makes the expected calls of tools, exactly, in order or in any order.",
    formula="CallMatch = [ expected calls ⊆ calls made, in the order stated ]",
    at=None,
    source=_SOURCE,
    sees="tools, arguments and order of calls",
    blind_to="how far a task that fails is from its calls; the answer",
    undefined=True,
)
CallP = SequenceMetric(
    "CallP",
    call_precision,
    title="The share of the calls made that were expected.",
    formula="CallP = expected calls made / calls made",
    at=None,
    source=_SOURCE,
    sees="calls that nothing expects, and repeated ones",
    blind_to="expected calls that are missing; the order",
    undefined=True,
)
CallR = SequenceMetric(
    "CallR",
    call_recall,
    title="The share of the expected calls that were made.",
    formula="CallR = expected calls made / expected calls",
    at=None,
    source=_SOURCE,
    sees="expected calls that are missing",
    blind_to="calls that nothing expects; the order",
    undefined=True,
)
RedundantCalls = SequenceMetric(
    "RedundantCalls",
    redundant_calls,
    title="The share of the calls that repeat an earlier call of the task.",
    formula="RedundantCalls = unexpected repetitions / calls made",
    at=None,
    higher_is_better=False,
    source=_SOURCE,
    sees="calls with the tool and arguments of an earlier call",
    blind_to="calls that ask the same in other words",
    undefined=True,
)
SuccessCost = SequenceMetric(
    "SuccessCost",
    success_cost,
    title="The calls, tokens or seconds of the tasks that succeed.",
    formula="SuccessCost(per=c) = c of a task whose CallMatch is 1",
    at=None,
    high=None,
    higher_is_better=False,
    source=_SOURCE,
    sees="the cost of success",
    blind_to="the cost of failures, and their number, which CallMatch has",
    undefined=True,
)
