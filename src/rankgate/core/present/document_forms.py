"""Render a document as text, Markdown, LaTeX or CSV, or inside a notebook.

The notebook shows tables without a style, so that its own style applies.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

from rankgate.core.present import markup_tables, text_tables
from rankgate.core.present.document_model import (
    SIGNS,
    Bars,
    Chart,
    Code,
    Entries,
    FoldedBlock,
    Grid,
    Points,
    QueryLists,
    Table,
    Warnings,
    make_printable,
    unfold_section,
)
from rankgate.core.present.number_formats import format_grade
from rankgate.core.present.text_tables import (
    WIDTH,
    fit_table,
    indent_block,
    labelled_paragraphs,
    text_width,
    wrap_line,
)

if TYPE_CHECKING:
    from rankgate.core.present.charts.picture import Picture
    from rankgate.core.present.document_model import Block, Document, ListedDocument, ListPair, Section


_NAMESPACES = re.compile(r' xmlns(:xlink)?="[^"]*"')
_COLUMNS = 100  # width of a paragraph: longer lines are hard to read


def render_text(document: Document, width: int = WIDTH) -> str:
    """Text for a terminal: paragraphs, tables and lists within `width` where possible.

    Tables that a page folds are left out.
    """
    word = f"{document.status.upper()}: " if document.status else ""
    top = [f"{word}{document.title}" if document.title else "", *document.lead]
    parts = [_wrap_paragraph(paragraph, width) for paragraph in top if paragraph]
    for section in document.sections:
        parts += [_wrap_paragraph(section.title, width)] if section.title else []
        parts += [paragraph for block in section.blocks for paragraph in _block_text(block, width)]
    return "\n\n".join(paragraph.rstrip("\n") for paragraph in parts) + "\n"


def _block_text(block: Block, width: int) -> Iterator[str]:
    if isinstance(block, str):
        yield _wrap_paragraph(block, width)
    elif isinstance(block, Points):
        yield "\n".join(_wrap_paragraph(f"- {line}", width) for line in block.lines)
    elif isinstance(block, Warnings):
        yield from (_wrap_paragraph(f"! {line}", width) for line in block.lines)
    elif isinstance(block, Entries):
        label_width = max((text_width(make_printable(entry.label)) for entry in block.entries), default=0)
        lines = "".join(
            labelled_paragraphs(
                [make_printable(entry.label)], map(make_printable, entry.lines), [label_width], width
            )
            for entry in block.entries
        )
        yield f"{block.heading}\n{lines}" if block.heading else lines
    elif isinstance(block, Code):
        yield indent_block(block.text)
    elif isinstance(block, Bars):
        yield _wrap_paragraph(f"{block.words}.", width)
    elif isinstance(block, Table):
        if block.grid.rows and not block.folded:
            yield _table_text(block, width)
    elif isinstance(block, FoldedBlock):
        yield _wrap_paragraph(_fold_heading(block), width)
        for inner_block in block.blocks:
            yield from _block_text(inner_block, width)
    elif isinstance(block, QueryLists):
        yield block.heading
        for query in block.queries:
            yield f"{_query_heading(query)}\n{fit_table(query_lists_grid(query), width)}"


def _fold_heading(fold: FoldedBlock) -> str:
    return f"{fold.title}: {fold.words}" if fold.words else fold.title


def _table_text(table: Table, width: int) -> str:
    """A table below its heading; a table of paragraphs is indented."""
    heading = f"{_wrap_paragraph(table.heading, width)}\n" if table.heading else ""
    if not table.prose:
        grids = table.plain or (table.grid,)
        fitting_grids = (grid for grid in grids if text_tables.table_width(grid) <= width)
        return f"{heading}{fit_table(next(fitting_grids, grids[-1]), width)}"
    rows = text_tables.paragraph_table(table.grid, width - 2 if heading else width)
    return f"{heading}{indent_block(rows) if heading else rows}"


def _query_heading(query: ListPair) -> str:
    query_text = f" {make_printable(query.text)}" if query.text else ""
    return f"{make_printable(query.query_id)}{query_text}: {query.change}"


def _wrap_paragraph(text: str, width: int) -> str:
    return "\n".join(wrap_line(make_printable(text), min(width, _COLUMNS)))


def render_markdown(document: Document) -> str:
    """Markdown for GitHub and most others; titles become headings if there are several sections."""
    escaped = markup_tables.escape_markdown
    sign = f"{SIGNS[document.status]} {document.status.upper()}: " if document.status else ""
    title = f"{sign}{escaped(document.title)}" if document.title else ""
    has_sections = any(section.title for section in document.sections)
    marks = "# " if has_sections else "## " if document.status else ""
    parts = [f"{marks}{title}"] if title else []
    parts += [escaped(paragraph) for paragraph in document.lead if paragraph]
    for section in document.sections:
        parts += [f"## {escaped(section.title)}"] if section.title else []
        parts += [paragraph for block in section.blocks for paragraph in _block_markdown(block)]
    return "\n\n".join(parts) + "\n"


def _block_markdown(block: Block, mark: str = "###") -> Iterator[str]:
    escaped = markup_tables.escape_markdown
    if isinstance(block, str):
        yield escaped(block)
    elif isinstance(block, Points | Warnings):
        if block.lines:
            yield "\n".join(f"- {escaped(line)}" for line in block.lines)
    elif isinstance(block, Entries):
        yield from [f"{mark} {escaped(block.heading)}"] if block.heading else []
        rows = tuple((entry.label, " ".join(entry.lines)) for entry in block.entries)
        yield markup_tables.markdown_table(Grid(("", ""), rows, frozenset({0, 1})))
    elif isinstance(block, Code):
        yield f"    {make_printable(block.text)}"
    elif isinstance(block, Bars):
        yield f"{escaped(block.words)}."
    elif isinstance(block, Table):
        if block.grid.rows:
            yield from [f"{mark} {escaped(block.heading)}"] if block.heading else []
            yield markup_tables.markdown_table(block.grid)
    elif isinstance(block, FoldedBlock):
        yield f"{mark} {escaped(_fold_heading(block))}"
        for inner_block in block.blocks:
            yield from _block_markdown(inner_block, f"{mark}#")
    elif isinstance(block, QueryLists):
        yield f"{mark} {escaped(block.heading)}"
        for query in block.queries:
            yield from _markdown_query(query)


def _markdown_query(query: ListPair) -> Iterator[str]:
    escaped = markup_tables.escape_markdown
    query_text = f" {escaped(query.text)}" if query.text else ""
    yield f"**{escaped(query.query_id)}**{query_text}: {escaped(query.change)}"
    if query.ranks:
        yield markup_tables.markdown_table(query_lists_grid(query))


def render_latex(document: Document) -> str:
    """LaTeX of every table that is not for searching; texts become comments before it.

    Marks of significance are superscript letters. The tables need the package booktabs.
    """
    from rankgate.core.present import markup_tables

    remark = markup_tables.latex_comment
    parts = [remark(paragraph) for paragraph in (document.title, *document.lead) if paragraph]
    for section in document.sections:
        for subsection, block in unfold_section(section):
            if isinstance(block, Table) and block.grid.rows and not block.find:
                heading = ": ".join(title for title in (subsection.title, block.heading) if title)
                grid = block.plain[0] if block.plain else block.grid
                parts.append(f"{remark(heading)}\n{markup_tables.latex_table(grid, block.bold)}".lstrip())
            elif isinstance(block, str):
                parts.append(remark(block))
            elif isinstance(block, Points | Warnings):
                parts += map(remark, block.lines)
            elif isinstance(block, Entries):
                parts += [remark(f"{entry.label}: {' '.join(entry.lines)}") for entry in block.entries]
    return "\n\n".join(parts) + "\n"


def render_csv(document: Document) -> str:
    """CSV of the result's own rows with every digit, or else of every cell of every table.

    No cell of a table is taken for a formula by a spreadsheet.
    """
    from rankgate.core.present import csv_form

    if document.rows is not None:
        write = csv_form.plain_csv if document.rows.data else csv_form.guarded_csv
        return write(document.rows.head, document.rows.rows)
    rows = [
        (section.title, table.heading, str(i), name, word)
        for section, table in _all_tables(document)
        for i, row in enumerate(table.grid.rows, 1)
        for name, word in zip(table.grid.flat.head, row, strict=True)
    ]
    return csv_form.guarded_csv(("part", "table", "row", "column", "value"), rows)


def _all_tables(document: Document) -> Iterator[tuple[Section, Table]]:
    """Tables, and the lists of queries as tables."""
    for section in document.sections:
        for subsection, block in unfold_section(section):
            if isinstance(block, Table) and block.grid.rows:
                yield subsection, block
            elif isinstance(block, QueryLists):
                for _, table in query_tables(block, find=True):
                    yield subsection, table


def query_tables(lists: QueryLists, *, find: bool = False) -> Iterator[tuple[ListPair, Table]]:
    """Both lists of each query with ranks, as a table."""
    for query in lists.queries:
        if query.ranks:
            heading = f"query {query.query_id}, {query.change}"
            yield query, Table(heading, query_lists_grid(query), find=find)


def query_lists_grid(query: ListPair) -> Grid:
    """Both lists of a query as a grid of texts."""
    first_system, second_system = query.names
    rows = tuple(
        (str(rank), *_document_cells(first_document), *_document_cells(second_document))
        for rank, first_document, second_document in query.ranks
    )
    header = ("rank", first_system, "grade", "moved", second_system, "grade ", "moved ")
    return Grid(header, rows, frozenset({1, 3, 4, 6}))


def _document_cells(document: ListedDocument | None) -> tuple[str, str, str]:
    if document is None:
        return "", "", ""
    document_text = f" {document.text}" if document.text else ""
    return f"{document.doc_id}{document_text}", format_grade(document.grade), document.move


def draw_chart(chart: Chart, *, words: bool = True) -> tuple[Picture, str] | None:
    """A chart and its SVG; the page around it decides between light and dark.

    Args:
        chart: the chart.
        words: True to draw the title and the instructions; a page has them as text.

    Returns:
        None where the extra ``plots`` is missing or there are no values to draw.
    """
    from rankgate.core.errors import MissingExtraError, UsageError

    try:
        picture: Picture = chart.picture()
        svg = picture.svg("light", words=words)
    except (MissingExtraError, UsageError):
        return None
    return picture, _NAMESPACES.sub("", svg)  # a page declares these namespaces


_COLOURS = {"pass": "#0a7d38", "fail": "#b3261e", "inconclusive": "#8a5a00"}


def notebook_html(document: Document) -> str:
    """The document as an HTML fragment; all text is escaped."""
    parts = [
        _title_html(document),
        *(markup_tables.html_paragraph(paragraph) for paragraph in document.lead if paragraph),
    ]
    for section in document.sections:
        parts += [markup_tables.html_paragraph(section.title)] if section.title else []
        parts += [block_html for block in section.blocks for block_html in _block_html(block)]
    return "".join(parts)


def _title_html(document: Document) -> str:
    if not document.status:
        return markup_tables.html_paragraph(document.title) if document.title else ""
    word = f"{SIGNS[document.status]} {document.status.upper()}"
    style = f"color:white;background:{_COLOURS[document.status]};padding:2px 8px;border-radius:4px"
    return f'<p><b style="{style}">{word}</b> {markup_tables.escape_html(document.title)}</p>'


def _block_html(block: Block) -> Iterator[str]:
    if isinstance(block, str):
        yield markup_tables.html_paragraph(block)
    elif isinstance(block, Points | Warnings):
        yield from map(markup_tables.html_paragraph, block.lines)
    elif isinstance(block, Entries):
        yield from [markup_tables.html_paragraph(block.heading)] if block.heading else []
        rows = tuple((entry.label, " ".join(entry.lines)) for entry in block.entries)
        yield markup_tables.html_table(Grid(("", ""), rows, frozenset({0, 1})))
    elif isinstance(block, Code):
        yield f"<pre>{markup_tables.escape_html(block.text)}</pre>"
    elif isinstance(block, Bars):
        yield markup_tables.html_paragraph(f"{block.words}.")
    elif isinstance(block, Chart):
        drawing = draw_chart(block)
        yield drawing[1] if drawing else ""
    elif isinstance(block, FoldedBlock):
        return
    elif isinstance(block, Table):
        if block.grid.rows and not block.folded:
            yield from [markup_tables.html_paragraph(block.heading)] if block.heading else []
            yield markup_tables.html_table(block.grid)
    elif isinstance(block, QueryLists):
        yield markup_tables.html_paragraph(block.heading)
        for query in block.queries:
            yield markup_tables.html_paragraph(f"{query.query_id}: {query.change}")
            yield markup_tables.html_table(query_lists_grid(query))
