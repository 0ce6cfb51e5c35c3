"""Label Studio's JSON: tasks with the annotations of each annotator, and models' predictions."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO

from rankgate.core.errors import InputError
from rankgate.data.column_names import match_columns
from rankgate.data.file_contents import FileContents
from rankgate.data.foreign_frames import string_table
from rankgate.data.formats.collected_judgments import GrowingRatings
from rankgate.data.formats.format import Format, Loss, Note
from rankgate.data.formats.format_writing import (
    find_losses,
    format_data,
    rows_by_id,
    texts_by_query,
    write_json_lines,
)
from rankgate.data.text.json_text import JsonRecord, detect_keys, number, read_records, whole_numbers
from rankgate.data.text.text_values import format_time, parse_time

if TYPE_CHECKING:
    from rankgate.core.value_types import Json
    from rankgate.data.streams.source import InputFile


_NAME = "label-studio"
_SKIPPED_REASON = "skipped by the annotator"
_NO_GRADE_REASON = "the annotation has no grade"
_GRADE_CONTROLS = ("rating", "number", "choices")
_DEFAULT_CONTROL = {"from_name": "grade", "to_name": "document", "type": "number"}
_TEXT_CONTROLS = ("comment", "reason")
_IDS = ("query_id", "doc_id")
_RATER_KEYS = {"annotations": "completed_by", "predictions": "model_version"}
_RECORD_NOUNS = {"label-studio": "tasks", "argilla": "records"}


@dataclass
class _TaskFacts:
    """Facts collected while reading: the control for grades, models, results without grades."""

    control: dict[str, Json] = field(default_factory=dict)
    models: dict[str, None] = field(default_factory=dict)
    others: list[str] = field(default_factory=list)


@dataclass
class PairRatings(GrowingRatings):
    """Ratings from records that name a query and a document, with the texts of both.

    Attributes:
        unrated: the pairs without a rating.
    """

    unrated: list[str] = field(default_factory=list)

    def add_pair(self, fields: JsonRecord) -> tuple[str, str]:
        """Add the fields of a pair; return its query and document.

        Raises:
            InputError: no field names the query or the document, or its id is invalid.
        """
        id_names = match_columns(fields, _IDS)
        for id_column in _IDS:
            if id_column not in id_names:
                problem = (
                    f"{fields.path} has no {id_column}, but {', '.join(fields) or 'nothing'}; name the field "
                    "so before the tasks are imported."
                )
                raise fields.error(problem, "missing-key")
        query, doc = (fields.id(id_names[id_column]) for id_column in _IDS)
        texts = {name: text for name, text in fields.texts(*id_names.values()).items() if text}
        text_key = next((name for name in ("query", "query_text") if name in texts), None)
        self.ask(query, **({"text": texts.pop(text_key)} if text_key else {}))
        self.describe(query, doc, texts)
        return query, doc

    def pair_contents(self, name: str, extra: Mapping[str, Any], *notes: Note) -> FileContents:
        """The ratings with the queries and documents that were added.

        Args:
            name: the format.
            extra: the data that only this format has.
            notes: notes of the reader.

        Raises:
            InputError: there are no pairs.
        """
        if not self.asked:
            problem = f"there are no {_RECORD_NOUNS[name]} in it."
            raise InputError(problem, source=self.source.label, code="no-judgments")
        filled_extra = {key: content for key, content in extra.items() if content}
        return FileContents(
            ratings=self.ratings(),
            queries=string_table(self.query_rows(), ("query_id", "text"))
            if any(self.asked.values())
            else None,
            documents=self.described.unique(_IDS, keep="first", maintain_order=True),
            extra={name: filled_extra} if filled_extra else {},
            notes=notes,
        )


def read(source: InputFile) -> FileContents:
    """Ratings of every annotator, and of models if there are predictions.

    A task's data names the query and the document; its other fields are texts of both. The grade
    is the one ``rating``, ``number`` or ``choices`` of an annotation; a choice must be a number.
    """
    facts, collected = _TaskFacts(), PairRatings(source)
    for task in read_records(source):
        query, doc = collected.add_pair(task.record("data"))
        annotations = [
            (key, annotation)
            for kind, key in _RATER_KEYS.items()
            for annotation in task.records(kind, nullable=True)
        ]
        for key, annotation in annotations:
            _add_rating(collected, query, doc, annotation, key, facts)
        collected.unrated += [] if annotations else [f"{query} {doc}"]
    return collected.pair_contents(
        _NAME,
        {"control": facts.control, "models": [*facts.models]},
        *Note.of("tasks without annotations, left unrated", collected.unrated),
        *Note.of("results of other controls, left out", facts.others),
    )


def _add_rating(
    collected: GrowingRatings, query: str, doc: str, annotation: JsonRecord, key: str, facts: _TaskFacts
) -> None:
    """Add an annotation or a prediction as a rating of the user or model under a key."""
    grade, texts = _read_grade(annotation, facts)
    is_skipped = annotation.get("was_cancelled") is True
    reason = texts.get("reason") or (_SKIPPED_REASON if is_skipped else _NO_GRADE_REASON)
    grade = None if is_skipped else grade
    rater, is_prediction = annotation.get(key), key == "model_version"
    if isinstance(rater, dict):
        rater = rater.get("email") or rater.get("username") or rater.get("id")
    if is_prediction and rater in (None, ""):
        rater = "prediction"
    rater_id = annotation.as_id(rater, f"'completed_by' of {annotation.path}")
    facts.models |= {rater_id: None} if is_prediction else {}
    created_at = None if is_prediction else annotation.text("created_at")
    collected.add(
        query,
        doc,
        rater_id,
        grade,
        annotation.path,
        reason=reason if grade is None else None,
        at=parse_time(created_at, annotation.path_of("created_at"), annotation.label) if created_at else None,
        seconds=annotation.number("lead_time"),
        comment=texts.get("comment"),
    )


def _read_grade(annotation: JsonRecord, facts: _TaskFacts) -> tuple[float | None, dict[str, str]]:
    """The single grade of an annotation, and the texts next to it."""
    grades: list[float] = []
    texts_by_name: dict[str, str] = {}
    for result in annotation.records("result", nullable=True):
        kind, answer = result.get("type"), result.record("value")
        if kind == "textarea":
            text = answer.get("text")
            name = "reason" if result.get("from_name") == "reason" else "comment"
            texts_by_name[name] = "\n".join(
                str(line) for line in (text if isinstance(text, list) else [text]) if line
            )
        elif kind in _GRADE_CONTROLS and kind in answer:
            grades.append(_parse_number(answer, kind))
            for name in _DEFAULT_CONTROL:
                facts.control.setdefault(name, result.get(name))
        else:
            facts.others.append(f"{result.path} ({kind})")
    if len(grades) > 1:
        problem = f"{annotation.path} has {len(grades)} grades, where one is needed; export one of them."
        raise annotation.error(problem, "several-candidates")
    return (grades[0] if grades else None), texts_by_name


def _parse_number(answer: JsonRecord, kind: str) -> float:
    choices, path = answer[kind], answer.path_of(kind)
    if not isinstance(choices, list):
        return number(choices, path, answer.label)
    if len(choices) != 1:
        problem = f"{path} has {len(choices)} choices, where one is a grade; allow one only."
        raise answer.error(problem, "several-candidates")
    with suppress(InputError):
        return number(choices[0], path, answer.label)
    problem = (
        f"choice '{str(choices[0])[:40]}' of {path} is not a number, and no grade is guessed of it; "
        "name the choices by their grades."
    )
    raise answer.error(problem, "not-a-number")


def write(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """Write a task for each pair, with an annotation for each rating; unrated pairs have none."""
    pair_fields = collect_pair_fields(contents, "Label Studio's tasks")
    tasks: dict[tuple[str, str], dict[str, Any]] = {
        pair: {"data": fields, "annotations": []} for pair, fields in pair_fields.items()
    }
    format_extra = format_data(contents, _NAME)
    control = {**_DEFAULT_CONTROL, **(format_extra.get("control") or {})}
    models = {*(format_extra.get("models") or ())}
    for row in contents.ratings.table.iter_rows(named=True) if contents.ratings else ():
        task, annotation = tasks[row["query_id"], row["doc_id"]], _make_annotation(row, control)
        if row["rater"] in models:
            prediction = {"model_version": row["rater"], "result": annotation["result"]}
            task.setdefault("predictions", []).append(prediction)
        else:
            task["annotations"].append(annotation)
    write_json_lines(out, [[*tasks.values()]])
    return (
        *find_losses(contents, _NAME, "ratings", "queries", "documents", queries=("text",)),
        *rating_field_losses(contents, guideline="guidelines"),
    )


def collect_pair_fields(contents: FileContents, noun: str) -> dict[tuple[str, str], dict[str, str]]:
    """Each pair of documents and ratings with its ids, the query's text and its fields.

    Raises:
        InputError: there are no pairs; ``noun`` is what the format has for each.
    """
    query_texts, documents = texts_by_query(contents), contents.documents
    fields_by_pair: dict[tuple[str, str], dict[str, str]] = {}
    has_pairs = documents is not None and "query_id" in documents.columns
    for row in documents.iter_rows(named=True) if documents is not None and has_pairs else ():
        fields_by_pair[row["query_id"], row["doc_id"]] = row
    fields_by_document = {} if has_pairs else rows_by_id(documents, "doc_id")
    if contents.ratings:
        for query, doc in contents.ratings.table.select(_IDS).iter_rows():
            fields_by_pair.setdefault((query, doc), fields_by_document.get(doc, {}))
    if not fields_by_pair:
        raise InputError(f"no pairs of a query and a document; {noun} are pairs.", code="no-such-content")
    for (query, doc), fields in fields_by_pair.items():
        ids = {"query_id": query, "doc_id": doc, "query": query_texts.get(query)}
        texts = {name: text for name, text in {**ids, **fields}.items() if text is not None}
        fields_by_pair[query, doc] = texts
    return fields_by_pair


def rating_field_losses(contents: FileContents, **nouns: str) -> tuple[Loss, ...]:
    """The losses of a format of ratings without a scale and some columns, which have these nouns."""
    if contents.ratings is None:
        return ()
    losses: list[Loss] = []
    for column, noun in nouns.items():
        losses += Loss.of(f"{noun} of ratings", contents.ratings.table[column].drop_nulls())
    return (*losses, *Loss.of_scale(contents.ratings.scale))


def _make_annotation(row: dict[str, Any], control: Mapping[str, str]) -> dict[str, Json]:
    kind, grade = control["type"], whole_numbers(row["grade"])
    results: list[dict[str, Json]] = []
    if grade is not None:
        results.append({**control, "value": {kind: [f"{grade}"] if kind == "choices" else grade}})
    for name in _TEXT_CONTROLS:
        if row[name] is not None:
            text = {"from_name": name, "to_name": control["to_name"], "type": "textarea"}
            results.append({**text, "value": {"text": [row[name]]}})
    annotation: dict[str, Json] = {
        "completed_by": {"email": row["rater"]},
        "result": results,
        "was_cancelled": grade is None,
        "created_at": format_time(row["at"]),
        "lead_time": row["seconds"],
    }
    return {key: part for key, part in annotation.items() if part is not None}


FORMAT = Format(
    name=_NAME,
    title="Label Studio's tasks with annotations",
    suffixes=(".json",),
    sniff=detect_keys(("a list of tasks with data and annotations", "[].data", "[].annotations")),
    read=read,
    write=write,
    holds=("ratings", "queries", "documents"),
    loses="judgments, runs; guidelines, scales",
    detail=(
        "A list of tasks, as Label Studio exports (JSON, not JSON-MIN) and imports them. data names the "
        "query and the document (query_id, doc_id or their other names); query is the query's text, other "
        "strings are fields of the document. Each annotation is a rating by completed_by: its one rating, "
        "number or choices is the grade, a text area the comment, lead_time the seconds. A skipped task has "
        "no grade. A choice that is not a number is an error: no grade is guessed of a label. Predictions "
        "are ratings by their model_version and are written as predictions again."
    ),
)
