"""Uploaded files: their unpacked size, their suffixes, and a preview of their first rows.

The unpacked size of an upload is computed before a reader unpacks the file. Uploads are then
written to files with their suffixes.
"""

from __future__ import annotations

import io
import tempfile
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from fnmatch import fnmatchcase
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.errors import InputError, RankgateError, UsageError
from rankgate.data.column_map import ColumnMap
from rankgate.data.column_names import ALIASES
from rankgate.data.formats.tables.csv_tables import CsvTable
from rankgate.data.formats.tables.table_file_sizes import check_parquet_sizes, read_arrow_sizes
from rankgate.data.streams.source import InputFile
from rankgate.store.blobs.blob_folders import from_parquet
from rankgate.workspace.web.web_request import invalid_value

if TYPE_CHECKING:
    from rankgate.data.file_contents import FileContents
    from rankgate.workspace.web.rendering import PageRow
    from rankgate.workspace.web.web_request import Upload


_PARQUET, _ARROW, _LZ4 = b"PAR1", b"ARROW1", b"\x04\x22\x4d\x18"
_MIN_VALUE_BYTES = 8
"""The smallest size in bytes of a value in a column that stores repeated values once."""
_CHUNK_BYTES = 1 << 20
_MAX_LAYERS = 3  # lz4 in lz4 in gzip


def refuse_huge(path: Path, content: bytes, size_limit: float) -> None:
    """Refuse a compressed file whose unpacked size is too large, without keeping its contents.

    Raises:
        InputError: the file is too large or damaged.
    """
    if _expanded_size(path, content, size_limit) > max(size_limit, len(content)):
        problem = f"it unpacks to more than {size_limit / (1 << 20):,.0f} MB; send a smaller part of it."
        raise InputError(problem, source=path.name, code="too-large")


def _expanded_size(path: Path, content: bytes, size_limit: float) -> int:
    if zipfile.is_zipfile(io.BytesIO(content)):  # a workbook
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return sum(member.file_size for member in archive.infolist())
    size, file = 0, InputFile(path)
    columnar: list[bytes] = []
    with file.open() as stream:
        while size <= size_limit and (chunk := file.read(stream, _CHUNK_BYTES)):
            if columnar or (not size and chunk.startswith((_PARQUET, _ARROW, _LZ4))):
                columnar.append(chunk)
            size += len(chunk)
    if size <= size_limit and columnar:
        return max(size, _columnar_size(b"".join(columnar), size_limit, path.name))
    return size


def _columnar_size(content: bytes, size_limit: float, label: str) -> int:
    """The unpacked bytes of a file in a compressed column format."""
    size = len(content)
    if content.startswith(_PARQUET):
        metadata = check_parquet_sizes(io.BytesIO(content), size, label)
        return max(
            sum(unpacked for _, _, unpacked, _ in metadata.chunks),
            _MIN_VALUE_BYTES * sum(values for *_, values in metadata.chunks),
        )
    if content.startswith(_ARROW):
        arrow_size = read_arrow_sizes(io.BytesIO(content), size, label)
        return max(arrow_size.unpacked, _MIN_VALUE_BYTES * arrow_size.values)
    for _ in range(_MAX_LAYERS):
        if not content.startswith(_LZ4):
            break
        content = _unpack_lz4(content, size_limit)
        size = max(size, len(content))
    return size


def _unpack_lz4(content: bytes, size_limit: float) -> bytes:
    """Unpack an LZ4 frame up to the size limit; the reader reports damage."""
    try:
        import lz4.frame
    except ImportError:  # without lz4, no reader can read the file
        return b""
    reader, chunks, size = lz4.frame.LZ4FrameDecompressor(), [], 0
    try:
        chunk = reader.decompress(content, _CHUNK_BYTES)
        while size <= size_limit:
            chunks.append(chunk)
            size += len(chunk)
            if reader.eof or not (chunk or not reader.needs_input):
                break
            chunk = reader.decompress(b"", _CHUNK_BYTES)
    except RuntimeError:
        return b""
    return b"".join(chunks)


_SHOWN_ROWS, _PREVIEW_LINES = 3, 20
_START_BYTES = 200_000
_MAX_COLUMNS = 200
_GUESSED_FIELDS = ("query_id", "doc_id", "rater", "grade")
_RATER_PATTERN = "*_rating"
_QUERY_FIELDS = ("text", "information_need")
_DOCUMENT_FIELDS = ("image", "url")
_GUESSED_ALIASES = {
    "query_id": ("search_term", "search_query", "search", "term"),
    "doc_id": ("sku", "asin", "url"),
}
"""Additional names for guessing fields; users check a guess before it counts."""


@contextmanager
def upload_file(upload: Upload, size_limit: float) -> Iterator[Path]:
    """An upload as a temporary file with the suffixes of its name.

    Args:
        upload: the sent file.
        size_limit: the largest unpacked size in bytes.

    Raises:
        InputError: the unpacked size is larger.
    """
    suffixes = "".join(suffix for suffix in PurePath(upload.name).suffixes[-2:] if suffix.isascii())
    safe_suffixes = "".join(c for c in suffixes if c.isalnum() or c == ".")[:20]
    with tempfile.TemporaryDirectory(prefix="rankgate-") as folder:
        path = Path(folder) / f"{_stem(upload.name)}{safe_suffixes}"
        path.write_bytes(upload.content)
        try:
            refuse_huge(path, upload.content, size_limit)
            yield path
        except RankgateError as error:  # errors must not show the temporary path
            if folder not in f"{error.source}{error}":
                raise
            name = path.name
            problem = error.problem.replace(str(path), name).replace(folder, "")
            raise InputError(problem, code=error.code, source=name, line=error.line) from None


def _stem(name: str) -> str:
    stem = PurePath(name.replace("\\", "/")).name.partition(".")[0]
    return "".join(c if c.isalnum() or c in "-_" else "_" for c in stem)[:60] or "upload"


def read_parquet(upload: Upload, name: str, size_limit: float) -> pl.DataFrame:
    """The rows of an upload in Parquet format.

    Args:
        upload: the sent file.
        name: the name of the field.
        size_limit: the largest unpacked size in bytes.

    Raises:
        InputError: the unpacked size is larger.
        Refused: the file has another type, or is damaged.
    """
    try:
        with upload_file(upload, size_limit):
            pass
    except InputError as error:
        if error.code == "too-large":
            raise
        raise invalid_value(name, "is not a Parquet table") from None
    try:
        return from_parquet(upload.content, name)
    except InputError:
        raise invalid_value(name, "is not a Parquet table") from None


def list_columns(upload: Upload, columns: str | None, final: str | None) -> list[PageRow]:
    """The columns of a sheet, with some values and the named or guessed field of each column.

    Empty for a file that is not a sheet.
    """
    start = upload.content[:_START_BYTES].lstrip(b"\xef\xbb\xbf \r\n")
    if start[:1] in (b"{", b"[", b"") or b"\0" in start:
        return []
    names, rows = list[str](), pl.DataFrame()
    with suppress(InputError):  # the import itself names what is wrong
        table = CsvTable(InputFile(None, b"\n".join(start.split(b"\n")[:_PREVIEW_LINES])))
        names = list(table.names)
        rows = table.frame().head(_SHOWN_ROWS).collect()
    if not 2 <= len(names) <= _MAX_COLUMNS:
        return []
    field_of_column = _match_columns(names, columns, final)
    return [
        {
            "name": name,
            "values": [(cell or "")[:60] for cell in rows.to_series(i)] if i < rows.width else [],
            "ours": field_of_column.get(name, ""),
        }
        for i, name in enumerate(names)
    ]


def add_text_columns(columns: list[dict[str, Any]], contents: FileContents) -> list[PageRow]:
    """The columns of a sheet, including columns imported as texts of queries or documents."""
    texts: dict[str, str] = {}
    for table, links in ((contents.queries, _QUERY_FIELDS), (contents.documents, _DOCUMENT_FIELDS)):
        for name in () if table is None else table.columns:
            texts[name.lower()] = name if name in links else "field"
    return [column | {"ours": column["ours"] or texts.get(column["name"].lower(), "")} for column in columns]


def _match_columns(names: list[str], columns: str | None, final: str | None) -> Mapping[str, str]:
    """The field of each column, named by the user or guessed from the column name."""
    try:
        column_map = ColumnMap.read(columns)
    except UsageError:
        column_map = None
    if column_map is not None:
        field_of_column = {
            name: field
            for field, patterns in column_map.theirs.items()
            for name in names
            if any(fnmatchcase(name.lower(), pattern.lower()) for pattern in patterns.split("+"))
        }
    else:
        lower = {name.lower(): name for name in reversed(names)}
        usual_columns = {
            field: next(
                (lower[a] for a in (*ALIASES[field], *_GUESSED_ALIASES.get(field, ())) if a in lower), ""
            )
            for field in _GUESSED_FIELDS
        }
        field_of_column = {column: field for field, column in usual_columns.items() if column}
        if "grade" not in field_of_column.values():
            field_of_column |= dict.fromkeys(
                (n for n in names if fnmatchcase(n.lower(), _RATER_PATTERN)), "grade"
            )
    return field_of_column | ({final: "final"} if final in names else {})
