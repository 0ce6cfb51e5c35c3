"""Quepid's snapshots as JSON: what was retrieved at one time, with the ratings of that time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, BinaryIO

import polars as pl

from rankgate.data.contents import FileContents
from rankgate.data.formats.collected import (
    VALUES,
    GrowingQrels,
    documents_from,
    nothing_for,
    ranked,
)
from rankgate.data.formats.format import Format, Loss, Note
from rankgate.data.formats.quepid.case import NOTED, noted
from rankgate.data.formats.quepid.detail import score_losses
from rankgate.data.formats.writing import by_query, lost, own, put, ranking_by_query, text_of, texts
from rankgate.data.text.json_keys import have, matching
from rankgate.data.text.json_reader import a_text, an_id, an_object, each, whole_object
from rankgate.data.text.json_text import document, identifier, number
from rankgate.data.text.times import moment

if TYPE_CHECKING:
    from rankgate.data.run import Run
    from rankgate.data.streams.source import InputFile

_NAME = "quepid-snapshot"
_PARTS = ("docs", "queries", "scores")


def sniff(head: bytes, name: str) -> str | None:
    """A name, a time and documents by query."""
    if have(head, "name", "time", "docs") and matching(head, r"docs\..+\[\]\.(rated_only|explain)"):
        return "an object with name, time and docs, lists of documents with rated_only"
    if have(head, "docs", "queries", "queries[].query_text", "scores"):
        return "an object with docs, queries and scores"
    return None


def read(source: InputFile) -> FileContents:
    """A run, the ratings of its time as judgments, queries, documents and scores.

    Queries are called by their texts, as in all of Quepid's files, unless two have the same
    text; then by their numbers. Documents that are ``rated_only`` were not retrieved.
    """
    label = source.label
    found = whole_object(document(source), source)
    called, rows, judged, raw = _queries(found, label)
    docs = an_object(found, "docs", "", label)
    run, documents, notes = _retrieved(docs, called, source)
    without = [query for key, query in called.items() if key not in docs]
    qrels, seen = judged.qrels(source.stem)
    snapshot = {key: value for key, value in found.items() if key not in _PARTS}
    extra = {"snapshot": snapshot, "queries": raw, "docs": docs, "scores": found.get("scores", [])}
    title = found.get("name")
    return FileContents(
        qrels=qrels,
        runs=(replace(run, tag=title if isinstance(title, str) else None),),
        queries=noted(rows),
        documents=judged.pool() if documents is None else documents,
        values=_values(found, called, source),
        extra={_NAME: extra},
        notes=(*notes, *seen, *Note.of("queries whose documents are not in it", without)),
    )


def _queries(
    found: Mapping[str, Any], label: str
) -> tuple[dict[str, str], list[tuple[str | None, ...]], GrowingQrels, dict[str, Any]]:
    """What each query's number is called, its row, its judgments, and the rest of it."""
    every = list(each(found.get("queries") or [], "queries", label))
    shown = [an_id(query, "query_text", where, label) for where, query in every]
    numbers = [an_id(query, "query_id", where, label) for where, query in every]
    names = shown if len({*shown}) == len(shown) else numbers
    judged, rows, raw = GrowingQrels(label), [], {}
    for (where, query), name, text in zip(every, names, shown, strict=True):
        judged.ask(name)
        rows.append((name, text, *(text_of(query.get(noted_as)) for noted_as in NOTED)))
        raw[name] = {key: value for key, value in query.items() if key != "ratings"}
        for doc, grade in an_object(query, "ratings", where, label).items():
            judged.add(name, doc, grade, f"{where}.ratings.{doc}", "")
    return dict(zip(numbers, names, strict=True)), rows, judged, raw


def _retrieved(
    docs: Mapping[str, Any], called: Mapping[str, str], source: InputFile
) -> tuple[Run, pl.DataFrame | None, tuple[Note, ...]]:
    """The run, the documents with their fields, and the documents that were rated only."""
    label = source.label
    queries: list[str] = []
    ids: list[str] = []
    only: list[str] = []
    empty: list[str] = []
    fields: list[dict[str, str | None]] = []
    for key, listed in docs.items():
        query = called.get(key, identifier(key, "a key of 'docs'", label))
        before = len(ids)
        for where, doc in each(listed, f"docs.{key}", label):
            doc_id = an_id(doc, "id", where, label)
            shown = an_object(doc, "fields", where, label)
            texts_of = {name: text_of(value) for name, value in shown.items()}
            fields.append({**texts_of, "query_id": query, "doc_id": doc_id})
            if doc.get("rated_only"):
                only.append(f"{query} {doc_id}")
                continue
            queries.append(query)
            ids.append(doc_id)
        if len(ids) == before:
            empty.append(query)
    documents = documents_from(fields)
    run = ranked(source.stem, queries, ids, None, label=label, states=nothing_for(empty))
    return run, documents, Note.of("documents that are rated only, which were not retrieved", only)


def _values(
    found: Mapping[str, Any], called: Mapping[str, str], source: InputFile
) -> pl.DataFrame | None:
    label, rows = source.label, []
    time = a_text(found, "time", "", label)
    at = moment(time, "'time'", label) if time else None
    for where, score in each(found.get("scores") or [], "scores", label):
        key = an_id(score, "query_id", where, label)
        value = score.get("score")
        shown = None if value is None else number(value, f"{where}.score", label)
        rows.append((source.stem, called.get(key, key), "score", shown, at))
    return pl.DataFrame(rows, schema=VALUES, orient="row") if rows else None


def write(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """The snapshot, with ranking and ratings as they are now."""
    if not contents.runs:
        contents.ranking("")
    run, kept = contents.runs[0], own(contents, _NAME)
    ranking = ranking_by_query(run)
    grades = by_query(contents.qrels) if contents.qrels else {}
    text, raw = texts(contents), kept.get("queries", {})
    zero = [] if run.queries is None else run.queries["query_id"].to_list()
    queries, docs = [], {}
    for place, query in enumerate(dict.fromkeys([*raw, *ranking, *zero, *grades]), 1):
        new = {"query_id": place, "query_text": text.get(query, query)}
        found = {**raw.get(query, new), "ratings": grades.get(query, {})}
        queries.append(found)
        if query in ranking or query in zero:
            key = str(found.get("query_id", place))
            docs[key] = _listed(ranking.get(query, []), kept.get("docs", {}).get(key, []), contents)
    head = kept.get("snapshot") or {"name": run.tag or run.name, "time": None}
    put(out, {**head, "docs": docs, "queries": queries, "scores": kept.get("scores", [])})
    scored = ("values",) if "scores" in kept else ()
    notes = [] if kept else list(Loss.of("ids of queries, which are numbered", list(grades)))
    tagless = replace(contents, runs=(replace(run, tag=None), *contents.runs[1:]))
    return (
        *lost(
            contents, _NAME, "qrels", "unjudged", "runs", "queries", "documents", *scored, runs=1
        ),
        *score_losses(tagless),
        *notes[: 1 if text else 0],
    )


def _listed(
    ranking: list[tuple[str, float]], before: list[dict[str, Any]], contents: FileContents
) -> list[dict[str, Any]]:
    """The documents of a query as a snapshot lists them; those that were rated only come last."""
    raw = {str(doc["id"]): doc for doc in before}
    table = contents.documents
    listed = []
    for doc, _ in ranking:
        if doc in raw:
            listed.append({**raw[doc], "rated_only": False})
            continue
        fields = None
        if table is not None and "query_id" not in table.columns:
            row = table.filter(pl.col("doc_id") == doc).drop("doc_id")
            fields = row.row(0, named=True) if len(row) else None
        listed.append({"id": doc, "explain": None, "rated_only": False, "fields": fields})
    here = {doc for doc, _ in ranking}
    return [
        *listed,
        *(doc for key, doc in raw.items() if doc.get("rated_only") and key not in here),
    ]


FORMAT = Format(
    name=_NAME,
    title="Quepid's snapshots as JSON",
    suffixes=(".json",),
    sniff=sniff,
    read=read,
    write=write,
    holds=("runs", "qrels", "queries", "documents", "values"),
    loses="scores of documents (ranks are kept), raters, scales",
    detail=(
        "What a case retrieved at one time: a run, the ratings of that time, and its scores. "
        "Documents that are rated_only are in the file because they were rated; they were not "
        "retrieved and are not in the run. Queries are called by their texts, so that the run "
        "meets the judgments of Quepid's other files."
    ),
)
