"""Quepid's cases as JSON: queries with ratings by people, and how the engine is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO

import polars as pl

from rankgate.data.contents import FileContents
from rankgate.data.formats.collected import GrowingRatings
from rankgate.data.formats.format import Format, Loss, Note
from rankgate.data.formats.writing import (
    by_query,
    known,
    lost,
    lost_columns,
    own,
    put,
    text_of,
    texts,
)
from rankgate.data.text.json_keys import have
from rankgate.data.text.json_reader import a_text, an_id, inside, whole_object
from rankgate.data.text.json_text import document, whole

if TYPE_CHECKING:
    from rankgate.data.streams.source import InputFile

NAMELESS = "Anonymous"
"""The rater of a rating whose rater Quepid does not know."""

NOTED = ("information_need", "notes", "options")
"""What Quepid notes of a query besides its text."""

_NAME = "quepid-case"


def sniff(head: bytes, name: str) -> str | None:
    """A case's name and its queries."""
    if have(head, "case_name", "queries"):
        return "an object with case_name and queries"
    return None


def read(source: InputFile) -> FileContents:
    """Ratings with their raters, judgments where each pair has one rating, and the queries."""
    label = source.label
    found = whole_object(document(source), source)
    rated, raw, rows = GrowingRatings(label), {}, []
    for where, query in inside(found, "queries", "", label):
        text = an_id(query, "query_text", where, label)
        rated.ask(text)
        rows.append((text, text, *(text_of(query.get(name)) for name in NOTED)))
        raw[text] = {key: value for key, value in query.items() if key != "ratings"}
        for at, rating in inside({"ratings": [], **query}, "ratings", where, label):
            rater = a_text(rating, "user_email", at, label) or NAMELESS
            doc = an_id(rating, "doc_id", at, label)
            rated.add((text, doc), rater, rating.get("rating"), f"{at}.rating")
    case = {key: value for key, value in found.items() if key != "queries"}
    qrels = rated.qrels(source.stem)
    return FileContents(
        qrels=qrels,
        ratings=rated.ratings(source.stem),
        queries=noted(rows),
        extra={_NAME: {"case": case, "queries": raw}},
        notes=Note.of("queries without judgments", qrels.unjudged if qrels else ()),
    )


def noted(rows: list[tuple[str | None, ...]]) -> pl.DataFrame | None:
    """Queries with what is first noted of them; None where no more than ids is known.

    Args:
        rows: id, text and the notes of ``NOTED``.
    """
    names = ("query_id", "text", *NOTED)
    schema = dict.fromkeys(names, pl.String)
    every = pl.DataFrame(rows, schema=schema, orient="row")
    table = every.group_by("query_id", maintain_order=True).agg(pl.all().drop_nulls().first())
    filled = [name for name in names if table[name].null_count() < len(table)]
    values = {*filled} & {*NOTED} or (table["text"] != table["query_id"]).any()
    return table.select(filled) if values else None


def rated_by(contents: FileContents) -> dict[str, list[dict[str, Any]]]:
    """Each query's ratings: ``doc_id``, ``rating``, ``user_email``.

    Judgments are ratings of nobody where there are no ratings.

    Raises:
        InputError: there are neither.
    """
    found: dict[str, list[dict[str, Any]]] = {}
    if contents.ratings is None:
        for query, grades in by_query(contents.judgments("")).items():
            found[query] = [
                {"doc_id": doc, "rating": grade, "user_email": None}
                for doc, grade in grades.items()
            ]
        return found
    columns = contents.ratings.table.select("query_id", "doc_id", "rater", "grade")
    for query, doc, rater, grade in columns.iter_rows():
        email = None if rater == NAMELESS else rater
        row = {"doc_id": doc, "rating": whole(grade), "user_email": email}
        found.setdefault(query, []).append(row)
    for query in contents.qrels.unjudged if contents.qrels else ():
        found.setdefault(query, [])
    return found


def write(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """The case, with the ratings as they are now."""
    kept, ratings, noted_of = (
        own(contents, _NAME),
        rated_by(contents),
        known(contents.queries, "query_id"),
    )
    case, raw, text = kept.get("case", {}), kept.get("queries", {}), texts(contents)
    queries = []
    for query in dict.fromkeys([*(q for q in raw if q in ratings), *ratings]):
        notes = noted_of.get(query, {})
        new = {"query_text": text.get(query, query), **{name: notes.get(name) for name in NOTED}}
        queries.append({**raw.get(query, new), "ratings": ratings[query]})
    name = (
        contents.qrels.name if contents.qrels else contents.ratings.name if contents.ratings else ""
    )
    after = {key: value for key, value in case.items() if key == "try"}
    before = {key: value for key, value in case.items() if key != "try"} or {"case_name": name}
    put(out, {**before, "queries": queries, **after})
    called = [query for query, shown in text.items() if shown != query and query in ratings]
    return (
        *lost(contents, _NAME, "qrels", "unjudged", "ratings", "queries"),
        *lost_columns("queries", contents.queries, ("query_id", "text", *NOTED)),
        *rating_losses(contents, ()),
        *Loss.of("ids of queries, which are called by their texts", called),
    )


def rating_losses(contents: FileContents, kept: tuple[str, ...]) -> tuple[Loss, ...]:
    """The columns of ratings that are filled and have no place."""
    if contents.ratings is None:
        return ()
    table = contents.ratings.table
    names = [
        name for name in ("reason", "at", "seconds", "comment", "guideline") if name not in kept
    ]
    filled = [name for name in names if table[name].null_count() < len(table)]
    return Loss.of("columns of ratings", filled)


FORMAT = Format(
    name=_NAME,
    title="Quepid's cases as JSON",
    suffixes=(".json",),
    sniff=sniff,
    read=read,
    write=write,
    holds=("ratings", "qrels", "queries"),
    loses="runs, scales, times of ratings",
    detail=(
        "A case with its queries, their information needs, notes and ratings, each with the "
        "address of its rater, and the settings of the engine (try), which come back as they "
        "were. A rating whose rater is null is of 'Anonymous'."
    ),
)
