"""Quepid's cases as JSON: queries with ratings by people, and the settings of the engine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, BinaryIO

import polars as pl

from rankgate.data.contents import FileContents
from rankgate.data.formats.collected import GrowingRatings
from rankgate.data.formats.format import Format, Loss, Note
from rankgate.data.formats.writing import (
    cell_text,
    collect_grades,
    column_losses,
    find_losses,
    format_data,
    rows_by_id,
    texts_by_query,
    write_json,
)
from rankgate.data.text.json_keys import has_keys
from rankgate.data.text.json_reader import objects_under_key, read_id, read_text, require_object
from rankgate.data.text.json_text import read_document, whole_numbers

if TYPE_CHECKING:
    from rankgate.data.streams.source import InputFile

NAMELESS = "Anonymous"
"""The rater of a rating if Quepid does not know the rater."""

NOTE_COLUMNS = ("information_need", "notes", "options")
"""The notes that Quepid keeps for a query besides its text."""

_NAME = "quepid-case"


def sniff(first_bytes: bytes, name: str) -> str | None:
    """A case's name and its queries."""
    if has_keys(first_bytes, "case_name", "queries"):
        return "an object with case_name and queries"
    return None


def read(source: InputFile) -> FileContents:
    """Ratings with their raters, judgments if each pair has one rating, and the queries."""
    label = source.label
    root = require_object(read_document(source), source)
    collected, raw_queries, rows = GrowingRatings(label), {}, []
    for json_path, query in objects_under_key(root, "queries", "", label):
        text = read_id(query, "query_text", json_path, label)
        collected.ask(text)
        rows.append((text, text, *(cell_text(query.get(name)) for name in NOTE_COLUMNS)))
        raw_queries[text] = {key: value for key, value in query.items() if key != "ratings"}
        for rating_path, rating in objects_under_key(
            {"ratings": [], **query}, "ratings", json_path, label
        ):
            rater = read_text(rating, "user_email", rating_path, label) or NAMELESS
            doc = read_id(rating, "doc_id", rating_path, label)
            collected.add((text, doc), rater, rating.get("rating"), f"{rating_path}.rating")
    case = {key: value for key, value in root.items() if key != "queries"}
    qrels = collected.qrels(source.stem)
    return FileContents(
        qrels=qrels,
        ratings=collected.ratings(source.stem),
        queries=make_query_notes(rows),
        extra={_NAME: {"case": case, "queries": raw_queries}},
        notes=Note.of("queries without judgments", qrels.unjudged if qrels else ()),
    )


def make_query_notes(rows: list[tuple[str | None, ...]]) -> pl.DataFrame | None:
    """Queries with their first notes; None if only ids are known.

    Args:
        rows: id, text and the notes of ``NOTED``.
    """
    names = ("query_id", "text", *NOTE_COLUMNS)
    schema = dict.fromkeys(names, pl.String)
    all_rows = pl.DataFrame(rows, schema=schema, orient="row")
    table = all_rows.group_by("query_id", maintain_order=True).agg(pl.all().drop_nulls().first())
    filled_columns = [name for name in names if table[name].null_count() < len(table)]
    has_notes = {*filled_columns} & {*NOTE_COLUMNS} or (table["text"] != table["query_id"]).any()
    return table.select(filled_columns) if has_notes else None


def collect_ratings(contents: FileContents) -> dict[str, list[dict[str, Any]]]:
    """Each query's ratings: ``doc_id``, ``rating``, ``user_email``.

    Judgments are ratings without a rater if there are no ratings.

    Raises:
        InputError: there are neither.
    """
    ratings_by_query: dict[str, list[dict[str, Any]]] = {}
    if contents.ratings is None:
        for query, grades in collect_grades(contents.judgments("")).items():
            ratings_by_query[query] = [
                {"doc_id": doc, "rating": grade, "user_email": None}
                for doc, grade in grades.items()
            ]
        return ratings_by_query
    columns = contents.ratings.table.select("query_id", "doc_id", "rater", "grade")
    for query, doc, rater, grade in columns.iter_rows():
        email = None if rater == NAMELESS else rater
        row = {"doc_id": doc, "rating": whole_numbers(grade), "user_email": email}
        ratings_by_query.setdefault(query, []).append(row)
    for query in contents.qrels.unjudged if contents.qrels else ():
        ratings_by_query.setdefault(query, [])
    return ratings_by_query


def write(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """Write the case with the current ratings."""
    format_extra, ratings, noted_of = (
        format_data(contents, _NAME),
        collect_ratings(contents),
        rows_by_id(contents.queries, "query_id"),
    )
    case, raw_queries, text = (
        format_extra.get("case", {}),
        format_extra.get("queries", {}),
        texts_by_query(contents),
    )
    queries = []
    for query in dict.fromkeys(
        [*(query_id for query_id in raw_queries if query_id in ratings), *ratings]
    ):
        notes = noted_of.get(query, {})
        new_query = {
            "query_text": text.get(query, query),
            **{name: notes.get(name) for name in NOTE_COLUMNS},
        }
        queries.append({**raw_queries.get(query, new_query), "ratings": ratings[query]})
    name = (
        contents.qrels.name if contents.qrels else contents.ratings.name if contents.ratings else ""
    )
    trailing_fields = {key: value for key, value in case.items() if key == "try"}
    leading_fields = {key: value for key, value in case.items() if key != "try"} or {
        "case_name": name
    }
    write_json(out, {**leading_fields, "queries": queries, **trailing_fields})
    renamed_queries = [
        query for query, query_text in text.items() if query_text != query and query in ratings
    ]
    return (
        *find_losses(contents, _NAME, "qrels", "unjudged", "ratings", "queries"),
        *column_losses("queries", contents.queries, ("query_id", "text", *NOTE_COLUMNS)),
        *rating_losses(contents, ()),
        *Loss.of("ids of queries, which are called by their texts", renamed_queries),
    )


def rating_losses(contents: FileContents, kept_columns: tuple[str, ...]) -> tuple[Loss, ...]:
    """The columns of ratings that have values and are not written."""
    if contents.ratings is None:
        return ()
    table = contents.ratings.table
    names = [
        name
        for name in ("reason", "at", "seconds", "comment", "guideline")
        if name not in kept_columns
    ]
    filled_columns = [name for name in names if table[name].null_count() < len(table)]
    return Loss.of("columns of ratings", filled_columns)


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
