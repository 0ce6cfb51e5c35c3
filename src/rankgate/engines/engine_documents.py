"""Result documents of engines: snapshots, checks, kinds, and comparisons of two engines.

A document shows a result as tables and text.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.document_model import Document, Grid, PlainRows, Table, Warnings, make_printable
from rankgate.core.present.document_model import make_document as made
from rankgate.core.present.number_formats import (
    UNDEFINED,
    count_noun,
    format_bounds,
    format_interval,
    format_signed,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

    import polars as pl

    from rankgate.engines.engine import Facts
    from rankgate.engines.engine_checks import EngineCheck, EngineKinds, KindDetails
    from rankgate.engines.snapshots.snapshot import EngineComparison, Snapshot


_MAX_FAILURES = 10


def snapshot_document(result: Snapshot) -> Document:
    """The query states, the latencies, the engine's facts about itself, and the first failures."""
    states = result.states
    total = len(result.queries)
    header = tuple(result.queries.columns)
    parts = [f"{states['ok']:,} with results", f"{states['zero']:,} without"]
    parts += [f"{states['failed']:,} failed"] if states["failed"] else []
    parts += [f"{states['not_run']:,} not asked"] if states["not_run"] else []
    return made(
        f"Snapshot of {make_printable(result.engine)}: {count_noun(total, 'query')}, "
        f"{', '.join(parts)}; {count_noun(result.lists.documents, 'document')}",
        Table("latency", _snapshot_latency(result)),
        Table("engine", _engine(result)),
        *([Table("failed", _failed(result))] if states["failed"] else []),
        Warnings.from_notices(result.notices),
        *([f"Written to {make_printable(result.output)}."] if result.output else []),
        rows=PlainRows(header, list(result.queries.iter_rows())),
    )


def _snapshot_latency(result: Snapshot) -> Grid:
    cells = [
        format_bounds(*bounds, "{:,.1f}".format)
        for name, bounds in result.latency_bounds.items()
        if name != "mean"
    ]
    rate = result.asked / result.seconds if result.seconds and result.asked else None
    cells += [f"{result.seconds:,.1f}", "–" if rate is None else f"{rate:,.1f}"]
    names = ["median", "p90", "p95", "p99", "largest"]
    return Grid((*(f"{name}\nms" for name in names), "asked in\ns", "queries\na second"), (tuple(cells),))


def _engine(result: Snapshot) -> Grid:
    rows = [
        *fact_rows(result.engine_kind, result.facts),
        ("configuration", result.configuration[:12]),
        ("depth", f"{result.depth:,}"),
        *((name, text) for name in _LOAD_COLUMNS if (text := _joined(result.queries[name]))),
        ("latency from", result.latency_from),
        *((f"parameter {name}", make_printable(str(value))) for name, value in result.parameters.items()),
    ]
    return Grid(("", "value"), tuple(rows), frozenset({1}))


_LOAD_COLUMNS = ("concurrency", "rate", "arrival_rate")


def _joined(values: pl.Series) -> str:
    return " and ".join(f"{value:g}" for value in values.drop_nulls().unique().sort())


def fact_rows(kind: str, facts: Facts) -> list[tuple[str, str]]:
    """The facts that an engine gave about itself and its index, as rows."""
    return [
        ("kind", kind),
        ("version", make_printable(facts.version) or "–"),
        ("documents", "–" if facts.documents is None else f"{facts.documents:,}"),
        ("settings", facts.settings or "–"),
        ("changes", facts.changes or "–"),
        ("refreshed", facts.refreshed or "–"),
        ("state", make_printable(facts.state) or "–"),
    ]


def _failed(result: Snapshot) -> Grid:
    failed = result.queries.filter(result.queries["state"] == "failed").head(_MAX_FAILURES)
    rows = [
        (make_printable(row["query_id"]), str(row["attempts"]), make_printable(row["error"] or ""))
        for row in failed.iter_rows(named=True)
    ]
    return Grid(("query", "tries", "error"), tuple(rows), frozenset({2}))


def check_document(result: EngineCheck) -> Document:
    """The documents that one query returned, and warnings about missing parts."""
    names = list(dict.fromkeys(name for document_ in result.documents for name in document_))
    rows = [tuple(_cell(document_.get(name)) for name in names) for document_ in result.documents]
    first = Grid(tuple(names), tuple(rows), frozenset(range(2, len(names))))
    facts = tuple(fact_rows(result.engine_kind, result.facts))
    engine = Grid(("", "value"), facts, frozenset({1}))
    total = "" if result.total is None else f" of {result.total:,}"
    answer_text = (result.problem and "no answer") or f"{count_noun(result.returned, 'document')}{total}"
    return made(
        f"{make_printable(result.engine)}: {answer_text} for {make_printable(result.query)!r} in "
        f"{result.seconds * 1000:,.1f} ms",
        *([Table("first documents", first)] if rows else []),
        Table("engine", engine),
        Warnings.from_notices(result.notices),
        status="fail" if result.failed else "pass",
        rows=PlainRows(
            tuple(names), [tuple(document_.get(name) for name in names) for document_ in result.documents]
        ),
    )


def _cell(value: object) -> str:
    if value is None:
        return "–"
    return f"{value:.4f}" if isinstance(value, float) else make_printable(str(value))


def kinds_document(result: EngineKinds) -> Document:
    """All kinds with their titles; one kind with its keys."""
    if len(result) == 1:
        return _kind(result.kinds[0])
    rows = tuple((kind.name, kind.title) for kind in result.kinds)
    return made(
        f"{len(result)} kinds of engines",
        Table("", Grid(("kind", "what it is"), rows, frozenset({0, 1})), prose=True),
        "rankgate engines show KIND lists the keys of an engine's file.",
        rows=PlainRows(
            ("kind", "title", "source"), [(kind.name, kind.title, kind.source) for kind in result.kinds]
        ),
    )


def _kind(kind: KindDetails) -> Document:
    rows = tuple(
        (f"{key.table}.{key.name}", key.takes, "required" if key.required else key.default, key.help)
        for key in kind.keys
    )
    header = ("key", "takes", "default", "meaning")
    return made(
        kind.name,
        Table("", Grid(header, rows, frozenset(range(4))), prose=True),
        lead=(kind.title, *([kind.source] if kind.source else [])),
        rows=PlainRows(header, list(rows)),
    )


def engine_comparison_document(result: EngineComparison) -> Document:
    """The difference of latency under the same load, states, and facts about both engines."""
    baseline, candidate = map(make_printable, result.names)
    first = int((result.queries["first"] == "baseline").sum())
    outputs = [snapshot.output for snapshot in (result.baseline, result.candidate) if snapshot.output]
    return made(
        f"{candidate} against {baseline}, queried in turn: "
        f"{count_noun(len(result.queries), 'query')}{_headline(result)}",
        Table("latency in ms", _latency_of_both(result)),
        Table("states", _states(result)),
        Table("engines", _engines(result)),
        f"Each query was sent to both engines, one right after the other; {baseline} was first in {first:,} "
        f"of {len(result.queries):,}. Differences are over "
        f"{count_noun(result.pairs, 'pair')}; intervals ({result.level:.0%}) are from {result.resamples:,} "
        f"resamples of the pairs.",
        Warnings.from_notices(result.notices),
        *([f"Written to {make_printable(' and '.join(outputs))}."] if outputs else []),
        rows=PlainRows(tuple(result.queries.columns), list(result.queries.iter_rows())),
    )


def _headline(result: EngineComparison) -> str:
    median = {row["statistic"]: row for row in result.latency.iter_rows(named=True)}["p50"]
    interval_text = _interval(median)
    if median["delta"] is None:
        return "" if interval_text == UNDEFINED else f"; median latency {interval_text} ms"
    return f"; median latency {format_signed(median['delta'], 2)} ms {interval_text}"


def _interval(row: Mapping[str, float | None]) -> str:
    """The interval of a difference, which may have one end only."""
    low, high = row["low"], row["high"]
    if (low is None) == (high is None):
        return format_interval(low, high, 2)
    return f"≤ {format_signed(high, 2)}" if low is None else f"≥ {format_signed(low, 2)}"


def _latency_of_both(result: EngineComparison) -> Grid:
    rows = [
        (
            row["statistic"],
            *(
                format_bounds(row[name], row[f"{name}_at_most"], "{:,.2f}".format)
                for name in ("baseline", "candidate")
            ),
            format_signed(row["delta"], 2),
            _interval(row),
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
        [*fact_rows(snapshot.engine_kind, snapshot.facts), ("configuration", snapshot.configuration[:12])]
        for snapshot in (result.baseline, result.candidate)
    ]
    rows = tuple((name, value, other_value) for (name, value), (_, other_value) in zip(*columns, strict=True))
    return Grid(("", *map(make_printable, result.names)), rows, frozenset({0, 1, 2}))
