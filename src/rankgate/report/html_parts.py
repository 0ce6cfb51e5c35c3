"""What the pages share: their style, their frame, tables, and two lists side by side."""

from __future__ import annotations

from base64 import b64encode
from hashlib import sha256
from html import escape
from typing import TYPE_CHECKING, Any

from rankgate.report.grid import printable
from rankgate.report.numbers import grade

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import polars as pl

    from rankgate.data.comparison import Comparison
    from rankgate.report.grid import Grid

_SHADES = 4

SIGNS = {"pass": "✔", "fail": "✘", "inconclusive": "?"}

STYLE = """
:root{color-scheme:light dark;--ink:#1b1f24;--dim:#57606a;--paper:#fff;--line:#d0d7de;
--soft:#f6f8fa;--pass:#1a7f37;--fail:#b3261e;--inconclusive:#7a5200;--move:#0550ae}
@media(prefers-color-scheme:dark){:root{--ink:#e6edf3;--dim:#9aa4af;--paper:#0d1117;--line:#30363d;
--soft:#161b22;--pass:#3fb950;--fail:#ff7b72;--inconclusive:#d29922;--move:#79c0ff}}
*{box-sizing:border-box}
body{font:16px/1.5 system-ui,sans-serif;color:var(--ink);background:var(--paper);margin:0 auto;
max-width:70rem;padding:1rem}
h1{font-size:1.6rem;margin:.5rem 0}h2{font-size:1.2rem;margin:2rem 0 .5rem}
.word{display:inline-block;padding:.1em .6em;border:2px solid currentColor;border-radius:.4em}
.pass{color:var(--pass)}.fail{color:var(--fail)}.inconclusive{color:var(--inconclusive)}
.scroll{overflow-x:auto}
table{border-collapse:collapse;width:100%;font-size:.9rem}
th,td{padding:.35rem .6rem;border-bottom:1px solid var(--line);text-align:left;vertical-align:top}
td.n,th.n{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}
thead th{background:var(--soft)}
.g{box-shadow:inset 4px 0 var(--g)}.g0{--g:#8c959f}.g1{--g:#c7a252}.g2{--g:#5aa9c4}.g3{--g:#4a90d9}
.g4{--g:#2f6fd0}.gx{box-shadow:none}
.dim{color:var(--dim)}.move{color:var(--move)}
details{border:1px solid var(--line);border-radius:.4em;margin:.4rem 0;padding:.4rem .8rem}
summary{cursor:pointer}
code{font-size:.85em;overflow-wrap:anywhere}
li{overflow-wrap:anywhere}
@media print{details{break-inside:avoid}body{max-width:none}}
"""


def document(title: str, body: str, script: str = "", style: str = "") -> str:
    """A whole page that asks for nothing from elsewhere.

    Args:
        title: escaped words.
        body: HTML.
        script: allowed by its hash, so that nothing else runs.
        style: beside the pages' own.
    """
    digest = b64encode(sha256(script.encode()).digest()).decode()
    allowed = f"; script-src 'sha256-{digest}'" if script else ""
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        f"style-src 'unsafe-inline'{allowed}\">"
        f"<title>{title}</title><style>{STYLE}{style}</style></head>\n"
        f"<body><main>\n{body}\n</main>{f'<script>{script}</script>' if script else ''}"
        "</body></html>\n"
    )


def side_by_side(
    told: Comparison, lists: pl.DataFrame, texts: Mapping[str, str] | None = None
) -> str:
    """Both lists of a query, rank by rank; ranks gained are neutral, grades have a scale's colours.

    Args:
        told: the comparison.
        lists: the rows of one query.
        texts: what is known of documents, by id.
    """
    known = texts or {}
    best = told.lists["grade"].max()
    top = best if isinstance(best, float) else 0.0
    sides = {
        name: {row["rank"]: row for row in lists.iter_rows(named=True) if row["system"] == name}
        for name in ("baseline", "candidate")
    }
    deepest = max((rank for each in sides.values() for rank in each), default=0)
    rows = [
        f'<tr><td class="n">{rank}</td>{_cell(sides["baseline"].get(rank), "gone", top, known)}'
        f"{_cell(sides['candidate'].get(rank), 'new', top, known)}</tr>"
        for rank in range(1, deepest + 1)
    ]
    head = ("rank", told.baseline.name, "grade", "", told.candidate.name, "grade", "")
    return table("", head, rows)


def _cell(row: dict[str, Any] | None, alone: str, top: float, texts: Mapping[str, str]) -> str:
    if row is None:
        return "<td></td><td></td><td></td>"
    moved, value = row["moved"], row["grade"]
    words = alone if moved is None else "" if moved == 0 else f"{moved:+d}"
    text = texts.get(row["doc_id"])
    about = f'<br><span class="dim">{safe(text)}</span>' if text else ""
    shade = "x" if value is None else round(_SHADES * min(max(value / top, 0), 1)) if top else 0
    return (
        f'<td><code>{safe(row["doc_id"])}</code>{about}</td><td class="g g{shade}">{grade(value)}'
        f'</td><td class="move">{words}</td>'
    )


def table(
    title: str, head: tuple[str, ...], rows: list[str], *, numbers: bool = False, kind: str = ""
) -> str:
    """A table that scrolls by itself where it is wider than the page; cells are HTML."""
    kinds = ["" if i == 0 or not numbers else ' class="n"' for i in range(len(head))]
    names = "".join(
        f'<th scope="col"{kind}>{safe(name) or "<span></span>"}</th>'
        for name, kind in zip(head, kinds, strict=True)
    )
    heading = f"<h2>{safe(title)}</h2>" if title else ""
    style = f' class="{kind}"' if kind else ""
    body = "\n".join(rows)
    inside = f"<table{style}><thead><tr>{names}</tr></thead><tbody>{body}</tbody></table>"
    return f"{heading}{framed(inside)}"


def of_grid(grid: Grid) -> str:
    """A grid as a table of words."""
    flat = grid.flat
    kinds = ["" if i in flat.left else ' class="n"' for i in range(len(flat.head))]
    head = _row('th scope="col"', flat.head, kinds)
    body = "\n".join(_row("td", row, kinds) for row in flat.rows)
    return framed(f"<table><thead>{head}</thead><tbody>{body}</tbody></table>")


def framed(inside: str) -> str:
    """What scrolls by itself where it is wider than the page."""
    return f'<div class="scroll" tabindex="0">{inside}</div>'


def _row(tag: str, words: Sequence[str], kinds: Sequence[str]) -> str:
    end = tag.partition(" ")[0]
    cells = (f"<{tag}{kind}>{safe(word) or '<span></span>'}</{end}>"
             for word, kind in zip(words, kinds, strict=True))  # fmt: skip
    return f"<tr>{''.join(cells)}</tr>"


def safe(words: str) -> str:
    """Words that stay words, whatever stands in them."""
    return escape(printable(words))
