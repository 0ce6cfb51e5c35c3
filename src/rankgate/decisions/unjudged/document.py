"""Document of holes: bounds, estimates, and what to judge next."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.document import Chart, Document, Table, Warnings
from rankgate.core.present.document import make_document as made
from rankgate.core.present.figures import format_interval, format_number, format_signed
from rankgate.core.present.forms.as_csv import guarded_csv
from rankgate.core.present.grid import SOFT, Grid, make_printable
from rankgate.core.present.numbers import UNDEFINED, format_decimal

if TYPE_CHECKING:
    import polars as pl

    from rankgate.decisions.unjudged.calibration import Calibration
    from rankgate.decisions.unjudged.holes import HoleAnalysis

_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def document(result: HoleAnalysis, count: int = 10) -> Document:
    """Judged shares, figures of each metric, and the first `count` documents to judge next."""
    title = (
        f"what unjudged documents could make of {make_printable(result.candidate)} against "
        f"{make_printable(result.baseline)}, first {result.depth} documents, "
        f"{len(result.judge_next)} "
        f"of them unjudged, convention {result.convention['name']} ({result.convention['hash']})"
    )
    shown_count = min(count, len(result.judge_next))
    skipped_note = f"{', '.join(result.skipped)}: looks deeper than the lists, left out"
    return made(
        title,
        Warnings(tuple(notice.text for notice in result.notices)),
        Chart("rankgate.decisions.unjudged.charts.holes:draw", result),
        Table("", _judged_grid(result)),
        Table("", _metric_grid(result)),
        Table(
            "where judged documents were chosen at random, or pooled from other systems",
            _flip_grid(result),
        ),
        *(
            Table(f"{tag}: figures of each value", _slice_grid(result, tag))
            for tag in _slice_tags(result)
        ),
        Table(
            f"judge next (the first {shown_count} of {len(result.judge_next)})",
            _judge_next_grid(result, count),
        ),
        skipped_note if result.skipped else "",
        _NOTES.format(draws=result.draws, seed=result.seed, selection=_SELECTION[result.selection]),
    )


def calibration_document(result: Calibration) -> Document:
    """Predictions by tenths, with the share of each that came true."""
    title = (
        f"hidden judgments guessed: {make_printable(result.candidate)} against "
        f"{make_printable(result.baseline)}, {result.metric}, {result.queries:,} queries"
    )
    tables = [
        Table(
            f"{subject}: Brier score {format_decimal(result.brier[name][0])}, of the mean alone "
            f"{format_decimal(result.brier[name][1])}",
            _bin_grid(table),
        )
        for name, subject, table in (
            ("relevance", f"relevant, {result.documents:,} documents", result.relevance),
            ("flips", f"flips, {result.experiments} trials", result.flips),
        )
    ]
    return made(
        title, Chart("rankgate.decisions.unjudged.charts.calibration:draw", result), *tables
    )


def _bin_grid(table: pl.DataFrame) -> Grid:
    rows = [
        (
            f"{row['low']:.0%} to {row['high']:.0%}",
            f"{row['n']:,}",
            format_decimal(row["predicted"]),
            format_decimal(row["measured"]),
            format_interval(row["measured_low"], row["measured_high"]),
        )
        for row in table.iter_rows(named=True)
    ]
    header = ("predicted", "n", "mean prediction", "came true", "95% interval")
    return Grid(header, tuple(rows))


def pool_csv(result: HoleAnalysis, count: int) -> str:
    """The documents to judge next as CSV, safe from formulas in spreadsheets."""
    rows = [
        (_cell(row["query_id"]), _cell(row["doc_id"]), _cell(row["why"]))
        for row in result.judge_next.head(count).iter_rows(named=True)
    ]
    return guarded_csv(("query", "document", "why"), rows)


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


def _judged_grid(result: HoleAnalysis) -> Grid:
    shares_by_cutoff: dict[int, dict[str, float | None]] = {}
    for row in result.judged.iter_rows(named=True):
        shares_by_cutoff.setdefault(row["k"], {})[row["system"]] = row["share"]
    rows = tuple(
        (
            make_printable(name),
            *(format_decimal(shares.get(side)) for shares in shares_by_cutoff.values()),
        )
        for side, name in (("baseline", result.baseline), ("candidate", result.candidate))
    )
    return Grid(("system", *(f"judged@{k}" for k in shares_by_cutoff)), rows)


def _metric_grid(result: HoleAnalysis) -> Grid:
    rows = tuple(
        (
            row["metric"],
            format_signed(row["delta"]),
            format_signed(row["worst"]),
            format_signed(row["best"]),
            format_signed(row["condensed"]),
            format_signed(row["expected"]),
            format_interval(row["low"], row["high"]),
            _percent(row["flip"]),
        )
        for row in result.metrics.iter_rows(named=True)
    )
    header = (
        "metric",
        "delta",
        "worst",
        "best",
        f"con{SOFT}\ndensed",
        "expected",
        "95% of draws",
        "flip",
    )
    return Grid(header, rows)


def _slice_tags(result: HoleAnalysis) -> list[str]:
    return result.slices["tag"].unique(maintain_order=True).to_list()


def _slice_grid(result: HoleAnalysis, tag: str) -> Grid:
    rows = tuple(
        (
            row["value"],
            row["metric"],
            f"{row['n']:,}",
            format_signed(row["delta"]),
            format_signed(row["worst"]),
            format_signed(row["best"]),
            format_signed(row["expected"]),
            format_interval(row["low"], row["high"]),
            _percent(row["flip"]),
        )
        for row in result.slices.iter_rows(named=True)
        if row["tag"] == tag
    )
    figures = ("delta", "worst", "best", "expected", "95% of draws", "flip")
    return Grid((tag, "metric", "n", *figures), rows, frozenset({0, 1}), keys=2)


def _flip_grid(result: HoleAnalysis) -> Grid:
    """The chance of a flip if judgments are missing at random, and if they are not."""
    rows = tuple(
        (row["metric"], *(_percent(row[name]) for name in ("flip", "flip_random", "flip_pooled")))
        for row in result.metrics.iter_rows(named=True)
        if row["flip"]
    )
    return Grid(("metric", "flip", "if random", "if pooled"), rows)


def _percent(share: float | None) -> str:
    return UNDEFINED if share is None else f"{share:.0%}"


def _judge_next_grid(result: HoleAnalysis, count: int) -> Grid:
    rows = tuple(
        (
            row["query_id"],
            row["doc_id"],
            _rank(row["rank_baseline"]),
            _rank(row["rank_candidate"]),
            format_number(row["relevant"], 2),
            f"{row['influence']:.5f}",
        )
        for row in result.judge_next.head(count).iter_rows(named=True)
    )
    header = (
        "query",
        "document",
        f"rank in\n{make_printable(result.baseline)}",
        f"rank in\n{make_printable(result.candidate)}",
        "relevant?",
        "influence",
    )
    return Grid(header, rows, frozenset({0, 1}), keys=2)


def _rank(rank: int | None) -> str:
    return UNDEFINED if rank is None else str(rank)


def _cell(text: str) -> str:
    """A cell that a spreadsheet does not evaluate: a space is put before signs of formulas."""
    return f" {text}" if text.startswith(_FORMULA) else text
