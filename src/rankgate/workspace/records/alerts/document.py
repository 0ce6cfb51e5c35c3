"""The document of a check of alerts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.document import Document, PlainRows, Table
from rankgate.core.present.document import document as made
from rankgate.core.present.grid import Grid, printable

if TYPE_CHECKING:
    from rankgate.workspace.records.alerts.alert_check import AlertCheck

_MARKS = {"fail": "alert", "pass": "ok", "inconclusive": "unknown"}


def checked(result: AlertCheck) -> Document:
    """Each rule on each series with its state."""
    head = ("rule", "metric", "system", "slice", "state", "change", "reason")
    rows = [
        (each.rule, each.metric, each.system, each.slice, _MARKS[each.status], each.change,
         each.reason)
        for each in result.states
    ]  # fmt: skip
    failed = len(result.failed)
    count = {0: "no alerts", 1: "1 alert"}.get(failed, f"{failed:,} alerts")
    shown = tuple(tuple(map(printable, row)) for row in rows)
    used = [at for at, name in enumerate(head) if any(row[at] for row in rows)]
    grid = Grid(
        tuple(head[at] for at in used),
        tuple(tuple(row[at] for at in used) for row in shown),
        frozenset(range(len(used))),
    )
    title = f"{printable(result.project)}: {count}, {len(rows):,} rules on series"
    blocks = [Table("", grid)] if rows else []
    return made(title, *blocks, rows=PlainRows(head, rows), status="fail" if failed else "pass")
