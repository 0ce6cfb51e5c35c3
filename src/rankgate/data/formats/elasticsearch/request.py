"""Elasticsearch's ranking evaluation: the request with its ratings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, BinaryIO

import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.columns import string_table
from rankgate.data.contents import FileContents
from rankgate.data.formats.collected import GrowingQrels
from rankgate.data.formats.format import Format, Loss
from rankgate.data.formats.writing import (
    cell_text,
    collect_grades,
    column_losses,
    find_losses,
    format_data,
    texts_by_query,
    write_json,
)
from rankgate.data.text.json_keys import has_keys, matches_key
from rankgate.data.text.json_reader import (
    list_objects,
    objects_under_key,
    read_id,
    read_object,
    read_text,
    require_object,
)
from rankgate.data.text.json_text import read_document

if TYPE_CHECKING:
    from rankgate.data.streams.source import InputFile

NAME = "rank-eval"
_DEFAULT_INDEX = "index"
_TEMPLATE = {
    "id": "query",
    "template": {"inline": {"query": {"query_string": {"query": "{{query}}"}}}},
}
_METRIC = {"dcg": {"k": 10, "normalize": True}}


def sniff(first_bytes: bytes, name: str) -> str | None:
    """Requests, each with an id, and ratings or a template."""
    if has_keys(first_bytes, "requests[].id") and matches_key(
        first_bytes, r"requests\[\]\.(ratings|template_id|request)"
    ):
        return "an object with requests that have an id and ratings"
    return None


def read(source: InputFile) -> FileContents:
    """Judgments of each request under its id; its parameters as columns of the query."""
    label = source.label
    root = require_object(read_document(source), source)
    judged, raw_requests, indices, rows = GrowingQrels(label), {}, {}, []
    for json_path, request in objects_under_key(root, "requests", "", label):
        query = read_id(request, "id", json_path, label)
        if query in raw_requests:
            raise InputError(
                f"{json_path} has id '{query}', as one before has.",
                source=label,
                code="duplicate-query",
            )
        judged.ask(query)
        raw_requests[query] = {key: value for key, value in request.items() if key != "ratings"}
        params = read_object(request, "params", json_path, label)
        rows.append({"query_id": query, "text": _query_text(query, params)})
        for rating_path, rating in objects_under_key(
            {"ratings": [], **request}, "ratings", json_path, label
        ):
            doc = read_id(rating, "_id", rating_path, label)
            indices[doc] = read_text(rating, "_index", rating_path, label)
            judged.add(query, doc, rating.get("rating"), rating_path, "rating")
    other_fields = {key: value for key, value in root.items() if key != "requests"}
    list(
        list_objects(other_fields.get("templates") or [], "templates", label)
    )  # or it cannot be written
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


def _query_text(query: str, params: Mapping[str, Any]) -> str:
    """The text of the query: the parameter with such a name, or the only string parameter."""
    strings = {key: value for key, value in params.items() if isinstance(value, str) and value}
    for name in ("query", "q", "query_string", "text"):
        if name in strings:
            return cell_text(strings[name]) or query
    return next(iter(strings.values())) if len(strings) == 1 else query


def write(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """Write the request; a query without a request of its own uses a template.

    Raises:
        InputError: there are no judgments; a grade that is not a whole number from 0, which
            Elasticsearch refuses.
    """
    qrels = contents.judgments("")
    invalid_grades = qrels.table.filter(
        (pl.col("grade") < 0) | (pl.col("grade") != pl.col("grade").round())
    )
    if len(invalid_grades):
        query, doc, grade = invalid_grades.select("query_id", "doc_id", "grade").row(0)
        problem = (
            f"grade {grade:g} of document '{doc}' for query '{query}': Elasticsearch takes whole "
            f"grades from 0; map the {len(invalid_grades)} others first."
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
        new_request = {
            "id": query,
            "template_id": "query",
            "params": {"query": text.get(query, query)},
        }
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
    write_json(
        out,
        {"requests": requests, **({"templates": templates} if templates else {}), **other_fields},
    )
    return (
        *find_losses(contents, NAME, "qrels", "unjudged", "queries"),
        *column_losses("queries", contents.queries, ("query_id", "text")),
    )


FORMAT = Format(
    name=NAME,
    title="Elasticsearch's ranking evaluation, request",
    suffixes=(".json",),
    sniff=sniff,
    read=read,
    write=write,
    holds=("qrels", "queries"),
    loses="raters, scales, fractions of grades",
    detail=(
        "The body of a _rank_eval request: requests with their ratings, templates and the metric. "
        "A query is called by the id of its request; indices, queries and templates come back as "
        "they were. Queries from elsewhere are written with a template query over query_string, "
        "to be replaced by your own."
    ),
)
