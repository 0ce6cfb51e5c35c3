"""Argilla's records as JSON: fields, and the responses of each annotator by question."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO

import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.file_contents import FileContents
from rankgate.data.foreign_frames import string_table
from rankgate.data.formats.format import Format, Loss, Note
from rankgate.data.formats.format_writing import column_losses, find_losses, format_data
from rankgate.data.formats.products.label_studio import collect_pair_fields, split_pair_fields
from rankgate.data.qrels import RATINGS_SCHEMA, Ratings
from rankgate.data.table_rows import RowLocation
from rankgate.data.text.json_text import (
    format_json,
    has_keys,
    identifier,
    list_objects,
    number,
    read_document,
    read_object,
    whole_numbers,
)

if TYPE_CHECKING:
    from rankgate.core.value_types import Json
    from rankgate.data.streams.source import InputFile


_NAME = "argilla"
_NO_GRADE_REASON = "the response has no grade"
_DEFAULT_AGENT = "suggestion"
_TEXT_QUESTIONS = ("comment", "reason")
_DEFAULT_QUESTION = "grade"
_IDS = ("query_id", "doc_id")


@dataclass
class _RecordFacts:
    """Facts collected while reading: the question with the grade, models, and other questions."""

    question: str = ""
    models: dict[str, None] = field(default_factory=dict)
    others: dict[str, None] = field(default_factory=dict)


def sniff(first_bytes: bytes, name: str) -> str | None:
    """A list of records with fields and responses."""
    if has_keys(first_bytes, "[].fields", "[].responses"):
        return "a list of records with fields and responses"
    return None


def read(source: InputFile) -> FileContents:
    """Ratings of every annotator, and of models if there are suggestions.

    A record names query and document in its metadata or its fields. The grade is the one
    question with numbers as values.
    """
    label = source.label
    found_in_records = _RecordFacts()
    queries: dict[str, dict[str, str]] = {}
    documents: dict[tuple[str, str], dict[str, str]] = {}
    rows: list[dict[str, Json]] = []
    unrated: list[str] = []
    for json_path, record in list_objects(read_document(source), "", label):
        document_fields = read_object(record, "fields", json_path, label)
        record_fields = {**document_fields, **read_object(record, "metadata", json_path, label)}
        query, doc, query_fields, other_fields = split_pair_fields(
            record_fields, f"{json_path}.metadata", label
        )
        queries.setdefault(query, query_fields)
        documents.setdefault((query, doc), other_fields)
        rating_rows = [
            *_read_responses(record, json_path, label, found_in_records),
            *_read_suggestions(record, json_path, label, found_in_records),
        ]
        unrated += [] if rating_rows else [f"{query} {doc}"]
        rows += [{"query_id": query, "doc_id": doc, **row} for row in rating_rows]
    if not documents:
        raise InputError("there are no records in it.", source=label, code="no-judgments")
    format_extra = {"question": found_in_records.question, "models": [*found_in_records.models]}
    format_extra = {name: content for name, content in format_extra.items() if content}
    table = pl.DataFrame(rows, schema=RATINGS_SCHEMA) if rows else pl.DataFrame(schema=RATINGS_SCHEMA)
    query_rows = [{"query_id": query, **fields} for query, fields in queries.items()]
    return FileContents(
        ratings=Ratings(table, source.stem, place=RowLocation(label)),
        queries=string_table(query_rows, ("query_id", "text")) if any(queries.values()) else None,
        documents=string_table(
            [
                {"query_id": query_id, "doc_id": doc_id, **document_fields}
                for (query_id, doc_id), document_fields in documents.items()
            ]
        ),
        extra={_NAME: format_extra} if format_extra else {},
        notes=(
            *Note.of("records without responses, left unrated", unrated),
            *Note.of("questions that are not a grade, left out", found_in_records.others),
        ),
    )


def _read_responses(
    record: dict[str, Json], json_path: str, label: str, found_in_records: _RecordFacts
) -> list[dict[str, Json]]:
    """All responses of each annotator to a record, as one rating."""
    row_of_rater: dict[str, dict[str, Json]] = {}
    for question, answers in read_object(record, "responses", json_path, label).items():
        for response_path, response in list_objects(answers, f"{json_path}.responses.{question}", label):
            user_id = identifier(response.get("user_id"), f"'user_id' of {response_path}", label)
            row = row_of_rater.setdefault(user_id, {"rater": user_id, "grade": None})
            _add_answer(row, question, response.get("value"), response_path, label, found_in_records)
    return [_make_rating(row) for row in row_of_rater.values()]


def _read_suggestions(
    record: dict[str, Json], json_path: str, label: str, found_in_records: _RecordFacts
) -> list[dict[str, Json]]:
    """Suggestions as ratings of their agents."""
    row_of_agent: dict[str, dict[str, Json]] = {}
    for question, suggestion in read_object(record, "suggestions", json_path, label).items():
        suggestion_path = f"{json_path}.suggestions.{question}"
        suggestion_object = read_object({"said": suggestion}, "said", suggestion_path, label)
        agent = str(suggestion_object.get("agent") or _DEFAULT_AGENT)
        row = row_of_agent.setdefault(agent, {"rater": agent, "grade": None})
        _add_answer(row, question, suggestion_object.get("value"), suggestion_path, label, found_in_records)
    graded_rows = {agent: row for agent, row in row_of_agent.items() if row["grade"] is not None}
    found_in_records.models |= dict.fromkeys(graded_rows)
    return [_make_rating(row) for row in graded_rows.values()]


def _add_answer(
    row: dict[str, Json],
    question: str,
    value: Json,
    json_path: str,
    label: str,
    found_in_records: _RecordFacts,
) -> None:
    grade = _parse_grade(value, json_path, label)
    if question in _TEXT_QUESTIONS:
        row[question] = str(value) if value not in (None, "") else None
    elif grade is None:
        found_in_records.others.setdefault(question)
    elif found_in_records.question not in ("", question):
        problem = (
            f"{json_path} is a second question with numbers as answers, after '{found_in_records.question}'; "
            "export one of them."
        )
        raise InputError(problem, source=label, code="several-candidates")
    else:
        found_in_records.question, row["grade"] = question, grade


def _parse_grade(value: Json, json_path: str, label: str) -> float | None:
    """A number, or a label that is a number in text; None for other values."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return number(value, json_path, label)


def _make_rating(row: dict[str, Json]) -> dict[str, Json]:
    reason = row.get("reason") or (_NO_GRADE_REASON if row["grade"] is None else None)
    return {**row, "comment": row.get("comment"), "reason": reason}


def write(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """Write one record for each pair, with the responses of all raters."""
    pairs = collect_pair_fields(contents)
    if not pairs:
        raise InputError(
            "no pairs of a query and a document; Argilla's records are pairs.", code="no-such-content"
        )
    format_extra = format_data(contents, _NAME)
    question, models = (
        format_extra.get("question") or _DEFAULT_QUESTION,
        {*(format_extra.get("models") or ())},
    )
    records: dict[tuple[str, str], dict[str, Any]] = {
        (query, doc): {
            "id": f"{query}\x1f{doc}",
            "fields": {name: value for name, value in data.items() if name not in _IDS},
            "metadata": {"query_id": query, "doc_id": doc},
            "suggestions": {},
            "responses": {},
            "vectors": {},
        }
        for (query, doc), data in pairs.items()
    }
    if contents.ratings:
        for row in contents.ratings.table.iter_rows(named=True):
            record = records[row["query_id"], row["doc_id"]]
            values_by_question = {
                question: whole_numbers(row["grade"]),
                **{name: row[name] for name in _TEXT_QUESTIONS},
            }
            filled_values = {name: value for name, value in values_by_question.items() if value is not None}
            for name, value in filled_values.items():
                if row["rater"] in models:
                    response = {"value": value, "score": None, "agent": row["rater"]}
                    record["suggestions"][name] = response
                else:
                    response = {"value": value, "user_id": row["rater"]}
                    record["responses"].setdefault(name, []).append(response)
    out.write(format_json(list(records.values())).encode() + b"\n")
    return _find_losses(contents)


def _find_losses(contents: FileContents) -> tuple[Loss, ...]:
    losses = list(find_losses(contents, _NAME, "ratings", "queries", "documents"))
    losses += column_losses("queries", contents.queries, ("query_id", "text"))
    if contents.ratings:
        for name in ("at", "seconds", "guideline"):
            column_values = contents.ratings.table[name].drop_nulls()
            losses += Loss.of(f"{name} of ratings", map(str, column_values.to_list()))
        losses += Loss.of_scale(contents.ratings.scale)
    return tuple(losses)


FORMAT = Format(
    name=_NAME,
    title="Argilla's records with responses",
    suffixes=(".json",),
    sniff=sniff,
    read=read,
    write=write,
    holds=("ratings", "queries", "documents"),
    loses="judgments, runs; times, seconds, guidelines, scales",
    detail=(
        "A list of records, as Argilla 2 exports (dataset.records.to_json) and imports them. The metadata, "
        "or else the fields, name the query and the document (query_id, doc_id or their other names); query "
        "is the query's text, other fields are of the document. The responses of a user are one rating: the "
        "question with numbers as answers is the grade; questions named comment and reason are kept, other "
        "questions are left out and counted. Suggestions are ratings by their agent and are written as "
        "suggestions again."
    ),
)
