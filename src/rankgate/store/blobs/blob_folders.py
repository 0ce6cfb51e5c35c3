"""Blobs identified by their hash, in a folder or in object storage, and tables as Parquet bytes.

Equal tables have the same bytes. Blobs hold the rows of runs and judgments.
"""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import polars as pl
import sqlalchemy as sa

from rankgate.core.checksums import check_checksum
from rankgate.core.errors import InputError, MissingExtraError, UsageError, require
from rankgate.core.frozen import dataclass
from rankgate.core.output_files import replace_file
from rankgate.store.database import PRIVATE, file_of
from rankgate.store.tables import model_tables

if TYPE_CHECKING:
    from sqlalchemy import URL, Connection

    from rankgate.core.value_types import Json


def to_parquet(table: pl.DataFrame) -> bytes:
    """A table as Parquet."""
    out = io.BytesIO()
    table.write_parquet(out, compression="zstd", compression_level=3, statistics=False)
    return out.getvalue()


def read_json_blob(blobs: Blobs, name: str) -> dict[str, Any]:
    """The JSON value of a compressed blob.

    Raises:
        InputError: the blob is missing or damaged.
    """
    fields: dict[str, Json] = json.loads(gzip.decompress(blobs.get(name)))
    return fields


def from_parquet(content: bytes, source: str, columns: list[str] | None = None) -> pl.DataFrame:
    """A table from Parquet bytes; all columns by default.

    Raises:
        InputError: the bytes are not Parquet.
    """
    try:
        check_checksum(io.BytesIO(content), source)
        return pl.read_parquet(io.BytesIO(content), columns=columns)
    except (pl.exceptions.PolarsError, pl.exceptions.PanicException):
        problem = "the rows in the store are not Parquet; restore them from a backup."
        raise InputError(problem, source=source, code="damaged-blob") from None


_LETTERS = 2
PRIVATE_FOLDER = 0o700
"""The permissions of a folder that only its owner can open."""


class Blobs(Protocol):
    """A storage of blobs."""

    @property
    def where(self) -> str:
        """The location of the blobs, for messages."""
        ...

    def get(self, sha256: str) -> bytes:
        """The bytes with a hash.

        Raises:
            InputError: the blob is missing or damaged.
        """
        ...

    def put(self, content: bytes) -> str:
        """Store bytes; return their hash."""
        ...

    def names(self) -> Iterator[str]:
        """The hashes of all blobs."""
        ...

    def age(self, sha256: str) -> float:
        """Seconds since a blob was written."""
        ...

    def remove(self, sha256: str) -> None:
        """Delete an unreferenced blob."""
        ...


def open_blobs(location: str, url: URL) -> Blobs:
    """The blob storage that a store names.

    Args:
        location: a folder, relative to the folder of the SQLite file; an fsspec URL; if empty, a
            folder next to the SQLite file.
        url: the url of the store.

    Raises:
        MissingExtraError: the location is a URL, and fsspec is not installed.
    """
    if "://" in location:
        require("blobs in object storage need fsspec", "fsspec")
        import fsspec

        try:
            system, path = fsspec.core.url_to_fs(location)
        except ImportError as error:
            raise MissingExtraError(f"blobs at this URL need another package: {error}.") from None
        except (OSError, ValueError) as error:
            raise UsageError(f"blobs: {error}.", code="unknown-store") from None
        return Remote(location.split("?", maxsplit=1)[0], system, str(path).rstrip("/"))
    file = file_of(url)
    if file is None:
        return Folder(Path(location))
    return Folder(file.parent / location if location else file.with_name(f"{file.name}.blobs"))


@dataclass(frozen=True)
class Folder:
    """Blobs as files in a folder, ``ab/abcd…``."""

    folder: Path

    @property
    def where(self) -> str:
        """The path of the folder."""
        return str(self.folder)

    def _path(self, sha256: str) -> Path:
        return self.folder / sha256[:_LETTERS] / sha256

    def get(self, sha256: str) -> bytes:
        """The bytes with a hash."""
        try:
            return _verify_hash(self._path(sha256).read_bytes(), sha256, self.where)
        except FileNotFoundError:
            raise _missing_error(sha256, self.where) from None

    def put(self, content: bytes) -> str:
        """Store bytes in a complete file, or leave no file; return their hash."""
        name = hashlib.sha256(content).hexdigest()
        path = self._path(name)
        if path.is_file():
            os.utime(path)  # the new time protects a blob in use from deletion by another process
        else:
            try:
                self.folder.mkdir(PRIVATE_FOLDER, parents=True, exist_ok=True)
                path.parent.mkdir(PRIVATE_FOLDER, exist_ok=True)
            except OSError as error:
                raise UsageError(
                    f"{path.parent}: cannot be made: {error.strerror}.", code="cannot-write"
                ) from None
            with replace_file(path, mode=PRIVATE) as stream:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
        return name

    def names(self) -> Iterator[str]:
        """The hashes of all blobs."""
        yield from sorted(path.name for path in self.folder.glob("??/*") if len(path.name) == 64)

    def age(self, sha256: str) -> float:
        """Seconds since a blob was written."""
        return time.time() - self._path(sha256).stat().st_mtime

    def remove(self, sha256: str) -> None:
        """Delete an unreferenced blob."""
        self._path(sha256).unlink(missing_ok=True)


@dataclass(frozen=True)
class Remote:
    """Blobs as objects under an fsspec URL."""

    where: str
    system: Any
    path: str

    def get(self, sha256: str) -> bytes:
        """The bytes with a hash."""
        try:
            return _verify_hash(self.system.cat_file(f"{self.path}/{sha256}"), sha256, self.where)
        except FileNotFoundError:
            raise _missing_error(sha256, self.where) from None

    def put(self, content: bytes) -> str:
        """Store bytes as one object; return their hash."""
        name = hashlib.sha256(content).hexdigest()
        if not self.system.exists(f"{self.path}/{name}"):
            self.system.makedirs(self.path, exist_ok=True)
            self.system.pipe_file(f"{self.path}/{name}", content)
        return name

    def names(self) -> Iterator[str]:
        """The hashes of all blobs."""
        if self.system.exists(self.path):
            paths = self.system.ls(self.path, detail=False)
            yield from sorted(str(path).rpartition("/")[2] for path in paths)

    def age(self, sha256: str) -> float:
        """Seconds since a blob was written."""
        try:
            modified_at: datetime = self.system.modified(f"{self.path}/{sha256}")
        except NotImplementedError:  # a blob is kept if the storage has no times
            return 0.0
        zone = modified_at if modified_at.tzinfo else modified_at.replace(tzinfo=UTC)
        return (datetime.now(UTC) - zone).total_seconds()

    def remove(self, sha256: str) -> None:
        """Delete an unreferenced blob."""
        self.system.rm_file(f"{self.path}/{sha256}")


@dataclass(frozen=True)
class HashOnlyBlobs:
    """A storage that computes hashes and keeps no bytes, for a transaction that is undone."""

    where: str = "nowhere"

    def get(self, sha256: str) -> bytes:
        """Raise an error, because no blob is kept."""
        raise _missing_error(sha256, self.where)

    def put(self, content: bytes) -> str:
        """Return the hash of bytes."""
        return hashlib.sha256(content).hexdigest()

    def names(self) -> Iterator[str]:
        """Yield no hashes."""
        yield from ()

    def age(self, sha256: str) -> float:  # noqa: ARG002 - as of every place
        """Return 0, because no blob is kept."""
        return 0.0

    def remove(self, sha256: str) -> None:
        """Do nothing, because no blob is kept."""


def _verify_hash(content: bytes, sha256: str, location: str) -> bytes:
    if hashlib.sha256(content).hexdigest() != sha256:
        problem = f"blob {sha256} is damaged; restore it from a backup."
        raise InputError(problem, source=location, code="damaged-blob")
    return content


def _missing_error(sha256: str, location: str) -> InputError:
    problem = f"blob {sha256} is not there; restore it from a backup."
    return InputError(problem, source=location, code="missing-blob")


def save_blob(connection: Connection, blobs: Blobs, content: bytes) -> str:
    """Store bytes, record them in the database, and return their hash."""
    name = blobs.put(content)
    known_hash = connection.scalar(
        sa.select(model_tables.blobs.c.sha256).where(model_tables.blobs.c.sha256 == name)
    )
    if known_hash is None:
        values = {"sha256": name, "bytes": len(content), "created_at": datetime.now(UTC)}
        connection.execute(sa.insert(model_tables.blobs).values(values))
    return name
