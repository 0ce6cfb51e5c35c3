"""The agreement of raters: alarms first, then coefficients, raters, grades and queries."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.core.present.document import Chart, Document, PlainRows, Table, Warnings
from rankgate.core.present.document import document as made
from rankgate.core.present.figures import interval, number, p_value, signed
from rankgate.core.present.grid import SOFT, Grid, printable
from rankgate.core.present.numbers import UNDEFINED, known

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    from rankgate.judging.agreement.agreement import RaterAgreement
    from rankgate.judging.agreement.rater_resampling import RaterResampling

_SHOWN = 15
_LIMITS = (
    "Kappas and alpha compare with the agreement that chance would give with these shares of "
    "grades: where one grade prevails they fall though raters agree (the kappa paradox); Gwet's "
    "coefficients and the raw agreement do not. Numbers of different coefficients, or of different "
    "sets of pairs, cannot be compared. Intervals resample queries, as grades of one query "
    "resemble each other; they do not resample raters and say nothing about other raters."
)


def document(result: RaterAgreement) -> Document:
    """Alarms first, then coefficients, raters, grades and queries; CSV has the coefficients."""
    rows = [
        (name, *(known(each) for each in (found.value, found.low, found.high)))
        for name, found in result.found.coefficients.items()
    ]
    draw = "rankgate.judging.agreement.chart:draw"
    chart = (Chart(draw, result),) if len(result.found.pairs) else ()
    return made(
        _title(result),
        Warnings(tuple(notice.text for notice in result.notices)),
        *(Table(heading, grid) for heading, grid in grids(result)),
        *chart,
        _LIMITS,
        rows=PlainRows(("coefficient", "value", "low", "high"), rows),
    )


def grids(result: RaterAgreement) -> list[tuple[str, Grid]]:
    """Every table with its heading; tables that would be empty are left out."""
    found = result.found
    both = found.counts["overlap"]
    level = next(iter(found.coefficients.values())).level
    tables = [
        (f"over the {both} pairs with two grades or more ({level:.0%} intervals)", _values(result)),
        (_first("raters", found.raters), _raters(found.raters)),
        ("grades", _grades(found.grades)),
        (_first("pairs of raters", found.pairs), _pairs(found.pairs)),
        (_first("differences and correlations of raters", found.pairs), _correlations(found.pairs)),
        (_first("queries, least agreement first", found.queries), _queries(found.queries)),
        ("by month", _periods(found.periods)),
    ]
    if result.effect:
        tables += [_effect(result.effect), _components(result.effect)]
    return [(heading, grid) for heading, grid in tables if grid.rows]


def _effect(result: RaterResampling) -> tuple[str, Grid]:
    """What raters do to the difference of two systems."""
    rows = tuple(
        (each.metric, signed(each.delta), interval(each.low, each.high), f"{each.reversed:.0%}")
        for each in result.effects
    )
    head = ("metric", "delta", "95% of other raters", "reversed")
    names = f"{printable(result.candidate)} against {printable(result.baseline)}"
    words = (
        f"{names} by other raters, drawn {result.draws} times (seed {result.seed}, {result.rule})"
    )
    return words, Grid(head, rows)


def _components(result: RaterResampling) -> tuple[str, Grid]:
    """What the model system × query × judge says of each metric."""
    rows = tuple(
        (
            each.metric,
            str(each.queries),
            str(len(each.judges)),
            signed(each.delta),
            interval(each.low, each.high),
            p_value(each.p_value),
            *(f"{share:.0%}" for share in each.shares.values()),
        )
        for each in result.components
    )
    effects = next((tuple(each.shares) for each in result.components), ())
    head = ("metric", "queries", "judges", "delta", "95% of other queries\nand judges", "p",
            *(name.replace(" × ", "\n× ") for name in effects))  # fmt: skip
    words = (
        "values by each judge's own grades (system × query × judge, crossed random effects; shares "
        "of the variance of one value)"
    )
    return words, Grid(head, rows)


def _title(result: RaterAgreement) -> str:
    counts = result.found.counts
    line = (
        f"agreement in {printable(result.found.name)}: {counts['ratings']} grades by "
        f"{counts['raters']} raters of {counts['pairs']} pairs; {counts['overlap']} pairs have "
        f"two grades or more, {counts['ties']} of them without a majority"
    )
    more = [
        f"{counts[name]} {words}"
        for name, words in (
            ("cannot_tell", "could not be graded"),
            ("corrected", "were corrected"),
            ("outside", "are outside the scale"),
        )
        if counts[name]
    ]
    return "; ".join([line, *more])


def _values(result: RaterAgreement) -> Grid:
    rows = [
        (name, *(number(v, 3) for v in (each.value, each.low, each.high)))
        for name, each in result.found.coefficients.items()
    ]
    return Grid(("coefficient", "value", "low", "high"), tuple(rows))


def _raters(table: pl.DataFrame) -> Grid:
    head = ("rater", "grades", "can't\ntell", "mean", "also graded\nby others", "bias",
            f"agree{SOFT}\nment", "kappa with\nothers, 95%", "top\ngrade", "seconds")  # fmt: skip
    columns = ("rater", "ratings", "cannot_tell", "mean", "overlap", "bias", "agreement",
               "kappa_low", "kappa_high", "top_share", "median_seconds")  # fmt: skip
    rows = [
        (who, str(grades), str(unsure), number(mean, 2), str(overlap), signed(bias, 2),
         number(equal, 2), interval(low, high, 2), number(top, 2), number(seconds, 1))
        for who, grades, unsure, mean, overlap, bias, equal, low, high, top, seconds
        in table.head(_SHOWN).select(columns).iter_rows()
    ]  # fmt: skip
    whole = Grid(head, tuple(rows))
    timed = table["median_seconds"].is_not_null().any()
    return whole if timed else whole.columns(1, len(head) - 1)


def _grades(table: pl.DataFrame) -> Grid:
    rows = [
        (f"{grade:g}", str(count), number(share, 3), number(equal, 3))
        for grade, count, share, equal in table.iter_rows()
    ]
    return Grid(("grade", "grades\ngiven", "share", "both raters,\nif one"), tuple(rows))


def _pairs(table: pl.DataFrame) -> Grid:
    rows = [
        (
            first,
            second,
            str(overlap),
            number(equal, 2),
            number(kappa, 3),
            number(linear, 3),
            signed(bias, 2),
        )
        for first, second, overlap, equal, kappa, linear, bias, *_ in table.head(_SHOWN).iter_rows()
    ]
    head = ("first", "second", "pairs", f"agree{SOFT}\nment", "Cohen's\nkappa", "linear", "bias")
    return Grid(head, tuple(rows), frozenset({0, 1}), keys=2)


def _correlations(table: pl.DataFrame) -> Grid:
    """How far grades of two raters lie apart, and how they go together."""
    rows = [
        (
            row["first"],
            row["second"],
            number(row.get("mae"), 2),
            number(row.get("pearson"), 2),
            _with_ends(row, "spearman"),
            _with_ends(row, "kendall"),
        )
        for row in table.head(_SHOWN).iter_rows(named=True)
    ]
    head = ("first", "second", "mean abs.\ndifference", "Pearson's\nr", "Spearman's rho",
            "Kendall's tau")  # fmt: skip
    return Grid(head, tuple(rows), frozenset({0, 1}), keys=2)


def _with_ends(row: Mapping[str, Any], name: str) -> str:
    """A coefficient with its interval, if it has one."""
    ends = interval(row.get(f"{name}_low"), row.get(f"{name}_high"), 2)
    return f"{number(row.get(name), 2)}{'' if ends == UNDEFINED else f' {ends}'}"


def _queries(table: pl.DataFrame) -> Grid:
    rows = [
        (query, str(overlap), number(equal, 2), number(spread, 2), number(gap, 2))
        for query, overlap, equal, spread, gap in table.head(_SHOWN).iter_rows()
    ]
    head = ("query", "pairs", f"agree{SOFT}\nment", "spread", "mean abs.\ndifference")
    return Grid(head, tuple(rows))


def _periods(table: pl.DataFrame) -> Grid:
    rows = [
        (month, str(overlap), number(equal, 2), number(mean, 2))
        for month, overlap, equal, mean in table.iter_rows()
    ]
    return Grid(("month", "pairs", f"agree{SOFT}\nment", "mean"), tuple(rows))


def _first(what: str, table: pl.DataFrame) -> str:
    return what if len(table) <= _SHOWN else f"{what} (the first {_SHOWN} of {len(table)})"
