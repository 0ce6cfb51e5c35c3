"""An off-policy estimate as a document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.online.off_policy.catalogue import ESTIMATORS
from rankgate.present.document import Chart, Document, Table, Warnings
from rankgate.present.document import document as made
from rankgate.present.grid import Grid, printable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankgate.online.off_policy.off_policy_estimate import OffPolicyEstimate

_NONE = "–"


def document(result: OffPolicyEstimate) -> Document:
    """The estimate, what the log allows, every estimator with its assumption."""
    what = "slates" if result.depth > 1 else "decisions"
    ends = (
        f" ({result.logged_low:.5f} to {result.logged_high:.5f})"
        if result.logged_low is not None and result.logged_high is not None
        else ""
    )
    return made(
        _title(result),
        f"{result.units:,} logged {what}, which earned {result.logged:.5f} each{ends}. Weights "
        f"P(target) / P(logged): mean {result.mean_weight:.4f}, largest {result.max_weight:,.1f}; "
        f"effective size {result.ess:,.1f}.",
        Table("what the log allows", _checks(result)),
        *([Table("estimates", _estimates(result))] if result.estimator else []),
        *([Chart("rankgate.online.off_policy.charts:estimates", result)] if result.estimator
          else []),
        Table("assumptions", _assumptions(result)),
        Warnings(tuple(each.text for each in result.notices)),
        _end(result),
        status=result.verdict,
    )  # fmt: skip


def _title(result: OffPolicyEstimate) -> str:
    row = result.estimate
    name = printable(result.target)
    if row is None:
        return f"the log cannot say what {name} would have earned"
    return (
        f"{name} would have earned {row['value']:.5f} ({row['low']:.5f} to {row['high']:.5f}), "
        f"by {row['estimator']}"
    )


def _checks(result: OffPolicyEstimate) -> Grid:
    rows = tuple(
        (row["check"], f"{row['value']:,.4g}", f"{row['limit']:,.4g}", row["outcome"])
        for row in result.checks.iter_rows(named=True)
    )
    return Grid(("check", "value", "limit", "outcome"), rows, frozenset({0, 3}))


def _estimates(result: OffPolicyEstimate) -> Grid:
    rows = tuple(
        (row["estimator"], *_cells(row, "value", "low", "high", ".5f"),
         *_cells(row, "delta", "delta_low", "delta_high", "+.5f"),
         "reported" if row["estimator"] == result.estimator else "")
        for row in result.estimates.iter_rows(named=True)
    )  # fmt: skip
    head = ("estimator", "value", "interval", "less\nlogged", "interval ", "")
    return Grid(head, rows, frozenset({0, 5}))


def _cells(row: Mapping[str, Any], value: str, low: str, high: str, form: str) -> tuple[str, str]:
    if row[value] is None:
        return _NONE, _NONE
    ends = _NONE if row[low] is None else f"{row[low]:{form}} to {row[high]:{form}}"
    return f"{row[value]:{form}}", ends


def _assumptions(result: OffPolicyEstimate) -> Grid:
    words = {True: "not rejected", False: "rejected", None: "not tested"}
    rows = tuple(
        (row["estimator"], row["assumption"], ESTIMATORS[row["estimator"]].against,
         _NONE if row["p_assumption"] is None else f"{row['p_assumption']:.4f}",
         words[row["holds"]])
        for row in result.estimates.iter_rows(named=True)
        if row["assumption"]
    )  # fmt: skip
    return Grid(("estimator", "supposes that", "against", "p", ""), rows, frozenset({0, 1, 2, 4}))


def _end(result: OffPolicyEstimate) -> str:
    if result.estimator is None:
        return (
            "No estimate is given: log more exploration, or evaluate a policy that is nearer to "
            "the logged one."
        )
    return (
        "Reported is the smallest error among estimators that may be reported and whose assumption "
        "is not rejected at 1 %; a test that does not reject proves nothing. Intervals are "
        f"{result.level:.0%}, by Student's t over decisions; heavy weights make them too short."
    )
