"""Documents of an answer, checked: ids that are ids, scores that are numbers."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from decimal import Decimal
from numbers import Integral, Real
from types import MappingProxyType
from typing import Any, NamedTuple
from uuid import UUID

from rankgate.engines.engine import Answer
from rankgate.engines.failure import Failure
from rankgate.engines.paths import MISSING

_CONTROL = re.compile(r"[\x00-\x08\n-\x1f\x7f]")  # a tab can be held, in quotes


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


def answer(rows: Iterable[Row], total: Any = MISSING, depth: int | None = None) -> Answer | Failure:
    """The answer that rows are, best first; a failure where a score cannot be read.

    Whole numbers become ids as text. A document that comes again counts at its first place only,
    and one whose id no format can hold not at all.
    """
    ids: dict[str, str] = {}
    scores: list[float] = []
    fields: list[Mapping[str, Any]] = []
    unusable: list[str] = []
    shared = Counter[str]()
    repeated = 0
    for place, (doc_id, score, shown, origin) in enumerate(rows, 1):
        if depth is not None and len(ids) == depth:
            break
        name = _id(doc_id)
        if name is None:
            unusable.append(_shown(doc_id))
            continue
        if name in ids:
            repeated += 1
            if ids[name] != origin:
                shared[" and ".join(sorted((ids[name], origin)))] += 1
            continue
        number = _number(score)
        if number is None and score is not MISSING and score is not None:
            return Failure("refused", f"the score of document {place} is no number: {score!r}")
        ids[name] = origin
        if number is not None:
            scores.append(number)
        fields.append({key: _plain(each) for key, each in shown.items()})
    if scores and len(scores) < len(ids):
        return Failure("refused", f"only {len(scores)} of {len(ids)} documents have a score")
    return Answer(
        tuple(ids),
        tuple(scores) if scores else None,
        fields,
        _count(total),
        repeated,
        dict(shared),
        tuple(unusable),
    ).usable()


def _id(value: Any) -> str | None:
    """The id as text; None where no file can hold it."""
    if isinstance(value, bool) or not isinstance(value, str | Integral | UUID):
        return None
    name = str(value)
    try:
        name.encode()
    except UnicodeEncodeError:  # half of a pair, which JSON can write
        return None
    return None if not name or _CONTROL.search(name) else name


def _number(value: Any) -> float | None:
    if type(value) is float:  # most are
        return value if math.isfinite(value) else None
    if isinstance(value, bool) or not isinstance(value, str | Real | Decimal):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _plain(value: Any) -> Any:
    """A value as JSON holds it; dates, decimals and the like as text."""
    if value is None or isinstance(value, bool | int):
        return value
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(each) for each in value]
    if isinstance(value, bytes):
        return value.decode(errors="replace")
    return str(value).encode(errors="replace").decode()


def _count(value: Any) -> int | None:
    number = _number(value)
    return None if number is None or number < 0 else int(number)


def _shown(value: Any) -> str:
    return "nothing" if value is MISSING else repr(value)
