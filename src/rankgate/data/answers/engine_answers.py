"""The answer of an engine, with its ids and scores checked, or the reason for a failure."""

from __future__ import annotations

import math
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from decimal import Decimal
from enum import Enum
from numbers import Integral, Real
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, Final, Literal, NamedTuple
from uuid import UUID

import numpy as np

from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.core.arrays import Floats
    from rankgate.core.value_types import Json, JsonObject


Path = tuple[str, ...]


class Missing(Enum):
    """The type of `MISSING`."""

    MISSING = "missing"


MISSING: Final = Missing.MISSING
"""The value of a missing path; JSON's null is a value."""

NO_USABLE_ID = "no document has a usable id"
"""The beginning of the failure of an answer without any usable id."""


def parse_path(path: str | list[str | int]) -> Path:
    r"""The steps of a path; write the path as a list if a key contains a dot.

    >>> parse_path("hits.hits"), parse_path("1.0.2:"), parse_path(["a.b", 0])
    (('hits', 'hits'), ('1', '0', '2:'), ('a.b', '0'))
    """
    return tuple(map(str, path)) if isinstance(path, list) else tuple(filter(None, path.split(".")))


def value_at_path(value: Json, path: Path) -> Json | Missing:
    """The value at a path, or `MISSING`.

    A step is the key of an object, the position in a list (below 0 from its end), a slice of a
    list, as in ``2:``, or ``*``, the only value of an object.

    >>> value_at_path({"rows": [["h"], ["a"], ["b"]]}, parse_path("rows.1:"))
    [['a'], ['b']]
    >>> value_at_path({"rows": []}, parse_path("rows.0")) is MISSING
    True
    """
    for step in path:
        inner_value = _take_step(value, step)
        if inner_value is MISSING:
            return MISSING
        value = inner_value
    return value


def _take_step(value: Json, step: str) -> Json | Missing:
    if isinstance(value, dict):
        members: dict[str, Json] = value
        if step == "*" and len(members) == 1:
            return next(iter(members.values()))
        return members.get(step, MISSING)
    if not isinstance(value, list):
        return MISSING
    elements: list[Json] = value
    start, colon, stop = step.partition(":")
    try:
        if colon:
            return elements[int(start) if start else None : int(stop) if stop else None]
        return elements[int(step)]
    except (ValueError, IndexError):
        return MISSING


_CONTROL = re.compile(r"[\x00-\x08\n-\x1f\x7f]")  # a quoted field can hold a tab


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
        unusable: the value that the engine sent instead of a valid id, for each document without
            one.
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
        return Failure("refused", f"{NO_USABLE_ID}; the first one has {self.unusable[0]}")


class Row(NamedTuple):
    """A document as an engine returns it.

    Attributes:
        doc_id: its id.
        score: its score; `MISSING` if the engine gives none.
        fields: the fields that are kept for display.
        origin: the index of the document, if the engine has several.
    """

    doc_id: object
    score: object = MISSING
    fields: Mapping[str, object] = MappingProxyType({})
    origin: str = ""


def make_answer(rows: Iterable[Row], total: object = MISSING, depth: int | None = None) -> Answer | Failure:
    """The answer from rows, best first; a failure if a score cannot be read.

    Whole numbers become ids as text. A repeated document counts at its first position only, and
    a document with an id that no format can hold is left out.
    """
    ids: dict[str, str] = {}
    scores: list[float] = []
    fields: list[JsonObject] = []
    unusable: list[str] = []
    shared = Counter[str]()
    repeated = 0
    for rank, (doc_id, score, raw_fields, origin) in enumerate(rows, 1):
        if depth is not None and len(ids) == depth:
            break
        id_text = _parse_id(doc_id)
        if id_text is None:
            unusable.append("nothing" if doc_id is MISSING else repr(doc_id))
            continue
        if id_text in ids:
            repeated += 1
            if ids[id_text] != origin:
                shared[" and ".join(sorted((ids[id_text], origin)))] += 1
            continue
        number = _parse_number(score)
        if number is None and score is not MISSING and score is not None:
            return Failure("refused", f"the score of document {rank} is not a number: {score!r}")
        ids[id_text] = origin
        if number is not None:
            scores.append(number)
        fields.append({key: _json_value(field_value) for key, field_value in raw_fields.items()})
    if scores and len(scores) < len(ids):
        verb = "has" if len(scores) == 1 else "have"
        return Failure("refused", f"only {len(scores)} of {len(ids)} documents {verb} a score")
    return Answer(
        tuple(ids),
        tuple(scores) if scores else None,
        fields,
        _parse_count(total),
        repeated,
        dict(shared),
        tuple(unusable),
    ).usable()


def _parse_id(value: object) -> str | None:
    """The id as text; None if no file format can hold it."""
    if isinstance(value, bool) or not isinstance(value, str | Integral | UUID):
        return None
    id_text = str(value)
    try:
        id_text.encode()
    except UnicodeEncodeError:  # half of a surrogate pair, which JSON can contain
        return None
    return None if not id_text or _CONTROL.search(id_text) else id_text


def _parse_number(value: object) -> float | None:
    if type(value) is float:  # most values are floats
        return value if math.isfinite(value) else None
    if isinstance(value, bool) or not isinstance(value, str | Real | Decimal):
        return None
    try:
        number = float(value)
    except (ValueError, OverflowError):
        return None
    return number if math.isfinite(number) else None


def _json_value(value: object) -> Json:
    """Convert a value for JSON; dates, decimals and similar values become text."""
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


def _parse_count(value: object) -> int | None:
    number = _parse_number(value)
    return None if number is None or number < 0 else int(number)


_NO_ERROR: tuple[object, ...] = (MISSING, None, "", [], {}, False)


@dataclass(frozen=True)
class Shape:
    """The paths of the parts of an answer.

    Attributes:
        hits: the list of documents.
        doc_id, score: paths within a document; a score of None means that there are no scores.
        fields: paths within a document, by name.
        total: the number of matching documents; None if the product does not report it.
        error: a message that the answer is incomplete; None if the product gives no such message.
        index: the path of its index within a document; None if the product does not report it.
        partial: the paths of values that mean missing documents if they are true or not 0.
    """

    hits: Path
    doc_id: Path
    score: Path | None
    fields: Mapping[str, Path]
    total: Path | None = None
    error: Path | None = None
    index: Path | None = None
    partial: tuple[Path, ...] = ()

    def read(self, value: Json, depth: int | None) -> Answer | Failure:
        """The documents of an answer."""
        rows = self.rows(value)
        return rows if isinstance(rows, Failure) else make_answer(rows, self.total_in(value), depth)

    def rows(self, value: Json) -> list[Row] | Failure:
        """The documents of an answer, without checks."""
        documents = value_at_path(value, self.hits)
        if self.error is not None and (message := value_at_path(value, self.error)) not in _NO_ERROR:
            return Failure("again", f"the answer has an error: {message}")
        for path in self.partial:
            if (flag := value_at_path(value, path)) not in _NO_ERROR and flag != 0:
                path_text = ".".join(path)
                return Failure("again", f"the answer is incomplete: {path_text} is {flag}")
        if documents is MISSING and self.total_in(value) == 0:
            return []  # some products omit the list if nothing matches
        if not isinstance(documents, list):
            path_text = ".".join(self.hits)
            return Failure("refused", f"the answer has no list of documents at {path_text}")
        return list(self._rows(documents))

    def total_in(self, value: Json) -> Json | Missing:
        """The number of matching documents that an answer reports."""
        return MISSING if self.total is None else value_at_path(value, self.total)

    def _rows(self, documents: list[Json]) -> Iterator[Row]:
        for document in documents:
            shown_fields = {name: value_at_path(document, path) for name, path in self.fields.items()}
            present_fields = {name: value for name, value in shown_fields.items() if value is not MISSING}
            score = MISSING if self.score is None else value_at_path(document, self.score)
            origin = "" if self.index is None else str(value_at_path(document, self.index))
            yield Row(value_at_path(document, self.doc_id), score, present_fields, origin)


def break_ties(scores: Floats) -> Floats:
    """Lower equal scores by the smallest steps, in the order in which they were served.

    Steps are those of 32-bit numbers, so that tools with 32-bit scores see no ties either. The
    order of different scores does not change. A score without an equal score changes only if a
    lowered score reaches it.

    Args:
        scores: (n,) the scores of a list, in the order in which it was served.

    >>> break_ties(np.array([2.0, 1.0, 1.0, 0.5])).round(7).tolist()
    [2.0, 1.0, 0.9999999, 0.5]
    """
    order = np.argsort(-scores, kind="stable")
    sorted_scores = scores[order]
    is_large = np.abs(sorted_scores).max(initial=0.0) >= np.finfo(np.float32).max
    steps = _to_steps(sorted_scores.astype(np.float64 if is_large else np.float32))
    ranks = np.arange(len(sorted_scores))
    lowered_steps = np.minimum.accumulate(steps + ranks) - ranks
    untied_scores = np.empty(len(scores))
    untied_scores[order] = np.where(
        lowered_steps == steps, sorted_scores, _from_steps(lowered_steps, large=is_large)
    )
    return untied_scores


def _to_steps(values: NDArray[np.floating]) -> NDArray[np.int64]:
    """Map numbers to integers in the same order; adjacent numbers map to adjacent integers."""
    bit_patterns = values.view(f"i{values.itemsize}").astype(np.int64)
    return np.where(bit_patterns < 0, np.iinfo(f"i{values.itemsize}").min - bit_patterns, bit_patterns)


def _from_steps(steps: NDArray[np.int64], *, large: bool) -> Floats:
    """Map the integers of `_to_steps` back to the numbers."""
    byte_count = 8 if large else 4
    bit_patterns = np.where(steps < 0, np.iinfo(f"i{byte_count}").min - steps, steps)
    return bit_patterns.astype(f"i{byte_count}").view(f"f{byte_count}").astype(np.float64)
