"""Label Studio's JSON: tasks with the annotations of each annotator, and models' predictions."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, BinaryIO

import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.columns import named, strings
from rankgate.data.contents import FileContents
from rankgate.data.formats.format import Format, Loss, Note
from rankgate.data.formats.writing import known, lost, lost_columns, own, text_of, texts
from rankgate.data.place import Place
from rankgate.data.ratings import SCHEMA, Ratings
from rankgate.data.text.json_keys import have
from rankgate.data.text.json_reader import a_text, an_object, each
from rankgate.data.text.json_text import document, dumped, identifier, number, whole
from rankgate.data.text.times import moment, stamp

if TYPE_CHECKING:
    from rankgate.data.streams.source import InputFile

_NAME = "label-studio"
_SKIPPED = "skipped by the annotator"
_NOTHING = "the annotation has no grade"
_GRADED = ("rating", "number", "choices")
_CONTROL = {"from_name": "grade", "to_name": "document", "type": "number"}
_WORDS = ("comment", "reason")


@dataclass
class _SeenInTask:
    """What is seen on the way: the control of grades, models, and results that are no grades."""

    control: dict[str, Any] = field(default_factory=dict)
    models: dict[str, None] = field(default_factory=dict)
    others: list[str] = field(default_factory=list)


def sniff(head: bytes, name: str) -> str | None:
    """A list of tasks with data and annotations."""
    if have(head, "[].data", "[].annotations"):
        return "a list of tasks with data and annotations"
    return None


def read(source: InputFile) -> FileContents:
    """Ratings of every annotator, and of models where there are predictions.

    A task's data names the query and the document; its other fields are texts of both. The grade
    is the one ``rating``, ``number`` or ``choices`` of an annotation; a choice must be a number.
    """
    rows: list[dict[str, Any]] = []
    queries: dict[str, dict[str, str]] = {}
    documents: dict[tuple[str, str], dict[str, str]] = {}
    seen = _SeenInTask()
    unrated: list[str] = []
    for where, task in each(document(source), "", source.label):
        data = an_object(task, "data", where, source.label)
        query, doc, asked, shown = pair_of(data, where, source.label)
        queries.setdefault(query, asked)
        documents.setdefault((query, doc), shown)
        result = list(_annotations(task, where, source.label, seen))
        unrated += [] if result else [f"{query} {doc}"]
        rows += [{"query_id": query, "doc_id": doc, **row} for row in result]
    if not documents:
        raise InputError("there are no tasks in it.", source=source.label, code="no-judgments")
    own_ = {"control": seen.control, "models": [*seen.models]}
    own_ = {name: content for name, content in own_.items() if content}
    table = pl.DataFrame(rows, schema=SCHEMA) if rows else pl.DataFrame(schema=SCHEMA)
    return FileContents(
        ratings=Ratings(table, source.stem, place=Place(source.label)),
        queries=_queries(queries),
        documents=_documents(documents),
        extra={_NAME: own_} if own_ else {},
        notes=(
            *Note.of("tasks without annotations, left unrated", unrated),
            *Note.of("results of other controls, left out", seen.others),
        ),
    )


def pair_of(
    data: dict[str, Any], where: str, label: str
) -> tuple[str, str, dict[str, str], dict[str, str]]:
    """The ids, what else is known of the query, and the document's fields."""
    found = named(data, ("query_id", "doc_id"))
    for ours in ("query_id", "doc_id"):
        if ours not in found:
            problem = (
                f"{where}.data has no {ours}, but {', '.join(data) or 'nothing'}; name the field "
                "so before the tasks are imported."
            )
            raise InputError(problem, source=label, code="missing-key")
    query = identifier(data[found["query_id"]], f"the query of {where}", label)
    doc = identifier(data[found["doc_id"]], f"the document of {where}", label)
    others = ((name, text_of(value)) for name, value in data.items() if name not in found.values())
    rest = {name: value for name, value in others if value}
    text = next((name for name in ("query", "query_text") if name in rest), None)
    asked = {"text": rest.pop(text)} if text else {}
    return query, doc, asked, rest


def _annotations(
    task: dict[str, Any], where: str, label: str, seen: _SeenInTask
) -> Iterator[dict[str, Any]]:
    """Each annotation and prediction as a rating."""
    for kind in ("annotations", "predictions"):
        for place, said in each(task.get(kind) or [], f"{where}.{kind}", label):
            own_ = an_object({"said": said}, "said", place, label)
            grade, words = _grade(own_, place, label, seen)
            skipped = own_.get("was_cancelled") is True
            reason = words.get("reason") or (_SKIPPED if skipped else _NOTHING)
            at = a_text(own_, "created_at", place, label) if kind == "annotations" else None
            time = own_.get("lead_time")
            rater = _rater(own_, kind, place, label)
            seen.models |= {rater: None} if kind == "predictions" else {}
            yield {
                "rater": rater,
                "grade": None if skipped else grade,
                "reason": reason if skipped or grade is None else None,
                "at": moment(at, f"{place}.created_at", label) if at else None,
                "seconds": None if time is None else number(time, f"{place}.lead_time", label),
                "comment": words.get("comment"),
            }


def _rater(said: dict[str, Any], kind: str, where: str, label: str) -> str:
    who = said.get("completed_by" if kind == "annotations" else "model_version")
    if isinstance(who, dict):
        who = who.get("email") or who.get("username") or who.get("id")
    if who in (None, "") and kind == "predictions":
        return "prediction"
    return identifier(who, f"'completed_by' of {where}", label)


def _grade(
    said: dict[str, Any], where: str, label: str, seen: _SeenInTask
) -> tuple[float | None, dict[str, str]]:
    """The one grade of an annotation, and what was written next to it."""
    grades: list[float] = []
    words: dict[str, str] = {}
    for place, result in each(said.get("result") or [], f"{where}.result", label):
        kind, value = result.get("type"), an_object(result, "value", place, label)
        if kind == "textarea":
            written = value.get("text")
            lines = written if isinstance(written, list) else [written]
            name = "reason" if result.get("from_name") == "reason" else "comment"
            words[name] = "\n".join(str(line) for line in lines if line)
        elif kind in _GRADED and kind in value:
            grades.append(_number(value[kind], f"{place}.value.{kind}", label))
            for name in _CONTROL:
                seen.control.setdefault(name, result.get(name))
        else:
            seen.others.append(f"{place} ({kind})")
    if len(grades) > 1:
        problem = f"{where} has {len(grades)} grades, where one is needed; export one of them."
        raise InputError(problem, source=label, code="several-candidates")
    return (grades[0] if grades else None), words


def _number(value: Any, where: str, label: str) -> float:
    if not isinstance(value, list):
        return number(value, where, label)
    if len(value) != 1:
        problem = f"{where} has {len(value)} choices, where one is a grade; allow one only."
        raise InputError(problem, source=label, code="several-candidates")
    try:
        return number(float(value[0]), where, label)
    except (TypeError, ValueError):
        problem = (
            f"choice '{str(value[0])[:40]}' of {where} is not a number, and no grade is guessed of "
            "it; name the choices by their grades."
        )
        raise InputError(problem, source=label, code="not-a-number") from None


def _queries(found: dict[str, dict[str, str]]) -> pl.DataFrame | None:
    rows = [{"query_id": query, **fields} for query, fields in found.items()]
    return strings(rows, ("query_id", "text")) if any(found.values()) else None


def _documents(found: dict[tuple[str, str], dict[str, str]]) -> pl.DataFrame:
    return strings([{"query_id": q, "doc_id": d, **shown} for (q, d), shown in found.items()])


def write(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """A task a pair, with an annotation a rating; tasks without ratings are there to be done."""
    tasks: dict[tuple[str, str], dict[str, Any]] = {
        pair: {"data": data, "annotations": []} for pair, data in pairs_of(contents).items()
    }
    if not tasks:
        raise InputError(
            "no pairs of a query and a document; Label Studio's tasks are pairs.",
            code="no-such-content",
        )
    kept = own(contents, _NAME)
    control, models = {**_CONTROL, **(kept.get("control") or {})}, {*(kept.get("models") or ())}
    if contents.ratings:
        for row in contents.ratings.table.iter_rows(named=True):
            task, result = tasks[row["query_id"], row["doc_id"]], _annotation(row, control)
            if row["rater"] in models:
                said = {"model_version": row["rater"], "result": result["result"]}
                task.setdefault("predictions", []).append(said)
            else:
                task["annotations"].append(result)
    out.write(dumped(list(tasks.values())).encode() + b"\n")
    return _losses(contents)


def pairs_of(contents: FileContents) -> dict[tuple[str, str], dict[str, Any]]:
    """Each pair of documents and ratings with its ids, the query's text and the fields."""
    asked, documents = texts(contents), contents.documents
    pairs: dict[tuple[str, str], None] = {}
    by_pair = documents is not None and "query_id" in documents.columns
    fields: dict[tuple[str, str], dict[str, str]] = {}
    if documents is not None and by_pair:
        for row in documents.iter_rows(named=True):
            pair = (row.pop("query_id"), row.pop("doc_id"))
            fields[pair] = {name: value for name, value in row.items() if value is not None}
            pairs[pair] = None
    if contents.ratings:
        pairs |= dict.fromkeys(contents.ratings.table.select("query_id", "doc_id").rows())
    alone = {} if by_pair else known(documents, "doc_id")
    found = {}
    for query, doc in pairs:
        shown = fields.get((query, doc), {}) if by_pair else alone.get(doc, {})
        text = {"query": asked[query]} if asked.get(query) else {}
        found[query, doc] = {"query_id": query, "doc_id": doc, **text, **shown}
    return found


def _annotation(row: dict[str, Any], control: dict[str, Any]) -> dict[str, Any]:
    kind, grade = control["type"], row["grade"]
    result: list[dict[str, Any]] = []
    if grade is not None:
        plain = whole(grade)
        result.append({**control, "value": {kind: [f"{plain}"] if kind == "choices" else plain}})
    for name in _WORDS:
        if row[name] is not None:
            value = {"text": [row[name]]}
            result.append(
                {
                    "from_name": name,
                    "to_name": control["to_name"],
                    "type": "textarea",
                    "value": value,
                }
            )
    values: dict[str, Any] = {
        "completed_by": {"email": row["rater"]},
        "result": result,
        "was_cancelled": grade is None,
    }
    if row["at"] is not None:
        values["created_at"] = stamp(row["at"])
    if row["seconds"] is not None:
        values["lead_time"] = row["seconds"]
    return values


def _losses(contents: FileContents) -> tuple[Loss, ...]:
    found = list(lost(contents, _NAME, "ratings", "queries", "documents"))
    found += lost_columns("queries", contents.queries, ("query_id", "text"))
    if contents.ratings:
        guided = contents.ratings.table["guideline"].drop_nulls()
        found += Loss.of("guidelines of ratings", guided.to_list())
        if contents.ratings.scale:
            scale = contents.ratings.scale
            found.append(Loss("scale of grades", 1, (f"{scale.lowest:g} to {scale.highest:g}",)))
    return tuple(found)


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
        "A list of tasks, as Label Studio exports (JSON, not JSON-MIN) and imports them. data "
        "names the query and the document (query_id, doc_id or their other names); query is the "
        "query's text, other strings are fields of the document. Each annotation is a rating by "
        "completed_by: its one rating, number or choices is the grade, a text area the comment, "
        "lead_time the seconds. A skipped task has no grade. A choice that is not a number is an "
        "error: no grade is guessed of a label. Predictions are ratings by their model_version "
        "and are written as predictions again."
    ),
)
