"""Quepid's snapshots as JSON and CSV: the documents retrieved at one time.

JSON also has the ratings of that time. CSV has one row per retrieved document.
"""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING, BinaryIO

import polars as pl

from rankgate.data.file_contents import FileContents
from rankgate.data.formats.collected_judgments import VALUES, GrowingQrels, GrowingRun, collect_documents
from rankgate.data.formats.format import Format, Loss, Note
from rankgate.data.formats.format_writing import (
    collect_grades,
    find_losses,
    format_data,
    ranking_by_query,
    texts_by_query,
    with_text_ids,
    write_json,
)
from rankgate.data.formats.products.product_sheets import detect_columns, with_headers
from rankgate.data.formats.quepid.quepid_cases import make_query_notes, query_notes
from rankgate.data.formats.quepid.quepid_exports import (
    detail_rows,
    make_detail_run,
    queries_of_states,
    score_losses,
    with_fields,
)
from rankgate.data.text import delimited_records
from rankgate.data.text.json_text import JsonRecord, detect_keys, read_record
from rankgate.data.text.text_values import parse_time

if TYPE_CHECKING:
    from rankgate.core.value_types import Json, JsonObject
    from rankgate.data.run import Run
    from rankgate.data.streams.source import InputFile


_SNAPSHOT_NAME = "quepid-snapshot"
_PARTS = ("docs", "queries", "scores")


def read_snapshot(source: InputFile) -> FileContents:
    """A run, the ratings of that time as judgments, queries, documents and scores.

    The ids of queries are their texts, as in all of Quepid's files. If two queries have the same
    text, the ids are their numbers. Documents with ``rated_only`` were not retrieved.
    """
    root = read_record(source)
    queries = list(root.records("queries", nullable=True))
    texts, numbers = ([query.id(key) for query in queries] for key in ("query_text", "query_id"))
    names = texts if len({*texts}) == len(texts) else numbers
    query_of_number = dict(zip(numbers, names, strict=True))
    judged, rows = GrowingQrels(source), []
    raw_queries: dict[str, JsonObject] = {}
    for query, name, text in zip(queries, names, texts, strict=True):
        judged.add_grades(name, query.record("ratings"))
        rows.append(query_notes(name, text, query))
        raw_queries[name] = query.values_except("ratings")
    docs, ranked, rated_only = root.record("docs"), GrowingRun(source), list[str]()
    for key in docs:
        name = query_of_number.get(key) or docs.as_id(key, "a key of 'docs'")
        ranked.ask(name)
        for doc in docs.records(key):
            doc_id = doc.id("id")
            ranked.describe(name, doc_id, doc.record("fields").texts())
            if doc.get("rated_only"):
                rated_only.append(f"{name} {doc_id}")
            else:
                ranked.rank(name, doc_id)
    qrels, notes = judged.qrels()
    documents, title = ranked.documents(), root.get("name")
    extra = {"snapshot": root.values_except(*_PARTS), "queries": raw_queries, "docs": docs.values_except()}
    unlisted = [query for number, query in query_of_number.items() if number not in docs]
    return FileContents(
        qrels=qrels,
        runs=(replace(ranked.run(), tag=title if isinstance(title, str) else None),),
        queries=make_query_notes(rows),
        documents=judged.pool() if documents is None else documents,
        values=_read_values(root, query_of_number, source),
        extra={_SNAPSHOT_NAME: {**extra, "scores": root.get("scores", [])}},
        notes=(
            *Note.of("documents that are rated only, which were not retrieved", rated_only),
            *notes,
            *Note.of("queries without documents in the file", unlisted),
        ),
    )


def _read_values(root: JsonRecord, query_of_number: dict[str, str], source: InputFile) -> pl.DataFrame | None:
    time, rows = root.text("time"), []
    snapshot_time = parse_time(time, "'time'", source.label) if time else None
    for score in root.records("scores", nullable=True):
        key = score.id("query_id")
        rows.append(
            (source.stem, query_of_number.get(key, key), "score", score.number("score"), snapshot_time)
        )
    return pl.DataFrame(rows, schema=VALUES, orient="row") if rows else None


def write_snapshot(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """Write the snapshot with the current ranking and ratings."""
    if not contents.runs:
        contents.ranking("")
    run, format_extra = contents.runs[0], format_data(contents, _SNAPSHOT_NAME)
    ranking = ranking_by_query(run)
    grades = collect_grades(contents.qrels) if contents.qrels else {}
    text, raw_queries = texts_by_query(contents), format_extra.get("queries", {})
    queries_with_state = queries_of_states(run)
    queries, docs, table = [], {}, contents.documents
    fields_of_doc: dict[str, Json] = {}
    if table is not None and "query_id" not in table.columns:
        rows = table.unique("doc_id", keep="first").iter_rows(named=True)
        fields_of_doc = {row.pop("doc_id"): row for row in rows}
    for position, query in enumerate(
        dict.fromkeys([*raw_queries, *ranking, *queries_with_state, *grades]), 1
    ):
        new_query = {"query_id": position, "query_text": text.get(query, query)}
        query_object = {**raw_queries.get(query, new_query), "ratings": grades.get(query, {})}
        queries.append(query_object)
        if query in ranking or query in queries_with_state:
            key = str(query_object.get("query_id", position))
            raw_docs = {str(doc["id"]): doc for doc in format_extra.get("docs", {}).get(key) or []}
            docs[key] = _list_documents(ranking.get(query, []), raw_docs, fields_of_doc)
    header = format_extra.get("snapshot") or {"name": run.tag or run.name, "time": None}
    write_json(out, {**header, "docs": docs, "queries": queries, "scores": format_extra.get("scores", [])})
    kept_parts = ("qrels", "unjudged", "runs", "queries", "documents")
    value_parts = ("values",) if "scores" in format_extra else ()
    return (
        *find_losses(contents, _SNAPSHOT_NAME, *kept_parts, *value_parts, runs=1),
        *score_losses(replace(run, tag=None)),
        *Loss.of("ids of queries; they are numbered", grades if text and not format_extra else ()),
    )


def _list_documents(
    ranking: list[tuple[str, float]], raw_docs: dict[str, dict[str, Json]], fields_of_doc: JsonObject
) -> list[dict[str, Json]]:
    """The documents of a query in the form of a snapshot; documents only rated come last."""
    doc_objects = {}
    for doc, _ in ranking:
        new_doc = {"id": doc, "explain": None, "rated_only": False, "fields": fields_of_doc.get(doc)}
        doc_objects[doc] = {**raw_docs[doc], "rated_only": False} if doc in raw_docs else new_doc
    rated_docs = {doc: fields for doc, fields in raw_docs.items() if fields.get("rated_only")}
    return [*(doc_objects | rated_docs | doc_objects).values()]  # ranked documents first, as ranked


SNAPSHOT_FORMAT = Format(
    name=_SNAPSHOT_NAME,
    title="Quepid's snapshots as JSON",
    suffixes=(".json",),
    sniff=detect_keys(
        (
            "an object with name, time and docs, lists of documents with rated_only",
            "name",
            "time",
            "docs",
            "docs.*[].rated_only|docs.*[].explain",
        ),
        ("an object with docs, queries and scores", "docs", "queries", "queries[].query_text", "scores"),
    ),
    read=read_snapshot,
    write=write_snapshot,
    holds=("runs", "qrels", "queries", "documents", "values"),
    loses="scores of documents (ranks are kept), raters, scales",
    detail=(
        "The documents that a case retrieved at one time: a run, the ratings of that time, and its scores. "
        "Documents that are rated_only are in the file because they were rated; they were not retrieved and "
        "are not in the run. Queries have their texts as ids, so that the run matches the judgments of "
        "Quepid's other files."
    ),
)


_SNAPSHOT_CSV_NAME = "quepid-snapshot-csv"
_SNAPSHOT = ("Snapshot Name", "Snapshot Time", "Case ID")
_SNAPSHOT_CSV_HEADERS = {
    **{name: name for name in _SNAPSHOT},
    "query_id": "Query Text",
    "doc_id": "Doc ID",
    "position": "Doc Position",
}
_SNAPSHOT_CSV_COLUMNS = {column: (header.lower(),) for column, header in _SNAPSHOT_CSV_HEADERS.items()}


def read_snapshot_csv(source: InputFile) -> FileContents:
    """Read a run from every snapshot in the file, and the fields of documents."""
    csv_sheet = delimited_records.read_sheet(
        source, _SNAPSHOT_CSV_COLUMNS, numbers=("position",), filled=("query_id",)
    )
    rows = csv_sheet.rows
    runs: list[Run] = []
    notes: list[Note] = []
    snapshot_of_run: dict[str, Json] = {}
    groups = rows.partition_by("Snapshot Name", maintain_order=True, include_key=True)
    for snapshot_rows in groups:
        name = (snapshot_rows["Snapshot Name"][0] or source.stem) if len(groups) > 1 else source.stem
        run, run_notes = make_detail_run(snapshot_rows, name, source.label)
        runs.append(run)
        notes += run_notes
        snapshot_of_run[name] = {column: snapshot_rows[column][0] for column in _SNAPSHOT}
    with_document = rows.filter(pl.col("doc_id").is_not_null())
    return FileContents(
        runs=tuple(runs),
        documents=collect_documents(with_document, csv_sheet.others),
        extra={_SNAPSHOT_CSV_NAME: snapshot_of_run},
        notes=tuple(notes),
    )


def write_snapshot_csv(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    r"""Write all runs, one after the other, with ``\\r\\n`` as Quepid does."""
    if not contents.runs:
        contents.ranking("")
    contents, query_losses = with_text_ids(contents)
    tables, losses = [], []
    for run in contents.runs:
        snapshot = format_data(contents, _SNAPSHOT_CSV_NAME).get(run.name) or {"Snapshot Name": run.name}
        columns = [pl.lit(snapshot.get(name), pl.String).alias(name) for name in _SNAPSHOT]
        tables.append(
            with_fields(detail_rows(FileContents(runs=(run,))), contents.documents).with_columns(columns)
        )
        losses += [*score_losses(run), *Loss.of("queries that retrieved nothing", queries_of_states(run))]
    rows = with_headers(pl.concat(tables).drop("grade"), _SNAPSHOT_CSV_HEADERS)
    delimited_records.write_sheet(rows, out, crlf=True)
    return (*find_losses(contents, _SNAPSHOT_CSV_NAME, "runs", "documents"), *query_losses, *losses)


SNAPSHOT_CSV_FORMAT = Format(
    name=_SNAPSHOT_CSV_NAME,
    title="Quepid's snapshots as CSV",
    suffixes=(".csv",),
    sniff=detect_columns(
        "the first line names Snapshot Name, Query Text, Doc ID and Doc Position",
        "snapshot name",
        "query text",
        "doc id",
        "doc position",
    ),
    read=read_snapshot_csv,
    write=write_snapshot_csv,
    holds=("runs", "documents"),
    loses="scores (ranks are kept), judgments",
    detail=(
        "CSV with Snapshot Name, Snapshot Time, Case ID, Query Text, Doc ID, Doc Position and any fields; "
        "every snapshot in the file is a run. Ratings are not in it."
    ),
)
