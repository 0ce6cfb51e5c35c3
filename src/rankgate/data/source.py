"""Where bytes come from: a file, a compressed file, or standard input."""

from __future__ import annotations

import io
import sys
import zlib
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

from rankgate.errors import InputError, MissingExtraError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

CHUNK = 16 << 20
"""Bytes parsed at one time, and the longest line; more would be fresh memory for each piece."""

_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_SUFFIXES = frozenset({".gz", ".zst", ".zstd"})


@dataclass(frozen=True)
class Source:
    """A readable place; ``-`` is standard input, kept whole because it cannot be read twice."""

    path: Path | None
    content: bytes | None = None

    @property
    def label(self) -> str:
        """What an error calls this source."""
        return str(self.path) if self.path else "standard input"

    @property
    def stem(self) -> str:
        """The file's name without folder, compression suffix and last extension."""
        if self.path is None:
            return "-"
        name = self.path.name
        if self.path.suffix.lower() in _SUFFIXES:
            name = self.path.stem
        return Path(name).stem if Path(name).suffix and not name.startswith(".") else name

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """The decompressed bytes, as a stream that closes at the end.

        Raises:
            InputError: the file is missing, is a folder, or cannot be opened.
        """
        with self._raw() as raw:
            magic = raw.peek(4)[:4]
            if magic.startswith(_GZIP):
                import gzip  # noqa: PLC0415 - only where it is needed

                with gzip.GzipFile(fileobj=raw) as unpacked:
                    yield cast("IO[bytes]", unpacked)
            elif magic == _ZSTD:
                with io.BufferedReader(_Zstd(raw), 1 << 20) as stream:
                    yield stream
            else:
                yield raw

    def _raw(self) -> io.BufferedReader:
        if self.path is None:
            return io.BufferedReader(io.BytesIO(self.content or b""))
        try:
            return self.path.open("rb")
        except FileNotFoundError:
            raise InputError("no such file; check the path.", source=self.label) from None
        except IsADirectoryError:
            raise InputError("a folder, where a file is needed.", source=self.label) from None
        except OSError as error:
            raise InputError(f"cannot be opened: {error.strerror}.", source=self.label) from None

    def chunks(self, size: int = CHUNK) -> Iterator[bytes]:
        """Pieces of about ``size`` bytes, each ending at the end of a line.

        Raises:
            InputError: damaged compression, or a line longer than a whole piece.
        """
        with self.open() as stream:
            while piece := self._read(stream, size):
                end = self._line(stream, size)
                if len(end) == size:
                    problem = f"a line of more than {size >> 20} MB; is this a text file?"
                    raise InputError(problem, source=self.label)
                yield piece + end if end else piece

    def everything(self) -> bytes:
        """Everything, decompressed; for formats that are not line by line."""
        with self.open() as stream:
            return b"".join(iter(lambda: self._read(stream, CHUNK), b""))

    def head(self, size: int = 1 << 16) -> bytes:
        """The first bytes, decompressed."""
        with self.open() as stream:
            return self._read(stream, size)

    def _line(self, stream: IO[bytes], size: int) -> bytes:
        """The rest of the line that the last read stopped in."""
        return self._told(lambda: stream.readline(size))

    def _read(self, stream: IO[bytes], size: int) -> bytes:
        return self._told(lambda: stream.read(size))

    def _told(self, read: Callable[[], bytes]) -> bytes:
        try:
            return read()
        except EOFError:
            problem = "the compressed file ends too early; copy it again."
            raise InputError(problem, source=self.label) from None
        except (OSError, zlib.error) as error:
            raise InputError(f"cannot be read: {error}.", source=self.label) from None


def source(place: str | Path) -> Source:
    """A source for a path; ``-`` reads standard input to its end."""
    if str(place) == "-":
        return Source(None, sys.stdin.buffer.read())
    return Source(Path(place))


class _Zstd(io.RawIOBase):
    """A zstd stream whose faults are told as those of gzip are."""

    def __init__(self, raw: IO[bytes]) -> None:
        try:
            import zstandard  # noqa: PLC0415 - only where it is needed
        except ImportError:
            message = "zstd files need the package zstandard: pip install zstandard."
            raise MissingExtraError(message) from None
        self._failure = zstandard.ZstdError
        self._raw = raw
        decompressor = zstandard.ZstdDecompressor()
        self._stream = decompressor.stream_reader(raw, read_across_frames=True)
        self._frames = decompressor

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        try:
            return int(self._stream.readinto(buffer))
        except self._failure as error:
            raise OSError(str(error)) from None

    def close(self) -> None:
        self._stream.close()  # type: ignore[no-untyped-call]
        self._raw.close()
        super().close()
