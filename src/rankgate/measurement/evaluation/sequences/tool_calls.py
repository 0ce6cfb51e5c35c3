"""Match the calls of tools that an agent made with those that were expected."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.formats.collected_judgments import TOOL
from rankgate.measurement.evaluation.metric_selection import SEQUENCE
from rankgate.measurement.metrics.sequences.call_metrics import REPEATED

if TYPE_CHECKING:
    from rankgate.data.qrels import Qrels
    from rankgate.data.run import Run

COMPARATORS: Mapping[str, Callable[[Any, Any, Mapping[str, Any]], bool]] = {
    "$any": lambda _call, _value, _options: True,
    "$in": lambda actual, value, _options: actual in value,
    "$contains": lambda actual, value, _options: str(value).casefold() in str(actual).casefold(),
    "$text": lambda actual, value, _options: str(actual).casefold().split() == str(value).casefold().split(),
    "$number": lambda actual, value, options: (
        isinstance(actual, int | float)
        and math.isclose(actual, value, rel_tol=0, abs_tol=options.get("within", 1e-9))
    ),
}
"""Comparators of arguments by their key: from the value made, the one expected, and the other keys."""

_NUMBERED = re.compile(r" #\d+$")


def match_calls(judgments: Qrels, run: Run) -> Run:
    """The run with the ids of the expected calls in place of the calls that match them.

    Each expected call is matched once: in the expected order if the calls have it, otherwise as many
    as possible. Another call has its own id, marked as unexpected, and the score `REPEATED` if an
    earlier call of the task was the same.

    Raises:
        InputError: a comparator is unknown.
    """
    if run.queries is None or TOOL not in run.queries.columns:
        return run
    frame = run.whole("each").frame
    expected = {
        str(task): rows.sort("grade")["doc_id"].to_list()
        for (task,), rows in judgments.table.filter(pl.col("grade") > 0).group_by("query_id")
    }
    positions = run.queries.select("query_id", SEQUENCE, "position")
    calls = frame.with_row_index("row").join(positions, on="query_id").sort(SEQUENCE, "position")
    ids, scores = frame["doc_id"].to_list(), [0.0] * len(frame)
    for (task,), rows in calls.group_by(SEQUENCE, maintain_order=True):
        expected_texts, call_texts = expected.get(str(task), []), rows["doc_id"].to_list()
        places = _assign(
            [[_matches(call, text, judgments.name) for text in expected_texts] for call in call_texts]
        )
        for index, row in enumerate(rows["row"]):
            if index in places:
                ids[row] = expected_texts[places[index]]
            else:
                ids[row] += " (unexpected)"
                scores[row] = REPEATED if call_texts[index] in call_texts[:index] else 0.0
    matched = frame.with_columns(pl.Series("doc_id", ids, pl.String), pl.Series("score", scores))
    return replace(run, pieces=lambda: iter([matched]), rankings=None)


def _matches(call: str, expected: str, label: str) -> bool:
    """True if a call has the tool and the arguments that are expected."""
    tool, _, text = call.partition(" {")
    expected_tool, _, expected_text = _NUMBERED.sub("", expected).partition(" {")
    if tool != expected_tool or not expected_text:
        return tool == expected_tool
    arguments, expected_arguments = json.loads(f"{{{text or '}'}"), json.loads(f"{{{expected_text}")
    return set(arguments) <= set(expected_arguments) and all(
        _fits(arguments.get(name), value, label) for name, value in expected_arguments.items()
    )


def _fits(actual: Any, expected: Any, label: str) -> bool:  # noqa: ANN401 - JSON
    """True if an argument is the expected value, or what a comparator takes.

    Raises:
        InputError: the comparator is unknown, or its value does not fit it.
    """
    key = next((key for key in expected if key.startswith("$")), None) if isinstance(expected, dict) else None
    if key is None:
        return bool(actual == expected)
    if key not in COMPARATORS:
        problem = f"unknown comparator '{key}'; known are {', '.join(COMPARATORS)}."
        raise InputError(problem, source=label, code="unknown-choice")
    try:
        return (actual is not None or key == "$any") and COMPARATORS[key](actual, expected[key], expected)
    except (TypeError, ValueError):
        problem = f"{key} cannot compare with {json.dumps(expected)}; see rankgate formats tool-calls."
        raise InputError(problem, source=label, code="wrong-type") from None


def _assign(matching: Sequence[Sequence[bool]]) -> dict[int, int]:
    """The expected call of each made call that has one: in order if possible, else as many as possible.

    >>> _assign([[False, True], [True, False], [False, True]])  # made b a b, expected a b
    {1: 0, 2: 1}
    """
    expected = len(matching[0])
    in_order: dict[int, int] = {}
    for index, fits in enumerate(matching):
        if len(in_order) < expected and fits[len(in_order)]:
            in_order[index] = len(in_order)
    if len(in_order) == expected:
        return in_order
    made_of: dict[int, int] = {}

    def augment(index: int, visited: set[int]) -> bool:
        for position, fits in enumerate(matching[index]):
            if fits and position not in visited:
                visited.add(position)
                if position not in made_of or augment(made_of[position], visited):
                    made_of[position] = index
                    return True
        return False

    for index in range(len(matching)):
        augment(index, set())
    return {index: position for position, index in made_of.items()}
