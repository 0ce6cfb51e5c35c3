"""Quepid's snapshots as JSON and CSV: the documents retrieved at one time.

JSON also has the ratings of that time. CSV has one row per retrieved document.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, BinaryIO

import polars as pl

from rankgate.data.file_contents import FileContents
from rankgate.data.formats.collected_judgments import (
    VALUES,
    GrowingQrels,
    collect_document_rows,
    collect_documents,
    make_run,
    zero_states,
)
from rankgate.data.formats.format import Format, Loss, Note
from rankgate.data.formats.format_writing import (
    cell_text,
    collect_grades,
    find_losses,
    format_data,
    ranking_by_query,
    texts_by_query,
    with_text_ids,
    write_json,
)
from rankgate.data.formats.quepid.quepid_cases import NOTE_COLUMNS, make_query_notes
from rankgate.data.formats.quepid.quepid_exports import (
    detail_rows,
    make_detail_run,
    score_losses,
    with_fields,
)
from rankgate.data.text import delimited_records
from rankgate.data.text.json_text import (
    has_keys,
    identifier,
    list_objects,
    matches_key,
    number,
    read_document,
    read_id,
    read_object,
    read_text,
    require_object,
)
from rankgate.data.text.text_values import parse_time

if TYPE_CHECKING:
    from rankgate.core.value_types import Json, JsonObject
    from rankgate.data.run import Run
    from rankgate.data.streams.source import InputFile


_SNAPSHOT_NAME = "quepid-snapshot"
_PARTS = ("docs", "queries", "scores")


def sniff_snapshot(first_bytes: bytes, name: str) -> str | None:
    """A name, a time and documents by query."""
    if has_keys(first_bytes, "name", "time", "docs") and matches_key(
        first_bytes, r"docs\..+\[\]\.(rated_only|explain)"
    ):
        return "an object with name, time and docs, lists of documents with rated_only"
    if has_keys(first_bytes, "docs", "queries", "queries[].query_text", "scores"):
        return "an object with docs, queries and scores"
    return None


def read_snapshot(source: InputFile) -> FileContents:
    """A run, the ratings of that time as judgments, queries, documents and scores.

    The ids of queries are their texts, as in all of Quepid's files. If two queries have the same
    text, the ids are their numbers. Documents with ``rated_only`` were not retrieved.
    """
    label = source.label
    root = require_object(read_document(source), source)
    query_of_number, rows, judged, raw_queries = _read_queries(root, label)
    docs = read_object(root, "docs", "", label)
    run, documents, notes = _read_documents(docs, query_of_number, source)
    queries_without_docs = [query for key, query in query_of_number.items() if key not in docs]
    qrels, qrels_notes = judged.qrels(source.stem)
    snapshot = {key: value for key, value in root.items() if key not in _PARTS}
    extra = {"snapshot": snapshot, "queries": raw_queries, "docs": docs, "scores": root.get("scores", [])}
    title = root.get("name")
    return FileContents(
        qrels=qrels,
        runs=(replace(run, tag=title if isinstance(title, str) else None),),
        queries=make_query_notes(rows),
        documents=judged.pool() if documents is None else documents,
        values=_read_values(root, query_of_number, source),
        extra={_SNAPSHOT_NAME: extra},
        notes=(*notes, *qrels_notes, *Note.of("queries without documents in the file", queries_without_docs)),
    )


def _read_queries(
    root: JsonObject, label: str
) -> tuple[dict[str, str], list[tuple[str | None, ...]], GrowingQrels, dict[str, JsonObject]]:
    """The id, row, judgments and further fields of each query, by its number."""
    query_objects = list(list_objects(root.get("queries") or [], "queries", label))
    texts = [read_id(query, "query_text", json_path, label) for json_path, query in query_objects]
    numbers = [read_id(query, "query_id", json_path, label) for json_path, query in query_objects]
    names = texts if len({*texts}) == len(texts) else numbers
    judged, rows = GrowingQrels(label), []
    raw_queries: dict[str, JsonObject] = {}
    for (json_path, query), name, text in zip(query_objects, names, texts, strict=True):
        judged.ask(name)
        rows.append((name, text, *(cell_text(query.get(noted_as)) for noted_as in NOTE_COLUMNS)))
        raw_queries[name] = {key: value for key, value in query.items() if key != "ratings"}
        for doc, grade in read_object(query, "ratings", json_path, label).items():
            judged.add(name, doc, grade, f"{json_path}.ratings.{doc}", "")
    return dict(zip(numbers, names, strict=True)), rows, judged, raw_queries


def _read_documents(
    docs: JsonObject, query_of_number: Mapping[str, str], source: InputFile
) -> tuple[Run, pl.DataFrame | None, tuple[Note, ...]]:
    """The run, the documents with their fields, and a note on documents that were only rated."""
    label = source.label
    queries: list[str] = []
    ids: list[str] = []
    rated_only: list[str] = []
    empty_queries: list[str] = []
    fields: list[dict[str, str | None]] = []
    for key, doc_objects in docs.items():
        query = query_of_number.get(key, identifier(key, "a key of 'docs'", label))
        count_before = len(ids)
        for json_path, doc in list_objects(doc_objects, f"docs.{key}", label):
            doc_id = read_id(doc, "id", json_path, label)
            field_object = read_object(doc, "fields", json_path, label)
            texts_of = {name: cell_text(value) for name, value in field_object.items()}
            fields.append({**texts_of, "query_id": query, "doc_id": doc_id})
            if doc.get("rated_only"):
                rated_only.append(f"{query} {doc_id}")
                continue
            queries.append(query)
            ids.append(doc_id)
        if len(ids) == count_before:
            empty_queries.append(query)
    documents = collect_document_rows(fields)
    run = make_run(source.stem, queries, ids, None, label=label, states=zero_states(empty_queries))
    return (run, documents, Note.of("documents that are rated only, which were not retrieved", rated_only))


def _read_values(
    root: JsonObject, query_of_number: Mapping[str, str], source: InputFile
) -> pl.DataFrame | None:
    label, rows = source.label, []
    time = read_text(root, "time", "", label)
    snapshot_time = parse_time(time, "'time'", label) if time else None
    for json_path, score in list_objects(root.get("scores") or [], "scores", label):
        key = read_id(score, "query_id", json_path, label)
        value = score.get("score")
        score_value = None if value is None else number(value, f"{json_path}.score", label)
        rows.append((source.stem, query_of_number.get(key, key), "score", score_value, snapshot_time))
    return pl.DataFrame(rows, schema=VALUES, orient="row") if rows else None


def write_snapshot(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """Write the snapshot with the current ranking and ratings."""
    if not contents.runs:
        contents.ranking("")
    run, format_extra = contents.runs[0], format_data(contents, _SNAPSHOT_NAME)
    ranking = ranking_by_query(run)
    grades = collect_grades(contents.qrels) if contents.qrels else {}
    text, raw_queries = texts_by_query(contents), format_extra.get("queries", {})
    queries_with_state = [] if run.queries is None else run.queries["query_id"].to_list()
    queries, docs = [], {}
    for position, query in enumerate(
        dict.fromkeys([*raw_queries, *ranking, *queries_with_state, *grades]), 1
    ):
        new_query = {"query_id": position, "query_text": text.get(query, query)}
        query_object = {**raw_queries.get(query, new_query), "ratings": grades.get(query, {})}
        queries.append(query_object)
        if query in ranking or query in queries_with_state:
            key = str(query_object.get("query_id", position))
            docs[key] = _list_documents(
                ranking.get(query, []), format_extra.get("docs", {}).get(key, []), contents
            )
    header = format_extra.get("snapshot") or {"name": run.tag or run.name, "time": None}
    write_json(out, {**header, "docs": docs, "queries": queries, "scores": format_extra.get("scores", [])})
    value_parts = ("values",) if "scores" in format_extra else ()
    notes = [] if format_extra else list(Loss.of("ids of queries; they are numbered", list(grades)))
    tagless = replace(contents, runs=(replace(run, tag=None), *contents.runs[1:]))
    return (
        *find_losses(
            contents,
            _SNAPSHOT_NAME,
            "qrels",
            "unjudged",
            "runs",
            "queries",
            "documents",
            *value_parts,
            runs=1,
        ),
        *score_losses(tagless),
        *notes[: 1 if text else 0],
    )


def _list_documents(
    ranking: list[tuple[str, float]], docs_before: list[dict[str, Json]], contents: FileContents
) -> list[dict[str, Json]]:
    """The documents of a query in the form of a snapshot; documents only rated come last."""
    raw_docs = {str(doc["id"]): doc for doc in docs_before}
    table = contents.documents
    doc_objects = []
    for doc, _ in ranking:
        if doc in raw_docs:
            doc_objects.append({**raw_docs[doc], "rated_only": False})
            continue
        fields = None
        if table is not None and "query_id" not in table.columns:
            row = table.filter(pl.col("doc_id") == doc).drop("doc_id")
            fields = row.row(0, named=True) if len(row) else None
        doc_objects.append({"id": doc, "explain": None, "rated_only": False, "fields": fields})
    ranked_docs = {doc for doc, _ in ranking}
    return [
        *doc_objects,
        *(doc for key, doc in raw_docs.items() if doc.get("rated_only") and key not in ranked_docs),
    ]


SNAPSHOT_FORMAT = Format(
    name=_SNAPSHOT_NAME,
    title="Quepid's snapshots as JSON",
    suffixes=(".json",),
    sniff=sniff_snapshot,
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
_HEADER = (*_SNAPSHOT, "Query Text", "Doc ID", "Doc Position")
_SNAPSHOT_CSV_COLUMNS = {
    **{name: (name.lower(),) for name in _SNAPSHOT},
    "query_id": ("query text",),
    "doc_id": ("doc id",),
    "position": ("doc position",),
}


def sniff_snapshot_csv(first_bytes: bytes, name: str) -> str | None:
    """The columns of a snapshot."""
    columns = ("snapshot name", "query text", "doc id", "doc position")
    if delimited_records.names_columns(first_bytes, *columns):
        return "the first line names Snapshot Name, Query Text, Doc ID and Doc Position"
    return None


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
        with_document = snapshot_rows.filter(pl.col("doc_id").is_not_null())
        run, run_notes = make_detail_run(with_document, snapshot_rows["query_id"], name, source.label)
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
        single_run = FileContents(runs=(run,))
        snapshot = format_data(contents, _SNAPSHOT_CSV_NAME).get(run.name) or {"Snapshot Name": run.name}
        columns = [pl.lit(snapshot.get(name), pl.String).alias(name) for name in _SNAPSHOT]
        tables.append(with_fields(detail_rows(single_run), contents.documents).with_columns(columns))
        queries_with_state = [] if run.queries is None else run.queries["query_id"].to_list()
        losses += [*score_losses(single_run), *Loss.of("queries that retrieved nothing", queries_with_state)]
    rows = (
        pl.concat(tables)
        .drop("grade")
        .rename({"query_id": "Query Text", "doc_id": "Doc ID", "position": "Doc Position"})
    )
    fields = [name for name in rows.columns if name not in _HEADER]
    delimited_records.write_sheet(rows.select(*_HEADER, *fields), out, crlf=True)
    return (*find_losses(contents, _SNAPSHOT_CSV_NAME, "runs", "documents"), *query_losses, *losses)


SNAPSHOT_CSV_FORMAT = Format(
    name=_SNAPSHOT_CSV_NAME,
    title="Quepid's snapshots as CSV",
    suffixes=(".csv",),
    sniff=sniff_snapshot_csv,
    read=read_snapshot_csv,
    write=write_snapshot_csv,
    holds=("runs", "documents"),
    loses="scores (ranks are kept), judgments",
    detail=(
        "CSV with Snapshot Name, Snapshot Time, Case ID, Query Text, Doc ID, Doc Position and any fields; "
        "every snapshot in the file is a run. Ratings are not in it."
    ),
)
