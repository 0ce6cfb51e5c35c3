"""A page of comparisons: the headline, what changed, the worst queries with both lists."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rankgate.core.present.document import Chart, Document, Folded, Section, Table
from rankgate.core.present.figures import interval, p_value, signed, won
from rankgate.core.present.grid import Grid, printable
from rankgate.core.present.numbers import decimal
from rankgate.decisions.comparison.documents import changes
from rankgate.decisions.comparison.documents.comparison import notes
from rankgate.decisions.comparison.documents.heads import interval_head, p_head
from rankgate.decisions.comparison.documents.leaderboard import leaderboard
from rankgate.decisions.comparison.documents.systems import of_many

if TYPE_CHECKING:
    from rankgate.core.present.document import Block
    from rankgate.core.present.result import ReportOptions
    from rankgate.decisions.comparison.comparison import Comparison, Comparisons

_FOREST = "rankgate.decisions.comparison.charts.forest:draw"


def document(result: Comparisons, options: ReportOptions) -> Document:
    """One candidate query by query; of several a table of all systems first.

    Args:
        result: the comparisons.
        options: texts of queries and documents, and how many queries are shown with their lists.
    """
    first, count = result.only, len(result.comparisons)
    names = f"{count} systems" if count > 1 else first.candidate.name
    sections = _of_many(result, options) if count > 1 else _of_one(result, options)
    return Document(
        f"{names} against {first.baseline.name}",
        lead=(changes.overall(result), changes.ground(first)),
        sections=tuple(sections),
    )


def _of_one(result: Comparisons, options: ReportOptions) -> list[Section]:
    grid, words = leaderboard(result)
    systems = Section("systems", "All systems", (Table("", grid), words, notes(result.only)))
    return [*changes.sections(result.only, f"{options.place}-0", options), systems]


def _of_many(result: Comparisons, options: ReportOptions) -> list[Section]:
    """The table of all systems, differences and their chart, then each system folded."""
    first, base = result.only, result.only.baseline.name
    metric = first.names[0]
    grid, words = leaderboard(result, best_first=True)
    ordered = sorted(enumerate(result.comparisons), key=lambda each: _rank(each[1]))
    blocks: list[Block] = [
        Table(f"best {metric} first", grid),
        words,
        _differences(result, [(f"change-{options.place}-{i}", each) for i, each in ordered]),
        Chart(_FOREST, _by(result, 0, 1)),
        notes(first, several=True),
    ]
    if len(first.names) > 1:
        others = Chart(_FOREST, _by(result, 1))
        blocks.append(
            Folded(
                f"metrics-{options.place}", f"Differences from {base} by other metrics", (others,)
            )
        )
    parts = []
    for i, each in ordered:
        place = f"{options.place}-{i}"
        own = changes.changes(each, place, options)
        inside = (changes.sentence(each), *own.figures, *own.queries)
        row = each.metrics.row(0, named=True)
        figures = (
            f"{decimal(row['candidate'])} ({signed(row['delta'])}, p {p_value(row['p_value'])})"
        )
        parts.append(Folded(f"change-{place}", each.candidate.name, inside, figures))
    each_one = Section("each", f"Each system against {base}", tuple(parts), "Each system")
    return [
        Section("systems", "All systems", tuple(blocks)),
        *_statistics(result, options),
        each_one,
    ]


def _by(result: Comparisons, begin: int, end: int | None = None) -> Comparisons:
    """The same by some of its metrics."""
    some = tuple(replace(each, metrics=each.metrics[begin:end]) for each in result.comparisons)
    return replace(result, comparisons=some)


def _rank(result: Comparison) -> tuple[float, str]:
    """The largest gain of the first metric first, systems without one last."""
    gain = result.metrics["gain"][0]
    return (float("inf") if gain is None else -gain, result.candidate.name)


def _differences(result: Comparisons, ordered: list[tuple[str, Comparison]]) -> Table:
    """Every candidate's difference from the baseline by the first metric."""
    first = result.only
    rows = [each.metrics.row(0, named=True) for _, each in ordered]
    cells = tuple(
        (
            printable(each.candidate.name),
            decimal(row["candidate"]),
            signed(row["delta"]),
            interval(row["low"], row["high"]),
            p_value(row["p_value"]),
            won(row),
        )
        for row, (_, each) in zip(rows, ordered, strict=True)
    )
    metric = first.names[0]
    head = ("system", metric, "delta", interval_head(first), p_head(first), "won/tied/\nlost")
    return Table(
        f"{metric}: differences from {first.baseline.name}",
        Grid(head, cells),
        links=tuple(anchor for anchor, _ in ordered),
    )


def _statistics(result: Comparisons, options: ReportOptions) -> list[Section]:
    """What can be said of three systems or more; the means are in the table of all systems."""
    if result.many is None:
        return []
    parts = tuple(
        Folded(
            f"statistics-{options.place}-{i}",
            heading,
            (Table("", grid, find=len(grid.rows) > _LONG),),
        )
        for i, (heading, grid) in enumerate(of_many(result.many)[1:])
    )
    return [Section("statistics", "Statistics of all systems", parts, "Statistics")]


_LONG = 20  # rows from which on a table is searched
