"""Write and restore backups, and hash every table, in the same way for both databases.

The same rows have the same hash in SQLite and PostgreSQL. A backup is one state of a store in
one file, the same for both databases.

A backup is a ZIP file with ``manifest.json``, a file of JSON lines for each table, and the blobs.
One transaction reads the store while other processes write, and one transaction restores it, so a
restored store is complete or does not exist. Sessions and links to set a password are left out, so
that anyone who finds a backup cannot use them.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict, field
from datetime import UTC, date, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import sqlalchemy as sa

from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.output_files import replace_file
from rankgate.store import store as versions
from rankgate.store.blobs.blob_folders import open_blobs
from rankgate.store.database import PRIVATE, WRITES, address, display_address, file_of, make_engine
from rankgate.store.rows import CHUNK_ROWS, PREFIX
from rankgate.store.store import Store, database_errors, refuse_missing_place

if TYPE_CHECKING:
    from sqlalchemy import Connection, Table

    from rankgate.core.value_types import Json, JsonObject


EXCLUDED_TABLES = frozenset(
    (
        *("alembic_version", "one_time_secrets", "sessions", "sign_ins"),
        *("answer_counts", "page_results", "pair_counts"),
    )
)
"""Tables that backups leave out.

A stolen backup cannot be used to sign in, and triggers count restored answers again.
"""


@dataclass(frozen=True)
class TableHash:
    """The number of rows and the hash of a table.

    Attributes:
        rows: the number of rows.
        sha256: the SHA-256 of the rows as JSON lines in the order of the primary key, keys sorted.
    """

    rows: int
    sha256: str


class RowHasher:
    """A hash of a table, computed row by row."""

    def __init__(self) -> None:
        self._count, self._digest = 0, hashlib.sha256()

    def add(self, values: JsonObject) -> None:
        """Add the next row, in the form of `rows_of`."""
        self._count += 1
        text = json.dumps(_normalize_numbers(values), sort_keys=True, ensure_ascii=False)
        self._digest.update(text.encode() + b"\n")

    def result(self) -> TableHash:
        """The hash of the rows so far."""
        return TableHash(self._count, self._digest.hexdigest())


def hashes(store: Store) -> dict[str, TableHash]:
    """The hash of each table in one state of the store, by name; blobs are named by their hashes.

    Raises:
        UsageError: the database cannot be reached.
    """
    with store.read() as connection:
        return table_hashes(connection, tables_of(connection))


def table_hashes(connection: Connection, tables: Iterable[Table]) -> dict[str, TableHash]:
    """The hash of each of some tables, by name."""
    hash_of_table = {}
    for table in tables:
        hasher = RowHasher()
        for values in rows_of(connection, table):
            hasher.add(values)
        hash_of_table[table.name] = hasher.result()
    return hash_of_table


def tables_of(connection: Connection) -> list[Table]:
    """Every table of a backup; tables that other tables refer to come first."""
    metadata = sa.MetaData()
    metadata.reflect(connection)
    return [table for table in metadata.sorted_tables if table.name not in EXCLUDED_TABLES]


def rows_of(connection: Connection, table: Table) -> Iterator[dict[str, Json]]:
    """The rows of a table as JSON values, in the order of the primary key.

    The location of the blobs is left empty, because each store has its own; leases of processes are
    left out.
    """
    statement = sa.select(table).order_by(*table.primary_key.columns)
    rows = connection.execute(statement, execution_options={"yield_per": CHUNK_ROWS})
    for row in rows:
        values = {
            name: value.isoformat() if isinstance(value, date) else value
            for name, value in row._mapping.items()  # noqa: SLF001 - public there
        }
        if table.name == "settings":
            if str(values["name"]).startswith(PREFIX):
                continue
            if values["name"] == "blobs":
                values["value"] = ""
        yield values


def _normalize_numbers(value: Json) -> Json:
    """A value with 2.0 as 2: PostgreSQL stores numbers in JSON by value, not as written."""
    if isinstance(value, Mapping):
        return {key: _normalize_numbers(child) for key, child in value.items()}
    if isinstance(value, list | tuple):
        return [_normalize_numbers(child) for child in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value


_KIND = "rankgate-store-backup"
_OWNER_ONLY = 0o600


@dataclass(frozen=True)
class Backup:
    """The contents of a backup.

    Attributes:
        path: the file.
        version: the version of the store's schema.
        created_at: the time of the backup.
        rows: the number of rows of each table.
        blobs: the number of blobs.
        hashes: the hash of each table's rows; empty in backups of older programs.
    """

    path: str
    version: str
    created_at: str
    rows: Mapping[str, int]
    blobs: int
    hashes: Mapping[str, TableHash] = field(default_factory=dict)


def backup(store: Store, path: str | Path) -> Backup:
    """Write one state of a store into a file, which is replaced in one step.

    Raises:
        InputError: a blob is missing or damaged.
        UsageError: the file cannot be written.
    """
    created_at = datetime.now(UTC).isoformat(timespec="seconds")
    hashes: dict[str, TableHash] = {}
    with replace_file(path, mode=PRIVATE) as stream, store.read() as connection:
        tables = tables_of(connection)
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, allowZip64=True) as file:
            for table in tables:
                with file.open(f"tables/{table.name}.jsonl", "w", force_zip64=True) as out:
                    hasher = RowHasher()
                    for values in rows_of(connection, table):
                        out.write(json.dumps(values, ensure_ascii=False).encode() + b"\n")
                        hasher.add(values)
                    hashes[table.name] = hasher.result()
            names = connection.scalars(sa.text("SELECT sha256 FROM blobs ORDER BY sha256")).all()
            for name in names:
                content = store.blobs.get(name)
                file.writestr(f"blobs/{name}", content, zipfile.ZIP_STORED)  # compressed already
            version = str(versions.version(connection))
            rows = {name: table_hash.rows for name, table_hash in hashes.items()}
            hash_fields = {name: asdict(table_hash) for name, table_hash in hashes.items()}
            manifest = {
                "kind": _KIND,
                "version": version,
                "created_at": created_at,
                "rows": rows,
                "blobs": len(names),
                "hashes": hash_fields,
            }
            file.writestr("manifest.json", json.dumps(manifest, indent=1))
    if Path(path).is_file():
        Path(path).chmod(_OWNER_ONLY)
    return Backup(str(path), version, created_at, rows, len(names), hashes)


def restore(path: str | Path, url: str | None = None, blobs: str | None = None) -> Backup:
    """Create a store from a backup, in either database, where no store exists.

    Each table is read again and compared with the hash in the backup.

    Args:
        path: the file.
        url: the url of the new store.
        blobs: the location of the blobs, as in `Store.create`.

    Raises:
        InputError: the file is not a backup, or is damaged.
        UsageError: a store exists already; the backup has a newer version; a table of the new store
            differs from the backup.
    """
    store_url = address(url)
    refuse_missing_place(store_url, blobs)
    file = file_of(store_url)
    new_file = file if file is not None and not file.exists() else None
    with _open_archive(path) as archive:
        manifest = _read_manifest(archive, str(path))
        engine = make_engine(store_url)
        try:
            with (
                database_errors(store_url),
                engine.connect().execution_options(**{WRITES: True}) as connection,
                connection.begin(),
            ):
                _restore_tables(connection, archive, manifest, blobs or "")
        except BaseException:
            engine.dispose()
            for end in ("", "-wal", "-shm") if new_file else ():
                Path(f"{new_file}{end}").unlink(missing_ok=True)
            raise
        engine.dispose()
    return manifest


def _restore_tables(connection: Connection, archive: zipfile.ZipFile, manifest: Backup, blobs: str) -> None:
    store_url = connection.engine.url
    if versions.version(connection) is not None:
        problem = f"{display_address(store_url)}: there is a store already; name another place."
        raise UsageError(problem, code="store-exists")
    versions.migrate(connection, manifest.version)
    tables = tables_of(connection)
    for table in tables:
        _load_table(connection, table, archive, manifest)
    _compare_hashes(connection, tables, manifest)
    setting = sa.text("UPDATE settings SET value = :place WHERE name = 'blobs'")
    connection.execute(setting, {"place": blobs})
    target = open_blobs(blobs, store_url)
    for name in connection.scalars(sa.text("SELECT sha256 FROM blobs")).all():
        try:
            content = archive.read(f"blobs/{name}")
        except (KeyError, zipfile.BadZipFile, zlib.error):
            raise _backup_error(manifest.path) from None
        if hashlib.sha256(content).hexdigest() != name:
            raise _backup_error(manifest.path)
        target.put(content)
    versions.migrate(connection)


def _compare_hashes(connection: Connection, tables: Iterable[Table], manifest: Backup) -> None:
    """Check the restored tables against the hashes of the backup."""
    if not manifest.hashes:
        return
    restored_hashes = table_hashes(connection, tables)
    for name, table_hash in manifest.hashes.items():
        if restored_hashes.get(name) != table_hash:
            raise UsageError(
                f"{manifest.path}: the restored table {name} differs from the backup, so the file was "
                "changed; nothing was restored. Take another backup.",
                code="restore-differs",
            )


def _open_archive(path: str | Path) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(path)
    except OSError as error:
        raise InputError(f"cannot be read: {error.strerror}.", source=str(path), code="cannot-read") from None
    except zipfile.BadZipFile:
        raise _backup_error(path) from None


def _backup_error(path: str | Path) -> InputError:
    problem = "this is not a backup of a store, or it is damaged; use another file."
    return InputError(problem, source=str(path), code="not-a-backup")


def _read_manifest(file: zipfile.ZipFile, path: str) -> Backup:
    try:
        values = json.loads(file.read("manifest.json"))
        if values["kind"] != _KIND:
            raise _backup_error(path)
        hashes = {name: TableHash(**fields) for name, fields in values.get("hashes", {}).items()}
        return Backup(path, values["version"], values["created_at"], values["rows"], values["blobs"], hashes)
    except (KeyError, TypeError, ValueError, zipfile.BadZipFile, zlib.error):
        raise _backup_error(path) from None


def _load_table(connection: Connection, table: Table, file: zipfile.ZipFile, manifest: Backup) -> None:
    if table.name not in manifest.rows:
        return
    moments = [column.name for column in table.columns if isinstance(column.type, sa.DateTime)]
    count, chunk = 0, []
    for row in _rows(file, table.name, manifest.path):
        times = {name: row[name] for name in moments}
        moments_of_row = {
            name: None if time is None else datetime.fromisoformat(str(time)) for name, time in times.items()
        }
        chunk.append({**row, **moments_of_row})
        count += 1
        if len(chunk) == CHUNK_ROWS:
            connection.execute(sa.insert(table), chunk)
            chunk = []
    if chunk:
        connection.execute(sa.insert(table), chunk)
    if count != manifest.rows[table.name]:
        raise _backup_error(manifest.path)
    if connection.dialect.name == "postgresql" and "id" in table.columns and count:
        counter = sa.func.pg_get_serial_sequence(table.name, "id")
        connection.execute(
            sa.select(sa.func.setval(counter, sa.select(sa.func.max(table.c.id)).scalar_subquery()))
        )


def _rows(file: zipfile.ZipFile, name: str, path: str) -> Iterator[dict[str, Json]]:
    try:
        with file.open(f"tables/{name}.jsonl") as lines:
            for line in lines:
                yield json.loads(line)
    except (KeyError, ValueError, zipfile.BadZipFile, zlib.error):
        raise _backup_error(path) from None
