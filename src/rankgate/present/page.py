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
from rankgate.present.forms import drawn
from rankgate.present.html_parts import (
    document,
    folded,
    of_grid,
    paragraph,
    points,
    safe,
    side_by_side,
    status,
)
from rankgate.present.page_script import SCRIPT
from rankgate.present.page_style import STYLE

if TYPE_CHECKING:
    from rankgate.present.document import Block, Document, Lists, Section

_PICTURES = (
    "figure.picture{margin:1.5rem 0;overflow-x:auto}"
    "figure.picture svg{display:block;max-width:100%;height:auto}"
    f"{swaps('figure.picture ')}"
)
_HIGH = 100  # of the picture of differences, in its own units


def page(told: Document) -> str:
    """The whole page.

    Each section and each opened query has an anchor; the script sorts and filters tables, keeps
    what is asked of them in the address, and opens the query that a link names.
    """
    word = f"{status(told.status)} " if told.status else ""
    first, *others = told.lead or ("",)
    body = [
        f"<header><h1>{word}{safe(told.title)}</h1>",
        f'<p class="lead">{safe(first)}</p>' if first else "",
        *(f'<p class="dim">{safe(each)}</p>' for each in others),
        "</header>",
        _links(told.sections),
        *map(_section, told.sections),
    ]
    title = f"{told.status}: {told.title}" if told.status else told.title
    html = "\n".join(part for part in body if part)
    return document(safe(title), html, SCRIPT, STYLE + (_PICTURES if "<svg" in html else ""))


def _links(sections: tuple[Section, ...]) -> str:
    """Each part by its short name, or by its heading where several share the short one."""
    count = Counter(each.short for each in sections)
    names = [each.short if count[each.short] == 1 and each.short else each.title
             for each in sections]  # fmt: skip
    words = "".join(
        f'<a href="#{each.anchor}">{safe(name)}</a>'
        for each, name in zip(sections, names, strict=True)
    )
    return f'<nav aria-label="Parts of this report">{words}</nav>' if len(sections) > 1 else ""


def _section(told: Section) -> str:
    heading = f"<h2>{safe(told.title)}</h2>" if told.title else ""
    parts = [f'<section id="{told.anchor}">{heading}']
    parts += [_block(each, f"{told.anchor}-{i}") for i, each in enumerate(told.blocks)]
    return "\n".join([*(part for part in parts if part), "</section>"])


def _block(told: Block, anchor: str) -> str:
    if isinstance(told, str):
        return paragraph(told)
    if isinstance(told, Points):
        return points(told.lines)
    if isinstance(told, Warnings):
        return "".join(f'<p class="warning">! {safe(each)}</p>' for each in told.lines)
    if isinstance(told, Entries):
        return _entries(told)
    if isinstance(told, Chart):
        svg = drawn(told)
        return f'<figure class="picture">{svg}</figure>' if svg else ""
    if isinstance(told, Code):
        return f"<pre><code>{safe(told.text)}</code></pre>"
    if isinstance(told, Bars):
        return _bars(told)
    return _opened(told) if isinstance(told, Opened) else _table(told, anchor)


def _table(told: Table, anchor: str) -> str:
    if not told.grid.rows:
        return ""
    inside = of_grid(told.grid, anchor, told.heading, find=told.find, spans=told.spans,
                     links=told.links)  # fmt: skip
    if told.folded:
        return folded(told.heading, inside)
    return f"<h3>{safe(told.heading)}</h3>{inside}" if told.heading else inside


def _entries(told: Entries) -> str:
    """Labels with their paragraphs; the sign and the word of a status keep their colour."""
    kinds = {f"{sign} {word}": word for word, sign in SIGNS.items()}
    rows = []
    for each in told.entries:
        kind = kinds.get(each.label, "")
        first, *others = each.lines or ("",)
        words = "".join(f"<br>{safe(line)}" for line in others)
        rows.append(
            f'<dt class="{kind}">{safe(each.label)}</dt><dd><b>{safe(first)}</b>{words}</dd>'
        )
    heading = f"<h3>{safe(told.heading)}</h3>" if told.heading else ""
    return f'{heading}<dl class="entries">{"".join(rows)}</dl>'


def _opened(told: Opened) -> str:
    return f"<h3>{safe(told.heading)}</h3>{''.join(map(_query, told.queries))}"


def _query(told: Lists) -> str:
    text = f'<bdi class="dim">{safe(told.text)}</bdi>' if told.text else ""
    top = (
        f'<b><bdi>{safe(told.query_id)}</bdi></b> {text} <span class="n">{safe(told.change)}</span>'
    )
    inside = side_by_side(told) if told.ranks else paragraph("Neither system returned anything.")
    return f'<details id="{told.anchor}"><summary>{top}</summary>{inside}</details>'


def _bars(told: Bars) -> str:
    """Who won and who lost, each query a bar."""
    up, down = max([0.0, *told.values[:1]]), -min([0.0, *told.values[-1:]])
    scale, wide = _HIGH / (up + down), 1000 / len(told.values)
    zero = up * scale
    paths = {
        kind: "".join(
            f"M{i * wide:.1f} {zero:.1f}h{wide * 0.9:.2f}v{-scale * value:.1f}h{-wide * 0.9:.2f}z"
            for i, value in enumerate(told.values)
            if sign * value > 0
        )
        for kind, sign in (("up", 1), ("down", -1))
    }
    drawn = "".join(f'<path class="{kind}" d="{path}"/>' for kind, path in paths.items() if path)
    return (
        f'<figure><svg class="bars" viewBox="0 0 1000 {_HIGH}" preserveAspectRatio="none" '
        f'role="img" aria-label="{safe(told.words)}">{drawn}'
        f'<path class="axis" d="M0 {zero:.1f}H1000"/></svg>'
        f"<figcaption>{safe(told.words)}.</figcaption></figure>"
    )
