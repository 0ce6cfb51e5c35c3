"""The document and the report page on the agreement of raters.

The document shows alarms first, then coefficients, raters, grades and queries. The report page
has a headline, charts and tables.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rankgate.core.present.document_model import (
    SOFT,
    Chart,
    Document,
    Grid,
    PlainRows,
    Section,
    Table,
    Warnings,
    make_printable,
)
from rankgate.core.present.document_model import make_document as made
from rankgate.core.present.number_formats import (
    UNDEFINED,
    count_noun,
    finite_or_none,
    format_interval,
    format_number,
    format_p_value,
    format_signed,
)

if TYPE_CHECKING:
    import polars as pl

    from rankgate.core.present.base_result import ReportOptions
    from rankgate.core.present.document_model import Block
    from rankgate.judging.agreement.agree import RaterAgreement
    from rankgate.judging.agreement.rater_resampling import RaterResampling


_MAX_ROWS = 15
_LIMITS = (
    "Kappas and alpha compare with the agreement that chance would give with these shares of grades: where "
    "one grade prevails they fall though raters agree (the kappa paradox); Gwet's coefficients and the raw "
    "agreement do not. Numbers of different coefficients, or of different sets of pairs, cannot be compared. "
    "Intervals are over queries, because grades of one query resemble each other. They are not over raters "
    "and do not apply to other raters."
)


def agreement_document(result: RaterAgreement) -> Document:
    """Alarms first, then coefficients, raters, grades and queries; the CSV has the coefficients."""
    rows = [
        (name, *(finite_or_none(figure) for figure in (coefficient.value, coefficient.low, coefficient.high)))
        for name, coefficient in result.found.coefficients.items()
    ]
    draw = "rankgate.judging.agreement.agreement_chart:draw_agreement"
    chart = (Chart(draw, result),) if len(result.found.pairs) else ()
    return made(
        _title(result),
        Warnings.from_notices(result.notices),
        *(Table(heading, grid) for heading, grid in grids(result)),
        *chart,
        _LIMITS,
        rows=PlainRows(("coefficient", "value", "low", "high"), rows),
    )


def grids(result: RaterAgreement) -> list[tuple[str, Grid]]:
    """Every table with its heading; empty tables are left out."""
    figures = result.found
    overlap = figures.counts["overlap"]
    level = next(iter(figures.coefficients.values())).level
    tables = [
        (
            (f"over the {count_noun(overlap, 'pair')} with two grades or more ({level:.0%} intervals)"),
            _values(result),
        ),
        (_first_rows_heading("raters", figures.raters), _raters(figures.raters)),
        ("grades", _grades(figures.grades)),
        (_first_rows_heading("pairs of raters", figures.pairs), _pairs(figures.pairs)),
        (
            _first_rows_heading("differences and correlations of raters", figures.pairs),
            _correlations(figures.pairs),
        ),
        (_first_rows_heading("queries, least agreement first", figures.queries), _queries(figures.queries)),
        ("by month", _periods(figures.periods)),
    ]
    if result.effect:
        tables += [_effect(result.effect), _components(result.effect)]
    return [(heading, grid) for heading, grid in tables if grid.rows]


def _effect(result: RaterResampling) -> tuple[str, Grid]:
    """The heading and table of the effect of other raters on the difference of two systems."""
    rows = tuple(
        (
            effect.metric,
            format_signed(effect.delta),
            format_interval(effect.low, effect.high),
            f"{effect.reversed:.0%}",
        )
        for effect in result.effects
    )
    header = ("metric", "delta", "95% of other raters", "reversed")
    names = f"{make_printable(result.candidate)} against {make_printable(result.baseline)}"
    heading = (
        f"{names} by other raters, drawn {count_noun(result.draws, 'time')} (seed {result.seed}, "
        f"{result.rule})"
    )
    return heading, Grid(header, rows)


def _components(result: RaterResampling) -> tuple[str, Grid]:
    """The heading and table of variance components by system, query and judge."""
    rows = tuple(
        (
            component.metric,
            str(component.queries),
            str(len(component.judges)),
            format_signed(component.delta),
            format_interval(component.low, component.high),
            format_p_value(component.p_value),
            *(f"{share:.0%}" for share in component.shares.values()),
        )
        for component in result.components
    )
    effects = next((tuple(component.shares) for component in result.components), ())
    header = (
        "metric",
        "queries",
        "judges",
        "delta",
        "95% of other queries\nand judges",
        "p",
        *(name.replace(" × ", "\n× ") for name in effects),
    )
    heading = (
        "values by each judge's own grades (system × query × judge, crossed random effects; shares of the "
        "variance of one value)"
    )
    return heading, Grid(header, rows)


def _title(result: RaterAgreement) -> str:
    counts = result.found.counts
    line = (
        f"agreement in {make_printable(result.found.name)}: "
        f"{count_noun(counts['ratings'], 'grade')} by {count_noun(counts['raters'], 'rater')} of "
        f"{count_noun(counts['pairs'], 'pair')}; "
        f"{count_noun(counts['overlap'], 'pair has', 'pairs have')} two grades or more, {counts['ties']} of "
        f"them without a majority"
    )
    count_texts = [
        f"{counts[name]} {description}"
        for name, description in (
            ("cannot_tell", "could not be graded"),
            ("corrected", "were corrected"),
            ("outside", "are outside the scale"),
        )
        if counts[name]
    ]
    return "; ".join([line, *count_texts])


def _values(result: RaterAgreement) -> Grid:
    rows = [
        (name, *(format_number(v, 3) for v in (coefficient.value, coefficient.low, coefficient.high)))
        for name, coefficient in result.found.coefficients.items()
    ]
    return Grid(("coefficient", "value", "low", "high"), tuple(rows))


def _raters(table: pl.DataFrame) -> Grid:
    header = (
        "rater",
        "grades",
        "can't\ntell",
        "mean",
        "also graded\nby others",
        "bias",
        f"agree{SOFT}\nment",
        "kappa with\nothers, 95%",
        "top\ngrade",
        "seconds",
    )
    columns = (
        "rater",
        "ratings",
        "cannot_tell",
        "mean",
        "overlap",
        "bias",
        "agreement",
        "kappa_low",
        "kappa_high",
        "top_share",
        "median_seconds",
    )
    rows = [
        (
            name,
            str(grades),
            str(unsure),
            format_number(mean, 2),
            str(overlap),
            format_signed(bias, 2),
            format_number(equal, 2),
            format_interval(low, high, 2),
            format_number(top, 2),
            format_number(seconds, 1),
        )
        for name, grades, unsure, mean, overlap, bias, equal, low, high, top, seconds in table.head(_MAX_ROWS)
        .select(columns)
        .iter_rows()
    ]
    grid = Grid(header, tuple(rows))
    has_times = table["median_seconds"].is_not_null().any()
    return grid if has_times else grid.columns(1, len(header) - 1)


def _grades(table: pl.DataFrame) -> Grid:
    rows = [
        (f"{grade:g}", str(count), format_number(share, 3), format_number(equal, 3))
        for grade, count, share, equal in table.iter_rows()
    ]
    return Grid(("grade", "grades\ngiven", "share", "both raters,\nif one"), tuple(rows))


def _pairs(table: pl.DataFrame) -> Grid:
    rows = [
        (
            first,
            second,
            str(overlap),
            format_number(equal, 2),
            format_number(kappa, 3),
            format_number(linear, 3),
            format_signed(bias, 2),
        )
        for first, second, overlap, equal, kappa, linear, bias, *_ in table.head(_MAX_ROWS).iter_rows()
    ]
    header = ("first", "second", "pairs", f"agree{SOFT}\nment", "Cohen's\nkappa", "linear", "bias")
    return Grid(header, tuple(rows), frozenset({0, 1}), keys=2)


def _correlations(table: pl.DataFrame) -> Grid:
    """Mean absolute differences and correlations of pairs of raters."""
    rows = [
        (
            row["first"],
            row["second"],
            format_number(row.get("mae"), 2),
            format_number(row.get("pearson"), 2),
            _with_interval(row, "spearman"),
            _with_interval(row, "kendall"),
        )
        for row in table.head(_MAX_ROWS).iter_rows(named=True)
    ]
    header = ("first", "second", "mean abs.\ndifference", "Pearson's\nr", "Spearman's rho", "Kendall's tau")
    return Grid(header, tuple(rows), frozenset({0, 1}), keys=2)


def _with_interval(row: Mapping[str, Any], name: str) -> str:
    """A coefficient with its interval, if any."""
    interval_text = format_interval(row.get(f"{name}_low"), row.get(f"{name}_high"), 2)
    value = format_number(row.get(name), 2)
    return value if interval_text == UNDEFINED else f"{value} {interval_text}"


def _queries(table: pl.DataFrame) -> Grid:
    rows = [
        (
            query,
            str(overlap),
            format_number(equal, 2),
            format_number(deviation, 2),
            format_number(difference, 2),
        )
        for query, overlap, equal, deviation, difference in table.head(_MAX_ROWS).iter_rows()
    ]
    header = ("query", "pairs", f"agree{SOFT}\nment", "spread", "mean abs.\ndifference")
    return Grid(header, tuple(rows))


def _periods(table: pl.DataFrame) -> Grid:
    rows = [
        (month, str(overlap), format_number(equal, 2), format_number(mean, 2))
        for month, overlap, equal, mean in table.iter_rows()
    ]
    return Grid(("month", "pairs", f"agree{SOFT}\nment", "mean"), tuple(rows))


def _first_rows_heading(heading: str, table: pl.DataFrame) -> str:
    return heading if len(table) <= _MAX_ROWS else f"{heading} (the first {_MAX_ROWS} of {len(table)})"


_CHART = "rankgate.judging.agreement.agreement_chart"
_HEADLINE = "alpha, ordinal"


def agreement_report_document(result: RaterAgreement, _: ReportOptions) -> Document:
    """The most important coefficient and the alarms, charts, then the tables."""
    plain_document = agreement_document(result)
    blocks = [block for section in plain_document.sections for block in section.blocks]
    alarms: list[Block] = [block for block in blocks if isinstance(block, Warnings)]
    tables = [block for block in blocks if not isinstance(block, Chart | Warnings)]
    charts = (Chart(f"{_CHART}:coefficients", result), Chart(f"{_CHART}:draw_agreement", result))
    sections = (
        Section("agreement", "Agreement", (*alarms, *charts)),
        Section("tables", "Coefficients, raters, grades and queries", tuple(tables), "Tables"),
    )
    return replace(
        plain_document, title=result.heading, lead=(sentence(result), plain_document.title), sections=sections
    )


def sentence(result: RaterAgreement) -> str:
    """Krippendorff's alpha and the number of alarms, as a sentence."""
    coefficient = result.found.coefficients[_HEADLINE]
    count = len(result.alarms)
    alarms = count_noun(count, "warning") if count else "no warnings"
    if not math.isfinite(coefficient.value):
        return f"Krippendorff's alpha (ordinal) has no value; {alarms}."
    bounds_text = f" (95% interval [{coefficient.low:z.3f}, {coefficient.high:z.3f}])"
    interval_text = bounds_text if math.isfinite(coefficient.low) else " (too few queries for an interval)"
    return f"Krippendorff's alpha (ordinal) is {coefficient.value:z.3f}{interval_text}; {alarms}."
