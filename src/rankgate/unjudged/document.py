"""Holes: bounds and estimates of each metric, and what to judge next."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.present.as_csv import written
from rankgate.present.document import Chart, Document, Table
from rankgate.present.document import document as made
from rankgate.present.figures import interval, number, signed
from rankgate.present.grid import SOFT, Grid, printable
from rankgate.present.numbers import UNDEFINED, decimal

if TYPE_CHECKING:
    from rankgate.unjudged.holes import HoleAnalysis

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def document(result: HoleAnalysis, count: int = 10) -> Document:
    """Shares judged, figures of each metric, and so many documents to judge next."""
    title = (
        f"what unjudged documents could make of {printable(result.candidate)} against "
        f"{printable(result.baseline)}, first {result.depth} documents, {len(result.judge_next)} "
        f"of them unjudged, convention {result.convention['name']} ({result.convention['hash']})"
    )
    shown = min(count, len(result.judge_next))
    skipped = f"{', '.join(result.skipped)}: looks deeper than the lists, left out"
    return made(
        title,
        Chart("rankgate.unjudged.charts.holes:draw", result),
        Table("", _judged(result)),
        Table("", _metrics(result)),
        Table(f"judge next (the first {shown} of {len(result.judge_next)})", _next(result, count)),
        skipped if result.skipped else "",
        _NOTES.format(draws=result.draws, seed=result.seed),
    )


def pool(result: HoleAnalysis, count: int) -> str:
    """The documents to judge next as CSV; no cell is taken for a formula."""
    rows = [
        (_cell(row["query_id"]), _cell(row["doc_id"]), _cell(row["why"]))
        for row in result.judge_next.head(count).iter_rows(named=True)
    ]
    return written(("query", "document", "why"), rows)


_NOTES = (
    "worst and best: every unjudged document against the candidate, and for it. condensed: "
    "unjudged documents taken out of the lists. expected: grades drawn {draws} times (seed {seed}) "
    "by what judged documents at such ranks and of the query have, with what is not known about "
    "that, and with odds of relevance that may be half or twice as large. flip: how probably "
    "judging them all changes what the interval says; in parentheses where the candidate's "
    "unjudged documents are better than judged ones like them, and where they are worse."
)


def _judged(result: HoleAnalysis) -> Grid:
    shares: dict[int, dict[str, float | None]] = {}
    for row in result.judged.iter_rows(named=True):
        shares.setdefault(row["k"], {})[row["system"]] = row["share"]
    rows = tuple(
        (printable(name), *(decimal(each.get(side)) for each in shares.values()))
        for side, name in (("baseline", result.baseline), ("candidate", result.candidate))
    )
    return Grid(("system", *(f"judged@{k}" for k in shares)), rows)


def _metrics(result: HoleAnalysis) -> Grid:
    rows = tuple(
        (row["metric"], signed(row["delta"]), signed(row["worst"]), signed(row["best"]),
         signed(row["condensed"]), signed(row["expected"]), interval(row["low"], row["high"]),
         _flip(row))
        for row in result.metrics.iter_rows(named=True)
    )  # fmt: skip
    head = ("metric", "delta", "worst", "best", f"con{SOFT}\ndensed", "expected", "95% of draws",
            "flip (better,\nworse)")  # fmt: skip
    return Grid(head, rows)


def _flip(row: dict[str, Any]) -> str:
    """The chance of a flip; in parentheses, where the candidate's holes are better, and worse."""
    shares = [row["flip"], row["flip_better"], row["flip_worse"]]
    flip, better, worse = (UNDEFINED if x is None else f"{x:.0%}" for x in shares)
    return flip if flip == better == worse else f"{flip} ({better}, {worse})"


def _next(result: HoleAnalysis, count: int) -> Grid:
    rows = tuple(
        (row["query_id"], row["doc_id"], _rank(row["rank_baseline"]), _rank(row["rank_candidate"]),
         number(row["relevant"], 2), f"{row['influence']:.5f}")
        for row in result.judge_next.head(count).iter_rows(named=True)
    )  # fmt: skip
    head = ("query", "document", f"rank in\n{printable(result.baseline)}",
            f"rank in\n{printable(result.candidate)}", "relevant?", "influence")  # fmt: skip
    return Grid(head, rows, frozenset({0, 1}), keys=2)


def _rank(rank: int | None) -> str:
    return UNDEFINED if rank is None else str(rank)


def _cell(word: str) -> str:
    """A cell that a spreadsheet does not run: a blank stands before signs of formulas."""
    return f" {word}" if word.startswith(_FORMULA) else word
