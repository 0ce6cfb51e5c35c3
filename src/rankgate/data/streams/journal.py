"""Append rows to disk one by one, so that rows are not lost if the program stops."""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from stat import S_ISREG
from typing import TYPE_CHECKING, Any, Self

from rankgate.core.errors import InputError, UsageError

if TYPE_CHECKING:
    from rankgate.core.value_types import Json, JsonObject


class Closing(ABC):
    """A base class whose objects are closed at the end of ``with``, also after an error."""

    @abstractmethod
    def close(self) -> None:
        """Close the resources."""

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


@dataclass
class Journal(Closing):
    """An append-only file with one JSON object per line.

    ``add`` returns after the line is on disk (fsync). If the program or the machine stops during a
    write, the last line is incomplete; ``add`` never returned for it, and it is cut off when the
    file is opened again.

    Attributes:
        path: the file.
        rows: its rows, in order.
        cut: the number of bytes of an incomplete last line that was cut off.
        is_new: True if the file was created.
    """

    path: Path
    rows: list[dict[str, Any]]
    cut: int
    is_new: bool
    _handle: int

    @classmethod
    def open(cls, path: str | Path) -> Self:
        """Open a journal, or create it; a device or pipe is not read.

        Raises:
            InputError: a line is not a JSON object; the message has its number.
            UsageError: the file cannot be written.
        """
        journal_path = Path(path)
        is_new = not journal_path.exists()
        try:
            handle = os.open(journal_path, os.O_RDWR | os.O_CREAT | os.O_APPEND, 0o644)
        except OSError as error:
            raise UsageError(f"{path}: cannot be written: {error.strerror}.", code="cannot-write") from None
        try:
            if not S_ISREG(os.fstat(handle).st_mode):
                return cls(journal_path, [], 0, is_new, handle)
            _lock(handle, path)
            chunks = []
            while chunk := os.read(handle, 1 << 20):
                chunks.append(chunk)
            data = b"".join(chunks)
            if _parse_object(data[data.rfind(b"\n") + 1 :]):  # the line is complete, only its end is missing
                os.write(handle, b"\n")
                data += b"\n"
            rows, end = _parse_rows(data, str(path))
            if end < len(data):
                os.ftruncate(handle, end)
            os.fsync(handle)
            _sync_folder(journal_path)
        except BaseException:
            os.close(handle)
            raise
        return cls(journal_path, rows, len(data) - end, is_new, handle)

    def __exit__(self, *error: object) -> None:
        """Close the file; after an error, a file that was created is removed if no row was saved."""
        if self.is_new and not self.rows and any(error):
            self.path.unlink(missing_ok=True)
        self.close()

    def add(self, row: JsonObject) -> None:
        """Write a row; it is on disk when the function returns.

        Raises:
            UsageError: the disk is full or missing; the row is not kept.
        """
        self.extend([row])

    def extend(self, rows: Sequence[JsonObject]) -> None:
        """Write several rows at once; they are on disk when the function returns.

        Raises:
            UsageError: the disk is full or missing; no row is kept.
        """
        lines = [json.dumps(dict(row), ensure_ascii=False, allow_nan=False) for row in rows]
        data = "".join(f"{line}\n" for line in lines).encode()
        status = os.fstat(self._handle)
        reason = "no space left"
        try:
            written_bytes = os.write(self._handle, data)
            if S_ISREG(status.st_mode):
                os.fsync(self._handle)
        except OSError as error:
            written_bytes, reason = 0, error.strerror or reason
        if written_bytes < len(data):
            with suppress(OSError):  # a device
                os.ftruncate(self._handle, status.st_size)
            raise UsageError(
                f"{self.path}: cannot be written: {reason}; the last record was not saved.",
                code="cannot-write",
            )
        self.rows.extend(map(dict, rows))

    def close(self) -> None:
        """Close the file; further calls have no effect."""
        handle, self._handle = self._handle, -1
        if handle >= 0:
            os.close(handle)


def _lock(handle: int, path: str | Path) -> None:
    """Raise an error if another program is writing the journal."""
    try:
        import fcntl
    except ImportError:
        return
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        raise UsageError(
            f"{path}: another program is writing to it; name another file.", code="cannot-write"
        ) from None


def _parse_rows(data: bytes, label: str) -> tuple[list[dict[str, Json]], int]:
    """The complete lines, and the offset of their end."""
    end = data.rfind(b"\n") + 1
    rows = []
    for number, line in enumerate(data[:end].split(b"\n")[:-1], 1):
        row = _parse_object(line)
        if row is None:
            problem = "it is not a JSON object; is this a file that rankgate wrote?"
            raise InputError(problem, source=label, line=number, code="invalid-json")
        rows.append(row)
    return rows, end


def _parse_object(line: bytes) -> dict[str, Json] | None:
    try:
        row = json.loads(line)
    except ValueError:
        return None
    return row if isinstance(row, dict) else None


def _sync_folder(path: Path) -> None:
    """Sync the folder of a new file, because only then is the name of the file on disk."""
    try:
        folder = os.open(path.resolve().parent, os.O_RDONLY)
    except OSError:
        return  # folders cannot be opened on this system
    try:
        os.fsync(folder)
    except OSError:
        pass
    finally:
        os.close(folder)
