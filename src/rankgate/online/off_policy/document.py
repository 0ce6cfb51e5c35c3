"""An off-policy estimate as a document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.core.present.document import Chart, Document, Table, Warnings
from rankgate.core.present.document import make_document as made
from rankgate.core.present.grid import Grid, make_printable
from rankgate.online.off_policy.catalogue import ESTIMATORS

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankgate.online.off_policy.off_policy_estimate import OffPolicyEstimate

_DASH = "–"


def document(result: OffPolicyEstimate) -> Document:
    """The estimate, what the log allows, every estimator with its assumption."""
    unit_name = "slates" if result.depth > 1 else "decisions"
    interval_text = (
        f" ({result.logged_low:.5f} to {result.logged_high:.5f})"
        if result.logged_low is not None and result.logged_high is not None
        else ""
    )
    return made(
        _title(result),
        f"{result.units:,} logged {unit_name}, which earned {result.logged:.5f} "
        f"each{interval_text}. "
        f"Weights P(target) / P(logged): mean {result.mean_weight:.4f}, largest "
        f"{result.max_weight:,.1f}; "
        f"effective size {result.ess:,.1f}.",
        Table("what the log allows", _checks(result)),
        *([] if result.refused else [Table("estimates", _estimates(result))]),
        *(
            [Chart("rankgate.online.off_policy.charts:estimates", result)]
            if result.estimator and result.estimates["low"].count()
            else []
        ),
        Table("assumptions", _assumptions(result)),
        Warnings(tuple(notice.text for notice in result.notices)),
        _closing_note(result),
        status=result.verdict,
    )


def _title(result: OffPolicyEstimate) -> str:
    row = result.estimate
    name = make_printable(result.target)
    if row is None and result.refused:
        return f"the log cannot say what {name} would have earned"
    if row is None:
        return f"no estimate for {name}: the log contradicts what the named estimators suppose"
    interval_text = (
        "no interval" if row["low"] is None else f"{row['low']:.5f} to {row['high']:.5f}"
    )
    supposing = f" if {row['assumption']}" if row["assumption"] else ""
    return (
        f"{name} would have earned {row['value']:.5f} ({interval_text}), by "
        f"{row['estimator']}{supposing}"
    )


def _checks(result: OffPolicyEstimate) -> Grid:
    rows = tuple(
        (row["check"], f"{row['value']:,.4g}", f"{row['limit']:,.4g}", row["outcome"])
        for row in result.checks.iter_rows(named=True)
    )
    return Grid(("check", "value", "limit", "outcome"), rows, frozenset({0, 3}))


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


def _cells(row: Mapping[str, Any], value: str, low: str, high: str, form: str) -> tuple[str, str]:
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
            "No estimate is given: log more exploration, or evaluate a policy that is nearer to "
            "the logged one."
        )
    if result.estimator is None:
        return "No estimate is reported: leave out --estimator, or name one that supposes less."
    return (
        "Reported is the smallest error among estimators that suppose nothing; one that supposes "
        "more only where these have fewer than 20 effective rewards, or where --estimator names "
        "it, and not if it is rejected at 1 %. A test that does not reject proves nothing. "
        f"Intervals are {result.level:.0%}: their upper ends hold as if one further decision with "
        "the largest weight had the largest reward of the log. They suppose that propensities are "
        "right, that decisions are independent, and that no reward is much larger than the "
        "largest one of the log."
    )
