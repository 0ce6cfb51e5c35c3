"""UMBRELA requests and judgments: one JSON object per line.

A request is a query and its candidates. A judgment has query, passage and model judgment.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, BinaryIO

from rankgate.core.declare.flag_words import parse_flag
from rankgate.core.errors import DuplicateError, InputError
from rankgate.data.file_contents import FileContents, Note
from rankgate.data.formats.collected_judgments import GrowingRatings, GrowingRun
from rankgate.data.formats.format import Format, Loss
from rankgate.data.formats.format_writing import (
    find_losses,
    format_data,
    ranking_by_query,
    ratings_of,
    rows_by_id,
    texts_by_query,
    write_json_lines,
)
from rankgate.data.formats.tables.schemas import run_losses
from rankgate.data.qrels import Scale
from rankgate.data.text.json_text import (
    JsonRecord,
    describe_type,
    detect_keys,
    number,
    read_line_records,
    read_query_lines,
    whole_numbers,
)

if TYPE_CHECKING:
    from rankgate.core.value_types import Json, JsonObject
    from rankgate.data.streams.source import InputFile


_UMBRELA_REQUESTS_NAME = "umbrela-requests"


def read_umbrela_requests(source: InputFile) -> FileContents:
    """A run from the candidates in order (or by their scores), their texts, and the queries.

    A query or candidate that is a string is its own id.
    """
    ranked = GrowingRun(source)
    for query, record in read_query_lines(source, lambda record: _read_query(record)[0]):
        ranked.ask(query, text=_read_query(record)[1])
        documents_so_far: set[str] = set()
        for candidate in record.as_list(record.get("candidates"), "candidates"):
            document, score, candidate_fields = _read_candidate(candidate, record)
            if document in documents_so_far:
                problem = f"candidate '{document}' appears twice for query '{query}'; keep one."
                raise DuplicateError(problem, source=source.label, line=record.line)
            documents_so_far.add(document)
            ranked.rank(query, document, score)
            if candidate_fields:
                ranked.describe(query, document, candidate_fields)
    return FileContents(runs=(ranked.run(),), queries=ranked.texts(), documents=ranked.documents())


def write_umbrela_requests(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """Write an object for each query with its candidates, best first, from the first run."""
    run = contents.runs[0] if contents.runs else contents.ranking("")
    text, fields = texts_by_query(contents), rows_by_id(contents.documents, "doc_id")
    requests = (
        {
            "query": {"text": text.get(query, query), "qid": query},
            "candidates": [
                {"doc": _make_document(fields.get(document, {}), document), "docid": document, "score": score}
                for document, score in rows
            ],
        }
        for query, rows in ranking_by_query(run).items()
    )
    write_json_lines(out, requests)
    kept_parts = ("runs", "queries", "documents")
    return (
        *find_losses(contents, _UMBRELA_REQUESTS_NAME, *kept_parts, runs=1, queries=("text",)),
        *run_losses(run),
    )


def _read_query(record: JsonRecord) -> tuple[str, str | None]:
    """The id of the query, and its text if it differs from the id."""
    query = record.get("query")
    if not isinstance(query, dict):
        return record.as_id(query, "the query"), None
    text = query.get("text")
    if text is not None and not isinstance(text, str):
        raise record.error(f"the text of the query is {describe_type(text)}, where a string is needed.")
    if query.get("qid") is None:
        return record.as_id(text, "the text of the query"), None
    return record.as_id(query["qid"], "qid"), text


def _read_candidate(candidate: Json, record: JsonRecord) -> tuple[str, float | None, dict[str, str]]:
    """The id, score and fields of a candidate; a text is its own id."""
    if not isinstance(candidate, dict):
        return record.as_id(candidate, "a candidate"), None, {}
    content = candidate.get("doc")
    content_record = JsonRecord(content if isinstance(content, dict) else {"segment": content}, record.label)
    texts = content_record.texts(*_REQUEST_IDS)
    fields = {"text" if name == "segment" else name: text for name, text in texts.items() if text is not None}
    id_, score = candidate.get("docid", fields.get("text")), candidate.get("score")
    score_label = f"the score of candidate '{id_}'"[:80]
    candidate_score = None if score is None else number(score, score_label, record.label, record.line)
    return record.as_id(id_, "docid"), candidate_score, fields


_REQUEST_IDS = ("query_id", "doc_id", "text")  # the names of our own columns


def _make_document(fields: dict[str, str], document: str) -> JsonObject:
    """The fields of a document, its text as ``segment``; its id if it has no text."""
    return {"segment": document} | {
        "segment" if name == "text" else name: text
        for name, text in fields.items()
        if name not in {"query_id", "doc_id"}
    }


UMBRELA_REQUESTS_FORMAT = Format(
    name=_UMBRELA_REQUESTS_NAME,
    title="candidates for UMBRELA to judge",
    suffixes=(".jsonl", ".json"),
    sniff=detect_keys(("an object with query and candidates", "query", "candidates[]")),
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
_GRADES = (0, 1, 2, 3)
_FAILED_REASON = "the answer could not be read (result_status 0)"
_JUDGMENT_IDS = {"query": ("qid", "text"), "passage": ("docid", "segment")}
_ANSWER_KEYS = ("prompt", "prediction")  # the prompt of the model and its answer


def read_umbrela(source: InputFile) -> FileContents:
    """Ratings of the model, and judgments if no pair has several grades.

    ``result_status`` 0 means that the answer could not be parsed and that the 0 in ``judgment``
    was put in its place: it is not a grade. Texts are ids where ``qid`` and ``docid`` are missing.
    """
    collected, failed = GrowingRatings(source), list[str]()
    model_answers: list[dict[str, str | None]] = []
    for record in read_line_records(source):
        query, text = _read_id_and_text(record, "query")
        document, passage = _read_id_and_text(record, "passage")
        collected.ask(query, text=text)
        model = record.text("model") or _UMBRELA_NAME
        grade, reason = record.get("judgment"), None
        if not _succeeded(record) or grade is None:
            grade, reason = None, _FAILED_REASON
            failed.append(record.location_text)
        grade_path, comment = f"the judgment of {record.location_text}", record.text("reasoning")
        collected.add(query, document, model, grade, grade_path, reason=reason, comment=comment)
        if passage is not None:
            collected.describe(query, document, {"text": passage})
        answer_fields = {name: record.text(name) for name in _ANSWER_KEYS}
        model_answers.append({"query_id": query, "doc_id": document, "rater": model, **answer_fields})
    if not model_answers:
        raise InputError("no judgments found.", source=source.label, code="no-judgments")
    return collected.contents(
        *Note.of("answers that could not be read, left unrated and not 0", failed),
        scale=Scale(float(min(_GRADES)), float(max(_GRADES))),
        queries=collected.texts(),
        documents=collected.documents(),
        extra={_UMBRELA_NAME: {"answers": model_answers}},
    )


def _succeeded(record: JsonRecord) -> bool:
    """True if the answer could be parsed; the status may be a string in some files."""
    status = record.get("result_status", 1)
    has_succeeded = parse_flag(status)
    if has_succeeded is None:
        status_text = "null" if status is None else repr(status)[:40]
        raise record.error(
            f"result_status {status_text} is neither 0 (the answer could not be read, so there is no "
            "judgment) nor 1; write 0 or 1."
        )
    return has_succeeded


def write_umbrela(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """Write an object per rating, status 0 without a grade; judgments have the model "rankgate"."""
    ratings = ratings_of(contents, "rankgate")
    grades = ratings.table["grade"].drop_nulls()
    invalid_grades = grades.filter(~grades.is_in([*map(float, _GRADES)]))
    if len(invalid_grades):
        problem = f"grade {invalid_grades[0]:g}, where UMBRELA has 0, 1, 2 and 3; scale the grades."
        raise InputError(problem, code="grade-outside-scale")
    text, fields = texts_by_query(contents), rows_by_id(contents.documents, "doc_id")
    answers = format_data(contents, _UMBRELA_NAME).get("answers") or []
    answer_of_rating = {(answer["query_id"], answer["doc_id"], answer["rater"]): answer for answer in answers}
    columns = ratings.table.select("query_id", "doc_id", "rater", "grade", "comment")

    def lines() -> Iterator[JsonObject]:
        for query, document, rater, grade, comment in columns.iter_rows():
            query_text, passage = text.get(query, query), fields.get(document, {}).get("text", document)
            model_answer = answer_of_rating.get((query, document, rater), {})
            yield {
                "model": rater,
                "query": query_text,
                "passage": passage,
                **({"qid": query} if query_text != query else {}),
                **({"docid": document} if passage != document else {}),
                **{name: model_answer.get(name) for name in _ANSWER_KEYS},
                "judgment": whole_numbers(grade) or 0,
                "result_status": int(grade is not None),
                **({} if comment is None else {"reasoning": comment}),
            }

    write_json_lines(out, lines())
    rating_parts = ("ratings", "qrels", "scale") if contents.ratings else ("qrels",)
    kept_parts = ("queries", "documents", *rating_parts)
    losses = find_losses(contents, _UMBRELA_NAME, *kept_parts, queries=("text",), documents=("text",))
    if contents.ratings:
        table = contents.ratings.table
        names = [name for name in ("at", "seconds", "guideline") if table[name].count()]
        reasons = table["reason"].drop_nulls()
        losses += Loss.of("fields of ratings", names)
        losses += Loss.of("reasons why there is no grade", reasons.filter(reasons != _FAILED_REASON))
    return losses


def _read_id_and_text(record: JsonRecord, noun: str) -> tuple[str, str | None]:
    """The id of a query or passage, and its text; the text is the id if there is none."""
    id_, key = _JUDGMENT_IDS[noun]
    text: Any = record.get(noun)
    given_id = record.get(id_)
    if isinstance(text, dict):
        text, given_id = text.get(key), text.get(id_, given_id)
    if not isinstance(text, str) or not text:
        raise record.error(f"no text of the {noun}; each line needs one.", "missing-text")
    if given_id is None:
        return text, None
    return record.as_id(given_id, f"the id of the {noun}"), text


UMBRELA_FORMAT = Format(
    name=_UMBRELA_NAME,
    title="UMBRELA's judgments",
    suffixes=(".jsonl",),
    sniff=detect_keys(
        ("the first line is an object with query, passage and judgment", "query", "passage", "judgment"),
        first_line=True,
    ),
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
