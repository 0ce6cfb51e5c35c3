"""Quepid's cases, ratings and information needs.

Cases as JSON are queries with ratings by people, and the settings of the engine. Ratings as
JSON are the documents and grades of each query. Basic ratings are ``query,docid,rating``, in
any order of columns. Information needs are ``query,information_need``.
"""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING, BinaryIO

import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.file_contents import FileContents
from rankgate.data.formats.collected_judgments import GrowingQrels, GrowingRatings
from rankgate.data.formats.format import Format, Loss, Note
from rankgate.data.formats.format_writing import (
    collect_pooled_grades,
    find_losses,
    format_data,
    id_losses,
    ratings_of,
    rows_by_id,
    texts_by_query,
    with_text_ids,
    write_json,
)
from rankgate.data.formats.products.product_sheets import (
    LOSES,
    detect_columns,
    pool_losses,
    pool_rows,
    read_sheet_judgments,
    with_headers,
)
from rankgate.data.qrels import RATINGS_SCHEMA
from rankgate.data.table_rows import refuse_repeated
from rankgate.data.text import delimited_records
from rankgate.data.text.json_text import JsonRecord, cell_text, detect_keys, read_record, whole_numbers

if TYPE_CHECKING:
    from rankgate.core.value_types import Json
    from rankgate.data.streams.source import InputFile


NAMELESS = "Anonymous"
"""The rater of a rating if Quepid does not know the rater."""

NOTE_COLUMNS = ("information_need", "notes", "options")
"""The notes that Quepid keeps for a query besides its text."""

_CASE_NAME = "quepid-case"
_RATING_COLUMNS = ("query_id", "doc_id", "rater", "grade")


def read_case(source: InputFile) -> FileContents:
    """Ratings with their raters, judgments if each pair has one rating, and the queries."""
    root = read_record(source)
    collected, raw_queries, rows = GrowingRatings(source), {}, []
    for query in root.records("queries", required=True):
        text = query.id("query_text")
        collected.ask(text)
        rows.append(query_notes(text, text, query))
        raw_queries[text] = query.values_except("ratings")
        for rating in query.records("ratings"):
            rater = rating.text("user_email") or NAMELESS
            collected.add(text, rating.id("doc_id"), rater, rating.get("rating"), rating.path_of("rating"))
    contents = collected.contents(
        queries=make_query_notes(rows),
        extra={_CASE_NAME: {"case": root.values_except("queries"), "queries": raw_queries}},
    )
    unjudged = contents.qrels.unjudged if contents.qrels else ()
    return replace(contents, notes=Note.of("queries without judgments", unjudged))


def query_notes(query: str, text: str, fields: JsonRecord) -> tuple[str | None, ...]:
    """The id, the text and the notes of a query, for `make_query_notes`."""
    return (query, text, *(cell_text(fields.get(name)) for name in NOTE_COLUMNS))


def make_query_notes(rows: list[tuple[str | None, ...]]) -> pl.DataFrame | None:
    """Queries with their first notes; None if only the ids are known.

    Args:
        rows: see `query_notes`.
    """
    names = ("query_id", "text", *NOTE_COLUMNS)
    schema = dict.fromkeys(names, pl.String)
    all_rows = pl.DataFrame(rows, schema=schema, orient="row")
    table = all_rows.group_by("query_id", maintain_order=True).agg(pl.all().drop_nulls().first())
    filled_columns = [name for name in names if table[name].null_count() < len(table)]
    has_notes = {*filled_columns} & {*NOTE_COLUMNS} or (table["text"] != table["query_id"]).any()
    return table.select(filled_columns) if has_notes else None


def collect_ratings(contents: FileContents) -> dict[str, list[dict[str, Json]]]:
    """Each query's ratings: ``doc_id``, ``rating``, ``user_email``.

    If there are no ratings, judgments are ratings without a rater.

    Raises:
        InputError: there are neither ratings nor judgments.
    """
    ratings_by_query: dict[str, list[dict[str, Json]]] = {}
    columns = ratings_of(contents, NAMELESS).table.select("query_id", "doc_id", "rater", "grade")
    for query, doc, rater, grade in columns.iter_rows():
        email = None if rater == NAMELESS else rater
        row = {"doc_id": doc, "rating": whole_numbers(grade), "user_email": email}
        ratings_by_query.setdefault(query, []).append(row)
    for query in contents.qrels.unjudged if contents.qrels else ():
        ratings_by_query.setdefault(query, [])
    return ratings_by_query


def write_case(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """Write the case with the current ratings."""
    ratings, noted_of = collect_ratings(contents), rows_by_id(contents.queries, "query_id")
    format_extra, text = format_data(contents, _CASE_NAME), texts_by_query(contents)
    case, raw_queries = format_extra.get("case", {}), format_extra.get("queries", {})
    queries = []
    for query in dict.fromkeys([*(query_id for query_id in raw_queries if query_id in ratings), *ratings]):
        notes = noted_of.get(query, {})
        new_query = {"query_text": text.get(query, query), **{name: notes.get(name) for name in NOTE_COLUMNS}}
        queries.append({**raw_queries.get(query, new_query), "ratings": ratings[query]})
    name = contents.qrels.name if contents.qrels else contents.ratings.name if contents.ratings else ""
    trailing_fields = {key: value for key, value in case.items() if key == "try"}
    leading_fields = {key: value for key, value in case.items() if key != "try"} or {"case_name": name}
    write_json(out, {**leading_fields, "queries": queries, **trailing_fields})
    kept_parts = ("qrels", "unjudged", "ratings", "queries")
    return (
        *find_losses(contents, _CASE_NAME, *kept_parts, queries=("text", *NOTE_COLUMNS)),
        *rating_losses(contents),
        *id_losses(query for query, query_text in text.items() if query_text != query and query in ratings),
    )


def rating_losses(contents: FileContents, *kept_columns: str) -> tuple[Loss, ...]:
    """The columns of ratings that have values but are not written."""
    if contents.ratings is None:
        return ()
    table = contents.ratings.table
    names = [name for name in RATINGS_SCHEMA if name not in {*_RATING_COLUMNS, *kept_columns}]
    return Loss.of("columns of ratings", [name for name in names if table[name].count()])


CASE_FORMAT = Format(
    name=_CASE_NAME,
    title="Quepid's cases as JSON",
    suffixes=(".json",),
    sniff=detect_keys(("an object with case_name and queries", "case_name", "queries")),
    read=read_case,
    write=write_case,
    holds=("ratings", "qrels", "queries"),
    loses="runs, scales, times of ratings",
    detail=(
        "A case with its queries, their information needs, notes and ratings, each with the address of its "
        "rater, and the settings of the engine (try), which come back as they were. A rating without a rater "
        "is by 'Anonymous'."
    ),
)


_RATINGS_NAME = "quepid-ratings"


def read_ratings(source: InputFile) -> FileContents:
    """Read judgments."""
    judged = GrowingQrels(source)
    for query in read_record(source).records("queries", required=True):
        judged.add_grades(query.id("query"), query.record("ratings"))
    return judged.contents()


def write_ratings(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """Write the queries with their ratings."""
    contents, query_losses = with_text_ids(contents)
    grades = collect_pooled_grades(contents).items()
    write_json(
        out, {"queries": [{"query": query, "ratings": grade_of_doc} for query, grade_of_doc in grades]}
    )
    return (*pool_losses(contents, _RATINGS_NAME), *query_losses)


RATINGS_FORMAT = Format(
    name=_RATINGS_NAME,
    title="Quepid's ratings as JSON",
    suffixes=(".json",),
    sniff=detect_keys(
        ("queries with an object of ratings by document", "queries[].query", "queries[].ratings")
    ),
    read=read_ratings,
    write=write_ratings,
    loses="raters, scales, texts besides ids",
    detail='One object: {"queries": [{"query": "star wars", "ratings": {"11": 3}}]}.',
)


_RATINGS_CSV_COLUMNS = {"query_id": ("query",), "doc_id": ("docid", "doc_id"), "grade": ("rating",)}
_PAIR = ["query_id", "doc_id"]


def write_ratings_csv(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """Write three columns, without a final newline; unrated documents have empty fields."""
    contents, query_losses = with_text_ids(contents)
    rows = pool_rows(contents).with_columns(delimited_records.format_grade())
    delimited_records.write_sheet(
        rows.rename({"query_id": "query", "doc_id": "docid", "grade": "rating"}), out, last=False
    )
    guarded_rows = rows.filter(pl.any_horizontal(pl.col(_PAIR).str.contains(r"^ [-=+@]")))
    return (
        *pool_losses(contents, "quepid-csv"),
        *query_losses,
        *Loss.of("ids with a first blank, which is read as a guard", guarded_rows["query_id"].to_list()),
    )


RATINGS_CSV_FORMAT = Format(
    name="quepid-csv",
    title="Quepid's basic ratings",
    suffixes=(".csv",),
    sniff=detect_columns(
        "the first line names query, docid and rating, as Quepid does", "query", "docid|doc_id", "rating"
    ),
    read=partial(read_sheet_judgments, columns=_RATINGS_CSV_COLUMNS, guard=True),
    write=write_ratings_csv,
    holds=("qrels",),
    loses=LOSES,
    detail=(
        "Columns query, docid (or doc_id) and rating in any order; others are kept as fields of the "
        "document. An empty rating is an unrated document, never grade 0; a query with two empty fields has "
        "no judgments. The one blank that Quepid puts before a cell that begins with - = + or @, against "
        "formulas in spreadsheets, is taken away and put back."
    ),
)


_INFORMATION_NEED_NAME = "information-need"
_INFORMATION_NEED_HEADERS = {"query_id": "query", "information_need": "information_need"}
_INFORMATION_NEED_COLUMNS = {column: (header,) for column, header in _INFORMATION_NEED_HEADERS.items()}


def read_information_need(source: InputFile) -> FileContents:
    """Read queries with their information needs."""
    csv_sheet = delimited_records.read_sheet(source, _INFORMATION_NEED_COLUMNS, filled=("query_id",))
    rows = csv_sheet.rows
    if "information_need" in csv_sheet.absent:
        names = ", ".join(csv_sheet.others)[:200]
        problem = f"no column information_need among query, {names}."
        raise InputError(problem, source=source.label, line=1, code="missing-column")
    refuse_repeated(rows["query_id"], csv_sheet.place, "query", code="duplicate-query")
    text = pl.col("query_id").alias("text")
    return FileContents(queries=rows.select("query_id", text, "information_need", *csv_sheet.others))


def write_information_need(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """Write two columns; a query is identified by its text."""
    queries = contents.queries
    if queries is None or "text" not in queries.columns:
        raise InputError(
            "no queries with their texts in it; this format is a list of them.", code="no-queries"
        )
    texts = queries.with_columns(query_id=pl.coalesce("text", "query_id"))
    sheet = with_headers(texts, _INFORMATION_NEED_HEADERS).select(_INFORMATION_NEED_HEADERS.values())
    delimited_records.write_sheet(sheet, out)
    return (
        *find_losses(contents, _INFORMATION_NEED_NAME, "queries", queries=("text", "information_need")),
        *id_losses(queries.filter(pl.col("text") != pl.col("query_id"))["query_id"]),
    )


INFORMATION_NEED_FORMAT = Format(
    name=_INFORMATION_NEED_NAME,
    title="Quepid's information needs",
    suffixes=(".csv",),
    sniff=detect_columns(
        "the first line names query and information_need",
        "query",
        "information_need",
        absent=("docid", "doc_id", "rating"),
    ),
    read=read_information_need,
    write=write_information_need,
    holds=("queries",),
    loses="judgments, runs, ids besides texts",
    detail="CSV with the columns query and information_need: what people want when they ask.",
)
