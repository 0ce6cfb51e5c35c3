"""Documents of an answer, checked: ids that are ids, scores that are numbers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from decimal import Decimal
from numbers import Integral, Real
from typing import Any
from uuid import UUID

from rankgate.engines.engine import Answer
from rankgate.engines.failure import Failure
from rankgate.engines.paths import MISSING

Row = tuple[Any, Any, Mapping[str, Any]]
"""The id, the score (`MISSING` without one) and the fields of a document."""


def answer(rows: Iterable[Row], total: Any = MISSING, depth: int | None = None) -> Answer | Failure:
    """The answer that rows are, best first; a failure where one cannot be read.

    Numbers become ids as text. A document that comes again counts at its first place only.
    """
    ids: dict[str, int] = {}
    scores: list[float] = []
    fields: list[Mapping[str, Any]] = []
    repeated = 0
    for place, (doc_id, score, shown) in enumerate(rows, 1):
        if depth is not None and len(ids) == depth:
            break
        name = _id(doc_id)
        if name is None:
            return Failure("refused", f"document {place} has no good id, but {_short(doc_id)}")
        if name in ids:
            repeated += 1
            continue
        number = _number(score)
        if number is None and score is not MISSING and score is not None:
            return Failure(
                "refused", f"the score of document {place} is {_short(score)}, no number"
            )
        ids[name] = place
        if number is not None:
            scores.append(number)
        fields.append({key: _plain(each) for key, each in shown.items()})
    if scores and len(scores) < len(ids):
        return Failure("refused", f"only {len(scores)} of {len(ids)} documents have a score")
    return Answer(tuple(ids), tuple(scores) if scores else None, fields, _count(total), repeated)


def _id(value: Any) -> str | None:
    if type(value) is str:  # most are
        return value if value and value.isprintable() else None
    if isinstance(value, bool) or not isinstance(value, str | Integral | UUID):
        return None
    name = str(value)
    return name if name and name.isprintable() else None


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


def _short(value: Any) -> str:
    if value is MISSING:
        return "nothing"
    words = repr(value)
    return words if len(words) <= 40 else words[:40] + "…"
