"""Blobs by their hash: rows of runs and judgments, in a folder or in object storage."""

from __future__ import annotations

import hashlib
import os
import time
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import sqlalchemy as sa

from rankgate.core.errors import InputError, MissingExtraError, UsageError
from rankgate.core.extras import require
from rankgate.core.frozen import dataclass
from rankgate.core.target import replacing
from rankgate.store.address import PRIVATE, file_of
from rankgate.store.tables import results

if TYPE_CHECKING:
    from sqlalchemy import URL, Connection

_LETTERS = 2
PRIVATE_FOLDER = 0o700
"""Permissions of a folder that only its owner enters."""


class Blobs(Protocol):
    """A place of blobs."""

    @property
    def where(self) -> str:
        """The place, for people."""
        ...

    def get(self, sha256: str) -> bytes:
        """The bytes with a hash.

        Raises:
            InputError: they are not there, or damaged.
        """
        ...

    def put(self, content: bytes) -> str:
        """Keep bytes; their hash."""
        ...

    def names(self) -> Iterator[str]:
        """The hashes of all blobs."""
        ...

    def age(self, sha256: str) -> float:
        """Seconds since a blob was written."""
        ...

    def remove(self, sha256: str) -> None:
        """Delete a blob that nothing refers to."""
        ...


def blobs_at(words: str, url: URL) -> Blobs:
    """The place that a store names.

    Args:
        words: a folder, from that of a SQLite file if it is relative; an fsspec URL; empty is a
            folder next to the SQLite file.
        url: of the store.

    Raises:
        MissingExtraError: a URL, and fsspec is not installed.
    """
    if "://" in words:
        return _remote(words)
    file = file_of(url)
    if file is None:
        return Folder(Path(words))
    return Folder(file.parent / words if words else file.with_name(f"{file.name}.blobs"))


@dataclass(frozen=True)
class Folder:
    """Blobs as files of a folder, ``ab/abcd…``."""

    folder: Path

    @property
    def where(self) -> str:
        """The folder."""
        return str(self.folder)

    def _path(self, sha256: str) -> Path:
        return self.folder / sha256[:_LETTERS] / sha256

    def get(self, sha256: str) -> bytes:
        """The bytes with a hash."""
        try:
            return _same(self._path(sha256).read_bytes(), sha256, self.where)
        except FileNotFoundError:
            raise _lost(sha256, self.where) from None

    def put(self, content: bytes) -> str:
        """Keep bytes, in a file that is whole or not there."""
        name = hashlib.sha256(content).hexdigest()
        path = self._path(name)
        if path.is_file():
            os.utime(path)  # so that nobody deletes what is about to be used
        else:
            try:
                self.folder.mkdir(PRIVATE_FOLDER, parents=True, exist_ok=True)
                path.parent.mkdir(PRIVATE_FOLDER, exist_ok=True)
            except OSError as error:
                raise UsageError(
                    f"{path.parent}: cannot be made: {error.strerror}.", code="cannot-write"
                ) from None
            with replacing(path, mode=PRIVATE) as stream:
                stream.write(content)
                stream.flush()
                os.fsync(stream.fileno())
        return name

    def names(self) -> Iterator[str]:
        """The hashes of all blobs."""
        yield from sorted(each.name for each in self.folder.glob("??/*") if len(each.name) == 64)

    def age(self, sha256: str) -> float:
        """Seconds since a blob was written."""
        return time.time() - self._path(sha256).stat().st_mtime

    def remove(self, sha256: str) -> None:
        """Delete a blob that nothing refers to."""
        self._path(sha256).unlink(missing_ok=True)


@dataclass(frozen=True)
class Remote:
    """Blobs as objects behind a URL of fsspec."""

    where: str
    system: Any
    path: str

    def get(self, sha256: str) -> bytes:
        """The bytes with a hash."""
        try:
            return _same(self.system.cat_file(f"{self.path}/{sha256}"), sha256, self.where)
        except FileNotFoundError:
            raise _lost(sha256, self.where) from None

    def put(self, content: bytes) -> str:
        """Keep bytes; an object is written whole."""
        name = hashlib.sha256(content).hexdigest()
        if not self.system.exists(f"{self.path}/{name}"):
            self.system.makedirs(self.path, exist_ok=True)
            self.system.pipe_file(f"{self.path}/{name}", content)
        return name

    def names(self) -> Iterator[str]:
        """The hashes of all blobs."""
        if self.system.exists(self.path):
            found = self.system.ls(self.path, detail=False)
            yield from sorted(str(each).rpartition("/")[2] for each in found)

    def age(self, sha256: str) -> float:
        """Seconds since a blob was written."""
        try:
            written: datetime = self.system.modified(f"{self.path}/{sha256}")
        except NotImplementedError:  # a place that does not know keeps it
            return 0.0
        zone = written if written.tzinfo else written.replace(tzinfo=UTC)
        return (datetime.now(UTC) - zone).total_seconds()

    def remove(self, sha256: str) -> None:
        """Delete a blob that nothing refers to."""
        self.system.rm_file(f"{self.path}/{sha256}")


@dataclass(frozen=True)
class Hashes:
    """No place: blobs get their hash and are not kept, for a transaction that is undone."""

    where: str = "nowhere"

    def get(self, sha256: str) -> bytes:
        """Nothing is here."""
        raise _lost(sha256, self.where)

    def put(self, content: bytes) -> str:
        """The hash of bytes."""
        return hashlib.sha256(content).hexdigest()

    def names(self) -> Iterator[str]:
        """No names."""
        yield from ()

    def age(self, sha256: str) -> float:  # noqa: ARG002 - as of every place
        """Nothing is here."""
        return 0.0

    def remove(self, sha256: str) -> None:
        """Nothing is here."""


def _remote(url: str) -> Remote:
    require("blobs in object storage need fsspec", "fsspec")
    import fsspec

    try:
        system, path = fsspec.core.url_to_fs(url)
    except ImportError as error:
        raise MissingExtraError(f"blobs at this URL need another package: {error}.") from None
    except (OSError, ValueError) as error:
        raise UsageError(f"blobs: {error}.", code="unknown-store") from None
    return Remote(url.split("?", maxsplit=1)[0], system, str(path).rstrip("/"))


def _same(content: bytes, sha256: str, where: str) -> bytes:
    if hashlib.sha256(content).hexdigest() != sha256:
        problem = f"blob {sha256} is damaged; restore it from a backup."
        raise InputError(problem, source=where, code="damaged-blob")
    return content


def _lost(sha256: str, where: str) -> InputError:
    problem = f"blob {sha256} is not there; restore it from a backup."
    return InputError(problem, source=where, code="missing-blob")


def keep(connection: Connection, blobs: Blobs, content: bytes) -> str:
    """Keep bytes, and note that the store has them; their hash."""
    name = blobs.put(content)
    known = connection.scalar(
        sa.select(results.blobs.c.sha256).where(results.blobs.c.sha256 == name)
    )
    if known is None:
        values = {"sha256": name, "bytes": len(content), "created_at": datetime.now(UTC)}
        connection.execute(sa.insert(results.blobs).values(values))
    return name
