"""The result of ``record``: the recorded evaluations."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.result import Notice, Result

RECORDS_SCHEMA = {
    "record": pl.String,
    "new": pl.Boolean,
    "evaluated_at": pl.String,
    "kind": pl.String,
    "system": pl.String,
    "revision": pl.String,
    "branch": pl.String,
    "verdict": pl.String,
    "figures": pl.Int64,
    "queries": pl.Int64,
}


@dataclass(frozen=True)
class Recorded(Result):
    """Evaluations that were recorded.

    Attributes:
        place: where.
        records: ``record`` (what it is called there), ``new`` (false if its content was there
            before), ``evaluated_at``, ``kind``, ``system``, ``revision``, ``branch``, ``verdict``,
            ``figures`` and ``queries`` (how many).
        warnings: what later readers will not see.
    """

    kind: ClassVar[str] = "recorded"
    label: ClassVar[str] = "Recorded evaluations"
    document_from: ClassVar[str] = "rankgate.workspace.records.documents.recorded:recorded_document"
    SCHEMAS: ClassVar[Mapping[str, Mapping[str, Any]]] = {"records": RECORDS_SCHEMA}

    place: str
    records: pl.DataFrame
    warnings: tuple[str, ...] = ()

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Warnings about what later readers will not see."""
        return tuple(Notice("record", text) for text in self.warnings)

    def _table(self) -> pl.DataFrame:
        return self.records
