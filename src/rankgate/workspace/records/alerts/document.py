"""The document of a check of alerts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.document import Document, PlainRows, Table
from rankgate.core.present.document import make_document as made
from rankgate.core.present.grid import Grid, make_printable

if TYPE_CHECKING:
    from rankgate.workspace.records.alerts.alert_check import AlertCheck

_MARKS = {"fail": "alert", "pass": "ok", "inconclusive": "unknown"}


def alert_check_document(result: AlertCheck) -> Document:
    """A row for each rule on each series, with its state."""
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
    count = {0: "no alerts", 1: "1 alert"}.get(failed, f"{failed:,} alerts")
    cells = tuple(tuple(map(make_printable, row)) for row in rows)
    used_columns = [
        column for column, name in enumerate(column_names) if any(row[column] for row in rows)
    ]
    grid = Grid(
        tuple(column_names[column] for column in used_columns),
        tuple(tuple(row[column] for column in used_columns) for row in cells),
        frozenset(range(len(used_columns))),
    )
    title = f"{make_printable(result.project)}: {count}, {len(rows):,} rules on series"
    blocks = [Table("", grid)] if rows else []
    return made(
        title, *blocks, rows=PlainRows(column_names, rows), status="fail" if failed else "pass"
    )
