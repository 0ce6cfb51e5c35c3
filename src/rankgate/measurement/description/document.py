"""Document of file contents: tables and facts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.document import Document, Entries, Entry, Table
from rankgate.core.present.document import document as made
from rankgate.core.present.grid import Grid, printable
from rankgate.core.present.numbers import UNDEFINED

if TYPE_CHECKING:
    from rankgate.data.notes import Note
    from rankgate.measurement.description.described import (
        Judgments,
        RatingSummary,
        RunSummary,
        Spread,
    )
    from rankgate.measurement.description.description import Description, Descriptions
    from rankgate.measurement.description.side_tables import SideTable

_GRADES = 12  # that are shown; a set with more of them has no scale of steps


def document(result: Descriptions) -> Document:
    """Each file with its facts, then what files have in common, and how much is judged."""
    files = [
        Entries(tuple(Entry(label, (line,)) for label, line in _facts(each)), each.file)
        for each in result.files
    ]
    return made("", *files, Table("", overlaps(result)), Table("", holes(result)))


def overlaps(result: Descriptions) -> Grid:
    """What each two files have in common."""
    rows = [
        (each.first, each.second, *map(_count, (each.queries[2], each.documents[2])))
        for each in result.overlaps
    ]
    return Grid(
        ("file", "and file", "queries\nin common", "documents\nin common"),
        tuple(rows),
        frozenset({0, 1}),
    )


def holes(result: Descriptions) -> Grid:
    """How much of the tops of runs is judged."""
    rows = [
        (each.run, each.qrels, _count(each.queries), _share(each.judged)) for each in result.holes
    ]
    cutoff = result.holes[0].cutoff if result.holes else 0
    head = ("run", "judgments", "queries", f"judged@{cutoff}")
    return Grid(head, tuple(rows), frozenset({0, 1}))


def _facts(result: Description) -> list[tuple[str, str]]:
    found = [("format", f"{result.format}: {printable(result.reason)}")]
    if result.judgments:
        found += _judgments(result.judgments)
    for run in result.runs:
        found += _run(run)
    if result.ratings:
        found += _ratings(result.ratings)
    for label, count in (
        ("queries", result.queries),
        ("documents", result.documents),
        ("values", result.values),
    ):
        if count is not None:
            found.append((label, _count(count)))
    found += [(table.name, _side_table(table)) for table in result.tables]
    found += [("seen", _note(each)) for each in result.notes]
    if result.sha256:
        found += [("bytes", f"{result.bytes:,}"), ("sha256", result.sha256)]
    return found


def _side_table(table: SideTable) -> str:
    """The ids of a side table, and how many of the judged ones it has."""
    lacking = table.judged - table.matched
    missing = f"; {lacking:,} are missing" if lacking else ""
    return (
        f"{table.ids:,} ids in {printable(table.source)}, with {table.matched:,} of the "
        f"{table.judged:,} judged {table.of}{missing}"
    )


def _judgments(result: Judgments) -> list[tuple[str, str]]:
    named = f", {result.unjudged:,} more without any" if result.unjudged else ""
    shown = [f"{grade:g}: {count:,}" for grade, count in result.grades[:_GRADES]]
    more = [f"… {len(result.grades):,} different ones"] if len(result.grades) > _GRADES else []
    without = (
        f"; queries without a positive grade: {result.without_positive:,}"
        if result.without_positive
        else ""
    )
    scale = f"; on a scale from {result.scale[0]:g} to {result.scale[1]:g}" if result.scale else ""
    content = (
        f"{result.judgments:,} of {result.documents:,} documents for {result.queries:,} queries"
    )
    return [
        ("judgments", f"{content}{named}{_spread(result.per_query)}"),
        ("grades", f"{', '.join([*shown, *more]) or 'none'}{without}{scale}"),
        ("content", result.sha256),
    ]


def _run(result: RunSummary) -> list[tuple[str, str]]:
    tag = f" (tag {printable(result.tag)})" if result.tag else ""
    scores = "no scores" if result.lowest is None else f"{result.lowest:g} to {result.highest:g}"
    content = (
        f"{result.rows:,} rows of {result.documents:,} documents for {result.queries:,} queries"
    )
    return [
        ("run", f"{printable(result.name)}{tag}: {content}{_spread(result.per_query)}"),
        ("scores", f"{scores}; rows tied with the one above: {result.tied:,}"),
        ("content", result.sha256),
    ]


def _ratings(result: RatingSummary) -> list[tuple[str, str]]:
    content = f"{result.ratings:,} by {result.raters:,} raters of {result.pairs:,} pairs"
    shared = f"{result.shared:,} pairs have grades of several raters"
    ungraded = f"{result.ungraded:,} ratings have none"
    return [("ratings", f"{content} of {result.queries:,} queries; {shared}, {ungraded}")]


def _spread(result: Spread | None) -> str:
    if result is None:
        return ""
    if result.least == result.most:
        return f", {result.most:,} a query"
    return f"; a query has {result.least:,} to {result.most:,}, the middle one {result.median:,g}"


def _note(each: Note) -> str:
    shown = ", ".join(map(printable, each.examples))
    more = ", …" if each.count > len(each.examples) else ""
    return f"{each.count:,} {each.what}" + (f": {shown}{more}" if shown else "")


def _count(value: int) -> str:
    return f"{value:,}"


def _share(value: float | None) -> str:
    return UNDEFINED if value is None else f"{value:.1%}"
