"""Comparisons of two engines as documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.document import Document, PlainRows, Table, Warnings
from rankgate.core.present.document import make_document as made
from rankgate.core.present.figures import format_interval, format_signed
from rankgate.core.present.grid import Grid, make_printable
from rankgate.engines.documents.engines import fact_rows

if TYPE_CHECKING:
    from rankgate.engines.snapshots.engine_comparison import EngineComparison


def document(result: EngineComparison) -> Document:
    """The difference of latency under the same load, states, and facts about both engines."""
    baseline, candidate = map(make_printable, result.names)
    first = int((result.queries["first"] == "baseline").sum())
    outputs = [
        snapshot.output for snapshot in (result.baseline, result.candidate) if snapshot.output
    ]
    return made(
        f"{candidate} against {baseline}, asked in turn: {len(result.queries):,} queries"
        f"{_headline(result)}",
        Table("latency in ms", _latency(result)),
        Table("states", _states(result)),
        Table("engines", _engines(result)),
        f"Each query was asked of both engines, one right after the other; {baseline} was first in "
        f"{first:,} of {len(result.queries):,}. Differences are over {result.pairs:,} pairs; "
        f"intervals ({result.level:.0%}) are from {result.resamples:,} resamples of the pairs.",
        Warnings(tuple(notice.text for notice in result.notices)),
        *([f"Written to {make_printable(' and '.join(outputs))}."] if outputs else []),
        rows=PlainRows(tuple(result.queries.columns), list(result.queries.iter_rows())),
    )


def _headline(result: EngineComparison) -> str:
    median = {row["statistic"]: row for row in result.latency.iter_rows(named=True)}["p50"]
    if median["delta"] is None:
        return ""
    interval_text = format_interval(median["low"], median["high"], 2)
    return f"; median latency {format_signed(median['delta'], 2)} ms {interval_text}"


def _latency(result: EngineComparison) -> Grid:
    rows = [
        (
            row["statistic"],
            *(_number(row[name]) for name in ("baseline", "candidate")),
            format_signed(row["delta"], 2),
            format_interval(row["low"], row["high"], 2),
        )
        for row in result.latency.iter_rows(named=True)
    ]
    header = ("", *map(make_printable, result.names), "difference", f"{result.level:.0%} interval")
    return Grid(header, tuple(rows))


def _states(result: EngineComparison) -> Grid:
    rows = tuple(
        (make_printable(name), *(f"{count:,}" for count in snapshot.states.values()))
        for name, snapshot in zip(result.names, (result.baseline, result.candidate), strict=True)
    )
    return Grid(("engine", "ok", "zero results", "failed", "not run"), rows)


def _engines(result: EngineComparison) -> Grid:
    columns = [
        [
            *fact_rows(snapshot.engine_kind, snapshot.facts),
            ("configuration", snapshot.configuration[:12]),
        ]
        for snapshot in (result.baseline, result.candidate)
    ]
    rows = tuple(
        (name, value, other_value) for (name, value), (_, other_value) in zip(*columns, strict=True)
    )
    return Grid(("", *map(make_printable, result.names)), rows, frozenset({0, 1, 2}))


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:,.2f}"
