"""Render a document as text, Markdown, LaTeX or CSV."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rankgate.core.present.document import (
    SIGNS,
    Bars,
    Code,
    Entries,
    Folded,
    Opened,
    Points,
    Table,
    Warnings,
    unfolded,
)
from rankgate.core.present.forms import as_markdown, as_text, paragraphs
from rankgate.core.present.forms.as_text import WIDTH, fitted, wide
from rankgate.core.present.forms.paragraphs import indented, labelled, wrapped
from rankgate.core.present.grid import Grid, printable
from rankgate.core.present.numbers import grade

if TYPE_CHECKING:
    from rankgate.core.present.charts.picture import Picture
    from rankgate.core.present.document import (
        Block,
        Chart,
        Document,
        ListedDocument,
        ListPair,
        Section,
    )

_NAMESPACES = re.compile(r' xmlns(:xlink)?="[^"]*"')
_COLUMNS = 100  # of a paragraph: longer lines are hard to follow with the eye


def text(document: Document, width: int = WIDTH) -> str:
    """For a terminal: paragraphs, tables and lists, none wider than `width` where it can be.

    Tables that a page folds are left out.
    """
    word = f"{document.status.upper()}: " if document.status else ""
    top = [f"{word}{document.title}" if document.title else "", *document.lead]
    parts = [_paragraph(each, width) for each in top if each]
    for section in document.sections:
        parts += [_paragraph(section.title, width)] if section.title else []
        parts += [part for block in section.blocks for part in _text(block, width)]
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"


def _text(block: Block, width: int) -> Iterator[str]:
    if isinstance(block, str):
        yield _paragraph(block, width)
    elif isinstance(block, Points):
        yield "\n".join(_paragraph(f"- {each}", width) for each in block.lines)
    elif isinstance(block, Warnings):
        yield from (_paragraph(f"! {each}", width) for each in block.lines)
    elif isinstance(block, Entries):
        room = max((wide(printable(each.label)) for each in block.entries), default=0)
        lines = "".join(
            labelled([printable(each.label)], map(printable, each.lines), [room], width)
            for each in block.entries
        )
        yield f"{block.heading}\n{lines}" if block.heading else lines
    elif isinstance(block, Code):
        yield indented(block.text)
    elif isinstance(block, Bars):
        yield _paragraph(f"{block.words}.", width)
    elif isinstance(block, Table):
        if block.grid.rows and not block.folded:
            yield _table(block, width)
    elif isinstance(block, Folded):
        yield _paragraph(_headed(block), width)
        for each in block.blocks:
            yield from _text(each, width)
    elif isinstance(block, Opened):
        yield block.heading
        for query in block.queries:
            yield f"{_query(query)}\n{fitted(lists(query), width)}"


def _headed(part: Folded) -> str:
    return f"{part.title}: {part.words}" if part.words else part.title


def _table(table: Table, width: int) -> str:
    """Below its heading; paragraphs are moved in there."""
    heading = f"{_paragraph(table.heading, width)}\n" if table.heading else ""
    if not table.prose:
        grids = table.plain or (table.grid,)
        room = (grid for grid in grids if as_text.width_of(grid) <= width)
        return f"{heading}{fitted(next(room, grids[-1]), width)}"
    rows = paragraphs.table(table.grid, width - 2 if heading else width)
    return f"{heading}{indented(rows) if heading else rows}"


def _query(query: ListPair) -> str:
    words = f" {printable(query.text)}" if query.text else ""
    return f"{printable(query.query_id)}{words}: {query.change}"


def _paragraph(words: str, width: int) -> str:
    return "\n".join(wrapped(printable(words), min(width, _COLUMNS)))


def markdown(document: Document) -> str:
    """For GitHub and most others; titles become headings where the document has several parts."""
    escaped = as_markdown.escaped
    sign = f"{SIGNS[document.status]} {document.status.upper()}: " if document.status else ""
    title = f"{sign}{escaped(document.title)}" if document.title else ""
    parted = any(section.title for section in document.sections)
    marks = "# " if parted else "## " if document.status else ""
    parts = [f"{marks}{title}"] if title else []
    parts += [escaped(each) for each in document.lead if each]
    for section in document.sections:
        parts += [f"## {escaped(section.title)}"] if section.title else []
        parts += [part for block in section.blocks for part in _markdown(block)]
    return "\n\n".join(parts) + "\n"


def _markdown(block: Block, mark: str = "###") -> Iterator[str]:
    escaped = as_markdown.escaped
    if isinstance(block, str):
        yield escaped(block)
    elif isinstance(block, Points | Warnings):
        if block.lines:
            yield "\n".join(f"- {escaped(each)}" for each in block.lines)
    elif isinstance(block, Entries):
        yield from [f"{mark} {escaped(block.heading)}"] if block.heading else []
        rows = tuple((each.label, " ".join(each.lines)) for each in block.entries)
        yield as_markdown.table(Grid(("", ""), rows, frozenset({0, 1})))
    elif isinstance(block, Code):
        yield f"    {printable(block.text)}"
    elif isinstance(block, Bars):
        yield f"{escaped(block.words)}."
    elif isinstance(block, Table):
        if block.grid.rows:
            yield from [f"{mark} {escaped(block.heading)}"] if block.heading else []
            yield as_markdown.table(block.grid)
    elif isinstance(block, Folded):
        yield f"{mark} {escaped(_headed(block))}"
        for each in block.blocks:
            yield from _markdown(each, f"{mark}#")
    elif isinstance(block, Opened):
        yield f"{mark} {escaped(block.heading)}"
        for query in block.queries:
            yield from _markdown_query(query)


def _markdown_query(query: ListPair) -> Iterator[str]:
    escaped = as_markdown.escaped
    words = f" {escaped(query.text)}" if query.text else ""
    yield f"**{escaped(query.query_id)}**{words}: {escaped(query.change)}"
    if query.ranks:
        yield as_markdown.table(lists(query))


def latex(document: Document) -> str:
    """Every table that is not for searching; words are before it as remarks.

    Marks of significance are superscript letters. The tables need the package booktabs.
    """
    from rankgate.core.present.forms import as_latex

    remark = as_latex.remark
    parts = [remark(each) for each in (document.title, *document.lead) if each]
    for section in document.sections:
        for part, block in unfolded(section):
            if isinstance(block, Table) and block.grid.rows and not block.find:
                words = ": ".join(each for each in (part.title, block.heading) if each)
                grid = block.plain[0] if block.plain else block.grid
                parts.append(f"{remark(words)}\n{as_latex.table(grid)}".lstrip())
            elif isinstance(block, str):
                parts.append(remark(block))
            elif isinstance(block, Points | Warnings):
                parts += map(remark, block.lines)
            elif isinstance(block, Entries):
                parts += [remark(f"{each.label}: {' '.join(each.lines)}") for each in block.entries]
    return "\n\n".join(parts) + "\n"


def csv(document: Document) -> str:
    """The result's own rows with every digit; without those every cell of every table, one a line.

    No cell of a table is taken for a formula by a spreadsheet.
    """
    from rankgate.core.present.forms import as_csv

    if document.rows is not None:
        way = as_csv.unguarded if document.rows.data else as_csv.written
        return way(document.rows.head, document.rows.rows)
    rows = [
        (section.title, table.heading, str(i), name, word)
        for section, table in _all_tables(document)
        for i, row in enumerate(table.grid.rows, 1)
        for name, word in zip(table.grid.flat.head, row, strict=True)
    ]
    return as_csv.written(("part", "table", "row", "column", "value"), rows)


def _all_tables(document: Document) -> Iterator[tuple[Section, Table]]:
    """Tables, and the lists of queries as tables."""
    for section in document.sections:
        for part, block in unfolded(section):
            if isinstance(block, Table) and block.grid.rows:
                yield part, block
            elif isinstance(block, Opened):
                for query in block.queries:
                    if query.ranks:
                        heading = f"query {query.query_id}, {query.change}"
                        yield part, Table(heading, lists(query), find=True)


def lists(query: ListPair) -> Grid:
    """Both lists of a query as words."""
    one, two = query.names
    rows = tuple(
        (str(rank), *_words(first), *_words(second)) for rank, first, second in query.ranks
    )
    head = ("rank", one, "grade", "moved", two, "grade ", "moved ")
    return Grid(head, rows, frozenset({1, 3, 4, 6}))


def _words(place: ListedDocument | None) -> tuple[str, str, str]:
    if place is None:
        return "", "", ""
    words = f" {place.text}" if place.text else ""
    return f"{place.doc_id}{words}", grade(place.grade), place.move


def drawn(chart: Chart, *, words: bool = True) -> tuple[Picture, str] | None:
    """A chart with its SVG, which the page around it makes light or dark.

    Args:
        chart: the chart.
        words: with its title and how to read it in the drawing; a page has them as text.

    Returns:
        None where the extra ``plots`` is missing or there is nothing to draw.
    """
    from rankgate.core.errors import MissingExtraError, UsageError
    from rankgate.core.present.resolve import resolved

    try:
        picture: Picture = resolved(chart.draw)(chart.result)
        svg = picture.svg("light", words=words)
    except (MissingExtraError, UsageError):
        return None
    return picture, _NAMESPACES.sub("", svg)  # a page knows them, and asks for no address
