"""BEIR: ``corpus.jsonl``, ``queries.jsonl`` and ``qrels/test.tsv``, one by one or their folder.

The same layout in Parquet is that of Hugging Face: ``corpus/*.parquet``, ``queries/*.parquet`` and
``qrels/test-00000-of-00001.parquet``, or the judgments in ``default`` or ``data``.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, BinaryIO

import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.file_contents import FileContents, Note
from rankgate.data.formats.format import Format, Loss
from rankgate.data.formats.format_writing import find_losses, write_json_lines
from rankgate.data.formats.table import TableSchema
from rankgate.data.formats.tables import parquet_arrow, schemas
from rankgate.data.formats.tables.csv_tables import CsvTable
from rankgate.data.formats.tables.jsonl import JsonlTable
from rankgate.data.formats.tables.parquet_arrow import FrameTable
from rankgate.data.formats.tables.table_contents import read_columns, read_table_qrels
from rankgate.data.streams.source import open_source as source_of
from rankgate.data.table_rows import RowLocation, refuse_repeated
from rankgate.data.text.delimited_records import first_fields
from rankgate.data.text.json_text import detect_keys, find_key_paths
from rankgate.data.text.text_values import BOM

if TYPE_CHECKING:
    from rankgate.data.qrels import Qrels
    from rankgate.data.streams.source import InputFile

_NAME = "beir"
_HEADER = ("query-id", "corpus-id", "score")
_IDS = {"queries": "query_id", "documents": "doc_id"}
_METADATA = "metadata"
_SPLIT = "test"
_PART_SUFFIX = re.compile(r"-\d+-of-\d+$")


_detect_texts = detect_keys(("the first line is an object with _id and text", "_id", "text"), first_line=True)


def sniff(first_bytes: bytes, name: str) -> str | None:
    """Objects with _id and text, or columns query-id, corpus-id and score between tabs."""
    if first_fields(first_bytes, "\t") == _HEADER:
        return "the first line names query-id, corpus-id and score between tabs"
    return _detect_texts(first_bytes, name)


def detect_folder(folder: Path) -> str | None:
    """The reason why a folder has BEIR's layout, also in Parquet; None if it has not."""
    part_names = [name for name in ("corpus.jsonl", "queries.jsonl", "qrels") if _exists(folder / name)]
    part_names += [
        path.name if path.is_file() else f"{path.name}/*.parquet"
        for path in map(_find_parquet, (folder / "corpus", folder / "queries"))
        if path is not None
    ]
    if not part_names and (folder / "qrels.parquet").is_file():
        part_names = ["qrels.parquet"]
    return f"the folder holds {' and '.join(part_names)}" if part_names else None


def _find_parquet(stem: Path) -> Path | None:
    """The Parquet file or folder of a part of the collection."""
    file = stem.with_name(f"{stem.name}.parquet")
    if file.is_file():
        return file
    return stem if stem.is_dir() and any(stem.glob("*.parquet")) else None


def read(source: InputFile) -> FileContents:
    """Queries, documents and judgments, as far as they are present.

    Of several files of judgments in a folder, ``test.tsv`` is read, and the others are noted.
    """
    if source.path and source.content is None and source.path.is_dir():
        return _read_folder(source.path, judgments_only=source.read_as == "qrels")
    if source.head().removeprefix(BOM).lstrip().startswith(b"{"):
        contents: dict[str, Any] = dict([_read_texts(source)])
        return FileContents(**contents)
    return FileContents(qrels=read_table_qrels(CsvTable(source)))


def write(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """The judgments if there are any, else the queries, else the documents."""
    part_name, _ = schemas.choose_part(contents, ("qrels", *_IDS))
    losses = find_losses(contents, _NAME, part_name)
    if part_name == "qrels" and contents.qrels:
        table = contents.qrels.table.select(
            "query_id", "doc_id", schemas.grade_expression(contents.qrels.table)
        )
        table.rename(dict(zip(table.columns, _HEADER, strict=True))).write_csv(out, separator="\t")
        return losses
    table = getattr(contents, part_name)
    first_texts = {"title": "", "text": ""} if part_name == "documents" else {"text": ""}
    names = [name for name in table.columns if name not in _IDS.values()]
    write_json_lines(
        out,
        (
            {"_id": row[_IDS[part_name]], **first_texts}
            | {
                name: _parse_nested(row[name]) if name == _METADATA else row[name]
                for name in names
                if row[name] is not None
            }
            for row in table.iter_rows(named=True)
        ),
    )
    other_id = "query_id" if part_name == "documents" else "doc_id"
    return (*losses, *Loss.of(f"fields of {part_name}", {other_id} & {*table.columns}))


def _exists(path: Path) -> bool:
    return path.exists() or path.with_name(f"{path.name}.gz").exists()


def _find_file(path: Path) -> Path | None:
    packed_path = path.with_name(f"{path.name}.gz")
    return path if path.is_file() else packed_path if packed_path.is_file() else None


def _find_splits(folder: Path) -> dict[str, list[Path]]:
    """The files of judgments by split: test, dev, train."""
    split_folder = next(
        (
            folder / name
            for name in ("qrels", "default", "data")
            if (folder / name).is_dir() and any(map(_is_judgments, (folder / name).iterdir()))
        ),
        folder,
    )
    splits: dict[str, list[Path]] = {}
    for path in sorted(split_folder.iterdir()):
        if _is_judgments(path):
            name = path.name.split(".")[0]
            splits.setdefault(_PART_SUFFIX.sub("", name), []).append(path)
    return splits


def _is_judgments(path: Path) -> bool:
    texts = path.name.startswith(("corpus", "queries"))
    return path.name.endswith((".tsv", ".tsv.gz", ".parquet")) and not texts and path.is_file()


def _choose_split(splits: Mapping[str, list[Path]], folder: Path) -> str:
    """The split to read: test, or the only split."""
    if _SPLIT in splits or len(splits) == 1:
        return _SPLIT if _SPLIT in splits else next(iter(splits))
    names = [path.name for paths in splits.values() for path in paths]
    problem = f"several files of judgments ({', '.join(names[:5])}); name one of them."
    raise InputError(problem, source=str(folder), code="several-candidates")


def _read_judgments(files: Sequence[Path]) -> Qrels:
    """The judgments of a split, in one file or in parts."""
    input_files = [source_of(file) for file in files]
    if not files[0].name.endswith(".parquet"):
        return read_table_qrels(CsvTable(input_files[0]))
    if len(input_files) == 1:
        return read_table_qrels(FrameTable(input_files[0]))
    rows = pl.concat([parquet_arrow.scan_file(input_file) for input_file in input_files])
    return read_table_qrels(FrameTable(input_files[0], rows))


def _read_folder(folder: Path, *, judgments_only: bool) -> FileContents:
    contents_by_part: dict[str, Any] = {}
    splits = _find_splits(folder)
    if judgments_only and not splits:
        problem = "no qrels/test.tsv in it; name the file of judgments."
        raise InputError(problem, source=str(folder), code="missing-file")
    texts = () if judgments_only else (("queries", "queries"), ("corpus", "documents"))
    for name, part_name in texts:
        if file := _find_file(folder / f"{name}.jsonl"):
            contents_by_part[part_name] = _read_texts(source_of(file), part_name)[1]
        elif table := _find_parquet(folder / name):
            contents_by_part[part_name] = _read_parquet_texts(table, part_name)
    if splits:
        chosen_split = _choose_split(splits, folder)
        contents_by_part["qrels"] = _read_judgments(splits[chosen_split])
        other_files = [path.name for name, paths in splits.items() for path in paths if name != chosen_split]
        contents_by_part["notes"] = Note.of("other files of judgments, which were not read", other_files)
    if not contents_by_part:
        problem = "a folder without corpus.jsonl, queries.jsonl or qrels; name a file."
        raise InputError(problem, source=str(folder), code="missing-file")
    return FileContents(**contents_by_part)


def _read_parquet_texts(table: Path, part_name: str) -> pl.DataFrame:
    """The queries or documents of a Parquet file, or of a folder of part files."""
    files = sorted(table.glob("*.parquet")) if table.is_dir() else [table]
    input_files = [source_of(file) for file in files]
    rows = pl.concat(map(parquet_arrow.scan_file, input_files), how="diagonal_relaxed")
    schema, own_id = rows.collect_schema(), _IDS[part_name]
    id_column = next((name for name in ("_id", "id", own_id) if name in schema), None)
    if id_column is None:
        problem = f"no column _id among {', '.join(schema.names()[:10])}; each row needs one."
        raise InputError(problem, source=str(table), code="missing-column")
    other_columns = [
        name
        for name, dtype in schema.items()
        if name not in {id_column, *_IDS.values()} and not dtype.is_nested()
    ]
    texts = rows.select(pl.col(id_column).alias(own_id), *other_columns).cast(pl.String)
    frame = parquet_arrow.collect_frame(texts, input_files[0])
    refuse_repeated(frame[own_id], RowLocation(str(table)), id_column, code="duplicate-id")
    return frame


def _read_texts(source: InputFile, part_name: str | None = None) -> tuple[str, pl.DataFrame]:
    """The queries or documents of a file, with the part that they are; documents have a title."""
    texts = JsonlTable(source)
    names = texts.names
    if "_id" not in names:
        problem = f"no key _id among {', '.join(names[:10])}; each object needs one."
        raise InputError(problem, source=source.label, line=1, code="missing-column")
    first_keys = find_key_paths(source.head().split(b"\n", 1)[0])
    part_name = part_name or ("documents" if "title" in first_keys else "queries")
    own_id = _IDS[part_name]
    usual_columns = ("title", "text", _METADATA) if part_name == "documents" else ("text", _METADATA)
    other_columns = {name: name for name in (*usual_columns, *names) if name not in {"_id", *_IDS.values()}}
    columns = {own_id: "_id"} | other_columns
    rows = read_columns(texts, TableSchema(part_name, columns, frozenset(), frozenset(other_columns)))
    refuse_repeated(rows[own_id], texts.location, "_id", code="duplicate-id")
    kept_columns = [
        column.name for column in rows if column.name in {own_id, "text"} or column.null_count() < len(column)
    ]
    return part_name, rows.select(kept_columns)


def _parse_nested(text: str) -> Any:
    """The original value: an object parsed from JSON, or a string unchanged."""
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
    holds=("qrels", "queries", "documents"),
    folders=True,
    loses="all parts but one; raters, scales, queries without judgments",
    detail=(
        "A folder with corpus.jsonl, queries.jsonl and qrels/test.tsv, or one of these files; or the same in "
        "Parquet, as data sets of Hugging Face and MTEB are: corpus, queries, and qrels, default or data "
        "with test-00000-of-00001.parquet. Objects have _id, text, for documents title, and may have "
        "metadata, which is kept as JSON. The judgments' header is query-id, corpus-id, score; their score "
        "is a grade. Of several files in qrels, test.tsv is read; name another one to read that. One file is "
        "written: judgments if there are any, else queries, else documents."
    ),
)
