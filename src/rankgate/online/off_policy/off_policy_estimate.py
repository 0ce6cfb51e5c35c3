"""Off-policy estimate: checks of the log, the result of ``ope``, and its document."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import Notice, Result
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.document_model import Chart, Document, Grid, Table, Warnings, make_printable
from rankgate.core.present.document_model import make_document as made
from rankgate.online.off_policy.estimators import ESTIMATORS

if TYPE_CHECKING:
    from rankgate.core.value_types import Json, JsonObject

CHECKS = Columns(
    "One row per check of the log.",
    Column("check", pl.String, "the check"),
    Column("value", pl.Float64, "its value"),
    Column("limit", pl.Float64, "the value at which the check warns or blocks"),
    Column("outcome", pl.String, "ok, warns or blocks"),
    Column("words", pl.String, "the outcome in words"),
)


def check_row(check: str, value: float, limit: float, outcome: str, message: str) -> dict[str, Json]:
    """A row of `CHECKS`."""
    return {
        "check": check,
        "value": float(value),
        "limit": float(limit),
        "outcome": outcome,
        "words": message,
    }


def checks_grid(checks: pl.DataFrame) -> Grid:
    """Each check with its value, its limit and its outcome."""
    rows = tuple(
        (row["check"], f"{row['value']:,.4g}", f"{row['limit']:,.4g}", row["outcome"])
        for row in checks.iter_rows(named=True)
    )
    return Grid(("check", "value", "limit", "outcome"), rows, frozenset({0, 3}))


ESTIMATES = Columns(
    "One row per estimator; values are null where the log cannot answer.",
    Column("estimator", pl.String, "the name of the estimator"),
    Column("value", pl.Float64, "the estimated mean reward"),
    Column(
        "low",
        pl.Float64,
        "the low end of its interval; null of ``dm`` where its model is too much the mean of all actions",
    ),
    Column(
        "high",
        pl.Float64,
        "the high end of its interval; null of ``dm`` where its model is too much the mean of all actions",
    ),
    Column("error", pl.Float64, "its standard error"),
    Column("delta", pl.Float64, "its difference to the logged reward", "signed"),
    Column("delta_low", pl.Float64, "the low end of the interval of delta", "signed"),
    Column("delta_high", pl.Float64, "the high end of the interval of delta", "signed"),
    Column("assumption", pl.String, "what the estimator assumes"),
    Column("p_assumption", pl.Float64, "the p-value of the test against an estimator that assumes less", "p"),
    Column("holds", pl.Boolean, "true if the assumption holds, as far as the test shows"),
)


@dataclass(frozen=True)
class OffPolicyEstimate(Result):
    """The estimated reward of another policy.

    Attributes:
        target: the policy.
        units: decisions, or slates, of the log.
        depth: slots of a slate; 1 without slates.
        logged: the mean reward of a decision or slate in the log, with ``logged_low`` and
            ``logged_high``.
        estimator: the reported one: the smallest error among those that suppose nothing,
            or what a call named; None where the log cannot answer, or contradicts what it supposes.
        estimates: the columns of `ESTIMATES`.
        checks: the columns of `CHECKS`.
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
    document_from: ClassVar[str] = "rankgate.online.off_policy.off_policy_estimate:estimate_document"
    charts: ClassVar[Mapping[str, str]] = {"off-policy": "rankgate.online.charts.click_charts:estimates"}
    order: ClassVar[int] = 67
    SCHEMAS: ClassVar[Mapping[str, Columns]] = {"estimates": ESTIMATES, "checks": CHECKS}

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
        """True if a check blocks the estimate."""
        return bool((self.checks["outcome"] == "blocks").any())

    @property
    def status(self) -> int:
        """The exit code: 3 where the log cannot answer, else 0."""
        return 3 if self.verdict else 0

    @property
    def estimate(self) -> JsonObject | None:
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
                f"{name} has no interval: its model has too few decisions of actions that the target takes, "
                "and its error there is not known",
                name,
            )
            for name in unknown["estimator"]
        ]
        for row in self.estimates.filter(~pl.col("holds")).iter_rows(named=True):
            text = (
                f"{row['estimator']} assumes that {row['assumption']}, which the log contradicts (p = "
                f"{row['p_assumption']:.2g})"
            )
            notices.append(Notice("assumption-rejected", text, row["estimator"]))
        return tuple(notices)


_DASH = "–"


def estimate_document(result: OffPolicyEstimate) -> Document:
    """The estimate, what the log allows, every estimator with its assumption."""
    unit_name = "slates" if result.depth > 1 else "decisions"
    interval_text = (
        f" ({result.logged_low:.5f} to {result.logged_high:.5f})"
        if result.logged_low is not None and result.logged_high is not None
        else ""
    )
    return made(
        _title(result),
        f"{result.units:,} logged {unit_name}, which earned {result.logged:.5f} each{interval_text}. Weights "
        f"P(target) / P(logged): mean {result.mean_weight:.4f}, largest {result.max_weight:,.1f}; effective "
        f"size {result.ess:,.1f}.",
        Table("what the log allows", checks_grid(result.checks)),
        *([] if result.refused else [Table("estimates", _estimates(result))]),
        *(
            [Chart("rankgate.online.charts.click_charts:estimates", result)]
            if result.estimator and result.estimates["low"].count()
            else []
        ),
        Table("assumptions", _assumptions(result)),
        Warnings.from_notices(result.notices),
        _closing_note(result),
        status=result.verdict,
    )


def _title(result: OffPolicyEstimate) -> str:
    row = result.estimate
    name = make_printable(result.target)
    if row is None and result.refused:
        return f"the log cannot show what {name} would have earned"
    if row is None:
        return f"no estimate for {name}: the log contradicts the assumptions of the named estimators"
    interval_text = "no interval" if row["low"] is None else f"{row['low']:.5f} to {row['high']:.5f}"
    supposing = f" if {row['assumption']}" if row["assumption"] else ""
    return f"{name} would have earned {row['value']:.5f} ({interval_text}), by {row['estimator']}{supposing}"


def _estimates(result: OffPolicyEstimate) -> Grid:
    rows = tuple(
        (
            row["estimator"],
            *_cells(row, "value", "low", "high", ".5f"),
            *_cells(row, "delta", "delta_low", "delta_high", "+.5f"),
            "reported" if row["estimator"] == result.estimator else "",
        )
        for row in result.estimates.iter_rows(named=True)
    )
    header = ("estimator", "value", "interval", "less\nlogged", "interval ", "")
    return Grid(header, rows, frozenset({0, 5}))


def _cells(row: JsonObject, value: str, low: str, high: str, form: str) -> tuple[str, str]:
    if row[value] is None:
        return _DASH, _DASH
    interval_text = _DASH if row[low] is None else f"{row[low]:{form}} to {row[high]:{form}}"
    return f"{row[value]:{form}}", interval_text


def _assumptions(result: OffPolicyEstimate) -> Grid:
    outcome_texts = {True: "not rejected", False: "rejected", None: "not tested"}
    rows = tuple(
        (
            row["estimator"],
            row["assumption"],
            ESTIMATORS[row["estimator"]].against,
            _DASH if row["p_assumption"] is None else f"{row['p_assumption']:.4f}",
            outcome_texts[row["holds"]],
        )
        for row in result.estimates.iter_rows(named=True)
        if row["assumption"]
    )
    return Grid(("estimator", "supposes that", "against", "p", ""), rows, frozenset({0, 1, 2, 4}))


def _closing_note(result: OffPolicyEstimate) -> str:
    if result.refused:
        return (
            "No estimate is given: log more exploration, or evaluate a policy that is nearer to the logged "
            "one."
        )
    if result.estimator is None:
        return "No estimate is reported: leave out --estimator, or name one with fewer assumptions."
    return (
        "The reported estimate has the smallest error among estimators without assumptions; one with "
        "assumptions is taken only if these have fewer than 20 effective rewards, or if --estimator names "
        "it, and not if it is rejected at 1 %. A test that does not reject proves nothing. Intervals are "
        f"{result.level:.0%}: their upper ends hold as if one further decision with the largest weight had "
        "the largest reward of the log. They assume that propensities are right, that decisions are "
        "independent, and that no reward is much larger than the largest one of the log."
    )
