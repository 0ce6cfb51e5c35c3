"""The steps from one convention to another: a result of ``reconcile``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.result import Notice, Result
from rankgate.measurement.explanation.convention_path import Step


@dataclass(frozen=True)
class Bridge(Result):
    """The steps from one convention's number to another's.

    Attributes:
        qrels: the name of the judgments.
        run: the name of the run.
        metric: the metric as it was written.
        begin: name, hash and axes of the convention at the start.
        end: those of the convention at the end.
        before: the mean under ``begin``.
        after: the mean under ``end``.
        steps: one axis after the other; their effects add up to ``after`` less ``before``.
        notices: what the reader should know of the judgments and the run.
    """

    kind: ClassVar[str] = "bridge"
    document_from: ClassVar[str] = (
        "rankgate.measurement.explanation.documents.reconciliation:bridge_document"
    )
    order: ClassVar[int] = 61

    qrels: str
    run: str
    metric: str
    begin: Mapping[str, Any]
    end: Mapping[str, Any]
    before: float | None
    after: float | None
    steps: tuple[Step, ...]
    notices: tuple[Notice, ...] = ()

    @property
    def heading(self) -> str:
        """Metric, run and both conventions."""
        return f"{self.metric} of {self.run}: {self.begin['name']} to {self.end['name']}"

    def _table(self) -> pl.DataFrame:
        return pl.DataFrame([step.to_dict() for step in self.steps], infer_schema_length=None)
