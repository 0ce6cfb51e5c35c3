"""Elasticsearch's ranking evaluation: the request with its ratings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, BinaryIO

import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.columns import strings
from rankgate.data.contents import FileContents
from rankgate.data.formats.collected import GrowingQrels
from rankgate.data.formats.format import Format, Loss
from rankgate.data.formats.writing import by_query, lost, lost_columns, own, put, text_of, texts
from rankgate.data.text.json_keys import have, matching
from rankgate.data.text.json_reader import a_text, an_id, an_object, each, inside, whole_object
from rankgate.data.text.json_text import document

if TYPE_CHECKING:
    from rankgate.data.streams.source import InputFile

NAME = "rank-eval"
_INDEX = "index"
_TEMPLATE = {
    "id": "query",
    "template": {"inline": {"query": {"query_string": {"query": "{{query}}"}}}},
}
_METRIC = {"dcg": {"k": 10, "normalize": True}}


def sniff(head: bytes, name: str) -> str | None:
    """Requests, each with an id, and ratings or a template."""
    if have(head, "requests[].id") and matching(
        head, r"requests\[\]\.(ratings|template_id|request)"
    ):
        return "an object with requests that have an id and ratings"
    return None


def read(source: InputFile) -> FileContents:
    """Judgments of each request, called by its id; its parameters as columns of the query."""
    label = source.label
    found = whole_object(document(source), source)
    judged, raw, indices, rows = GrowingQrels(label), {}, {}, []
    for where, request in inside(found, "requests", "", label):
        query = an_id(request, "id", where, label)
        if query in raw:
            raise InputError(
                f"{where} has id '{query}', as one before has.",
                source=label,
                code="duplicate-query",
            )
        judged.ask(query)
        raw[query] = {key: value for key, value in request.items() if key != "ratings"}
        params = an_object(request, "params", where, label)
        rows.append({"query_id": query, "text": _words(query, params)})
        for at, rating in inside({"ratings": [], **request}, "ratings", where, label):
            doc = an_id(rating, "_id", at, label)
            indices[doc] = a_text(rating, "_index", at, label)
            judged.add(query, doc, rating.get("rating"), at, "rating")
    rest = {key: value for key, value in found.items() if key != "requests"}
    list(each(rest.get("templates") or [], "templates", label))  # or it cannot be written
    qrels, notes = judged.qrels(source.stem)
    worded = any(row["text"] != row["query_id"] for row in rows)
    extra = {"request": rest, "requests": raw, "indices": indices}
    return FileContents(
        qrels=qrels,
        documents=judged.pool(),
        queries=strings(rows) if worded else None,
        extra={NAME: extra},
        notes=notes,
    )


def _words(query: str, params: Mapping[str, Any]) -> str:
    """What is asked: the parameter that is called so, or the only one that is a string."""
    strings = {key: value for key, value in params.items() if isinstance(value, str) and value}
    for name in ("query", "q", "query_string", "text"):
        if name in strings:
            return text_of(strings[name]) or query
    return next(iter(strings.values())) if len(strings) == 1 else query


def write(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """The request; a query that has none of its own is asked through a template.

    Raises:
        InputError: there are no judgments; a grade that is not a whole number from 0, which
            Elasticsearch refuses.
    """
    qrels = contents.judgments("")
    odd = qrels.table.filter((pl.col("grade") < 0) | (pl.col("grade") != pl.col("grade").round()))
    if len(odd):
        query, doc, grade = odd.select("query_id", "doc_id", "grade").row(0)
        problem = (
            f"grade {grade:g} of document '{doc}' for query '{query}': Elasticsearch takes whole "
            f"grades from 0; map the {len(odd)} others first."
        )
        raise InputError(problem, code="grade-outside-scale")
    kept, text, grades = own(contents, NAME), texts(contents), by_query(qrels)
    raw, indices = kept.get("requests", {}), kept.get("indices", {})
    usual = next((index for index in indices.values() if index), _INDEX)
    requests = []
    for query in dict.fromkeys([*(query for query in raw if query in grades), *grades]):
        new = {"id": query, "template_id": "query", "params": {"query": text.get(query, query)}}
        rated = [
            {"_index": indices.get(doc) or usual, "_id": doc, "rating": grade}
            for doc, grade in grades[query].items()
        ]
        requests.append({**raw.get(query, new), "ratings": rated})
    rest = dict(kept.get("request", {"metric": _METRIC}))
    templates = list(rest.pop("templates", None) or [])
    if any(query not in raw for query in grades) and not any(
        t.get("id") == "query" for t in templates
    ):
        templates.append(_TEMPLATE)
    put(out, {"requests": requests, **({"templates": templates} if templates else {}), **rest})
    return (
        *lost(contents, NAME, "qrels", "unjudged", "queries"),
        *lost_columns("queries", contents.queries, ("query_id", "text")),
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
