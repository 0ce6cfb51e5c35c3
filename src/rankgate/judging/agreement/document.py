"""The agreement of raters: alarms first, then coefficients, raters, grades and queries."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.present import as_csv, as_json, as_markdown
from rankgate.present.as_text import WIDTH, fitted
from rankgate.present.figures import interval, signed
from rankgate.present.grid import SOFT, Grid, printable
from rankgate.present.numbers import UNDEFINED
from rankgate.present.paragraphs import wrapped

if TYPE_CHECKING:
    import polars as pl

    from rankgate.judging.agreement.agree import Agreed
    from rankgate.judging.agreement.rater_resampling import Rerated

FORMS = ("text", "json", "csv", "markdown")
"""The forms of agreement, by the name that ``--format`` takes."""

_SHOWN = 15
_LIMITS = (
    "Kappas and alpha compare with chance as the grades at hand make it: where one grade "
    "prevails they fall though raters agree (the kappa paradox); Gwet's coefficients and the raw "
    "agreement do not. Two numbers of different coefficients, or of different sets of pairs, do "
    "not compare. Intervals resample pairs, not raters: they say nothing about other raters."
)


def render(told: Agreed, form: str, width: int = WIDTH) -> str:
    """The result in one of `FORMS`; CSV has the coefficients alone."""
    if form == "json":
        return as_json.dumped(told.to_dict())
    if form == "csv":
        rows = [
            (name, each.value, each.low, each.high)
            for name, each in told.found.coefficients.items()
        ]
        return as_csv.written(("coefficient", "value", "low", "high"), rows)
    parts = [_title(told, width), *_alarms(told, width)]
    for heading, grid in grids(told):
        table = as_markdown.table(grid) if form == "markdown" else fitted(grid, width)
        parts.append(f"{heading}\n{table}".rstrip() if form == "text" else f"{heading}\n\n{table}")
    parts.append("\n".join(wrapped(_LIMITS, min(width, 100))))
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"


def grids(told: Agreed) -> list[tuple[str, Grid]]:
    """Every table with its heading; tables that would be empty are left out."""
    found = told.found
    both = found.counts["overlap"]
    level = next(iter(found.coefficients.values())).level
    tables = [
        (f"over the {both} pairs with two grades or more ({level:.0%} intervals)", _values(told)),
        (_first("raters", found.raters), _raters(found.raters)),
        ("grades", _grades(found.grades)),
        (_first("pairs of raters", found.pairs), _pairs(found.pairs)),
        (_first("queries, least agreement first", found.queries), _queries(found.queries)),
        ("by month", _periods(found.periods)),
    ]
    if told.effect:
        tables.append(_effect(told.effect))
    return [(heading, grid) for heading, grid in tables if grid.rows]


def _effect(told: Rerated) -> tuple[str, Grid]:
    """What raters do to the difference of two systems."""
    rows = tuple(
        (each.metric, signed(each.delta), interval(each.low, each.high), f"{each.reversed:.0%}")
        for each in told.effects
    )
    head = ("metric", "delta", "95% of other raters", "reversed")
    names = f"{printable(told.candidate)} against {printable(told.baseline)}"
    words = f"{names} by other raters, drawn {told.draws} times (seed {told.seed}, {told.rule})"
    return words, Grid(head, rows)


def _title(told: Agreed, width: int) -> str:
    counts = told.found.counts
    line = (
        f"agreement in {printable(told.found.name)}: {counts['ratings']} grades by "
        f"{counts['raters']} raters of {counts['pairs']} pairs; {counts['overlap']} pairs have "
        f"two grades or more, {counts['ties']} of them without a majority"
    )
    more = [
        f"{counts[name]} {words}"
        for name, words in (("cannot_tell", "could not be told"), ("corrected", "were corrected"))
        if counts[name]
    ]
    return "\n".join(wrapped("; ".join([line, *more]), width))


def _alarms(told: Agreed, width: int) -> list[str]:
    return ["\n".join(wrapped(f"! {each.what}", width)) for each in told.alarms]


def _values(told: Agreed) -> Grid:
    rows = [
        (name, _number(each.value), _number(each.low), _number(each.high))
        for name, each in told.found.coefficients.items()
    ]
    return Grid(("coefficient", "value", "low", "high"), tuple(rows))


def _raters(table: pl.DataFrame) -> Grid:
    head = ("rater", "grades", "can't\ntell", "mean", "also graded\nby others", "bias",
            f"agree{SOFT}\nment", "top\ngrade", "seconds")  # fmt: skip
    rows = [
        (who, str(grades), str(unsure), _number(mean, 2), str(overlap), _signed(bias),
         _number(equal, 2), _number(top, 2), _number(seconds, 1))
        for who, grades, unsure, mean, overlap, bias, equal, top, seconds in table.head(_SHOWN)
        .select("rater", "ratings", "cannot_tell", "mean", "overlap", "bias", "agreement",
                "top_share", "median_seconds")
        .iter_rows()
    ]  # fmt: skip
    whole = Grid(head, tuple(rows))
    timed = table["median_seconds"].is_not_null().any()
    return whole if timed else whole.columns(1, len(head) - 1)


def _grades(table: pl.DataFrame) -> Grid:
    rows = [
        (f"{grade:g}", str(count), _number(share, 3), _number(equal, 3))
        for grade, count, share, equal in table.iter_rows()
    ]
    return Grid(("grade", "grades\ngiven", "share", "both raters,\nif one"), tuple(rows))


def _pairs(table: pl.DataFrame) -> Grid:
    rows = [
        (first, second, str(overlap), _number(equal, 2), _number(kappa), _number(linear),
         _signed(bias))
        for first, second, overlap, equal, kappa, linear, bias, *_ in table.head(_SHOWN).iter_rows()
    ]  # fmt: skip
    head = ("first", "second", "pairs", f"agree{SOFT}\nment", "Cohen's\nkappa", "linear", "bias")
    return Grid(head, tuple(rows), frozenset({0, 1}), keys=2)


def _queries(table: pl.DataFrame) -> Grid:
    rows = [
        (query, str(overlap), _number(equal, 2), _number(spread, 2))
        for query, overlap, equal, spread in table.head(_SHOWN).iter_rows()
    ]
    return Grid(("query", "pairs", f"agree{SOFT}\nment", "spread"), tuple(rows))


def _periods(table: pl.DataFrame) -> Grid:
    rows = [
        (month, str(overlap), _number(equal, 2), _number(mean, 2))
        for month, overlap, equal, mean in table.iter_rows()
    ]
    return Grid(("month", "pairs", f"agree{SOFT}\nment", "mean"), tuple(rows))


def _first(what: str, table: pl.DataFrame) -> str:
    return what if len(table) <= _SHOWN else f"{what} (the first {_SHOWN} of {len(table)})"


def _number(value: float | None, digits: int = 3) -> str:
    return UNDEFINED if value is None or value != value else f"{value:z.{digits}f}"  # noqa: PLR0124


def _signed(value: float | None) -> str:
    return UNDEFINED if value is None else f"{value:+z.2f}"
