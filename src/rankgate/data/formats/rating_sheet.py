"""Sheets of ratings: the shared parts of all products' CSV files, for any column names."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, BinaryIO

import polars as pl

from rankgate.data.contents import FileContents
from rankgate.data.formats.format import Format, Loss
from rankgate.data.formats.query_texts import with_text_ids
from rankgate.data.formats.repeated import drop_repeated
from rankgate.data.formats.tables import schemas
from rankgate.data.formats.writing import (
    column_losses,
    find_losses,
    first_rows,
    has_pairs,
    unrated_pairs,
)
from rankgate.data.text import sheet

if TYPE_CHECKING:
    from rankgate.data.streams.source import InputFile

LOSES = "raters, scales, texts besides ids, fields of documents"
"""The losses of a sheet of judgments."""

_PAIR = ["query_id", "doc_id"]


def read_sheet_judgments(
    source: InputFile, columns: Mapping[str, tuple[str, ...]], *, guard: bool, last: bool = False
) -> FileContents:
    """Judgments from the columns of a product's CSV; other columns become those of documents.

    A judgment that appears twice is read once.

    Args:
        source: the file.
        columns: the product's names of our columns.
        guard: True if a blank precedes text that a spreadsheet could take for a formula.
        last: if a document has two grades for one query, the last one counts, as in the
            product; otherwise that is an error.

    Raises:
        InputError, DuplicateError: as `read`.
    """
    required_columns = [column for column in columns if column == "query_id"]
    csv_sheet = sheet.read_sheet(
        source, columns, numbers=("grade",), filled=required_columns, guard=guard
    )
    rows = csv_sheet.rows
    unique_rows, location, repeated = drop_repeated(
        rows.select(*_PAIR, "grade"), csv_sheet.place, last=last
    )
    qrels, notes = schemas.make_qrels(unique_rows, source.stem, location)
    documents = _sheet_documents(rows, csv_sheet.others, len(qrels.table))
    return FileContents(qrels=qrels, documents=documents, notes=(*repeated, *notes))


def _sheet_documents(
    rows: pl.DataFrame, other_columns: Sequence[str], graded_count: int
) -> pl.DataFrame | None:
    """The documents of each query with their fields; None if all are judged and none has fields."""
    with_document = rows.filter(pl.col("doc_id").is_not_null())
    if not other_columns and not with_document["grade"].null_count():
        return None
    pool = with_document.select(*_PAIR, *other_columns).unique(
        _PAIR, keep="first", maintain_order=True
    )
    return pool if other_columns or len(pool) > graded_count else None


def pool_rows(contents: FileContents) -> pl.DataFrame:
    """All rows of a sheet of ratings: judgments, unrated documents, queries without either."""
    qrels = contents.judgments("")
    rated = qrels.table.select(*_PAIR, "grade")
    parts = [rated, unrated_pairs(contents).with_columns(pl.lit(None, pl.Float64).alias("grade"))]
    queries_with_rows = pl.concat(parts)["query_id"].unique().implode()
    empty_queries = pl.DataFrame({"query_id": list(qrels.unjudged)}, schema={"query_id": pl.String})
    empty_queries = empty_queries.filter(~pl.col("query_id").is_in(queries_with_rows))
    null_columns = [
        pl.lit(None, pl.String).alias("doc_id"),
        pl.lit(None, pl.Float64).alias("grade"),
    ]
    all_rows = pl.concat([*parts, empty_queries.with_columns(null_columns)])
    return all_rows.sort(first_rows(all_rows), maintain_order=True)


def product_format(
    name: str,
    title: str,
    columns: Mapping[str, str],
    sniff: Callable[[bytes, str], str | None],
    detail: str,
    *,
    last: bool = False,
    mark: bytes = b"",
) -> Format:
    """The format of a product's CSV of judgments, without a guard against formulas.

    Args:
        name: the name of the format.
        title: its title.
        columns: the product's names of the columns, in its order, and ours.
        sniff: as of `Format`.
        detail: as of `Format`.
        last: as of `read_sheet_judgments`.
        mark: a byte order mark, if the product writes one.
    """
    column_names = {column: (product_name.lower(),) for product_name, column in columns.items()}

    def write(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
        contents.judgments("")
        out.write(mark)
        contents, query_losses = with_text_ids(contents)
        rows = pool_rows(contents).with_columns(sheet.format_grade()).select(**columns)
        out.write(rows.write_csv(quote_style="necessary").encode())
        return (*pool_losses(contents, name), *query_losses)

    return Format(
        name=name,
        title=title,
        suffixes=(".csv",),
        sniff=sniff,
        read=lambda source: read_sheet_judgments(source, column_names, guard=False, last=last),
        write=write,
        loses=LOSES,
        detail=detail,
    )


def pool_losses(contents: FileContents, name: str) -> tuple[Loss, ...]:
    """The losses of a sheet of ratings: documents of all queries, and fields of documents."""
    if not has_pairs(contents):
        return find_losses(contents, name, "qrels", "unjudged")
    columns = column_losses("documents", contents.documents, _PAIR)
    return (*find_losses(contents, name, "qrels", "unjudged", "documents"), *columns)
