"""A history as a document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.present.document import (
    Chart,
    Document,
    Entries,
    Entry,
    PlainRows,
    Table,
    Warnings,
)
from rankgate.core.present.document import document as made
from rankgate.core.present.grid import Grid, printable

if TYPE_CHECKING:
    from rankgate.workspace.records.history import History

_SHOWN = 30
_REVISION = 10


def document(result: History) -> Document:
    """The latest values, the changes and breaks with their reasons, and the latest evaluations."""
    table = result.series
    found = [*map(_change, result.changes.iter_rows(named=True)),
             *map(_break, result.breaks.iter_rows(named=True))]  # fmt: skip
    entries = tuple(Entry(label, lines) for _, label, lines in sorted(found))
    noted = tuple(map(_annotation, result.annotations.iter_rows(named=True)))
    blocks: list[Any] = [Table("", _latest(result))]
    if len(table) > len(result.systems):
        blocks.append(Chart("rankgate.workspace.records.charts.history:draw", result))
    blocks.append(Entries(entries, "Changes and breaks") if entries else "")
    if noted:
        blocks.append(Entries(noted, "Annotations"))
    many = f"the last {_SHOWN} of {len(table)}" if len(table) > _SHOWN else ""
    blocks.append(Table(f"Evaluations{f', {many}' if many else ''}", _rows(result)))
    changes, breaks = len(result.changes), len(result.breaks)
    part = f" for {result.slice}" if result.slice else ""
    return made(
        f"{result.metric}{part}: {_count(len(table), 'evaluation')}, "
        f"{_count(changes, 'change')}, {_count(breaks, 'break')}",
        *blocks,
        f"Changes are found with a rate of {result.rate:g} false alarms for each evaluation of a "
        "series: at most that where evaluations are independent, at most twice that where they "
        "resemble the one before, more in a season or a slow wandering. Values on the two sides "
        "of a break are not comparable.",
        Warnings(tuple(each.text for each in result.notices)),
        rows=PlainRows(tuple(table.columns), list(table.iter_rows())),
    )


def _count(count: int, word: str) -> str:
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def _latest(result: History) -> Grid:
    """A row for each system: its first and last value."""
    rows = []
    for system in result.systems:
        own = result.series.filter(pl.col("system") == system)
        first, last = own.row(0, named=True), own.row(-1, named=True)
        rows.append((
            printable(system), f"{last['value']:.4f}", _interval(last), f"{last['n']:,}",
            last["at"][:10], f"{first['value']:.4f}", first["at"][:10], f"{len(own):,}",
        ))  # fmt: skip
    head = ("system", "last", "95% interval", "n", "on", "first", "since", "evaluations")
    return Grid(head, tuple(rows), frozenset({0, 4, 6}))


def _rows(result: History) -> Grid:
    marks = {(row["system"], row["record"]): "change" for row in
             result.changes.iter_rows(named=True)}  # fmt: skip
    marks |= {(row["system"], row["record"]): f"break: {row['reasons']}" for row in
              result.breaks.iter_rows(named=True)}  # fmt: skip
    shown = result.series.sort("at", maintain_order=True).tail(_SHOWN)
    rows = tuple(
        (
            row["at"][:16].replace("T", " "), printable(row["system"]), f"{row['value']:.4f}",
            _interval(row), _short(row["revision"]),
            ", ".join(filter(None, (row["verdict"], marks.get((row["system"], row["record"]))))),
        )
        for row in shown.iter_rows(named=True)
    )  # fmt: skip
    head = ("at (UTC)", "system", "value", "95% interval", "revision", "what")
    return Grid(head, rows, frozenset({0, 1, 4, 5}))


def _interval(row: dict[str, Any]) -> str:
    return "–" if row["low"] is None else f"[{row['low']:.4f}, {row['high']:.4f}]"


def _change(row: dict[str, Any]) -> tuple[str, str, tuple[str, ...]]:
    word = "better" if row["gain"] > 0 else "worse"
    revision = f", revision {_short(row['revision'])}" if row["revision"] else ""
    late = "" if row["found_at"] == row["at"] else f"; found on {row['found_at'][:10]}"
    return (
        row["at"], f"{row['at'][:10]} {word}",
        ((f"{printable(row['system'])}: {row['before']:.4f} to {row['after']:.4f}, "
         f"{row['delta']:+.4f} [{row['low']:+.4f}, {row['high']:+.4f}], p {row['p_value']:.2g}"
         f"{revision}{late}"),),
    )  # fmt: skip


def _break(row: dict[str, Any]) -> tuple[str, str, tuple[str, ...]]:
    lines = [(
        f"{printable(row['system'])}: other {row['reasons']}; {row['before']:.4f} "
        f"to {row['after']:.4f}, {row['delta']:+.4f}"
    )]  # fmt: skip
    if row["judgments"] is not None:
        what = "convention" if row["reasons"] == "convention" else "judgments"
        queries = f", {row['queries']:+.4f} other queries" if abs(row["queries"]) > _TINY else ""
        ends = "" if row["low"] is None else f" [{row['low']:+.4f}, {row['high']:+.4f}]"
        lines.append(
            f"{row['judgments']:+.4f} the {what}{queries}, {row['rest']:+.4f}{ends} the system"
        )
    return row["at"], f"{row['at'][:10]} break", tuple(lines)


def _annotation(row: dict[str, Any]) -> Entry:
    revision = f" {_short(row['revision'])}" if row["revision"] else ""
    text = f"{row['kind']}{revision}: {printable(row['text'])}"
    return Entry(row["at"][:16].replace("T", " "), (text,))


_TINY = 1e-12


def _short(revision: str) -> str:
    end = "+" if revision.endswith("+") else ""
    return revision.rstrip("+")[:_REVISION] + end
