"""Argilla's records as JSON: fields, and the responses of each annotator by question."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO

from rankgate.data.formats.format import Format, Loss, Note
from rankgate.data.formats.format_writing import find_losses, format_data, write_json_lines
from rankgate.data.formats.products.label_studio import PairRatings, collect_pair_fields, rating_field_losses
from rankgate.data.text.json_text import JsonRecord, detect_keys, number, read_records, whole_numbers

if TYPE_CHECKING:
    from rankgate.core.value_types import Json
    from rankgate.data.file_contents import FileContents
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


def read(source: InputFile) -> FileContents:
    """Ratings of every annotator, and of models if there are suggestions.

    A record names query and document in its metadata or its fields. The grade is the one
    question with numbers as values.
    """
    facts, collected = _RecordFacts(), PairRatings(source)
    for record in read_records(source):
        fields = {**record.record("fields"), **record.record("metadata")}
        query, doc = collected.add_pair(JsonRecord(fields, source.label, f"{record.path}.metadata.data"))
        answers: dict[str, dict[str, Json]] = {}
        responses = record.record("responses")
        for question in responses:
            for response in responses.records(question):
                user_id = response.as_id(response.get("user_id"), f"'user_id' of {response.path}")
                _add_answer(answers.setdefault(user_id, {}), question, response, facts)
        suggested: dict[str, dict[str, Json]] = {}
        suggestions = record.record("suggestions")
        for question in suggestions:
            suggestion = suggestions.record(question)
            agent = str(suggestion.get("agent") or _DEFAULT_AGENT)
            _add_answer(suggested.setdefault(agent, {}), question, suggestion, facts)
        graded = {agent: row for agent, row in suggested.items() if "grade" in row}
        facts.models |= dict.fromkeys(graded)
        for rater, row in (*answers.items(), *graded.items()):
            grade = row.get("grade")
            reason = row.get("reason") or (_NO_GRADE_REASON if grade is None else None)
            comment = row.get("comment")
            collected.add(query, doc, rater, grade, record.path, reason=reason, comment=comment)
        collected.unrated += [] if answers or graded else [f"{query} {doc}"]
    return collected.pair_contents(
        _NAME,
        {"question": facts.question, "models": [*facts.models]},
        *Note.of("records without responses, left unrated", collected.unrated),
        *Note.of("questions that are not a grade, left out", facts.others),
    )


def _add_answer(row: dict[str, Json], question: str, answer: JsonRecord, facts: _RecordFacts) -> None:
    value = answer.get("value")
    grade = _parse_grade(value, answer)
    if question in _TEXT_QUESTIONS:
        row[question] = str(value) if value not in (None, "") else None
    elif grade is None:
        facts.others.setdefault(question)
    elif facts.question not in ("", question):
        problem = (
            f"{answer.path} is a second question with numbers as answers, after '{facts.question}'; "
            "export one of them."
        )
        raise answer.error(problem, "several-candidates")
    else:
        facts.question, row["grade"] = question, grade


def _parse_grade(value: Json, answer: JsonRecord) -> float | None:
    """A number, or a label that is a number in text; None for other values."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return number(value, answer.path, answer.label)


def write(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """Write one record for each pair, with the responses of all raters."""
    format_extra = format_data(contents, _NAME)
    question = format_extra.get("question") or _DEFAULT_QUESTION
    models = {*(format_extra.get("models") or ())}
    records: dict[tuple[str, str], dict[str, Any]] = {
        (query, doc): {
            "id": f"{query}\x1f{doc}",
            "fields": {name: text for name, text in fields.items() if name not in _IDS},
            "metadata": {"query_id": query, "doc_id": doc},
            "suggestions": {},
            "responses": {},
            "vectors": {},
        }
        for (query, doc), fields in collect_pair_fields(contents, "Argilla's records").items()
    }
    for row in contents.ratings.table.iter_rows(named=True) if contents.ratings else ():
        record, rater = records[row["query_id"], row["doc_id"]], row["rater"]
        answers = {question: whole_numbers(row["grade"]), **{name: row[name] for name in _TEXT_QUESTIONS}}
        for name, answer in answers.items():
            if answer is None:
                continue
            if rater in models:
                record["suggestions"][name] = {"value": answer, "score": None, "agent": rater}
            else:
                record["responses"].setdefault(name, []).append({"value": answer, "user_id": rater})
    write_json_lines(out, [[*records.values()]])
    return (
        *find_losses(contents, _NAME, "ratings", "queries", "documents", queries=("text",)),
        *rating_field_losses(contents, at="at", seconds="seconds", guideline="guideline"),
    )


FORMAT = Format(
    name=_NAME,
    title="Argilla's records with responses",
    suffixes=(".json",),
    sniff=detect_keys(("a list of records with fields and responses", "[].fields", "[].responses")),
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
