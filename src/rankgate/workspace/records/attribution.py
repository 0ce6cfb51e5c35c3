"""The result of ``attribute``: the causes of a changed value."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.result import Notice, Result

PARTS_SCHEMA = {
    "cause": pl.String,
    "changed": pl.String,
    "part": pl.Float64,
    "evidence": pl.String,
}


@dataclass(frozen=True)
class Attribution(Result):
    """The parts of a difference between two recorded evaluations.

    Attributes:
        metric: which.
        system: of which system.
        old, new: the hashes of the two records.
        before, after: their values.
        parts: ``cause`` (system, ids, corpus, judge, judgments, queries, convention), ``changed``
            (yes, no, unknown), ``part`` (null where it is not known), ``evidence`` in words. Known
            parts add up to the difference less what is not known.
        warnings: what is not known, and why.
    """

    kind: ClassVar[str] = "attribution"
    label: ClassVar[str] = "What a difference came from"
    document_from: ClassVar[str] = (
        "rankgate.workspace.records.documents.attribution:attribution_document"
    )
    SCHEMAS: ClassVar[Mapping[str, Mapping[str, Any]]] = {"parts": PARTS_SCHEMA}

    metric: str
    system: str
    old: str
    new: str
    before: float
    after: float
    parts: pl.DataFrame
    warnings: tuple[str, ...] = ()

    @property
    def delta(self) -> float:
        """After − before."""
        return self.after - self.before

    @property
    def answer(self) -> str:
        """The cause of more than half of what moved; several, none, or unknown."""
        effects = {
            row["cause"]: abs(row["part"] or 0.0) for row in self.parts.iter_rows(named=True)
        }
        if "unknown" in self.parts["changed"].to_list():
            return "unknown"
        total = sum(effects.values())
        if not total:
            return "none"
        cause = max(effects, key=lambda name: effects[name])
        return cause if effects[cause] > total / 2 else "several"

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Warnings about what is not known."""
        return tuple(Notice("attribution", text) for text in self.warnings)

    def _table(self) -> pl.DataFrame:
        return self.parts
