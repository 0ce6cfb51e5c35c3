"""Documents of checks and lists of a store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.document import Document, PlainRows, Table
from rankgate.core.present.document import document as made
from rankgate.core.present.grid import Grid, printable

if TYPE_CHECKING:
    from rankgate.judging.store.store_check import StoreCheck
    from rankgate.judging.store.store_hashes import StoreHashes
    from rankgate.judging.store.store_listing import StoreListing

_MOST = 50


def checked(result: StoreCheck) -> Document:
    """Each finding with its row."""
    head = ("code", "subject", "problem")
    rows = [(each.code, each.subject, each.problem) for each in result.findings]
    count = len(rows)
    word = "1 problem" if count == 1 else f"{count:,} problems"
    title = f"{printable(result.store)}: {word if count else 'no problems'}"
    shown = tuple(tuple(map(printable, row)) for row in rows[:_MOST])
    table = [Table("", Grid(head, shown, frozenset(range(3))), prose=True)] if rows else []
    more = [f"… and {count - _MOST:,} more"] if count > _MOST else []
    return made(
        title, *table, *more, rows=PlainRows(head, rows), status="fail" if count else "pass"
    )


def listed(result: StoreListing) -> Document:
    """One row each."""
    head = tuple(result.rows[0]) if result.rows else ()
    rows = [tuple(row.values()) for row in result.rows]
    shown = tuple(tuple("" if v is None else printable(str(v)) for v in row) for row in rows)
    what = result.what.removesuffix("s") if len(rows) == 1 else result.what
    title = f"{len(rows):,} {what} in {printable(result.store)}"
    grid = Grid(head, shown, frozenset(range(len(head))))
    return made(title, *([Table("", grid)] if rows else []), rows=PlainRows(head, rows))


def hashed(result: StoreHashes) -> Document:
    """Each table with its hash."""
    head = ("table", "rows", "sha256")
    rows = [(each.table, each.rows, each.sha256) for each in result.tables]
    shown = tuple((name, f"{count:,}", f"{digest[:16]}…") for name, count, digest in rows)
    title = f"{printable(result.store)}: {len(rows):,} tables"
    status = ""
    if result.restored_from:
        outcome = "restored, and each table is the same" if not result.problems else "has problems"
        title = f"{printable(result.restored_from)}: {outcome}"
        status = "fail" if result.problems else "pass"
    more = [printable(each) for each in result.problems[:_MOST]]
    grid = Grid(head, shown, frozenset({0, 2}))
    return made(title, Table("", grid), *more, rows=PlainRows(head, rows), status=status)
