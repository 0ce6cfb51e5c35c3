"""Comparisons of two engines as documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.document import Document, PlainRows, Table, Warnings
from rankgate.core.present.document import document as made
from rankgate.core.present.figures import interval, signed
from rankgate.core.present.grid import Grid, printable
from rankgate.engines.documents.engines import facts_of

if TYPE_CHECKING:
    from rankgate.engines.snapshots.engine_comparison import EngineComparison


def document(result: EngineComparison) -> Document:
    """The difference of latency under the same load, states, and what both engines are."""
    one, two = map(printable, result.names)
    first = int((result.queries["first"] == "baseline").sum())
    outputs = [each.output for each in (result.baseline, result.candidate) if each.output]
    return made(
        f"{two} against {one}, asked in turn: {len(result.queries):,} queries{_headline(result)}",
        Table("latency in ms", _latency(result)),
        Table("states", _states(result)),
        Table("engines", _engines(result)),
        f"Each query was asked of both engines, one right after the other; {one} was first in "
        f"{first:,} of {len(result.queries):,}. Differences are over {result.pairs:,} pairs; "
        f"intervals ({result.level:.0%}) are from {result.resamples:,} resamples of the pairs.",
        Warnings(tuple(notice.text for notice in result.notices)),
        *([f"Written to {printable(' and '.join(outputs))}."] if outputs else []),
        rows=PlainRows(tuple(result.queries.columns), list(result.queries.iter_rows())),
    )


def _headline(result: EngineComparison) -> str:
    found = {row["statistic"]: row for row in result.latency.iter_rows(named=True)}["p50"]
    if found["delta"] is None:
        return ""
    shown = interval(found["low"], found["high"], 2)
    return f"; median latency {signed(found['delta'], 2)} ms {shown}"


def _latency(result: EngineComparison) -> Grid:
    rows = [
        (
            row["statistic"],
            *(_number(row[name]) for name in ("baseline", "candidate")),
            signed(row["delta"], 2),
            interval(row["low"], row["high"], 2),
        )
        for row in result.latency.iter_rows(named=True)
    ]
    head = ("", *map(printable, result.names), "difference", f"{result.level:.0%} interval")
    return Grid(head, tuple(rows))


def _states(result: EngineComparison) -> Grid:
    rows = tuple(
        (printable(name), *(f"{count:,}" for count in each.states.values()))
        for name, each in zip(result.names, (result.baseline, result.candidate), strict=True)
    )
    return Grid(("engine", "ok", "zero results", "failed", "not run"), rows)


def _engines(result: EngineComparison) -> Grid:
    columns = [
        [*facts_of(each.engine_kind, each.facts), ("configuration", each.configuration[:12])]
        for each in (result.baseline, result.candidate)
    ]
    rows = tuple((name, value, other) for (name, value), (_, other) in zip(*columns, strict=True))
    return Grid(("", *map(printable, result.names)), rows, frozenset({0, 1, 2}))


def _number(value: float | None) -> str:
    return "–" if value is None else f"{value:,.2f}"
