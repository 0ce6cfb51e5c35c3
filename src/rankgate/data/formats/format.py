"""The declaration of a format: its detection, reader, writer and limits.

Readers raise an `InputError` with the line or the JSON path if a file has another shape: a column
or key is missing, or an id or number is not valid. They raise a `DuplicateError` for a document
with two grades for one query. Writers raise an `InputError` or a `UsageError` if no part of the
contents fits the format. The docstring of a function contains only what differs from this.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, BinaryIO

from rankgate.core.frozen import dataclass
from rankgate.data.file_contents import Loss, Note

if TYPE_CHECKING:
    from rankgate.data.file_contents import FileContents
    from rankgate.data.formats.table import Table
    from rankgate.data.streams.source import InputFile
    from rankgate.data.unchecked_rows import RawQrels, RawRun


__all__ = ["Format", "Loss", "Note"]


@dataclass(frozen=True)
class Format:
    """One format.

    Attributes:
        name: its name on the command line and in the documentation.
        title: a short description.
        suffixes: the usual ends of file names, the most common first.
        sniff: from the first bytes of a file (decompressed, 64 KiB at most, a byte order mark
            kept) and its name: the reason why it is of this format, or None.
        read: everything that a file holds; the judgments or the run alone, which is read lazily if it
            can be long, where `InputFile.read_as` asks for them and the format has more, or where its
            contents could be either.
        detail: a paragraph: what it is read from and written to, and its traps.
        write: writes what it can and returns what it could not; None where it only reads.
        rows: the rows of judgments or of a run with their defects, for `validate`; None where
            the file holds neither. Only plain tables have it.
        table: the table of a file; None where files are not tables with named columns. With it
            columns can be named, labels read, and guessed.
        holds: the parts of `FileContents` that it can hold, by name.
        loses: the content that it cannot hold, for the table of formats.
        columns: those columns of judgments that it holds and few formats do, as ``subtopic``.
        streams: True if a run is written while it is read, however long it is.
        folders: True if the format itself reads a folder of such files.
        paths: True if columns that a user names are paths of keys in JSON.
    """

    name: str
    title: str
    suffixes: tuple[str, ...]
    sniff: Callable[[bytes, str], str | None]
    read: Callable[[InputFile], FileContents]
    detail: str = ""
    write: Callable[[FileContents, BinaryIO], tuple[Loss, ...]] | None = None
    rows: Callable[[InputFile], RawQrels | RawRun | None] | None = None
    table: Callable[[InputFile], Table] | None = None
    holds: tuple[str, ...] = ("qrels",)
    loses: str = ""
    columns: tuple[str, ...] = ()
    streams: bool = False
    folders: bool = False
    paths: bool = False
