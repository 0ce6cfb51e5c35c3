"""The result of ``convert``: rows written, losses and notes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.result import Notice, Result
from rankgate.data.notes import Loss, Note

_LOSSES: dict[str, Any] = {
    "kind": pl.String,
    "count": pl.Int64,
    "what": pl.String,
    "examples": pl.List(pl.String),
}


@dataclass(frozen=True)
class Conversion(Result):
    """What was read, what was written, what could not be carried.

    Attributes:
        source: the file read.
        target: the file written; ``-`` is standard output.
        from_format: the format it was read in.
        reason: why it was taken for that format.
        to_format: the format it was written in.
        rows: by part the rows that were written.
        notes: what the reader did or saw.
        losses: what the new file does not hold.
    """

    kind: ClassVar[str] = "conversion"
    document_from: ClassVar[str] = "rankgate.data.files.documents.conversion:document"

    source: str
    target: str
    from_format: str
    reason: str
    to_format: str
    rows: Mapping[str, int]
    notes: tuple[Note, ...]
    losses: tuple[Loss, ...]

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Notes of the reader, then losses."""
        return tuple(
            Notice(code, f"{note.count:,} {note.what}")
            for code, notes in (("seen", self.notes), ("lost", self.losses))
            for note in notes
        )

    def _table(self) -> pl.DataFrame:
        """Notes and losses: ``kind``, ``count``, ``what``, ``examples``."""
        rows = [
            (kind, note.count, note.what, list(note.examples))
            for kind, notes in (("seen", self.notes), ("lost", self.losses))
            for note in notes
        ]
        return pl.DataFrame(rows, _LOSSES, orient="row")
