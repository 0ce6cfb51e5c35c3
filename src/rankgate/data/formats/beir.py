"""BEIR: ``corpus.jsonl``, ``queries.jsonl`` and ``qrels/test.tsv``, one by one or their folder."""

from __future__ import annotations

import json
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

from rankgate.core.errors import InputError
from rankgate.data.contents import FileContents
from rankgate.data.duplicates import refuse_repeated
from rankgate.data.formats.format import Format, Loss
from rankgate.data.formats.tables import csv as delimited
from rankgate.data.formats.tables import jsonl, jsonl_rows, schemas
from rankgate.data.formats.writing import lost, lost_columns
from rankgate.data.notes import Note
from rankgate.data.place import Place
from rankgate.data.streams.source import source as source_of
from rankgate.data.text import json_text
from rankgate.data.text.json_keys import keys
from rankgate.data.text.records import first_fields
from rankgate.data.text.utf8 import BOM

if TYPE_CHECKING:
    from rankgate.data.qrels import Qrels
    from rankgate.data.streams.source import InputFile

_NAME = "beir"
_HEADER = ("query-id", "corpus-id", "score")
_IDS = {"queries": "query_id", "documents": "doc_id"}
_NESTED = "metadata"
_SPLIT = "test"


def sniff(head: bytes, name: str) -> str | None:
    """Objects with _id and text, or columns query-id, corpus-id and score between tabs."""
    if first_fields(head, "\t") == _HEADER:
        return "the first line names query-id, corpus-id and score between tabs"
    line = head.removeprefix(BOM).lstrip().split(b"\n", 1)[0]
    if line.startswith(b"{") and {"_id", "text"} <= keys(line):
        return "the first line is an object with _id and text"
    return None


def holds(folder: Path) -> str | None:
    """Why a folder is one of BEIR; None if it is not."""
    found = [name for name in ("corpus.jsonl", "queries.jsonl", "qrels") if _there(folder / name)]
    return f"the folder holds {' and '.join(found)}" if found else None


def read(source: InputFile) -> FileContents:
    """Queries, documents and judgments, those that are there.

    Of several files of judgments in a folder, ``test.tsv`` is read, and the others are noted.
    """
    if source.path and source.content is None and source.path.is_dir():
        return _folder(source.path)
    head = source.head()
    if head.removeprefix(BOM).lstrip().startswith(b"{"):
        return _texts(source, head)
    return FileContents(qrels=delimited.read_qrels(source))


def read_qrels(source: InputFile) -> Qrels:
    """The judgments alone."""
    if source.path and source.content is None and source.path.is_dir():
        splits = _splits(source.path)
        if not splits:
            problem = "no qrels/test.tsv in it; name the file of judgments."
            raise InputError(problem, source=source.label, code="missing-file")
        return delimited.read_qrels(source_of(_chosen(splits, source.path)))
    return read(source).judgments(source.label)


def write(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """The judgments if there are any, else the queries, else the documents."""
    part, _ = schemas.chosen(contents, ("qrels", *_IDS))
    kept = lost(contents, _NAME, part)
    if part == "qrels" and contents.qrels:
        table = contents.qrels.table.select(
            "query_id", "doc_id", schemas.whole(contents.qrels.table)
        )
        table.rename(dict(zip(table.columns, _HEADER, strict=True))).write_csv(out, separator="\t")
        return kept
    table = getattr(contents, part)
    id_ = _IDS[part]
    for row in table.iter_rows(named=True):
        value = {"_id": row[id_], **({"title": ""} if part == "documents" else {}), "text": ""}
        for name, text in row.items():
            if name not in _IDS.values() and text is not None:
                value[name] = _nested(text) if name == _NESTED else text
        out.write(json_text.dumped(value).encode() + b"\n")
    other = "query_id" if part == "documents" else "doc_id"
    names = [name for name in table.columns if name != other]
    return (*kept, *lost_columns(part, table, names))


def _there(place: Path) -> bool:
    return place.exists() or place.with_name(f"{place.name}.gz").exists()


def _file(place: Path) -> Path | None:
    packed = place.with_name(f"{place.name}.gz")
    return place if place.is_file() else packed if packed.is_file() else None


def _splits(folder: Path) -> list[Path]:
    inside = folder / "qrels" if (folder / "qrels").is_dir() else folder
    return sorted([*inside.glob("*.tsv"), *inside.glob("*.tsv.gz")])


def _chosen(splits: list[Path], folder: Path) -> Path:
    named = [each for each in splits if each.name.split(".")[0] == _SPLIT] or splits
    if len(named) > 1:
        names = ", ".join(each.name for each in named[:5])
        problem = f"several files of judgments ({names}); name one of them."
        raise InputError(problem, source=str(folder), code="several-candidates")
    return named[0]


def _folder(folder: Path) -> FileContents:
    parts: dict[str, Any] = {}
    for name, part in (("queries.jsonl", "queries"), ("corpus.jsonl", "documents")):
        if file := _file(folder / name):
            place = source_of(file)
            parts[part] = getattr(_texts(place, place.head(), part), part)
    splits = _splits(folder)
    if splits:
        chosen = _chosen(splits, folder)
        parts["qrels"] = delimited.read_qrels(source_of(chosen))
        left = [each.name for each in splits if each != chosen]
        parts["notes"] = Note.of("other files of judgments, which were not read", left)
    if not parts:
        problem = "a folder without corpus.jsonl, queries.jsonl or qrels; name a file."
        raise InputError(problem, source=str(folder), code="missing-file")
    return FileContents(**parts)


def _texts(source: InputFile, head: bytes, part: str | None = None) -> FileContents:
    """The queries or documents of a file; documents have a title."""
    names = jsonl.names_of(source)
    if "_id" not in names:
        problem = f"no key _id among {', '.join(names[:10])}; each object needs one."
        raise InputError(problem, source=source.label, line=1, code="missing-column")
    first = head.split(b"\n", 1)[0]
    part = part or ("documents" if "title" in keys(first) else "queries")
    wanted = ("title", "text", _NESTED) if part == "documents" else ("text", _NESTED)
    others = {name: name for name in (*wanted, *names) if name not in {"_id", *_IDS.values()}}
    layout = schemas.TableSchema(part, {_IDS[part]: "_id"} | others, frozenset(), frozenset(others))
    rows = jsonl_rows.whole(source, layout)
    filled = [column.name for column in rows if column.null_count() < len(column)]
    ours = _IDS[part]
    kept = [name for name in rows.columns if name in {*filled, ours, "text"}]
    place = Place(source.label, partial(jsonl_rows.line_of, source))
    refuse_repeated(rows[ours], place, "_id", code="duplicate-id")
    found = rows.select(kept)
    return FileContents(queries=found) if part == "queries" else FileContents(documents=found)


def _nested(text: str) -> Any:
    """A value as it was: an object from its JSON, a string as it is."""
    try:
        value = json.loads(text)
    except ValueError:
        return text
    return value if isinstance(value, dict | list) else text


FORMAT = Format(
    name=_NAME,
    title="BEIR's corpus, queries and judgments",
    suffixes=(".jsonl", ".tsv"),
    sniff=sniff,
    read=read,
    write=write,
    read_qrels=read_qrels,
    holds=("qrels", "queries", "documents"),
    loses="all parts but one; raters, scales, queries without judgments",
    detail=(
        "A folder with corpus.jsonl, queries.jsonl and qrels/test.tsv, or one of these files. "
        "Objects have _id, text, for documents title, and may have metadata, which is kept as "
        "JSON. The judgments' header is query-id, corpus-id, score; their score is a grade. Of "
        "several files in qrels, test.tsv is read; name another one to read that. One file is "
        "written: judgments if there are any, else queries, else documents."
    ),
)
