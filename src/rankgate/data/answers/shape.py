"""The paths of the documents in a JSON answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from rankgate.core.frozen import dataclass
from rankgate.data.answers.answer import Answer, Failure, Row, make_answer
from rankgate.data.answers.paths import MISSING, Path, value_at_path

_NO_ERROR: tuple[Any, ...] = (MISSING, None, "", [], {}, False)


@dataclass(frozen=True)
class Shape:
    """The paths of the parts of an answer.

    Attributes:
        hits: the list of documents.
        doc_id, score: within a document; a score of None means no scores.
        fields: within a document, by name.
        total: the number of matching documents; None if the product does not report it.
        error: a message that says that the answer is incomplete; None if the product has none.
        index: within a document, its index; None if the product does not report it.
        partial: values that say that documents may be missing, if true or not 0.
    """

    hits: Path
    doc_id: Path
    score: Path | None
    fields: Mapping[str, Path]
    total: Path | None = None
    error: Path | None = None
    index: Path | None = None
    partial: tuple[Path, ...] = ()

    def read(self, value: Any, depth: int | None) -> Answer | Failure:
        """The documents of an answer."""
        rows = self.rows(value)
        return rows if isinstance(rows, Failure) else make_answer(rows, self.total_in(value), depth)

    def rows(self, value: Any) -> list[Row] | Failure:
        """The documents of an answer, unchecked."""
        documents = value_at_path(value, self.hits)
        if (
            self.error is not None
            and (message := value_at_path(value, self.error)) not in _NO_ERROR
        ):
            return Failure("again", f"the answer has an error: {message}")
        for path in self.partial:
            if (flag := value_at_path(value, path)) not in _NO_ERROR and flag != 0:
                path_text = ".".join(path)
                return Failure("again", f"the answer is not whole: {path_text} is {flag}")
        if documents is MISSING and self.total_in(value) == 0:
            return []  # some products leave the list out where nothing matches
        if not isinstance(documents, list):
            path_text = ".".join(self.hits)
            return Failure("refused", f"the answer has no list of documents at {path_text}")
        return list(self._rows(documents))

    def total_in(self, value: Any) -> Any:
        """The number of matching documents that an answer reports."""
        return MISSING if self.total is None else value_at_path(value, self.total)

    def _rows(self, documents: list[Any]) -> Iterator[Row]:
        for document in documents:
            shown_fields = {
                name: value_at_path(document, path) for name, path in self.fields.items()
            }
            present_fields = {
                name: value for name, value in shown_fields.items() if value is not MISSING
            }
            score = MISSING if self.score is None else value_at_path(document, self.score)
            origin = "" if self.index is None else str(value_at_path(document, self.index))
            yield Row(value_at_path(document, self.doc_id), score, present_fields, origin)
