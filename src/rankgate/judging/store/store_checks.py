"""Upgrade and check a store, hash its tables, and test the restoring of a backup."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import Result
from rankgate.core.present.layout import Lines, Sentence, View
from rankgate.core.present.number_formats import count_noun
from rankgate.store import store
from rankgate.store.backup import backup, hashes, restore
from rankgate.store.database import address, display_address, file_of, make_engine
from rankgate.store.store import Store, database_errors
from rankgate.store.store_integrity import check, delete_unused_blobs
from rankgate.store.store_integrity import check as found_in

if TYPE_CHECKING:
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

    kind = "store_check"
    main_table = "findings"
    headline_text = "{store}: {findings:n problem}"
    layout = (View(first=50, prose=True),)

    store: str
    findings: tuple[StoreFinding, ...]

    @property
    def outcome(self) -> str:
        """Fail if there is a problem."""
        return "fail" if self.findings else "pass"


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

    kind = "store_hashes"
    main_table = "tables"
    layout = (
        View(headers={"sha256": "SHA-256,\nfirst 16 digits"}, formats={"sha256": ".16"}),
        Lines("problems"),
    )
    headline_text = (
        Sentence("{store}: {tables:n table}", lambda hashes: not hashes.restored_from),
        Sentence("{restored_from}: has problems", lambda hashes: hashes.restored_from and hashes.problems),
        Sentence(
            "{restored_from}: restored, and each table is the same",
            lambda hashes: hashes.restored_from and not hashes.problems,
        ),
    )

    store: str
    tables: tuple[TableContent, ...]
    restored_from: str = ""
    problems: tuple[str, ...] = ()

    @property
    def outcome(self) -> str:
        """Fail if a restored store has problems."""
        return "" if not self.restored_from else "fail" if self.problems else "pass"


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
