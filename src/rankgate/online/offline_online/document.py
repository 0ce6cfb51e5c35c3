"""The agreement of offline and online as a document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.core.present.document import Chart, Document, Table, Warnings
from rankgate.core.present.document import document as made
from rankgate.core.present.grid import Grid, printable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankgate.online.offline_online.online_agreement import OnlineAgreement

_NONE = "–"


def document(result: OnlineAgreement) -> Document:
    """Which metric predicts which KPI, how well, and from which difference on."""
    past = result.unit == "experiment"
    return made(
        _title(result),
        Table("which metric predicts best", _best(result)),
        Table("prediction of a unit by the others", _skill(result, past=past)),
        Table("correlation", _correlation(result)),
        *([Table("offline difference from which the KPI rises", _threshold(result))] if past
          else []),
        Chart("rankgate.online.offline_online.charts:scatter", result),
        Warnings(tuple(each.text for each in result.notices)),
        f"Skill is 1 - the squared error of predicting each {result.unit} from the others, divided "
        "by that of their mean: 1 is perfect, 0 useless; honest skill chooses the metric anew each "
        "time. Corrected correlations are of true values, without errors of measurement; where "
        "the measured ones allow every correlation there is none. Intervals are "
        f"{result.level:.0%}: of corrected correlations by drawn covariances, which suppose that "
        "standard errors are right and hold from 10 units on, of others by the bootstrap over "
        f"{_words(result.unit)}"
        + (f"; a threshold is the difference at which the KPI truly rises with a chance of "
           f"{result.chance:.0%}." if past else "."),
    )  # fmt: skip


def _title(result: OnlineAgreement) -> str:
    known = [row for row in result.best.iter_rows(named=True) if row["skill"] is not None]
    if not known:
        return "too little to say whether offline predicts online"
    best = max(known, key=lambda row: row["skill"])
    if best["skill"] <= 0:
        return f"no metric predicts a KPI better than the mean of other {_words(result.unit)}"
    return f"{best['metric']} predicts {printable(best['kpi'])} best: skill {best['skill']:.2f}"


def _words(unit: str) -> str:
    return "queries" if unit == "query" else "experiments"


def _best(result: OnlineAgreement) -> Grid:
    rows = tuple(
        (printable(row["kpi"]), printable(row["metric"]), _number(row["skill"]),
         _number(row["honest_skill"]))
        for row in result.best.iter_rows(named=True)
    )  # fmt: skip
    return Grid(("KPI", "metric", "skill", "honest\nskill"), rows, frozenset({0, 1}))


def _names(row: Mapping[str, Any]) -> tuple[str, str, str]:
    return printable(row["kpi"]), printable(row["metric"]), f"{row['n']:,}"


def _skill(result: OnlineAgreement, *, past: bool) -> Grid:
    table = result.pairs.sort("kpi", "skill", descending=[False, True], nulls_last=True)
    rows = tuple(
        (*_names(row), _number(row["skill"]),
         *((_share(row["right_signs"]), _share(row["same_sign"]),
            _ends(row["same_sign_low"], row["same_sign_high"], ".0%")) if past else ()))
        for row in table.iter_rows(named=True)
    )  # fmt: skip
    more = ("sign\npredicted", "same\nsign", "interval") if past else ()
    return Grid(("KPI", "metric", "n", "skill", *more), rows, frozenset({0, 1}), keys=2)


def _correlation(result: OnlineAgreement) -> Grid:
    rows = tuple(
        (*_names(row), _number(row["spearman"]),
         _ends(row["spearman_low"], row["spearman_high"], ".2f"),
         _ends(row["spearman_least"], row["spearman_most"], ".2f"), _number(row["pearson"]),
         _number(row["reliability"]), _number(row["corrected"]),
         _ends(row["corrected_low"], row["corrected_high"], ".2f"))
        for row in result.pairs.iter_rows(named=True)
    )  # fmt: skip
    head = ("KPI", "metric", "n", "Spearman", "interval", "without\none", "Pearson",
            "KPI's\nreliability", "corrected", "interval ")  # fmt: skip
    return Grid(head, rows, frozenset({0, 1}), keys=2)


def _threshold(result: OnlineAgreement) -> Grid:
    rows = tuple(
        (*_names(row)[:2], _NONE if row["threshold"] is None else f"{row['threshold']:+.4f}",
         _ends(row["threshold_low"], row["threshold_high"], "+.4f"),
         {True: "yes", False: "no", None: _NONE}[row["tried"]])
        for row in result.pairs.iter_rows(named=True)
    )  # fmt: skip
    head = ("KPI", "metric", "from", "interval", "ever\ntried")
    return Grid(head, rows, frozenset({0, 1, 4}), keys=2)


def _number(value: float | None) -> str:
    return _NONE if value is None else f"{value:.2f}"


def _share(value: float | None) -> str:
    return _NONE if value is None else f"{value:.0%}"


def _ends(low: float | None, high: float | None, form: str) -> str:
    return _NONE if low is None or high is None else f"{low:{form}} to {high:{form}}"
