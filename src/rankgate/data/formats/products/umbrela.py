"""UMBRELA requests and judgments: one JSON object per line.

A request is a query and its candidates. A judgment has query, passage and model judgment.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO

import polars as pl

from rankgate.core.declare.flag_words import parse_flag
from rankgate.core.errors import DuplicateError, InputError
from rankgate.data.file_contents import FileContents, Note
from rankgate.data.formats.collected_judgments import (
    GrowingRatings,
    collect_document_rows,
    make_run,
    zero_states,
)
from rankgate.data.formats.format import Format, Loss
from rankgate.data.formats.format_writing import (
    cell_text,
    column_losses,
    find_losses,
    format_data,
    ranking_by_query,
    rows_by_id,
    texts_by_query,
)
from rankgate.data.formats.tables.schemas import run_losses
from rankgate.data.qrels import Scale
from rankgate.data.text.json_text import (
    describe_type,
    find_key_paths,
    format_json,
    identifier,
    number,
    read_json_objects,
    read_text,
    whole_numbers,
)
from rankgate.data.text.text_values import BOM

if TYPE_CHECKING:
    from rankgate.core.value_types import Json, JsonObject
    from rankgate.data.streams.source import InputFile


_UMBRELA_REQUESTS_NAME = "umbrela-requests"


def sniff_umbrela_requests(first_bytes: bytes, name: str) -> str | None:
    """An object with a query and candidates."""
    if first_bytes.removeprefix(BOM).lstrip().startswith(b"{"):
        key_paths = find_key_paths(first_bytes)
        if {"query", "candidates[]"} <= key_paths:
            return "an object with query and candidates"
    return None


def read_umbrela_requests(source: InputFile) -> FileContents:
    """A run from the candidates in order (or by their scores), their texts, and the queries.

    A query or candidate that is a string is its own id.
    """
    pairs: list[tuple[str, str, float | None]] = []
    queries: dict[str, str | None] = {}
    fields: list[dict[str, str | None]] = []
    for line, value in read_json_objects(source):
        query, text = _read_query(value.get("query"), source, line)
        if query in queries:
            problem = f"query '{query}' is already in an earlier line; keep one."
            raise InputError(problem, source=source.label, line=line, code="duplicate-query")
        queries[query] = text
        candidates = value.get("candidates")
        if not isinstance(candidates, list):
            problem = f"'candidates' is {describe_type(candidates)}, where a list is needed."
            raise InputError(problem, source=source.label, line=line, code="wrong-type")
        documents_so_far: set[str] = set()
        for candidate in candidates:
            document, score, candidate_fields = _read_candidate(candidate, source, line)
            if document in documents_so_far:
                problem = f"candidate '{document}' appears twice for query '{query}'; keep one."
                raise DuplicateError(problem, source=source.label, line=line)
            documents_so_far.add(document)
            pairs.append((query, document, score))
            if candidate_fields:
                fields.append({"query_id": query, "doc_id": document, **candidate_fields})
    if not queries:
        raise InputError("there are no queries in it.", source=source.label, code="no-queries")
    return _make_contents(pairs, queries, fields, source)


def write_umbrela_requests(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """Write an object for each query with its candidates, best first, from the first run."""
    run = contents.runs[0] if contents.runs else contents.ranking("")
    text, fields = texts_by_query(contents), rows_by_id(contents.documents, "doc_id")
    for query, rows in ranking_by_query(run).items():
        query_object = {"text": text.get(query, query), "qid": query}
        candidates: list[JsonObject] = [
            {"doc": {**_make_document(fields.get(document, {}), document)}, "docid": document, "score": score}
            for document, score in rows
        ]
        out.write(format_json({"query": query_object, "candidates": candidates}).encode() + b"\n")
    return (
        *find_losses(contents, _UMBRELA_REQUESTS_NAME, "runs", "queries", "documents", runs=1),
        *column_losses("queries", contents.queries, ("query_id", "text")),
        *run_losses(run),
    )


def _read_query(value: Json, source: InputFile, line: int) -> tuple[str, str | None]:
    """The id of the query, and its text if it differs from the id."""
    if not isinstance(value, dict):
        return identifier(value, "the query", source.label, line), None
    text = value.get("text")
    if text is not None and not isinstance(text, str):
        problem = f"the text of the query is {describe_type(text)}, where a string is needed."
        raise InputError(problem, source=source.label, line=line, code="wrong-type")
    id_ = value.get("qid")
    if id_ is None:
        return identifier(text, "the text of the query", source.label, line), None
    return identifier(id_, "qid", source.label, line), text


def _read_candidate(
    value: Json, source: InputFile, line: int
) -> tuple[str, float | None, dict[str, str | None]]:
    """The id, score and fields of a candidate; a text is its own id."""
    if not isinstance(value, dict):
        return identifier(value, "a candidate", source.label, line), None, {}
    content = value.get("doc")
    raw_fields = content if isinstance(content, dict) else {"segment": content}
    fields_by_name = {
        _field_name(name): cell_text(field_value)
        for name, field_value in raw_fields.items()
        if name not in _REQUEST_IDS
    }
    fields_by_name = {
        name: field_value for name, field_value in fields_by_name.items() if field_value is not None
    }
    id_ = value.get("docid", fields_by_name.get("text"))
    score = value.get("score")
    score_label = f"the score of candidate '{id_}'"[:80]
    candidate_score = None if score is None else number(score, score_label, source.label, line)
    return identifier(id_, "docid", source.label, line), candidate_score, fields_by_name


_REQUEST_IDS = ("query_id", "doc_id", "text")  # the names of our own columns


def _field_name(name: str) -> str:
    """Our name for a field: UMBRELA's ``segment`` is our ``text``."""
    return "text" if name == "segment" else name


def _make_document(fields: dict[str, str], document: str) -> dict[str, str]:
    """The fields of a document; its id if it has no text."""
    other_fields = {name: field_value for name, field_value in fields.items() if name not in _REQUEST_IDS}
    return {"segment": fields.get("text", document), **other_fields}


def _make_contents(
    pairs: list[tuple[str, str, float | None]],
    queries: dict[str, str | None],
    fields: list[dict[str, str | None]],
    source: InputFile,
) -> FileContents:
    scores = [score for *_, score in pairs if score is not None]
    scores_or_none = scores if len(scores) == len(pairs) else None
    with_candidates = {query for query, *_ in pairs}
    empty_queries = [query for query in queries if query not in with_candidates]
    ids = [query for query, *_ in pairs], [document for _, document, _ in pairs]
    run = make_run(source.stem, *ids, scores_or_none, label=source.label, states=zero_states(empty_queries))
    text_rows = [(query, text) for query, text in queries.items() if text is not None]
    return FileContents(
        runs=(run,),
        queries=pl.DataFrame(text_rows, schema=["query_id", "text"], orient="row") if text_rows else None,
        documents=collect_document_rows(fields) if fields else None,
    )


UMBRELA_REQUESTS_FORMAT = Format(
    name=_UMBRELA_REQUESTS_NAME,
    title="candidates for UMBRELA to judge",
    suffixes=(".jsonl", ".json"),
    sniff=sniff_umbrela_requests,
    read=read_umbrela_requests,
    write=write_umbrela_requests,
    holds=("runs", "queries", "documents"),
    loses="judgments, ratings; all runs but the first, its tag",
    detail=(
        'An object a line: {"query": {"text": ..., "qid": ...}, "candidates": [{"doc": '
        '{"segment": ...}, "docid": ...}]}; a string may replace a query or a candidate, and is its own id. '
        "The candidates are a run, by their scores if all have one, otherwise in their order; segment is the "
        "document's text."
    ),
)


_UMBRELA_NAME = "umbrela"
_REQUIRED_KEYS = ("query", "passage", "judgment")
_GRADES = (0, 1, 2, 3)
_FAILED_REASON = "the answer could not be read (result_status 0)"
_JUDGMENT_IDS = {"query": ("qid", "text"), "passage": ("docid", "segment")}
_ANSWER_KEYS = ("prompt", "prediction")  # the prompt of the model and its answer


def sniff_umbrela(first_bytes: bytes, name: str) -> str | None:
    """The first line is an object with query, passage and judgment."""
    line = first_bytes.removeprefix(BOM).lstrip().split(b"\n", 1)[0]
    if line.startswith(b"{") and set(_REQUIRED_KEYS) <= find_key_paths(line):
        return "the first line is an object with query, passage and judgment"
    return None


def read_umbrela(source: InputFile) -> FileContents:
    """Ratings of the model, and judgments if no pair has several grades.

    ``result_status`` 0 means that the answer could not be parsed and that the 0 in ``judgment``
    was put in its place: it is not a grade. Texts are ids where ``qid`` and ``docid`` are missing.
    """
    collected = GrowingRatings(source.label)
    queries: dict[str, str | None] = {}
    documents: dict[str, str | None] = {}
    model_answers: list[dict[str, str | None]] = []
    failed: list[str] = []
    for line, value in read_json_objects(source):
        line_label = f"line {line}"
        query, text = _read_id_and_text(value, "query", source, line)
        document, passage = _read_id_and_text(value, "passage", source, line)
        model = read_text(value, "model", line_label, source.label) or _UMBRELA_NAME
        lacks_grade = not _succeeded(value, source, line) or value.get("judgment") is None
        grade, reason = (None, _FAILED_REASON) if lacks_grade else (value["judgment"], None)
        comment = read_text(value, "reasoning", line_label, source.label)
        rating_path = f"the judgment of {line_label}"
        collected.add((query, document), model, grade, rating_path, reason=reason, comment=comment)
        failed += [f"line {line}"] if lacks_grade else []
        queries.setdefault(query, text)
        documents.setdefault(document, passage)
        answer_fields = {name: read_text(value, name, line_label, source.label) for name in _ANSWER_KEYS}
        model_answers.append({"query_id": query, "doc_id": document, "rater": model, **answer_fields})
    scale = Scale(float(min(_GRADES)), float(max(_GRADES)))
    ratings = collected.ratings(source.stem, scale)
    if ratings is None:
        raise InputError("no judgments found.", source=source.label, code="no-judgments")
    return FileContents(
        qrels=collected.qrels(source.stem, scale),
        ratings=ratings,
        queries=_make_text_table("query_id", queries),
        documents=_make_text_table("doc_id", documents),
        extra={_UMBRELA_NAME: {"answers": model_answers}},
        notes=Note.of("answers that could not be read, left unrated and not 0", failed),
    )


def _succeeded(value: JsonObject, source: InputFile, line: int) -> bool:
    """True if the answer could be parsed; the status may be a string in some files."""
    status = value.get("result_status", 1)
    has_succeeded = parse_flag(status)
    if has_succeeded is None:
        status_text = "null" if status is None else repr(status)[:40]
        problem = (
            f"result_status {status_text} is neither 0 (the answer could not be read, so there is no "
            "judgment) nor 1; write 0 or 1."
        )
        raise InputError(problem, source=source.label, line=line, code="wrong-type")
    return has_succeeded


def write_umbrela(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """Write an object per rating, status 0 without a grade; judgments have the model "rankgate"."""
    ratings = contents.ratings
    rows = (
        ratings.table
        if ratings
        else contents.judgments("").table.with_columns(
            rater=pl.lit("rankgate"), comment=pl.lit(None, pl.String)
        )
    )
    invalid_grades = rows.filter(~pl.col("grade").is_in([float(grade) for grade in _GRADES]))
    if len(invalid_grades):
        problem = f"grade {invalid_grades['grade'][0]:g}, where UMBRELA has 0, 1, 2 and 3; scale the grades."
        raise InputError(problem, code="grade-outside-scale")
    text, fields = texts_by_query(contents), rows_by_id(contents.documents, "doc_id")
    answers = format_data(contents, _UMBRELA_NAME).get("answers") or []
    answer_of_rating = {(answer["query_id"], answer["doc_id"], answer["rater"]): answer for answer in answers}
    for row in rows.select("query_id", "doc_id", "rater", "grade", "comment").iter_rows(named=True):
        query, document = row["query_id"], row["doc_id"]
        passage = fields.get(document, {}).get("text", document)
        model_answer = answer_of_rating.get((query, document, row["rater"]), {})
        output_fields = {"model": row["rater"], "query": text.get(query, query), "passage": passage}
        output_fields |= {"qid": query} if output_fields["query"] != query else {}
        output_fields |= {"docid": document} if passage != document else {}
        output_fields |= {name: model_answer.get(name) for name in _ANSWER_KEYS}
        has_grade = row["grade"] is not None
        output_fields |= {
            "judgment": whole_numbers(row["grade"]) if has_grade else 0,
            "result_status": int(has_grade),
        }
        output_fields |= {} if row["comment"] is None else {"reasoning": row["comment"]}
        out.write(format_json(output_fields).encode() + b"\n")
    return _find_losses(contents)


def _find_losses(contents: FileContents) -> tuple[Loss, ...]:
    rating_parts = ("ratings",) if contents.ratings else ("qrels",)
    kept_parts = ("queries", "documents", *rating_parts, *(("qrels", "scale") if contents.ratings else ()))
    losses = list(find_losses(contents, _UMBRELA_NAME, *kept_parts))
    losses += column_losses("queries", contents.queries, ("query_id", "text"))
    losses += column_losses("documents", contents.documents, ("query_id", "doc_id", "text"))
    if contents.ratings:
        table = contents.ratings.table
        names = [name for name in ("at", "seconds", "guideline") if table[name].count()]
        losses += Loss.of("fields of ratings", names)
        reasons = table.filter(pl.col("reason").is_not_null() & (pl.col("reason") != _FAILED_REASON))
        losses += Loss.of("reasons why there is no grade", reasons["reason"].to_list())
    return tuple(losses)


def _read_id_and_text(row: JsonObject, noun: str, source: InputFile, line: int) -> tuple[str, str | None]:
    """The id of a query or passage, and its text; the text is the id if there is none."""
    id_, key = _JUDGMENT_IDS[noun]
    value: Any = row.get(noun)
    given_id = row.get(id_)
    if isinstance(value, dict):
        value, given_id = value.get(key), value.get(id_, given_id)
    if not isinstance(value, str) or not value:
        problem = f"no text of the {noun}; each line needs one."
        raise InputError(problem, source=source.label, line=line, code="missing-text")
    if given_id is None:
        return value, None
    return identifier(given_id, f"the id of the {noun}", source.label, line), value


def _make_text_table(id_: str, text_of_id: dict[str, str | None]) -> pl.DataFrame | None:
    """Ids with their texts; None if the texts are the ids."""
    rows = [(name, text) for name, text in text_of_id.items() if text is not None]
    schema = {id_: pl.String, "text": pl.String}
    return pl.DataFrame(rows, schema=schema, orient="row") if rows else None


UMBRELA_FORMAT = Format(
    name=_UMBRELA_NAME,
    title="UMBRELA's judgments",
    suffixes=(".jsonl",),
    sniff=sniff_umbrela,
    read=read_umbrela,
    write=write_umbrela,
    holds=("qrels", "ratings", "queries", "documents"),
    loses="runs; times, guidelines, grades other than 0 to 3",
    detail=(
        "An object a line with model, query, passage, judgment and result_status. A result_status of 0 means "
        "that the model's answer could not be parsed and the judgment 0 is a placeholder: it is read as no "
        "grade, with that reason. The texts are the ids, unless qid and docid are there too. The model is "
        "the rater; prompt and prediction come back."
    ),
)
