"""Files that are sent: as files with their suffixes, and how their first rows look."""

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
from rankgate.store.kept.parquet import unpacked
from rankgate.workspace.web.fields import wrong
from rankgate.workspace.web.pages.expanded_size import refuse_huge

if TYPE_CHECKING:
    import polars as pl

    from rankgate.data.contents import FileContents
    from rankgate.workspace.web.asked import Upload

_ROWS = 3
_START = 200_000
_MOST = 200
_GUESSED = ("query_id", "doc_id", "rater", "grade")
_RATERS = "*_rating"
_OF_QUERIES = ("text", "information_need")
_OF_DOCUMENTS = ("image", "url")
_MORE = {
    "query_id": ("search_term", "search_query", "search", "term"),
    "doc_id": ("sku", "asin", "url"),
}
"""Names that a guess takes too, where a user looks at it before it counts."""


@contextmanager
def file_of(upload: Upload, most: float) -> Iterator[Path]:
    """An upload as a file; of its name only the suffixes count, as readers look at them.

    Args:
        upload: what was sent.
        most: bytes to which it may unpack.

    Raises:
        InputError: it unpacks to more.
    """
    suffixes = "".join(each for each in PurePath(upload.name).suffixes[-2:] if each.isascii())
    kept = "".join(c for c in suffixes if c.isalnum() or c == ".")[:20]
    with tempfile.TemporaryDirectory(prefix="rankgate-") as folder:
        place = Path(folder) / f"{_stem(upload.name)}{kept}"
        place.write_bytes(upload.content)
        try:
            refuse_huge(place, upload.content, most)
            yield place
        except RankgateError as error:  # where it was for a moment is nobody's business
            if folder not in f"{error.source}{error}":
                raise
            name = place.name
            problem = error.problem.replace(str(place), name).replace(folder, "")
            raise InputError(problem, code=error.code, source=name, line=error.line) from None


def _stem(name: str) -> str:
    stem = PurePath(name.replace("\\", "/")).name.partition(".")[0]
    return "".join(c if c.isalnum() or c in "-_" else "_" for c in stem)[:60] or "upload"


def parquet_of(upload: Upload, name: str, most: float) -> pl.DataFrame:
    """The rows of an upload as Parquet.

    Args:
        upload: what was sent.
        name: the field.
        most: bytes to which it may unpack.

    Raises:
        InputError: it unpacks to more.
        Refused: it is another file, or a damaged one.
    """
    try:
        with file_of(upload, most):
            pass
    except InputError as error:
        if error.code == "too-large":
            raise
        raise wrong(name, "is no table as Parquet") from None
    try:
        return unpacked(upload.content, name)
    except InputError:
        raise wrong(name, "is no table as Parquet") from None


def columns_of(upload: Upload, columns: str | None, final: str | None) -> list[dict[str, Any]]:
    """The columns of a sheet, with a few values and which of ours each is named or guessed to be.

    Empty for a file that is no sheet.
    """
    start = upload.content[:_START].lstrip(b"\xef\xbb\xbf \r\n")
    if start[:1] in (b"{", b"[", b"") or b"\0" in start:
        return []
    lines = start.decode("utf-8", "replace").splitlines()[: _ROWS + 1]
    separator = max(SEPARATORS, key=lines[0].count)
    try:
        rows = list(csv.reader(io.StringIO("\n".join(lines)), delimiter=separator))
    except csv.Error:  # a field of more than 128 KB
        return []
    if not rows or not 2 <= len(rows[0]) <= _MOST:
        return []
    named = _named(rows[0], columns, final)
    return [
        {
            "name": name,
            "values": [row[i][:60] for row in rows[1:] if i < len(row)],
            "ours": named.get(name, ""),
        }
        for i, name in enumerate(rows[0])
    ]


def with_texts(columns: list[dict[str, Any]], contents: FileContents) -> list[dict[str, Any]]:
    """The columns of a sheet, with those that come in as texts of queries or documents."""
    texts: dict[str, str] = {}
    for table, links in ((contents.queries, _OF_QUERIES), (contents.documents, _OF_DOCUMENTS)):
        for name in () if table is None else table.columns:
            texts[name.lower()] = name if name in links else "field"
    return [column | {"ours": column["ours"] or texts.get(column["name"].lower(), "")}
            for column in columns]  # fmt: skip


def _named(names: list[str], columns: str | None, final: str | None) -> Mapping[str, str]:
    """Which of ours each column is: as the user says, or else by its usual names."""
    try:
        how = ColumnMap.of(columns)
    except UsageError:
        how = None
    if how is not None:
        found = {
            name: ours
            for ours, theirs in how.theirs.items()
            for name in names
            if any(fnmatchcase(name.lower(), word.lower()) for word in theirs.split("+"))
        }
    else:
        lower = {name.lower(): name for name in reversed(names)}
        usual = {
            ours: next((lower[a] for a in (*ALIASES[ours], *_MORE.get(ours, ())) if a in lower), "")
            for ours in _GUESSED
        }
        found = {theirs: ours for ours, theirs in usual.items() if theirs}
        if "grade" not in found.values():
            found |= dict.fromkeys((n for n in names if fnmatchcase(n.lower(), _RATERS)), "grade")
    return found | ({final: "final"} if final in names else {})
