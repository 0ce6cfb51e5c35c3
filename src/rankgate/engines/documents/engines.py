"""Snapshots, checks and kinds of engines as documents."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.document import Document, PlainRows, Table, Warnings
from rankgate.core.present.document import document as made
from rankgate.core.present.grid import Grid, printable

if TYPE_CHECKING:
    from rankgate.engines.engine import Facts
    from rankgate.engines.engine_check import EngineCheck
    from rankgate.engines.engine_kinds import EngineKinds, KindDetails
    from rankgate.engines.snapshots.snapshot import Snapshot

_FAILED = 10


def document(result: Snapshot) -> Document:
    """States, latencies, the engine as it describes itself, and the first failures."""
    states = result.states
    total = len(result.queries)
    head = tuple(result.queries.columns)
    parts = [f"{states['ok']:,} with results", f"{states['zero']:,} without"]
    parts += [f"{states['failed']:,} failed"] if states["failed"] else []
    parts += [f"{states['not_run']:,} not asked"] if states["not_run"] else []
    return made(
        f"Snapshot of {printable(result.engine)}: {total:,} queries, {', '.join(parts)}; "
        f"{result.lists.documents:,} documents",
        Table("latency", _latency(result)),
        Table("engine", _engine(result)),
        *([Table("failed", _failed(result))] if states["failed"] else []),
        Warnings(tuple(notice.text for notice in result.notices)),
        *([f"Written to {printable(result.output)}."] if result.output else []),
        rows=PlainRows(head, list(result.queries.iter_rows())),
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
        *facts_of(result.engine_kind, result.facts),
        ("configuration", result.configuration[:12]),
        ("depth", f"{result.depth:,}"),
        (
            "concurrency",
            " and ".join(map(str, result.queries["concurrency"].drop_nulls().unique().sort())),
        ),
        *(
            (f"parameter {name}", printable(str(value)))
            for name, value in result.parameters.items()
        ),
    ]
    return Grid(("", "value"), tuple(rows), frozenset({1}))


def facts_of(kind: str, facts: Facts) -> list[tuple[str, str]]:
    """What an engine said of itself and its index, as rows."""
    return [
        ("kind", kind),
        ("version", printable(facts.version) or "–"),
        ("documents", "–" if facts.documents is None else f"{facts.documents:,}"),
        ("settings", facts.settings or "–"),
        ("changes", facts.changes or "–"),
        ("refreshed", facts.refreshed or "–"),
    ]


def _failed(result: Snapshot) -> Grid:
    failed = result.queries.filter(result.queries["state"] == "failed").head(_FAILED)
    rows = [
        (printable(row["query_id"]), str(row["attempts"]), printable(row["error"] or ""))
        for row in failed.iter_rows(named=True)
    ]
    return Grid(("query", "tries", "error"), tuple(rows), frozenset({2}))


def check(result: EngineCheck) -> Document:
    """What one query returned, and what is missing."""
    names = list(dict.fromkeys(name for each in result.documents for name in each))
    rows = [tuple(_cell(each.get(name)) for name in names) for each in result.documents]
    first = Grid(tuple(names), tuple(rows), frozenset(range(2, len(names))))
    facts = tuple(facts_of(result.engine_kind, result.facts))
    engine = Grid(("", "value"), facts, frozenset({1}))
    total = "" if result.total is None else f" of {result.total:,}"
    words = (result.problem and "no answer") or f"{result.returned:,} documents{total}"
    return made(
        f"{printable(result.engine)}: {words} for {printable(result.query)!r} in "
        f"{result.seconds * 1000:,.1f} ms",
        *([Table("first documents", first)] if rows else []),
        Table("engine", engine),
        Warnings(tuple(notice.text for notice in result.notices)),
        status="fail" if result.failed else "pass",
        rows=PlainRows(tuple(names), [tuple(each.get(name) for name in names)
                                      for each in result.documents]),
    )  # fmt: skip


def _cell(value: object) -> str:
    if value is None:
        return "–"
    return f"{value:.4f}" if isinstance(value, float) else printable(str(value))


def kinds(result: EngineKinds) -> Document:
    """All kinds with their titles; one kind with its keys."""
    if len(result) == 1:
        return _kind(result.kinds[0])
    rows = tuple((each.name, each.title) for each in result.kinds)
    return made(
        f"{len(result)} kinds of engines",
        Table("", Grid(("kind", "what it is"), rows, frozenset({0, 1})), prose=True),
        "rankgate engines show KIND lists the keys of an engine's file.",
        rows=PlainRows(("kind", "title", "source"),
                       [(each.name, each.title, each.source) for each in result.kinds]),
    )  # fmt: skip


def _kind(kind: KindDetails) -> Document:
    rows = tuple(
        (f"{each.table}.{each.name}", each.takes, "required" if each.required else each.default,
         each.help)
        for each in kind.keys
    )  # fmt: skip
    head = ("key", "takes", "default", "meaning")
    return made(
        kind.name,
        Table("", Grid(head, rows, frozenset(range(4))), prose=True),
        lead=(kind.title, *([kind.source] if kind.source else [])),
        rows=PlainRows(head, list(rows)),
    )
