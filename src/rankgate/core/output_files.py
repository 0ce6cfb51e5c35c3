"""Write output files: replaced in one step, in the form and compression of the name."""

from __future__ import annotations

import glob
import gzip
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import IO, BinaryIO, cast

from rankgate.core.checksums import add_checksum
from rankgate.core.errors import UsageError, require
from rankgate.core.frozen import dataclass

_GZIP, _ZSTD = frozenset({".gz"}), frozenset({".zst", ".zstd"})
_BINARY = getattr(os, "O_BINARY", 0)  # exists only on Windows
_LEVEL = 6  # level of gzip; 9 takes twice as long and saves only a few per cent


def suffix_of(path: str | Path) -> str:
    """The suffix of a file's name in lower case, without the suffix of a compression.

    >>> suffix_of("a/bm25.run.gz")
    '.run'
    """
    name = Path(path)
    is_compressed = name.suffix.lower() in _GZIP | _ZSTD
    return (Path(name.stem) if is_compressed else name).suffix.lower()


@dataclass(frozen=True)
class FileVersion:
    """The version of a file at one time; all fields are None if the file did not exist."""

    inode: int | None = None
    size: int | None = None
    written: int | None = None

    @classmethod
    def read_version(cls, path: str | Path) -> FileVersion:
        """The current version of a file."""
        try:
            status = Path(path).stat()
        except OSError:
            return cls()
        return cls(status.st_ino, status.st_size, status.st_mtime_ns)


@contextmanager
def replace_file(
    path: str | Path, before: FileVersion | None = None, *, mode: int | None = None
) -> Iterator[BinaryIO]:
    """Write to a stream that replaces the file at the end; after an error the old file stays.

    Output to a device or a pipe is written directly. Partial files of killed processes are removed.

    Args:
        path: the file.
        before: the version that may be replaced; any if not given.
        mode: the permissions of the file; by default those of the old file, or the usual ones.

    Raises:
        UsageError: the path is a folder or cannot be written, or another process wrote another
            version meanwhile.
    """
    target = Path(path)
    if target.is_dir():
        raise UsageError(f"{path}: a folder, where a file is to be written.", code="cannot-write")
    if not target.parent.is_dir():
        raise UsageError(f"{path}: there is no folder {target.parent}; create it first.", code="cannot-write")
    if target.exists() and not target.is_file():
        with _write_errors(path), target.open("wb") as device:
            yield device
        return
    try:
        final = target.resolve()
    except (OSError, RuntimeError):
        raise UsageError(
            f"{path}: the symbolic links form a loop; name the file itself.", code="cannot-write"
        ) from None
    _remove_leftovers(final)
    partial = final.with_name(f".{final.name}.{os.getpid()}")
    try:
        with (
            _write_errors(path),
            os.fdopen(_open_new_file(partial, mode), "wb") as raw_stream,
            _locked(raw_stream.fileno()),
            _compressed(raw_stream, target.suffix.lower()) as stream,
        ):
            yield stream
        if target.suffix.lower() in _CHECKED:
            with _write_errors(path):
                add_checksum(partial)
        with _write_errors(path), _folder_locked(final.parent):
            _check_version(final, before)
            if mode is None and final.exists():
                shutil.copymode(final, partial)
            partial.replace(final)
    except BaseException:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
        raise


@contextmanager
def new_folder(path: str | Path, *, shared: bool = False) -> Iterator[Path]:
    """Make a folder with its parents; after an error those that it made are removed with their files.

    Args:
        path: the folder.
        shared: True if other processes may write into it meanwhile: after an error only empty folders
            are removed.

    Raises:
        UsageError: it cannot be made.
    """
    folder = Path(path)
    new_folders = [parent for parent in (folder, *folder.parents) if not parent.exists()]
    try:
        with _write_errors(path, "made"):
            folder.mkdir(parents=True, exist_ok=True)
        yield folder
    except BaseException:
        with suppress(OSError):  # another process wrote there
            for made_folder in new_folders if shared else ():
                made_folder.rmdir()
        if new_folders and not shared:
            shutil.rmtree(new_folders[-1], ignore_errors=True)
        raise


_CHECKED = {".parquet", ".pq", ".arrow", ".feather", ".ipc"}
"""Suffixes of files that get a checksum; blobs, whose names are their hashes, have none."""


def _open_new_file(path: Path, mode: int | None) -> int:
    """Create a file with these permissions."""
    return os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | _BINARY, mode or 0o666)


def _check_version(path: Path, expected_version: FileVersion | None) -> None:
    if expected_version is not None and FileVersion.read_version(path) != expected_version:
        raise UsageError(
            f"{path}: another process wrote this file in the meantime, and it was kept; check it, and run "
            "this again if it is the wrong one.",
            code="file-changed",
        )


def _remove_leftovers(final: Path) -> None:
    """Remove partial files of processes that were killed while they wrote this file."""
    for leftover in final.parent.glob(f".{glob.escape(final.name)}.*"):
        owner = leftover.suffix.removeprefix(".")
        if not owner.isdecimal() or _is_running(int(owner)):
            continue
        # on a shared disk this number may belong to a process of another computer; that process has
        # a lock
        with suppress(OSError), leftover.open("rb") as stream, _locked(stream.fileno(), wait=False):
            leftover.unlink()


def _is_running(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True


@contextmanager
def _folder_locked(folder: Path) -> Iterator[None]:
    """Let only one process at a time inspect and replace a file of the folder."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:  # Windows cannot open folders
        yield
        return
    try:
        with _locked(handle):
            yield
    finally:
        os.close(handle)


@contextmanager
def _locked(handle: int, *, wait: bool = True) -> Iterator[None]:
    """Hold an open file's lock until it is closed, where the system has such locks.

    Raises:
        OSError: another process has the lock, and `wait` is false.
    """
    try:
        import fcntl
    except ImportError:
        yield
        return
    if wait:
        with suppress(OSError):  # the disk has no locks
            fcntl.flock(handle, fcntl.LOCK_EX)
    else:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    yield


@contextmanager
def _write_errors(path: str | Path, action: str = "written") -> Iterator[None]:
    """Turn an OSError into a UsageError that names the file; let a broken pipe pass."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        raise UsageError(
            f"{path}: cannot be {action}: {error.strerror or error}.", code="cannot-write"
        ) from None


@contextmanager
def _compressed(raw_stream: IO[bytes], suffix: str) -> Iterator[BinaryIO]:
    if suffix in _GZIP:
        # without name and time, so that the same contents are the same bytes
        with gzip.GzipFile("", "wb", _LEVEL, raw_stream, mtime=0) as compressed:
            yield cast("BinaryIO", compressed)
    elif suffix in _ZSTD:
        require("zstd files need zstandard", "zstandard")
        import zstandard

        with zstandard.ZstdCompressor(write_checksum=True).stream_writer(raw_stream, closefd=False) as stream:
            yield cast("BinaryIO", stream)
    else:
        yield cast("BinaryIO", raw_stream)


SUFFIXES: Mapping[str, tuple[str, ...]] = {
    "text": (".txt",),
    "json": (".json",),
    "csv": (".csv",),
    "markdown": (".md", ".markdown"),
    "latex": (".tex",),
    "html": (".html", ".htm"),
    "pdf": (".pdf",),
    "svg": (".svg",),
    "png": (".png",),
    "xlsx": (".xlsx",),
    "parquet": (".parquet",),
    "jsonl": (".jsonl", ".ndjson"),
    "trec": (".txt", ".qrels", ".qrel", ".trec"),
    "junit": (".xml",),
    "policy": (".toml",),
}
"""The suffixes of each form, its usual one first; a form without one is named by ``--format``."""


def has_known_suffix(path: str | Path) -> bool:
    """True if a name has the suffix of an output form, so that it is not a folder."""
    return any(suffix_of(path) in suffixes for suffixes in SUFFIXES.values())


def check_suffix(path: str | None, form: str) -> None:
    """Check that a file of one form does not end as a file of another.

    Raises:
        UsageError: another suffix.
    """
    if path is not None and suffix_of(path):
        find_form(path, (form,))


def find_form(path: str | Path, forms: Sequence[str], hint: str = "") -> str:
    """The form among `forms` that a file's suffix names; a compression suffix is skipped.

    Args:
        path: the file.
        forms: the forms that can be written, by the names of `SUFFIXES`.
        hint: the end of an error, after the suffixes.

    Raises:
        UsageError: another suffix, or none.

    >>> find_form("means.csv.gz", ["json", "csv"])
    'csv'
    """
    suffix = suffix_of(path)
    for form in forms:
        if suffix in SUFFIXES.get(form, ()):
            return form
    suffixes = [SUFFIXES[form][0] for form in forms if form in SUFFIXES]
    expected = suffixes[0] if len(suffixes) == 1 else f"one of {', '.join(suffixes)}"
    reason = f"cannot be written as '{suffix}'" if suffix else "has no suffix"
    raise UsageError(f"{path}: {reason}; use a name that ends in {expected}{hint}.", code="unknown-format")


def save_file(path: str | Path, content: str | bytes | Iterator[str]) -> None:
    """Write text, its pieces, or bytes to a file that is replaced in one step, or directly to a device.

    Raises:
        UsageError: a folder, or a place where nothing can be written.
    """
    with replace_file(path) as stream:
        for piece in (content,) if isinstance(content, str | bytes) else content:
            stream.write(piece.encode("utf-8") if isinstance(piece, str) else piece)
