"""Off-policy estimate: checks of the log, the result of ``ope``."""

from __future__ import annotations

from typing import TYPE_CHECKING, ClassVar

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import NoticeText, NoticeTexts, Result
from rankgate.core.present.charts.chart_views import Axis, ChartView, Panel, Reference, highlight, interval
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.layout import NOTICES, Sentence, ShownChart, View, fill
from rankgate.online.off_policy.estimators import ESTIMATORS

if TYPE_CHECKING:
    from rankgate.core.value_types import Json, JsonObject

CHECKS = Columns(
    "One row per check of the log.",
    Column("check", pl.String, "the check"),
    Column("value", pl.Float64, "its value", ",.4g"),
    Column("limit", pl.Float64, "the value at which the check warns or blocks", ",.4g"),
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


CHECKS_VIEW = View("checks", "what the log allows", ("check", "value", "limit", "outcome"))
"""Each check with its value, its limit and its outcome."""


def check_notices(subject: str) -> NoticeTexts:
    """The checks that spoil or forbid an estimate."""
    return tuple(
        NoticeText(
            "{check}",
            f"{word}: {{words}}",
            source="checks",
            subject=subject,
            rows=pl.col("outcome") == outcome,
        )
        for outcome, word in (("blocks", "refused"), ("warns", "warning"))
    )


ESTIMATES = Columns(
    "One row per estimator; values are null where the log cannot answer.",
    Column("estimator", pl.String, "the name of the estimator"),
    Column("value", pl.Float64, "the estimated mean reward", ".5f"),
    Column(
        "low",
        pl.Float64,
        "the low end of its interval; null of ``dm`` where its model is too much the mean of all actions",
        ".5f",
    ),
    Column(
        "high",
        pl.Float64,
        "the high end of its interval; null of ``dm`` where its model is too much the mean of all actions",
        ".5f",
    ),
    Column("error", pl.Float64, "its standard error"),
    Column("delta", pl.Float64, "its difference to the logged reward", "+.5f", header="less\nlogged"),
    Column("delta_low", pl.Float64, "the low end of the interval of delta", "+.5f", header="interval"),
    Column("delta_high", pl.Float64, "the high end of the interval of delta", "+.5f"),
    Column("assumption", pl.String, "what the estimator assumes", header="assumes that"),
    Column(
        "p_assumption",
        pl.Float64,
        "the p-value of the test against an estimator that assumes less",
        "p",
        header="p",
    ),
    Column(
        "holds",
        pl.Boolean,
        "true if the assumption holds, as far as the test shows",
        {True: "not rejected", False: "rejected", None: "not tested"},
        header="test",
    ),
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

    kind = "off_policy_estimate"
    csv_table = None
    label = "Off-policy estimate"
    charts: ClassVar = {
        "off-policy": ChartView(
            "What {target} would have earned",
            "The dashed line is the reward of the logged policy; blue is the reported estimate. Intervals "
            "are {level:.0%}.",
            "{units:n logged decision}, effective size {ess:,.0f}",
            (
                Panel(
                    "estimates",
                    Axis("value", "reward", zero=False),
                    Axis("estimator", scale="names"),
                    (Reference("logged", dashed=True), *interval("value")),
                    ("estimator", "value", "low", "high"),
                    row_filter=pl.col("low").is_not_null(),
                    colour=highlight(("estimator", "{estimator}")),
                    width=420,
                    height=30,
                ),
            ),
            "off-policy",
            "the log allows no estimate.",
        )
    }
    order = 67
    SCHEMAS: ClassVar = {"estimates": ESTIMATES, "checks": CHECKS}
    layout = (
        Sentence(
            "{units:,} logged {unit_name}, which earned {logged:.5f} each{logged_interval}. Weights "
            "P(target) / P(logged): mean {mean_weight:.4f}, largest {max_weight:,.1f}; effective size "
            "{ess:,.1f}."
        ),
        CHECKS_VIEW,
        View(
            "reported_estimates",
            "estimates",
            ("estimator", "value", ("low", "high"), "delta", ("delta_low", "delta_high"), "reported"),
            Columns(
                "One row per estimator.", ESTIMATES, Column("reported", pl.String, "which one is reported")
            ),
            headers={"reported": " "},
            condition="allowed",
        ),
        ShownChart("off-policy", "has_intervals"),
        View(
            "assumptions",
            "assumptions",
            ("estimator", "assumption", "against", "p_assumption", "holds"),
            Columns(
                "One row per estimator.", ESTIMATES, Column("against", pl.String, "the one that assumes less")
            ),
        ),
        NOTICES,
        Sentence(
            "No estimate is given: log more exploration, or evaluate a policy that is nearer to the logged "
            "one.",
            "refused",
        ),
        Sentence(
            "No estimate is reported: leave out --estimator, or name one with fewer assumptions.",
            "contradicted",
        ),
        Sentence(
            "The reported estimate has the smallest error among estimators without assumptions; one with "
            "assumptions is taken only if these have fewer than 20 effective rewards, or if --estimator "
            "names it, and not if it is rejected at 1 %. A test that does not reject proves nothing. "
            "Intervals are {level:.0%}: their upper ends hold as if one further decision with the largest "
            "weight had the largest reward of the log. They assume that propensities are right, that "
            "decisions are independent, and that no reward is much larger than the largest one of the log.",
            "estimator",
        ),
    )
    notice_texts = (
        *check_notices("{target}"),
        NoticeText(
            "no-interval",
            "{estimator} has no interval: its model has too few decisions of actions that the target takes, "
            "and its error there is not known",
            source="estimates",
            subject="{estimator}",
            rows=pl.col("value").is_not_null() & pl.col("low").is_null(),
        ),
        NoticeText(
            "assumption-rejected",
            "{estimator} assumes that {assumption}, which the log contradicts (p = {p_assumption:.2g})",
            source="estimates",
            subject="{estimator}",
            rows=~pl.col("holds"),
        ),
    )

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
    def headline(self) -> str:
        """The reported estimate."""
        row = self.estimate
        if row is None and self.refused:
            return f"the log cannot show what {self.target} would have earned"
        if row is None:
            return (
                f"no estimate for {self.target}: the log contradicts the assumptions of the named estimators"
            )
        interval_text = "no interval" if row["low"] is None else "{low:.5f} to {high:.5f}"
        supposing = " if {assumption}" if row["assumption"] else ""
        earned = "{target} would have earned {value:.5f}"
        return fill(f"{earned} ({interval_text}), by {{estimator}}{supposing}", self, row)

    @property
    def outcome(self) -> str:
        """The verdict."""
        return self.verdict

    @property
    def unit_name(self) -> str:
        """What the log's units are."""
        return "slates" if self.depth > 1 else "decisions"

    @property
    def logged_interval(self) -> str:
        """The interval of the logged reward."""
        if self.logged_low is None or self.logged_high is None:
            return ""
        return f" ({self.logged_low:.5f} to {self.logged_high:.5f})"

    @property
    def allowed(self) -> bool:
        """True if no check blocks the estimate."""
        return not self.refused

    @property
    def contradicted(self) -> bool:
        """True if the log contradicts the assumptions of the named estimators."""
        return self.allowed and self.estimator is None

    @property
    def has_intervals(self) -> bool:
        """True if there are estimates with intervals to draw."""
        return bool(self.estimator) and self.estimates["low"].count() > 0

    @property
    def reported_estimates(self) -> pl.DataFrame:
        """`estimates`, with the word ``reported`` at the reported one."""
        is_reported = pl.col("estimator").eq_missing(pl.lit(self.estimator))
        return self.estimates.with_columns(reported=pl.when(is_reported).then(pl.lit("reported")))

    @property
    def assumptions(self) -> pl.DataFrame:
        """The estimators that assume something, with the estimator that they are tested against."""
        against = {name: estimator.against for name, estimator in ESTIMATORS.items()}
        rows = self.estimates.filter(pl.col("assumption") != "")
        return rows.with_columns(against=pl.col("estimator").replace_strict(against, return_dtype=pl.String))

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
