"""Render comparisons: differences, worst queries, and the ranking of many systems."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import UsageError
from rankgate.core.present.document import Document, PlainRows, Table, Warnings
from rankgate.core.present.document import document as made
from rankgate.core.present.figures import (
    corrected,
    interval,
    number,
    p_value,
    probability,
    share,
    shares,
    signed,
    whole,
    won,
)
from rankgate.core.present.grid import SOFT, Grid, printable
from rankgate.core.present.numbers import UNDEFINED, decimal
from rankgate.data.comparison import GIVEN
from rankgate.decisions.comparison.documents import represented as of_sample
from rankgate.decisions.comparison.documents.heads import interval_head, p_head
from rankgate.decisions.comparison.documents.systems import of_many
from rankgate.decisions.comparison.method import signed_ranks, way

if TYPE_CHECKING:
    from rankgate.core.present.document import Block
    from rankgate.decisions.comparison.comparison import Comparison, Comparisons

WORST = 5
"""How many queries of each metric are shown by default."""


def document(result: Comparisons, *, worst: int = WORST) -> Document:
    """The baseline against each candidate; all systems, where there are three or more.

    Args:
        result: the comparisons.
        worst: how many of the worst queries are shown for each metric.
    """
    several = len(result.comparisons) > 1
    blocks: list[Block] = []
    for each in result.comparisons:
        blocks += [title(each)] if several else []
        blocks += [Table(heading, grid) for heading, grid in grids(each, worst)]
        blocks += [Warnings(each.warnings), notes(each)]
    if result.many:
        blocks += [Table(heading, grid) for heading, grid in of_many(result.many)]
    return made("" if several else title(result.only), *blocks, rows=_rows(result))


def query_document(result: Comparison, query_id: str) -> Document:
    """One query: each metric's values, and both lists side by side.

    Raises:
        UsageError: neither system ran it, and no value is known of it.
    """
    known = {*result.queries["query_id"].to_list(), *result.lists["query_id"].to_list()}
    if query_id not in known:
        near = get_close_matches(query_id, sorted(known), 1)
        hint = f"did you mean {near[0]}?" if near else "see the queries with --worst 100."
        problem = f"no query {query_id!r} was compared; {hint}"
        raise UsageError(problem, code="unknown-query")
    rows = [
        (row["metric"], decimal(row["baseline"]), decimal(row["candidate"]), signed(row["delta"]))
        for row in result.queries.iter_rows(named=True)
        if row["query_id"] == query_id
    ]
    one, two = printable(result.baseline.name), printable(result.candidate.name)
    values = Grid(("metric", one, two, "delta"), tuple(rows))
    return made(
        f"query {printable(query_id)}",
        Table("", values) if rows else "no metric has a value on both sides",
        Table("", side_by_side(result, query_id)),
        "grades: – is unjudged; moved: +2 is two ranks higher in the candidate's list",
    )


def grids(
    result: Comparison, worst: int = WORST, *, two_sided: bool = False
) -> list[tuple[str, Grid]]:
    """Every table of a comparison with its heading, those that say something."""
    tables = [
        ("", figures(result, two_sided=two_sided)),
        (of_sample.heading(result), of_sample.represented(result)),
        ("", effects(result)),
        (_relative_heading(result), relative(result)),
        (_equivalence_heading(result), equivalence(result)),
        ("", _judged(result)),
    ]
    tables += [(f"{tag}: figures of each value", _slice(result, tag)) for tag in _tags(result)]
    for metric in result.names:
        lost, count = _worst(result, metric, worst), _losses(result, metric)
        if lost.rows:
            tables.append(
                (f"{metric}: worst queries ({len(lost.rows)} of {count} that lost)", lost)
            )
        tables.append((f"{metric}: worst queries by the model alone",
                       of_sample.predicted(result, metric, worst)))  # fmt: skip
    tables += [
        ("latency in ms", _latency(result)),
        ("states of queries", _states(result)),
        ("left out", _excluded(result)),
    ]
    return [(heading, grid) for heading, grid in tables if grid.rows]


def figures(result: Comparison, *, two_sided: bool = False) -> Grid:
    """Means, difference, interval and p of each metric."""
    rows = [
        (
            row["metric"],
            decimal(row["baseline"]),
            decimal(row["candidate"]),
            signed(row["delta"]),
            interval(row["low"], row["high"]),
            p_value(row["p_value"]),
            won(row),
        )
        for row in result.metrics.iter_rows(named=True)
    ]
    names = (printable(result.baseline.name), printable(result.candidate.name))
    ends = interval_head(result, two_sided=two_sided)
    head = ("metric", *names, "delta", ends, p_head(result), "won/tied/\nlost")
    return Grid(head, tuple(rows))


def effects(result: Comparison) -> Grid:
    """What this set of queries can detect, and how many a wanted difference needs."""
    head = [
        "metric",
        "queries",
        "effect\n(gz)",
        "sd of the\ndifferences",
        f"detect{SOFT}\nable",
        "queries to show\nthis difference",
    ]
    head += [f"queries to\nshow {wanted:g}" for wanted in result.plans["wanted"][:1]]
    plans = {row["metric"]: row["queries"] for row in result.plans.iter_rows(named=True)}
    rows = [
        (
            row["metric"],
            str(row["n"]),
            number(row["effect"], 2),
            decimal(row["sd"]),
            decimal(row["mde"]),
            whole(row["needed"]),
            *([whole(plans.get(row["metric"]))] if plans else []),
        )
        for row in result.metrics.iter_rows(named=True)
    ]
    return Grid(tuple(head), tuple(rows))


def relative(result: Comparison) -> Grid:
    """Differences as shares of the baseline's mean."""
    rows = [
        (row["metric"], share(row["relative"]), shares(row["low"], row["high"]))
        for row in result.relative.iter_rows(named=True)
    ]
    return Grid(("metric", "relative", f"{result.level:.0%} interval"), tuple(rows))


def _relative_heading(result: Comparison) -> str:
    return f"as a share of {printable(result.baseline.name)}'s mean (Fieller's intervals)"


def equivalence(result: Comparison) -> Grid:
    """Two one-sided tests, and how probably the candidate is worse, equivalent or better."""
    rows = [
        (
            row["metric"],
            p_value(row["p_value"]),
            (shares if row["relative"] else interval)(row["low"], row["high"]),
            *(probability(row[name]) for name in ("worse", "same", "better")),
        )
        for row in result.equivalence.iter_rows(named=True)
    ]
    rule = result.correction.partition(" over ")[0]
    p = "p\n(TOST)" if rule == "none" else f"p\n(TOST, {'holm' if rule == 'maxt' else rule})"
    ends = f"{2 * result.level - 1:.0%} interval\n(uncorrected)"
    return Grid(("metric", p, ends, "P(worse)", "P(equi-\nvalent)", "P(better)"), tuple(rows))


def _equivalence_heading(result: Comparison) -> str:
    if not len(result.equivalence):
        return ""
    row = result.equivalence.row(0, named=True)
    margin = f"{row['margin']:.6g}"
    if row["relative"]:
        margin = f"{100 * row['margin']:.6g}% of {printable(result.baseline.name)}'s mean"
    return f"equivalent within {margin}? (two one-sided tests; probabilities by a flat prior)"


def side_by_side(result: Comparison, query_id: str) -> Grid:
    """Both lists of a query, rank by rank: moves in ranks, grades, what came and went."""
    lists: dict[str, dict[int, dict[str, Any]]] = {"baseline": {}, "candidate": {}}
    for row in result.lists.iter_rows(named=True):
        if row["query_id"] == query_id:
            lists[row["system"]][row["rank"]] = row
    deepest = max((rank for each in lists.values() for rank in each), default=0)
    rows = [
        (
            str(rank),
            *_document(lists["baseline"].get(rank)),
            *_document(lists["candidate"].get(rank)),
        )
        for rank in range(1, deepest + 1)
    ]
    one, two = printable(result.baseline.name), printable(result.candidate.name)
    head = ("rank", one, "grade", "", two, "grade", "")
    return Grid(head, tuple(rows), frozenset({1, 3, 4, 6}))


def title(result: Comparison) -> str:
    """Who is compared, by which judgments and convention."""
    how = result.convention
    if how["name"] == GIVEN:
        names = f"{printable(result.candidate.name)} against {printable(result.baseline.name)}"
        return f"{names}, by the values in {printable(result.qrels)}"
    return (
        f"{printable(result.candidate.name)} against {printable(result.baseline.name)}, by "
        f"judgments {printable(result.qrels)}, convention {how['name']} ({how['hash']})"
    )


def notes(result: Comparison, *, several: bool = False) -> str:
    """What delta, interval, p and detectable are, of one candidate or of several."""
    name = "the candidate" if several else printable(result.candidate.name)
    after = "" if result.correction.startswith("none") else " after the correction"
    drawn = way(
        result.interval, result.test, result.resamples, result.seed, result.metrics["mc_error"]
    )
    return (
        f"delta is {name} minus {printable(result.baseline.name)}, "
        f"mean over queries; {drawn}{signed_ranks(result.zeros, result.signed_ranks)}, "
        f"{corrected(result.correction)}. {of_sample.note(result)}"
        f"Detectable is the smallest true difference that these queries show "
        f"with a power of {result.power:.0%}{after}: not significant is not the same as not worse."
    )


def _judged(result: Comparison) -> Grid:
    if not result.depth:  # values without lists
        return Grid(("system",), ())
    shares: dict[int, dict[str, float | None]] = {}
    for row in result.judged.iter_rows(named=True):
        shares.setdefault(row["k"], {})[row["system"]] = row["share"]
    head = ("system", *(f"judged@{k}" for k in shares))
    rows = [
        (printable(who.name), *(decimal(each.get(side)) for each in shares.values()))
        for side, who in (("baseline", result.baseline), ("candidate", result.candidate))
    ]
    return Grid(head, tuple(rows))


def _worst(result: Comparison, metric: str, worst: int) -> Grid:
    rows = [
        (
            row["query_id"],
            decimal(row["baseline"]),
            decimal(row["candidate"]),
            signed(row["delta"]),
            number(row["overlap"], 2),
            number(row["judged_baseline"], 2),
            number(row["judged_candidate"], 2),
        )
        for row in result.deltas(metric).head(worst).iter_rows(named=True)
        if row["gain"] < 0
    ]
    one, two = printable(result.baseline.name), printable(result.candidate.name)
    k = result.depth
    head = (
        "query",
        one,
        two,
        "delta",
        f"shared\ntop {k}",
        f"judged@{k}\n{one}",
        f"judged@{k}\n{two}",
    )
    whole = Grid(head, tuple(rows))
    return whole if result.depth else whole.columns(0, 4)  # without lists


def _losses(result: Comparison, metric: str) -> int:
    return int((result.deltas(metric)["gain"] < 0).sum())


def _tags(result: Comparison) -> list[str]:
    return result.slices["tag"].unique(maintain_order=True).to_list()


def _slice(result: Comparison, tag: str) -> Grid:
    rows = [
        (
            row["value"],
            row["metric"],
            str(row["n"]),
            decimal(row["baseline"]),
            decimal(row["candidate"]),
            signed(row["delta"]),
            interval(row["low"], row["high"]),
            p_value(row["p_value"]),
        )
        for row in result.slices.iter_rows(named=True)
        if row["tag"] == tag
    ]
    rows += [
        ("(differ?)", row["metric"], "", "", "", "", "", p_value(row["p_value"]))
        for row in result.interactions.iter_rows(named=True)
        if row["tag"] == tag
    ]
    one, two = printable(result.baseline.name), printable(result.candidate.name)
    head = (
        tag,
        "metric",
        "n",
        one,
        two,
        "delta",
        f"{result.level:.0%} interval\n(uncorrected)",
        "p\n(bh)",
    )
    return Grid(head, tuple(rows), frozenset({0, 1}), keys=2)


def _latency(result: Comparison) -> Grid:
    rows = [
        (
            _who(result, row["system"]),
            str(row["n"]),
            *(number(row[name], 1) for name in ("mean", "p50", "p90", "p95", "p99")),
        )
        for row in result.latency.iter_rows(named=True)
    ]
    return Grid(("system", "queries", "mean", "p50", "p90", "p95", "p99"), tuple(rows))


def _states(result: Comparison) -> Grid:
    rows = [
        (_who(result, row["system"]), row["state"], str(row["queries"]))
        for row in result.states.iter_rows(named=True)
    ]
    if all(row["state"] == "ok" for row in result.states.iter_rows(named=True)):
        rows = []
    return Grid(("system", "state", "queries"), tuple(rows), frozenset({0, 1}))


def _excluded(result: Comparison) -> Grid:
    counted: dict[tuple[str, str], list[str]] = {}
    for query, metric, reason in result.excluded.iter_rows():
        counted.setdefault((metric or "all", reason), []).append(query)
    rows = [
        (metric, reason, str(len(some)), ", ".join(some[:3]) + (", …" if len(some) > 3 else ""))
        for (metric, reason), some in counted.items()
    ]
    return Grid(("metric", "why", "queries", "such as"), tuple(rows), frozenset({0, 1, 3}))


def _who(result: Comparison, system: str) -> str:
    return printable(result.baseline.name if system == "baseline" else result.candidate.name)


def moved(row: Mapping[str, Any]) -> str:
    """How many ranks a document rises from the baseline to the candidate, on either side.

    >>> [moved({"system": side, "moved": n}) for side, n in (("baseline", -2), ("candidate", 2))]
    ['+2', '+2']
    >>> [moved({"system": side, "moved": None}) for side in ("baseline", "candidate")]
    ['gone', 'new']
    """
    if row["moved"] is None:
        return "gone" if row["system"] == "baseline" else "new"
    rise = -row["moved"] if row["system"] == "baseline" else row["moved"]
    return f"{rise:+d}" if rise else ""


def _document(row: dict[str, Any] | None) -> tuple[str, str, str]:
    if row is None:
        return "", "", ""
    grade = UNDEFINED if row["grade"] is None else f"{row['grade']:g}"
    return row["doc_id"], grade, moved(row)


def _rows(result: Comparisons) -> PlainRows:
    """Every query of every metric of every candidate."""
    head = ("candidate", "metric", "query_id", "baseline", "candidate_value", "delta")
    return PlainRows(head, [
        (each.candidate.name, row["metric"], row["query_id"], row["baseline"], row["candidate"],
         row["delta"])
        for each in result.comparisons
        for row in each.queries.iter_rows(named=True)
    ])  # fmt: skip
