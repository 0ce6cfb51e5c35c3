"""Render a report of comparisons: headline, changes, and worst queries with both lists."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rankgate.core.present.document import Chart, Document, FoldedBlock, Section, Table
from rankgate.core.present.figures import (
    format_interval,
    format_p_value,
    format_signed,
    format_wins,
)
from rankgate.core.present.grid import Grid, make_printable
from rankgate.core.present.numbers import format_decimal
from rankgate.decisions.comparison.documents import changes
from rankgate.decisions.comparison.documents.comparison import notes
from rankgate.decisions.comparison.documents.heads import format_interval_heading, format_p_heading
from rankgate.decisions.comparison.documents.leaderboard import leaderboard
from rankgate.decisions.comparison.documents.sentence import overall_sentence
from rankgate.decisions.comparison.documents.systems import many_grids

if TYPE_CHECKING:
    from rankgate.core.present.document import Block
    from rankgate.core.present.result import ReportOptions
    from rankgate.decisions.comparison.comparison import Comparison, Comparisons

_FOREST = "rankgate.decisions.comparison.charts.forest:draw"


def document(result: Comparisons, options: ReportOptions) -> Document:
    """Render one candidate query by query; of several a table of all systems first.

    Args:
        result: the comparisons.
        options: texts of queries and documents, and the number of queries with lists.
    """
    first_comparison, count = result.only, len(result.comparisons)
    names = f"{count} systems" if count > 1 else first_comparison.candidate.name
    sections = _many_sections(result, options) if count > 1 else _single_sections(result, options)
    return Document(
        f"{names} against {first_comparison.baseline.name}",
        lead=(_headline(result), changes.source_sentence(first_comparison)),
        sections=tuple(sections),
    )


def _headline(result: Comparisons) -> str:
    return (
        changes.sentence(result.only) if len(result.comparisons) == 1 else overall_sentence(result)
    )


def _single_sections(result: Comparisons, options: ReportOptions) -> list[Section]:
    grid, caption = leaderboard(result)
    systems = Section("systems", "All systems", (Table("", grid), caption, notes(result.only)))
    return [*changes.sections(result.only, f"{options.place}-0", options), systems]


def _many_sections(result: Comparisons, options: ReportOptions) -> list[Section]:
    """The table of all systems, differences and their chart, then each system folded."""
    first_comparison, baseline_name = result.only, result.only.baseline.name
    metric = first_comparison.names[0]
    grid, caption = leaderboard(result, best_first=True)
    sorted_comparisons = sorted(
        enumerate(result.comparisons),
        key=lambda index_and_comparison: _gain_key(index_and_comparison[1]),
    )
    blocks: list[Block] = [
        Table(f"best {metric} first", grid),
        caption,
        _differences(
            result,
            [(f"change-{options.place}-{i}", comparison) for i, comparison in sorted_comparisons],
        ),
        Chart(_FOREST, _select_metrics(result, 0, 1)),
        notes(first_comparison, several=True),
    ]
    if len(first_comparison.names) > 1:
        other_chart = Chart(_FOREST, _select_metrics(result, 1))
        blocks.append(
            FoldedBlock(
                f"metrics-{options.place}",
                f"Differences from {baseline_name} by other metrics",
                (other_chart,),
            )
        )
    folded_systems = []
    for i, comparison in sorted_comparisons:
        position = f"{options.place}-{i}"
        candidate_changes = changes.make_changes(comparison, position, options)
        blocks_of_candidate = (
            changes.sentence(comparison),
            *candidate_changes.figures,
            *candidate_changes.queries,
        )
        row = comparison.metrics.row(0, named=True)
        delta, p_value = format_signed(row["delta"]), format_p_value(row["p_value"])
        figures = f"{format_decimal(row['candidate'])} ({delta}, p {p_value})"
        folded_systems.append(
            FoldedBlock(
                f"change-{position}", comparison.candidate.name, blocks_of_candidate, figures
            )
        )
    systems_section = Section(
        "each", f"Each system against {baseline_name}", tuple(folded_systems), "Each system"
    )
    return [
        Section("systems", "All systems", tuple(blocks)),
        *_statistics(result, options),
        systems_section,
    ]


def _select_metrics(result: Comparisons, start: int, end: int | None = None) -> Comparisons:
    """Keep some metrics of the comparisons."""
    comparisons = tuple(
        replace(comparison, metrics=comparison.metrics[start:end])
        for comparison in result.comparisons
    )
    return replace(result, comparisons=comparisons)


def _gain_key(result: Comparison) -> tuple[float, str]:
    """Sort key: the largest gain of the first metric first, systems without one last."""
    gain = result.metrics["gain"][0]
    return (float("inf") if gain is None else -gain, result.candidate.name)


def _differences(result: Comparisons, comparisons_by_anchor: list[tuple[str, Comparison]]) -> Table:
    """The table of the candidates' differences from the baseline by the first metric."""
    first_comparison = result.only
    rows = [comparison.metrics.row(0, named=True) for _, comparison in comparisons_by_anchor]
    cells = tuple(
        (
            make_printable(comparison.candidate.name),
            format_decimal(row["candidate"]),
            format_signed(row["delta"]),
            format_interval(row["low"], row["high"]),
            format_p_value(row["p_value"]),
            format_wins(row),
        )
        for row, (_, comparison) in zip(rows, comparisons_by_anchor, strict=True)
    )
    metric = first_comparison.names[0]
    header = (
        "system",
        metric,
        "delta",
        format_interval_heading(first_comparison),
        format_p_heading(first_comparison),
        "won/tied/\nlost",
    )
    return Table(
        f"{metric}: differences from {first_comparison.baseline.name}",
        Grid(header, cells),
        links=tuple(anchor for anchor, _ in comparisons_by_anchor),
    )


def _statistics(result: Comparisons, options: ReportOptions) -> list[Section]:
    """Statistics of three systems or more; the means are in the table of all systems."""
    if result.many is None:
        return []
    folded_tables = tuple(
        FoldedBlock(
            f"statistics-{options.place}-{i}",
            heading,
            (Table("", grid, find=len(grid.rows) > _MIN_SEARCHED_ROWS),),
        )
        for i, (heading, grid) in enumerate(many_grids(result.many)[1:])
    )
    return [Section("statistics", "Statistics of all systems", folded_tables, "Statistics")]


_MIN_SEARCHED_ROWS = 20  # a table with more rows gets a search field
