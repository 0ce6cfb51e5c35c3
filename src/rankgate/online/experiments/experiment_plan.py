"""Plan of an experiment: the result of ``plan``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, ClassVar

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.result import Notice, Result
from rankgate.online.experiments.finding import ExperimentFinding

KPIS = {
    "kpi": pl.String,
    "value": pl.Float64,
    "deviation": pl.Float64,
    "units": pl.Int64,
    "explained": pl.Float64,
    "why": pl.String,
}
NEEDED = {
    "kpi": pl.String,
    "share": pl.Float64,
    "effect": pl.Float64,
    "days": pl.Int64,
    "days_cuped": pl.Int64,
    "days_sequential": pl.Int64,
    "units": pl.Int64,
}
DETECTABLE = {
    "kpi": pl.String,
    "share": pl.Float64,
    "day": pl.Int64,
    "units": pl.Int64,
    "relative": pl.Float64,
    "relative_cuped": pl.Float64,
}
INTERLEAVING = {
    "test": pl.String,
    "design": pl.String,
    "searches": pl.Int64,
    "units": pl.Int64,
    "days": pl.Int64,
    "times_fewer": pl.Float64,
}


@dataclass(frozen=True)
class ExperimentPlan(Result):
    """What experiments of some days and shares of traffic would show.

    Attributes:
        unit: what is assigned: user, session or query.
        first: the first day of the log.
        last: the last day of the log.
        kpis: ``value`` in the log, ``deviation`` (of one unit's contribution, relative to the
            value), ``units`` with a value, ``explained`` (the share of the variance that the
            unit's own earlier value explains), ``why`` where a KPI cannot be planned for.
        needed: ``days`` until a relative ``effect`` shows with a treatment of a ``share``; with
            CUPED, and with always-valid intervals; null beyond `horizon`. The KPI that moves first
            comes first.
        detectable: the relative difference that shows after so many days.
        horizon: days that are looked ahead.
        settings: level, power, effect.
        findings: what makes the plan doubtful.
        interleaving: for two systems the ``searches``, ``units`` and ``days`` with all traffic that
            each interleaving method and each A/B test (``design``) needs to tell them from each
            other, and how many ``times_fewer`` searches than the best A/B test; by simulation.
    """

    kind: ClassVar[str] = "experiment_plan"
    label: ClassVar[str] = "Plan of an experiment"
    document_from: ClassVar[str] = "rankgate.online.experiments.plan_document:document"
    charts: ClassVar[Mapping[str, str]] = {
        "experiment-plan": "rankgate.online.experiments.charts:plan"
    }
    order: ClassVar[int] = 63
    SCHEMAS: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "kpis": KPIS,
        "needed": NEEDED,
        "detectable": DETECTABLE,
        "interleaving": INTERLEAVING,
    }

    unit: str
    first: str
    last: str
    kpis: pl.DataFrame
    needed: pl.DataFrame
    detectable: pl.DataFrame
    horizon: int
    settings: Mapping[str, Any]
    findings: tuple[ExperimentFinding, ...] = ()
    interleaving: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=INTERLEAVING))

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Warnings about the plan."""
        return tuple(
            Notice(finding.code, finding.text, finding.subject) for finding in self.findings
        )

    def _table(self) -> pl.DataFrame:
        return self.needed
