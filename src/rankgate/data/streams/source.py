"""Input files (plain, compressed, or standard input), read ahead in threads.

Threads read and write ahead while the parser and NumPy release the GIL. The memory for pieces of a
file is used again for later pieces.
"""

from __future__ import annotations

import gzip
import io
import math
import os
import stat
import sys
import zlib
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import field, replace
from functools import partial
from itertools import chain, islice
from pathlib import Path
from time import perf_counter
from typing import IO, TYPE_CHECKING, Any, Literal, Self, TypeVar, cast

from rankgate.core.errors import InputError, UsageError, require
from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    from concurrent.futures import Future


InputKind = Literal["qrels", "run"]
"""The kinds of input as which a file can be read."""

T = TypeVar("T")

_SOON = 1e-3  # seconds; starting a thread takes about a tenth of this
_WORKERS = 2  # one core parses a piece; more pieces at a time would only need more memory


def read_ahead(chunks: Iterator[T]) -> Iterator[T]:
    """The same pieces, with the next piece prepared while the caller works on the current one.

    A thread prepares pieces as soon as one took long; slices of a table in memory need none. An
    error of the iterator reaches the caller at the piece where it occurred.
    """
    begin = perf_counter()
    while (chunk := next(chunks, None)) is not None and perf_counter() - begin < _SOON:
        yield chunk
        begin = perf_counter()
    if chunk is None:
        return
    with ThreadPoolExecutor(1, "rankgate-read") as maker:
        next_chunk = maker.submit(next, chunks, None)
        yield chunk
        while (chunk := next_chunk.result()) is not None:
            next_chunk = maker.submit(next, chunks, None)
            yield chunk


def run_in_order(tasks: Iterable[Callable[[], T]]) -> Iterator[T]:
    """The results of tasks in order, with a few tasks running at a time; a single one needs no thread.

    An error of a task reaches the caller when its result is due.
    """
    remaining_tasks = iter(tasks)
    first_tasks = list(islice(remaining_tasks, 2))
    if len(first_tasks) < 2:
        yield from (task() for task in first_tasks)
        return
    with ThreadPoolExecutor(_WORKERS, "rankgate-parse") as makers:
        futures: deque[Future[T]] = deque()
        for task in chain(first_tasks, remaining_tasks):
            futures.append(makers.submit(task))
            if len(futures) > _WORKERS:
                yield futures.popleft().result()
        while futures:
            yield futures.popleft().result()


_MAX_BUFFERS = 5  # one piece is read, two are parsed, two wait


class BufferPool:
    """A reader that stores pieces in the memory of earlier pieces that are no longer in use.

    New memory for every piece would make reading half as long again. A piece that is still in use
    when its memory is needed does not change: `io.BytesIO` copies shared memory.
    """

    def __init__(self) -> None:
        self._rooms: deque[io.BytesIO] = deque()

    def read(self, stream: io.BufferedReader, size: int) -> bytes:
        """The next bytes of a stream; fewer than ``size`` only at the end."""
        if len(self._rooms) < _MAX_BUFFERS:
            piece = stream.read(size)
            self._rooms.append(io.BytesIO(piece))  # shares the memory of the piece
            return piece
        room = self._rooms.popleft()
        self._rooms.append(room)
        room.truncate(size)
        if room.seek(0, io.SEEK_END) < size:
            room.seek(size - 1)
            room.write(b"\n")
        with room.getbuffer() as memory:
            byte_count = stream.readinto(memory)
        room.truncate(byte_count)
        return room.getvalue()


CHUNK = 16 << 20
"""Bytes parsed at one time, and the longest line; more would be fresh memory for each piece."""

MAX_UNPACKED_BYTES = 1 << 30
"""Bytes that are unpacked into memory at most, where a format cannot be read in pieces."""

MAX_JUDGMENTS_MB = 2048
"""Megabytes of judgments that are read, unpacked, unless RANKGATE_MAX_JUDGMENTS_MB is set; all of
them are kept in memory, which takes about five times as much."""

MAX_EXPANSION = 100
"""The factor by which a compressed file may grow, unless RANKGATE_MAX_EXPANSION is set: runs
that show all users the same list reach 90 with zstd, files made to fill the memory 1,000 and more.
It is a factor, not a size, as real runs have many GB."""

_SMALL = 64 << 20  # bytes that any compressed file may expand to
_PACKED = 1 << 12  # bytes to decompress at one time: zstd makes up to 134 MB of them
_GZIP = b"\x1f\x8b"
_ZSTD = b"\x28\xb5\x2f\xfd"
_BZIP2, _XZ = b"BZh", b"\xfd7zXZ\x00"
_COMPRESSION_SUFFIXES = frozenset({".gz", ".zst", ".zstd", ".bz2", ".xz"})
_KNOWN_SUFFIXES = frozenset(
    {".run", ".txt", ".trec", ".csv", ".tsv", ".parquet", ".jsonl", ".json", ".qrels", ".qrel"}
)


@dataclass(frozen=True)
class InputFile:
    """A readable place; standard input and pipes are kept whole: they cannot be read twice.

    Attributes:
        path: None for standard input.
        content: bytes that are read in place of those of the file.
        most: bytes that are read at most.
        read_as: ``qrels`` or ``run`` where a reader is asked for these alone; None for all contents.
        renamed: our names of columns that its table has in place of theirs.
        paths: our columns, and the paths of lists and their elements that hold them.
        table: the table of a database, or the sheet of a workbook; empty if there is only one.
        western_word: a word that shows that the text was Windows-1252; empty for other files.
        form: the `Format` that reads its mapped columns; None where its contents decide.
    """

    path: Path | None
    content: bytes | None = None
    most: float = math.inf
    read_as: InputKind | None = None
    renamed: Mapping[str, str] = field(default_factory=dict)
    paths: Mapping[str, str] = field(default_factory=dict)
    table: str = ""
    western_word: str = ""
    form: Any = None

    @classmethod
    def in_memory(cls, label: str) -> Self:
        """The source of a table in memory, which has a name in errors and no bytes."""
        return cls(Path(label), content=b"")

    @property
    def label(self) -> str:
        """The name of this source in errors."""
        path = str(self.path) if self.path else "standard input"
        return f"{path}:{self.table}" if self.table else path

    @property
    def stem(self) -> str:
        """The file's name without folder, compression suffix and one known suffix.

        ``smith.bm25.gz`` is ``smith.bm25``, ``old/new.run`` is ``new``; nothing else is cut.
        """
        if self.path is None:
            return "-"
        if self.table:
            return self.table
        is_compressed = self.path.suffix.lower() in _COMPRESSION_SUFFIXES
        name = Path(self.path.stem if is_compressed else self.path.name)
        return name.stem if name.suffix.lower() in _KNOWN_SUFFIXES and name.stem else name.name

    @contextmanager
    def open(self) -> Iterator[IO[bytes]]:
        """The decompressed bytes, as a stream that closes at the end.

        Raises:
            InputError: the file is missing, is a folder, or cannot be opened; it was written, or
                cut, by others while it was read to its end.
        """
        with self.raw() as raw, _open_unpacked(raw, self) as stream:
            state_before = _file_state(raw)
            if state_before is not None and state_before[0] > self.most:
                raise self.too_large()
            yield self._checked(lambda: _as_utf8(stream, self))
            if _file_state(raw) != state_before:
                problem = "it changed while it was read; read it again when it is written."
                raise InputError(problem, source=self.label, code="file-changed")

    def too_large(self) -> InputError:
        """The error for more judgments than are read."""
        return InputError(
            f"more than {self.most / (1 << 20):,.0f} MB of judgments, which take about five times as much "
            "memory; leave out queries that are not evaluated, or set RANKGATE_MAX_JUDGMENTS_MB to a higher "
            "number, or to 0 for no limit.",
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
            is_plain_file = isinstance(stream, io.BufferedReader) and isinstance(stream.raw, io.FileIO)
            read_chunk = partial(self._to_line_end, BufferPool()) if is_plain_file else self._with_line_end
            offset = 0
            while chunk := read_chunk(stream, offset, size):
                yield chunk
                offset += len(chunk)

    def _to_line_end(self, buffers: BufferPool, stream: IO[bytes], offset: int, size: int) -> bytes:
        """The next piece of a file; the end of the file is determined first, for a single read."""
        stream.seek(offset + size)
        end = size + len(self._line(stream, offset + size, size))
        stream.seek(offset)
        return self._checked(lambda: buffers.read(cast("io.BufferedReader", stream), end))

    def _with_line_end(self, stream: IO[bytes], offset: int, size: int) -> bytes:
        """The next piece of a stream that cannot seek."""
        chunk = self.read(stream, size)
        line_end = self._line(stream, offset + len(chunk), size) if chunk else b""
        return chunk + line_end if line_end else chunk

    def everything(self, limit: int = MAX_UNPACKED_BYTES) -> bytes:
        """Read the whole file, decompressed; for formats that are not line by line.

        Raises:
            InputError: more than the limit, damaged compression.
        """
        contents = io.BytesIO()  # joined pieces would need twice the memory
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
        """The number of the line that contains a byte."""
        with self.open() as stream:
            chunks = (stream.read(min(CHUNK, offset - start)) for start in range(0, offset, CHUNK))
            return 1 + sum(chunk.count(b"\n") for chunk in chunks)

    def _line(self, stream: IO[bytes], offset: int, size: int) -> bytes:
        """The rest of the current line of the stream, after a byte."""
        line_rest = self._checked(lambda: stream.readline(size))
        if len(line_rest) < size:
            return line_rest
        problem = (
            f"a line of more than {size >> 20} MB, where a line holds one document; check whether this is "
            "the right file."
        )
        raise InputError(problem, source=self.label, line=self._line_at(offset), code="too-large")

    def read(self, stream: IO[bytes], size: int) -> bytes:
        """Read some bytes of a stream from `open`.

        Raises:
            InputError: damaged compression, a file that cannot be read.
        """
        return self._checked(lambda: stream.read(size))

    def _checked(self, read: Callable[[], T]) -> T:
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
def _open_unpacked(raw: io.BufferedReader, input_file: InputFile) -> Iterator[IO[bytes]]:
    """The decompressed bytes."""
    magic = raw.peek(6)[:6]
    if magic.startswith(_GZIP):
        with gzip.GzipFile(fileobj=raw) as unpacked:
            yield cast("IO[bytes]", io.BufferedReader(_SizeLimitedStream(unpacked, raw, input_file), 1 << 20))
    elif magic.startswith(_BZIP2) and magic[3:4].isdigit():
        import bz2

        with _open_library_stream(bz2.BZ2File(raw), raw, input_file) as stream:
            yield stream
    elif magic == _XZ:
        import lzma

        with _open_library_stream(lzma.LZMAFile(raw), raw, input_file) as stream:
            yield stream
    elif magic.startswith(_ZSTD):
        with (
            _Zstd(raw) as plain,
            io.BufferedReader(_SizeLimitedStream(plain, raw, input_file), 1 << 20) as stream,
        ):
            yield stream
    else:
        yield raw


_UTF16_MARKS = (b"\xff\xfe", b"\xfe\xff")


def _as_utf8(stream: IO[bytes], input_file: InputFile) -> IO[bytes]:
    """The same stream; text with a byte order mark of UTF-16 as UTF-8.

    Raises:
        InputError: it is not UTF-16 text, or has more bytes than are read into memory.
    """
    mark = cast("io.BufferedReader", stream).peek(4)[:4]
    if mark[:2] not in _UTF16_MARKS or mark[2:] == b"\x00\x00":  # other text, or UTF-32
        return stream
    content = input_file.read(stream, MAX_UNPACKED_BYTES + 1)
    if len(content) > MAX_UNPACKED_BYTES:
        problem = f"more than {MAX_UNPACKED_BYTES >> 20} MB of UTF-16 text; convert it to UTF-8."
        raise InputError(problem, source=input_file.label, code="too-large")
    try:
        return io.BytesIO(content.decode("utf-16").encode())
    except UnicodeError:
        problem = "it begins with the mark of UTF-16 text, and the rest is not UTF-16; convert it to UTF-8."
        raise InputError(problem, source=input_file.label, code="not-utf8") from None


def _open_library_stream(
    stream: io.BufferedIOBase, raw: IO[bytes], input_file: InputFile
) -> io.BufferedReader:
    """A stream that a library decompresses; its errors are converted to ours."""
    return io.BufferedReader(_SizeLimitedStream(_LibraryStream(stream), raw, input_file), 1 << 20)


class _LibraryStream(io.RawIOBase):
    """A stream of bz2 or lzma; damaged data raises a different error than a disk failure."""

    def __init__(self, stream: io.BufferedIOBase) -> None:
        self._stream = stream

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        import lzma

        try:
            return self._stream.readinto(buffer)
        except (OSError, lzma.LZMAError) as error:
            raise DamageError(str(error)) from None


def _file_state(raw: io.BufferedReader) -> tuple[int, int] | None:
    """The size and modification time of a file; None if it is not a file on a disk."""
    if not isinstance(raw.raw, io.FileIO):
        return None
    file_status = os.fstat(raw.fileno())
    return (file_status.st_size, file_status.st_mtime_ns) if stat.S_ISREG(file_status.st_mode) else None


def open_source(path_text: str | Path) -> InputFile:
    """The source for a path; ``-`` reads standard input to its end, as for a pipe.

    ``FILE:TABLE`` is a table of a database, or a sheet of a workbook.
    """
    if str(path_text) == "-":
        return InputFile(None, sys.stdin.buffer.read())
    path, table = split_table(path_text)
    return InputFile(path, path.read_bytes() if path.is_fifo() else None, table=table)


def split_table(path_text: str | Path) -> tuple[Path, str]:
    """The file and the table of ``FILE:TABLE``; other paths without a table."""
    path = Path(path_text)
    path_part, colon, table = str(path_text).rpartition(":")
    if colon and path_part and table and not path.exists() and Path(path_part).is_file():
        return Path(path_part), table
    return path, ""


def read_limit(variable: str, default: int) -> float:
    """A limit, which an environment variable may set; 0 means no limit."""
    setting = os.environ.get(variable, "")
    try:
        limit = float(setting or default)
    except ValueError:
        limit = -1.0
    if not limit >= 0:
        raise UsageError(
            f"{variable} is {setting!r}; set it to a number such as {default}, or to 0 for no limit.",
            code="not-a-number",
        )
    return limit


def limit_judgments(input_file: InputFile) -> InputFile:
    """The same file with the read limit for judgments.

    Raises:
        UsageError: the limit is not a number.
    """
    megabytes = read_limit("RANKGATE_MAX_JUDGMENTS_MB", MAX_JUDGMENTS_MB)
    return replace(input_file, most=megabytes * (1 << 20) if megabytes else math.inf)


class _SizeLimitedStream(io.RawIOBase):
    """A decompressed stream that raises an error if a small file becomes a huge one."""

    def __init__(
        self, stream: io.RawIOBase | io.BufferedIOBase, raw: IO[bytes], input_file: InputFile
    ) -> None:
        self._stream, self._place, self._bytes = stream, input_file, 0
        packed_size = (
            os.fstat(raw.fileno()).st_size if input_file.content is None else len(input_file.content)
        )
        self._times = limit = read_limit("RANKGATE_MAX_EXPANSION", MAX_EXPANSION)
        self._most = max(packed_size * limit, _SMALL) if limit else math.inf

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        size: int = self._stream.readinto(buffer)
        self._bytes += size
        if self._bytes > self._place.most:
            raise self._place.too_large()
        if self._bytes > self._most:
            raise InputError(
                f"it unpacks to more than {self._most / (1 << 20):,.0f} MB, {self._times:g} times its size, "
                "as files made to fill the memory do; if it is right, unpack it first or set "
                "RANKGATE_MAX_EXPANSION to a higher number, or to 0 for no limit.",
                source=self._place.label,
                code="too-large",
            )
        return size


class DamageError(Exception):
    """A zstd stream that cannot be unpacked; reading it raises an InputError."""


class _Zstd(io.RawIOBase):
    """A zstd stream of one or more frames that raises an error if the data is cut off."""

    def __init__(self, raw: IO[bytes]) -> None:
        require("zstd files need zstandard", "zstandard")
        import zstandard

        self._failure = zstandard.ZstdError
        self._raw = raw
        self._new = zstandard.ZstdDecompressor().decompressobj
        self._frame = self._new()
        self._began = False  # true if the frame has bytes
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: memoryview) -> int:  # type: ignore[override]
        while not self._ready:
            packed_bytes = self._frame.unused_data if self._frame.eof else b""
            if self._frame.eof:
                self._frame, self._began = self._new(), False
            packed_bytes = packed_bytes or self._raw.read(_PACKED)
            if not packed_bytes:
                if self._began:
                    raise EOFError
                return 0
            self._began = True
            try:
                self._ready = memoryview(self._frame.decompress(packed_bytes))
            except self._failure as error:
                raise DamageError(str(error)) from None
        size = min(len(buffer), len(self._ready))
        buffer[:size] = self._ready[:size]
        self._ready = self._ready[size:]
        return size

    def close(self) -> None:
        self._raw.close()
        super().close()
