"""Agreement of offline metrics and online KPIs: the result of ``agreement``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.result import Notice, Result

PAIRS = {
    "metric": pl.String,
    "kpi": pl.String,
    "n": pl.Int64,
    "same_sign": pl.Float64,
    "same_sign_low": pl.Float64,
    "same_sign_high": pl.Float64,
    "spearman": pl.Float64,
    "spearman_low": pl.Float64,
    "spearman_high": pl.Float64,
    "spearman_least": pl.Float64,
    "spearman_most": pl.Float64,
    "pearson": pl.Float64,
    "pearson_low": pl.Float64,
    "pearson_high": pl.Float64,
    "reliability": pl.Float64,
    "corrected": pl.Float64,
    "corrected_low": pl.Float64,
    "corrected_high": pl.Float64,
    "slope": pl.Float64,
    "skill": pl.Float64,
    "right_signs": pl.Float64,
    "threshold": pl.Float64,
    "threshold_low": pl.Float64,
    "threshold_high": pl.Float64,
    "tried": pl.Boolean,
}
BEST = {"kpi": pl.String, "metric": pl.String, "skill": pl.Float64, "honest_skill": pl.Float64}
UNITS = {
    "metric": pl.String,
    "kpi": pl.String,
    "unit": pl.String,
    "offline": pl.Float64,
    "online": pl.Float64,
    "error": pl.Float64,
    "predicted": pl.Float64,
}

FEW = 10
"""Units below which correlations say little."""


@dataclass(frozen=True)
class OnlineAgreement(Result):
    """Whether offline metrics predict online KPIs.

    Attributes:
        unit: experiment, or query of a log.
        pairs: for each ``metric`` and ``kpi``: ``n`` units that have both; ``same_sign``: the share
            of equal signs with ``same_sign_low``, ``same_sign_high`` (Wilson), null of queries;
            ``spearman`` and ``pearson`` with ``_low`` and ``_high`` (bootstrap over units);
            ``spearman_least`` and ``_most`` with one unit left out; ``corrected``: pearson without
            errors of measurement, with an interval of drawn covariances, null where the values
            allow every correlation; ``reliability`` of the KPI: the share of its spread that is no
            error of measurement; ``slope``; ``skill``: how much better than their mean the others
            predict a unit (1 - ratio of squared errors), and ``right_signs`` so predicted;
            ``threshold``: the offline difference from which the KPI truly rises with ``chance``,
            its interval, and whether differences as large were ``tried``.
        best: for each ``kpi`` the ``metric`` with the most ``skill``, and ``honest_skill``: that of
            choosing the best metric anew without each unit.
        units: what the pairs are made of, with the value that the others ``predicted``.
        chance: of the threshold.
        level: of the intervals.
        resamples: of the bootstrap.
        seed: of the bootstrap.
    """

    kind: ClassVar[str] = "online_agreement"
    label: ClassVar[str] = "Does offline predict online?"
    document_from: ClassVar[str] = "rankgate.online.offline_online.document:document"
    charts: ClassVar[Mapping[str, str]] = {
        "offline-online": "rankgate.online.offline_online.charts:scatter",
    }
    order: ClassVar[int] = 68
    SCHEMAS: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "pairs": PAIRS,
        "best": BEST,
        "units": UNITS,
    }

    unit: str
    pairs: pl.DataFrame
    best: pl.DataFrame
    units: pl.DataFrame
    chance: float
    level: float
    resamples: int
    seed: int

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Warnings about few units, noisy KPIs and KPIs that no metric predicts."""
        notices = []
        min_units = int(self.pairs["n"].min() or 0)  # type: ignore[arg-type]
        if min_units < FEW:
            text = f"a metric and a KPI have only {min_units} units in common: intervals are wide"
            notices.append(Notice("few-units", text))
        noisy = self.pairs.filter(pl.col("reliability") < 0.5)["kpi"].unique(maintain_order=True)
        notices += [
            Notice(
                "noisy-kpi",
                f"most of the spread of {kpi} is error of measurement: its "
                "correlations are too low, and corrected ones uncertain",
                kpi,
            )
            for kpi in noisy
        ]
        useless = self.best.filter(pl.col("honest_skill") <= 0)["kpi"]
        notices += [
            Notice(
                "no-prediction",
                f"no metric predicts {kpi} of a left-out {self.unit} better "
                "than the mean of the others",
                kpi,
            )
            for kpi in useless
        ]
        return tuple(notices)

    def _table(self) -> pl.DataFrame:
        return self.pairs
