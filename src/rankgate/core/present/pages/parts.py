"""Shared parts of pages: frame, escaped text, tables, two lists side by side."""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Sequence
from hashlib import sha256
from html import escape
from typing import TYPE_CHECKING

from rankgate.core.present.document import SIGNS
from rankgate.core.present.grid import printable
from rankgate.core.present.numbers import grade

if TYPE_CHECKING:
    from rankgate.core.present.document import ListedDocument, ListPair
    from rankgate.core.present.grid import Grid

    Spans = Sequence[tuple[float | None, float | None, float | None]]

_SHADES = 4
_SORTED, _TALL = 3, 30  # rows from which on a table can be sorted, and scrolls
_SENTENCE = 40
_STATUS = {f"{sign} {word}": word for word, sign in SIGNS.items()}


def whole_page(title: str, body: str, script: str, style: str, *, loose: bool = False) -> str:
    """A whole page that asks for nothing from elsewhere, and could not if it wanted to.

    Args:
        title: escaped words.
        body: HTML.
        script: allowed by its hash, so that nothing else runs.
        style: allowed by its hash too.
        loose: any style may be in the page, as drawings need that make themselves anew.
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


def safe(words: str) -> str:
    """Escaped text."""
    return escape(printable(words))


def paragraph(words: str) -> str:
    """One paragraph."""
    return f"<p>{safe(words)}</p>"


def points(lines: Iterable[str]) -> str:
    """A list of sentences; nothing of none."""
    items = "".join(f"<li>{safe(each)}</li>" for each in lines)
    return f"<ul>{items}</ul>" if items else ""


def folded(heading: str, inside: str) -> str:
    """What is shown when it is asked for."""
    return f"<details><summary>{safe(heading)}</summary>{inside}</details>"


def status(word: str) -> str:
    """The word of a verdict, with its sign."""
    return f'<span class="word {word}">{SIGNS[word]} {word}</span>'


def of_grid(
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
        anchor: its name in the address, under which the script keeps how it is sorted.
        label: what it is, for those who hear it.
        find: whether the script lets readers search it.
        spans: low, middle and high of each row, drawn in a column of their own.
        links: the address of what each row is about.
        clear: whether each interval is of a significant difference.
    """
    flat = grid.flat
    kinds = ["" if i in flat.left else ' class="n"' for i in range(len(flat.head))]
    drawn = ['<th scope="col">chart</th>'] if spans else []
    head = [
        f'<th scope="col"{kind}>{safe(name)}</th>' if name else "<td></td>"
        for name, kind in zip(flat.head, kinds, strict=True)
    ]
    strips = _strips(spans, clear) or [""] * len(flat.rows)
    about = links or [""] * len(flat.rows)
    rows = [
        f"<tr>{_row(row, kinds, link)}{strip}</tr>"
        for row, link, strip in zip(flat.rows, about, strips, strict=True)
    ]
    marks = [f'id="{anchor}"'] if anchor else []
    marks += ['class="sort"'] if len(rows) >= _SORTED and anchor else []
    marks += ['data-find="1"'] if find else []
    begin = " ".join(["<table", *marks]) + ">"
    body = "\n".join(rows)
    return framed(
        f"{begin}<thead><tr>{''.join([*head, *drawn])}</tr></thead><tbody>{body}</tbody></table>",
        label or "table",
        tall=len(rows) > _TALL,
    )


def _row(words: Sequence[str], kinds: Sequence[str], link: str) -> str:
    first = safe(words[0])
    if link:
        first = f'<a href="{safe(link)}">{first}</a>'
    kind = _status(words[0]) or kinds[0]
    cells = [f'<th scope="row"{kind}>{first}</th>' if first else "<td></td>"]
    cells += [
        f"<td{kind or _wide(word)}>{safe(word)}</td>"
        for kind, word in zip(kinds[1:], words[1:], strict=True)
    ]
    return "".join(cells)


def framed(inside: str, label: str, *, tall: bool = False) -> str:
    """What scrolls by itself where it is wider than the page, or tall, by keys too."""
    kind = "scroll tall" if tall else "scroll"
    named = f'tabindex="0" role="group" aria-label="{safe(label)}"'
    return f'<div class="{kind}" {named}>{inside}</div>'


def _wide(word: str) -> str:
    """A sentence in a cell gets room on narrow screens."""
    return ' class="w"' if len(word) > _SENTENCE else ""


def _status(word: str) -> str:
    return f' class="{_STATUS[word]}"' if word in _STATUS else ""


def _strips(spans: Spans, clear: Sequence[bool]) -> list[str]:
    """Each interval as a line about its middle, all to one scale with 0 on it."""
    ends = [abs(end) for span in spans for end in span if end is not None]
    reach = max(ends, default=0) or 1
    strips = []
    for (low, middle, high), known in zip(spans, clear or [False] * len(spans), strict=True):
        if low is None or middle is None or high is None:
            strips.append("<td></td>")
            continue
        a, b, c = (100 + 96 * end / reach for end in (low, middle, high))
        kind = " clear" if known else ""
        strips.append(
            f'<td><svg class="span{kind}" viewBox="0 0 200 16" aria-hidden="true">'
            f'<path class="axis" d="M100 0V16"/><path class="line" d="M{a:.1f} 8H{c:.1f}"/>'
            f'<circle cx="{b:.1f}" cy="8" r="4"/></svg></td>'
        )
    return strips


def side_by_side(result: ListPair) -> str:
    """Both lists of a query, rank by rank; moves are neutral, grades have a scale's colours."""
    rows = [
        f'<tr><th scope="row" class="n">{rank}</th>'
        f"{_cells(one, result.top)}{_cells(two, result.top)}</tr>"
        for rank, one, two in result.ranks
    ]
    heads = "".join(
        f'<th scope="col">{safe(name)}</th><th scope="col">grade</th><th scope="col">moved</th>'
        for name in result.names
    )
    return framed(
        f'<table class="lists"><thead><tr><th scope="col" class="n">rank</th>{heads}</tr></thead>'
        f"<tbody>{''.join(rows)}</tbody></table>",
        f"both lists of {result.query_id}",
    )


def _cells(place: ListedDocument | None, top: float) -> str:
    if place is None:
        return '<td></td><td></td><td class="move"></td>'
    about = f'<br><bdi class="dim">{safe(place.text)}</bdi>' if place.text else ""
    value = place.grade
    shade = "x" if value is None else round(_SHADES * min(max(value / top, 0), 1)) if top else 0
    return (
        f"<td><bdi><code>{safe(place.doc_id)}</code></bdi>{about}</td>"
        f'<td><span class="g g{shade}">{grade(value)}</span></td>'
        f'<td class="move">{safe(place.move)}</td>'
    )
