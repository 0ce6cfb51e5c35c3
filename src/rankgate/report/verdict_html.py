"""A verdict as one self-contained page: no script, nothing from elsewhere, light and dark."""

from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.report.figures import interval, number, p_value, signed
from rankgate.report.grid import printable
from rankgate.report.numbers import UNDEFINED, decimal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rankgate.data.comparison import Comparison
    from rankgate.gate.verdict import Ended, Verdict

_SIGNS = {"pass": "✔", "fail": "✘", "inconclusive": "?"}
_WORST = 20

_STYLE = """
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
.dim{color:var(--dim)}.move{color:var(--move)}
details{border:1px solid var(--line);border-radius:.4em;margin:.4rem 0;padding:.4rem .8rem}
summary{cursor:pointer}
code{font-size:.85em;overflow-wrap:anywhere}
li{overflow-wrap:anywhere}
@media print{details{break-inside:avoid}body{max-width:none}}
"""


def page(told: Verdict) -> str:
    """The whole page."""
    baseline, candidate = (_safe(name) for name in told.names)
    word = told.verdict
    title = (
        f'<h1><span class="word {word}">{_SIGNS[word]} {word}</span> '
        f"{candidate} against {baseline}</h1>"
    )
    parts = [title, _rules(told.rules)]
    if told.comparison is not None:
        parts += [_metrics(told.comparison), _worst(told)]
    if told.notes:
        parts.append("<h2>What holds for all of it</h2><ul>")
        parts += [f"<li>{_safe(note)}</li>" for note in told.notes]
        parts.append("</ul>")
    parts.append(_basis(told))
    return (
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width,initial-scale=1">'
        '<meta http-equiv="Content-Security-Policy" content="default-src \'none\'; '
        "style-src 'unsafe-inline'\">"
        f"<title>{word}: {candidate} against {baseline}</title><style>{_STYLE}</style></head>\n"
        "<body><main>\n" + "\n".join(parts) + "\n</main></body></html>\n"
    )


def _rules(rules: Iterable[Ended]) -> str:
    rows = []
    for each in rules:
        told = each.outcome
        after = f'<br><span class="dim">next: {_safe(told.next)}</span>' if told.next else ""
        rows.append(
            f'<tr><td class="{told.status}">{_SIGNS[told.status]} {told.status}</td>'
            f'<td>{_safe(each.rule.id)}<br><span class="dim">{_safe(each.rule.tier)}</span></td>'
            f"<td>{_safe(told.reason)}{after}</td></tr>"
        )
    return _table("Rules", ("status", "rule", "why"), rows)


def _metrics(told: Comparison) -> str:
    rows = [
        "<tr>"
         f"<td>{_safe(row['metric'])}</td>"
        + "".join(
            f'<td class="n">{_safe(cell)}</td>'
            for cell in (
                decimal(row["baseline"]), decimal(row["candidate"]), signed(row["delta"]),
                interval(row["low"], row["high"]), p_value(row["p_value"]),
                f"{row['wins']}/{row['ties']}/{row['losses']}", decimal(row["mde"]),
            )
        )
        + "</tr>"
        for row in told.metrics.iter_rows(named=True)
    ]  # fmt: skip
    head = ("metric", told.baseline.name, told.candidate.name, "delta",
            f"{told.level:.0%} interval", "p", "won/tied/lost", "detectable")  # fmt: skip
    return _table("Metrics", head, rows, numbers=True)


def _worst(told: Verdict) -> str:
    """The queries that lost most, each with both lists when it is opened."""
    comparison = told.comparison
    if comparison is None or not told.queries:
        return ""
    parts = ["<h2>Worst queries</h2>"]
    for row in _distinct(told.queries)[:_WORST]:
        lists = comparison.lists.filter(pl.col("query_id") == row["query_id"])
        parts.append(
            f"<details><summary><b>{_safe(row['query_id'])}</b> {_safe(row['metric'])} "
            f"{decimal(row['baseline'])} → {decimal(row['candidate'])} "
            f"({signed(row['delta'])})</summary>{_lists(comparison, lists)}</details>"
        )
    return "\n".join(parts)


def _distinct(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each query once, with the metric in which it lost most."""
    seen: dict[str, dict[str, Any]] = {}
    for row in rows:
        seen.setdefault(row["query_id"], row)
    return list(seen.values())


def _lists(told: Comparison, lists: pl.DataFrame) -> str:
    sides = {
        name: {row["rank"]: row for row in lists.iter_rows(named=True) if row["system"] == name}
        for name in ("baseline", "candidate")
    }
    deepest = max((rank for each in sides.values() for rank in each), default=0)
    rows = [
        f'<tr><td class="n">{rank}</td>{_cell(sides["baseline"].get(rank), "gone")}'
        f"{_cell(sides['candidate'].get(rank), 'new')}</tr>"
        for rank in range(1, deepest + 1)
    ]
    head = ("rank", told.baseline.name, "grade", "", told.candidate.name, "grade", "")
    return _table("", head, rows)


def _cell(row: dict[str, Any] | None, alone: str) -> str:
    if row is None:
        return "<td></td><td></td><td></td>"
    moved = row["moved"]
    words = alone if moved is None else "" if moved == 0 else f"{moved:+d}"
    grade = UNDEFINED if row["grade"] is None else number(row["grade"], 0)
    return (
        f'<td><code>{_safe(row["doc_id"])}</code></td><td>{grade}</td><td class="move">{words}</td>'
    )


def _basis(told: Verdict) -> str:
    rows = [f"<li>policy: {_safe(told.policy)}</li>"]
    if told.convention:
        name, digest = told.convention["name"], told.convention["hash"]
        rows.append(f"<li>convention {_safe(str(name))} ({_safe(str(digest))})</li>")
    rows += [
        f"<li>{_safe(name)}: <code>{_safe(digest)}</code></li>"
        for name, digest in told.hashes.items()
        if digest
    ]
    if told.looks:
        rows.append(f"<li>look {told.looks} at these queries</li>")
    return f"<h2>What it rests on</h2><ul>{''.join(rows)}</ul>"


def _table(title: str, head: tuple[str, ...], rows: list[str], *, numbers: bool = False) -> str:
    kinds = ["" if i == 0 or not numbers else ' class="n"' for i in range(len(head))]
    names = "".join(
        f'<th scope="col"{kind}>{_safe(name) or "<span></span>"}</th>'
        for name, kind in zip(head, kinds, strict=True)
    )
    heading = f"<h2>{_safe(title)}</h2>" if title else ""
    body = "\n".join(rows)
    return (
        f'{heading}<div class="scroll" tabindex="0"><table><thead><tr>{names}</tr></thead>'
        f"<tbody>{body}</tbody></table></div>"
    )


def _safe(words: str) -> str:
    return escape(printable(words))
