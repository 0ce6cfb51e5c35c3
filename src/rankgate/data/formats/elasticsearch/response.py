"""Elasticsearch's ranking evaluation: the response with the retrieved documents."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.data.contents import FileContents
from rankgate.data.formats.collected import VALUES, GrowingQrels, collect_document_rows, make_run
from rankgate.data.formats.format import Format, Note
from rankgate.data.formats.writing import cell_text
from rankgate.data.text.json_keys import matches_key
from rankgate.data.text.json_reader import list_objects, read_id, read_object, require_object
from rankgate.data.text.json_text import number, read_document

if TYPE_CHECKING:
    from rankgate.data.streams.source import InputFile

_VALUE_KEYS = ("metric_score", "quality_level")  # the second is of version 6
_UNRATED_KEYS = ("unrated_docs", "unknown_docs")


def sniff(first_bytes: bytes, name: str) -> str | None:
    """Details by query with hits and ratings."""
    if matches_key(
        first_bytes, r"details\..+\.(hits|metric_score|quality_level|unrated_docs|unknown_docs).*"
    ):
        return "an object with details of each query: its value and its hits"
    return None


def read(source: InputFile) -> FileContents:
    """A run from the hits, judgments of the hits that are rated, and the metric's values.

    Scores are the hits' own if every hit has one and they never rise; otherwise -rank.
    """
    label = source.label
    root = require_object(read_document(source), source)
    judged, queries, docs, scores, unrated = GrowingQrels(label), [], [], [], []
    fields: list[dict[str, Any]] = []
    values: list[tuple[Any, ...]] = []
    states: list[tuple[str, str, str | None]] = []
    for query, details in read_object(root, "details", "", label).items():
        json_path = f"details.{query}"
        detail = read_object({query: details}, query, "details", label)
        judged.ask(query)
        hits = list(list_objects(detail.get("hits") or [], f"{json_path}.hits", label))
        for hit_path, hit_entry in hits:
            hit = read_object(hit_entry, "hit", hit_path, label)
            doc = read_id(hit, "_id", f"{hit_path}.hit", label)
            queries.append(query)
            docs.append(doc)
            scores.append(_read_score(hit.get("_score"), f"{hit_path}.hit._score", label))
            fields.append({"query_id": query, "doc_id": doc, **_read_fields(hit, hit_path, label)})
            judged.add(query, doc, hit_entry.get("rating"), hit_path, "rating")
        if not hits:
            states.append((query, "zero", None))
        for name in _UNRATED_KEYS:
            for hit_path, unrated_doc in list_objects(
                detail.get(name) or [], f"{json_path}.{name}", label
            ):
                unrated.append(f"{query} {read_id(unrated_doc, '_id', hit_path, label)}")
        values += _read_value(detail, query, json_path, source)
    for query, failure in read_object(root, "failures", "", label).items():
        states.append((query, "failed", cell_text(failure)))
    values += _read_value(root, None, "the document", source)
    hit_scores = (
        [score for score in scores if score is not None] if _never_rise(queries, scores) else None
    )
    run = make_run(source.stem, queries, docs, hit_scores, label=label, states=states)
    qrels, notes = judged.qrels(source.stem)
    note_text = "judgments of retrieved documents only; the request has all"
    rated_queries = [] if qrels is None else qrels.table["query_id"].to_list()
    return FileContents(
        qrels=qrels if rated_queries else None,
        runs=(run,),
        documents=collect_document_rows(fields),
        values=pl.DataFrame(values, schema=VALUES, orient="row") if values else None,
        notes=(
            *Note.of(note_text, rated_queries),
            *(note for note in notes if "unrated" not in note.what),
            *Note.of("retrieved documents that are unrated", unrated),
        ),
    )


def _read_score(value: Any, json_path: str, label: str) -> float | None:
    return None if value is None else number(value, json_path, label)


def _never_rise(queries: list[str], scores: list[float | None]) -> bool:
    """True if every hit has a score, and none is above the one before."""
    if any(score is None for score in scores):
        return False
    rows = zip(queries, scores, strict=True)
    return all(
        query != next_query or (score or 0) >= (next_score or 0)
        for (query, score), (next_query, next_score) in pairwise(rows)
    )


def _read_fields(hit: Mapping[str, Any], hit_path: str, label: str) -> dict[str, str | None]:
    source = read_object(hit, "_source", f"{hit_path}.hit", label)
    hit_fields = source | read_object(hit, "fields", f"{hit_path}.hit", label)
    own_columns = {"query_id", "doc_id"}
    return {name: cell_text(value) for name, value in hit_fields.items() if name not in own_columns}


def _read_value(
    fields: Mapping[str, Any], query: str | None, json_path: str, source: InputFile
) -> list[tuple[str, str | None, str, float, None]]:
    """The value of a query, or of all of them, under the metric's name if given."""
    name = next((key for key in _VALUE_KEYS if fields.get(key) is not None), None)
    if name is None:
        return []
    details = read_object(fields, "metric_details", json_path, source.label)
    metric = next(iter(details), name)
    value = number(fields[name], f"'{name}' of {json_path}", source.label)
    return [(source.stem, query, metric, value, None)]


FORMAT = Format(
    name="rank-eval-response",
    title="Elasticsearch's ranking evaluation, response",
    suffixes=(".json",),
    sniff=sniff,
    read=read,
    holds=("runs", "qrels", "documents", "values"),
    detail=(
        "The answer to a _rank_eval request: the hits of each query are a run, the values of the "
        "metric are kept. Judgments are only those of retrieved documents, so that an ideal needs "
        "the request. The names of version 6 (quality_level, unknown_docs) are read too. It is "
        "not written."
    ),
)
