"""The agreement of offline and online as a document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.core.present.document import Chart, Document, Table, Warnings
from rankgate.core.present.document import make_document as made
from rankgate.core.present.grid import Grid, make_printable

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankgate.online.offline_online.online_agreement import OnlineAgreement

_DASH = "–"


def document(result: OnlineAgreement) -> Document:
    """The metrics that predict each KPI, how well, and from which difference on."""
    past = result.unit == "experiment"
    return made(
        _title(result),
        Table("which metric predicts best", _best(result)),
        Table("prediction of a unit by the others", _skill(result, past=past)),
        Table("correlation", _correlation(result)),
        *(
            [Table("offline difference from which the KPI rises", _threshold(result))]
            if past
            else []
        ),
        Chart("rankgate.online.offline_online.charts:scatter", result),
        Warnings(tuple(notice.text for notice in result.notices)),
        f"Skill is 1 - the squared error of predicting each {result.unit} from the others, divided "
        "by that of their mean: 1 is perfect, 0 useless; honest skill chooses the metric anew each "
        "time. Corrected correlations are of true values, without errors of measurement; where "
        "the measured ones allow every correlation there is none. Intervals are "
        f"{result.level:.0%}: of corrected correlations by drawn covariances, which suppose that "
        "standard errors are right and hold from 10 units on, of others by the bootstrap over "
        f"{_unit_plural(result.unit)}"
        + (
            f"; a threshold is the difference at which the KPI truly rises with a chance of "
            f"{result.chance:.0%}."
            if past
            else "."
        ),
    )


def _title(result: OnlineAgreement) -> str:
    with_skill = [row for row in result.best.iter_rows(named=True) if row["skill"] is not None]
    if not with_skill:
        return "too little to say whether offline predicts online"
    best = max(with_skill, key=lambda row: row["skill"])
    if best["skill"] <= 0:
        return f"no metric predicts a KPI better than the mean of other {_unit_plural(result.unit)}"
    return (
        f"{best['metric']} predicts {make_printable(best['kpi'])} best: skill {best['skill']:.2f}"
    )


def _unit_plural(unit: str) -> str:
    return "queries" if unit == "query" else "experiments"


def _best(result: OnlineAgreement) -> Grid:
    rows = tuple(
        (
            make_printable(row["kpi"]),
            make_printable(row["metric"]),
            _format_number(row["skill"]),
            _format_number(row["honest_skill"]),
        )
        for row in result.best.iter_rows(named=True)
    )
    return Grid(("KPI", "metric", "skill", "honest\nskill"), rows, frozenset({0, 1}))


def _pair_cells(row: Mapping[str, Any]) -> tuple[str, str, str]:
    return make_printable(row["kpi"]), make_printable(row["metric"]), f"{row['n']:,}"


def _skill(result: OnlineAgreement, *, past: bool) -> Grid:
    table = result.pairs.sort("kpi", "skill", descending=[False, True], nulls_last=True)
    rows = tuple(
        (
            *_pair_cells(row),
            _format_number(row["skill"]),
            *(
                (
                    _format_share(row["right_signs"]),
                    _format_share(row["same_sign"]),
                    _format_interval(row["same_sign_low"], row["same_sign_high"], ".0%"),
                )
                if past
                else ()
            ),
        )
        for row in table.iter_rows(named=True)
    )
    more = ("sign\npredicted", "same\nsign", "interval") if past else ()
    return Grid(("KPI", "metric", "n", "skill", *more), rows, frozenset({0, 1}), keys=2)


def _correlation(result: OnlineAgreement) -> Grid:
    rows = tuple(
        (
            *_pair_cells(row),
            _format_number(row["spearman"]),
            _format_interval(row["spearman_low"], row["spearman_high"], ".2f"),
            _format_interval(row["spearman_least"], row["spearman_most"], ".2f"),
            _format_number(row["pearson"]),
            _format_number(row["reliability"]),
            _format_number(row["corrected"]),
            _format_interval(row["corrected_low"], row["corrected_high"], ".2f"),
        )
        for row in result.pairs.iter_rows(named=True)
    )
    header = (
        "KPI",
        "metric",
        "n",
        "Spearman",
        "interval",
        "without\none",
        "Pearson",
        "KPI's\nreliability",
        "corrected",
        "interval ",
    )
    return Grid(header, rows, frozenset({0, 1}), keys=2)


def _threshold(result: OnlineAgreement) -> Grid:
    rows = tuple(
        (
            *_pair_cells(row)[:2],
            _DASH if row["threshold"] is None else f"{row['threshold']:+.4f}",
            _format_interval(row["threshold_low"], row["threshold_high"], "+.4f"),
            {True: "yes", False: "no", None: _DASH}[row["tried"]],
        )
        for row in result.pairs.iter_rows(named=True)
    )
    header = ("KPI", "metric", "from", "interval", "ever\ntried")
    return Grid(header, rows, frozenset({0, 1, 4}), keys=2)


def _format_number(value: float | None) -> str:
    return _DASH if value is None else f"{value:.2f}"


def _format_share(value: float | None) -> str:
    return _DASH if value is None else f"{value:.0%}"


def _format_interval(low: float | None, high: float | None, form: str) -> str:
    return _DASH if low is None or high is None else f"{low:{form}} to {high:{form}}"
