"""Send requests to a language model's endpoint, and classify every answer or failure.

The answer of a model is parsed into a grade, or into the reason for a missing grade.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.engines.requests.secrets import Secrets
from rankgate.engines.requests.transport import FailedRequest, Transport
from rankgate.judging.counting_ratings import WITHDRAWN

if TYPE_CHECKING:
    from typing import Literal

    from rankgate.core.value_types import Json, JsonObject
    from rankgate.data.answers.engine_answers import FailureKind
    from rankgate.judging.llm.protocols import EndpointAnswer, Wire


_MAX_SHOWN = 60
_THOUGHT_END = "</think>"
_MAX_REASON = 1000  # largest number of characters of a reason
_MAX_EFFORT = 1 << 25
"""The largest number of characters read for objects that turn out not to be JSON."""


def all_values(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
    """Create a JSON object in which a repeated key has the list of its values.

    JSON decoders silently keep the last value. A list is not a grade, so that an answer with
    two grades in one object has none.

    >>> all_values([("grade", 3), ("grade", 0), ("reason", "a")])
    {'grade': [3, 0], 'reason': 'a'}
    """
    values_by_key: dict[str, list[Json]] = {}
    for key, value in pairs:
        values_by_key.setdefault(key, []).append(value)
    return {key: values[0] if len(values) == 1 else values for key, values in values_by_key.items()}


@dataclass(frozen=True)
class Answer:
    """A parsed answer of a model.

    Attributes:
        grade: on the scale, or None.
        reason: the reason for a missing grade; None where there is one.
        comment: the model's explanation of its grade.
        confidence: the confidence that the model stated, from 0 to 1; None without one.
    """

    grade: float | None
    reason: str | None = None
    comment: str | None = None
    confidence: float | None = None


def parse_answer(text: str, scale: Mapping[float, str]) -> Answer:
    """Read a grade from an answer; an unreadable answer has no grade, and never grade 0.

    The rules: what is before a ``</think>`` is ignored. Every JSON object in the remaining text
    with the key ``grade`` counts, at any position (in prose, between fences, inside another
    object). All these objects must give the same grade. A grade is a number, a string that is
    nothing but a number, or the label of a grade, in upper or lower case. ``null`` means that the
    model cannot tell. A number in the prose is not a grade. True, false and numbers outside the
    scale are not grades either: grades are not rounded or moved to the end of the scale. A key
    ``grade`` that appears twice in one object is not a grade. A ``confidence`` that is not a number
    from 0 to 1 is ignored.

    Args:
        text: the model's answer.
        scale: the possible grades, each with its label.

    >>> parse_answer('Sure! {"reason": "a", "grade": 2} Anything else?', {0: "no", 2: "yes"})
    Answer(grade=2.0, reason=None, comment='a', confidence=None)
    >>> parse_answer("I would say 2.", {0: "no", 2: "yes"}).reason
    'no JSON object with a grade in the answer: I would say 2.'
    """
    text = text.rpartition(_THOUGHT_END)[2]
    if not text.strip():
        return Answer(None, "the answer is empty")
    objects = _graded_objects(text)
    if objects is None:
        return Answer(None, "the answer has too many objects that are not JSON, or nested too deeply")
    if not objects:
        return Answer(None, f"no JSON object with a grade in the answer: {_shorten(text)}")
    answers = [_answer_from_object(fields, scale) for fields in objects]
    if len({(answer.grade, answer.grade is None and answer.reason) for answer in answers}) > 1:
        grades_text = ", ".join(dict.fromkeys(_json_text(fields["grade"]) for fields in objects))
        return Answer(None, f"several grades in one answer: {_shorten(grades_text)}")
    return answers[-1]


def _answer_from_object(fields: JsonObject, scale: Mapping[float, str]) -> Answer:
    stated_grade, model_reason = fields["grade"], fields.get("reason")
    comment = " ".join(model_reason.split())[:_MAX_REASON] if isinstance(model_reason, str) else None
    comment = comment or None
    confidence = fields.get("confidence")
    confidence = (
        confidence if isinstance(confidence, int | float) and not isinstance(confidence, bool) else None
    )
    confidence = None if confidence is None or not 0 <= confidence <= 1 else float(confidence)
    if stated_grade is None:
        reason = comment if comment != WITHDRAWN else None
        return Answer(None, f"the model cannot tell: {reason}" if reason else "the model cannot tell")
    grade = _grade_number(stated_grade, scale)
    if grade is None:
        return Answer(None, f"the grade {_json_text(stated_grade)} is not a number", comment)
    if grade not in scale:
        grades_text = ", ".join(f"{possible:g}" for possible in scale)
        return Answer(
            None, f"the grade {_json_text(stated_grade)} is not on the scale ({grades_text})", comment
        )
    return Answer(grade, None, comment, confidence)


def _grade_number(stated_grade: Json, scale: Mapping[float, str]) -> float | None:
    if isinstance(stated_grade, bool) or not isinstance(stated_grade, int | float | str):
        return None
    if isinstance(stated_grade, str):
        text = stated_grade.strip().casefold()
        for grade, label in scale.items():
            if label.casefold() == text:
                return float(grade)
        if "_" in text or text in {"nan", "inf", "infinity"}:
            return None
    try:
        return float(stated_grade)
    except (ValueError, OverflowError):
        return None


def _graded_objects(text: str) -> list[dict[str, Json]] | None:
    """The JSON objects with a grade in a text; None if reading them takes too long."""
    graded_objects: list[dict[str, Json]] = []
    nested_objects: list[dict[str, Json]] = []

    def object_of(pairs: list[tuple[str, Json]]) -> dict[str, Json]:
        value = all_values(pairs)
        if "grade" in value:
            nested_objects.append(value)
        return value

    # NaN is text here, and not a grade
    decoder = json.JSONDecoder(parse_constant=str, object_pairs_hook=object_of)
    effort, begin = 0, text.find("{")
    while begin >= 0:
        nested_objects.clear()
        try:
            _, end = decoder.raw_decode(text, begin)
        except RecursionError:
            return None
        except ValueError as error:
            end = begin + 1
            effort += getattr(error, "pos", end)  # an error counts the lines before it
            if effort > _MAX_EFFORT:
                return None
        else:
            graded_objects += nested_objects
        begin = text.find("{", end)
    return graded_objects


def _json_text(value: Json) -> str:
    return _shorten(json.dumps(value, ensure_ascii=False))


def _shorten(text: str) -> str:
    line = " ".join(text.split())
    return line if len(line) <= _MAX_SHOWN else line[:_MAX_SHOWN] + "…"


_MAX_BYTES = 4 << 20  # largest number of bytes of an answer
_OK = range(200, 300)
_KEY_MASK = "[key]"
_SHAPE_ERRORS = (ValueError, KeyError, IndexError, TypeError, AttributeError)


@dataclass(frozen=True)
class Reply:
    """The result of one request.

    Attributes:
        kind: ``answer``; ``again``: a retry may succeed; ``refused``: this request will never be
            answered; ``fatal``: every further request will fail too.
        said: the answer of the endpoint.
        problem: the reason for a missing answer, without any secret.
        wait: the seconds that the server asks to wait.
        billed: True if the request may have cost money although its cost is unknown.
    """

    kind: Literal["answer"] | FailureKind
    said: EndpointAnswer | None = None
    problem: str = ""
    wait: float | None = None
    billed: bool = False


class Client:
    """Sends requests to one endpoint; may be used by many threads.

    The key is sent only in the headers of requests to this endpoint: redirections are not followed,
        and `storable` removes it from all saved text of answers.

    Args:
        wire: the protocol.
        url: the endpoint's base, such as ``http://localhost:11434/v1``; if empty, the base URL of
            the protocol.
        key: the secret, where the endpoint needs one.
        timeout: seconds that a whole request may take.
        threads: the number of threads that use the client.

    Raises:
        UsageError: an invalid URL, or one that holds a secret; a key that no header can hold.
    """

    def __init__(
        self, wire: Wire, url: str = "", key: str | None = None, *, timeout: float, threads: int = 1
    ) -> None:
        if key is not None and (not key.isascii() or not key.isprintable() or not key.strip()):
            raise UsageError(
                "the key is empty or holds characters that a header cannot contain; set it again.",
                code="invalid-key",
            )
        self._wire, self._secrets = wire, Secrets(_KEY_MASK)
        self._secrets.add(key or "")
        self._transport = Transport(
            (url or wire.url).rstrip("/") + wire.path,
            {"Accept": "application/json", **wire.headers(key)},
            timeout=timeout,
            threads=threads,
            largest=_MAX_BYTES,
        )

    def __repr__(self) -> str:
        """The URL, without the key."""
        return f"Client({self._transport.url!r})"

    def send(self, body: bytes) -> Reply:
        """Send one request and return its reply; HTTP errors raise no exception."""
        reply = self._transport.send("POST", body=body)
        if isinstance(reply, FailedRequest):
            billed = reply.sent and (reply.status == 0 or reply.status in _OK)
            return Reply(
                reply.kind,
                problem=self.storable(self._secrets.message(reply.problem)),
                wait=reply.wait,
                billed=billed,
            )
        try:
            value = json.loads(reply.data, object_pairs_hook=all_values)
            answer = self._wire.parse_answer(value)
        except (*_SHAPE_ERRORS, RecursionError):
            return Reply("again", problem="the answer is not JSON of this protocol", billed=True)
        return Reply("answer", answer)

    def storable(self, text: str) -> str:
        """A text of the endpoint as files and databases can keep it: valid, and without the key.

        Use it after a text was parsed, because a key may look like a grade.
        """
        text = text.encode("utf-8", "replace").decode().replace("\0", "\ufffd")
        return self._secrets.scrubbed(text)
