"""The admission of a judge: the verdict, its requirements, then answers, bias and systems."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.document import (
    SIGNS,
    Chart,
    Document,
    Entries,
    Entry,
    PlainRows,
    Table,
    Warnings,
)
from rankgate.core.present.document import make_document as made
from rankgate.core.present.figures import (
    format_interval,
    format_number,
    format_query_count,
    format_signed,
)
from rankgate.core.present.grid import Grid, make_printable
from rankgate.core.present.numbers import format_decimal

if TYPE_CHECKING:
    from rankgate.judging.admission.admission import JudgeAdmission

_VERDICT_LABELS = {"pass": "ADMITTED", "fail": "REFUSED", "inconclusive": "INCONCLUSIVE"}
_LIMIT = (
    "What holds on the pairs that both judged need not hold elsewhere: take them from the queries "
    "and the ranks that will be judged, and repeat this when judge, prompt or collection change. "
    "Intervals leave out one query at a time, as grades of one query resemble each other."
)


def document(result: JudgeAdmission) -> Document:
    """The verdict with its requirements, then every table."""
    judge, people = make_printable(result.judge[0]), make_printable(result.people[0])
    entries = Entries(
        tuple(
            Entry(f"{SIGNS[demand.status]} {demand.name}", (demand.reason,))
            for demand in result.demands
        )
    )
    header = ("requirement", "status", "value", "low", "high", "required")
    rows = [(d.name, d.status, d.value, d.low, d.high, d.asked) for d in result.demands]
    return made(
        f"{_VERDICT_LABELS[result.verdict]}: {judge} compared with {people}",
        entries,
        Warnings(result.cautions),
        Chart("rankgate.judging.admission.chart:draw", result),
        *(Table(heading, grid) for heading, grid in grids(result)),
        _LIMIT,
        rows=PlainRows(header, rows),
    )


def grids(result: JudgeAdmission) -> list[tuple[str, Grid]]:
    """Agreement, answers, bias by grade, confusion, and systems where there are runs."""
    coefficients = tuple(
        (
            name,
            format_number(coefficient.value, 3),
            format_interval(coefficient.low, coefficient.high, 3),
        )
        for name, coefficient in result.coefficients.items()
    )
    tables = [
        (
            f"agreement over {result.pairs} pairs of {result.queries} queries",
            Grid(("coefficient", "value", "95% interval"), coefficients),
        ),
        ("answered, by people's grade", _answers(result)),
        ("by people's grade", _by_grade(result)),
        ("people's grades (rows) and the judge's (columns)", _confusion(result)),
        ("systems by these pairs alone", _systems(result)),
        ("the order of systems", _orders(result)),
        ("systems of the judge's family", _families(result)),
        ("variance of the judge's grades", _components(result)),
        ("documents changed in ways that must not change their grade", _attacks(result)),
    ]
    return [(heading, grid) for heading, grid in tables if grid.rows]


def _answers(result: JudgeAdmission) -> Grid:
    """Answers by people's grade; empty where every pair was answered."""
    answers = result.answers
    rows = tuple(
        (f"{row['grade']:g}", str(row["asked"]), str(row["answered"]), f"{row['share']:.0%}")
        for row in answers.grades.iter_rows(named=True)
        if answers.answered < answers.asked
    )
    return Grid(("people", "asked", "answered", "share"), rows)


def _by_grade(result: JudgeAdmission) -> Grid:
    rows = tuple(
        (
            f"{row['grade']:g}",
            str(row["pairs"]),
            format_number(row["mean"], 2),
            format_signed(row["bias"]),
            format_interval(row["low"], row["high"], 2),
            f"{row['equal']:.0%}",
        )
        for row in result.bias.grades.iter_rows(named=True)
    )
    return Grid(("people", "pairs", "judge's mean", "bias", "95% interval", "equal"), rows)


def _confusion(result: JudgeAdmission) -> Grid:
    cells: dict[float, dict[float, int]] = {}
    for row in result.bias.confusion.iter_rows(named=True):
        cells.setdefault(row["people"], {})[row["judge"]] = row["pairs"]
    columns = sorted({grade for row in cells.values() for grade in row})
    rows = tuple(
        (f"{grade:g}", *(str(cells[grade].get(column, 0)) for column in columns))
        for grade in sorted(cells)
    )
    return Grid(("", *(f"{column:g}" for column in columns)), rows)


def _systems(result: JudgeAdmission) -> Grid:
    rows = tuple(
        (
            row["metric"],
            row["system"],
            format_decimal(row["people"]),
            format_decimal(row["judge"]),
            format_signed(row["delta"]),
        )
        for row in result.systems.iter_rows(named=True)
    )
    return Grid(("metric", "system", "people", "judge", "delta"), rows, frozenset({0, 1}), keys=2)


def _orders(result: JudgeAdmission) -> Grid:
    rows = tuple(
        (
            order.metric,
            _with_interval(order.tau, order.tau_low, order.tau_high),
            _with_interval(order.spearman, order.spearman_low, order.spearman_high),
            format_number(order.tau_ap, 3),
            str(order.pairs),
            str(order.flips),
            str(order.lost),
            str(order.reversed),
            f"{order.agreed} of {order.significant}",
            format_number(order.tau_top, 3),
        )
        for order in result.orders
    )
    header = (
        "metric",
        "tau, 95% of\nquery samples",
        "Spearman's rho",
        "tau AP",
        "pairs",
        "swapped",
        "significance\nlost",
        "significantly\nreversed",
        "significant by people,\nsame direction by judge",
        *(f"tau@{order.top}" for order in result.orders[:1]),
    )
    return Grid(header, rows)


def _families(result: JudgeAdmission) -> Grid:
    rows = tuple(
        (
            row["metric"],
            row["family"],
            str(row["systems"]),
            str(row["others"]),
            str(row["queries"]),
            format_signed(row["advantage"]),
            format_interval(row["low"], row["high"]),
            format_query_count(row["needed"]),
        )
        for row in result.families.iter_rows(named=True)
    )
    header = (
        "metric",
        "family",
        "systems",
        "others",
        "queries",
        "advantage",
        "95% interval",
        f"queries to\nfind {result.asked.family:g}",
    )
    return Grid(header, rows, frozenset({0, 1}))


def _components(result: JudgeAdmission) -> Grid:
    rows = tuple(
        (
            row["source"],
            format_query_count(row["levels"]),
            format_number(row["variance"], 4),
            f"{row['share']:.1%}",
        )
        for row in result.components.iter_rows(named=True)
    )
    return Grid(("source", "levels", "variance", "share"), rows)


def _attacks(result: JudgeAdmission) -> Grid:
    rows = tuple(
        (
            row["attack"],
            str(row["pairs"]),
            format_number(row["raised"], 3),
            format_interval(row["low"], row["high"], 3),
            format_number(row["lowered"], 3),
            format_signed(row["shift"]),
        )
        for row in result.attacks.iter_rows(named=True)
    )
    return Grid(("attack", "pairs", "raised", "95% interval", "lowered", "mean shift"), rows)


def _with_interval(value: float | None, low: float | None, high: float | None) -> str:
    """A coefficient with its interval, if it has one."""
    interval_text = "" if low is None or high is None else f" {format_interval(low, high, 2)}"
    return f"{format_number(value, 3)}{interval_text}"
