"""Label Studio's JSON: tasks with the annotations of each annotator, and models' predictions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO

import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.column_names import match_columns
from rankgate.data.file_contents import FileContents
from rankgate.data.foreign_frames import string_table
from rankgate.data.formats.format import Format, Loss, Note
from rankgate.data.formats.format_writing import (
    cell_text,
    column_losses,
    find_losses,
    format_data,
    rows_by_id,
    texts_by_query,
)
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
    read_text,
    whole_numbers,
)
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


@dataclass
class _TaskFacts:
    """Facts collected while reading: the control for grades, models, results without grades."""

    control: dict[str, Json] = field(default_factory=dict)
    models: dict[str, None] = field(default_factory=dict)
    others: list[str] = field(default_factory=list)


def sniff(first_bytes: bytes, name: str) -> str | None:
    """A list of tasks with data and annotations."""
    if has_keys(first_bytes, "[].data", "[].annotations"):
        return "a list of tasks with data and annotations"
    return None


def read(source: InputFile) -> FileContents:
    """Ratings of every annotator, and of models if there are predictions.

    A task's data names the query and the document; its other fields are texts of both. The grade
    is the one ``rating``, ``number`` or ``choices`` of an annotation; a choice must be a number.
    """
    rows: list[dict[str, object]] = []
    queries: dict[str, dict[str, str]] = {}
    documents: dict[tuple[str, str], dict[str, str]] = {}
    found_in_tasks = _TaskFacts()
    unrated: list[str] = []
    for json_path, task in list_objects(read_document(source), "", source.label):
        task_data = read_object(task, "data", json_path, source.label)
        query, doc, query_fields, document_fields = split_pair_fields(task_data, json_path, source.label)
        queries.setdefault(query, query_fields)
        documents.setdefault((query, doc), document_fields)
        rating_rows = list(_read_annotations(task, json_path, source.label, found_in_tasks))
        unrated += [] if rating_rows else [f"{query} {doc}"]
        rows += [{"query_id": query, "doc_id": doc, **row} for row in rating_rows]
    if not documents:
        raise InputError("there are no tasks in it.", source=source.label, code="no-judgments")
    format_extra = {"control": found_in_tasks.control, "models": [*found_in_tasks.models]}
    format_extra = {name: content for name, content in format_extra.items() if content}
    table = pl.DataFrame(rows, schema=RATINGS_SCHEMA) if rows else pl.DataFrame(schema=RATINGS_SCHEMA)
    return FileContents(
        ratings=Ratings(table, source.stem, place=RowLocation(source.label)),
        queries=_make_queries(queries),
        documents=_make_documents(documents),
        extra={_NAME: format_extra} if format_extra else {},
        notes=(
            *Note.of("tasks without annotations, left unrated", unrated),
            *Note.of("results of other controls, left out", found_in_tasks.others),
        ),
    )


def split_pair_fields(
    data: dict[str, Json], json_path: str, label: str
) -> tuple[str, str, dict[str, str], dict[str, str]]:
    """The ids, the query's other fields, and the document's fields."""
    id_names = match_columns(data, ("query_id", "doc_id"))
    for id_column in ("query_id", "doc_id"):
        if id_column not in id_names:
            problem = (
                f"{json_path}.data has no {id_column}, but {', '.join(data) or 'nothing'}; name the field so "
                "before the tasks are imported."
            )
            raise InputError(problem, source=label, code="missing-key")
    query = identifier(data[id_names["query_id"]], f"the query of {json_path}", label)
    doc = identifier(data[id_names["doc_id"]], f"the document of {json_path}", label)
    other_values = ((name, cell_text(value)) for name, value in data.items() if name not in id_names.values())
    other_fields = {name: value for name, value in other_values if value}
    text_key = next((name for name in ("query", "query_text") if name in other_fields), None)
    query_fields = {"text": other_fields.pop(text_key)} if text_key else {}
    return query, doc, query_fields, other_fields


def _read_annotations(
    task: dict[str, Json], json_path: str, label: str, found_in_tasks: _TaskFacts
) -> Iterator[dict[str, object]]:
    """Read each annotation and prediction as a rating."""
    for kind in ("annotations", "predictions"):
        for annotation_path, annotation in list_objects(task.get(kind) or [], f"{json_path}.{kind}", label):
            annotation_object = read_object({"said": annotation}, "said", annotation_path, label)
            grade, texts_by_name = _read_grade(annotation_object, annotation_path, label, found_in_tasks)
            is_skipped = annotation_object.get("was_cancelled") is True
            reason = texts_by_name.get("reason") or (_SKIPPED_REASON if is_skipped else _NO_GRADE_REASON)
            created_at = (
                read_text(annotation_object, "created_at", annotation_path, label)
                if kind == "annotations"
                else None
            )
            lead_time = annotation_object.get("lead_time")
            rater = _read_rater(annotation_object, kind, annotation_path, label)
            found_in_tasks.models |= {rater: None} if kind == "predictions" else {}
            yield {
                "rater": rater,
                "grade": None if is_skipped else grade,
                "reason": reason if is_skipped or grade is None else None,
                "at": parse_time(created_at, f"{annotation_path}.created_at", label) if created_at else None,
                "seconds": None
                if lead_time is None
                else number(lead_time, f"{annotation_path}.lead_time", label),
                "comment": texts_by_name.get("comment"),
            }


def _read_rater(annotation: dict[str, Json], kind: str, json_path: str, label: str) -> str:
    user = annotation.get("completed_by" if kind == "annotations" else "model_version")
    if isinstance(user, dict):
        user = user.get("email") or user.get("username") or user.get("id")
    if user in (None, "") and kind == "predictions":
        return "prediction"
    return identifier(user, f"'completed_by' of {json_path}", label)


def _read_grade(
    annotation: dict[str, Json], json_path: str, label: str, found_in_tasks: _TaskFacts
) -> tuple[float | None, dict[str, str]]:
    """The single grade of an annotation, and the texts next to it."""
    grades: list[float] = []
    texts_by_name: dict[str, str] = {}
    for result_path, result in list_objects(annotation.get("result") or [], f"{json_path}.result", label):
        kind, value = result.get("type"), read_object(result, "value", result_path, label)
        if kind == "textarea":
            result_text = value.get("text")
            lines = result_text if isinstance(result_text, list) else [result_text]
            name = "reason" if result.get("from_name") == "reason" else "comment"
            texts_by_name[name] = "\n".join(str(line) for line in lines if line)
        elif kind in _GRADE_CONTROLS and kind in value:
            grades.append(_parse_number(value[kind], f"{result_path}.value.{kind}", label))
            for name in _DEFAULT_CONTROL:
                found_in_tasks.control.setdefault(name, result.get(name))
        else:
            found_in_tasks.others.append(f"{result_path} ({kind})")
    if len(grades) > 1:
        problem = f"{json_path} has {len(grades)} grades, where one is needed; export one of them."
        raise InputError(problem, source=label, code="several-candidates")
    return (grades[0] if grades else None), texts_by_name


def _parse_number(value: Json, json_path: str, label: str) -> float:
    if not isinstance(value, list):
        return number(value, json_path, label)
    if len(value) != 1:
        problem = f"{json_path} has {len(value)} choices, where one is a grade; allow one only."
        raise InputError(problem, source=label, code="several-candidates")
    try:
        return number(float(value[0]), json_path, label)
    except (TypeError, ValueError):
        problem = (
            f"choice '{str(value[0])[:40]}' of {json_path} is not a number, and no grade is guessed of it; "
            "name the choices by their grades."
        )
        raise InputError(problem, source=label, code="not-a-number") from None


def _make_queries(fields_by_query: dict[str, dict[str, str]]) -> pl.DataFrame | None:
    rows = [{"query_id": query, **fields} for query, fields in fields_by_query.items()]
    return string_table(rows, ("query_id", "text")) if any(fields_by_query.values()) else None


def _make_documents(fields_by_pair: dict[tuple[str, str], dict[str, str]]) -> pl.DataFrame:
    return string_table(
        [
            {"query_id": query_id, "doc_id": doc_id, **fields}
            for (query_id, doc_id), fields in fields_by_pair.items()
        ]
    )


def write(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """Write a task for each pair, with an annotation for each rating; unrated pairs have none."""
    tasks: dict[tuple[str, str], dict[str, Any]] = {
        pair: {"data": data, "annotations": []} for pair, data in collect_pair_fields(contents).items()
    }
    if not tasks:
        raise InputError(
            "no pairs of a query and a document; Label Studio's tasks are pairs.", code="no-such-content"
        )
    format_extra = format_data(contents, _NAME)
    control, models = (
        {**_DEFAULT_CONTROL, **(format_extra.get("control") or {})},
        {*(format_extra.get("models") or ())},
    )
    if contents.ratings:
        for row in contents.ratings.table.iter_rows(named=True):
            task, annotation = tasks[row["query_id"], row["doc_id"]], _make_annotation(row, control)
            if row["rater"] in models:
                prediction = {"model_version": row["rater"], "result": annotation["result"]}
                task.setdefault("predictions", []).append(prediction)
            else:
                task["annotations"].append(annotation)
    out.write(format_json(list(tasks.values())).encode() + b"\n")
    return _find_losses(contents)


def collect_pair_fields(contents: FileContents) -> dict[tuple[str, str], dict[str, str]]:
    """Each pair of documents and ratings with its ids, the query's text and its fields."""
    query_texts, documents = texts_by_query(contents), contents.documents
    pairs: dict[tuple[str, str], None] = {}
    has_pairs = documents is not None and "query_id" in documents.columns
    fields: dict[tuple[str, str], dict[str, str]] = {}
    if documents is not None and has_pairs:
        for row in documents.iter_rows(named=True):
            pair = (row.pop("query_id"), row.pop("doc_id"))
            fields[pair] = {name: value for name, value in row.items() if value is not None}
            pairs[pair] = None
    if contents.ratings:
        pairs |= dict.fromkeys(contents.ratings.table.select("query_id", "doc_id").rows())
    fields_by_document = {} if has_pairs else rows_by_id(documents, "doc_id")
    data_by_pair = {}
    for query, doc in pairs:
        document_fields = fields.get((query, doc), {}) if has_pairs else fields_by_document.get(doc, {})
        text = {"query": query_texts[query]} if query_texts.get(query) else {}
        data_by_pair[query, doc] = {"query_id": query, "doc_id": doc, **text, **document_fields}
    return data_by_pair


def _make_annotation(row: dict[str, Any], control: Mapping[str, str]) -> dict[str, Json]:
    kind, grade = control["type"], row["grade"]
    results: list[dict[str, Json]] = []
    if grade is not None:
        grade_value = whole_numbers(grade)
        results.append({**control, "value": {kind: [f"{grade_value}"] if kind == "choices" else grade_value}})
    for name in _TEXT_CONTROLS:
        if row[name] is not None:
            value = {"text": [row[name]]}
            results.append(
                {"from_name": name, "to_name": control["to_name"], "type": "textarea", "value": value}
            )
    annotation: dict[str, Json] = {
        "completed_by": {"email": row["rater"]},
        "result": results,
        "was_cancelled": grade is None,
    }
    if row["at"] is not None:
        annotation["created_at"] = format_time(row["at"])
    if row["seconds"] is not None:
        annotation["lead_time"] = row["seconds"]
    return annotation


def _find_losses(contents: FileContents) -> tuple[Loss, ...]:
    losses = list(find_losses(contents, _NAME, "ratings", "queries", "documents"))
    losses += column_losses("queries", contents.queries, ("query_id", "text"))
    if contents.ratings:
        guidelines = contents.ratings.table["guideline"].drop_nulls()
        losses += Loss.of("guidelines of ratings", guidelines.to_list())
        losses += Loss.of_scale(contents.ratings.scale)
    return tuple(losses)


FORMAT = Format(
    name=_NAME,
    title="Label Studio's tasks with annotations",
    suffixes=(".json",),
    sniff=sniff,
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
