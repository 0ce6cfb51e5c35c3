"""One metric on one run under all conventions: a result of ``reconcile``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.result import Notice, Result
from rankgate.measurement.explanation.convention_path import Step  # noqa: TC001 - read by its type


@dataclass(frozen=True)
class Group:
    """Conventions that give one number.

    Attributes:
        value: the mean; None if undefined.
        conventions: their names.
        queries: how many queries the mean is over, by convention.
        nearest: the convention of the first group that differs from one here in least; with
            ``member``, that one, it tells the two between which the steps go.
        member: the convention of this group that the steps arrive at.
        steps: what changes the number on the way from ``nearest`` to ``member``.
    """

    value: float | None
    conventions: tuple[str, ...]
    queries: tuple[int, ...]
    nearest: str | None = None
    member: str | None = None
    steps: tuple[Step, ...] = ()


@dataclass(frozen=True)
class Refusal:
    """A convention that cannot take the data, or does not define the metric there."""

    convention: str
    reason: str


@dataclass(frozen=True)
class Reconciliation(Result):
    """One metric on one run under all conventions.

    Attributes:
        qrels: the name of the judgments.
        run: the name of the run.
        metric: the metric as it was written.
        groups: conventions by the number they give, the largest group first.
        refusals: conventions that give none, and why.
        notices: what the reader should know of the judgments and the run.
    """

    kind: ClassVar[str] = "reconciliation"
    document_from: ClassVar[str] = (
        "rankgate.measurement.explanation.documents.reconciliation:document"
    )
    order: ClassVar[int] = 61
    charts: ClassVar[Mapping[str, str]] = {
        "reconcile": "rankgate.measurement.explanation.charts.reconciled:draw"
    }

    qrels: str
    run: str
    metric: str
    groups: tuple[Group, ...]
    refusals: tuple[Refusal, ...]
    notices: tuple[Notice, ...] = ()

    @property
    def heading(self) -> str:
        """Metric and run."""
        return f"{self.metric} of {self.run} under all conventions"

    def _table(self) -> pl.DataFrame:
        rows = [(name, group.value) for group in self.groups for name in group.conventions]
        return pl.DataFrame(rows, {"convention": pl.String, "value": pl.Float64}, orient="row")
