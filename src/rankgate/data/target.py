"""Where bytes go: a file that is replaced in one step, compressed if its name says so."""

from __future__ import annotations

import gzip
import os
import shutil
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

from rankgate.errors import MissingExtraError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import BinaryIO

_GZIP, _ZSTD = frozenset({".gz"}), frozenset({".zst", ".zstd"})
_LEVEL = 6  # of gzip; 9 takes twice as long for a few per cent


def suffix_of(path: str | Path) -> str:
    """How a file's name ends, in lower case, without the suffix of a compression.

    >>> suffix_of("a/bm25.run.gz")
    '.run'
    """
    name = Path(path)
    packed = name.suffix.lower() in _GZIP | _ZSTD
    return (Path(name.stem) if packed else name).suffix.lower()


@contextmanager
def replacing(path: str | Path) -> Iterator[BinaryIO]:
    """A stream of which the file is made when it ends well; before, an old file stays as it is.

    A device or a pipe is written as it goes.

    Raises:
        UsageError: a folder, or a place where nothing can be written.
    """
    place = Path(path)
    if place.is_dir():
        raise UsageError(f"{path}: a folder, where a file is to be written.", code="cannot-write")
    if not place.parent.is_dir():
        raise UsageError(
            f"{path}: there is no folder {place.parent}; make it first.", code="cannot-write"
        )
    if place.exists() and not place.is_file():
        with _told(path), place.open("wb") as device:
            yield device
        return
    try:
        final = place.resolve()
    except (OSError, RuntimeError):
        raise UsageError(
            f"{path}: links that lead to each other; name the file.", code="cannot-write"
        ) from None
    aside = final.with_name(f".{final.name}.{os.getpid()}")
    try:
        with (
            _told(path),
            aside.open("wb") as plain,
            _packed(plain, place.suffix.lower()) as stream,
        ):
            yield stream
        with _told(path):
            if final.exists():
                shutil.copymode(final, aside)
            aside.replace(final)
    except BaseException:
        with suppress(OSError):
            aside.unlink(missing_ok=True)
        raise


@contextmanager
def _told(path: str | Path) -> Iterator[None]:
    """Say of what keeps a file from being written which it is; a reader that went away is none."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise UsageError(
            f"{path}: cannot be written: {error.strerror or error}.", code="cannot-write"
        ) from None


@contextmanager
def _packed(plain: IO[bytes], suffix: str) -> Iterator[BinaryIO]:
    if suffix in _GZIP:
        # without name and time, so that the same contents are the same bytes
        with gzip.GzipFile("", "wb", _LEVEL, plain, mtime=0) as packed:
            yield cast("BinaryIO", packed)
    elif suffix in _ZSTD:
        try:
            import zstandard  # noqa: PLC0415 - only where it is needed
        except ImportError:
            message = "zstd files need the package zstandard: pip install zstandard."
            raise MissingExtraError(message) from None
        with zstandard.ZstdCompressor().stream_writer(plain, closefd=False) as stream:
            yield cast("BinaryIO", stream)
    else:
        yield cast("BinaryIO", plain)
