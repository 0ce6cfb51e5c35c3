"""A plan of an admission: what people judge and what it costs, by stratum and by figure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.document import Document, PlainRows, Table
from rankgate.core.present.document import make_document as made
from rankgate.core.present.figures import format_number
from rankgate.core.present.grid import Grid, make_printable

if TYPE_CHECKING:
    from rankgate.judging.admission.admission_plan import AdmissionPlan

_NAMES = {"equal": "equal grades", "bias": "bias", "alpha": "alpha, ordinal"}
_PLAN_LIMIT = (
    "The interval is for the pairs that the judge graded, with each pair weighed by 1/inclusion. "
    "That of admit is for other queries and weighs all pairs alike, so that it is wider where "
    "pairs of a query resemble each other."
)


def document(result: AdmissionPlan) -> Document:
    """Pairs to judge and their cost, then the strata and the figures; CSV is the sample."""
    header = ("query", "document", "stratum", "inclusion")
    return made(
        summary(result),
        Table("the judge's grades", _strata(result)),
        Table(f"figures, and pairs for ±{result.width:g}", _figures(result)),
        _PLAN_LIMIT,
        rows=PlainRows(header, list(result.sample.iter_rows())),
    )


def summary(result: AdmissionPlan) -> str:
    """Summarize the pairs to judge, the expected width, and the cost."""
    count, name = len(result.sample), make_printable(result.judge.name)
    pairs = f"{count:,} pairs for people to judge" if count else "nothing more to judge"
    message = (
        f"{name}: {pairs}; {_NAMES[result.figure]} {'will then be' if count else 'is'} known to "
        f"±{result.reached:.4f} (±{result.width:g} asked)"
    )
    if count and result.wider is not None and result.reached_high is not None:
        message += (
            f"; wider than asked in {result.wider:.0%} of cases, in 95% at most "
            f"±{result.reached_high:.4f}"
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
