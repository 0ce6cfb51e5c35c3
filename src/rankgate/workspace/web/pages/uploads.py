"""Uploaded files: as files with their suffixes, and a view of their first rows."""

from __future__ import annotations

import csv
import io
import tempfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from fnmatch import fnmatchcase
from pathlib import Path, PurePath
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import InputError, RankgateError, UsageError
from rankgate.data.column_map import ColumnMap
from rankgate.data.columns import ALIASES
from rankgate.data.text.records import SEPARATORS
from rankgate.store.kept.parquet import from_parquet
from rankgate.workspace.web.fields import invalid_value
from rankgate.workspace.web.pages.expanded_size import refuse_huge

if TYPE_CHECKING:
    import polars as pl

    from rankgate.data.contents import FileContents
    from rankgate.workspace.web.asked import Upload

_SHOWN_ROWS = 3
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
"""Names that a guess takes too, where a user looks at it before it counts."""


@contextmanager
def upload_file(upload: Upload, size_limit: float) -> Iterator[Path]:
    """An upload as a file; of its name only the suffixes count, as readers look at them.

    Args:
        upload: what was sent.
        size_limit: bytes to which it may unpack.

    Raises:
        InputError: it unpacks to more.
    """
    suffixes = "".join(suffix for suffix in PurePath(upload.name).suffixes[-2:] if suffix.isascii())
    safe_suffixes = "".join(c for c in suffixes if c.isalnum() or c == ".")[:20]
    with tempfile.TemporaryDirectory(prefix="rankgate-") as folder:
        path = Path(folder) / f"{_stem(upload.name)}{safe_suffixes}"
        path.write_bytes(upload.content)
        try:
            refuse_huge(path, upload.content, size_limit)
            yield path
        except RankgateError as error:  # the temporary path stays private
            if folder not in f"{error.source}{error}":
                raise
            name = path.name
            problem = error.problem.replace(str(path), name).replace(folder, "")
            raise InputError(problem, code=error.code, source=name, line=error.line) from None


def _stem(name: str) -> str:
    stem = PurePath(name.replace("\\", "/")).name.partition(".")[0]
    return "".join(c if c.isalnum() or c in "-_" else "_" for c in stem)[:60] or "upload"


def read_parquet(upload: Upload, name: str, size_limit: float) -> pl.DataFrame:
    """The rows of an upload as Parquet.

    Args:
        upload: what was sent.
        name: the field.
        size_limit: bytes to which it may unpack.

    Raises:
        InputError: it unpacks to more.
        Refused: it is another file, or a damaged one.
    """
    try:
        with upload_file(upload, size_limit):
            pass
    except InputError as error:
        if error.code == "too-large":
            raise
        raise invalid_value(name, "is no table as Parquet") from None
    try:
        return from_parquet(upload.content, name)
    except InputError:
        raise invalid_value(name, "is no table as Parquet") from None


def list_columns(upload: Upload, columns: str | None, final: str | None) -> list[dict[str, Any]]:
    """The columns of a sheet, with a few values and the field of each, named or guessed.

    Empty for a file that is no sheet.
    """
    start = upload.content[:_START_BYTES].lstrip(b"\xef\xbb\xbf \r\n")
    if start[:1] in (b"{", b"[", b"") or b"\0" in start:
        return []
    lines = start.decode("utf-8", "replace").splitlines()[: _SHOWN_ROWS + 1]
    separator = max(SEPARATORS, key=lines[0].count)
    try:
        rows = list(csv.reader(io.StringIO("\n".join(lines)), delimiter=separator))
    except csv.Error:  # a field of more than 128 KB
        return []
    if not rows or not 2 <= len(rows[0]) <= _MAX_COLUMNS:
        return []
    field_of_column = _match_columns(rows[0], columns, final)
    return [
        {
            "name": name,
            "values": [row[i][:60] for row in rows[1:] if i < len(row)],
            "ours": field_of_column.get(name, ""),
        }
        for i, name in enumerate(rows[0])
    ]


def add_text_columns(columns: list[dict[str, Any]], contents: FileContents) -> list[dict[str, Any]]:
    """The columns of a sheet, with those that come in as texts of queries or documents."""
    texts: dict[str, str] = {}
    for table, links in ((contents.queries, _QUERY_FIELDS), (contents.documents, _DOCUMENT_FIELDS)):
        for name in () if table is None else table.columns:
            texts[name.lower()] = name if name in links else "field"
    return [
        column | {"ours": column["ours"] or texts.get(column["name"].lower(), "")}
        for column in columns
    ]


def _match_columns(names: list[str], columns: str | None, final: str | None) -> Mapping[str, str]:
    """The field of each column: as the user says, or by its usual names."""
    try:
        column_map = ColumnMap.of(columns)
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
                (
                    lower[a]
                    for a in (*ALIASES[field], *_GUESSED_ALIASES.get(field, ()))
                    if a in lower
                ),
                "",
            )
            for field in _GUESSED_FIELDS
        }
        field_of_column = {column: field for field, column in usual_columns.items() if column}
        if "grade" not in field_of_column.values():
            field_of_column |= dict.fromkeys(
                (n for n in names if fnmatchcase(n.lower(), _RATER_PATTERN)), "grade"
            )
    return field_of_column | ({final: "final"} if final in names else {})
