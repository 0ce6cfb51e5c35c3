"""Quepid's books as JSON and CSV: pairs of query and document with several judges.

JSON has pairs of query and document with judgements of several people. CSV has ``query,docid``,
then one column per judge.
"""

from __future__ import annotations

import csv
import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, BinaryIO

import polars as pl

from rankgate.core.present.number_formats import count_noun
from rankgate.data.column_names import ALIASES
from rankgate.data.file_contents import FileContents
from rankgate.data.formats.collected_judgments import GrowingRatings, resolve_ratings
from rankgate.data.formats.format import Format, Loss, Note
from rankgate.data.formats.format_writing import (
    find_losses,
    format_data,
    has_pairs,
    ratings_of,
    rows_by_id,
    texts_by_query,
    with_text_ids,
    write_json,
)
from rankgate.data.formats.quepid.quepid_cases import (
    NAMELESS,
    NOTE_COLUMNS,
    make_query_notes,
    query_notes,
    rating_losses,
)
from rankgate.data.qrels import Qrels, Ratings, Scale
from rankgate.data.table_rows import refuse_repeated
from rankgate.data.text import delimited_records
from rankgate.data.text.delimited_records import first_fields
from rankgate.data.text.json_text import JsonRecord, detect_keys, number, read_record, whole_numbers

if TYPE_CHECKING:
    from rankgate.core.value_types import Json, JsonObject
    from rankgate.data.streams.source import InputFile


_BOOK_NAME = "quepid-book"
_REASONS = {"unrateable": "unrateable", "judge_later": "judge later"}
_PAIR = ["query_id", "doc_id"]


def read_book(source: InputFile) -> FileContents:
    """Read ratings with raters, judgments if each pair has one rating, queries and documents."""
    root = read_record(source)
    collected, raw_pairs, notes_of_queries = GrowingRatings(source), {}, []
    has_explanations = False
    for pair in root.records("query_doc_pairs", required=True):
        query, doc = pair.id("query_text"), pair.id("doc_id")
        if (query, doc) in raw_pairs:
            problem = f"{pair.path} repeats the pair of query '{query}' and document '{doc}'; merge the two."
            raise pair.error(problem, "duplicate-document")
        raw_pairs[query, doc] = pair.values_except("judgements")
        collected.ask(query)
        notes_of_queries.append(query_notes(query, query, pair))
        collected.describe(query, doc, _read_fields(pair))
        for judgement in pair.records("judgements"):
            has_explanations |= "explanation" in judgement
            reason = next((reason for key, reason in _REASONS.items() if judgement.get(key)), None)
            if reason and judgement.get("rating") is not None:
                problem = f"{judgement.path} is {reason} and has a rating; remove one of the two."
                raise judgement.error(problem, "contradiction")
            collected.add(
                query,
                doc,
                judgement.text("user_email") or NAMELESS,
                judgement.get("rating"),
                judgement.path_of("rating"),
                reason=reason,
                comment=judgement.text("explanation"),
            )
    book = root.values_except("query_doc_pairs")
    return collected.contents(
        *_make_notes(collected.ratings().table, raw_pairs),
        scale=_read_scale(root),
        queries=make_query_notes(notes_of_queries),
        documents=collected.documents(),
        extra={_BOOK_NAME: {"book": book, "pairs": raw_pairs, "explained": has_explanations}},
    )


def _read_fields(pair: JsonRecord) -> dict[str, str | None]:
    """The fields of a document, which may be an object or a text."""
    if isinstance(text := pair.get("document_fields"), str):
        try:
            fields = json.loads(text)
        except (ValueError, RecursionError):
            fields = None
        if not isinstance(fields, dict):
            return {"document_fields": text}
        pair = JsonRecord({"document_fields": fields}, pair.label, pair.path)
    texts = pair.record("document_fields").texts()
    return {(f"field_{key}" if key in _PAIR else key): text for key, text in texts.items()}


def _read_scale(root: JsonRecord) -> Scale | None:
    """The grades of a book, from its fields ``scale`` and ``scale_with_labels``."""
    labels = root.record("scale_with_labels")
    grades = root.get("scale") or list(labels)
    if not isinstance(grades, list) or not grades:
        return None
    numbers = [number(grade, "a grade of 'scale'", root.label) for grade in grades]
    names = tuple(
        (number(key, "a grade of 'scale_with_labels'", root.label), str(name)) for key, name in labels.items()
    )
    return Scale(min(numbers), max(numbers), names)


def _make_notes(ratings: pl.DataFrame, pairs: Mapping[tuple[str, str], JsonObject]) -> tuple[Note, ...]:
    rated_pairs = {*ratings.select(_PAIR).iter_rows()}
    notes = Note.of(
        "pairs without a judgement", (" ".join(pair) for pair in pairs if pair not in rated_pairs)
    )
    for reason in _REASONS.values():
        rows = ratings.filter(pl.col("reason") == reason).select(_PAIR).iter_rows()
        notes += Note.of(f"judgements that are {reason}", map(" ".join, rows))
    return notes


def _judgements_by_pair(
    contents: FileContents, *, explained: bool
) -> dict[tuple[str, str], list[dict[str, Json]]]:
    """The judgements of each pair, in the form that books have.

    Raises:
        InputError: there are neither ratings nor judgments.
    """
    judgements_of_pair: dict[tuple[str, str], list[dict[str, Json]]] = {}
    ratings = ratings_of(contents, NAMELESS)
    columns = ("query_id", "doc_id", "rater", "grade", "reason", "comment")
    for query, doc, rater, grade, reason, comment in ratings.table.select(columns).iter_rows():
        judgement = {
            "rating": whole_numbers(grade),
            "unrateable": grade is None and reason != _REASONS["judge_later"],
            "judge_later": reason == _REASONS["judge_later"],
            "user_email": None if rater == NAMELESS else rater,
        }
        judgement |= {"explanation": comment} if explained else {}
        judgements_of_pair.setdefault((query, doc), []).append(judgement)
    return judgements_of_pair


def write_book(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """Write the book with the current judgements."""
    format_extra = format_data(contents, _BOOK_NAME)
    judgements_of_pair = _judgements_by_pair(contents, explained=format_extra.get("explained", True))
    raw_pairs, text = format_extra.get("pairs", {}), texts_by_query(contents)
    notes, fields_of_pair = rows_by_id(contents.queries, "query_id"), _fields_by_pair(contents.documents)
    pairs = []
    for query, doc in dict.fromkeys(
        [*raw_pairs, *judgements_of_pair, *(pair for pair in fields_of_pair if None not in pair)]
    ):
        new_pair = {
            "query_text": text.get(query, query),
            "doc_id": doc,
            "position": None,
            "document_fields": fields_of_pair.get((query, doc)) or fields_of_pair.get((None, doc)) or None,
            **{name: notes.get(query, {}).get(name) for name in NOTE_COLUMNS},
        }
        judgements = judgements_of_pair.get((query, doc), [])
        pairs.append({**raw_pairs.get((query, doc), new_pair), "judgements": judgements})
    book = format_extra.get("book")
    header = _make_header(contents.ratings or contents.judgments("")) if book is None else book
    write_json(out, {**header, "query_doc_pairs": pairs})
    judged_queries = {query for query, _ in (*raw_pairs, *judgements_of_pair, *fields_of_pair)}
    unjudged_queries = contents.qrels.unjudged if contents.qrels else ()
    reasons = contents.ratings.table["reason"].drop_nulls().to_list() if contents.ratings else ()
    kept_parts = ("qrels", "ratings", "queries", "documents", "scale", "unjudged")
    return (
        *find_losses(contents, _BOOK_NAME, *kept_parts, queries=("text", *NOTE_COLUMNS)),
        *Loss.of(
            "queries without judgments", (query for query in unjudged_queries if query not in judged_queries)
        ),
        *rating_losses(contents, "comment", "reason"),
        *Loss.of(
            "reasons for having no grade, written as unrateable",
            (reason for reason in reasons if reason not in _REASONS.values()),
        ),
    )


def _make_header(judgments: Ratings | Qrels) -> dict[str, Json]:
    header: dict[str, Json] = {
        "name": judgments.name,
        "show_rank": False,
        "support_implicit_judgements": False,
    }
    scale = judgments.scale
    if scale and scale.labels:
        header["scale"] = [grade for grade, _ in scale.labels]
        header["scale_with_labels"] = {f"{grade:g}": label for grade, label in scale.labels}
    elif scale:
        header["scale"] = [scale.lowest, scale.highest]
    return header


def _fields_by_pair(documents: pl.DataFrame | None) -> dict[tuple[str | None, str], dict[str, Json]]:
    fields_of_pair: dict[tuple[str | None, str], dict[str, Json]] = {}
    for row in documents.iter_rows(named=True) if documents is not None else ():
        pair = (row.pop("query_id", None), row.pop("doc_id"))
        fields_of_pair[pair] = {column: cell for column, cell in row.items() if cell is not None}
    return fields_of_pair


BOOK_FORMAT = Format(
    name=_BOOK_NAME,
    title="Quepid's books as JSON",
    suffixes=(".json",),
    sniff=detect_keys(("an object with query_doc_pairs", "query_doc_pairs", "query_doc_pairs[].query_text")),
    read=read_book,
    write=write_book,
    holds=("ratings", "qrels", "queries", "documents"),
    loses="runs, times of ratings",
    detail=(
        "A book of pairs of query and document with the judgements of several people, kept as ratings: "
        "unrateable and judge later are ratings without a grade, with the reason. They are judgments only if "
        "no pair has two grades; otherwise resolve them first. Positions and fields of documents come back "
        "as they were."
    ),
)


_BOOK_CSV_NAME = "quepid-book-csv"
_IDS = ("query", "docid")
_MAX_LINES = 200
_OTHER_COLUMNS = {name for name_group in ("grade", "score", "rank", "rater") for name in ALIASES[name_group]}


def sniff_book_csv(first_bytes: bytes, name: str) -> str | None:
    """Query and docid, then columns that hold numbers or nothing; one of them has a number."""
    names = delimited_records.read_column_names(first_bytes)
    judges = names[len(_IDS) :]
    if names[: len(_IDS)] != _IDS or not judges or set(judges) & _OTHER_COLUMNS:
        return None
    lines = first_bytes.decode(errors="replace").splitlines()[1 : _MAX_LINES + 1]
    complete_lines = lines[:-1] if len(lines) > 1 else lines  # the last line may be incomplete
    try:
        cells = [cell for row in csv.reader(complete_lines) for cell in row[len(_IDS) :] if cell.strip()]
    except csv.Error:
        return None
    if cells and all(cell.strip().replace(".", "", 1).isdigit() for cell in cells):
        return f"query and docid, then a column of grades for each of {count_noun(len(judges), 'judge')}"
    return None


def read_book_csv(source: InputFile) -> FileContents:
    """Read ratings of each judge; judgments if no pair has two grades. Empty cells are unrated."""
    header = first_fields(source.head(), ",")
    judges = [name for name in header if name and name.lower() not in _IDS]
    raters = {f"judge {i}": name for i, name in enumerate(judges)}  # no judge's name is one of ours
    ids = {"query_id": ("query",), "doc_id": ("docid",)}
    column_names = ids | {column: (name.lower(),) for column, name in raters.items()}
    csv_sheet = delimited_records.read_sheet(source, column_names, numbers=list(raters), filled=ids)
    rows = csv_sheet.rows
    pair_texts = rows.select(pl.format("{}' of query '{}", "doc_id", "query_id")).to_series()
    refuse_repeated(
        pair_texts, csv_sheet.place, "document", code="duplicate-document", fix="merge the two lines"
    )
    ratings_rows = (
        rows.with_columns(pl.int_range(pl.len()).alias("row"))
        .unpivot(list(raters), index=[*_PAIR, "row"], variable_name="rater", value_name="grade")
        .with_columns(pl.col("rater").replace(raters))
        .filter(pl.col("grade").is_not_null())
        .sort("row", maintain_order=True)
    )
    ratings = Ratings(ratings_rows.select(*_PAIR, "rater", "grade"), source.stem, place=csv_sheet.place)
    unrated_pairs = rows.select(_PAIR).join(ratings_rows, on=_PAIR, how="anti")
    query_ids = rows["query_id"].unique(maintain_order=True)
    return FileContents(
        qrels=resolve_ratings(ratings, query_ids) if len(rows) else None,
        ratings=ratings if len(ratings_rows) else None,
        documents=rows.select(_PAIR) if len(unrated_pairs) else None,
        notes=Note.of("pairs without a judgement", map(" ".join, unrated_pairs.iter_rows())),
    )


def write_book_csv(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """Write a row per pair and a column per judge; judgments without raters are 'Anonymous'.

    A rater's last rating of a pair counts.
    """
    contents, query_losses = with_text_ids(contents)
    table = ratings_of(contents, NAMELESS).table
    last_ratings = table.unique([*_PAIR, "rater"], keep="last", maintain_order=True)
    without_grade = last_ratings.filter(pl.col("grade").is_null())
    repeated_ratings = table.filter(pl.struct(*_PAIR, "rater").is_duplicated())
    grades = table.with_columns(delimited_records.format_grade(), pl.col("rater") + " ")
    wide_table = grades.pivot("rater", index=_PAIR, values="grade", aggregate_function="last")
    kept_parts, documents = ["qrels", "ratings"], contents.documents
    if documents is not None and has_pairs(contents):
        unrated_pairs = documents.select(_PAIR).unique(maintain_order=True)
        unrated_pairs = unrated_pairs.join(wide_table, on=_PAIR, how="anti", maintain_order="left")
        wide_table = pl.concat([wide_table, unrated_pairs], how="diagonal")
        kept_parts.append("documents")
    wide_table = wide_table.rename({"query_id": "query", "doc_id": "docid"})
    delimited_records.write_sheet(wide_table.rename(lambda name: name.removesuffix(" ")), out)
    ratings_twice = repeated_ratings.select(*_PAIR, "rater").unique(maintain_order=True)
    return (
        *find_losses(contents, _BOOK_CSV_NAME, *kept_parts),
        *query_losses,
        *rating_losses(contents),
        *Loss.of(
            "ratings without a grade, written as unrated",
            map(" ".join, without_grade.select(*_PAIR, "rater").iter_rows()),
        ),
        *Loss.of(
            "pairs that a rater rated more than once; the last rating is kept",
            map(" ".join, ratings_twice.iter_rows()),
        ),
    )


BOOK_CSV_FORMAT = Format(
    name=_BOOK_CSV_NAME,
    title="Quepid's books as CSV",
    suffixes=(".csv",),
    sniff=sniff_book_csv,
    read=read_book_csv,
    write=write_book_csv,
    holds=("ratings", "qrels"),
    loses="reasons, comments, times, fields of documents, runs",
    detail=(
        "CSV with query and docid, then one column for each judge, by name; 'Anonymous' for unknown judges. "
        "An empty cell is unrated. A pair with grades of several judges is not a judgment before it is "
        "resolved."
    ),
)
