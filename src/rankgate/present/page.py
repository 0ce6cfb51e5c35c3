"""A report as one page that asks for nothing from elsewhere, and is whole without its script."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

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
from rankgate.present.outline import Bars, Code, Opened, Points, Table
from rankgate.present.page_script import SCRIPT
from rankgate.present.page_style import STYLE

if TYPE_CHECKING:
    from rankgate.present.outline import Block, Lists, Outline, Section

_HIGH = 100  # of the picture of differences, in its own units


def page(told: Outline) -> str:
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
    return document(safe(title), "\n".join(part for part in body if part), SCRIPT, STYLE)


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
    parts = [f'<section id="{told.anchor}"><h2>{safe(told.title)}</h2>']
    parts += [_block(each, f"{told.anchor}-{i}") for i, each in enumerate(told.blocks)]
    return "\n".join([*(part for part in parts if part), "</section>"])


def _block(told: Block, anchor: str) -> str:
    if isinstance(told, str):
        return paragraph(told)
    if isinstance(told, Points):
        return points(told.lines)
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
