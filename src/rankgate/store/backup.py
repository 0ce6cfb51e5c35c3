"""Backups: one state of a store in one file, the same for both databases.

A ZIP file with ``manifest.json``, a file of JSON lines for each table, and the blobs. It is read
in one transaction while others write, and restored in one: a store is there whole or not at all.
Sessions are left out, so that whoever finds a backup cannot go on as somebody else.
"""

from __future__ import annotations

import hashlib
import json
import zipfile
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, field
from datetime import UTC, datetime
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import sqlalchemy as sa

from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.target import replacing
from rankgate.store import versions
from rankgate.store.address import PRIVATE, address, file_of, shown
from rankgate.store.database import WRITES, engine_of
from rankgate.store.hashes import RowHasher, TableHash, rows_of, table_hashes, tables_of
from rankgate.store.kept.blobs import blobs_at
from rankgate.store.rows import PIECE
from rankgate.store.store import Store, refuse_placeless, reported

if TYPE_CHECKING:
    from sqlalchemy import Connection, Table

_KIND = "rankgate-store-backup"
_OWNER_ONLY = 0o600


@dataclass(frozen=True)
class Backup:
    """What a backup holds.

    Attributes:
        path: the file.
        version: of the store's schema.
        created_at: when it was made.
        rows: by table, how many.
        blobs: how many.
        hashes: by table, of its rows; empty in backups of older programs.
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
    made = datetime.now(UTC).isoformat(timespec="seconds")
    hashes: dict[str, TableHash] = {}
    with replacing(path, mode=PRIVATE) as stream, store.read() as connection:
        tables = tables_of(connection)
        with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED, allowZip64=True) as file:
            for table in tables:
                with file.open(f"tables/{table.name}.jsonl", "w", force_zip64=True) as out:
                    hashes[table.name] = _dump(connection, table, out)
            names = connection.scalars(sa.text("SELECT sha256 FROM blobs ORDER BY sha256")).all()
            for name in names:
                content = store.blobs.get(name)
                file.writestr(f"blobs/{name}", content, zipfile.ZIP_STORED)  # compressed already
            found = str(versions.version(connection))
            rows = {name: each.rows for name, each in hashes.items()}
            kept = {name: asdict(each) for name, each in hashes.items()}
            manifest = {"kind": _KIND, "version": found, "created_at": made, "rows": rows,
                        "blobs": len(names),
                        "hashes": kept}  # fmt: skip
            file.writestr("manifest.json", json.dumps(manifest, indent=1))
    if Path(path).is_file():
        Path(path).chmod(_OWNER_ONLY)
    return Backup(str(path), found, made, rows, len(names), hashes)


def _dump(connection: Connection, table: Table, out: IO[bytes]) -> TableHash:
    hasher = RowHasher()
    for values in rows_of(connection, table):
        out.write(json.dumps(values, ensure_ascii=False).encode() + b"\n")
        hasher.add(values)
    return hasher.result()


def restore(path: str | Path, url: str | None = None, blobs: str | None = None) -> Backup:
    """Make a store of a backup, in either database, where there is none.

    Each table is read again and compared with the hash in the backup.

    Args:
        path: the file.
        url: of the new store.
        blobs: where its blobs go; as of `Store.create`.

    Raises:
        InputError: the file is no backup, or damaged.
        UsageError: there is a store already; a backup of a newer version; a table of the new store
            differs from the backup.
    """
    place = address(url)
    refuse_placeless(place, blobs)
    file = file_of(place)
    begun = file if file is not None and not file.exists() else None
    with _opened(path) as archive:
        found = _manifest(archive, str(path))
        engine = engine_of(place)
        try:
            with (
                reported(place),
                engine.connect().execution_options(**{WRITES: True}) as connection,
                connection.begin(),
            ):
                _fill(connection, archive, found, blobs or "")
        except BaseException:
            engine.dispose()
            for end in ("", "-wal", "-shm") if begun else ():
                Path(f"{begun}{end}").unlink(missing_ok=True)
            raise
        engine.dispose()
    return found


def _fill(connection: Connection, archive: zipfile.ZipFile, found: Backup, blobs: str) -> None:
    place = connection.engine.url
    if versions.version(connection) is not None:
        problem = f"{shown(place)}: there is a store already; name another place."
        raise UsageError(problem, code="store-exists")
    versions.build(connection, found.version)
    for table in tables_of(connection):
        _load(connection, table, archive, found)
    _compare(connection, found)
    setting = sa.text("UPDATE settings SET value = :place WHERE name = 'blobs'")
    connection.execute(setting, {"place": blobs})
    target = blobs_at(blobs, place)
    for name in connection.scalars(sa.text("SELECT sha256 FROM blobs")).all():
        target.put(_blob(archive, name, found.path))
    versions.build(connection)


def _compare(connection: Connection, found: Backup) -> None:
    """Check that the tables, of the version of the backup, hold what was backed up."""
    if not found.hashes:
        return
    restored = table_hashes(connection)
    for name, each in found.hashes.items():
        if restored.get(name) != each:
            raise UsageError(
                f"{found.path}: the restored table {name} is not what was backed up, as the file "
                "was changed; nothing was restored. Take another backup.",
                code="restore-differs",
            )


def _opened(path: str | Path) -> zipfile.ZipFile:
    try:
        return zipfile.ZipFile(path)
    except OSError as error:
        raise InputError(
            f"cannot be read: {error.strerror}.", source=str(path), code="cannot-read"
        ) from None
    except zipfile.BadZipFile:
        raise _no_backup(path) from None


def _no_backup(path: str | Path) -> InputError:
    problem = "this is no backup of a store, or it is damaged; take another one."
    return InputError(problem, source=str(path), code="not-a-backup")


def _manifest(file: zipfile.ZipFile, path: str) -> Backup:
    try:
        values = json.loads(file.read("manifest.json"))
        if values["kind"] != _KIND:
            raise _no_backup(path)
        hashes = {name: TableHash(**each) for name, each in values.get("hashes", {}).items()}
        return Backup(path, values["version"], values["created_at"], values["rows"],
                      values["blobs"], hashes)  # fmt: skip
    except (KeyError, TypeError, ValueError, zipfile.BadZipFile, zlib.error):
        raise _no_backup(path) from None


def _load(connection: Connection, table: Table, file: zipfile.ZipFile, found: Backup) -> None:
    if table.name not in found.rows:
        return
    moments = [each.name for each in table.columns if isinstance(each.type, sa.DateTime)]
    count, piece = 0, []
    for row in _rows(file, table.name, found.path):
        for name in moments:
            row[name] = None if row[name] is None else datetime.fromisoformat(row[name])
        piece.append(row)
        count += 1
        if len(piece) == PIECE:
            connection.execute(sa.insert(table), piece)
            piece = []
    if piece:
        connection.execute(sa.insert(table), piece)
    if count != found.rows[table.name]:
        raise _no_backup(found.path)
    if connection.dialect.name == "postgresql" and "id" in table.columns and count:
        counter = sa.func.pg_get_serial_sequence(table.name, "id")
        connection.execute(sa.select(sa.func.setval(counter, sa.select(sa.func.max(
            table.c.id)).scalar_subquery())))  # fmt: skip


def _rows(file: zipfile.ZipFile, name: str, path: str) -> Iterator[dict[str, Any]]:
    try:
        with file.open(f"tables/{name}.jsonl") as lines:
            for line in lines:
                yield json.loads(line)
    except (KeyError, ValueError, zipfile.BadZipFile, zlib.error):
        raise _no_backup(path) from None


def _blob(file: zipfile.ZipFile, name: str, path: str) -> bytes:
    try:
        content = file.read(f"blobs/{name}")
    except (KeyError, zipfile.BadZipFile, zlib.error):
        raise _no_backup(path) from None
    if hashlib.sha256(content).hexdigest() != name:
        raise _no_backup(path)
    return content
