"""Style, script and shared parts of HTML pages.

The style of all pages serves light and dark, narrow and wide, and paper. The script of a page
sorts and searches tables, and keeps the state in the address. The shared parts are the frame,
escaped text, tables, and two lists side by side.
"""

from __future__ import annotations

from base64 import b64encode
from collections.abc import Iterable, Mapping, Sequence
from hashlib import sha256
from html import escape
from itertools import compress
from typing import TYPE_CHECKING

from rankgate.core.present.charts.chart_style import DARK, GRADES
from rankgate.core.present.document_model import SIGNS, make_printable
from rankgate.core.present.number_formats import format_grade

if TYPE_CHECKING:
    from rankgate.core.present.document_model import Grid, ListedDocument, ListPair

    Spans = Sequence[tuple[float | None, float | None, float | None]]


_BLUE, _RED = "#1f77c4", "#d55e00"  # higher and lower, the same colours as in pictures
_SHADE_RULES = "".join(f".g{i}::before{{background:{colour}}}" for i, colour in enumerate(GRADES))
_DARK_SHADES = "".join(f".g{i}::before{{background:{DARK[colour]}}}" for i, colour in enumerate(GRADES))

STYLE = f"""
:root{{color-scheme:light dark;--ink:#1b1f24;--dim:#57606a;--paper:#fff;--line:#d0d7de;
--soft:#f3f5f8;--pass:#1a7f37;--fail:#b3261e;--inconclusive:#7a5200;--link:#0550ae;
--shade:0 1px 3px #0001}}
@media(prefers-color-scheme:dark){{:root{{--ink:#e6edf3;--dim:#9aa4af;--paper:#0d1117;--line:#30363d;
--soft:#161b22;--pass:#3fb950;--fail:#ff7b72;--inconclusive:#d29922;--link:#79c0ff;--shade:none}}}}
*{{box-sizing:border-box}}
html{{scroll-padding-top:3.5rem;-webkit-text-size-adjust:100%}}
body{{font:16px/1.55 system-ui,-apple-system,"Segoe UI",sans-serif;color:var(--ink);
background:var(--paper);margin:0}}
main{{max-width:72rem;margin:0 auto;padding:1.5rem 1.25rem 4rem}}
h1,h2,h3,p,li,summary,figcaption{{overflow-wrap:anywhere}}
h1{{font-size:1.7rem;line-height:1.3;margin:.3rem 0 .6rem;letter-spacing:-.01em}}
h2{{font-size:1.25rem;margin:0 0 .6rem}}h3{{font-size:1rem;margin:1.4rem 0 .5rem}}
section{{margin-top:2.6rem}}
p{{margin:.5rem 0}}.lead{{font-size:1.1rem}}.dim{{color:var(--dim)}}
ul{{margin:.8rem 0;padding-left:1.2rem}}li{{margin:.25rem 0}}
a{{color:var(--link);text-underline-offset:.15em}}
:focus-visible{{outline:2px solid var(--link);outline-offset:2px}}
nav{{position:sticky;top:0;z-index:1;display:flex;gap:.25rem 1.1rem;overflow-x:auto;
background:var(--paper);border-block:1px solid var(--line);padding:.6rem 0;margin-top:1.2rem}}
nav a{{white-space:nowrap;text-decoration:none}}nav a:hover{{text-decoration:underline}}
.word{{display:inline-block;padding:.05em .55em;margin-right:.2em;border:2px solid currentColor;
border-radius:.4em}}
.pass{{color:var(--pass)}}.fail{{color:var(--fail)}}.inconclusive{{color:var(--inconclusive)}}
tbody .pass,tbody .fail,tbody .inconclusive{{font-weight:600;white-space:nowrap}}
.scroll{{overflow-x:auto;margin:.6rem 0;border:1px solid var(--line);border-radius:.5em;
box-shadow:var(--shade)}}
.tall{{max-height:34rem}}.tall thead{{position:sticky;top:0}}
table{{border-collapse:collapse;width:100%;font-size:.9rem}}
th,td{{padding:.4rem .7rem;border-bottom:1px solid var(--line);text-align:left;vertical-align:top}}
tbody tr:last-child>*{{border-bottom:0}}
thead th,thead td{{background:var(--soft);vertical-align:bottom}}
tbody tr:hover>*{{background:var(--soft)}}
.n{{text-align:right;font-variant-numeric:tabular-nums;white-space:nowrap}}
th.n{{white-space:normal}}td.w{{min-width:15rem}}
th button{{font:inherit;color:inherit;background:none;border:0;padding:0;cursor:pointer;
text-align:inherit}}
th button:hover{{text-decoration:underline}}
th[aria-sort=ascending] button::after{{content:" ▲"}}
th[aria-sort=descending] button::after{{content:" ▼"}}
.find{{display:block;margin:.8rem 0 .2rem}}
input{{font:inherit;color:inherit;background:var(--paper);border:1px solid var(--dim);
border-radius:.35em;padding:.25em .6em;max-width:100%}}
details{{border:1px solid var(--line);border-radius:.5em;margin:.5rem 0;padding:.5rem .8rem;
box-shadow:var(--shade)}}
details .scroll{{box-shadow:none}}details h3{{display:inline;margin:0}}
details.part>*+*{{margin-top:.9rem}}details.part details h3{{display:block}}
.contents{{display:block;position:static;border:0}}.contents h2{{font-size:1.05rem;margin:0}}
.contents ul{{margin:.3rem 0;padding-left:1.2rem}}.contents ul ul{{columns:14rem;column-gap:2rem}}
.contents li{{margin:0 0 .2rem;break-inside:avoid}}
.contents a{{white-space:normal;overflow-wrap:anywhere}}
tbody th{{font-weight:inherit}}.warning{{color:var(--inconclusive)}}
dt{{font-weight:600;margin-top:.7rem}}dd{{margin:0 0 0 1.2rem}}
summary{{cursor:pointer}}summary .n{{color:var(--dim);margin-left:.4em}}
details[open]>summary{{margin-bottom:.5rem}}
.lists td{{min-width:3.5rem}}.lists td:nth-child(3n+2){{min-width:8.5rem;overflow-wrap:anywhere}}
.lists td:nth-child(4),.lists th:nth-child(4){{border-right:1px solid var(--line)}}
.move{{color:var(--dim);font-variant-numeric:tabular-nums}}
.g{{white-space:nowrap;font-variant-numeric:tabular-nums}}
.g::before{{content:"";display:inline-block;width:.75em;height:.75em;border-radius:50%;
margin-right:.45em;vertical-align:-.05em}}
.gx::before{{border:1px dashed var(--dim)}}
figure{{margin:1.2rem 0}}svg{{display:block}}
.bars{{display:grid;grid-template-columns:3.6rem 1fr;height:13rem;margin:.6rem 0}}
.bars svg{{width:100%;height:100%;overflow:visible}}
.ticks text{{fill:var(--dim);font-size:.8rem;text-anchor:end;font-variant-numeric:tabular-nums}}
.chart p{{margin:0;font-size:.9rem}}.along{{padding-left:3.6rem}}
.axis{{stroke:var(--dim);stroke-width:1;fill:none}}.grid{{stroke:var(--line);fill:none}}
.axis,.line,.grid{{vector-effect:non-scaling-stroke}}
.whole{{fill:transparent}}a:hover .whole,a:focus .whole{{fill:var(--link);fill-opacity:.15}}
.span{{width:10rem;height:1rem;margin-top:.25em}}
.line{{stroke:var(--dim);stroke-width:2}}.span circle{{fill:var(--dim)}}
.clear .line{{stroke:var(--link)}}.clear circle{{fill:var(--link)}}
figcaption{{color:var(--dim);font-size:.9rem;margin-top:.4rem}}
code{{font-size:.88em;overflow-wrap:anywhere}}
pre{{background:var(--soft);border-radius:.5em;padding:.8rem 1rem;white-space:pre-wrap;
overflow-wrap:anywhere}}
.unseen{{position:absolute;width:1px;height:1px;overflow:hidden;clip-path:inset(50%)}}
@media(max-width:40rem){{main{{padding:1rem .8rem 3rem}}h1{{font-size:1.35rem}}
th,td{{padding:.35rem .5rem}}}}
@media print{{:root{{color-scheme:light;--ink:#000;--dim:#444;--paper:#fff;--line:#bbb;
--soft:#f3f3f3;--pass:#1a7f37;--fail:#b3261e;--inconclusive:#7a5200;--link:#000;--shade:none}}
body{{font-size:10pt}}main{{max-width:none;padding:0}}nav:not(.contents),.find{{display:none}}
.scroll{{overflow:visible;border:0;max-height:none}}.tall thead{{position:static}}
section{{margin-top:1.5rem}}h2,h3,summary{{break-after:avoid}}details{{break-inside:auto}}
tr,figure,.bars,.scroll:not(.tall){{break-inside:avoid}}th button{{display:contents}}
table{{font-size:8.5pt}}th,td{{padding:.2rem .4rem}}
thead{{display:table-header-group}}a{{text-decoration:none}}
*{{print-color-adjust:exact;-webkit-print-color-adjust:exact}}}}
@page{{margin:15mm 15mm 18mm;@bottom-right{{content:counter(page) " / " counter(pages);
font:8pt sans-serif;color:#444}}}}
.up{{fill:{_BLUE}}}.down{{fill:{_RED}}}
{_SHADE_RULES}
@media screen and (prefers-color-scheme:dark){{{_DARK_SHADES}}}
"""
"""All pages share one style sheet, as unused rules cost little."""


SCRIPT = """
"use strict";
const asked = () => {
  const [place, rest] = location.hash.slice(1).split("?");
  return [place, new URLSearchParams(rest || "")];
};
const keep = (name, value) => {
  const [place, words] = asked();
  if (value) words.set(name, value); else words.delete(name);
  const rest = words.toString();
  history.replaceState(null, "", "#" + place + (rest ? "?" + rest : ""));
};
const text = (row, i) => row.cells[i].textContent.trim();
const number = (word) => {
  const found = /^[\\[<> ]*([+-]?\\d[\\d,]*\\.?\\d*)/.exec(word);
  return found ? parseFloat(found[1].replaceAll(",", "")) : NaN;
};
const order = (one, two) => {
  const x = number(one), y = number(two);
  if (!isNaN(x) && !isNaN(y) && x !== y) return x - y;
  return one.localeCompare(two, "en", {numeric: true});
};
const sort = (table, i, down) => {
  [...table.tHead.rows[0].cells].forEach((head, j) => {
    if (j === i) head.setAttribute("aria-sort", down ? "descending" : "ascending");
    else head.removeAttribute("aria-sort");
  });
  const known = (row) => !["", "\\u2013"].includes(text(row, i));
  const rows = [...table.tBodies[0].rows].sort((a, b) =>
    known(b) - known(a) || (down ? -1 : 1) * order(text(a, i), text(b, i)));
  table.tBodies[0].replaceChildren(...rows);
};
const find = (table, words, output) => {
  const wanted = words.toLowerCase();
  let shown = 0;
  for (const row of table.tBodies[0].rows) {
    row.hidden = !row.textContent.toLowerCase().includes(wanted);
    shown += !row.hidden;
  }
  output.textContent = wanted ? shown + " of " + table.tBodies[0].rows.length : "";
};
const fields = new Map();
for (const table of document.querySelectorAll("table.sort")) {
  [...table.tHead.rows[0].cells].forEach((head, i) => {
    if (head.tagName !== "TH" || head.textContent === "chart") return;
    const button = document.createElement("button");
    button.type = "button";
    button.append(...head.childNodes);
    head.append(button);
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      sort(table, i, down);
      keep(table.id + ".sort", i + (down ? "-" : "+"));
    });
  });
  if (!table.dataset.find) continue;
  const label = document.createElement("label"), field = document.createElement("input");
  const output = document.createElement("output");
  label.className = "find";
  field.type = "search";
  label.append("Find in this table ", field, " ", output);
  table.parentElement.before(label);
  field.addEventListener("input", () => {
    find(table, field.value, output);
    keep(table.id + ".find", field.value);
  });
  fields.set(table.id + ".find", (words) => { field.value = words; find(table, words, output); });
}
const go = () => {
  const [place, words] = asked();
  for (const [name, set] of fields) set(words.get(name) || "");
  for (const [name, value] of words) {
    const table = name.endsWith(".sort") && document.getElementById(name.slice(0, -5));
    if (table && table.tHead) sort(table, parseInt(value), value.endsWith("-"));
  }
  const found = document.getElementById(place);
  if (!found) return;
  for (let fold = found.closest("details"); fold; fold = fold.parentElement.closest("details"))
    fold.open = true;
  found.scrollIntoView();
};
addEventListener("hashchange", go);
const opened = [];
addEventListener("beforeprint", () => {
  for (const each of document.querySelectorAll("details:not([open]):not(.part)")) {
    each.open = true;
    opened.push(each);
  }
});
addEventListener("afterprint", () => { while (opened.length) opened.pop().open = false; });
go();
"""
"""The page is whole without it."""


_SHADE_COUNT = 4
_SORTED, _TALL = 3, 30  # a table with more rows can be sorted, and scrolls
_SENTENCE = 40
_STATUS = {f"{sign} {word}": word for word, sign in SIGNS.items()}


def whole_page(title: str, body: str, script: str, style: str, *, loose: bool = False) -> str:
    """A complete page that loads nothing; its security policy forbids it too.

    Args:
        title: the title, already escaped.
        body: HTML.
        script: allowed by its hash, so that nothing else runs.
        style: allowed by its hash too.
        loose: True to allow any style in the page, for drawings that scripts draw again.
    """
    styles = "'unsafe-inline'" if loose else f"'sha256-{_digest(style)}'"
    policy = (
        f"default-src 'none'; script-src 'sha256-{_digest(script)}'; style-src {styles}; base-uri 'none'; "
        "form-action 'none'"
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
    """A list of sentences; empty if there are none."""
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
    notes: Mapping[int, Sequence[str]] | None = None,
    clear: Sequence[bool] = (),
) -> str:
    """A grid as a table that scrolls by itself where it is wider than the page.

    Args:
        grid: its words.
        anchor: its name in the address; the script stores the sort order under it.
        label: its description for screen readers.
        find: True if the script lets readers search the table.
        spans: low, middle and high of each row, drawn in a column of their own.
        links: the address of the subject of each row.
        notes: texts below the cells of a column, by its number.
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
        f"<tr>{_grid_row(row, kinds, link, _notes_of_row(notes or {}, number))}{strip}</tr>"
        for number, (row, link, strip) in enumerate(zip(flat_grid.rows, addresses, strips, strict=True))
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


def _notes_of_row(notes: Mapping[int, Sequence[str]], row: int) -> dict[int, str]:
    """The texts below the cells of a row, as HTML."""
    return {
        column: f'<br><span class="dim"><bdi>{escape_html(texts[row])}</bdi></span>'
        for column, texts in notes.items()
        if texts[row]
    }


def _grid_row(texts: Sequence[str], kinds: Sequence[str], link: str, notes: Mapping[int, str]) -> str:
    first = escape_html(texts[0])
    if link:
        first = f'<a href="{escape_html(link)}">{first}</a>'
    kind = _status_class(texts[0]) or kinds[0]
    cells = [f'<th scope="row"{kind}>{first}{notes.get(0, "")}</th>' if first else "<td></td>"]
    cells += [
        f"<td{kind or _wide_class(text)}>{escape_html(text)}{notes.get(column, '')}</td>"
        for column, (kind, text) in enumerate(zip(kinds[1:], texts[1:], strict=True), 1)
    ]
    return "".join(cells)


def scroll_frame(content_html: str, label: str, *, tall: bool = False) -> str:
    """A frame that scrolls by mouse and keys where the content is wider than the page, or tall."""
    kind = "scroll tall" if tall else "scroll"
    attributes = f'tabindex="0" role="group" aria-label="{escape_html(label)}"'
    return f'<div class="{kind}" {attributes}>{content_html}</div>'


def _wide_class(word: str) -> str:
    """Give a sentence in a cell enough width on narrow screens."""
    return ' class="w"' if len(word) > _SENTENCE else ""


def _status_class(word: str) -> str:
    return f' class="{_STATUS[word]}"' if word in _STATUS else ""


def _interval_cells(intervals: Spans, clear: Sequence[bool]) -> list[str]:
    """Each interval as a line about its middle, all on one scale that includes 0."""
    bounds = [abs(end) for span in intervals for end in span if end is not None]
    scale = max(bounds, default=0) or 1
    strips = []
    for (low, middle, high), is_clear in zip(intervals, clear or [False] * len(intervals), strict=True):
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
    """Both lists of a query by rank; moves are neutral, grades have the colours of a scale.

    A second system without a name has no columns.
    """
    has_name = [bool(name) for name in result.names]
    rows = [
        f'<tr><th scope="row" class="n">{rank}</th>'
        f"{''.join(_document_cells(document, result.top) for document in compress(documents, has_name))}</tr>"
        for rank, *documents in result.ranks
    ]
    heads = "".join(
        f'<th scope="col">{escape_html(name)}</th><th scope="col">grade</th><th scope="col">moved</th>'
        for name in compress(result.names, has_name)
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
    shade = "x" if value is None else round(_SHADE_COUNT * min(max(value / top, 0), 1)) if top else 0
    return (
        f"<td><bdi><code>{escape_html(document.doc_id)}</code></bdi>{text_html}</td>"
        f'<td><span class="g g{shade}">{format_grade(value)}</span></td>'
        f'<td class="move">{escape_html(document.move)}</td>'
    )
