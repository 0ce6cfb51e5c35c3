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
from rankgate.core.present.document import document as made
from rankgate.core.present.figures import interval, number, signed, whole
from rankgate.core.present.grid import Grid, printable
from rankgate.core.present.numbers import decimal

if TYPE_CHECKING:
    from rankgate.judging.admission.admission import JudgeAdmission

_WORDS = {"pass": "ADMITTED", "fail": "REFUSED", "inconclusive": "INCONCLUSIVE"}
_LIMIT = (
    "What holds on the pairs that both judged need not hold elsewhere: take them from the queries "
    "and the ranks that will be judged, and repeat this when judge, prompt or collection change. "
    "Intervals resample queries, as grades of one query resemble each other."
)


def document(result: JudgeAdmission) -> Document:
    """The verdict with its requirements, then every table."""
    judge, people = printable(result.judge[0]), printable(result.people[0])
    entries = Entries(
        tuple(Entry(f"{SIGNS[each.status]} {each.name}", (each.reason,)) for each in result.demands)
    )
    head = ("requirement", "status", "value", "low", "high", "required")
    rows = [(d.name, d.status, d.value, d.low, d.high, d.asked) for d in result.demands]
    return made(
        f"{_WORDS[result.verdict]}: {judge} compared with {people}",
        entries,
        Warnings(result.cautions),
        Chart("rankgate.judging.admission.chart:draw", result),
        *(Table(heading, grid) for heading, grid in grids(result)),
        _LIMIT,
        rows=PlainRows(head, rows),
    )


def grids(result: JudgeAdmission) -> list[tuple[str, Grid]]:
    """Agreement, answers, bias by grade, confusion, and systems where there are runs."""
    coefficients = tuple(
        (name, number(each.value, 3), interval(each.low, each.high, 3))
        for name, each in result.coefficients.items()
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
    """Nothing where every pair was answered."""
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
            number(row["mean"], 2),
            signed(row["bias"]),
            interval(row["low"], row["high"], 2),
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
            decimal(row["people"]),
            decimal(row["judge"]),
            signed(row["delta"]),
        )
        for row in result.systems.iter_rows(named=True)
    )
    return Grid(("metric", "system", "people", "judge", "delta"), rows, frozenset({0, 1}), keys=2)


def _orders(result: JudgeAdmission) -> Grid:
    rows = tuple(
        (
            each.metric,
            _sure(each.tau, each.tau_low, each.tau_high),
            _sure(each.spearman, each.spearman_low, each.spearman_high),
            number(each.tau_ap, 3),
            str(each.pairs),
            str(each.flips),
            str(each.lost),
            str(each.reversed),
            f"{each.agreed} of {each.significant}",
            number(each.tau_top, 3),
        )
        for each in result.orders
    )
    head = (
        "metric",
        "tau, 95% of\nquery samples",
        "Spearman's rho",
        "tau AP",
        "pairs",
        "swapped",
        "significance\nlost",
        "significantly\nreversed",
        "significant by people,\nsame direction by judge",
        *(f"tau@{each.top}" for each in result.orders[:1]),
    )
    return Grid(head, rows)


def _families(result: JudgeAdmission) -> Grid:
    rows = tuple(
        (row["metric"], row["family"], str(row["systems"]), str(row["others"]),
         str(row["queries"]), signed(row["advantage"]), interval(row["low"], row["high"]),
         whole(row["needed"]))
        for row in result.families.iter_rows(named=True)
    )  # fmt: skip
    head = ("metric", "family", "systems", "others", "queries", "advantage", "95% interval",
            f"queries to\nfind {result.asked.family:g}")  # fmt: skip
    return Grid(head, rows, frozenset({0, 1}))


def _components(result: JudgeAdmission) -> Grid:
    rows = tuple(
        (row["source"], whole(row["levels"]), number(row["variance"], 4), f"{row['share']:.1%}")
        for row in result.components.iter_rows(named=True)
    )
    return Grid(("source", "levels", "variance", "share"), rows)


def _attacks(result: JudgeAdmission) -> Grid:
    rows = tuple(
        (
            row["attack"],
            str(row["pairs"]),
            number(row["raised"], 3),
            interval(row["low"], row["high"], 3),
            number(row["lowered"], 3),
            signed(row["shift"]),
        )
        for row in result.attacks.iter_rows(named=True)
    )
    return Grid(("attack", "pairs", "raised", "95% interval", "lowered", "mean shift"), rows)


def _sure(value: float | None, low: float | None, high: float | None) -> str:
    """A coefficient with its interval, if it has one."""
    ends = "" if low is None or high is None else f" {interval(low, high, 2)}"
    return f"{number(value, 3)}{ends}"
