"""The conventions and cutoffs that give a reported value: a result of ``reconcile``."""

from __future__ import annotations

from typing import ClassVar

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.result import Notice, Result


@dataclass(frozen=True)
class Fit:
    """One number with the conventions that give it.

    Attributes:
        metric: the metric with its cutoff.
        mean: the number.
        conventions: those under which it does.
    """

    metric: str
    mean: float
    conventions: tuple[str, ...]


@dataclass(frozen=True)
class Finding(Result):
    """Where a reported value comes from.

    Attributes:
        qrels: the name of the judgments.
        run: the name of the run.
        metric: the metric as it was written.
        reported: the value as it was written.
        value: the mean that was looked for; of a percentage the hundredth part.
        tolerance: half a unit of the last digit written.
        percent: whether the value was taken as a percentage.
        fits: what gives it, the metric as asked for first, then by cutoff.
        nearest: what comes closest, where nothing fits.
        tried: the metrics tried.
        conventions: how many conventions were tried.
        notices: what the reader should know of the judgments and the run.
    """

    kind: ClassVar[str] = "finding"
    document_from: ClassVar[str] = (
        "rankgate.measurement.explanation.documents.reconciliation:finding_document"
    )
    order: ClassVar[int] = 61

    qrels: str
    run: str
    metric: str
    reported: str
    value: float
    tolerance: float
    percent: bool
    fits: tuple[Fit, ...]
    nearest: tuple[Fit, ...]
    tried: tuple[str, ...]
    conventions: int
    notices: tuple[Notice, ...] = ()

    @property
    def heading(self) -> str:
        """The value that was looked for."""
        return f"What gives {self.metric} = {self.reported} for {self.run}"

    def _table(self) -> pl.DataFrame:
        rows = [(fit.metric, fit.mean, list(fit.conventions)) for fit in self.fits or self.nearest]
        return pl.DataFrame(rows, ["metric", "mean", "conventions"], orient="row")
