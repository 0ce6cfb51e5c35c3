"""Elasticsearch's ranking evaluation: the request with ratings, and the response with documents."""

from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING, BinaryIO

import polars as pl

from rankgate.core.errors import InputError
from rankgate.core.present.number_formats import count_noun
from rankgate.data.file_contents import FileContents
from rankgate.data.foreign_frames import string_table
from rankgate.data.formats.collected_judgments import VALUES, GrowingQrels, collect_document_rows, make_run
from rankgate.data.formats.format import Format, Loss, Note
from rankgate.data.formats.format_writing import (
    cell_text,
    collect_grades,
    column_losses,
    find_losses,
    format_data,
    texts_by_query,
    write_json,
)
from rankgate.data.text.json_text import (
    has_keys,
    list_objects,
    matches_key,
    number,
    objects_under_key,
    read_document,
    read_id,
    read_object,
    read_text,
    require_object,
)

if TYPE_CHECKING:
    from rankgate.core.value_types import Json, JsonObject
    from rankgate.data.streams.source import InputFile


NAME = "rank-eval"
_DEFAULT_INDEX = "index"
_TEMPLATE = {"id": "query", "template": {"inline": {"query": {"query_string": {"query": "{{query}}"}}}}}
_METRIC = {"dcg": {"k": 10, "normalize": True}}


def sniff_rank_eval(first_bytes: bytes, name: str) -> str | None:
    """Recognise requests that have an id, and ratings or a template."""
    if has_keys(first_bytes, "requests[].id") and matches_key(
        first_bytes, r"requests\[\]\.(ratings|template_id|request)"
    ):
        return "an object with requests that have an id and ratings"
    return None


def read_rank_eval(source: InputFile) -> FileContents:
    """Judgments of each request under its id; its parameters as columns of the query."""
    label = source.label
    root = require_object(read_document(source), source)
    judged, raw_requests, indices, rows = GrowingQrels(label), {}, {}, []
    for json_path, request in objects_under_key(root, "requests", "", label):
        query = read_id(request, "id", json_path, label)
        if query in raw_requests:
            raise InputError(
                f"{json_path} repeats the id '{query}' of an earlier request; give each its own.",
                source=label,
                code="duplicate-query",
            )
        judged.ask(query)
        raw_requests[query] = {key: value for key, value in request.items() if key != "ratings"}
        params = read_object(request, "params", json_path, label)
        rows.append({"query_id": query, "text": _query_text(query, params)})
        for rating_path, rating in objects_under_key({"ratings": [], **request}, "ratings", json_path, label):
            doc = read_id(rating, "_id", rating_path, label)
            indices[doc] = read_text(rating, "_index", rating_path, label)
            judged.add(query, doc, rating.get("rating"), rating_path, "rating")
    other_fields = {key: value for key, value in root.items() if key != "requests"}
    list(
        list_objects(other_fields.get("templates") or [], "templates", label)
    )  # otherwise the file cannot be written
    qrels, notes = judged.qrels(source.stem)
    has_texts = any(row["text"] != row["query_id"] for row in rows)
    extra = {"request": other_fields, "requests": raw_requests, "indices": indices}
    return FileContents(
        qrels=qrels,
        documents=judged.pool(),
        queries=string_table(rows) if has_texts else None,
        extra={NAME: extra},
        notes=notes,
    )


def _query_text(query: str, params: JsonObject) -> str:
    """The text of the query: the parameter with a usual name, or the only string parameter."""
    strings = {key: value for key, value in params.items() if isinstance(value, str) and value}
    for name in ("query", "q", "query_string", "text"):
        if name in strings:
            return cell_text(strings[name]) or query
    return next(iter(strings.values())) if len(strings) == 1 else query


def write_rank_eval(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """Write the request; queries without a request in the data use a template.

    Raises:
        InputError: there are no judgments, or a grade is not a whole number from 0, which
            Elasticsearch rejects.
    """
    qrels = contents.judgments("")
    invalid_grades = qrels.table.filter((pl.col("grade") < 0) | (pl.col("grade") != pl.col("grade").round()))
    if len(invalid_grades):
        query, doc, grade = invalid_grades.select("query_id", "doc_id", "grade").row(0)
        problem = (
            f"grade {grade:g} of document '{doc}' for query '{query}': Elasticsearch takes whole grades from "
            f"0; map the {count_noun(len(invalid_grades), 'other')} first."
        )
        raise InputError(problem, code="grade-outside-scale")
    format_extra, text, grades = (
        format_data(contents, NAME),
        texts_by_query(contents),
        collect_grades(qrels),
    )
    raw_requests, indices = format_extra.get("requests", {}), format_extra.get("indices", {})
    default_index = next((index for index in indices.values() if index), _DEFAULT_INDEX)
    requests = []
    for query in dict.fromkeys([*(query for query in raw_requests if query in grades), *grades]):
        new_request = {"id": query, "template_id": "query", "params": {"query": text.get(query, query)}}
        ratings = [
            {"_index": indices.get(doc) or default_index, "_id": doc, "rating": grade}
            for doc, grade in grades[query].items()
        ]
        requests.append({**raw_requests.get(query, new_request), "ratings": ratings})
    other_fields = dict(format_extra.get("request", {"metric": _METRIC}))
    templates = list(other_fields.pop("templates", None) or [])
    if any(query not in raw_requests for query in grades) and not any(
        template.get("id") == "query" for template in templates
    ):
        templates.append(_TEMPLATE)
    write_json(out, {"requests": requests, **({"templates": templates} if templates else {}), **other_fields})
    return (
        *find_losses(contents, NAME, "qrels", "unjudged", "queries"),
        *column_losses("queries", contents.queries, ("query_id", "text")),
    )


RANK_EVAL_FORMAT = Format(
    name=NAME,
    title="Elasticsearch's ranking evaluation, request",
    suffixes=(".json",),
    sniff=sniff_rank_eval,
    read=read_rank_eval,
    write=write_rank_eval,
    holds=("qrels", "queries"),
    loses="raters, scales, fractions of grades",
    detail=(
        "The body of a _rank_eval request: requests with their ratings, templates and the metric. The id of "
        "a request is the id of its query; indices, queries and templates are written unchanged. Queries "
        "from other formats are written with a template over query_string; replace it by your own."
    ),
)


_VALUE_KEYS = ("metric_score", "quality_level")  # the second is of version 6
_UNRATED_KEYS = ("unrated_docs", "unknown_docs")


def sniff_rank_eval_response(first_bytes: bytes, name: str) -> str | None:
    """Recognise details of each query with hits and ratings."""
    if matches_key(
        first_bytes, r"details\..+\.(hits|metric_score|quality_level|unrated_docs|unknown_docs).*"
    ):
        return "an object with details of each query: its value and its hits"
    return None


def read_rank_eval_response(source: InputFile) -> FileContents:
    """A run from the hits, judgments from the rated hits, and the values of the metric.

    Scores are those of the hits if every hit has a score and they never rise; otherwise -rank.
    """
    label = source.label
    root = require_object(read_document(source), source)
    judged, queries, docs, scores, unrated = GrowingQrels(label), [], [], [], []
    fields: list[dict[str, str | None]] = []
    values: list[tuple[object, ...]] = []
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
            for hit_path, unrated_doc in list_objects(detail.get(name) or [], f"{json_path}.{name}", label):
                unrated.append(f"{query} {read_id(unrated_doc, '_id', hit_path, label)}")
        values += _read_value(detail, query, json_path, source)
    for query, failure in read_object(root, "failures", "", label).items():
        states.append((query, "failed", cell_text(failure)))
    values += _read_value(root, None, "the document", source)
    hit_scores = [score for score in scores if score is not None] if _never_rise(queries, scores) else None
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


def _read_score(value: Json, json_path: str, label: str) -> float | None:
    return None if value is None else number(value, json_path, label)


def _never_rise(queries: list[str], scores: list[float | None]) -> bool:
    """True if every hit has a score, and no score is above the previous one."""
    if any(score is None for score in scores):
        return False
    rows = zip(queries, scores, strict=True)
    return all(
        query != next_query or (score or 0) >= (next_score or 0)
        for (query, score), (next_query, next_score) in pairwise(rows)
    )


def _read_fields(hit: JsonObject, hit_path: str, label: str) -> dict[str, str | None]:
    source = read_object(hit, "_source", f"{hit_path}.hit", label)
    hit_fields = source | read_object(hit, "fields", f"{hit_path}.hit", label)
    own_columns = {"query_id", "doc_id"}
    return {name: cell_text(value) for name, value in hit_fields.items() if name not in own_columns}


def _read_value(
    fields: JsonObject, query: str | None, json_path: str, source: InputFile
) -> list[tuple[str, str | None, str, float, None]]:
    """The metric's value for a query, or for all queries if ``query`` is None."""
    name = next((key for key in _VALUE_KEYS if fields.get(key) is not None), None)
    if name is None:
        return []
    details = read_object(fields, "metric_details", json_path, source.label)
    metric = next(iter(details), name)
    value = number(fields[name], f"'{name}' of {json_path}", source.label)
    return [(source.stem, query, metric, value, None)]


RANK_EVAL_RESPONSE_FORMAT = Format(
    name="rank-eval-response",
    title="Elasticsearch's ranking evaluation, response",
    suffixes=(".json",),
    sniff=sniff_rank_eval_response,
    read=read_rank_eval_response,
    holds=("runs", "qrels", "documents", "values"),
    detail=(
        "The answer to a _rank_eval request: the hits of each query become a run, and the values of the "
        "metric are kept. Only retrieved documents have judgments; ideal rankings need the judgments of the "
        "request. The names of version 6 (quality_level, unknown_docs) are read too. This format is not "
        "written."
    ),
)
