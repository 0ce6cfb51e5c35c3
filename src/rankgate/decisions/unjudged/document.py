"""Document of holes: bounds, estimates, and what to judge next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.document import Chart, Document, Table, Warnings
from rankgate.core.present.document import document as made
from rankgate.core.present.figures import interval, number, signed
from rankgate.core.present.forms.as_csv import written
from rankgate.core.present.grid import SOFT, Grid, printable
from rankgate.core.present.numbers import UNDEFINED, decimal

if TYPE_CHECKING:
    import polars as pl

    from rankgate.decisions.unjudged.calibration import Calibration
    from rankgate.decisions.unjudged.holes import HoleAnalysis

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
        Warnings(tuple(notice.text for notice in result.notices)),
        Chart("rankgate.decisions.unjudged.charts.holes:draw", result),
        Table("", _judged(result)),
        Table("", _metrics(result)),
        Table(
            "where judged documents were chosen at random, or pooled from other systems",
            _flips(result),
        ),
        Table(f"judge next (the first {shown} of {len(result.judge_next)})", _next(result, count)),
        skipped if result.skipped else "",
        _NOTES.format(draws=result.draws, seed=result.seed, selection=_SELECTION[result.selection]),
    )


def calibration_document(result: Calibration) -> Document:
    """Predictions by tenths, with the share of each that came true."""
    title = (
        f"hidden judgments guessed: {printable(result.candidate)} against "
        f"{printable(result.baseline)}, {result.metric}, {result.queries:,} queries"
    )
    tables = [
        Table(
            f"{what}: Brier score {decimal(result.brier[name][0])}, of the mean alone "
            f"{decimal(result.brier[name][1])}",
            _bins(table),
        )
        for name, what, table in (
            ("relevance", f"relevant, {result.documents:,} documents", result.relevance),
            ("flips", f"flips, {result.experiments} trials", result.flips),
        )
    ]
    return made(
        title, Chart("rankgate.decisions.unjudged.charts.calibration:draw", result), *tables
    )


def _bins(table: pl.DataFrame) -> Grid:
    rows = [
        (
            f"{row['low']:.0%} to {row['high']:.0%}",
            f"{row['n']:,}",
            decimal(row["predicted"]),
            decimal(row["measured"]),
            interval(row["measured_low"], row["measured_high"]),
        )
        for row in table.iter_rows(named=True)
    ]
    head = ("predicted", "n", "mean prediction", "came true", "95% interval")
    return Grid(head, tuple(rows))


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
    "that. {selection} flip: how probably judging them all changes what the "
    "interval says."
)


_SELECTION = {
    "unknown": "Half of the draws take judged documents as chosen at random, half as pooled from "
    "other systems, so that unjudged ones are worse.",
    "random": "Judged documents are taken as chosen at random.",
    "pooled": "Judged documents are taken as pooled from other systems, so that unjudged ones are "
    "worse.",
}


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
        (
            row["metric"],
            signed(row["delta"]),
            signed(row["worst"]),
            signed(row["best"]),
            signed(row["condensed"]),
            signed(row["expected"]),
            interval(row["low"], row["high"]),
            _percent(row["flip"]),
        )
        for row in result.metrics.iter_rows(named=True)
    )
    head = (
        "metric",
        "delta",
        "worst",
        "best",
        f"con{SOFT}\ndensed",
        "expected",
        "95% of draws",
        "flip",
    )
    return Grid(head, rows)


def _flips(result: HoleAnalysis) -> Grid:
    """The chance of a flip if judgments are missing at random, and if they are not."""
    rows = tuple(
        (row["metric"], *(_percent(row[name]) for name in ("flip", "flip_random", "flip_pooled")))
        for row in result.metrics.iter_rows(named=True)
        if row["flip"]
    )
    return Grid(("metric", "flip", "if random", "if pooled"), rows)


def _percent(share: float | None) -> str:
    return UNDEFINED if share is None else f"{share:.0%}"


def _next(result: HoleAnalysis, count: int) -> Grid:
    rows = tuple(
        (
            row["query_id"],
            row["doc_id"],
            _rank(row["rank_baseline"]),
            _rank(row["rank_candidate"]),
            number(row["relevant"], 2),
            f"{row['influence']:.5f}",
        )
        for row in result.judge_next.head(count).iter_rows(named=True)
    )
    head = (
        "query",
        "document",
        f"rank in\n{printable(result.baseline)}",
        f"rank in\n{printable(result.candidate)}",
        "relevant?",
        "influence",
    )
    return Grid(head, rows, frozenset({0, 1}), keys=2)


def _rank(rank: int | None) -> str:
    return UNDEFINED if rank is None else str(rank)


def _cell(word: str) -> str:
    """A cell that a spreadsheet does not run: a blank is before signs of formulas."""
    return f" {word}" if word.startswith(_FORMULA) else word
