"""Comparisons: what lies between two systems, the worst queries, and who is best of many."""

from __future__ import annotations

from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from rankgate.comparison.documents.systems import of_many
from rankgate.comparison.method import way
from rankgate.errors import UsageError
from rankgate.present import as_csv, as_json, as_latex, as_markdown
from rankgate.present.as_text import WIDTH, fitted
from rankgate.present.figures import corrected, interval, number, p_value, signed, whole, won
from rankgate.present.grid import SOFT, Grid, printable
from rankgate.present.numbers import UNDEFINED, decimal
from rankgate.present.paragraphs import wrapped

if TYPE_CHECKING:
    from collections.abc import Iterable

    from rankgate.comparison.compare import Comparisons
    from rankgate.data.comparison import Comparison

FORMS = ("text", "json", "csv", "markdown", "latex")
"""The forms of a comparison, by the name that ``--format`` takes."""

WORST = 5
"""Queries of each metric that are shown unasked."""


def render(
    told: Comparisons, form: str, width: int = WIDTH, worst: int = WORST, *, lists: bool = False
) -> str:
    """The comparisons in one of `FORMS`; JSON and CSV have every query, JSON its lists if asked."""
    if form == "json":
        return as_json.dumped(told.to_dict(lists=lists))
    if form == "csv":
        return _csv(told.comparisons)
    if form == "latex":
        return "\n".join(as_latex.table(figures(each)) + "\n" for each in told.comparisons)
    table = as_markdown.table if form == "markdown" else lambda grid: fitted(grid, width)
    parts: list[str] = []
    for each in told.comparisons:
        parts += [_paragraph(_title(each), width)]
        parts += [_block(heading, grid, table, form) for heading, grid in grids(each, worst)]
        parts += [_paragraph(f"! {words}", width) for words in each.warnings]
        parts += [_paragraph(_notes(each), width)]
    if told.many:
        parts += [_block(heading, grid, table, form) for heading, grid in of_many(told.many)]
    return "\n\n".join(part.rstrip("\n") for part in parts) + "\n"


def grids(told: Comparison, worst: int = WORST) -> list[tuple[str, Grid]]:
    """Every table of a comparison with its heading, those that say something."""
    tables = [("", figures(told)), ("", effects(told)), ("", _judged(told))]
    tables += [(f"{tag}: figures of each value", _slice(told, tag)) for tag in _tags(told)]
    for metric in told.names:
        lost, count = _worst(told, metric, worst), _losses(told, metric)
        if lost.rows:
            tables.append(
                (f"{metric}: worst queries ({len(lost.rows)} of {count} that lost)", lost)
            )
    tables += [("latency in ms", _latency(told)), ("states of queries", _states(told)),
               ("left out", _excluded(told))]  # fmt: skip
    return [(heading, grid) for heading, grid in tables if grid.rows]


def figures(told: Comparison) -> Grid:
    """Means, difference, interval and p of each metric."""
    level = f"{told.level:.0%} interval"
    rows = [
        (
            row["metric"], decimal(row["baseline"]), decimal(row["candidate"]),
            signed(row["delta"]), interval(row["low"], row["high"]), p_value(row["p_value"]),
            won(row),
        )
        for row in told.metrics.iter_rows(named=True)
    ]  # fmt: skip
    names = (printable(told.baseline.name), printable(told.candidate.name))
    head = ("metric", *names, "delta", level, "p", "won/tied/\nlost")
    return Grid(head, tuple(rows))


def effects(told: Comparison) -> Grid:
    """What this set of queries can tell at all, and how many a wanted difference takes."""
    head = ["metric", "queries", "effect\n(gz)", "sd of the\ndifferences", f"detect{SOFT}\nable",
            "queries to show\nthis difference"]  # fmt: skip
    head += [f"queries to\nshow {wanted:g}" for wanted in told.plans["wanted"][:1]]
    plans = {row["metric"]: row["queries"] for row in told.plans.iter_rows(named=True)}
    rows = [
        (row["metric"], str(row["n"]), number(row["effect"], 2), decimal(row["sd"]),
         decimal(row["mde"]), whole(row["needed"]),
         *([whole(plans.get(row["metric"]))] if plans else []))
        for row in told.metrics.iter_rows(named=True)
    ]  # fmt: skip
    return Grid(tuple(head), tuple(rows))


def side_by_side(told: Comparison, query_id: str) -> Grid:
    """Both lists of a query, rank by rank: moves in ranks, grades, what came and went."""
    lists: dict[str, dict[int, dict[str, Any]]] = {"baseline": {}, "candidate": {}}
    for row in told.lists.iter_rows(named=True):
        if row["query_id"] == query_id:
            lists[row["system"]][row["rank"]] = row
    deepest = max((rank for each in lists.values() for rank in each), default=0)
    rows = [
        (
            str(rank), *_document(lists["baseline"].get(rank), "gone"),
            *_document(lists["candidate"].get(rank), "new"),
        )
        for rank in range(1, deepest + 1)
    ]  # fmt: skip
    one, two = printable(told.baseline.name), printable(told.candidate.name)
    head = ("rank", one, "grade", "", two, "grade", "")
    return Grid(head, tuple(rows), frozenset({1, 3, 4, 6}))


def query_text(told: Comparison, query_id: str, width: int = WIDTH) -> str:
    """One query: each metric's values, and both lists side by side.

    Raises:
        UsageError: neither system ran it, and no value is known of it.
    """
    known = {*told.queries["query_id"].to_list(), *told.lists["query_id"].to_list()}
    if query_id not in known:
        near = get_close_matches(query_id, sorted(known), 1)
        hint = f"did you mean {near[0]}?" if near else "see the queries with --worst 100."
        raise UsageError(f"no query {query_id!r} was compared; {hint}", code="unknown-query")
    rows = [
        (row["metric"], decimal(row["baseline"]), decimal(row["candidate"]), signed(row["delta"]))
        for row in told.queries.iter_rows(named=True)
        if row["query_id"] == query_id
    ]
    one, two = printable(told.baseline.name), printable(told.candidate.name)
    values = Grid(("metric", one, two, "delta"), tuple(rows))
    parts = [f"query {printable(query_id)}"]
    parts += [fitted(values, width)] if rows else ["no metric has a value on both sides"]
    parts += [fitted(side_by_side(told, query_id), width)]
    parts += ["grades: – is unjudged; moves: +2 stands two ranks higher than in the other list"]
    return "\n\n".join(parts) + "\n"


def _title(told: Comparison) -> str:
    return (
        f"{printable(told.candidate.name)} against {printable(told.baseline.name)}, by judgments "
        f"{printable(told.qrels)}, convention {told.convention['name']} ({told.convention['hash']})"
    )


def _notes(told: Comparison) -> str:
    after = "" if told.correction.startswith("none") else " after the correction"
    drawn = way(told.interval, told.test, told.resamples, told.seed, told.metrics["mc_error"])
    return (
        f"delta is {printable(told.candidate.name)} minus {printable(told.baseline.name)}, mean "
        f"over queries; {drawn}, {corrected(told.correction)}. "
        f"Detectable is the smallest true difference that these queries show "
        f"with a power of {told.power:.0%}{after}: not significant is not the same as not worse."
    )


def _judged(told: Comparison) -> Grid:
    shares: dict[int, dict[str, float | None]] = {}
    for row in told.judged.iter_rows(named=True):
        shares.setdefault(row["k"], {})[row["system"]] = row["share"]
    head = ("system", *(f"judged@{k}" for k in shares))
    rows = [
        (printable(who.name), *(decimal(each.get(side)) for each in shares.values()))
        for side, who in (("baseline", told.baseline), ("candidate", told.candidate))
    ]
    return Grid(head, tuple(rows))


def _worst(told: Comparison, metric: str, worst: int) -> Grid:
    rows = [
        (row["query_id"], decimal(row["baseline"]), decimal(row["candidate"]),
         signed(row["delta"]), number(row["overlap"], 2), number(row["judged_baseline"], 2),
         number(row["judged_candidate"], 2))
        for row in told.deltas(metric).head(worst).iter_rows(named=True)
        if row["gain"] < 0
    ]  # fmt: skip
    one, two = printable(told.baseline.name), printable(told.candidate.name)
    k = told.depth
    head = ("query", one, two, "delta", f"shared\ntop {k}", f"judged@{k}\n{one}",
            f"judged@{k}\n{two}")  # fmt: skip
    return Grid(head, tuple(rows))


def _losses(told: Comparison, metric: str) -> int:
    return int((told.deltas(metric)["gain"] < 0).sum())


def _tags(told: Comparison) -> list[str]:
    return told.slices["tag"].unique(maintain_order=True).to_list()


def _slice(told: Comparison, tag: str) -> Grid:
    rows = [
        (row["value"], row["metric"], str(row["n"]), decimal(row["baseline"]),
         decimal(row["candidate"]), signed(row["delta"]), interval(row["low"], row["high"]),
         p_value(row["p_value"]))
        for row in told.slices.iter_rows(named=True)
        if row["tag"] == tag
    ]  # fmt: skip
    rows += [
        ("(differ?)", row["metric"], "", "", "", "", "", p_value(row["p_value"]))
        for row in told.interactions.iter_rows(named=True)
        if row["tag"] == tag
    ]
    one, two = printable(told.baseline.name), printable(told.candidate.name)
    head = (tag, "metric", "n", one, two, "delta", f"{told.level:.0%} interval", "p (bh)")
    return Grid(head, tuple(rows), frozenset({0, 1}), keys=2)


def _latency(told: Comparison) -> Grid:
    rows = [
        (_who(told, row["system"]), str(row["n"]),
         *(number(row[name], 1) for name in ("mean", "p50", "p90", "p95", "p99")))
        for row in told.latency.iter_rows(named=True)
    ]  # fmt: skip
    return Grid(("system", "queries", "mean", "p50", "p90", "p95", "p99"), tuple(rows))


def _states(told: Comparison) -> Grid:
    rows = [
        (_who(told, row["system"]), row["state"], str(row["queries"]))
        for row in told.states.iter_rows(named=True)
    ]
    if all(row["state"] == "ok" for row in told.states.iter_rows(named=True)):
        rows = []
    return Grid(("system", "state", "queries"), tuple(rows), frozenset({0, 1}))


def _excluded(told: Comparison) -> Grid:
    counted: dict[tuple[str, str], list[str]] = {}
    for query, metric, reason in told.excluded.iter_rows():
        counted.setdefault((metric or "all", reason), []).append(query)
    rows = [
        (metric, reason, str(len(some)), ", ".join(some[:3]) + (", …" if len(some) > 3 else ""))  # noqa: PLR2004
        for (metric, reason), some in counted.items()
    ]
    return Grid(("metric", "why", "queries", "such as"), tuple(rows), frozenset({0, 1, 3}))


def _who(told: Comparison, system: str) -> str:
    return printable(told.baseline.name if system == "baseline" else told.candidate.name)


def _document(row: dict[str, Any] | None, alone: str) -> tuple[str, str, str]:
    if row is None:
        return "", "", ""
    moved = row["moved"]
    words = alone if moved is None else "" if moved == 0 else f"{moved:+d}"
    grade = UNDEFINED if row["grade"] is None else f"{row['grade']:g}"
    return row["doc_id"], grade, words


def _csv(told: Iterable[Comparison]) -> str:
    head = ("candidate", "metric", "query_id", "baseline", "candidate_value", "delta")
    rows = [
        (each.candidate.name, row["metric"], row["query_id"], row["baseline"], row["candidate"],
         row["delta"])
        for each in told
        for row in each.queries.iter_rows(named=True)
    ]  # fmt: skip
    return as_csv.written(head, rows)


def _block(heading: str, grid: Grid, table: Any, form: str) -> str:  # noqa: ANN401 - a function
    gap = "\n\n" if form == "markdown" else "\n"
    return f"{heading}{gap}{table(grid)}" if heading else str(table(grid))


def _paragraph(text: str, width: int) -> str:
    return "\n".join(wrapped(text, min(width, 100)))
