"""Quepid's snapshots as CSV: one row a retrieved document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO

import polars as pl

from rankgate.data.contents import FileContents
from rankgate.data.formats.collected import documents_of
from rankgate.data.formats.format import Format, Loss, Note
from rankgate.data.formats.quepid.detail import retrieved, rows_of, score_losses, with_fields
from rankgate.data.formats.query_texts import by_text
from rankgate.data.formats.writing import lost, own
from rankgate.data.text import sheet

if TYPE_CHECKING:
    from rankgate.data.run import Run
    from rankgate.data.streams.source import InputFile

_NAME = "quepid-snapshot-csv"
_SNAPSHOT = ("Snapshot Name", "Snapshot Time", "Case ID")
_HEAD = (*_SNAPSHOT, "Query Text", "Doc ID", "Doc Position")
_COLUMNS = {
    **{name: (name.lower(),) for name in _SNAPSHOT},
    "query_id": ("query text",),
    "doc_id": ("doc id",),
    "position": ("doc position",),
}


def sniff(head: bytes, name: str) -> str | None:
    """The columns of a snapshot."""
    if {"snapshot name", "query text", "doc id", "doc position"} <= set(sheet.names_of(head)):
        return "the first line names Snapshot Name, Query Text, Doc ID and Doc Position"
    return None


def read(source: InputFile) -> FileContents:
    """A run of every snapshot in the file, and the fields of documents."""
    found = sheet.sheet(source, _COLUMNS, numbers=("position",), filled=("query_id",))
    rows = found.rows
    runs: list[Run] = []
    notes: list[Note] = []
    known: dict[str, Any] = {}
    groups = rows.partition_by("Snapshot Name", maintain_order=True, include_key=True)
    for part in groups:
        name = (part["Snapshot Name"][0] or source.stem) if len(groups) > 1 else source.stem
        there = part.filter(pl.col("doc_id").is_not_null())
        run, seen = retrieved(there, part["query_id"], name, source.label)
        runs.append(run)
        notes += seen
        known[name] = {column: part[column][0] for column in _SNAPSHOT}
    there = rows.filter(pl.col("doc_id").is_not_null())
    return FileContents(
        runs=tuple(runs),
        documents=documents_of(there, found.others),
        extra={_NAME: known},
        notes=tuple(notes),
    )


def write(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    r"""All runs, one after the other, with ``\\r\\n`` as Quepid has it."""
    if not contents.runs:
        contents.ranking("")
    contents, called = by_text(contents)
    parts, account = [], []
    for run in contents.runs:
        alone = FileContents(runs=(run,))
        known = own(contents, _NAME).get(run.name) or {"Snapshot Name": run.name}
        columns = [pl.lit(known.get(name), pl.String).alias(name) for name in _SNAPSHOT]
        parts.append(with_fields(rows_of(alone), contents.documents).with_columns(columns))
        zero = [] if run.queries is None else run.queries["query_id"].to_list()
        account += [*score_losses(alone), *Loss.of("queries that retrieved nothing", zero)]
    rows = (
        pl.concat(parts)
        .drop("grade")
        .rename({"query_id": "Query Text", "doc_id": "Doc ID", "position": "Doc Position"})
    )
    fields = [name for name in rows.columns if name not in _HEAD]
    sheet.write(rows.select(*_HEAD, *fields), out, crlf=True)
    return (*lost(contents, _NAME, "runs", "documents"), *called, *account)


FORMAT = Format(
    name=_NAME,
    title="Quepid's snapshots as CSV",
    suffixes=(".csv",),
    sniff=sniff,
    read=read,
    write=write,
    holds=("runs", "documents"),
    loses="scores (ranks are kept), judgments",
    detail=(
        "CSV with Snapshot Name, Snapshot Time, Case ID, Query Text, Doc ID, Doc Position and any "
        "fields; every snapshot in the file is a run. Ratings are not in it."
    ),
)
