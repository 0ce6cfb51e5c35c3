"""Off-policy estimate: the result of ``ope``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.result import Notice, Result

ESTIMATES = {
    "estimator": pl.String,
    "value": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "error": pl.Float64,
    "delta": pl.Float64,
    "delta_low": pl.Float64,
    "delta_high": pl.Float64,
    "assumption": pl.String,
    "p_assumption": pl.Float64,
    "holds": pl.Boolean,
}
CHECKS = {
    "check": pl.String,
    "value": pl.Float64,
    "limit": pl.Float64,
    "outcome": pl.String,
    "words": pl.String,
}


@dataclass(frozen=True)
class OffPolicyEstimate(Result):
    """What another policy would have earned.

    Attributes:
        target: the policy.
        units: decisions, or slates, of the log.
        depth: slots of a slate; 1 without slates.
        logged: the mean reward of a decision or slate in the log, with ``logged_low`` and
            ``logged_high``.
        estimator: whose estimate is reported: the smallest error among those that suppose nothing,
            or what a call named; None where the log cannot answer, or contradicts what it supposes.
        estimates: ``estimator``, ``value``, ``low``, ``high``, standard ``error``; ``delta`` to
            the logged reward with ``delta_low``, ``delta_high``; its ``assumption``,
            ``p_assumption`` of the test against an estimator that supposes less, and whether it
            ``holds``, as far as the test shows. Values are null where the log cannot answer; ends
            of ``dm`` also where its model is too much the mean of all actions.
        checks: ``check``, ``value``, ``limit``, ``outcome`` (ok, warns, blocks), ``words``.
        ess: the effective number of decisions.
        mean_weight: of P(target) / P(logged).
        max_weight: the largest.
        unsupported: the share of the target's probability on actions that the log never shows.
        clipped: decisions whose weight is above ``clip``.
        clip: the largest weight of the clipped estimator.
        level: of the intervals.
    """

    kind: ClassVar[str] = "off_policy_estimate"
    label: ClassVar[str] = "Off-policy estimate"
    document_from: ClassVar[str] = "rankgate.online.off_policy.document:document"
    charts: ClassVar[Mapping[str, str]] = {
        "off-policy": "rankgate.online.off_policy.charts:estimates",
    }
    order: ClassVar[int] = 67
    SCHEMAS: ClassVar[Mapping[str, Mapping[str, Any]]] = {
        "estimates": ESTIMATES,
        "checks": CHECKS,
    }

    target: str
    units: int
    depth: int
    logged: float
    logged_low: float | None
    logged_high: float | None
    estimator: str | None
    estimates: pl.DataFrame
    checks: pl.DataFrame
    ess: float
    mean_weight: float
    max_weight: float
    unsupported: float
    clipped: int
    clip: float
    level: float

    @property
    def verdict(self) -> str:
        """``inconclusive`` where the log cannot answer; else empty."""
        return "" if self.estimator else "inconclusive"

    @property
    def refused(self) -> bool:
        """True if a check blocks, so that nothing is estimated."""
        return bool((self.checks["outcome"] == "blocks").any())

    @property
    def status(self) -> int:
        """The exit code: 3 where the log cannot answer, else 0."""
        return 3 if self.verdict else 0

    @property
    def estimate(self) -> Mapping[str, Any] | None:
        """The row of the reported estimate; None where the log cannot answer."""
        if self.estimator is None:
            return None
        return self.estimates.row(by_predicate=pl.col("estimator") == self.estimator, named=True)

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Checks that spoil the estimate, and assumptions that are rejected."""
        notices = [
            Notice(
                row["check"],
                f"{'refused' if row['outcome'] == 'blocks' else 'warning'}: {row['words']}",
                self.target,
            )
            for row in self.checks.filter(pl.col("outcome") != "ok").iter_rows(named=True)
        ]
        unknown = self.estimates.filter(pl.col("value").is_not_null() & pl.col("low").is_null())
        notices += [
            Notice(
                "no-interval",
                f"{name} has no interval: its model has too few decisions of "
                "actions that the target takes, and its error there is not known",
                name,
            )
            for name in unknown["estimator"]
        ]
        for row in self.estimates.filter(~pl.col("holds")).iter_rows(named=True):
            text = (
                f"{row['estimator']} supposes that {row['assumption']}, which the log contradicts "
                f"(p = {row['p_assumption']:.2g})"
            )
            notices.append(Notice("assumption-rejected", text, row["estimator"]))
        return tuple(notices)

    def _table(self) -> pl.DataFrame:
        return self.estimates
