"""A verdict as one self-contained page: no script, nothing from elsewhere, light and dark."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.report.figures import interval, p_value, signed
from rankgate.report.html_parts import SIGNS, document, safe, side_by_side, table
from rankgate.report.numbers import decimal

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rankgate.data.comparison import Comparison
    from rankgate.gate.verdict import Ended, Verdict

_WORST = 20


def page(told: Verdict) -> str:
    """The whole page."""
    baseline, candidate = (safe(name) for name in told.names)
    word = told.verdict
    title = (
        f'<h1><span class="word {word}">{SIGNS[word]} {word}</span> '
        f"{candidate} against {baseline}</h1>"
    )
    parts = [title, rules(told.rules)]
    if told.comparison is not None:
        parts += [metrics(told.comparison), _worst(told)]
    if told.notes:
        parts.append("<h2>What holds for all of it</h2><ul>")
        parts += [f"<li>{safe(note)}</li>" for note in told.notes]
        parts.append("</ul>")
    parts.append(_basis(told))
    return document(f"{word}: {candidate} against {baseline}", "\n".join(parts))


def rules(ended: Iterable[Ended]) -> str:
    """Each rule with how it ended, why, and what would settle it."""
    rows = []
    for each in ended:
        told = each.outcome
        after = f'<br><span class="dim">next: {safe(told.next)}</span>' if told.next else ""
        rows.append(
            f'<tr><td class="{told.status}">{SIGNS[told.status]} {told.status}</td>'
            f'<td>{safe(each.rule.id)}<br><span class="dim">{safe(each.rule.tier)}</span></td>'
            f"<td>{safe(told.reason)}{after}</td></tr>"
        )
    return table("Rules", ("status", "rule", "why"), rows)


def metrics(told: Comparison) -> str:
    """Means, difference, interval and p of each metric."""
    rows = [
        "<tr>"
         f"<td>{safe(row['metric'])}</td>"
        + "".join(
            f'<td class="n">{safe(cell)}</td>'
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
    return table("Metrics", head, rows, numbers=True)


def _worst(told: Verdict) -> str:
    """The queries that lost most, each with both lists when it is opened."""
    comparison = told.comparison
    if comparison is None or not told.queries:
        return ""
    parts = ["<h2>Worst queries</h2>"]
    for row in _distinct(told.queries)[:_WORST]:
        lists = comparison.lists.filter(pl.col("query_id") == row["query_id"])
        parts.append(
            f"<details><summary><b>{safe(row['query_id'])}</b> {safe(row['metric'])} "
            f"{decimal(row['baseline'])} → {decimal(row['candidate'])} "
            f"({signed(row['delta'])})</summary>{side_by_side(comparison, lists)}</details>"
        )
    return "\n".join(parts)


def _distinct(rows: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Each query once, with the metric in which it lost most."""
    seen: dict[str, dict[str, Any]] = {}
    for row in rows:
        seen.setdefault(row["query_id"], row)
    return list(seen.values())


def _basis(told: Verdict) -> str:
    rows = [f"<li>policy: {safe(told.policy)}</li>"]
    if told.convention:
        name, digest = told.convention["name"], told.convention["hash"]
        rows.append(f"<li>convention {safe(str(name))} ({safe(str(digest))})</li>")
    rows += [
        f"<li>{safe(name)}: <code>{safe(digest)}</code></li>"
        for name, digest in told.hashes.items()
        if digest
    ]
    if told.looks:
        rows.append(f"<li>look {told.looks} at these queries</li>")
    return f"<h2>What it rests on</h2><ul>{''.join(rows)}</ul>"
