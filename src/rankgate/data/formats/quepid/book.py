"""Quepid's books as JSON: pairs of query and document with judgements of several people."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, BinaryIO

import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.contents import FileContents
from rankgate.data.formats.collected import GrowingRatings, collect_document_rows
from rankgate.data.formats.format import Format, Loss, Note
from rankgate.data.formats.quepid.case import (
    NAMELESS,
    NOTE_COLUMNS,
    make_query_notes,
    rating_losses,
)
from rankgate.data.formats.writing import (
    cell_text,
    column_losses,
    find_losses,
    format_data,
    rows_by_id,
    texts_by_query,
    write_json,
)
from rankgate.data.qrels import Scale
from rankgate.data.text.json_keys import has_keys
from rankgate.data.text.json_reader import (
    objects_under_key,
    read_id,
    read_object,
    read_text,
    require_object,
)
from rankgate.data.text.json_text import number, read_document, whole_numbers

if TYPE_CHECKING:
    from rankgate.data.streams.source import InputFile

_NAME = "quepid-book"
_UNRATEABLE, _LATER = "unrateable", "judge later"


def sniff(first_bytes: bytes, name: str) -> str | None:
    """Pairs of query and document."""
    if has_keys(first_bytes, "query_doc_pairs", "query_doc_pairs[].query_text"):
        return "an object with query_doc_pairs"
    return None


def read(source: InputFile) -> FileContents:
    """Ratings with their raters, judgments if each pair has one, queries and documents."""
    label = source.label
    root = require_object(read_document(source), source)
    collected, raw_pairs, query_notes, documents = GrowingRatings(label), {}, [], []
    has_explanations = False
    for json_path, pair in objects_under_key(root, "query_doc_pairs", "", label):
        query, doc = (
            read_id(pair, "query_text", json_path, label),
            read_id(pair, "doc_id", json_path, label),
        )
        if (query, doc) in raw_pairs:
            problem = (
                f"{json_path} is the pair of query '{query}' and document '{doc}' again; merge the "
                "two."
            )
            raise InputError(problem, source=label, code="duplicate-document")
        raw_pairs[query, doc] = {key: value for key, value in pair.items() if key != "judgements"}
        collected.ask(query)
        query_notes.append((query, query, *(cell_text(pair.get(name)) for name in NOTE_COLUMNS)))
        documents.append({"query_id": query, "doc_id": doc, **_read_fields(pair, json_path, label)})
        for judgement_path, judgement in objects_under_key(
            {"judgements": [], **pair}, "judgements", json_path, label
        ):
            has_explanations |= "explanation" in judgement
            _add_judgement(collected, (query, doc), judgement, judgement_path)
    book = {key: value for key, value in root.items() if key != "query_doc_pairs"}
    scale = _read_scale(root, label)
    qrels, ratings = collected.qrels(source.stem, scale), collected.ratings(source.stem, scale)
    return FileContents(
        qrels=qrels,
        ratings=ratings,
        queries=make_query_notes(query_notes),
        documents=collect_document_rows(documents),
        extra={_NAME: {"book": book, "pairs": raw_pairs, "explained": has_explanations}},
        notes=_make_notes(collected, raw_pairs),
    )


def _add_judgement(
    collected: GrowingRatings, pair: tuple[str, str], judgement: dict[str, Any], judgement_path: str
) -> None:
    label = collected.label
    rater = read_text(judgement, "user_email", judgement_path, label) or NAMELESS
    reason = (
        _UNRATEABLE
        if judgement.get("unrateable")
        else _LATER
        if judgement.get("judge_later")
        else None
    )
    grade = judgement.get("rating")
    comment = read_text(judgement, "explanation", judgement_path, label)
    if reason and grade is not None:
        raise InputError(
            f"{judgement_path} is {reason} and has a rating; remove one of the two.",
            source=label,
            code="contradiction",
        )
    collected.add(pair, rater, grade, f"{judgement_path}.rating", reason=reason, comment=comment)


def _read_fields(pair: Mapping[str, Any], json_path: str, label: str) -> dict[str, str | None]:
    """The fields of a document, which may be an object or its text."""
    fields = pair.get("document_fields")
    if isinstance(fields, str):
        try:
            fields = json.loads(fields) if fields.strip() else None
        except (ValueError, RecursionError):
            return {"document_fields": pair["document_fields"]}
        if not isinstance(fields, dict):
            return {"document_fields": pair["document_fields"]}
    field_object = read_object({"document_fields": fields}, "document_fields", json_path, label)
    own_columns = {"query_id", "doc_id"}
    return {
        (f"field_{key}" if key in own_columns else key): cell_text(value)
        for key, value in field_object.items()
    }


def _read_scale(root: Mapping[str, Any], label: str) -> Scale | None:
    """The grades of a book, from ``scale`` and ``scale_with_labels``."""
    labels = read_object(root, "scale_with_labels", "", label)
    grades = root.get("scale") or list(labels)
    if not isinstance(grades, list) or not grades:
        return None
    numbers = [number(grade, "a grade of 'scale'", label) for grade in grades]
    names = tuple(
        (number(key, "a grade of 'scale_with_labels'", label), str(name))
        for key, name in labels.items()
    )
    return Scale(min(numbers), max(numbers), names)


def _make_notes(rated: GrowingRatings, pairs: Mapping[tuple[str, str], Any]) -> tuple[Note, ...]:
    ratings = rated.ratings("")
    if ratings is None:
        return Note.of("pairs without a judgement", map(" ".join, pairs))
    table = ratings.table
    rated_pairs = set(table.select("query_id", "doc_id").iter_rows())
    pair_text = pl.format("{} {}", "query_id", "doc_id")
    reasons = (
        Note.of(
            f"judgements that are {reason}",
            table.filter(pl.col("reason") == reason).select(pair_text).to_series(),
        )
        for reason in (_UNRATEABLE, _LATER)
    )
    unrated_notes = Note.of(
        "pairs without a judgement", (" ".join(pair) for pair in pairs if pair not in rated_pairs)
    )
    return (*unrated_notes, *(note for notes in reasons for note in notes))


def judgements_by_pair(
    contents: FileContents, *, explained: bool
) -> dict[tuple[str, str], list[dict[str, Any]]]:
    """The judgements of each pair, in the form of the book.

    Raises:
        InputError: there are neither ratings nor judgments.
    """
    judgements_of_pair: dict[tuple[str, str], list[dict[str, Any]]] = {}
    if contents.ratings is None:
        for query, doc, grade in (
            contents.judgments("").table.select("query_id", "doc_id", "grade").iter_rows()
        ):
            judgements_of_pair[query, doc] = [
                _format_judgement(NAMELESS, grade, None, None, explained=explained)
            ]
        return judgements_of_pair
    columns = ("query_id", "doc_id", "rater", "grade", "reason", "comment")
    for query, doc, *rating_fields in contents.ratings.table.select(columns).iter_rows():
        judgements_of_pair.setdefault((query, doc), []).append(
            _format_judgement(*rating_fields, explained=explained)
        )
    return judgements_of_pair


def _format_judgement(
    rater: str, grade: float | None, reason: str | None, comment: str | None, *, explained: bool
) -> dict[str, Any]:
    is_later = reason == _LATER
    row = {
        "rating": whole_numbers(grade),
        "unrateable": grade is None and not is_later,
        "judge_later": is_later,
        "user_email": None if rater == NAMELESS else rater,
    }
    return row | {"explanation": comment} if explained else row


def write(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """Write the book with the current judgements."""
    format_extra = format_data(contents, _NAME)
    judgements_of_pair = judgements_by_pair(contents, explained=format_extra.get("explained", True))
    raw_pairs, text = format_extra.get("pairs", {}), texts_by_query(contents)
    notes = rows_by_id(contents.queries, "query_id")
    fields_of_pair = _fields_by_pair(contents.documents)
    pairs = []
    for query, doc in dict.fromkeys(
        [*raw_pairs, *judgements_of_pair, *(pair for pair in fields_of_pair if None not in pair)]
    ):
        fields = fields_of_pair.get((query, doc)) or fields_of_pair.get((None, doc))
        noted_here = {name: notes.get(query, {}).get(name) for name in NOTE_COLUMNS}
        new_pair = {"query_text": text.get(query, query), "doc_id": doc, "position": None}
        new_pair |= {"document_fields": fields, **noted_here}
        pairs.append(
            {
                **raw_pairs.get((query, doc), new_pair),
                "judgements": judgements_of_pair.get((query, doc), []),
            }
        )
    name = contents.ratings.name if contents.ratings else contents.judgments("").name
    write_json(
        out, {**_make_header(contents, format_extra.get("book"), name), "query_doc_pairs": pairs}
    )
    reasons = _other_reasons(contents)
    judged_queries = {query for query, _ in (*raw_pairs, *judgements_of_pair, *fields_of_pair)}
    unjudged_queries = [
        query
        for query in (contents.qrels.unjudged if contents.qrels else ())
        if query not in judged_queries
    ]
    return (
        *find_losses(
            contents, _NAME, "qrels", "ratings", "queries", "documents", "scale", "unjudged"
        ),
        *Loss.of("queries without judgments", unjudged_queries),
        *column_losses("queries", contents.queries, ("query_id", "text", *NOTE_COLUMNS)),
        *rating_losses(contents, ("comment", "reason")),
        *Loss.of("reasons for having no grade, written as unrateable", reasons),
    )


def _make_header(contents: FileContents, book: dict[str, Any] | None, name: str) -> dict[str, Any]:
    if book is not None:
        return book
    scale = contents.ratings.scale if contents.ratings else contents.judgments("").scale
    header: dict[str, Any] = {
        "name": name,
        "show_rank": False,
        "support_implicit_judgements": False,
    }
    if scale and scale.labels:
        header["scale"] = [grade for grade, _ in scale.labels]
        header["scale_with_labels"] = {f"{grade:g}": label for grade, label in scale.labels}
    elif scale:
        header["scale"] = [scale.lowest, scale.highest]
    return header


def _fields_by_pair(
    documents: pl.DataFrame | None,
) -> dict[tuple[str | None, str], dict[str, Any] | None]:
    fields_of_pair: dict[tuple[str | None, str], dict[str, Any] | None] = {}
    for row in documents.iter_rows(named=True) if documents is not None else ():
        fields = {
            column: cell
            for column, cell in row.items()
            if column not in {"query_id", "doc_id"} and cell is not None
        }
        fields_of_pair[row.get("query_id"), row["doc_id"]] = fields or None
    return fields_of_pair


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
