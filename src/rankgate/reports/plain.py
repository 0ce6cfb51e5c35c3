"""Results that are known by their JSON alone, as their kind has no class yet."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

from rankgate.present.document import Document
from rankgate.present.result import Result
from rankgate.reports.documents.result_parts import section

if TYPE_CHECKING:
    from collections.abc import Mapping

KINDS: Mapping[str, frozenset[str]] = {
    "holes": frozenset({"judge_next"}),
    "split": frozenset({"folds"}),
    "validation": frozenset({"problems", "valid"}),
    "description": frozenset({"files", "overlaps"}),
    "baseline": frozenset({"run", "noise", "queries"}),
}
"""Kinds of results by what only their JSON has."""


@dataclass(frozen=True)
class PlainResult(Result):
    """A result with its JSON values."""

    kind: ClassVar[str] = "plain"
    document_from: ClassVar[str] = "rankgate.reports.plain:document"

    values: Mapping[str, Any]

    @property
    def heading(self) -> str:
        """The title of its kind."""
        return self.document().title

    def to_dict(self) -> dict[str, Any]:
        """The values as they are."""
        return dict(self.values)


def document(result: PlainResult) -> Document:
    """Every table and every figure of it."""
    found = next((kind for kind, keys in KINDS.items() if keys <= result.values.keys()), "")
    part = section(found, found, result.values, found or "result")
    return Document(part.title, sections=(part,))
