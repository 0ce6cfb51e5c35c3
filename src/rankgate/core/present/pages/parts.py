"""Shared parts of pages: frame, escaped text, tables, two lists side by side."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Sequence
from hashlib import sha256
from html import escape
from typing import TYPE_CHECKING

from rankgate.core.present.document import SIGNS
from rankgate.core.present.grid import make_printable
from rankgate.core.present.numbers import format_grade

if TYPE_CHECKING:
    from rankgate.core.present.document import ListedDocument, ListPair
    from rankgate.core.present.grid import Grid

    Spans = Sequence[tuple[float | None, float | None, float | None]]

_SHADES = 4
_SORTED, _TALL = 3, 30  # rows from which on a table can be sorted, and scrolls
_SENTENCE = 40
_STATUS = {f"{sign} {word}": word for word, sign in SIGNS.items()}


def whole_page(title: str, body: str, script: str, style: str, *, loose: bool = False) -> str:
    """A complete page that loads nothing; its security policy forbids it too.

    Args:
        title: escaped words.
        body: HTML.
        script: allowed by its hash, so that nothing else runs.
        style: allowed by its hash too.
        loose: allow any style in the page, as drawings need that are drawn again by scripts.
    """
    styles = "'unsafe-inline'" if loose else f"'sha256-{_digest(style)}'"
    policy = (
        f"default-src 'none'; script-src 'sha256-{_digest(script)}'; style-src {styles}; "
        "base-uri 'none'; form-action 'none'"
    )
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
        '<meta name="referrer" content="no-referrer">'
        f"<title>{title}</title><style>{style}</style></head>\n"
        f"<body><main>\n{body}\n</main><script>{script}</script></body></html>\n"
    )


def _digest(text: str) -> str:
    return b64encode(sha256(text.encode()).digest()).decode()


def escape_html(text: str) -> str:
    """Escaped text."""
    return escape(make_printable(text))


def paragraph_html(text: str) -> str:
    """One paragraph."""
    return f"<p>{escape_html(text)}</p>"


def points_html(lines: Iterable[str]) -> str:
    """A list of sentences; empty without any."""
    list_html = "".join(f"<li>{escape_html(line)}</li>" for line in lines)
    return f"<ul>{list_html}</ul>" if list_html else ""


def folded_html(heading: str, content_html: str) -> str:
    """A heading that opens and closes the HTML below it."""
    return f"<details><summary>{escape_html(heading)}</summary>{content_html}</details>"


def status_html(word: str) -> str:
    """The word of a verdict, with its sign."""
    return f'<span class="word {word}">{SIGNS[word]} {word}</span>'


def grid_html(
    grid: Grid,
    anchor: str = "",
    label: str = "",
    *,
    find: bool = False,
    spans: Spans = (),
    links: Sequence[str] = (),
    clear: Sequence[bool] = (),
) -> str:
    """A grid as a table that scrolls by itself where it is wider than the page.

    Args:
        grid: its words.
        anchor: its name in the address; the script keeps the sort order under it.
        label: its description for screen readers.
        find: True where the script lets readers search it.
        spans: low, middle and high of each row, drawn in a column of their own.
        links: the address of the subject of each row.
        clear: True for each interval of a significant difference.
    """
    flat_grid = grid.flat
    kinds = ["" if i in flat_grid.left else ' class="n"' for i in range(len(flat_grid.head))]
    chart_header = ['<th scope="col">chart</th>'] if spans else []
    header_cells = [
        f'<th scope="col"{kind}>{escape_html(name)}</th>' if name else "<td></td>"
        for name, kind in zip(flat_grid.head, kinds, strict=True)
    ]
    strips = _interval_cells(spans, clear) or [""] * len(flat_grid.rows)
    addresses = links or [""] * len(flat_grid.rows)
    rows = [
        f"<tr>{_grid_row(row, kinds, link)}{strip}</tr>"
        for row, link, strip in zip(flat_grid.rows, addresses, strips, strict=True)
    ]
    marks = [f'id="{anchor}"'] if anchor else []
    marks += ['class="sort"'] if len(rows) >= _SORTED and anchor else []
    marks += ['data-find="1"'] if find else []
    begin = " ".join(["<table", *marks]) + ">"
    body = "\n".join(rows)
    return scroll_frame(
        f"{begin}<thead><tr>{''.join([*header_cells, *chart_header])}</tr></thead>"
        f"<tbody>{body}</tbody></table>",
        label or "table",
        tall=len(rows) > _TALL,
    )


def _grid_row(texts: Sequence[str], kinds: Sequence[str], link: str) -> str:
    first = escape_html(texts[0])
    if link:
        first = f'<a href="{escape_html(link)}">{first}</a>'
    kind = _status_class(texts[0]) or kinds[0]
    cells = [f'<th scope="row"{kind}>{first}</th>' if first else "<td></td>"]
    cells += [
        f"<td{kind or _wide_class(text)}>{escape_html(text)}</td>"
        for kind, text in zip(kinds[1:], texts[1:], strict=True)
    ]
    return "".join(cells)


def scroll_frame(content_html: str, label: str, *, tall: bool = False) -> str:
    """A frame that scrolls by mouse and keys where the content is wider than the page, or tall."""
    kind = "scroll tall" if tall else "scroll"
    attributes = f'tabindex="0" role="group" aria-label="{escape_html(label)}"'
    return f'<div class="{kind}" {attributes}>{content_html}</div>'


def _wide_class(word: str) -> str:
    """A sentence in a cell gets room on narrow screens."""
    return ' class="w"' if len(word) > _SENTENCE else ""


def _status_class(word: str) -> str:
    return f' class="{_STATUS[word]}"' if word in _STATUS else ""


def _interval_cells(intervals: Spans, clear: Sequence[bool]) -> list[str]:
    """Each interval as a line about its middle, all to one scale with 0 on it."""
    bounds = [abs(end) for span in intervals for end in span if end is not None]
    scale = max(bounds, default=0) or 1
    strips = []
    for (low, middle, high), is_clear in zip(
        intervals, clear or [False] * len(intervals), strict=True
    ):
        if low is None or middle is None or high is None:
            strips.append("<td></td>")
            continue
        a, b, c = (100 + 96 * bound / scale for bound in (low, middle, high))
        kind = " clear" if is_clear else ""
        strips.append(
            f'<td><svg class="span{kind}" viewBox="0 0 200 16" aria-hidden="true">'
            f'<path class="axis" d="M100 0V16"/><path class="line" d="M{a:.1f} 8H{c:.1f}"/>'
            f'<circle cx="{b:.1f}" cy="8" r="4"/></svg></td>'
        )
    return strips


def lists_html(result: ListPair) -> str:
    """Both lists of a query, rank by rank; moves are neutral, grades have a scale's colours."""
    rows = [
        f'<tr><th scope="row" class="n">{rank}</th>'
        f"{_document_cells(first, result.top)}{_document_cells(second, result.top)}</tr>"
        for rank, first, second in result.ranks
    ]
    heads = "".join(
        f'<th scope="col">{escape_html(name)}</th>'
        '<th scope="col">grade</th><th scope="col">moved</th>'
        for name in result.names
    )
    return scroll_frame(
        f'<table class="lists"><thead><tr><th scope="col" class="n">rank</th>{heads}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table>",
        f"both lists of {result.query_id}",
    )


def _document_cells(document: ListedDocument | None, top: float) -> str:
    if document is None:
        return '<td></td><td></td><td class="move"></td>'
    text_html = f'<br><bdi class="dim">{escape_html(document.text)}</bdi>' if document.text else ""
    value = document.grade
    shade = "x" if value is None else round(_SHADES * min(max(value / top, 0), 1)) if top else 0
    return (
        f"<td><bdi><code>{escape_html(document.doc_id)}</code></bdi>{text_html}</td>"
        f'<td><span class="g g{shade}">{format_grade(value)}</span></td>'
        f'<td class="move">{escape_html(document.move)}</td>'
    )
