"""Document and report page of a scorecard, and the tables of both.

The tables come first. A scorecard has one row per metric and one column per system, with intervals
below the values and marks for systems that differ. The page shows significant differences, the
table of all metrics, and charts.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import replace
from itertools import product
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.present.document_model import (
    Chart,
    Document,
    Grid,
    PlainRows,
    Points,
    Section,
    Table,
    make_printable,
)
from rankgate.core.present.layout import Sentence, View, fill, is_true, sentences
from rankgate.core.present.number_formats import UNDEFINED, count_noun, format_signed, list_names
from rankgate.measurement.evaluation.seed_spread import SEED_SPREAD
from rankgate.recommenders.scorecard_figures import TAIL

if TYPE_CHECKING:
    from rankgate.core.present.base_result import ReportOptions
    from rankgate.recommenders.scorecard import Scorecard


BETTER, WORSE = "▲", "▼"
_LARGE_VALUE = 10
_Row = dict[str, Any]


def bracketed_interval(low: float | None, high: float | None) -> str:
    """An interval in brackets, as in statistics.

    >>> bracketed_interval(0.12345, 0.2), bracketed_interval(None, None)
    ('[0.123, 0.200]', '–')
    """
    if low is None or high is None:
        return UNDEFINED
    digits = _digits(low, high)
    return f"[{low:z.{digits}f}, {high:z.{digits}f}]"


def range_text(low: float | None, high: float | None) -> str:
    """An interval in short form.

    >>> range_text(0.12345, 0.2), range_text(-1.0, -0.5)
    ('0.123–0.200', '-1.000…-0.500')
    """
    if low is None or high is None:
        return UNDEFINED
    digits = _digits(low, high)
    return f"{low:z.{digits}f}{'–' if min(low, high) >= 0 else '…'}{high:z.{digits}f}"


def card_grid(
    result: Scorecard,
    ends: Callable[[float | None, float | None], str] = bracketed_interval,
    *,
    by: str | None = None,
) -> Grid:
    """A row for each metric (for slices also each part), and a row below with the intervals."""
    rows: list[tuple[str, ...]] = []
    last = None
    for metric, part_value, system_rows in _rows(result, by):
        metric_label = _metric_label(metric, higher=system_rows[0]["higher_is_better"])
        if part_value is not None and metric != last:
            rows.append((metric_label, *[""] * len(system_rows)))
        last = metric
        label = metric_label if part_value is None else f"· {part_value} ({_base(system_rows[0])})"
        rows.append(
            (label, *(f"{_number(row['value'])} {_significance_mark(row, result)}" for row in system_rows))
        )
        if any(row["low"] is not None for row in system_rows):
            rows.append(("", *(ends(row["low"], row["high"]) for row in system_rows)))
    return Grid(("metric", *result.systems), tuple(rows))


def flat_grid(result: Scorecard, *, by: str | None = None) -> Grid:
    """The same, with every interval next to its value, so that each row is complete."""
    rows = []
    for metric, part_value, system_rows in _rows(result, by):
        labels = [_metric_label(metric, higher=system_rows[0]["higher_is_better"])]
        if part_value is not None:
            labels += [part_value, _base(system_rows[0])]
        cells = [
            f"{_number(row['value'])} {_significance_mark(row, result)}".strip()
            + (f" {bracketed_interval(row['low'], row['high'])}" if row["low"] is not None else "")
            for row in system_rows
        ]
        rows.append((*labels, *cells))
    kind_of_slice = result.slices.filter(pl.col("slice") == by)["of"].first() if by else None
    return Grid(
        ("metric", *([str(by), str(kind_of_slice)] if by else []), *result.systems),
        tuple(rows),
        frozenset({0, 1} if by else {0}),
    )


def _base(row: _Row) -> str:
    """The number of users whose values are averaged, or of items in a part of the items."""
    return f"{row['users' if row['of'] == 'users' else 'size']:,}"


def _rows(result: Scorecard, slice_name: str | None) -> Iterator[tuple[str, str | None, list[_Row]]]:
    """Each metric (for a slice, with each part) and the values of all systems."""
    parts: list[str | None] = [None]
    if slice_name is None:
        figures = result.figures.join(
            result.differences.select("system", "metric", "p_value", "better"),
            on=["system", "metric"],
            how="left",
            maintain_order="left",
        ).with_columns(pl.lit(None, pl.String).alias("part"))
    else:
        figures = result.slices.filter(pl.col("slice") == slice_name)
        parts = figures["part"].unique(maintain_order=True).to_list()
    cells = {(row["metric"], row["part"], row["system"]): row for row in figures.iter_rows(named=True)}
    for metric, part_value in product(result.metrics, parts):
        if (metric, part_value, result.systems[0]) in cells:  # metrics of lists have no parts of pairs
            yield (metric, part_value, [cells[metric, part_value, system] for system in result.systems])


def gap_grid(result: Scorecard, by: str, *, flat: bool = False) -> Grid:
    """The gaps of each part's users to all other users, for each metric with a value per user.

    Args:
        result: the scorecard.
        by: the slice.
        flat: True if each row is complete on its own.
    """
    figures = result.gaps.filter(pl.col("slice") == by)
    higher = dict(result.figures.select("metric", "higher_is_better").iter_rows())
    cells = {(row["metric"], row["part"], row["system"]): row for row in figures.iter_rows(named=True)}
    rows: list[tuple[str, ...]] = []
    for metric in figures["metric"].unique(maintain_order=True):
        metric_label = _metric_label(metric, higher=higher[metric])
        rows += [] if flat else [(metric_label, *[""] * len(result.systems))]
        for part_value in figures["part"].unique(maintain_order=True):
            system_rows = [cells[metric, part_value, system] for system in result.systems]
            labels = (metric_label, part_value) if flat else (f"· {part_value}",)
            rows.append(
                (
                    *labels,
                    *(
                        f"{format_signed(row['gap'])} {_significance_mark(row, result)}"
                        for row in system_rows
                    ),
                )
            )
    if flat:
        return Grid(("gap", by, *result.systems), tuple(rows), frozenset({0, 1}))
    return Grid(("gap", *result.systems), tuple(rows))


def part_table(result: Scorecard) -> tuple[list[str], Iterable[tuple[Any, ...]]]:
    """The columns and rows of one long table: all values for all users, then for each part."""
    differences = result.differences.rename({"low": "delta_low", "high": "delta_high"})
    joined = result.figures.join(differences, on=["system", "metric"], how="left", maintain_order="left")
    table = pl.concat([joined, result.slices], how="diagonal_relaxed")
    return table.columns, table.iter_rows()


def _metric_label(metric: str, *, higher: bool) -> str:
    return f"{metric} {'↑' if higher else '↓'}"


def _significance_mark(row: Mapping[str, Any], result: Scorecard) -> str:
    """The sign of a significant difference or gap; a blank for others, so that columns align."""
    if row["p_value"] is None or row["p_value"] >= 1 - result.level:
        return " "
    return BETTER if row["better"] else WORSE


def _number(value: float | None) -> str:
    """A number with four decimals, or with one decimal if it is large."""
    if value is None:
        return UNDEFINED
    return f"{value:z.4f}" if abs(value) < _LARGE_VALUE else f"{value:.1f}"


def _digits(low: float, high: float) -> int:
    return 3 if max(abs(low), abs(high)) < _LARGE_VALUE else 1


_SLICE_NOTES = {
    "activity": "users without an item in training are new, those with at most the median number of the "
    "others light, the rest heavy",
    "history": "repeat: pairs of user and item that training has, new: all others; judgments and lists of "
    "these pairs only, lists closed up before they are cut",
    "popularity": "the head is the most popular fifth of the catalogue; accuracy by the relevant items "
    "there, lists as if they showed only these",
}
_ITEM_SLICE_NOTE = "accuracy by the relevant items among these, lists as if they showed only these"


def scorecard_document(result: Scorecard) -> Document:
    """The scorecard, its slices, and notes; CSV has a row for each value."""
    sections = [Section("card", "Systems", (_card(result),))]
    if len(result.seeds):
        spread = Table("", SEED_SPREAD.grid(result.seeds, keys=2))
        sections.append(Section("seeds", "Between seeds", (spread,)))
    for i, name in enumerate(slice_names(result)):
        blocks = [_card(result, name)]
        if (grid := gap_grid(result, name)).rows:
            plain = (gap_grid(result, name, flat=False),)
            blocks.append(Table("Gaps: these users less all others", grid, plain=plain))
            blocks += _FAIRNESS_VIEW._replace(row_filter=pl.col("slice") == name).blocks(result)
        sections.append(Section(f"by-{i}", f"By {make_printable(name)}", tuple(blocks)))
    first, *further_notes = card_notes(result)
    sections.append(Section("notes", "What to know", (Points(tuple(further_notes)),)))
    columns, rows = part_table(result)
    return Document("Scorecard", "", (first,), tuple(sections), PlainRows(tuple(columns), list(rows)))


_FAIRNESS_VIEW = View(
    "fairness",
    "Fairness: the part served worst, and how unequal parts are",
    ("metric", "system", "part", "worst", "gap", "cvar"),
    headers={
        "part": "worst part",
        "worst": "its value",
        "gap": "gap to the best",
        "cvar": f"CVaR {TAIL:.0%}",
    },
    keys=2,
)


def _card(result: Scorecard, slice_name: str = "") -> Table:
    """One system with intervals in brackets; several systems with ranges, if the space is small."""
    wide_grid = card_grid(result, by=slice_name) if slice_name else card_grid(result)
    narrow_grid = (
        card_grid(result, range_text, by=slice_name) if slice_name else card_grid(result, range_text)
    )
    plain = (wide_grid,) if len(result.systems) == 1 else (wide_grid, narrow_grid)
    return Table("", flat_grid(result, by=slice_name) if slice_name else flat_grid(result), plain=plain)


def slice_names(result: Scorecard) -> list[str]:
    """The slices of users and items, in order."""
    return result.slices["slice"].unique(maintain_order=True).to_list()


def card_notes(result: Scorecard) -> list[str]:
    """The notes below the scorecard, one line each."""
    names = slice_names(result)
    kind_of_slice = dict(result.slices.select("slice", "of").unique().iter_rows())
    explanations = {
        name: _SLICE_NOTES.get(name) or (_ITEM_SLICE_NOTE if kind_of_slice[name] == "items" else "")
        for name in names
    }
    values = {"alpha": 1 - result.level, "slice_note": _SLICE_NOTE if names else ""}
    return [
        *(fill(text, result, values) for text, condition in _NOTES if is_true(condition, result)),
        *(
            f"{make_printable(name)}: {explanation}"
            for name, explanation in explanations.items()
            if explanation
        ),
        *(fill(_DOMINATED, None, {"system": system, "other": other}) for system, other in result.dominated),
        *sentences((_NONE_DOMINATED,), result),
        *result.warnings,
    ]


_SLICE_NOTE = "; in slices for all differences of a slice (Benjamini-Hochberg)"
_NOTES = (
    Sentence(
        "{users:n user} of {qrels}, {catalogue:n item}, convention {convention[name]}; {level:.0%} intervals "
        "over users"
    ),
    Sentence(
        f"{BETTER} better, {WORSE} worse than {{systems[0]}}: p < {{alpha:.2g}}, corrected for "
        "{differences:n comparison} (Holm){slice_note}",
        lambda card: len(card.systems) > 1,
    ),
    Sentence(
        "values are means over seeds; intervals and marks are about other users and other seeds, gaps about "
        "these seeds",
        "seeds",
    ),
    Sentence(
        f"gaps: {BETTER} the users are served better than all others by that system, {WORSE} worse "
        "(Benjamini-Hochberg over a slice)",
        "gaps",
    ),
    Sentence(
        f"fairness: CVaR is the mean over the {TAIL:.0%} of the users who are in the parts served worst; "
        "parts of few users widen the gap by chance",
        "gaps",
    ),
)
_DOMINATED = "{system} is dominated: {other} is as good by every metric here, and better by some"
_NONE_DOMINATED = Sentence(
    "no system is dominated: each is better than each other by some metric here",
    lambda card: len(card.systems) > 1 and not card.dominated,
)
_MAX_METRICS = 4  # metrics to name in a sentence


def scorecard_report_document(result: Scorecard, _: ReportOptions) -> Document:
    """The outline of a scorecard below a headline, with charts below its table."""
    document_ = scorecard_document(result)
    card, *other_sections = document_.sections
    charts = (Chart("scorecard", result), Chart("pareto", result))
    first = replace(card, blocks=(*card.blocks, *charts))
    lead = (sentence(result), *document_.lead)
    return replace(document_, lead=lead, sections=(first, *other_sections))


def sentence(result: Scorecard) -> str:
    """The metrics by which each system differs significantly from the first."""
    base, *other_systems = result.systems
    if not other_systems:
        return f"{make_printable(base)} by {count_noun(len(result.metrics), 'metric')}."
    parts = [
        f"{make_printable(name)} is significantly {' and '.join(differences)}"
        for name in other_systems
        if (differences := _differences(result, name))
    ]
    if not parts:
        return f"No system differs significantly from {make_printable(base)} by any metric."
    similar_count = len(other_systems) - len(parts)
    similar_note = f"; {similar_count} without a significant difference" if similar_count else ""
    return f"Against {make_printable(base)}: {'; '.join(parts)}{similar_note}."


def _differences(result: Scorecard, system: str) -> list[str]:
    table = result.differences
    significant = table.filter((pl.col("system") == system) & (pl.col("p_value") < 1 - result.level))
    clauses = []
    for word, better in (("better", True), ("worse", False)):
        names = significant.filter(pl.col("better") == better)["metric"].to_list()
        clauses += [f"{word} by {list_names(names, _MAX_METRICS)}"] if names else []
    return clauses
