"""A report as one page that loads nothing and is complete without its script."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING
from urllib.parse import quote

from rankgate.core.present.charts.style import dark_css
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
from rankgate.core.present.forms.documents import draw_chart
from rankgate.core.present.pages.bars import bars_html
from rankgate.core.present.pages.links import NO_LINKS, QUERY_COLUMNS
from rankgate.core.present.pages.parts import (
    escape_html,
    folded_html,
    grid_html,
    lists_html,
    paragraph_html,
    points_html,
    scroll_frame,
    status_html,
    whole_page,
)
from rankgate.core.present.pages.script import SCRIPT
from rankgate.core.present.pages.style import STYLE

if TYPE_CHECKING:
    from rankgate.core.present.document import Block, Document, ListPair, Section
    from rankgate.core.present.pages.links import Links

PICTURES = (
    "figure.picture{margin:1.5rem 0}"
    "figure.picture .scroll{border:0;box-shadow:none;margin:0 -.8rem;padding:0 .8rem}"
    "figure.picture svg{display:block;max-width:max(100%,32rem);height:auto;overflow:visible}"
    "figure.picture svg>g>path.background,figure.picture svg>rect{fill:none}"
    f"{dark_css('figure.picture ')}"
)
"""The style of charts on pages."""
_TABLE_FORMATS = ("csv", "json")
"""The files of a table."""
_MIN_CONTENTS = 8  # parts, from which on a page has a list of contents


def document_page(document: Document) -> str:
    """The whole page.

    Each section and each opened query has an anchor; the script sorts and filters tables, keeps
    what is asked of them in the address, and opens the query that a link names.
    """
    title = f"{document.status}: {document.title}" if document.status else document.title
    html = page_content(document)
    return whole_page(
        escape_html(title), html, SCRIPT, STYLE + (PICTURES if "<svg" in html else "")
    )


def page_content(document: Document, links: Links = NO_LINKS) -> str:
    """The content of the page, without its frame.

    Args:
        document: what it says.
        links: addresses of its tables, charts and queries, where a server has them.
    """
    word = f"{status_html(document.status)} " if document.status else ""
    title = word or document.title
    first, *details = document.lead or ("",)
    body = [
        f"<header><h1>{word}{escape_html(document.title)}</h1>" if title else "<header>",
        f'<p class="lead">{escape_html(first)}</p>' if first else "",
        *(f'<p class="dim">{escape_html(sentence)}</p>' for sentence in details),
        "</header>",
        _section_links(document.sections),
        _contents_html(document.sections),
        *(_section_html(section, links) for section in document.sections),
    ]
    return "\n".join(html_part for html_part in body if html_part)


def _section_links(sections: tuple[Section, ...]) -> str:
    """Links to the sections by short names, or by headings where those are not unique."""
    count = Counter(section.short for section in sections)
    names = [
        section.short if count[section.short] == 1 and section.short else section.title
        for section in sections
    ]
    links = "".join(
        f'<a href="#{section.anchor}">{escape_html(name)}</a>'
        for section, name in zip(sections, names, strict=True)
    )
    return f'<nav aria-label="Parts of this report">{links}</nav>' if len(sections) > 1 else ""


def _contents_html(sections: tuple[Section, ...]) -> str:
    """The table of contents, where there are many sections."""
    folds = [
        [block for block in section.blocks if isinstance(block, FoldedBlock)]
        for section in sections
    ]
    if sum(map(len, folds)) + len(sections) <= _MIN_CONTENTS:
        return ""
    list_html = "".join(
        f'<li><a href="#{section.anchor}">{escape_html(section.title)}</a>'
        f"{_list_items(section_folds)}</li>"
        for section, section_folds in zip(sections, folds, strict=True)
    )
    return (
        '<nav class="contents" aria-labelledby="contents"><h2 id="contents">Contents</h2>'
        f"<ul>{list_html}</ul></nav>"
    )


def _list_items(folds: list[FoldedBlock]) -> str:
    list_html = "".join(
        f'<li><a href="#{fold.anchor}">{escape_html(fold.title)}</a></li>' for fold in folds
    )
    return f"<ul>{list_html}</ul>" if list_html else ""


def _section_html(section: Section, links: Links) -> str:
    heading = f"<h2>{escape_html(section.title)}</h2>" if section.title else ""
    parts = [f'<section id="{section.anchor}">{heading}']
    parts += [
        _block_html(block, f"{section.anchor}_{i}", links) for i, block in enumerate(section.blocks)
    ]
    html = "\n".join([*(html_part for html_part in parts if html_part), "</section>"])
    return html if section.title else html.replace("h3>", "h2>")  # no level is left out


def _block_html(block: Block, anchor: str, links: Links) -> str:
    if isinstance(block, str):
        return paragraph_html(block)
    if isinstance(block, Points):
        return points_html(block.lines)
    if isinstance(block, Warnings):
        return "".join(f'<p class="warning">! {escape_html(line)}</p>' for line in block.lines)
    if isinstance(block, Entries):
        return _entries_html(block)
    if isinstance(block, Chart):
        return _chart_html(block, anchor, links)
    if isinstance(block, FoldedBlock):
        return _folded_html(block, links)
    if isinstance(block, Code):
        return f"<pre><code>{escape_html(block.text)}</code></pre>"
    if isinstance(block, Bars):
        return bars_html(block, links.query)
    return (
        _queries_html(block, links)
        if isinstance(block, QueryLists)
        else _table_html(block, anchor, links)
    )


def _table_html(table: Table, anchor: str, links: Links) -> str:
    if not table.grid.rows:
        return ""
    addresses = [f"#{link}" if link else "" for link in table.links]
    if table.grid.flat.head[0] in QUERY_COLUMNS:
        addresses = addresses or [""] * len(table.grid.rows)
        addresses = [
            links.query(row[0]) or address
            for row, address in zip(table.grid.rows, addresses, strict=True)
        ]
    table_html = grid_html(
        table.grid,
        anchor,
        table.heading,
        find=table.find,
        spans=table.spans,
        links=addresses,
        clear=table.clear,
    ) + _file_links(table.heading or "table", anchor, links.tables, _TABLE_FORMATS)
    if table.folded:
        return folded_html(table.heading, table_html)
    return f"<h3>{escape_html(table.heading)}</h3>{table_html}" if table.heading else table_html


def _entries_html(entries: Entries) -> str:
    """Labels with their paragraphs; the sign and the word of a status keep their colour."""
    kinds = {f"{sign} {word}": word for word, sign in SIGNS.items()}
    rows = []
    for entry in entries.entries:
        kind = kinds.get(entry.label, "")
        first, *other_lines = entry.lines or ("",)
        details = "".join(f"<br>{escape_html(line)}" for line in other_lines)
        rows.append(
            f'<dt class="{kind}">{escape_html(entry.label)}</dt>'
            f"<dd><b>{escape_html(first)}</b>{details}</dd>"
        )
    heading = f"<h3>{escape_html(entries.heading)}</h3>" if entries.heading else ""
    return f'{heading}<dl class="entries">{"".join(rows)}</dl>'


def _file_links(name: str, anchor: str, address: str, suffixes: tuple[str, ...]) -> str:
    """Links to a table's or chart's files, where a server has them."""
    if not address:
        return ""
    links = " ".join(
        f'<a href="{escape_html(f"{address}{quote(anchor)}.{suffix}")}">{suffix.upper()}'
        f'<span class="unseen"> of {escape_html(name)}</span></a>'
        for suffix in suffixes
    )
    return f'<p class="files">{links}</p>'


def _queries_html(block: QueryLists, links: Links) -> str:
    queries_html = "".join(_query_html(query, links) for query in block.queries)
    return f"<h3>{escape_html(block.heading)}</h3>{queries_html}"


def _query_html(query: ListPair, links: Links) -> str:
    text = f'<bdi class="dim">{escape_html(query.text)}</bdi>' if query.text else ""
    change = f'<span class="n">{escape_html(query.change)}</span>'
    top = f"<b><bdi>{escape_html(query.query_id)}</bdi></b> {text} {change}"
    body = lists_html(query) if query.ranks else paragraph_html("Neither system returned anything.")
    if query.ranks:
        body += _file_links(
            f"both lists of {query.query_id}", query.anchor, links.tables, _TABLE_FORMATS
        )
    if address := links.query(query.query_id):
        label = f"All about query {escape_html(query.query_id)}"
        body += f'<p class="files"><a href="{escape_html(address)}">{label}</a></p>'
    return f'<details id="{query.anchor}"><summary>{top}</summary>{body}</details>'


def _chart_html(chart: Chart, anchor: str, links: Links) -> str:
    """A drawing below its title, and how to read it."""
    drawing = draw_chart(chart, words=False)
    if drawing is None:
        return ""
    picture, svg = drawing
    caption = f"{escape_html(picture.about)} <small>{escape_html(picture.stamp)}</small>"
    return (
        f'<figure class="picture"><h3>{escape_html(picture.title)}</h3>'
        f"{scroll_frame(svg, picture.title)}<figcaption>{caption}</figcaption>"
        f"{_file_links(picture.title, anchor, links.charts, ('svg', 'png'))}</figure>"
    )


def _folded_html(fold: FoldedBlock, links: Links) -> str:
    """A part that stays closed in print, unless its reader opened it."""
    figures = f'<span class="n">{escape_html(fold.words)}</span>' if fold.words else ""
    body = "\n".join(
        _block_html(block, f"{fold.anchor}_{i}", links) for i, block in enumerate(fold.blocks)
    )
    return (
        f'<details class="part" id="{fold.anchor}">'
        f"<summary><h3>{escape_html(fold.title)}</h3>{figures}"
        f"</summary>\n{body}</details>"
    )
