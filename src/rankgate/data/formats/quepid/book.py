"""Quepid's books as JSON: pairs of query and document with the judgements of several people."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, BinaryIO

import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.contents import FileContents
from rankgate.data.formats.collected import GrowingRatings, documents_from
from rankgate.data.formats.format import Format, Loss, Note
from rankgate.data.formats.quepid.case import NAMELESS, NOTED, noted, rating_losses
from rankgate.data.formats.writing import known, lost, lost_columns, own, put, text_of, texts
from rankgate.data.qrels import Scale
from rankgate.data.text.json_keys import have
from rankgate.data.text.json_reader import a_text, an_id, an_object, inside, whole_object
from rankgate.data.text.json_text import document, number, whole

if TYPE_CHECKING:
    from rankgate.data.streams.source import InputFile

_NAME = "quepid-book"
_UNRATEABLE, _LATER = "unrateable", "judge later"


def sniff(head: bytes, name: str) -> str | None:
    """Pairs of query and document."""
    if have(head, "query_doc_pairs", "query_doc_pairs[].query_text"):
        return "an object with query_doc_pairs"
    return None


def read(source: InputFile) -> FileContents:
    """Ratings with their raters, judgments where each pair has one, queries and documents."""
    label = source.label
    found = whole_object(document(source), source)
    rated, raw, noted_of, documents = GrowingRatings(label), {}, [], []
    explained = False
    for where, pair in inside(found, "query_doc_pairs", "", label):
        query, doc = an_id(pair, "query_text", where, label), an_id(pair, "doc_id", where, label)
        if (query, doc) in raw:
            problem = (
                f"{where} is the pair of query '{query}' and document '{doc}' again; merge the two."
            )
            raise InputError(problem, source=label, code="duplicate-document")
        raw[query, doc] = {key: value for key, value in pair.items() if key != "judgements"}
        rated.ask(query)
        noted_of.append((query, query, *(text_of(pair.get(name)) for name in NOTED)))
        documents.append({"query_id": query, "doc_id": doc, **_fields(pair, where, label)})
        for at, judgement in inside({"judgements": [], **pair}, "judgements", where, label):
            explained |= "explanation" in judgement
            _judgement(rated, (query, doc), judgement, at)
    book = {key: value for key, value in found.items() if key != "query_doc_pairs"}
    scale = _scale(found, label)
    qrels, ratings = rated.qrels(source.stem, scale), rated.ratings(source.stem, scale)
    return FileContents(
        qrels=qrels,
        ratings=ratings,
        queries=noted(noted_of),
        documents=documents_from(documents),
        extra={_NAME: {"book": book, "pairs": raw, "explained": explained}},
        notes=_notes(rated, raw),
    )


def _judgement(
    rated: GrowingRatings, pair: tuple[str, str], found: dict[str, Any], at: str
) -> None:
    label = rated.label
    rater = a_text(found, "user_email", at, label) or NAMELESS
    reason = (
        _UNRATEABLE if found.get("unrateable") else _LATER if found.get("judge_later") else None
    )
    grade = found.get("rating")
    comment = a_text(found, "explanation", at, label)
    if reason and grade is not None:
        raise InputError(
            f"{at} is {reason} and has a rating; remove one of the two.",
            source=label,
            code="contradiction",
        )
    rated.add(pair, rater, grade, f"{at}.rating", reason=reason, comment=comment)


def _fields(pair: Mapping[str, Any], where: str, label: str) -> dict[str, str | None]:
    """The fields of a document, which may be an object or its text."""
    fields = pair.get("document_fields")
    if isinstance(fields, str):
        try:
            fields = json.loads(fields) if fields.strip() else None
        except (ValueError, RecursionError):
            return {"document_fields": pair["document_fields"]}
        if not isinstance(fields, dict):
            return {"document_fields": pair["document_fields"]}
    shown = an_object({"document_fields": fields}, "document_fields", where, label)
    taken = {"query_id", "doc_id"}
    return {
        (f"field_{key}" if key in taken else key): text_of(value) for key, value in shown.items()
    }


def _scale(found: Mapping[str, Any], label: str) -> Scale | None:
    """The grades of a book, from ``scale`` and ``scale_with_labels``."""
    labels = an_object(found, "scale_with_labels", "", label)
    grades = found.get("scale") or list(labels)
    if not isinstance(grades, list) or not grades:
        return None
    numbers = [number(grade, "a grade of 'scale'", label) for grade in grades]
    names = tuple(
        (number(key, "a grade of 'scale_with_labels'", label), str(name))
        for key, name in labels.items()
    )
    return Scale(min(numbers), max(numbers), names)


def _notes(rated: GrowingRatings, pairs: Mapping[tuple[str, str], Any]) -> tuple[Note, ...]:
    ratings = rated.ratings("")
    if ratings is None:
        return Note.of("pairs without a judgement", map(" ".join, pairs))
    table = ratings.table
    content = set(table.select("query_id", "doc_id").iter_rows())
    shown = pl.format("{} {}", "query_id", "doc_id")
    reasons = (
        Note.of(
            f"judgements that are {reason}",
            table.filter(pl.col("reason") == reason).select(shown).to_series(),
        )
        for reason in (_UNRATEABLE, _LATER)
    )
    without = Note.of(
        "pairs without a judgement", (" ".join(pair) for pair in pairs if pair not in content)
    )
    return (*without, *(note for found in reasons for note in found))


def judgements(
    contents: FileContents, *, explained: bool
) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """The judgements of each pair, as the book has them.

    Raises:
        InputError: there are neither ratings nor judgments.
    """
    found: dict[tuple[str, str], list[dict[str, Any]]] = {}
    if contents.ratings is None:
        for query, doc, grade in (
            contents.judgments("").table.select("query_id", "doc_id", "grade").iter_rows()
        ):
            found[query, doc] = [_as_book(NAMELESS, grade, None, None, explained=explained)]
        return found
    columns = ("query_id", "doc_id", "rater", "grade", "reason", "comment")
    for query, doc, *rest in contents.ratings.table.select(columns).iter_rows():
        found.setdefault((query, doc), []).append(_as_book(*rest, explained=explained))
    return found


def _as_book(
    rater: str, grade: float | None, reason: str | None, comment: str | None, *, explained: bool
) -> dict[str, Any]:
    later = reason == _LATER
    row = {
        "rating": whole(grade),
        "unrateable": grade is None and not later,
        "judge_later": later,
        "user_email": None if rater == NAMELESS else rater,
    }
    return row | {"explanation": comment} if explained else row


def write(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """The book, with the judgements as they are now."""
    kept = own(contents, _NAME)
    found = judgements(contents, explained=kept.get("explained", True))
    raw, text = kept.get("pairs", {}), texts(contents)
    notes = known(contents.queries, "query_id")
    every = _fields_by_pair(contents.documents)
    pairs = []
    for query, doc in dict.fromkeys([*raw, *found, *(pair for pair in every if None not in pair)]):
        fields = every.get((query, doc)) or every.get((None, doc))
        noted_here = {name: notes.get(query, {}).get(name) for name in NOTED}
        new = {"query_text": text.get(query, query), "doc_id": doc, "position": None}
        new |= {"document_fields": fields, **noted_here}
        pairs.append({**raw.get((query, doc), new), "judgements": found.get((query, doc), [])})
    name = contents.ratings.name if contents.ratings else contents.judgments("").name
    put(out, {**_head(contents, kept.get("book"), name), "query_doc_pairs": pairs})
    reasons = _other_reasons(contents)
    shown = {query for query, _ in (*raw, *found, *every)}
    alone = [
        query for query in (contents.qrels.unjudged if contents.qrels else ()) if query not in shown
    ]
    return (
        *lost(contents, _NAME, "qrels", "ratings", "queries", "documents", "scale", "unjudged"),
        *Loss.of("queries without judgments", alone),
        *lost_columns("queries", contents.queries, ("query_id", "text", *NOTED)),
        *rating_losses(contents, ("comment", "reason")),
        *Loss.of("reasons for having no grade, written as unrateable", reasons),
    )


def _head(contents: FileContents, book: dict[str, Any] | None, name: str) -> dict[str, Any]:
    if book is not None:
        return book
    scale = contents.ratings.scale if contents.ratings else contents.judgments("").scale
    head: dict[str, Any] = {"name": name, "show_rank": False, "support_implicit_judgements": False}
    if scale and scale.labels:
        head["scale"] = [grade for grade, _ in scale.labels]
        head["scale_with_labels"] = {f"{grade:g}": shown for grade, shown in scale.labels}
    elif scale:
        head["scale"] = [scale.lowest, scale.highest]
    return head


def _fields_by_pair(
    documents: pl.DataFrame | None,
) -> dict[tuple[str | None, str], dict[str, Any] | None]:
    found: dict[tuple[str | None, str], dict[str, Any] | None] = {}
    for row in documents.iter_rows(named=True) if documents is not None else ():
        fields = {k: v for k, v in row.items() if k not in {"query_id", "doc_id"} and v is not None}
        found[row.get("query_id"), row["doc_id"]] = fields or None
    return found


def _other_reasons(contents: FileContents) -> list[str]:
    if contents.ratings is None:
        return []
    reasons = contents.ratings.table["reason"].drop_nulls()
    return reasons.filter(~reasons.is_in([_UNRATEABLE, _LATER])).to_list()


FORMAT = Format(
    name=_NAME,
    title="Quepid's books as JSON",
    suffixes=(".json",),
    sniff=sniff,
    read=read,
    write=write,
    holds=("ratings", "qrels", "queries", "documents"),
    loses="runs, times of ratings",
    detail=(
        "A book of pairs of query and document with the judgements of several people, kept as "
        "ratings: unrateable and judge later are ratings without a grade, with the reason. They "
        "are judgments only where no pair has two grades; otherwise resolve them first. Positions "
        "and fields of documents come back as they were."
    ),
)
