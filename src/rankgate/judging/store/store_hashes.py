"""Hashes of a store's tables, and the drill of restoring a backup."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.result import Result
from rankgate.store.backup import backup, restore
from rankgate.store.check import check
from rankgate.store.hashes import hashes
from rankgate.store.store import Store

if TYPE_CHECKING:
    from rankgate.store.hashes import TableHash


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
        store: its address, without a password.
        tables: each with its hash.
        restored_from: the backup that was restored for a drill; empty if it is the store itself.
        problems: of the restored store; empty if nothing is wrong.
    """

    kind: ClassVar[str] = "store_hashes"
    document_from: ClassVar[str] = "rankgate.judging.store.document:hashed"

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
        url: of the store that is backed up first, if no backup is given.
        path: a backup.
        into: where the new store is made; by default a temporary SQLite file, deleted at the end.
        blobs: its place for blobs, as of `Store.create`.

    Raises:
        InputError: the file is no backup, or damaged; a blob of the store is.
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
            return StoreHashes(
                restored_store.name if into else "a temporary store", contents, name, problems
            )


def _contents(hash_of_table: Mapping[str, TableHash]) -> tuple[TableContent, ...]:
    return tuple(
        TableContent(name, table_hash.rows, table_hash.sha256)
        for name, table_hash in sorted(hash_of_table.items())
    )
