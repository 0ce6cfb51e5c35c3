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
    FoldedBlock,
    Points,
    QueryLists,
    Table,
    Warnings,
)
from rankgate.core.present.forms import as_html
from rankgate.core.present.forms.documents import draw_chart, query_lists_grid
from rankgate.core.present.grid import Grid

if TYPE_CHECKING:
    from rankgate.core.present.document import Block, Document

_COLOURS = {"pass": "#0a7d38", "fail": "#b3261e", "inconclusive": "#8a5a00"}


def notebook_html(document: Document) -> str:
    """The document as a piece of HTML; every word is escaped."""
    parts = [
        _title_html(document),
        *(as_html.html_paragraph(paragraph) for paragraph in document.lead if paragraph),
    ]
    for section in document.sections:
        parts += [as_html.html_paragraph(section.title)] if section.title else []
        parts += [block_html for block in section.blocks for block_html in _block_html(block)]
    return "".join(parts)


def _title_html(document: Document) -> str:
    if not document.status:
        return as_html.html_paragraph(document.title) if document.title else ""
    word = f"{SIGNS[document.status]} {document.status.upper()}"
    style = f"color:white;background:{_COLOURS[document.status]};padding:2px 8px;border-radius:4px"
    return f'<p><b style="{style}">{word}</b> {as_html.escape_html(document.title)}</p>'


def _block_html(block: Block) -> Iterator[str]:
    if isinstance(block, str):
        yield as_html.html_paragraph(block)
    elif isinstance(block, Points | Warnings):
        yield from map(as_html.html_paragraph, block.lines)
    elif isinstance(block, Entries):
        yield from [as_html.html_paragraph(block.heading)] if block.heading else []
        rows = tuple((entry.label, " ".join(entry.lines)) for entry in block.entries)
        yield as_html.html_table(Grid(("", ""), rows, frozenset({0, 1})))
    elif isinstance(block, Code):
        yield f"<pre>{as_html.escape_html(block.text)}</pre>"
    elif isinstance(block, Bars):
        yield as_html.html_paragraph(f"{block.words}.")
    elif isinstance(block, Chart):
        drawing = draw_chart(block)
        yield drawing[1] if drawing else ""
    elif isinstance(block, FoldedBlock):
        return
    elif isinstance(block, Table):
        if block.grid.rows and not block.folded:
            yield from [as_html.html_paragraph(block.heading)] if block.heading else []
            yield as_html.html_table(block.grid)
    elif isinstance(block, QueryLists):
        yield as_html.html_paragraph(block.heading)
        for query in block.queries:
            yield as_html.html_paragraph(f"{query.query_id}: {query.change}")
            yield as_html.html_table(query_lists_grid(query))
