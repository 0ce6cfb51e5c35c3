"""A report as one page that asks for nothing from elsewhere, and is whole without its script."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING
from urllib.parse import quote

from rankgate.core.present.charts.style import swaps
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
from rankgate.core.present.forms.documents import drawn
from rankgate.core.present.pages.bars import bars
from rankgate.core.present.pages.links import NOWHERE, QUERY
from rankgate.core.present.pages.parts import (
    folded,
    framed,
    of_grid,
    paragraph,
    points,
    safe,
    side_by_side,
    status,
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
    f"{swaps('figure.picture ')}"
)
"""The style of charts on pages."""
_SHEETS = ("csv", "json")
"""The files of a table."""
_MANY = 8  # parts, from which on a page has a list of contents


def page(document: Document) -> str:
    """The whole page.

    Each section and each opened query has an anchor; the script sorts and filters tables, keeps
    what is asked of them in the address, and opens the query that a link names.
    """
    title = f"{document.status}: {document.title}" if document.status else document.title
    html = content(document)
    return whole_page(safe(title), html, SCRIPT, STYLE + (PICTURES if "<svg" in html else ""))


def content(document: Document, links: Links = NOWHERE) -> str:
    """What is on the page, without its frame.

    Args:
        document: what it says.
        links: addresses of its tables, charts and queries, where a server has them.
    """
    word = f"{status(document.status)} " if document.status else ""
    title = word or document.title
    first, *others = document.lead or ("",)
    body = [
        f"<header><h1>{word}{safe(document.title)}</h1>" if title else "<header>",
        f'<p class="lead">{safe(first)}</p>' if first else "",
        *(f'<p class="dim">{safe(each)}</p>' for each in others),
        "</header>",
        _links(document.sections),
        _contents(document.sections),
        *(_section(each, links) for each in document.sections),
    ]
    return "\n".join(part for part in body if part)


def _links(sections: tuple[Section, ...]) -> str:
    """Each part by its short name, or by its heading where several share the short one."""
    count = Counter(each.short for each in sections)
    names = [
        each.short if count[each.short] == 1 and each.short else each.title for each in sections
    ]
    words = "".join(
        f'<a href="#{each.anchor}">{safe(name)}</a>'
        for each, name in zip(sections, names, strict=True)
    )
    return f'<nav aria-label="Parts of this report">{words}</nav>' if len(sections) > 1 else ""


def _contents(sections: tuple[Section, ...]) -> str:
    """Every part with its folded parts, where there are many."""
    folds = [[each for each in section.blocks if isinstance(each, Folded)] for section in sections]
    if sum(map(len, folds)) + len(sections) <= _MANY:
        return ""
    items = "".join(
        f'<li><a href="#{each.anchor}">{safe(each.title)}</a>{_items(inside)}</li>'
        for each, inside in zip(sections, folds, strict=True)
    )
    return (
        '<nav class="contents" aria-labelledby="contents"><h2 id="contents">Contents</h2>'
        f"<ul>{items}</ul></nav>"
    )


def _items(parts: list[Folded]) -> str:
    items = "".join(f'<li><a href="#{each.anchor}">{safe(each.title)}</a></li>' for each in parts)
    return f"<ul>{items}</ul>" if items else ""


def _section(section: Section, links: Links) -> str:
    heading = f"<h2>{safe(section.title)}</h2>" if section.title else ""
    parts = [f'<section id="{section.anchor}">{heading}']
    parts += [_block(each, f"{section.anchor}_{i}", links) for i, each in enumerate(section.blocks)]
    html = "\n".join([*(part for part in parts if part), "</section>"])
    return html if section.title else html.replace("h3>", "h2>")  # no level is left out


def _block(block: Block, anchor: str, links: Links) -> str:
    if isinstance(block, str):
        return paragraph(block)
    if isinstance(block, Points):
        return points(block.lines)
    if isinstance(block, Warnings):
        return "".join(f'<p class="warning">! {safe(each)}</p>' for each in block.lines)
    if isinstance(block, Entries):
        return _entries(block)
    if isinstance(block, Chart):
        return _chart(block, anchor, links)
    if isinstance(block, Folded):
        return _folded(block, links)
    if isinstance(block, Code):
        return f"<pre><code>{safe(block.text)}</code></pre>"
    if isinstance(block, Bars):
        return bars(block, links.query)
    return _opened(block, links) if isinstance(block, Opened) else _table(block, anchor, links)


def _table(table: Table, anchor: str, links: Links) -> str:
    if not table.grid.rows:
        return ""
    places = [f"#{each}" if each else "" for each in table.links]
    if table.grid.flat.head[0] in QUERY:
        places = places or [""] * len(table.grid.rows)
        places = [
            links.query(row[0]) or place for row, place in zip(table.grid.rows, places, strict=True)
        ]
    inside = of_grid(
        table.grid,
        anchor,
        table.heading,
        find=table.find,
        spans=table.spans,
        links=places,
        clear=table.clear,
    ) + _files(table.heading or "table", anchor, links.tables, _SHEETS)
    if table.folded:
        return folded(table.heading, inside)
    return f"<h3>{safe(table.heading)}</h3>{inside}" if table.heading else inside


def _entries(entries: Entries) -> str:
    """Labels with their paragraphs; the sign and the word of a status keep their colour."""
    kinds = {f"{sign} {word}": word for word, sign in SIGNS.items()}
    rows = []
    for each in entries.entries:
        kind = kinds.get(each.label, "")
        first, *others = each.lines or ("",)
        words = "".join(f"<br>{safe(line)}" for line in others)
        rows.append(
            f'<dt class="{kind}">{safe(each.label)}</dt><dd><b>{safe(first)}</b>{words}</dd>'
        )
    heading = f"<h3>{safe(entries.heading)}</h3>" if entries.heading else ""
    return f'{heading}<dl class="entries">{"".join(rows)}</dl>'


def _files(name: str, anchor: str, at: str, suffixes: tuple[str, ...]) -> str:
    """Links to a table's or chart's files, where a server has them."""
    if not at:
        return ""
    words = " ".join(
        f'<a href="{safe(f"{at}{quote(anchor)}.{suffix}")}">{suffix.upper()}'
        f'<span class="unseen"> of {safe(name)}</span></a>'
        for suffix in suffixes
    )
    return f'<p class="files">{words}</p>'


def _opened(opened: Opened, links: Links) -> str:
    inside = "".join(_query(each, links) for each in opened.queries)
    return f"<h3>{safe(opened.heading)}</h3>{inside}"


def _query(query: ListPair, links: Links) -> str:
    text = f'<bdi class="dim">{safe(query.text)}</bdi>' if query.text else ""
    change = f'<span class="n">{safe(query.change)}</span>'
    top = f"<b><bdi>{safe(query.query_id)}</bdi></b> {text} {change}"
    inside = side_by_side(query) if query.ranks else paragraph("Neither system returned anything.")
    if query.ranks:
        inside += _files(f"both lists of {query.query_id}", query.anchor, links.tables, _SHEETS)
    if place := links.query(query.query_id):
        words = f"All about query {safe(query.query_id)}"
        inside += f'<p class="files"><a href="{safe(place)}">{words}</a></p>'
    return f'<details id="{query.anchor}"><summary>{top}</summary>{inside}</details>'


def _chart(chart: Chart, anchor: str, links: Links) -> str:
    """A drawing below its title, and how to read it."""
    found = drawn(chart, words=False)
    if found is None:
        return ""
    picture, svg = found
    words = f"{safe(picture.about)} <small>{safe(picture.stamp)}</small>"
    return (
        f'<figure class="picture"><h3>{safe(picture.title)}</h3>'
        f"{framed(svg, picture.title)}<figcaption>{words}</figcaption>"
        f"{_files(picture.title, anchor, links.charts, ('svg', 'png'))}</figure>"
    )


def _folded(part: Folded, links: Links) -> str:
    """A part that stays closed on paper, unless its reader opened it."""
    words = f'<span class="n">{safe(part.words)}</span>' if part.words else ""
    inside = "\n".join(
        _block(each, f"{part.anchor}_{i}", links) for i, each in enumerate(part.blocks)
    )
    return (
        f'<details class="part" id="{part.anchor}"><summary><h3>{safe(part.title)}</h3>{words}'
        f"</summary>\n{inside}</details>"
    )
