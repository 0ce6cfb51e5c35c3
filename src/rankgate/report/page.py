"""A report as one page: verdict first, then what changed, what was not seen, how to make it again.

It asks for nothing from elsewhere and stays whole without its script, which sorts and filters
tables and opens the query that a link names.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any
from urllib.parse import quote

import polars as pl

from rankgate.report import blindspots, holes
from rankgate.report.figures import interval, signed
from rankgate.report.html_parts import SIGNS, document, of_grid, safe, side_by_side, table
from rankgate.report.numbers import decimal
from rankgate.report.page_style import SCRIPT, STYLE
from rankgate.report.systems import of_many
from rankgate.report.verdict_html import metrics, rules

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankgate.data.comparison import Comparison
    from rankgate.services.dossier import Dossier

WORST, GAINED, ROWS = 20, 5, 500
_HIGH, _EDGE = 110, 5  # of the picture of differences


def page(told: Dossier, worst: int = WORST) -> str:
    """The whole page.

    Args:
        told: what there is to say.
        worst: how many of the queries that lost are shown with both lists.
    """
    comparisons = told.comparisons.comparisons
    first = comparisons[0]
    title = f"{safe(first.candidate.name)} against {safe(first.baseline.name)}"
    parts = [_head(told, first, title), _links(told)]
    if told.verdict is not None:
        parts += ['<section id="verdict">', rules(told.verdict.rules)]
        parts += [_list(told.verdict.notes), "</section>"]
    for place, each in enumerate(comparisons):
        parts.append(_change(told, each, place, worst))
    if told.comparisons.many:
        parts.append('<section id="systems"><h2>All systems</h2>')
        for heading, grid in of_many(told.comparisons.many):
            parts += [f"<h3>{safe(heading)}</h3>" if heading else "", of_grid(grid)]
        parts.append("</section>")
    parts.append(_basis(told, first))
    return document(title, "\n".join(part for part in parts if part), SCRIPT, STYLE)


def sentence(told: Comparison) -> str:
    """What the first metric says, in words."""
    row = told.metrics.row(0, named=True)
    name, ends = row["metric"], interval(row["low"], row["high"])
    if row["delta"] is None:
        return f"{name} has no value on both sides."
    figures = f"{signed(row['delta'])}, {told.level:.0%} interval {ends}, {row['n']} queries"
    p = row["p_value"]
    if p is not None and p <= 1 - told.level:
        word = "higher" if row["delta"] > 0 else "lower"
        return f"{name} is {word} ({figures})."
    return (
        f"{name} is not told apart ({figures}); these queries show a difference of "
        f"{decimal(row['mde'])} or more."
    )


def _head(told: Dossier, first: Comparison, title: str) -> str:
    word = ""
    if told.verdict is not None:
        status = told.verdict.verdict
        word = f'<span class="word {status}">{SIGNS[status]} {status}</span> '
    return (
        f"<header><h1>{word}{title}</h1><p>{safe(sentence(first))}</p>"
        f'<p class="dim">Judgments {safe(first.qrels)}, convention '
        f"{safe(str(first.convention['name']))}.</p></header>"
    )


def _links(told: Dossier) -> str:
    links = [("#verdict", "Rules")] if told.verdict is not None else []
    comparisons = told.comparisons.comparisons
    for place, each in enumerate(comparisons):
        links.append(
            (f"#change-{place}", each.candidate.name if len(comparisons) > 1 else "Change")
        )
        links.append((f"#queries-{place}", "Queries"))
        if place < len(told.blindness):
            links.append((f"#blind-{place}", "Blind spots"))
            links.append((f"#holes-{place}", "Holes"))
    links += [("#systems", "All systems")] if told.comparisons.many else []
    links.append(("#basis", "Basis"))
    words = "".join(f'<a href="{href}">{safe(name)}</a>' for href, name in links)
    return f'<nav aria-label="Sections">{words}</nav>'


def _change(told: Dossier, each: Comparison, place: int, worst: int) -> str:
    """One candidate against the baseline."""
    names = f"{safe(each.candidate.name)} against {safe(each.baseline.name)}"
    parts = [f'<section id="change-{place}"><h2>{names}</h2><p>{safe(sentence(each))}</p>']
    parts += [
        metrics(each),
        _list(each.warnings),
        _bars(each),
        "</section>",
    ]
    parts += [f'<section id="queries-{place}">', _opened(told, each, place, worst)]
    parts += [_table(each, place), "</section>"]
    if place < len(told.blindness):
        blind = told.blindness[place]
        parts.append(f'<section id="blind-{place}"><h2>What metrics do not see</h2>')
        for heading, grid in blindspots.grids(blind):
            parts += [f"<h3>{safe(heading)}</h3>", of_grid(grid)]
        parts += [_list(tuple(blindspots.sentences(blind))), "</section>"]
    if place < len(told.blindness):
        parts.append(_holes(told, each, place))
    return "\n".join(part for part in parts if part)


def _holes(told: Dossier, each: Comparison, place: int) -> str:
    heading = f'<section id="holes-{place}"><h2>What unjudged documents could hide</h2>'
    if place >= len(told.hidden):
        words = (
            f"No metric here looks only at the first {each.depth} documents; one such as "
            f"nDCG@{each.depth} can be asked."
        )
        return f"{heading}<p>{words}</p></section>"
    tables = [of_grid(grid) for grid in holes.grids(told.hidden[place]) if grid.rows]
    return f"{heading}{''.join(tables)}</section>"


def _opened(told: Dossier, each: Comparison, place: int, worst: int) -> str:
    """The queries that lost most and gained most, each with both lists when it is opened."""
    metric = each.names[0]
    rows = each.deltas(metric).to_dicts()
    lost = [row for row in rows if row["delta"] < 0]
    gained = [row for row in reversed(rows) if row["delta"] > 0]
    parts = []
    for heading, some, most in (("lost", lost, worst), ("gained", gained, GAINED)):
        if some and most:
            shown = some[:most]
            parts.append(f"<h2>Queries that {heading} most {safe(metric)}</h2>")
            parts.append(f'<p class="dim">{len(shown)} of {len(some)}</p>')
            parts += [_query(told, each, place, row) for row in shown]
    return "\n".join(parts)


def _query(told: Dossier, each: Comparison, place: int, row: Mapping[str, Any]) -> str:
    query = row["query_id"]
    lists = each.lists.filter(pl.col("query_id") == query)
    own = pl.col("query_id").is_null() | (pl.col("query_id") == query)
    texts = dict(told.documents.filter(own).select("doc_id", "text").drop_nulls().iter_rows())
    text = told.queries.get(query)
    about = f' <span class="dim">{safe(text)}</span>' if text else ""
    return (
        f'<details id="{_anchor(place, query)}"><summary><b>{safe(query)}</b>{about} '
        f"{decimal(row['baseline'])} → {decimal(row['candidate'])} ({signed(row['delta'])})"
        f"</summary>{side_by_side(each, lists, texts)}</details>"
    )


def _table(each: Comparison, place: int) -> str:
    """The queries that moved most, to be sorted and filtered."""
    names = each.names
    values = {(row["query_id"], row["metric"]): row["delta"] for row in each.queries.to_dicts()}
    ranked = each.deltas(names[0]).with_columns(pl.col("delta").abs().alias("size"))
    some = ranked.sort("size", "query_id", descending=[True, False]).head(ROWS)
    rows = []
    for query in some["query_id"].to_list():
        cells = "".join(f'<td class="n">{signed(values.get((query, name)))}</td>' for name in names)
        rows.append(f"<tr><td>{safe(query)}</td>{cells}</tr>")
    if not rows:
        return ""
    head = ("query", *(f"Δ {name}" for name in names))
    field = f'<input type="search" data-for="rows-{place}">'
    return (
        f'<h2>Every query</h2><p class="dim">{len(rows)} of {len(ranked)}, the largest difference '
        "first; rankgate compare --format csv has all.</p>"
        f'<p class="find" hidden><label>Filter {field}</label></p>'
        f'<div id="rows-{place}">{table("", head, rows, numbers=True, kind="sort")}</div>'
    )


def _bars(each: Comparison) -> str:
    """The differences of all queries, sorted: a picture of who won and who lost."""
    metric = each.names[0]
    found = sorted(each.deltas(metric)["delta"].to_list(), reverse=True)
    up, down = max([0.0, *found[:1]]), -min([0.0, *found[-1:]])
    if not up + down:
        return ""
    scale = _HIGH / (up + down)
    zero = _EDGE + up * scale
    step = max(1, len(found) // ROWS)
    some = found[::step]
    wide = 600 / len(some)
    path = "".join(
        f"M{i * wide:.1f} {zero:.1f}h{wide * 0.9:.2f}v{-scale * delta:.1f}h{-wide * 0.9:.2f}z"
        for i, delta in enumerate(some)
    )
    words = (
        f"{metric}: {sum(d > 0 for d in found)} queries won, {sum(d < 0 for d in found)} lost; "
        f"differences from {signed(found[-1])} to {signed(found[0])}"
    )
    return (
        f'<figure><svg viewBox="0 0 600 120" role="img" aria-label="{safe(words)}">'
        f'<path class="bar" d="{path}"/><path class="axis" d="M0 {zero:.1f}H600"/></svg>'
        f"<figcaption>{safe(words)}.</figcaption></figure>"
    )


def _basis(told: Dossier, first: Comparison) -> str:
    systems = [first.baseline, *(each.candidate for each in told.comparisons.comparisons)]
    rules_of = (
        f"convention {safe(str(first.convention['name']))}, hash "
        f"<code>{safe(str(first.convention['hash']))}</code>"
    )
    figures = (
        f"p: {safe(first.test)} test, corrected by {safe(first.correction)}; interval: "
        f"{safe(first.interval)}, level {first.level:g}; seed {first.seed}"
    )
    lines = [
        f"judgments {safe(first.qrels)}: <code>{safe(first.qrels_sha256)}</code>",
        *(f"{safe(who.name)}: <code>{safe(who.sha256)}</code>" for who in systems),
        rules_of,
        figures,
    ]
    if told.verdict is not None:
        lines.append(f"policy: {safe(told.verdict.policy)}")
    axes = [
        f"<tr><td>{safe(str(name))}</td><td>{safe(str(value))}</td></tr>"
        for name, value in first.convention["axes"].items()
    ]
    again = (
        f"<h3>Make it again</h3><pre><code>{safe(told.again)}</code></pre>" if told.again else ""
    )
    return (
        f'<section id="basis"><h2>What it rests on</h2><ul>'
        f"{''.join(f'<li>{line}</li>' for line in lines)}</ul>"
        f"<details><summary>Every choice of the convention</summary>"
        f"{table('', ('axis', 'choice'), axes)}</details>{again}</section>"
    )


def _anchor(place: int, query: str) -> str:
    return f"q{place}-{quote(query, safe='')}"


def _list(words: tuple[str, ...]) -> str:
    return f"<ul>{''.join(f'<li>{safe(each)}</li>' for each in words)}</ul>" if words else ""
