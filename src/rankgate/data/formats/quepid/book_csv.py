"""Quepid's books as CSV: ``query,docid``, then one column a judge."""

from __future__ import annotations

import csv
from typing import TYPE_CHECKING, BinaryIO

import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.columns import ALIASES
from rankgate.data.contents import FileContents
from rankgate.data.formats.collected import resolve_ratings
from rankgate.data.formats.format import Format, Loss, Note
from rankgate.data.formats.quepid.case import NAMELESS, rating_losses
from rankgate.data.formats.query_texts import with_text_ids
from rankgate.data.formats.writing import find_losses
from rankgate.data.ratings import Ratings
from rankgate.data.text import sheet
from rankgate.data.text.records import first_fields

if TYPE_CHECKING:
    from rankgate.data.streams.source import InputFile

_NAME = "quepid-book-csv"
_PAIR = ["query_id", "doc_id"]
_IDS = ("query", "docid")
_MAX_LINES = 200
_OTHER_COLUMNS = {
    name for name_group in ("grade", "score", "rank", "rater") for name in ALIASES[name_group]
}


def sniff(first_bytes: bytes, name: str) -> str | None:
    """Query and docid, then columns that hold numbers or nothing, of which one has a number."""
    names = sheet.read_column_names(first_bytes)
    judges = names[len(_IDS) :]
    if names[: len(_IDS)] != _IDS or not judges or set(judges) & _OTHER_COLUMNS:
        return None
    lines = first_bytes.decode(errors="replace").splitlines()[1 : _MAX_LINES + 1]
    complete_lines = lines[:-1] if len(lines) > 1 else lines  # the last may be cut off
    try:
        cells = [
            cell for row in csv.reader(complete_lines) for cell in row[len(_IDS) :] if cell.strip()
        ]
    except csv.Error:
        return None
    if cells and all(cell.strip().replace(".", "", 1).isdigit() for cell in cells):
        return f"query and docid, then a column of grades for each of {len(judges)} judges"
    return None


def read(source: InputFile) -> FileContents:
    """Ratings of each judge; judgments where no pair has two grades. Empty is unrated."""
    header = first_fields(source.head(), ",")
    judges = [name for name in header if name and name.lower() not in _IDS]
    raters = {f"judge {i}": name for i, name in enumerate(judges)}  # no judge's name is one of ours
    ids = {"query_id": ("query",), "doc_id": ("docid",)}
    column_names = ids | {column: (name.lower(),) for column, name in raters.items()}
    csv_sheet = sheet.read_sheet(source, column_names, numbers=list(raters), filled=ids)
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
    ratings = Ratings(
        ratings_rows.select(*_PAIR, "rater", "grade"), source.stem, place=csv_sheet.place
    )
    unrated_pairs = rows.select(_PAIR).join(ratings_rows, on=_PAIR, how="anti")
    query_ids = rows["query_id"].unique(maintain_order=True)
    return FileContents(
        qrels=resolve_ratings(ratings, query_ids) if len(rows) else None,
        ratings=ratings if len(ratings_rows) else None,
        documents=rows.select(_PAIR) if len(unrated_pairs) else None,
        notes=Note.of("pairs without a judgement", map(" ".join, unrated_pairs.iter_rows())),
    )


def write(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """Write a row for each pair, a column for each judge; judgments without raters are 'Anonymous'.

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
        column = rater_ratings.select(*_PAIR, sheet.format_grade().alias(f"{rater} "))
        wide_table = wide_table.join(column, on=_PAIR, how="left", maintain_order="left")
    names = {f"{rater} ": rater for rater in raters}
    sheet.write_sheet(wide_table.rename({"query_id": "query", "doc_id": "docid", **names}), out)
    kept_parts = ("qrels", "ratings", "documents") if has_pairs else ("qrels", "ratings")
    corrected_pairs = [
        " ".join(row) for row in repeated_ratings.select(*_PAIR, "rater").unique().iter_rows()
    ]
    return (
        *find_losses(contents, _NAME, *kept_parts),
        *query_losses,
        *rating_losses(contents, ()),
        *Loss.of(
            "ratings without a grade, written as unrated", map(" ".join, without_grade.iter_rows())
        ),
        *Loss.of(
            "pairs that a rater rated more than once, of which the last is kept", corrected_pairs
        ),
    )


FORMAT = Format(
    name=_NAME,
    title="Quepid's books as CSV",
    suffixes=(".csv",),
    sniff=sniff,
    read=read,
    write=write,
    holds=("ratings", "qrels"),
    loses="reasons, comments, times, fields of documents, runs",
    detail=(
        "CSV with query and docid, then one column for each judge, by name; 'Anonymous' where "
        "Quepid does not know who. An empty cell is unrated. A pair with grades of several judges "
        "is not a judgment before it is resolved."
    ),
)
