"""A document inside a notebook: tables without a style, so that the notebook's applies."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

from rankgate.core.present.document import (
    SIGNS,
    Bars,
    Chart,
    Code,
    Entries,
    Folded,
    Opened,
    Points,
    Table,
    Warnings,
)
from rankgate.core.present.forms import as_html
from rankgate.core.present.forms.documents import drawn, lists
from rankgate.core.present.grid import Grid

if TYPE_CHECKING:
    from rankgate.core.present.document import Block, Document

_COLOURS = {"pass": "#0a7d38", "fail": "#b3261e", "inconclusive": "#8a5a00"}


def html(document: Document) -> str:
    """The document as a piece of HTML; every word is escaped."""
    parts = [_title(document), *(as_html.paragraph(each) for each in document.lead if each)]
    for section in document.sections:
        parts += [as_html.paragraph(section.title)] if section.title else []
        parts += [part for block in section.blocks for part in _html(block)]
    return "".join(parts)


def _title(document: Document) -> str:
    if not document.status:
        return as_html.paragraph(document.title) if document.title else ""
    word = f"{SIGNS[document.status]} {document.status.upper()}"
    style = f"color:white;background:{_COLOURS[document.status]};padding:2px 8px;border-radius:4px"
    return f'<p><b style="{style}">{word}</b> {as_html.safe(document.title)}</p>'


def _html(block: Block) -> Iterator[str]:
    if isinstance(block, str):
        yield as_html.paragraph(block)
    elif isinstance(block, Points | Warnings):
        yield from map(as_html.paragraph, block.lines)
    elif isinstance(block, Entries):
        yield from [as_html.paragraph(block.heading)] if block.heading else []
        rows = tuple((each.label, " ".join(each.lines)) for each in block.entries)
        yield as_html.table(Grid(("", ""), rows, frozenset({0, 1})))
    elif isinstance(block, Code):
        yield f"<pre>{as_html.safe(block.text)}</pre>"
    elif isinstance(block, Bars):
        yield as_html.paragraph(f"{block.words}.")
    elif isinstance(block, Chart):
        found = drawn(block)
        yield found[1] if found else ""
    elif isinstance(block, Folded):
        return
    elif isinstance(block, Table):
        if block.grid.rows and not block.folded:
            yield from [as_html.paragraph(block.heading)] if block.heading else []
            yield as_html.table(block.grid)
    elif isinstance(block, Opened):
        yield as_html.paragraph(block.heading)
        for query in block.queries:
            yield as_html.paragraph(f"{query.query_id}: {query.change}")
            yield as_html.table(lists(query))
