"""Document of file contents: tables and facts."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.common_columns import RUN
from rankgate.core.present.document_model import Entries, Entry, make_printable
from rankgate.core.present.layout import Layout, View
from rankgate.core.present.number_formats import count_noun

if TYPE_CHECKING:
    from collections.abc import Iterator

    from rankgate.data.file_contents import Note
    from rankgate.measurement.description.description import (
        Description,
        Descriptions,
        Judgments,
        RatingSummary,
        RunSummary,
        SideTable,
        Spread,
    )


_MOST_GRADES = 12  # grades to show; a set with more grades has no scale of steps


def _file_entries(result: Descriptions) -> Iterator[Entries]:
    """The facts of each file."""
    for description in result.files:
        yield Entries(tuple(Entry(label, (line,)) for label, line in _facts(description)), description.file)


_OVERLAPS = Columns(
    "One row per pair of files.",
    Column("first", pl.String, "a file", header="file"),
    Column("second", pl.String, "another file", header="and file"),
    Column("shared_queries", pl.Int64, "queries of both", header="queries\nin common"),
    Column("shared_documents", pl.Int64, "documents of both", header="documents\nin common"),
)
_HOLES = Columns(
    "One row per run and judgments.",
    RUN,
    Column("qrels", pl.String, "the judgments", header="judgments"),
    Column("queries", pl.Int64, "queries of both"),
    Column("judged", pl.Float64, "the share of judged documents among the first", ".1%"),
)
DESCRIPTION_LAYOUT: Layout = (
    _file_entries,
    View("overlaps", columns=_OVERLAPS),
    View("holes", columns=_HOLES, headers={"judged": "judged@{holes[0].cutoff}"}),
)
"""The facts of each file, then the overlap of files, and the judged shares."""


def _facts(result: Description) -> list[tuple[str, str]]:
    facts = [("format", f"{result.format}: {make_printable(result.reason)}")]
    if result.judgments:
        facts += _judgments(result.judgments)
    for run in result.runs:
        facts += _run(run)
    if result.ratings:
        facts += _ratings(result.ratings)
    for label, count in (
        ("queries", result.queries),
        ("documents", result.documents),
        ("values", result.values),
    ):
        if count is not None:
            facts.append((label, f"{count:,}"))
    facts += [(table.name, _side_table(table)) for table in result.tables]
    facts += [("seen", _note(note)) for note in result.notes]
    if result.sha256:
        facts += [("bytes", f"{result.bytes:,}"), ("sha256", result.sha256)]
    return facts


def _side_table(table: SideTable) -> str:
    """The ids of a table of the collection, and the number of judged ids in it."""
    missing_count = table.judged - table.matched
    missing = f"; {missing_count:,} are missing" if missing_count else ""
    return (
        f"{count_noun(table.ids, 'id')} in {make_printable(table.source)}, with {table.matched:,} of the "
        f"{table.judged:,} judged {table.of}{missing}"
    )


def _judgments(result: Judgments) -> list[tuple[str, str]]:
    unjudged = f", {result.unjudged:,} more without any" if result.unjudged else ""
    grade_counts = [f"{grade:g}: {count:,}" for grade, count in result.grades[:_MOST_GRADES]]
    more = [f"… {len(result.grades):,} different ones"] if len(result.grades) > _MOST_GRADES else []
    without = (
        f"; queries without a positive grade: {result.without_positive:,}" if result.without_positive else ""
    )
    scale = f"; on a scale from {result.scale[0]:g} to {result.scale[1]:g}" if result.scale else ""
    content = (
        f"{result.judgments:,} of {count_noun(result.documents, 'document')} for "
        f"{count_noun(result.queries, 'query')}"
    )
    advice = result.selection_advice
    return [
        ("judgments", f"{content}{unjudged}{_spread(result.per_query)}"),
        ("grades", f"{', '.join([*grade_counts, *more]) or 'none'}{without}{scale}"),
        *([("--selection", advice)] if advice else []),
        ("content", result.sha256),
    ]


def _run(result: RunSummary) -> list[tuple[str, str]]:
    tag = f" (tag {make_printable(result.tag)})" if result.tag else ""
    scores = "no scores" if result.lowest is None else f"{result.lowest:g} to {result.highest:g}"
    content = (
        f"{count_noun(result.rows, 'row')} of {count_noun(result.documents, 'document')} for "
        f"{count_noun(result.queries, 'query')}"
    )
    return [
        ("run", f"{make_printable(result.name)}{tag}: {content}{_spread(result.per_query)}"),
        ("scores", f"{scores}; rows tied with the one above: {result.tied:,}"),
        ("content", result.sha256),
    ]


def _ratings(result: RatingSummary) -> list[tuple[str, str]]:
    content = (
        f"{result.ratings:,} by {count_noun(result.raters, 'rater')} of {count_noun(result.pairs, 'pair')}"
    )
    shared = f"{count_noun(result.shared, 'pair has', 'pairs have')} grades of several raters"
    ungraded = f"{count_noun(result.ungraded, 'rating has', 'ratings have')} no grade"
    return [("ratings", f"{content} of {count_noun(result.queries, 'query')}; {shared}, {ungraded}")]


def _spread(result: Spread | None) -> str:
    if result is None:
        return ""
    if result.least == result.most:
        return f", {result.most:,} a query"
    return f"; a query has {result.least:,} to {result.most:,}, the middle one {result.median:,g}"


def _note(note: Note) -> str:
    examples = ", ".join(map(make_printable, note.examples))
    more = ", …" if note.count > len(note.examples) else ""
    return f"{note.count:,} {note.what}" + (f": {examples}{more}" if examples else "")
