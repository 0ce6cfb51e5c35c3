"""Argilla's records as JSON: fields, and the responses of each annotator by question."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO

import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.columns import strings
from rankgate.data.contents import FileContents
from rankgate.data.formats.format import Format, Loss, Note
from rankgate.data.formats.label_studio import pair_of, pairs_of
from rankgate.data.formats.writing import lost, lost_columns, own
from rankgate.data.place import Place
from rankgate.data.ratings import SCHEMA, Ratings
from rankgate.data.text.json_keys import have
from rankgate.data.text.json_reader import an_object, each
from rankgate.data.text.json_text import document, dumped, identifier, number, whole

if TYPE_CHECKING:
    from rankgate.data.streams.source import InputFile

_NAME = "argilla"
_NOTHING = "the response has no grade"
_MODEL = "suggestion"
_WORDS = ("comment", "reason")
_QUESTION = "grade"
_IDS = ("query_id", "doc_id")


@dataclass
class _SeenInRecords:
    """What is seen on the way: the question of the grade, models, and other questions."""

    question: str = ""
    models: dict[str, None] = field(default_factory=dict)
    others: dict[str, None] = field(default_factory=dict)


def sniff(head: bytes, name: str) -> str | None:
    """A list of records with fields and responses."""
    if have(head, "[].fields", "[].responses"):
        return "a list of records with fields and responses"
    return None


def read(source: InputFile) -> FileContents:
    """Ratings of every annotator, and of models where there are suggestions.

    Query and document are named in a record's metadata, or in its fields. The grade is the one
    question whose values are numbers.
    """
    label = source.label
    seen = _SeenInRecords()
    queries: dict[str, dict[str, str]] = {}
    documents: dict[tuple[str, str], dict[str, str]] = {}
    rows: list[dict[str, Any]] = []
    unrated: list[str] = []
    for where, record in each(document(source), "", label):
        shown = an_object(record, "fields", where, label)
        data = {**shown, **an_object(record, "metadata", where, label)}
        query, doc, asked, rest = pair_of(data, f"{where}.metadata", label)
        queries.setdefault(query, asked)
        documents.setdefault((query, doc), rest)
        said = [*_responses(record, where, label, seen), *_suggested(record, where, label, seen)]
        unrated += [] if said else [f"{query} {doc}"]
        rows += [{"query_id": query, "doc_id": doc, **row} for row in said]
    if not documents:
        raise InputError("there are no records in it.", source=label, code="no-judgments")
    kept = {"question": seen.question, "models": [*seen.models]}
    kept = {name: content for name, content in kept.items() if content}
    table = pl.DataFrame(rows, schema=SCHEMA) if rows else pl.DataFrame(schema=SCHEMA)
    asked_rows = [{"query_id": query, **fields} for query, fields in queries.items()]
    return FileContents(
        ratings=Ratings(table, source.stem, place=Place(label)),
        queries=strings(asked_rows, ("query_id", "text")) if any(queries.values()) else None,
        documents=strings(
            [{"query_id": q, "doc_id": d, **shown} for (q, d), shown in documents.items()]
        ),
        extra={_NAME: kept} if kept else {},
        notes=(
            *Note.of("records without responses, left unrated", unrated),
            *Note.of("questions that are no grade, left out", seen.others),
        ),
    )


def _responses(
    record: dict[str, Any], where: str, label: str, seen: _SeenInRecords
) -> list[dict[str, Any]]:
    """Each annotator's answers to all questions as one rating."""
    found: dict[str, dict[str, Any]] = {}
    for question, answers in an_object(record, "responses", where, label).items():
        for place, said in each(answers, f"{where}.responses.{question}", label):
            who = identifier(said.get("user_id"), f"'user_id' of {place}", label)
            row = found.setdefault(who, {"rater": who, "grade": None})
            _answered(row, question, said.get("value"), place, label, seen)
    return [_rating(row) for row in found.values()]


def _suggested(
    record: dict[str, Any], where: str, label: str, seen: _SeenInRecords
) -> list[dict[str, Any]]:
    """Suggestions as ratings of their agents."""
    found: dict[str, dict[str, Any]] = {}
    for question, said in an_object(record, "suggestions", where, label).items():
        place = f"{where}.suggestions.{question}"
        one = an_object({"said": said}, "said", place, label)
        agent = str(one.get("agent") or _MODEL)
        row = found.setdefault(agent, {"rater": agent, "grade": None})
        _answered(row, question, one.get("value"), place, label, seen)
    graded = [row for row in found.values() if row["grade"] is not None]
    seen.models |= dict.fromkeys(row["rater"] for row in graded)
    return [_rating(row) for row in graded]


def _answered(
    row: dict[str, Any], question: str, value: Any, where: str, label: str, seen: _SeenInRecords
) -> None:
    grade = _grade(value, where, label)
    if question in _WORDS:
        row[question] = str(value) if value not in (None, "") else None
    elif grade is None:
        seen.others.setdefault(question)
    elif seen.question not in ("", question):
        problem = (
            f"{where} is a second question whose answers are numbers, after '{seen.question}'; "
            "export one of them."
        )
        raise InputError(problem, source=label, code="several-candidates")
    else:
        seen.question, row["grade"] = question, grade


def _grade(value: Any, where: str, label: str) -> float | None:
    """A number, or a label that is written as one; None of anything else."""
    if isinstance(value, str):
        try:
            value = float(value)
        except ValueError:
            return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return number(value, where, label)


def _rating(row: dict[str, Any]) -> dict[str, Any]:
    reason = row.get("reason") or (_NOTHING if row["grade"] is None else None)
    return {**row, "comment": row.get("comment"), "reason": reason}


def write(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """A record a pair, with every rater's responses."""
    pairs = pairs_of(contents)
    if not pairs:
        raise InputError(
            "no pairs of a query and a document; Argilla's records are pairs.",
            code="no-such-content",
        )
    kept = own(contents, _NAME)
    question, models = kept.get("question") or _QUESTION, {*(kept.get("models") or ())}
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
            said = {question: whole(row["grade"]), **{name: row[name] for name in _WORDS}}
            given = {name: value for name, value in said.items() if value is not None}
            for name, value in given.items():
                if row["rater"] in models:
                    one = {"value": value, "score": None, "agent": row["rater"]}
                    record["suggestions"][name] = one
                else:
                    one = {"value": value, "user_id": row["rater"]}
                    record["responses"].setdefault(name, []).append(one)
    out.write(dumped(list(records.values())).encode() + b"\n")
    return _losses(contents)


def _losses(contents: FileContents) -> tuple[Loss, ...]:
    found = list(lost(contents, _NAME, "ratings", "queries", "documents"))
    found += lost_columns("queries", contents.queries, ("query_id", "text"))
    if contents.ratings:
        for name in ("at", "seconds", "guideline"):
            given = contents.ratings.table[name].drop_nulls()
            found += Loss.of(f"{name} of ratings", map(str, given.to_list()))
        if contents.ratings.scale:
            scale = contents.ratings.scale
            found.append(Loss("scale of grades", 1, (f"{scale.lowest:g} to {scale.highest:g}",)))
    return tuple(found)


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
        "A list of records, as Argilla 2 exports (dataset.records.to_json) and imports them. The "
        "metadata, or else the fields, name the query and the document (query_id, doc_id or their "
        "other names); query is the query's text, other fields are of the document. The responses "
        "of a user are one rating: the one question whose answers are numbers is the grade; "
        "questions named comment and reason are kept, others are left out and counted. "
        "Suggestions are ratings by their agent and are written as suggestions again."
    ),
)
