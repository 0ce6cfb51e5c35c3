"""A report as one page that asks for nothing from elsewhere, and is whole without its script."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

from rankgate.present.charts.style import swaps
from rankgate.present.document import (
    SIGNS,
    Bars,
    Chart,
    Code,
    Entries,
    Opened,
    Points,
    Table,
    Warnings,
)
from rankgate.present.forms.documents import drawn
from rankgate.present.pages.parts import (
    folded,
    of_grid,
    paragraph,
    points,
    safe,
    side_by_side,
    status,
    whole_page,
)
from rankgate.present.pages.script import SCRIPT
from rankgate.present.pages.style import STYLE

if TYPE_CHECKING:
    from rankgate.present.document import Block, Document, ListPair, Section

_PICTURES = (
    "figure.picture{margin:1.5rem 0;overflow-x:auto}"
    "figure.picture svg{display:block;max-width:100%;height:auto}"
    f"{swaps('figure.picture ')}"
)
_HIGH = 100  # of the picture of differences, in its own units


def page(document: Document) -> str:
    """The whole page.

    Each section and each opened query has an anchor; the script sorts and filters tables, keeps
    what is asked of them in the address, and opens the query that a link names.
    """
    word = f"{status(document.status)} " if document.status else ""
    first, *others = document.lead or ("",)
    body = [
        f"<header><h1>{word}{safe(document.title)}</h1>",
        f'<p class="lead">{safe(first)}</p>' if first else "",
        *(f'<p class="dim">{safe(each)}</p>' for each in others),
        "</header>",
        _links(document.sections),
        *map(_section, document.sections),
    ]
    title = f"{document.status}: {document.title}" if document.status else document.title
    html = "\n".join(part for part in body if part)
    return whole_page(safe(title), html, SCRIPT, STYLE + (_PICTURES if "<svg" in html else ""))


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


def _section(section: Section) -> str:
    heading = f"<h2>{safe(section.title)}</h2>" if section.title else ""
    parts = [f'<section id="{section.anchor}">{heading}']
    parts += [_block(each, f"{section.anchor}-{i}") for i, each in enumerate(section.blocks)]
    return "\n".join([*(part for part in parts if part), "</section>"])


def _block(block: Block, anchor: str) -> str:
    if isinstance(block, str):
        return paragraph(block)
    if isinstance(block, Points):
        return points(block.lines)
    if isinstance(block, Warnings):
        return "".join(f'<p class="warning">! {safe(each)}</p>' for each in block.lines)
    if isinstance(block, Entries):
        return _entries(block)
    if isinstance(block, Chart):
        svg = drawn(block)
        return f'<figure class="picture">{svg}</figure>' if svg else ""
    if isinstance(block, Code):
        return f"<pre><code>{safe(block.text)}</code></pre>"
    if isinstance(block, Bars):
        return _bars(block)
    return _opened(block) if isinstance(block, Opened) else _table(block, anchor)


def _table(table: Table, anchor: str) -> str:
    if not table.grid.rows:
        return ""
    inside = of_grid(
        table.grid, anchor, table.heading, find=table.find, spans=table.spans, links=table.links
    )
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


def _opened(opened: Opened) -> str:
    return f"<h3>{safe(opened.heading)}</h3>{''.join(map(_query, opened.queries))}"


def _query(query: ListPair) -> str:
    text = f'<bdi class="dim">{safe(query.text)}</bdi>' if query.text else ""
    change = f'<span class="n">{safe(query.change)}</span>'
    top = f"<b><bdi>{safe(query.query_id)}</bdi></b> {text} {change}"
    inside = side_by_side(query) if query.ranks else paragraph("Neither system returned anything.")
    return f'<details id="{query.anchor}"><summary>{top}</summary>{inside}</details>'


def _bars(bars: Bars) -> str:
    """Who won and who lost, each query a bar."""
    up, down = max([0.0, *bars.values[:1]]), -min([0.0, *bars.values[-1:]])
    scale, wide = _HIGH / (up + down), 1000 / len(bars.values)
    zero = up * scale
    paths = {
        kind: "".join(
            f"M{i * wide:.1f} {zero:.1f}h{wide * 0.9:.2f}v{-scale * value:.1f}h{-wide * 0.9:.2f}z"
            for i, value in enumerate(bars.values)
            if sign * value > 0
        )
        for kind, sign in (("up", 1), ("down", -1))
    }
    drawn = "".join(f'<path class="{kind}" d="{path}"/>' for kind, path in paths.items() if path)
    return (
        f'<figure><svg class="bars" viewBox="0 0 1000 {_HIGH}" preserveAspectRatio="none" '
        f'role="img" aria-label="{safe(bars.words)}">{drawn}'
        f'<path class="axis" d="M0 {zero:.1f}H1000"/></svg>'
        f"<figcaption>{safe(bars.words)}.</figcaption></figure>"
    )
