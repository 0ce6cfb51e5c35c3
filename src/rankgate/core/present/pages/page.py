"""A report as one HTML page that loads nothing and is complete without its script."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING
from urllib.parse import quote

from rankgate.core.frozen import dataclass
from rankgate.core.present.charts.chart_style import dark_css
from rankgate.core.present.document_forms import draw_chart, query_tables
from rankgate.core.present.document_model import (
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
from rankgate.core.present.pages.page_parts import (
    SCRIPT,
    STYLE,
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

if TYPE_CHECKING:
    from rankgate.core.present.document_model import Bar, Block, Document, Grid, ListPair, Section


QUERY_COLUMNS = frozenset({"query", "query_id"})
"""Headers of columns with queries; if the first column has one, rows lead to query pages."""

DOCUMENT_COLUMNS = frozenset({"document", "doc_id"})
"""The heads of columns that hold documents."""


def _no_text(identifier: str) -> str:  # noqa: ARG001 - as every such function
    return ""


@dataclass(frozen=True)
class Links:
    """Addresses that a page links to; a page on disk has none.

    Attributes:
        tables: the prefix of each table's name, before its anchor; the files end in ``.csv`` and
            ``.json``.
        charts: the prefix of each chart's name, before its anchor; the files end in ``.svg`` and
            ``.png``.
        query: the address of a query's own page; may be empty.
        query_text: the text of a query, shown next to its id; empty if it is not known.
        document_title: the title of a document, shown next to its id; empty if it is not known.
    """

    tables: str = ""
    charts: str = ""
    query: Callable[[str], str] = _no_text
    query_text: Callable[[str], str] = _no_text
    document_title: Callable[[str], str] = _no_text


NO_LINKS = Links()


def anchored_tables(document: Document) -> Iterator[tuple[str, Table]]:
    """Every table with its anchor, including both lists of a query."""
    for anchor, block in _anchored_blocks(document):
        if isinstance(block, Table) and block.grid.rows:
            yield anchor, block
        elif isinstance(block, QueryLists):
            for query, table in query_tables(block):
                yield query.anchor, table


def anchored_charts(document: Document) -> Iterator[tuple[str, Chart]]:
    """Every chart with its anchor."""
    for anchor, block in _anchored_blocks(document):
        if isinstance(block, Chart):
            yield anchor, block


def _anchored_blocks(document: Document) -> Iterator[tuple[str, Block]]:
    for section in document.sections:
        yield from _blocks_inside(section.anchor, section.blocks)


def _blocks_inside(anchor: str, blocks: tuple[Block, ...]) -> Iterator[tuple[str, Block]]:
    for i, block in enumerate(blocks):
        if isinstance(block, FoldedBlock):
            yield from _blocks_inside(block.anchor, block.blocks)
        else:
            yield f"{anchor}_{i}", block


_HIGH = 100.0  # height of the drawing, in its own units
_WIDE = 1000.0
_STEPS = (1, 2, 5, 10)
_TICKS = 5


def bars_html(block: Bars, query: Callable[[str], str]) -> str:
    """Draw a bar for each query; the labels keep their size on every screen.

    Args:
        block: the bars.
        query: the address of a query's own page; may be empty.
    """
    values = [bar.value for bar in block.bars]
    ticks = axis_ticks(min(0.0, *values), max(0.0, *values))
    low, high = ticks[0], ticks[-1]

    def down(value: float) -> float:
        return _HIGH * (high - value) / (high - low)

    bar_width = _WIDE / len(values)
    shapes: dict[str, list[str]] = {"up": [], "down": []}
    svg_parts = []
    for i, bar in enumerate(block.bars):
        top, end = sorted((down(bar.value), down(0.0)))
        bar_left, size = f"{i * bar_width:.1f}", f"{bar_width * 0.88:.2f}"
        kind = "up" if bar.value > 0 else "down"
        shape = f"M{bar_left} {top:.1f}h{size}v{end - top:.1f}h-{size}z"
        if address := f"#{bar.link}" if bar.link else query(bar.name):
            svg_parts.append(
                _bar_link(bar, address, f'<path class="{kind}" d="{shape}"/>', bar_left, bar_width)
            )
        else:  # in one path, because a page may have thousands
            shapes[kind].append(shape)
    svg_parts += [f'<path class="{kind}" d="{"".join(d)}"/>' for kind, d in shapes.items() if d]
    lines = "".join(
        f'<path class="{"axis" if tick == 0 else "grid"}" d="M0 {down(tick):.2f}H1000"/>' for tick in ticks
    )
    labels = "".join(
        f'<text x="100%" dx="-6" y="{down(tick):.2f}%" dy=".32em">{_tick_label(tick)}</text>'
        for tick in ticks
    )
    hint = (
        " Select a bar to open its query." if any(bar.link or query(bar.name) for bar in block.bars) else ""
    )
    axis = f'<p class="dim">{escape_html(block.axis)}</p>' if block.axis else ""
    along = f'<p class="dim along">{escape_html(block.along)}</p>' if block.along else ""
    return (
        f'<figure class="chart">{axis}<div class="bars"><svg class="ticks" aria-hidden="true">'
        f"{labels}</svg>"
        f'<svg class="plot" viewBox="0 0 1000 100" preserveAspectRatio="none" role="group" '
        f'aria-label="{escape_html(block.words)}">{lines}{"".join(svg_parts)}</svg></div>{along}'
        f"<figcaption>{escape_html(block.words)}.{hint}</figcaption></figure>"
    )


def _bar_link(bar: Bar, address: str, shape: str, bar_left: str, bar_width: float) -> str:
    """A bar that opens its query when any point of its height is clicked."""
    label = f"{escape_html(bar.name)}: {bar.value:+z.4f}"
    hit_area = f'<rect class="whole" x="{bar_left}" y="0" width="{bar_width:.2f}" height="100"/>'
    return (
        f'<a href="{escape_html(address)}" aria-label="{label}">{hit_area}{shape}<title>{label}</title></a>'
    )


def axis_ticks(low: float, high: float) -> list[float]:
    """Round ticks from the first at or below the lowest value to the last above the highest.

    >>> axis_ticks(-0.31, 0.58)
    [-0.4, -0.2, 0.0, 0.2, 0.4, 0.6]
    >>> axis_ticks(0, 0)
    [-1.0, 0.0, 1.0]
    """
    if not high > low:
        return [-1.0, 0.0, 1.0]
    rough_step = (high - low) / _TICKS
    power = 10.0 ** math.floor(math.log10(rough_step))
    step = next(step * power for step in _STEPS if step * power >= rough_step)
    first, last = math.floor(low / step + 1e-9), math.ceil(high / step - 1e-9)
    return [round(i * step, 12) for i in range(first, last + 1)]


def _tick_label(tick: float) -> str:
    return "0" if tick == 0 else f"{tick:+.4g}"


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
_MIN_CONTENTS = 8  # a page with more parts has a list of contents


def document_page(document: Document, links: Links = NO_LINKS) -> str:
    """The whole page.

    Each section and each opened query has an anchor; the script sorts and filters tables, keeps
    their settings in the address, and opens the query that a link names.

    Args:
        document: its content.
        links: texts of queries, where they are known.
    """
    title = f"{document.status}: {document.title}" if document.status else document.title
    html = page_content(document, links)
    return whole_page(escape_html(title), html, SCRIPT, STYLE + (PICTURES if "<svg" in html else ""))


def page_content(document: Document, links: Links = NO_LINKS) -> str:
    """The content of the page, without its frame.

    Args:
        document: its content.
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
    """Links to the sections by short names, or by headings if short names are not unique."""
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
    folds = [[block for block in section.blocks if isinstance(block, FoldedBlock)] for section in sections]
    if sum(map(len, folds)) + len(sections) <= _MIN_CONTENTS:
        return ""
    list_html = "".join(
        f'<li><a href="#{section.anchor}">{escape_html(section.title)}</a>{_list_items(section_folds)}</li>'
        for section, section_folds in zip(sections, folds, strict=True)
    )
    return (
        '<nav class="contents" aria-labelledby="contents"><h2 id="contents">Contents</h2>'
        f"<ul>{list_html}</ul></nav>"
    )


def _list_items(folds: list[FoldedBlock]) -> str:
    list_html = "".join(f'<li><a href="#{fold.anchor}">{escape_html(fold.title)}</a></li>' for fold in folds)
    return f"<ul>{list_html}</ul>" if list_html else ""


def _section_html(section: Section, links: Links) -> str:
    heading = f"<h2>{escape_html(section.title)}</h2>" if section.title else ""
    parts = [f'<section id="{section.anchor}">{heading}']
    parts += [_block_html(block, f"{section.anchor}_{i}", links) for i, block in enumerate(section.blocks)]
    html = "\n".join([*(html_part for html_part in parts if html_part), "</section>"])
    return html if section.title else html.replace("h3>", "h2>")  # no heading level is skipped


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
    return _queries_html(block, links) if isinstance(block, QueryLists) else _table_html(block, anchor, links)


def _table_html(table: Table, anchor: str, links: Links) -> str:
    if not table.grid.rows:
        return ""
    addresses = [f"#{link}" if link else "" for link in table.links]
    if table.grid.flat.head[0] in QUERY_COLUMNS:
        addresses = addresses or [""] * len(table.grid.rows)
        addresses = [
            links.query(row[0]) or address for row, address in zip(table.grid.rows, addresses, strict=True)
        ]
    table_html = grid_html(
        table.grid,
        anchor,
        table.heading,
        find=table.find,
        spans=table.spans,
        links=addresses,
        notes=_identifier_texts(table.grid.flat, links),
        clear=table.clear,
    ) + _file_links(table.heading or "table", anchor, links.tables, _TABLE_FORMATS)
    if table.folded:
        return folded_html(table.heading, table_html)
    return f"<h3>{escape_html(table.heading)}</h3>{table_html}" if table.heading else table_html


def _identifier_texts(grid: Grid, links: Links) -> dict[int, list[str]]:
    """The texts of the queries and documents of a grid, by column."""
    text_functions = {
        **dict.fromkeys(DOCUMENT_COLUMNS, links.document_title),
        **dict.fromkeys(() if "text" in grid.head else QUERY_COLUMNS, links.query_text),
    }
    return {
        column: [text_functions[name](row[column]) for row in grid.rows]
        for column, name in enumerate(grid.head)
        if name in text_functions and text_functions[name] is not _no_text
    }


def _entries_html(entries: Entries) -> str:
    """Labels with their paragraphs; the sign and the word of a status keep their colour."""
    kinds = {f"{sign} {word}": word for word, sign in SIGNS.items()}
    rows = []
    for entry in entries.entries:
        kind = kinds.get(entry.label, "")
        first, *other_lines = entry.lines or ("",)
        details = "".join(f"<br>{escape_html(line)}" for line in other_lines)
        rows.append(
            f'<dt class="{kind}">{escape_html(entry.label)}</dt><dd><b>{escape_html(first)}</b>{details}</dd>'
        )
    heading = f"<h3>{escape_html(entries.heading)}</h3>" if entries.heading else ""
    return f'{heading}<dl class="entries">{"".join(rows)}</dl>'


def _file_links(name: str, anchor: str, address: str, suffixes: tuple[str, ...]) -> str:
    """Links to the files of a table or chart, if a server has them."""
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
        body += _file_links(f"both lists of {query.query_id}", query.anchor, links.tables, _TABLE_FORMATS)
    if address := links.query(query.query_id):
        label = f"All about query {escape_html(query.query_id)}"
        body += f'<p class="files"><a href="{escape_html(address)}">{label}</a></p>'
    return f'<details id="{query.anchor}"><summary>{top}</summary>{body}</details>'


def _chart_html(chart: Chart, anchor: str, links: Links) -> str:
    """A drawing below its title, with instructions for reading it."""
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
    """A part that is not printed unless the reader opened it."""
    figures = f'<span class="n">{escape_html(fold.words)}</span>' if fold.words else ""
    body = "\n".join(_block_html(block, f"{fold.anchor}_{i}", links) for i, block in enumerate(fold.blocks))
    return (
        f'<details class="part" id="{fold.anchor}">'
        f"<summary><h3>{escape_html(fold.title)}</h3>{figures}"
        f"</summary>\n{body}</details>"
    )
