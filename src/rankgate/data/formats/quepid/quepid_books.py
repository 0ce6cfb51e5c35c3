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

from rankgate.core.errors import InputError
from rankgate.core.present.number_formats import count_noun
from rankgate.data.column_names import ALIASES
from rankgate.data.file_contents import FileContents
from rankgate.data.formats.collected_judgments import GrowingRatings, collect_document_rows, resolve_ratings
from rankgate.data.formats.format import Format, Loss, Note
from rankgate.data.formats.format_writing import (
    cell_text,
    column_losses,
    find_losses,
    format_data,
    rows_by_id,
    texts_by_query,
    with_text_ids,
    write_json,
)
from rankgate.data.formats.quepid.quepid_cases import NAMELESS, NOTE_COLUMNS, make_query_notes, rating_losses
from rankgate.data.qrels import Ratings, Scale
from rankgate.data.text import delimited_records
from rankgate.data.text.delimited_records import first_fields
from rankgate.data.text.json_text import (
    has_keys,
    number,
    objects_under_key,
    read_document,
    read_id,
    read_object,
    read_text,
    require_object,
    whole_numbers,
)

if TYPE_CHECKING:
    from rankgate.core.value_types import Json, JsonObject
    from rankgate.data.streams.source import InputFile


_BOOK_NAME = "quepid-book"
_UNRATEABLE, _LATER = "unrateable", "judge later"


def sniff_book(first_bytes: bytes, name: str) -> str | None:
    """Pairs of query and document."""
    if has_keys(first_bytes, "query_doc_pairs", "query_doc_pairs[].query_text"):
        return "an object with query_doc_pairs"
    return None


def read_book(source: InputFile) -> FileContents:
    """Read ratings with raters, judgments if each pair has one rating, queries and documents."""
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
            problem = f"{json_path} repeats the pair of query '{query}' and document '{doc}'; merge the two."
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
        extra={_BOOK_NAME: {"book": book, "pairs": raw_pairs, "explained": has_explanations}},
        notes=_make_notes(collected, raw_pairs),
    )


def _add_judgement(
    collected: GrowingRatings, pair: tuple[str, str], judgement: dict[str, Json], judgement_path: str
) -> None:
    label = collected.label
    rater = read_text(judgement, "user_email", judgement_path, label) or NAMELESS
    reason = _UNRATEABLE if judgement.get("unrateable") else _LATER if judgement.get("judge_later") else None
    grade = judgement.get("rating")
    comment = read_text(judgement, "explanation", judgement_path, label)
    if reason and grade is not None:
        raise InputError(
            f"{judgement_path} is {reason} and has a rating; remove one of the two.",
            source=label,
            code="contradiction",
        )
    collected.add(pair, rater, grade, f"{judgement_path}.rating", reason=reason, comment=comment)


def _read_fields(pair: JsonObject, json_path: str, label: str) -> dict[str, str | None]:
    """The fields of a document, which may be an object or a text."""
    fields = pair.get("document_fields")
    if isinstance(text := fields, str):
        try:
            fields = json.loads(text) if text.strip() else None
        except (ValueError, RecursionError):
            return {"document_fields": text}
        if not isinstance(fields, dict):
            return {"document_fields": text}
    field_object = read_object({"document_fields": fields}, "document_fields", json_path, label)
    own_columns = {"query_id", "doc_id"}
    return {
        (f"field_{key}" if key in own_columns else key): cell_text(value)
        for key, value in field_object.items()
    }


def _read_scale(root: JsonObject, label: str) -> Scale | None:
    """The grades of a book, from its fields ``scale`` and ``scale_with_labels``."""
    labels = read_object(root, "scale_with_labels", "", label)
    grades = root.get("scale") or list(labels)
    if not isinstance(grades, list) or not grades:
        return None
    numbers = [number(grade, "a grade of 'scale'", label) for grade in grades]
    names = tuple(
        (number(key, "a grade of 'scale_with_labels'", label), str(name)) for key, name in labels.items()
    )
    return Scale(min(numbers), max(numbers), names)


def _make_notes(rated: GrowingRatings, pairs: Mapping[tuple[str, str], JsonObject]) -> tuple[Note, ...]:
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
) -> dict[tuple[str, str], list[dict[str, Json]]]:
    """The judgements of each pair, in the form that books have.

    Raises:
        InputError: there are neither ratings nor judgments.
    """
    judgements_of_pair: dict[tuple[str, str], list[dict[str, Json]]] = {}
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
) -> dict[str, Json]:
    is_later = reason == _LATER
    row = {
        "rating": whole_numbers(grade),
        "unrateable": grade is None and not is_later,
        "judge_later": is_later,
        "user_email": None if rater == NAMELESS else rater,
    }
    return row | {"explanation": comment} if explained else row


def write_book(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """Write the book with the current judgements."""
    format_extra = format_data(contents, _BOOK_NAME)
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
            {**raw_pairs.get((query, doc), new_pair), "judgements": judgements_of_pair.get((query, doc), [])}
        )
    name = contents.ratings.name if contents.ratings else contents.judgments("").name
    write_json(out, {**_make_header(contents, format_extra.get("book"), name), "query_doc_pairs": pairs})
    reasons = _other_reasons(contents)
    judged_queries = {query for query, _ in (*raw_pairs, *judgements_of_pair, *fields_of_pair)}
    unjudged_queries = [
        query for query in (contents.qrels.unjudged if contents.qrels else ()) if query not in judged_queries
    ]
    return (
        *find_losses(contents, _BOOK_NAME, "qrels", "ratings", "queries", "documents", "scale", "unjudged"),
        *Loss.of("queries without judgments", unjudged_queries),
        *column_losses("queries", contents.queries, ("query_id", "text", *NOTE_COLUMNS)),
        *rating_losses(contents, ("comment", "reason")),
        *Loss.of("reasons for having no grade, written as unrateable", reasons),
    )


def _make_header(contents: FileContents, book: dict[str, Json] | None, name: str) -> dict[str, Json]:
    if book is not None:
        return book
    scale = contents.ratings.scale if contents.ratings else contents.judgments("").scale
    header: dict[str, Json] = {"name": name, "show_rank": False, "support_implicit_judgements": False}
    if scale and scale.labels:
        header["scale"] = [grade for grade, _ in scale.labels]
        header["scale_with_labels"] = {f"{grade:g}": label for grade, label in scale.labels}
    elif scale:
        header["scale"] = [scale.lowest, scale.highest]
    return header


def _fields_by_pair(documents: pl.DataFrame | None) -> dict[tuple[str | None, str], dict[str, Json] | None]:
    fields_of_pair: dict[tuple[str | None, str], dict[str, Json] | None] = {}
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


BOOK_FORMAT = Format(
    name=_BOOK_NAME,
    title="Quepid's books as JSON",
    suffixes=(".json",),
    sniff=sniff_book,
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
_PAIR = ["query_id", "doc_id"]
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
    if rows.select(pl.struct(_PAIR).is_duplicated().any()).item():
        row = int((~rows.select(pl.struct(_PAIR).is_first_distinct()).to_series()).arg_max() or 0)
        query, doc = rows["query_id"][row], rows["doc_id"][row]
        problem = f"document '{doc}' of query '{query}' appears twice; merge the two lines."
        raise InputError(
            problem, source=source.label, line=csv_sheet.place.line(row), code="duplicate-document"
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
    ratings = contents.ratings
    if ratings is None:
        judged = contents.judgments("").table.select(*_PAIR, "grade")
        table = judged.with_columns(pl.lit(NAMELESS).alias("rater"))
    else:
        table = ratings.table.select(*_PAIR, "rater", "grade")
    raters = table["rater"].unique(maintain_order=True).to_list()
    last_ratings = table.unique([*_PAIR, "rater"], keep="last", maintain_order=True)
    without_grade = last_ratings.filter(pl.col("grade").is_null()).select(*_PAIR, "rater")
    repeated_ratings = table.filter(pl.struct(*_PAIR, "rater").is_duplicated())
    pairs = table.select(_PAIR)
    documents = contents.documents
    has_pairs = documents is not None and set(_PAIR) <= set(documents.columns)
    if documents is not None and has_pairs:
        pairs = pl.concat([pairs, documents.select(_PAIR)])
    wide_table = pairs.unique(maintain_order=True)
    for rater in raters:
        rater_ratings = last_ratings.filter(pl.col("rater") == rater)
        column = rater_ratings.select(*_PAIR, delimited_records.format_grade().alias(f"{rater} "))
        wide_table = wide_table.join(column, on=_PAIR, how="left", maintain_order="left")
    names = {f"{rater} ": rater for rater in raters}
    delimited_records.write_sheet(wide_table.rename({"query_id": "query", "doc_id": "docid", **names}), out)
    kept_parts = ("qrels", "ratings", "documents") if has_pairs else ("qrels", "ratings")
    corrected_pairs = [
        " ".join(row)
        for row in repeated_ratings.select(*_PAIR, "rater").unique(maintain_order=True).iter_rows()
    ]
    return (
        *find_losses(contents, _BOOK_CSV_NAME, *kept_parts),
        *query_losses,
        *rating_losses(contents, ()),
        *Loss.of("ratings without a grade, written as unrated", map(" ".join, without_grade.iter_rows())),
        *Loss.of("pairs that a rater rated more than once; the last rating is kept", corrected_pairs),
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
