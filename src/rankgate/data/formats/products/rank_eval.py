"""Elasticsearch's ranking evaluation: the request with ratings, and the response with documents."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

import polars as pl

from rankgate.core.errors import InputError
from rankgate.core.present.number_formats import count_noun
from rankgate.data.file_contents import FileContents
from rankgate.data.formats.collected_judgments import VALUES, GrowingQrels, GrowingRun
from rankgate.data.formats.format import Format, Loss, Note
from rankgate.data.formats.format_writing import (
    collect_grades,
    find_losses,
    format_data,
    texts_by_query,
    write_json,
)
from rankgate.data.text.json_text import JsonRecord, detect_keys, read_record

if TYPE_CHECKING:
    from rankgate.data.streams.source import InputFile


NAME = "rank-eval"
_DEFAULT_INDEX = "index"
_TEXT_PARAMETERS = ("query", "q", "query_string", "text")
_TEMPLATE = {"id": "query", "template": {"inline": {"query": {"query_string": {"query": "{{query}}"}}}}}
_METRIC = {"dcg": {"k": 10, "normalize": True}}


def read_rank_eval(source: InputFile) -> FileContents:
    """Judgments of each request under its id; its parameters as columns of the query."""
    root = read_record(source)
    judged, raw_requests, indices = GrowingQrels(source), {}, {}
    for request in root.records("requests", required=True):
        query = request.id("id")
        if query in raw_requests:
            problem = f"{request.path} repeats the id '{query}' of an earlier request; give each its own."
            raise request.error(problem, "duplicate-query")
        # the text of the query: the parameter with a usual name, or the only string parameter
        strings = {
            key: text for key, text in request.record("params").items() if isinstance(text, str) and text
        }
        usual_text = next((strings[name] for name in _TEXT_PARAMETERS if name in strings), query)
        judged.ask(query, text=next(iter(strings.values())) if len(strings) == 1 else usual_text)
        raw_requests[query] = request.values_except("ratings")
        for rating in request.records("ratings"):
            document = rating.id("_id")
            indices[document] = rating.text("_index")
            judged.add_rating(query, document, rating)
    list(root.records("templates", nullable=True))  # otherwise the file cannot be written
    has_texts = any(fields["text"] != query for query, fields in judged.asked.items())
    extra = {"request": root.values_except("requests"), "requests": raw_requests, "indices": indices}
    return judged.contents(queries=judged.texts() if has_texts else None, extra={NAME: extra})


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
    format_extra, text, grades = format_data(contents, NAME), texts_by_query(contents), collect_grades(qrels)
    raw_requests, indices = format_extra.get("requests", {}), format_extra.get("indices", {})
    default_index = next(filter(None, indices.values()), _DEFAULT_INDEX)
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
    if grades.keys() - raw_requests and all(template.get("id") != "query" for template in templates):
        templates.append(_TEMPLATE)
    write_json(out, {"requests": requests, **({"templates": templates} if templates else {}), **other_fields})
    return find_losses(contents, NAME, "qrels", "unjudged", "queries", queries=("text",))


RANK_EVAL_FORMAT = Format(
    name=NAME,
    title="Elasticsearch's ranking evaluation, request",
    suffixes=(".json",),
    sniff=detect_keys(
        (
            "an object with requests that have an id and ratings",
            "requests[].id",
            "requests[].ratings|requests[].template_id|requests[].request",
        )
    ),
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


def read_rank_eval_response(source: InputFile) -> FileContents:
    """A run from the hits, judgments from the rated hits, and the values of the metric.

    Scores are those of the hits if every hit has a score and they never rise; otherwise -rank.
    """
    root = read_record(source)
    judged, ranked, unrated = GrowingQrels(source), GrowingRun(source), list[str]()
    values: list[tuple[object, ...]] = []
    states: list[tuple[str, str, str | None]] = []
    details = root.record("details")
    for query in details:
        detail = details.record(query)
        judged.ask(query)
        hit_entries = list(detail.records("hits", nullable=True))
        for hit_entry in hit_entries:
            hit = hit_entry.record("hit")
            document = hit.id("_id")
            ranked.rank(query, document, hit.number("_score"))
            stored, requested = (hit.record(key).texts("query_id", "doc_id") for key in ("_source", "fields"))
            ranked.describe(query, document, {**stored, **requested})
            judged.add_rating(query, document, hit_entry)
        if not hit_entries:
            states.append((query, "zero", None))
        for name in _UNRATED_KEYS:
            unrated += [
                f"{query} {unrated_doc.id('_id')}" for unrated_doc in detail.records(name, nullable=True)
            ]
        values += _read_value(detail, query, source)
    states += [(query, "failed", text) for query, text in root.record("failures").texts().items()]
    values += _read_value(root, None, source)
    qrels, notes = judged.qrels()
    rated_queries = [] if qrels is None else qrels.table["query_id"].to_list()
    return FileContents(
        qrels=qrels if rated_queries else None,
        runs=(ranked.run(states=states, falling=True),),
        documents=ranked.documents(),
        values=pl.DataFrame(values, schema=VALUES, orient="row") if values else None,
        notes=(
            *Note.of("judgments of retrieved documents only; the request has all", rated_queries),
            *(note for note in notes if "unrated" not in note.what),
            *Note.of("retrieved documents that are unrated", unrated),
        ),
    )


def _read_value(
    details: JsonRecord, query: str | None, source: InputFile
) -> list[tuple[str, str | None, str, float | None, None]]:
    """The metric's value for a query, or for all queries if ``query`` is None."""
    name = next((key for key in _VALUE_KEYS if details.get(key) is not None), None)
    if name is None:
        return []
    metric = next(iter(details.record("metric_details")), name)
    return [(source.stem, query, metric, details.number(name), None)]


RANK_EVAL_RESPONSE_FORMAT = Format(
    name="rank-eval-response",
    title="Elasticsearch's ranking evaluation, response",
    suffixes=(".json",),
    sniff=detect_keys(
        (
            "an object with details of each query: its value and its hits",
            (
                "details.*.hits|details.*.metric_score|details.*.quality_level"
                "|details.*.unrated_docs|details.*.unknown_docs"
            ),
        )
    ),
    read=read_rank_eval_response,
    holds=("runs", "qrels", "documents", "values"),
    detail=(
        "The answer to a _rank_eval request: the hits of each query become a run, and the values of the "
        "metric are kept. Only retrieved documents have judgments; ideal rankings need the judgments of the "
        "request. The names of version 6 (quality_level, unknown_docs) are read too. This format is not "
        "written."
    ),
)
