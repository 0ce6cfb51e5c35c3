"""Quepid's snapshots as CSV: one row a retrieved document."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO

import polars as pl

from rankgate.data.contents import FileContents
from rankgate.data.formats.collected import collect_documents
from rankgate.data.formats.format import Format, Loss, Note
from rankgate.data.formats.quepid.detail import (
    detail_rows,
    make_detail_run,
    score_losses,
    with_fields,
)
from rankgate.data.formats.query_texts import with_text_ids
from rankgate.data.formats.writing import find_losses, format_data
from rankgate.data.text import sheet

if TYPE_CHECKING:
    from rankgate.data.run import Run
    from rankgate.data.streams.source import InputFile

_NAME = "quepid-snapshot-csv"
_SNAPSHOT = ("Snapshot Name", "Snapshot Time", "Case ID")
_HEADER = (*_SNAPSHOT, "Query Text", "Doc ID", "Doc Position")
_COLUMNS = {
    **{name: (name.lower(),) for name in _SNAPSHOT},
    "query_id": ("query text",),
    "doc_id": ("doc id",),
    "position": ("doc position",),
}


def sniff(first_bytes: bytes, name: str) -> str | None:
    """The columns of a snapshot."""
    if {"snapshot name", "query text", "doc id", "doc position"} <= set(
        sheet.read_column_names(first_bytes)
    ):
        return "the first line names Snapshot Name, Query Text, Doc ID and Doc Position"
    return None


def read(source: InputFile) -> FileContents:
    """A run of every snapshot in the file, and the fields of documents."""
    csv_sheet = sheet.read_sheet(source, _COLUMNS, numbers=("position",), filled=("query_id",))
    rows = csv_sheet.rows
    runs: list[Run] = []
    notes: list[Note] = []
    snapshot_of_run: dict[str, Any] = {}
    groups = rows.partition_by("Snapshot Name", maintain_order=True, include_key=True)
    for snapshot_rows in groups:
        name = (
            (snapshot_rows["Snapshot Name"][0] or source.stem) if len(groups) > 1 else source.stem
        )
        with_document = snapshot_rows.filter(pl.col("doc_id").is_not_null())
        run, run_notes = make_detail_run(
            with_document, snapshot_rows["query_id"], name, source.label
        )
        runs.append(run)
        notes += run_notes
        snapshot_of_run[name] = {column: snapshot_rows[column][0] for column in _SNAPSHOT}
    with_document = rows.filter(pl.col("doc_id").is_not_null())
    return FileContents(
        runs=tuple(runs),
        documents=collect_documents(with_document, csv_sheet.others),
        extra={_NAME: snapshot_of_run},
        notes=tuple(notes),
    )


def write(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    r"""Write all runs, one after the other, with ``\\r\\n`` as Quepid does."""
    if not contents.runs:
        contents.ranking("")
    contents, query_losses = with_text_ids(contents)
    tables, losses = [], []
    for run in contents.runs:
        single_run = FileContents(runs=(run,))
        snapshot = format_data(contents, _NAME).get(run.name) or {"Snapshot Name": run.name}
        columns = [pl.lit(snapshot.get(name), pl.String).alias(name) for name in _SNAPSHOT]
        tables.append(
            with_fields(detail_rows(single_run), contents.documents).with_columns(columns)
        )
        queries_with_state = [] if run.queries is None else run.queries["query_id"].to_list()
        losses += [
            *score_losses(single_run),
            *Loss.of("queries that retrieved nothing", queries_with_state),
        ]
    rows = (
        pl.concat(tables)
        .drop("grade")
        .rename({"query_id": "Query Text", "doc_id": "Doc ID", "position": "Doc Position"})
    )
    fields = [name for name in rows.columns if name not in _HEADER]
    sheet.write_sheet(rows.select(*_HEADER, *fields), out, crlf=True)
    return (*find_losses(contents, _NAME, "runs", "documents"), *query_losses, *losses)


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
