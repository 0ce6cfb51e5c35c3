"""The agreement of raters: alarms first, then coefficients, raters, grades and queries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.present.document import Chart, Document, PlainRows, Table, Warnings
from rankgate.present.document import document as made
from rankgate.present.figures import interval, number, signed
from rankgate.present.grid import SOFT, Grid, printable
from rankgate.present.numbers import known

if TYPE_CHECKING:
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
        Warnings(tuple(each.what for each in result.alarms)),
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
        (_first("queries, least agreement first", found.queries), _queries(found.queries)),
        ("by month", _periods(found.periods)),
    ]
    if result.effect:
        tables.append(_effect(result.effect))
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


def _queries(table: pl.DataFrame) -> Grid:
    rows = [
        (query, str(overlap), number(equal, 2), number(spread, 2))
        for query, overlap, equal, spread in table.head(_SHOWN).iter_rows()
    ]
    return Grid(("query", "pairs", f"agree{SOFT}\nment", "spread"), tuple(rows))


def _periods(table: pl.DataFrame) -> Grid:
    rows = [
        (month, str(overlap), number(equal, 2), number(mean, 2))
        for month, overlap, equal, mean in table.iter_rows()
    ]
    return Grid(("month", "pairs", f"agree{SOFT}\nment", "mean"), tuple(rows))


def _first(what: str, table: pl.DataFrame) -> str:
    return what if len(table) <= _SHOWN else f"{what} (the first {_SHOWN} of {len(table)})"
