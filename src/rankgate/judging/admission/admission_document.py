"""Documents of a judge's admission, and of an admission plan.

An admission shows the verdict and its requirements, then answers, bias and systems. A plan shows
the pairs that people judge and their cost, by stratum and by figure.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.document_model import (
    SIGNS,
    Chart,
    Document,
    Entries,
    Entry,
    Grid,
    PlainRows,
    Table,
    Warnings,
    make_printable,
)
from rankgate.core.present.document_model import make_document as made
from rankgate.core.present.number_formats import (
    count_noun,
    format_decimal,
    format_interval,
    format_number,
    format_query_count,
    format_signed,
)
from rankgate.judging.admission.judged_pairs import ANSWERS, ATTACKS, BIAS_BY_GRADE, COMPONENTS

if TYPE_CHECKING:
    from rankgate.judging.admission.admit import JudgeAdmission
    from rankgate.judging.admission.admit_plan import AdmissionPlan


_VERDICT_LABELS = {"pass": "ADMITTED", "fail": "REFUSED", "inconclusive": "INCONCLUSIVE"}
_LIMIT = (
    "Results on the pairs that both judged may not hold elsewhere: take the pairs from the queries and the "
    "ranks that will be judged, and repeat this when judge, prompt or collection change. Intervals leave out "
    "one query at a time, as grades of one query resemble each other."
)


def admission_document(result: JudgeAdmission) -> Document:
    """The verdict with its requirements, followed by every table."""
    judge, people = make_printable(result.judge[0]), make_printable(result.people[0])
    entries = Entries(
        tuple(Entry(f"{SIGNS[demand.status]} {demand.name}", (demand.reason,)) for demand in result.demands)
    )
    header = ("requirement", "status", "value", "low", "high", "required")
    rows = [(d.name, d.status, d.value, d.low, d.high, d.asked) for d in result.demands]
    return made(
        f"{_VERDICT_LABELS[result.verdict]}: {judge} compared with {people}",
        entries,
        Warnings(result.cautions),
        Chart("rankgate.judging.admission.admission_chart:draw_admission", result),
        *(Table(heading, grid) for heading, grid in grids(result)),
        _LIMIT,
        rows=PlainRows(header, rows),
    )


def grids(result: JudgeAdmission) -> list[tuple[str, Grid]]:
    """The tables of agreement, answers, bias by grade, confusion, and systems if there are runs."""
    coefficients = tuple(
        (name, format_number(coefficient.value, 3), format_interval(coefficient.low, coefficient.high, 3))
        for name, coefficient in result.coefficients.items()
    )
    tables = [
        (
            (f"agreement over {count_noun(result.pairs, 'pair')} of {count_noun(result.queries, 'query')}"),
            Grid(("coefficient", "value", "95% interval"), coefficients),
        ),
        ("answered, by people's grade", _answers(result)),
        ("by people's grade", _by_grade(result)),
        ("people's grades (rows) and the judge's (columns)", _confusion(result)),
        ("systems by these pairs alone", _systems(result)),
        ("the order of systems", _orders(result)),
        ("systems of the judge's family", _families(result)),
        ("variance of the judge's grades", COMPONENTS.grid(result.components)),
        ("documents changed in ways that must not change their grade", _attacks(result)),
    ]
    return [(heading, grid) for heading, grid in tables if grid.rows]


def _answers(result: JudgeAdmission) -> Grid:
    """Answers by people's grade; empty if every pair was answered."""
    answers = result.answers
    incomplete = answers.grades if answers.answered < answers.asked else answers.grades.clear()
    return ANSWERS.grid(incomplete)


def _by_grade(result: JudgeAdmission) -> Grid:
    names = ("grade", "pairs", "mean", "bias", ("low", "high"), "equal")
    return BIAS_BY_GRADE.grid(result.bias.grades, *names)


def _confusion(result: JudgeAdmission) -> Grid:
    cells: dict[float, dict[float, int]] = {}
    for row in result.bias.confusion.iter_rows(named=True):
        cells.setdefault(row["people"], {})[row["judge"]] = row["pairs"]
    columns = sorted({grade for row in cells.values() for grade in row})
    rows = tuple(
        (f"{grade:g}", *(str(cells[grade].get(column, 0)) for column in columns)) for grade in sorted(cells)
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


def _attacks(result: JudgeAdmission) -> Grid:
    names = ("attack", "pairs", "raised", ("low", "high"), "lowered", "shift")
    return ATTACKS.grid(result.attacks, *names)


def _with_interval(value: float | None, low: float | None, high: float | None) -> str:
    """A coefficient with its interval, if any."""
    interval_text = "" if low is None or high is None else f" {format_interval(low, high, 2)}"
    return f"{format_number(value, 3)}{interval_text}"


_NAMES = {"equal": "equal grades", "bias": "bias", "alpha": "alpha, ordinal"}
_PLAN_LIMIT = (
    "The interval is for the pairs that the judge graded, with each pair weighed by 1/inclusion. The "
    "interval of admit is for other queries and weighs all pairs equally, so it is wider where pairs of a "
    "query are similar."
)


def admission_plan_document(result: AdmissionPlan) -> Document:
    """Pairs to judge and their cost, then the strata and the figures; CSV is the sample."""
    header = ("query", "document", "stratum", "inclusion")
    return made(
        admission_plan_summary(result),
        Table("the judge's grades", _strata(result)),
        Table(f"figures, and pairs for ±{result.width:g}", _figures(result)),
        _PLAN_LIMIT,
        rows=PlainRows(header, list(result.sample.iter_rows())),
    )


def admission_plan_summary(result: AdmissionPlan) -> str:
    """Summarize the pairs to judge, the expected width, and the cost."""
    count, name = len(result.sample), make_printable(result.judge.name)
    pairs = f"{count_noun(count, 'pair')} for people to judge" if count else "nothing more to judge"
    message = (
        f"{name}: {pairs}; {_NAMES[result.figure]} {'will then be' if count else 'is'} known to "
        f"±{result.reached:.4f} (±{result.width:g} asked)"
    )
    if count and result.wider is not None and result.reached_high is not None:
        message += (
            f"; wider than asked in {result.wider:.0%} of cases, in 95% at most ±{result.reached_high:.4f}"
        )
    if result.cost is not None:
        message += f"; cost {result.cost:,.2f}"
    if result.minutes is not None:
        message += f"; {result.minutes / 60:,.1f} hours"
    return message


def _strata(result: AdmissionPlan) -> Grid:
    rows = tuple(
        (
            f"{row['grade']:g}",
            f"{row['pool']:,}",
            f"{row['pilot']:,}",
            f"{row['deviation']:.3f}{' (worst case)' if row['assumed'] else ''}",
            f"{row['pairs']:,}",
            f"{row['to_judge']:,}",
            format_number(row["inclusion"], 3),
        )
        for row in result.strata.iter_rows(named=True)
    )
    header = (
        "judge's grade",
        "pairs",
        "judged by\npeople",
        "standard deviation",
        "needed",
        "to judge",
        "inclusion",
    )
    return Grid(header, rows)


def _figures(result: AdmissionPlan) -> Grid:
    rows = tuple(
        (
            _NAMES[row["figure"]],
            format_number(row["value"], 3),
            format_number(row["half_width"], 3),
            "" if row["pairs"] is None else f"{row['pairs']:,}",
            format_number(row["planned"], 3),
        )
        for row in result.figures.iter_rows(named=True)
    )
    header = ("figure", "by the pilot", "±", "pairs needed\nfor it", "± with this\nsample")
    return Grid(header, rows)
