"""Ask a server for JSON and read the documents out of its answer."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlencode

from rankgate.core.frozen import dataclass
from rankgate.engines.engine import Answer
from rankgate.engines.failure import Failure
from rankgate.engines.hits import Row, answer
from rankgate.engines.paths import MISSING, Path, at
from rankgate.engines.requests.transport import Response, Transport

_PARTIAL = 206
_NO_ERROR: tuple[Any, ...] = (MISSING, None, "", [], {}, False)


@dataclass(frozen=True)
class Shape:
    """Where things are in an answer.

    Attributes:
        hits: the list of documents.
        doc_id, score: within a document; a score of None is none.
        fields: within a document, by name.
        total: how many documents match; None where nobody says.
        error: a message that says that the answer is not whole; None where there is none.
        index: within a document, where it comes from; None where nobody says.
    """

    hits: Path
    doc_id: Path
    score: Path | None
    fields: Mapping[str, Path]
    total: Path | None = None
    error: Path | None = None
    index: Path | None = None

    def read(self, value: Any, depth: int | None) -> Answer | Failure:
        """The documents of an answer."""
        rows = self.rows(value)
        return rows if isinstance(rows, Failure) else answer(rows, self.total_in(value), depth)

    def rows(self, value: Any) -> list[Row] | Failure:
        """The documents of an answer, as they are."""
        listed = at(value, self.hits)
        if self.error is not None and (message := at(value, self.error)) not in _NO_ERROR:
            return Failure("again", f"the answer has an error: {message}")
        if listed is MISSING and self.total_in(value) == 0:
            return []  # some products leave the list out where nothing matches
        if not isinstance(listed, list):
            place = ".".join(self.hits)
            return Failure("refused", f"the answer has no list of documents at {place}")
        return list(self._rows(listed))

    def total_in(self, value: Any) -> Any:
        """How many documents match, as an answer says."""
        return MISSING if self.total is None else at(value, self.total)

    def _rows(self, listed: list[Any]) -> Iterator[Row]:
        for each in listed:
            shown = {name: at(each, path) for name, path in self.fields.items()}
            kept = {name: value for name, value in shown.items() if value is not MISSING}
            score = MISSING if self.score is None else at(each, self.score)
            origin = "" if self.index is None else str(at(each, self.index))
            yield Row(at(each, self.doc_id), score, kept, origin)


def with_partial(reply: Answer | Failure, partial: Sequence[str]) -> Answer | Failure:
    """An answer with why it may lack documents."""
    return replace(reply, partial=partial[0]) if partial and isinstance(reply, Answer) else reply


def sent(
    transport: Transport,
    method: str,
    path: str,
    params: Mapping[str, Any],
    body: Any = None,
    partial: list[str] | None = None,
) -> Any | Failure:
    """The JSON that a server answers; a failure where it does not.

    Args:
        transport: to the server.
        method: GET or POST.
        path: what follows the URL.
        params: of the URL.
        body: what is sent as JSON.
        partial: takes why the answer may not be whole.
    """
    words = f"?{urlencode(_flat(params))}" if params else ""
    data = None if body is None else json.dumps(body, ensure_ascii=False).encode()
    reply = transport.send(method, path + words, data)
    if not isinstance(reply, Response):
        return reply
    if partial is not None and reply.status == _PARTIAL:
        partial.append(f"HTTP {_PARTIAL}, partial content")
    try:
        return json.loads(reply.data)
    except (ValueError, RecursionError):
        begins = reply.data[:9].lstrip().lower()
        what = "HTML" if begins.startswith((b"<!doctype", b"<html")) else "no JSON"
        return Failure("again", f"the answer is {what}")


def _flat(params: Mapping[str, Any]) -> list[tuple[str, str]]:
    """Parameters of a URL; a list is one parameter several times."""
    return [
        (name, _word(each))
        for name, value in params.items()
        for each in (value if isinstance(value, list) else [value])
    ]


def _word(value: Any) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
