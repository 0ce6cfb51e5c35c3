"""Documents of checks and lists of a store."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.document import Document, PlainRows, Table
from rankgate.core.present.document import make_document as made
from rankgate.core.present.grid import Grid, make_printable

if TYPE_CHECKING:
    from rankgate.judging.store.store_check import StoreCheck
    from rankgate.judging.store.store_hashes import StoreHashes
    from rankgate.judging.store.store_listing import StoreListing

_MAX_ROWS = 50


def checked(result: StoreCheck) -> Document:
    """Document of a store check: each finding with its row."""
    header = ("code", "subject", "problem")
    rows = [(finding.code, finding.subject, finding.problem) for finding in result.findings]
    count = len(rows)
    problem_count = "1 problem" if count == 1 else f"{count:,} problems"
    title = f"{make_printable(result.store)}: {problem_count if count else 'no problems'}"
    grid_rows = tuple(tuple(map(make_printable, row)) for row in rows[:_MAX_ROWS])
    table = [Table("", Grid(header, grid_rows, frozenset(range(3))), prose=True)] if rows else []
    more = [f"… and {count - _MAX_ROWS:,} more"] if count > _MAX_ROWS else []
    return made(
        title, *table, *more, rows=PlainRows(header, rows), status="fail" if count else "pass"
    )


def listed(result: StoreListing) -> Document:
    """Document of a listing: a row for each user, token or project."""
    header = tuple(result.rows[0]) if result.rows else ()
    rows = [tuple(row.values()) for row in result.rows]
    grid_rows = tuple(
        tuple("" if v is None else make_printable(str(v)) for v in row) for row in rows
    )
    noun = result.what.removesuffix("s") if len(rows) == 1 else result.what
    title = f"{len(rows):,} {noun} in {make_printable(result.store)}"
    grid = Grid(header, grid_rows, frozenset(range(len(header))))
    return made(title, *([Table("", grid)] if rows else []), rows=PlainRows(header, rows))


def hashed(result: StoreHashes) -> Document:
    """Document of hashes: each table with its hash."""
    header = ("table", "rows", "sha256")
    rows = [(content.table, content.rows, content.sha256) for content in result.tables]
    grid_rows = tuple((name, f"{count:,}", f"{digest[:16]}…") for name, count, digest in rows)
    title = f"{make_printable(result.store)}: {len(rows):,} tables"
    status = ""
    if result.restored_from:
        outcome = "restored, and each table is the same" if not result.problems else "has problems"
        title = f"{make_printable(result.restored_from)}: {outcome}"
        status = "fail" if result.problems else "pass"
    more = [make_printable(problem) for problem in result.problems[:_MAX_ROWS]]
    grid = Grid(header, grid_rows, frozenset({0, 2}))
    return made(title, Table("", grid), *more, rows=PlainRows(header, rows), status=status)
