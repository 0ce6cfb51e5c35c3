"""Arms compared on KPIs: the result of ``ab``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.result import Notice, Result
from rankgate.online.experiments.finding import ExperimentFinding

VARIANTS = {
    "variant": pl.String,
    "planned": pl.Float64,
    "observed": pl.Float64,
    "units": pl.Int64,
}
METRICS = {
    "metric": pl.String,
    "kind": pl.String,
    "role": pl.String,
    "better": pl.String,
    "variant": pl.String,
    "n_control": pl.Int64,
    "n": pl.Int64,
    "control": pl.Float64,
    "treatment": pl.Float64,
    "delta": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "relative": pl.Float64,
    "relative_low": pl.Float64,
    "relative_high": pl.Float64,
    "level": pl.Float64,
    "method": pl.String,
    "p_raw": pl.Float64,
    "p_value": pl.Float64,
    "correction": pl.String,
    "mde": pl.Float64,
    "explained": pl.Float64,
    "chance_better": pl.Float64,
    "expected_loss": pl.Float64,
    "margin": pl.Float64,
    "status": pl.String,
    "why": pl.String,
}
DAILY = {
    "metric": pl.String,
    "variant": pl.String,
    "day": pl.String,
    "n": pl.Int64,
    "delta": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
}
SEGMENTS = {
    "metric": pl.String,
    "variant": pl.String,
    "segment": pl.String,
    "value": pl.String,
    "n": pl.Int64,
    "delta": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "p_raw": pl.Float64,
    "p_value": pl.Float64,
    "p_differ": pl.Float64,
}
AGAINST_ITSELF = {
    "metric": pl.String,
    "splits": pl.Int64,
    "rejected": pl.Int64,
    "share": pl.Float64,
}


@dataclass(frozen=True)
class Experiment(Result):
    """Arms of an experiment, compared.

    Attributes:
        unit: what was assigned: user, session, query, a column, or row.
        control: the arm that the others are compared with.
        variants: ``variant``, ``planned`` and ``observed`` share, ``units``.
        period: the first and the last day; empty without times.
        srm: ``statistic``, ``p_value`` and ``method`` of the test of units per arm.
        findings: faults; one that blocks leaves `metrics` empty.
        metrics: one row for each metric and arm; ``why`` says what is wrong where figures are null.
        daily: ``delta`` with always-valid ``low`` and ``high`` at the end of each day.
        segments: the same within segments; ``p_differ`` tests whether segments differ.
        against_itself: how often random halves of the control differ significantly.
        settings: level, correction and all else that figures depend on.
    """

    kind: ClassVar[str] = "experiment"
    label: ClassVar[str] = "Experiment"
    document_from: ClassVar[str] = "rankgate.online.experiments.document:document"
    charts: ClassVar[Mapping[str, str]] = {
        "experiment": "rankgate.online.experiments.charts:intervals",
        "experiment-days": "rankgate.online.experiments.charts:days",
    }
    order: ClassVar[int] = 64
    SCHEMAS: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "variants": VARIANTS,
        "metrics": METRICS,
        "daily": DAILY,
        "segments": SEGMENTS,
        "against_itself": AGAINST_ITSELF,
    }

    unit: str
    control: str
    variants: pl.DataFrame
    period: tuple[str, str]
    srm: Mapping[str, Any]
    findings: tuple[ExperimentFinding, ...]
    metrics: pl.DataFrame
    daily: pl.DataFrame
    segments: pl.DataFrame
    against_itself: pl.DataFrame
    settings: Mapping[str, Any]

    @property
    def blocking(self) -> tuple[ExperimentFinding, ...]:
        """The faults that forbid all figures."""
        return tuple(finding for finding in self.findings if finding.severity == "block")

    @property
    def status(self) -> int:
        """The exit code: 3 where a fault blocks or a metric has no figure, else 0."""
        return 3 if self.blocking or self.metrics["delta"].null_count() else 0

    @property
    def notices(self) -> tuple[Notice, ...]:
        """The faults, those that block first."""
        return tuple(
            Notice(finding.code, finding.text, finding.subject) for finding in self.findings
        )

    def _table(self) -> pl.DataFrame:
        return self.metrics
