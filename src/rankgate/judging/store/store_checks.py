"""Upgrade and check a store, hash its tables, and test the restoring of a backup.

The module also has the documents of checks and lists of a store.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import Result
from rankgate.core.present.document_model import Document, Grid, PlainRows, Table, make_printable
from rankgate.core.present.document_model import make_document as made
from rankgate.core.present.number_formats import count_noun, count_plural
from rankgate.store import store
from rankgate.store.backup import backup, hashes, restore
from rankgate.store.database import address, display_address, file_of, make_engine
from rankgate.store.store import Store, database_errors
from rankgate.store.store_integrity import check, delete_unused_blobs
from rankgate.store.store_integrity import check as found_in

if TYPE_CHECKING:
    from rankgate.judging.store.store_people import StoreListing
    from rankgate.store.backup import TableHash


def upgrade_store(url: str | None) -> tuple[str, tuple[str, ...]]:
    """Bring a store to the newest version.

    Returns:
        The address of the store without a password, and the versions of the completed migrations.

    Raises:
        UsageError: the store does not exist, or its version is newer.
    """
    store_url = address(url)
    file = file_of(store_url)
    missing = UsageError(
        f"{display_address(store_url)}: the store does not exist; create it with rankgate store init.",
        code="no-store",
    )
    if file is not None and not file.is_file():
        raise missing
    engine = make_engine(store_url)
    try:
        with database_errors(store_url):
            with engine.connect() as connection:
                if store.version(connection) is None:
                    raise missing
            return display_address(store_url), store.upgrade(engine)
    finally:
        engine.dispose()


@dataclass(frozen=True)
class StoreFinding:
    """A problem of a store: a code, its row or blob, and a sentence."""

    code: str
    subject: str
    problem: str


@dataclass(frozen=True)
class StoreCheck(Result):
    """The problems of a store.

    Attributes:
        store: the address of the store, without a password.
        findings: empty if there are no problems.
    """

    kind: ClassVar[str] = "store_check"
    document_from: ClassVar[str] = "rankgate.judging.store.store_checks:checked"

    store: str
    findings: tuple[StoreFinding, ...]

    def _table(self) -> pl.DataFrame:
        names = dict.fromkeys(("code", "subject", "problem"), pl.String)
        return pl.DataFrame([vars(finding) for finding in self.findings], names)


def check_store(store: Store) -> StoreCheck:
    """Check the database, the blobs, and whether tasks agree with the ratings.

    Raises:
        UsageError: the database cannot be reached.
    """
    findings = (StoreFinding(**vars(finding)) for finding in found_in(store))
    return StoreCheck(store.name, tuple(findings))


def clean_store(store: Store) -> str:
    """Delete the unreferenced blobs; report the deletion in one line.

    Raises:
        UsageError: the database cannot be reached.
    """
    count, size = delete_unused_blobs(store)
    return f"deleted {count_noun(count, 'blob')} that nothing refers to, {size:,} bytes"


@dataclass(frozen=True)
class TableContent:
    """One table: its name, how many rows it has, and their hash (SHA-256)."""

    table: str
    rows: int
    sha256: str


@dataclass(frozen=True)
class StoreHashes(Result):
    """The hash of every table of a store: two stores with the same hashes hold the same.

    Attributes:
        store: the address of the store, without a password.
        tables: the hash of each table.
        restored_from: the backup that was restored for a drill; empty for the store itself.
        problems: the problems of the restored store; empty if there are none.
    """

    kind: ClassVar[str] = "store_hashes"
    document_from: ClassVar[str] = "rankgate.judging.store.store_checks:hashed"

    store: str
    tables: tuple[TableContent, ...]
    restored_from: str = ""
    problems: tuple[str, ...] = ()

    def _table(self) -> pl.DataFrame:
        return pl.DataFrame([vars(content) for content in self.tables])


def store_hashes(store: Store) -> StoreHashes:
    """The hash of every table of a store.

    Raises:
        UsageError: the database cannot be reached.
    """
    return StoreHashes(store.name, _contents(hashes(store)))


def drill(
    url: str | None, path: str | Path | None = None, into: str | None = None, blobs: str = ""
) -> StoreHashes:
    """Restore a backup into a new store, compare the hash of every table, and check the new store.

    Args:
        url: the url of the store that is backed up first, if no backup is given.
        path: a backup.
        into: the URL of the new store; by default a temporary SQLite file, deleted at the end.
        blobs: the location of its blobs, as in `Store.create`.

    Raises:
        InputError: the file is not a backup; the file or a blob of the store is damaged.
        UsageError: a table differs from the backup (``restore-differs``); a store cannot be opened.
    """
    with TemporaryDirectory() as folder:
        if path is None:
            path = Path(folder, "drill.zip")
            with Store.open(url) as store:
                name = store.name
                backup(store, path)
        else:
            name = str(path)
        target = into or str(Path(folder, "restored.db"))
        restore(path, target, blobs or None)
        with Store.open(target) as restored_store:
            contents = _contents(hashes(restored_store))
            problems = tuple(str(finding.problem) for finding in check(restored_store))
            return StoreHashes(restored_store.name if into else "a temporary store", contents, name, problems)


def _contents(hash_of_table: Mapping[str, TableHash]) -> tuple[TableContent, ...]:
    return tuple(
        TableContent(name, table_hash.rows, table_hash.sha256)
        for name, table_hash in sorted(hash_of_table.items())
    )


_MAX_ROWS = 50


def checked(result: StoreCheck) -> Document:
    """The document of a store check: each finding with its row."""
    header = ("code", "subject", "problem")
    rows = [(finding.code, finding.subject, finding.problem) for finding in result.findings]
    count = len(rows)
    problems = count_noun(count, "problem") if count else "no problems"
    title = f"{make_printable(result.store)}: {problems}"
    grid_rows = tuple(tuple(map(make_printable, row)) for row in rows[:_MAX_ROWS])
    table = [Table("", Grid(header, grid_rows, frozenset(range(3))), prose=True)] if rows else []
    more = [f"… and {count - _MAX_ROWS:,} more"] if count > _MAX_ROWS else []
    return made(title, *table, *more, rows=PlainRows(header, rows), status="fail" if count else "pass")


def listed(result: StoreListing) -> Document:
    """The document of a list: a row for each user, token or project."""
    header = tuple(result.rows[0]) if result.rows else ()
    rows = [tuple(row.values()) for row in result.rows]
    grid_rows = tuple(tuple("" if v is None else make_printable(str(v)) for v in row) for row in rows)
    count = count_plural(len(rows), result.what)
    title = f"{count} in {make_printable(result.store)}"
    grid = Grid(header, grid_rows, frozenset(range(len(header))))
    return made(title, *([Table("", grid)] if rows else []), rows=PlainRows(header, rows))


def hashed(result: StoreHashes) -> Document:
    """The document of hashes: each table with its hash."""
    header = ("table", "rows", "sha256")
    rows = [(content.table, content.rows, content.sha256) for content in result.tables]
    grid_rows = tuple((name, f"{count:,}", f"{digest[:16]}…") for name, count, digest in rows)
    title = f"{make_printable(result.store)}: {count_noun(len(rows), 'table')}"
    status = ""
    if result.restored_from:
        outcome = "restored, and each table is the same" if not result.problems else "has problems"
        title = f"{make_printable(result.restored_from)}: {outcome}"
        status = "fail" if result.problems else "pass"
    more = [make_printable(problem) for problem in result.problems[:_MAX_ROWS]]
    grid = Grid(header, grid_rows, frozenset({0, 2}))
    return made(title, Table("", grid), *more, rows=PlainRows(header, rows), status=status)
