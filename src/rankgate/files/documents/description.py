"""What files are: as text, Markdown and JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.present import as_json, as_markdown
from rankgate.present.as_text import WIDTH, fitted
from rankgate.present.grid import Grid, printable
from rankgate.present.numbers import UNDEFINED
from rankgate.present.paragraphs import beside

if TYPE_CHECKING:
    from rankgate.data.notes import Note
    from rankgate.files.describe import Description, Descriptions
    from rankgate.files.described import Judgments, Ranking, Rated, Spread

FORMS = ("table", "json", "markdown")
"""The forms of a description, by the name that ``--format`` takes."""

_GRADES = 12  # that are shown; a set with more of them has no scale of steps


def render(told: Descriptions, form: str, width: int = WIDTH) -> str:
    """A description in one of `FORMS`."""
    if form == "json":
        return as_json.dumped(told.to_dict())
    grids = [grid for grid in (overlaps(told), holes(told)) if grid.rows]
    if form == "markdown":
        tables = [as_markdown.table(facts(each)) for each in told.files]
        return "\n\n".join([*tables, *map(as_markdown.table, grids)]) + "\n"
    blocks = [_block(each, width) for each in told.files]
    return "\n".join([*blocks, *(f"{fitted(grid, width)}\n" for grid in grids)])


def facts(told: Description) -> Grid:
    """One file, one fact a row."""
    rows = tuple((label, line) for label, line in _facts(told))
    return Grid(("file", told.file), rows, frozenset({0, 1}))


def overlaps(told: Descriptions) -> Grid:
    """What each two files have in common."""
    rows = [
        (each.first, each.second, *map(_count, (each.queries[2], each.documents[2])))
        for each in told.overlaps
    ]
    return Grid(
        ("file", "and file", "queries\nin common", "documents\nin common"),
        tuple(rows),
        frozenset({0, 1}),
    )


def holes(told: Descriptions) -> Grid:
    """How much of the tops of runs is judged."""
    rows = [
        (each.run, each.qrels, _count(each.queries), _share(each.judged)) for each in told.holes
    ]
    cutoff = told.holes[0].cutoff if told.holes else 0
    head = ("run", "judgments", "queries", f"judged@{cutoff}")
    return Grid(head, tuple(rows), frozenset({0, 1}))


def _block(told: Description, width: int) -> str:
    room = [max(len(label) for label, _ in _facts(told))]
    lines = [beside([label], [line], room, width) for label, line in _facts(told)]
    return f"{printable(told.file)}\n{''.join(lines)}"


def _facts(told: Description) -> list[tuple[str, str]]:
    found = [("format", f"{told.format}: {printable(told.reason)}")]
    if told.judgments:
        found += _judgments(told.judgments)
    for run in told.runs:
        found += _run(run)
    if told.ratings:
        found += _ratings(told.ratings)
    for label, count in (
        ("queries", told.queries),
        ("documents", told.documents),
        ("values", told.values),
    ):
        if count is not None:
            found.append((label, _count(count)))
    found += [("seen", _note(each)) for each in told.notes]
    if told.sha256:
        found += [("bytes", f"{told.bytes:,}"), ("sha256", told.sha256)]
    return found


def _judgments(told: Judgments) -> list[tuple[str, str]]:
    named = f", {told.unjudged:,} more without any" if told.unjudged else ""
    shown = [f"{grade:g}: {count:,}" for grade, count in told.grades[:_GRADES]]
    more = [f"… {len(told.grades):,} different ones"] if len(told.grades) > _GRADES else []
    without = (
        f"; queries without a positive grade: {told.without_positive:,}"
        if told.without_positive
        else ""
    )
    scale = f"; on a scale from {told.scale[0]:g} to {told.scale[1]:g}" if told.scale else ""
    held = f"{told.judgments:,} of {told.documents:,} documents for {told.queries:,} queries"
    return [
        ("judgments", f"{held}{named}{_spread(told.per_query)}"),
        ("grades", f"{', '.join([*shown, *more]) or 'none'}{without}{scale}"),
        ("content", told.sha256),
    ]


def _run(told: Ranking) -> list[tuple[str, str]]:
    tag = f" (tag {printable(told.tag)})" if told.tag else ""
    scores = "no scores" if told.lowest is None else f"{told.lowest:g} to {told.highest:g}"
    held = f"{told.rows:,} rows of {told.documents:,} documents for {told.queries:,} queries"
    return [
        ("run", f"{printable(told.name)}{tag}: {held}{_spread(told.per_query)}"),
        ("scores", f"{scores}; rows tied with the one above: {told.tied:,}"),
        ("content", told.sha256),
    ]


def _ratings(told: Rated) -> list[tuple[str, str]]:
    held = f"{told.ratings:,} by {told.raters:,} raters of {told.pairs:,} pairs"
    shared = f"{told.shared:,} pairs have grades of several raters"
    ungraded = f"{told.ungraded:,} ratings have none"
    return [("ratings", f"{held} of {told.queries:,} queries; {shared}, {ungraded}")]


def _spread(told: Spread | None) -> str:
    if told is None:
        return ""
    if told.least == told.most:
        return f", {told.most:,} a query"
    return f"; a query has {told.least:,} to {told.most:,}, the middle one {told.median:,g}"


def _note(each: Note) -> str:
    shown = ", ".join(map(printable, each.examples))
    more = ", …" if each.count > len(each.examples) else ""
    return f"{each.count:,} {each.what}" + (f": {shown}{more}" if shown else "")


def _count(value: int) -> str:
    return f"{value:,}"


def _share(value: float | None) -> str:
    return UNDEFINED if value is None else f"{value:.1%}"
