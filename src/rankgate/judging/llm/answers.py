"""Parse a model's answer into a grade, or the reason why it has none."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from rankgate.core.frozen import dataclass
from rankgate.judging.standing import WITHDRAWN

_SHOWN = 60
_THOUGHT = "</think>"
_LONGEST = 1000  # characters of a reason that are kept
_EFFORT = 1 << 25
"""Characters that may be read for objects that turn out not to be JSON."""


def all_values(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """A JSON object in which a key that appears twice has the list of its values.

    JSON decoders silently keep the last value. A list is not a grade, so that an answer with
    two grades in one object has none.

    >>> all_values([("grade", 3), ("grade", 0), ("reason", "a")])
    {'grade': [3, 0], 'reason': 'a'}
    """
    found: dict[str, list[Any]] = {}
    for key, value in pairs:
        found.setdefault(key, []).append(value)
    return {key: each[0] if len(each) == 1 else each for key, each in found.items()}


@dataclass(frozen=True)
class Answer:
    """What an answer says.

    Attributes:
        grade: on the scale; None if there is none.
        reason: why there is no grade; None where there is one.
        comment: the reason that the model gave for its grade.
        confidence: how sure it says it is, from 0 to 1; None where it says nothing.
    """

    grade: float | None
    reason: str | None = None
    comment: str | None = None
    confidence: float | None = None


def answer_of(text: str, scale: Mapping[float, str]) -> Answer:
    """Read an answer; what cannot be read is not a grade, and never 0.

    The rules: what is before a ``</think>`` is not looked at. Every JSON object in the rest
    that has the key ``grade`` counts, wherever it is (in prose, between fences, inside of another
    object). All of them must say the same grade. A grade is a number, a string that is nothing but
    a number, or the label of a grade, in upper or lower case. ``null`` is a model that cannot tell.
    A number in
    the prose is not a grade; neither is true or false, nor one that is not on the scale: nothing is
    rounded or moved to its end. A key ``grade`` that appears twice in one object is not a grade.
    A ``confidence`` that is not a number from 0 to 1 is none.

    Args:
        text: the model's answer.
        scale: the grades that are possible, each with its label.

    >>> answer_of('Sure! {"reason": "a", "grade": 2} Anything else?', {0: "no", 2: "yes"})
    Answer(grade=2.0, reason=None, comment='a', confidence=None)
    >>> answer_of("I would say 2.", {0: "no", 2: "yes"}).reason
    'no JSON object with a grade in the answer: I would say 2.'
    """
    text = text.rpartition(_THOUGHT)[2]
    if not text.strip():
        return Answer(None, "the answer is empty")
    found = _objects(text)
    if found is None:
        return Answer(None, "the answer has too many objects that are not JSON, or too deep ones")
    if not found:
        return Answer(None, f"no JSON object with a grade in the answer: {_short(text)}")
    read = [_graded(each, scale) for each in found]
    if len({(each.grade, each.grade is None and each.reason) for each in read}) > 1:
        shown = ", ".join(dict.fromkeys(_shown(each["grade"]) for each in found))
        return Answer(None, f"several grades in one answer: {_short(shown)}")
    return read[-1]


def _graded(found: Mapping[str, Any], scale: Mapping[float, str]) -> Answer:
    said, why = found["grade"], found.get("reason")
    comment = " ".join(why.split())[:_LONGEST] if isinstance(why, str) else None
    comment = comment or None
    sure = found.get("confidence")
    sure = sure if isinstance(sure, int | float) and not isinstance(sure, bool) else None
    sure = None if sure is None or not 0 <= sure <= 1 else float(sure)
    if said is None:
        reason = comment if comment != WITHDRAWN else None
        return Answer(
            None, f"the model cannot tell: {reason}" if reason else "the model cannot tell"
        )
    grade = _number(said, scale)
    if grade is None:
        return Answer(None, f"the grade {_shown(said)} is not a number", comment)
    if grade not in scale:
        on = ", ".join(f"{each:g}" for each in scale)
        return Answer(None, f"the grade {_shown(said)} is not on the scale ({on})", comment)
    return Answer(grade, None, comment, sure)


def _number(said: Any, scale: Mapping[float, str]) -> float | None:
    if isinstance(said, bool) or not isinstance(said, int | float | str):
        return None
    if isinstance(said, str):
        word = said.strip().casefold()
        for grade, label in scale.items():
            if label.casefold() == word:
                return float(grade)
        if "_" in word or word in {"nan", "inf", "infinity"}:
            return None
    try:
        return float(said)
    except (ValueError, OverflowError):
        return None


def _objects(text: str) -> list[dict[str, Any]] | None:
    """The JSON objects of a text that have a grade; None if it is not worth the effort to read."""
    graded: list[dict[str, Any]] = []
    inside: list[dict[str, Any]] = []

    def object_of(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        value = all_values(pairs)
        if "grade" in value:
            inside.append(value)
        return value

    # NaN is a word, and not a grade
    decoder = json.JSONDecoder(parse_constant=str, object_pairs_hook=object_of)
    effort, begin = 0, text.find("{")
    while begin >= 0:
        inside.clear()
        try:
            _, end = decoder.raw_decode(text, begin)
        except RecursionError:
            return None
        except ValueError as error:
            end = begin + 1
            effort += getattr(error, "pos", end)  # an error counts the lines before it
            if effort > _EFFORT:
                return None
        else:
            graded += inside
        begin = text.find("{", end)
    return graded


def _shown(value: Any) -> str:
    return _short(json.dumps(value, ensure_ascii=False))


def _short(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _SHOWN else line[:_SHOWN] + "…"
