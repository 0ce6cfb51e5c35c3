"""The answer of an engine, with its ids and scores checked, or the reason for a failure."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import field
from decimal import Decimal
from numbers import Integral, Real
from types import MappingProxyType
from typing import Any, Literal, NamedTuple
from uuid import UUID

from rankgate.core.frozen import dataclass
from rankgate.data.answers.paths import MISSING

_CONTROL = re.compile(r"[\x00-\x08\n-\x1f\x7f]")  # a tab can be held, in quotes


FailureKind = Literal["again", "refused", "fatal"]


@dataclass(frozen=True)
class Failure:
    """The reason why a query has no answer.

    Attributes:
        kind: ``again``: worth another try; ``refused``: this query will never be answered;
            ``fatal``: no query will be.
        problem: one line, without any secret.
        wait: the seconds that the engine asks to wait.
    """

    kind: FailureKind
    problem: str
    wait: float | None = None


@dataclass(frozen=True)
class Answer:
    """The documents that an engine returned for one query, best first.

    Attributes:
        doc_ids: their ids, each once.
        scores: the engine's scores; None if it gives none.
        fields: the fields shown of each document, in the same order; empty without fields.
        total: the number of matching documents that the engine reports.
        repeated: documents that it returned again; only their first position counts.
        shared: the same, by the names of the two indices where the first and the later one came
            from different ones.
        unusable: what the engine sent instead of a valid id, for each document without one.
        partial: the reason why the answer may lack documents; empty if none is stated.
    """

    doc_ids: Sequence[str]
    scores: Sequence[float] | None = None
    fields: Sequence[Mapping[str, Any]] = ()
    total: int | None = None
    repeated: int = 0
    shared: Mapping[str, int] = field(default_factory=dict)
    unusable: Sequence[str] = ()
    partial: str = ""

    def usable(self) -> Answer | Failure:
        """The answer; a failure if there are documents and none has an id."""
        if self.doc_ids or not self.unusable:
            return self
        return Failure("refused", f"no good id in any document, but {self.unusable[0]}")


class Row(NamedTuple):
    """A document as an engine returns it.

    Attributes:
        doc_id: its id.
        score: `MISSING` without one.
        fields: those that are kept for display.
        origin: the index it comes from, where the engine has several.
    """

    doc_id: Any
    score: Any = MISSING
    fields: Mapping[str, Any] = MappingProxyType({})
    origin: str = ""


def make_answer(
    rows: Iterable[Row], total: Any = MISSING, depth: int | None = None
) -> Answer | Failure:
    """The answer made of rows, best first; a failure if a score cannot be read.

    Whole numbers become ids as text. A repeated document counts at its first position only, and
    a document whose id no format can hold is left out.
    """
    ids: dict[str, str] = {}
    scores: list[float] = []
    fields: list[Mapping[str, Any]] = []
    unusable: list[str] = []
    shared = Counter[str]()
    repeated = 0
    for rank, (doc_id, score, raw_fields, origin) in enumerate(rows, 1):
        if depth is not None and len(ids) == depth:
            break
        id_text = _parse_id(doc_id)
        if id_text is None:
            unusable.append(_label_of(doc_id))
            continue
        if id_text in ids:
            repeated += 1
            if ids[id_text] != origin:
                shared[" and ".join(sorted((ids[id_text], origin)))] += 1
            continue
        number = _parse_number(score)
        if number is None and score is not MISSING and score is not None:
            return Failure("refused", f"the score of document {rank} is no number: {score!r}")
        ids[id_text] = origin
        if number is not None:
            scores.append(number)
        fields.append({key: _json_value(field_value) for key, field_value in raw_fields.items()})
    if scores and len(scores) < len(ids):
        return Failure("refused", f"only {len(scores)} of {len(ids)} documents have a score")
    return Answer(
        tuple(ids),
        tuple(scores) if scores else None,
        fields,
        _parse_count(total),
        repeated,
        dict(shared),
        tuple(unusable),
    ).usable()


def _parse_id(value: Any) -> str | None:
    """The id as text; None if no file can hold it."""
    if isinstance(value, bool) or not isinstance(value, str | Integral | UUID):
        return None
    id_text = str(value)
    try:
        id_text.encode()
    except UnicodeEncodeError:  # half of a pair, which JSON can write
        return None
    return None if not id_text or _CONTROL.search(id_text) else id_text


def _parse_number(value: Any) -> float | None:
    if type(value) is float:  # most are
        return value if math.isfinite(value) else None
    if isinstance(value, bool) or not isinstance(value, str | Real | Decimal):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _json_value(value: Any) -> Any:
    """A value as JSON holds it; dates, decimals and similar values become text."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _json_value(member_value) for key, member_value in value.items()}
    if isinstance(value, list | tuple):
        return [_json_value(element) for element in value]
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return str(value).encode(errors="replace").decode()


def _parse_count(value: Any) -> int | None:
    number = _parse_number(value)
    return None if number is None or number < 0 else int(number)


def _label_of(value: Any) -> str:
    return "nothing" if value is MISSING else repr(value)
