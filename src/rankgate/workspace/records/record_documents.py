"""Documents of recorded evaluations, histories, attributions and checks of alerts."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.present.document_model import (
    Chart,
    Document,
    Entries,
    Entry,
    Grid,
    PlainRows,
    Table,
    Warnings,
    make_printable,
)
from rankgate.core.present.document_model import make_document as made
from rankgate.core.present.number_formats import count_noun

if TYPE_CHECKING:
    from rankgate.core.value_types import Json
    from rankgate.workspace.records.alerts.alert_check import AlertCheck
    from rankgate.workspace.records.attribution import Attribution
    from rankgate.workspace.records.history import History
    from rankgate.workspace.records.record import Recorded


_RECORD_LENGTH = 12  # number of characters of a revision next to a new record


def recorded_document(result: Recorded) -> Document:
    """The number of new records, with a row for each."""
    table = result.records
    new_count, repeated_count = int(table["new"].sum()), int((~table["new"]).sum())
    count_texts = [f"{new_count} recorded"] if new_count or not repeated_count else []
    count_texts += [f"{repeated_count} recorded before"] if repeated_count else []
    rows = tuple(
        (
            row["record"],
            row["evaluated_at"][:16].replace("T", " "),
            row["kind"],
            make_printable(row["system"]),
            _short_revision(row["revision"], _RECORD_LENGTH),
            row["verdict"] or "",
            f"{row['figures']:,}",
            f"{row['queries']:,}",
            "" if row["new"] else "recorded before",
        )
        for row in table.iter_rows(named=True)
    )
    column_names = (
        "record",
        "evaluated (UTC)",
        "kind",
        "system",
        "revision",
        "verdict",
        "figures",
        "queries",
        "",
    )
    return made(
        f"{', '.join(count_texts)} in {result.place}",
        Table("", Grid(column_names, rows, frozenset({0, 1, 2, 3, 4, 5, 8}))),
        Warnings.from_notices(result.notices),
        rows=PlainRows(tuple(table.columns), list(table.iter_rows())),
    )


def _short_revision(revision: str, length: int) -> str:
    end = "+" if revision.endswith("+") else ""
    return revision.rstrip("+")[:length] + end


_MAX_EVALUATIONS = 30
_HISTORY_LENGTH = 10  # number of characters of a revision in the history


def history_document(result: History) -> Document:
    """The latest values, the changes and breaks with reasons, and the latest evaluations."""
    table = result.series
    dated_entries = [
        *map(change_entry, result.changes.iter_rows(named=True)),
        *map(break_entry, result.breaks.iter_rows(named=True)),
    ]
    entries = tuple(Entry(label, lines) for _, label, lines in sorted(dated_entries))
    annotation_entries = tuple(map(_annotation_entry, result.annotations.iter_rows(named=True)))
    blocks: list[Any] = [Table("", _latest_grid(result))]
    if len(table) > len(result.systems):
        blocks.append(Chart("rankgate.workspace.records.history_chart:draw_history", result))
    blocks.append(Entries(entries, "Changes and breaks") if entries else "")
    if annotation_entries:
        blocks.append(Entries(annotation_entries, "Annotations"))
    limit_note = f"the last {_MAX_EVALUATIONS} of {len(table)}" if len(table) > _MAX_EVALUATIONS else ""
    blocks.append(Table(f"Evaluations{f', {limit_note}' if limit_note else ''}", _evaluation_grid(result)))
    changes, breaks = len(result.changes), len(result.breaks)
    slice_text = f" for {result.slice}" if result.slice else ""
    return made(
        f"{result.metric}{slice_text}: {count_noun(len(table), 'evaluation')}, "
        f"{count_noun(changes, 'change')}, {count_noun(breaks, 'break')}",
        *blocks,
        f"Changes are found with a rate of {result.rate:g} false alarms for each evaluation of a series: at "
        "most that where evaluations are independent, at most twice that where they resemble the one before, "
        "more in a season or a slow drift. Values on the two sides of a break are not comparable.",
        Warnings.from_notices(result.notices),
        rows=PlainRows(tuple(table.columns), list(table.iter_rows())),
    )


def _latest_grid(result: History) -> Grid:
    """A row for each system with its first and last value."""
    rows = []
    for system in result.systems:
        system_rows = result.series.filter(pl.col("system") == system)
        first, last = system_rows.row(0, named=True), system_rows.row(-1, named=True)
        rows.append(
            (
                make_printable(system),
                f"{last['value']:.4f}",
                _interval_text(last),
                f"{last['n']:,}",
                last["at"][:10],
                f"{first['value']:.4f}",
                first["at"][:10],
                f"{len(system_rows):,}",
            )
        )
    column_names = ("system", "last", "95% interval", "n", "on", "first", "since", "evaluations")
    return Grid(column_names, tuple(rows), frozenset({0, 4, 6}))


def _evaluation_grid(result: History) -> Grid:
    marks = {(row["system"], row["record"]): "change" for row in result.changes.iter_rows(named=True)}
    marks |= {
        (row["system"], row["record"]): f"break: {row['reasons']}"
        for row in result.breaks.iter_rows(named=True)
    }
    latest = result.series.sort("at", maintain_order=True).tail(_MAX_EVALUATIONS)
    rows = tuple(
        (
            row["at"][:16].replace("T", " "),
            make_printable(row["system"]),
            f"{row['value']:.4f}",
            _interval_text(row),
            _short_revision(row["revision"], _HISTORY_LENGTH),
            ", ".join(filter(None, (row["verdict"], marks.get((row["system"], row["record"]))))),
        )
        for row in latest.iter_rows(named=True)
    )
    column_names = ("at (UTC)", "system", "value", "95% interval", "revision", "what")
    return Grid(column_names, rows, frozenset({0, 1, 4, 5}))


def _interval_text(row: dict[str, Json]) -> str:
    return "–" if row["low"] is None else f"[{row['low']:.4f}, {row['high']:.4f}]"


def change_entry(row: dict[str, Any]) -> tuple[str, str, tuple[str, ...]]:
    """The time of a change-point, its label, and its lines of text."""
    direction = "better" if row["gain"] > 0 else "worse"
    revision = f", revision {_short_revision(row['revision'], _HISTORY_LENGTH)}" if row["revision"] else ""
    detection_note = "" if row["found_at"] == row["at"] else f"; found on {row['found_at'][:10]}"
    return (
        row["at"],
        f"{row['at'][:10]} {direction}",
        (
            (
                f"{make_printable(row['system'])}: {row['before']:.4f} to {row['after']:.4f}, "
                f"{row['delta']:+.4f} [{row['low']:+.4f}, {row['high']:+.4f}], p "
                f"{row['p_value']:.2g}{revision}{detection_note}"
            ),
        ),
    )


def break_entry(row: dict[str, Any]) -> tuple[str, str, tuple[str, ...]]:
    """The time of a break, its label, and its lines of text."""
    lines = [
        (
            f"{make_printable(row['system'])}: other {row['reasons']}; {row['before']:.4f} to "
            f"{row['after']:.4f}, {row['delta']:+.4f}"
        )
    ]
    if row["judgments"] is not None:
        cause = "convention" if row["reasons"] == "convention" else "judgments"
        queries = f", {row['queries']:+.4f} other queries" if abs(row["queries"]) > _TOLERANCE else ""
        bounds = "" if row["low"] is None else f" [{row['low']:+.4f}, {row['high']:+.4f}]"
        lines.append(f"{row['judgments']:+.4f} the {cause}{queries}, {row['rest']:+.4f}{bounds} the system")
    return row["at"], f"{row['at'][:10]} break", tuple(lines)


def _annotation_entry(row: dict[str, Any]) -> Entry:
    revision = f" {_short_revision(row['revision'], _HISTORY_LENGTH)}" if row["revision"] else ""
    text = f"{row['kind']}{revision}: {make_printable(row['text'])}"
    return Entry(row["at"][:16].replace("T", " "), (text,))


_TOLERANCE = 1e-12


_ANSWERS = {"several": "several causes", "none": "nothing changed", "unknown": "the cause is not known"}


def attribution_document(result: Attribution) -> Document:
    """The main cause, with a row for each cause."""
    rows = tuple(
        (row["cause"], row["changed"], "–" if row["part"] is None else f"{row['part']:+.4f}", row["evidence"])
        for row in result.parts.iter_rows(named=True)
    )
    answer = _ANSWERS.get(result.answer, f"mostly the {result.answer}")
    return made(
        f"{result.metric} of {make_printable(result.system)}: {result.before:.4f} to {result.after:.4f}, "
        f"{result.delta:+.4f}: {answer}",
        Table("", Grid(("cause", "changed", "part", "why"), rows, frozenset({0, 1, 3}))),
        Warnings(result.warnings),
        rows=PlainRows(tuple(result.parts.columns), list(result.parts.iter_rows())),
    )


_MARKS = {"fail": "alert", "pass": "ok", "inconclusive": "unknown"}


def alert_check_document(result: AlertCheck) -> Document:
    """A row for each rule and series, with its state."""
    column_names = ("rule", "metric", "system", "slice", "state", "change", "reason")
    rows = [
        (
            state.rule,
            state.metric,
            state.system,
            state.slice,
            _MARKS[state.status],
            state.change,
            state.reason,
        )
        for state in result.states
    ]
    failed = len(result.failed)
    count = count_noun(failed, "alert") if failed else "no alerts"
    cells = tuple(tuple(map(make_printable, row)) for row in rows)
    used_columns = [column for column, name in enumerate(column_names) if any(row[column] for row in rows)]
    grid = Grid(
        tuple(column_names[column] for column in used_columns),
        tuple(tuple(row[column] for column in used_columns) for row in cells),
        frozenset(range(len(used_columns))),
    )
    title = f"{make_printable(result.project)}: {count}, {count_noun(len(rows), 'rule')} on series"
    blocks = [Table("", grid)] if rows else []
    return made(title, *blocks, rows=PlainRows(column_names, rows), status="fail" if failed else "pass")
