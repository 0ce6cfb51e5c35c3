"""Results of other programs and later versions: their JSON as tables."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Self

from rankgate.present.document import Document, Section
from rankgate.present.result import Result
from rankgate.reports.documents.result_parts import tables

if TYPE_CHECKING:
    from collections.abc import Mapping


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

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """From any values."""
        return cls(values)


def document(result: PlainResult) -> Document:
    """Every table and every figure of it."""
    kind, name = (str(result.values.get(key, "")) for key in ("kind", "name"))
    title = " ".join([kind.replace("_", " ").capitalize() or "Result", name]).strip()
    return Document(title, sections=(Section("result", title, tables(result.values)),))
