"""Snapshots, checks and kinds of engines as documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.document import Document, PlainRows, Table, Warnings
from rankgate.core.present.document import make_document as made
from rankgate.core.present.grid import Grid, make_printable

if TYPE_CHECKING:
    from rankgate.engines.engine import Facts
    from rankgate.engines.engine_check import EngineCheck
    from rankgate.engines.engine_kinds import EngineKinds, KindDetails
    from rankgate.engines.snapshots.snapshot import Snapshot

_MAX_FAILURES = 10


def document(result: Snapshot) -> Document:
    """States, latencies, the engine as it describes itself, and the first failures."""
    states = result.states
    total = len(result.queries)
    header = tuple(result.queries.columns)
    parts = [f"{states['ok']:,} with results", f"{states['zero']:,} without"]
    parts += [f"{states['failed']:,} failed"] if states["failed"] else []
    parts += [f"{states['not_run']:,} not asked"] if states["not_run"] else []
    return made(
        f"Snapshot of {make_printable(result.engine)}: {total:,} queries, {', '.join(parts)}; "
        f"{result.lists.documents:,} documents",
        Table("latency", _latency(result)),
        Table("engine", _engine(result)),
        *([Table("failed", _failed(result))] if states["failed"] else []),
        Warnings(tuple(notice.text for notice in result.notices)),
        *([f"Written to {make_printable(result.output)}."] if result.output else []),
        rows=PlainRows(header, list(result.queries.iter_rows())),
    )


def _latency(result: Snapshot) -> Grid:
    quantiles = result.latency
    cells = ["–" if value is None else f"{value:,.1f}" for value in quantiles.values()]
    rate = result.asked / result.seconds if result.seconds and result.asked else None
    cells += [f"{result.seconds:,.1f}", "–" if rate is None else f"{rate:,.1f}"]
    names = ["median", "p90", "p95", "p99", "largest"]
    return Grid(
        (*(f"{name}\nms" for name in names), "asked in\ns", "queries\na second"), (tuple(cells),)
    )


def _engine(result: Snapshot) -> Grid:
    rows = [
        *fact_rows(result.engine_kind, result.facts),
        ("configuration", result.configuration[:12]),
        ("depth", f"{result.depth:,}"),
        (
            "concurrency",
            " and ".join(map(str, result.queries["concurrency"].drop_nulls().unique().sort())),
        ),
        *(
            (f"parameter {name}", make_printable(str(value)))
            for name, value in result.parameters.items()
        ),
    ]
    return Grid(("", "value"), tuple(rows), frozenset({1}))


def fact_rows(kind: str, facts: Facts) -> list[tuple[str, str]]:
    """The facts that an engine gave about itself and its index, as rows."""
    return [
        ("kind", kind),
        ("version", make_printable(facts.version) or "–"),
        ("documents", "–" if facts.documents is None else f"{facts.documents:,}"),
        ("settings", facts.settings or "–"),
        ("changes", facts.changes or "–"),
        ("refreshed", facts.refreshed or "–"),
    ]


def _failed(result: Snapshot) -> Grid:
    failed = result.queries.filter(result.queries["state"] == "failed").head(_MAX_FAILURES)
    rows = [
        (make_printable(row["query_id"]), str(row["attempts"]), make_printable(row["error"] or ""))
        for row in failed.iter_rows(named=True)
    ]
    return Grid(("query", "tries", "error"), tuple(rows), frozenset({2}))


def check_document(result: EngineCheck) -> Document:
    """The documents of one query, and the missing parts."""
    names = list(dict.fromkeys(name for document_ in result.documents for name in document_))
    rows = [tuple(_cell(document_.get(name)) for name in names) for document_ in result.documents]
    first = Grid(tuple(names), tuple(rows), frozenset(range(2, len(names))))
    facts = tuple(fact_rows(result.engine_kind, result.facts))
    engine = Grid(("", "value"), facts, frozenset({1}))
    total = "" if result.total is None else f" of {result.total:,}"
    answer_text = (result.problem and "no answer") or f"{result.returned:,} documents{total}"
    return made(
        f"{make_printable(result.engine)}: {answer_text} for {make_printable(result.query)!r} in "
        f"{result.seconds * 1000:,.1f} ms",
        *([Table("first documents", first)] if rows else []),
        Table("engine", engine),
        Warnings(tuple(notice.text for notice in result.notices)),
        status="fail" if result.failed else "pass",
        rows=PlainRows(
            tuple(names),
            [tuple(document_.get(name) for name in names) for document_ in result.documents],
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
            ("kind", "title", "source"),
            [(kind.name, kind.title, kind.source) for kind in result.kinds],
        ),
    )


def _kind(kind: KindDetails) -> Document:
    rows = tuple(
        (
            f"{key.table}.{key.name}",
            key.takes,
            "required" if key.required else key.default,
            key.help,
        )
        for key in kind.keys
    )
    header = ("key", "takes", "default", "meaning")
    return made(
        kind.name,
        Table("", Grid(header, rows, frozenset(range(4))), prose=True),
        lead=(kind.title, *([kind.source] if kind.source else [])),
        rows=PlainRows(header, list(rows)),
    )
