"""Where bytes come from: a file, a compressed file, or standard input."""

from __future__ import annotations

import gzip
import io
import math
import os
import stat
import sys
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import IO, cast

from rankgate.core.errors import InputError, MissingExtraError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.data.streams.rooms import Rooms

CHUNK = 16 << 20
"""Bytes parsed at one time, and the longest line; more would be fresh memory for each piece."""

LIMIT = 1 << 30
"""Bytes that are unpacked into memory at most, where a format cannot be read in pieces."""

JUDGMENTS = 2048
"""Megabytes of judgments that are read, unpacked, unless RANKGATE_MAX_JUDGMENTS_MB says; all of
them are kept in memory, which takes about five times as much."""

EXPANSION = 100
"""How many times its size a compressed file may unpack to, unless RANKGATE_MAX_EXPANSION says: runs
that show everybody the same list reach 90 with zstd, files made to fill the memory 1,000 and more.
A factor and no size, as real runs have many GB."""

_SMALL = 64 << 20  # bytes that any compressed file may unpack to
_PACKED = 1 << 17  # bytes unpacked at one time
_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_SUFFIXES = frozenset({".gz", ".zst", ".zstd"})
_KNOWN = frozenset({
    ".run", ".txt", ".trec", ".csv", ".tsv", ".parquet", ".jsonl", ".json", ".qrels", ".qrel",
})  # fmt: skip


@dataclass(frozen=True)
class InputFile:
    """A readable place; standard input and pipes are kept whole: they cannot be read twice."""

    path: Path | None
    content: bytes | None = None
    most: float = math.inf

    @property
    def label(self) -> str:
        """What an error calls this source."""
        return str(self.path) if self.path else "standard input"

    @property
    def stem(self) -> str:
        """The file's name without folder, compression suffix and one known suffix.

        ``smith.bm25.gz`` is ``smith.bm25``, ``old/new.run`` is ``new``; nothing else is cut.
        """
        if self.path is None:
            return "-"
        packed = self.path.suffix.lower() in _SUFFIXES
        name = Path(self.path.stem if packed else self.path.name)
        return name.stem if name.suffix.lower() in _KNOWN and name.stem else name.name

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """The decompressed bytes, as a stream that closes at the end.

        Raises:
            InputError: the file is missing, is a folder, or cannot be opened; it was written, or
                cut, by others while it was read to its end.
        """
        with self.raw() as raw, _unpacked(raw, self) as stream:
            before = _state(raw)
            if before is not None and before[0] > self.most:
                raise self.too_large()
            yield stream
            if _state(raw) != before:
                problem = "it changed while it was read; read it again when it is written."
                raise InputError(problem, source=self.label, code="file-changed")

    def too_large(self) -> InputError:
        """The error of more judgments than are read."""
        return InputError(
            f"more than {self.most / (1 << 20):,.0f} MB of judgments, which take about five times "
            "as much memory; leave out queries that are not evaluated, or set "
            "RANKGATE_MAX_JUDGMENTS_MB to a higher number, or to 0 for no limit.",
            source=self.label,
            code="too-large",
        )

    def raw(self) -> io.BufferedReader:
        """The bytes as they are stored, compressed or not.

        Raises:
            InputError: the file is missing, is a folder, or cannot be opened.
        """
        if self.path is None or self.content is not None:
            return io.BufferedReader(io.BytesIO(self.content or b""))
        try:
            return self.path.open("rb")
        except FileNotFoundError:
            raise InputError(
                "no such file; check the path.", source=self.label, code="no-such-file"
            ) from None
        except IsADirectoryError:
            raise InputError(
                "a folder, where a file is needed.", source=self.label, code="is-a-folder"
            ) from None
        except OSError as error:
            raise InputError(
                f"cannot be opened: {error.strerror}.", source=self.label, code="cannot-read"
            ) from None

    def chunks(self, size: int = CHUNK) -> Iterator[bytes]:
        """Pieces of about ``size`` bytes, each ending at the end of a line.

        Raises:
            InputError: damaged compression, or a line longer than a whole piece.
        """
        with self.open() as stream:
            plain = isinstance(stream, io.BufferedReader) and isinstance(stream.raw, io.FileIO)
            whole = partial(self._to_line_end, Rooms()) if plain else self._with_line_end
            at = 0
            while piece := whole(stream, at, size):
                yield piece
                at += len(piece)

    def _to_line_end(self, rooms: Rooms, stream: IO[bytes], at: int, size: int) -> bytes:
        """The next piece of a file; its end is looked up first, so that it is read in one go."""
        stream.seek(at + size)
        end = size + len(self._line(stream, at + size, size))
        stream.seek(at)
        return self._checked(lambda: rooms.read(cast("io.BufferedReader", stream), end))

    def _with_line_end(self, stream: IO[bytes], at: int, size: int) -> bytes:
        """The next piece of a stream that cannot be looked into."""
        piece = self.read(stream, size)
        end = self._line(stream, at + len(piece), size) if piece else b""
        return piece + end if end else piece

    def everything(self, limit: int = LIMIT) -> bytes:
        """Everything, decompressed; for formats that are not line by line.

        Raises:
            InputError: more than the limit, damaged compression.
        """
        contents = io.BytesIO()  # joined pieces would be in memory twice
        with self.open() as stream:
            while contents.tell() <= limit and (piece := self.read(stream, CHUNK)):
                contents.write(piece)
        if contents.tell() > limit:
            problem = f"more than {limit >> 20} MB when it is unpacked; unpack it first."
            raise InputError(problem, source=self.label, code="too-large")
        return contents.getvalue()

    def head(self, size: int = 1 << 16) -> bytes:
        """The first bytes, decompressed."""
        with self.open() as stream:
            return self.read(stream, size)

    def _line_at(self, offset: int) -> int:
        """The number of the line that a byte is in."""
        with self.open() as stream:
            pieces = (stream.read(min(CHUNK, offset - at)) for at in range(0, offset, CHUNK))
            return 1 + sum(piece.count(b"\n") for piece in pieces)

    def _line(self, stream: IO[bytes], at: int, size: int) -> bytes:
        """The rest of the line that the stream is in, at some byte."""
        rest = self._checked(lambda: stream.readline(size))
        if len(rest) < size:
            return rest
        problem = (
            f"a line of more than {size >> 20} MB, where a line holds one document; "
            "check whether this is the right file."
        )
        raise InputError(problem, source=self.label, line=self._line_at(at), code="too-large")

    def read(self, stream: IO[bytes], size: int) -> bytes:
        """Some bytes of a stream that `open` gave.

        Raises:
            InputError: damaged compression, a file that cannot be read.
        """
        return self._checked(lambda: stream.read(size))

    def _checked(self, read: Callable[[], bytes]) -> bytes:
        try:
            return read()
        except EOFError:
            problem = "the compressed file ends too early; copy it again."
            raise InputError(problem, source=self.label, code="damaged-file") from None
        except (gzip.BadGzipFile, zlib.error, DamageError) as error:
            problem = f"the compressed file is damaged ({error}); copy it again."
            raise InputError(problem, source=self.label, code="damaged-file") from None
        except OSError as error:
            problem = f"cannot be read: {error.strerror or error}; copy it to another disk."
            raise InputError(problem, source=self.label, code="cannot-read") from None


@contextmanager
def _unpacked(raw: io.BufferedReader, place: InputFile) -> Iterator[IO[bytes]]:
    """The bytes without their compression."""
    magic = raw.peek(4)[:4]
    if magic.startswith(_GZIP):
        with gzip.GzipFile(fileobj=raw) as unpacked:
            yield cast("IO[bytes]", io.BufferedReader(_Bounded(unpacked, raw, place), 1 << 20))
    elif magic == _ZSTD:
        with _Zstd(raw) as plain, io.BufferedReader(_Bounded(plain, raw, place), 1 << 20) as stream:
            yield stream
    else:
        yield raw


def _state(raw: io.BufferedReader) -> tuple[int, int] | None:
    """How large a file is, and when it was written; None of what is not a file on a disk."""
    if not isinstance(raw.raw, io.FileIO):
        return None
    result = os.fstat(raw.fileno())
    return (result.st_size, result.st_mtime_ns) if stat.S_ISREG(result.st_mode) else None


def source(place: str | Path) -> InputFile:
    """A source for a path; ``-`` reads standard input to its end, and a pipe is read likewise."""
    if str(place) == "-":
        return InputFile(None, sys.stdin.buffer.read())
    path = Path(place)
    return InputFile(path, path.read_bytes() if path.is_fifo() else None)


def limit_of(variable: str, default: int) -> float:
    """A limit that a variable of the environment may set; 0 is without a limit."""
    result = os.environ.get(variable, "")
    try:
        limit = float(result or default)
    except ValueError:
        limit = -1.0
    if not limit >= 0:
        raise UsageError(
            f"{variable} is {result!r}; set it to a number such as {default}, or to 0 for no "
            "limit.",
            code="not-a-number",
        )
    return limit


def of_judgments(place: InputFile) -> InputFile:
    """The same place, which is not read beyond the limit of judgments.

    Raises:
        UsageError: a limit that is not a number.
    """
    megabytes = limit_of("RANKGATE_MAX_JUDGMENTS_MB", JUDGMENTS)
    return replace(place, most=megabytes * (1 << 20) if megabytes else math.inf)


class _Bounded(io.RawIOBase):
    """An unpacked stream that ends in an error where a small file becomes a huge one."""

    def __init__(
        self, stream: io.RawIOBase | io.BufferedIOBase, raw: IO[bytes], place: InputFile
    ) -> None:
        self._stream, self._place, self._bytes = stream, place, 0
        packed = os.fstat(raw.fileno()).st_size if place.content is None else len(place.content)
        self._times = limit = limit_of("RANKGATE_MAX_EXPANSION", EXPANSION)
        self._most = max(packed * limit, _SMALL) if limit else math.inf

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        size: int = self._stream.readinto(buffer)
        self._bytes += size
        if self._bytes > self._place.most:
            raise self._place.too_large()
        if self._bytes > self._most:
            raise InputError(
                f"it unpacks to more than {self._most / (1 << 20):,.0f} MB, {self._times:g} times "
                "its size, as files made to fill the memory do; if it is right, unpack it first or "
                "set RANKGATE_MAX_EXPANSION to a higher number, or to 0 for no limit.",
                source=self._place.label,
                code="too-large",
            )
        return size


class DamageError(Exception):
    """A zstd stream that cannot be unpacked; reading it raises an InputError."""


class _Zstd(io.RawIOBase):
    """A zstd stream, of one frame or several, that does not end quietly where it was cut off."""

    def __init__(self, raw: IO[bytes]) -> None:
        try:
            import zstandard
        except ImportError:
            message = "zstd files need the package zstandard: pip install zstandard."
            raise MissingExtraError(message) from None
        self._failure = zstandard.ZstdError
        self._raw = raw
        self._new = zstandard.ZstdDecompressor().decompressobj
        self._frame = self._new()
        self._began = False  # whether the frame has bytes yet
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while not self._ready:
            packed = self._frame.unused_data if self._frame.eof else b""
            if self._frame.eof:
                self._frame, self._began = self._new(), False
            packed = packed or self._raw.read(_PACKED)
            if not packed:
                if self._began:
                    raise EOFError
                return 0
            self._began = True
            try:
                self._ready = memoryview(self._frame.decompress(packed))
            except self._failure as error:
                raise DamageError(str(error)) from None
        size = min(len(buffer), len(self._ready))
        buffer[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size

    def close(self) -> None:
        self._raw.close()
        super().close()
