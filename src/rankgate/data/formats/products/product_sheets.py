"""Rating sheets (CSV files of products), with the lists of GOV.UK and Quaerite.

Sheets of ratings are the shared parts of all products' CSV files, for any column names: detection
by columns, reading, headers, writing and losses. GOV.UK's judgment lists are
``queryEntry.query,queryEntry.targets.score,queryEntry.targets.uri``. Quaerite's judgments are
``rating,docid,query`` with a byte order mark.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, BinaryIO

import polars as pl

from rankgate.data.file_contents import FileContents
from rankgate.data.formats.collected_judgments import drop_repeated
from rankgate.data.formats.format import Format, Loss
from rankgate.data.formats.format_writing import (
    find_losses,
    first_rows,
    has_pairs,
    unrated_pairs,
    with_text_ids,
)
from rankgate.data.formats.tables import schemas
from rankgate.data.text import delimited_records
from rankgate.data.text.text_values import BOM

if TYPE_CHECKING:
    from rankgate.data.streams.source import InputFile


_PAIR = ["query_id", "doc_id"]


def detect_columns(
    reason: str, *columns: str, absent: Sequence[str] = (), separators: str = ","
) -> Callable[[bytes, str], str | None]:
    """A test that the first line of a file names columns, with the reason for the user.

    >>> detect_columns("the first line names query", "query", "docid|doc_id")(b"Query,doc_id,x", "")
    'the first line names query'

    Args:
        reason: the reason.
        columns: the lower-case names; ``|`` separates names of which one is enough.
        absent: names that the first line must not have.
        separators: the possible separators; the one that the first line has most is used.
    """

    def sniff(first_bytes: bytes, _name: str) -> str | None:
        separator = delimited_records.most_frequent(separators, first_bytes)
        names = delimited_records.read_column_names(first_bytes, separator)
        has_columns = all(set(column.split("|")) & {*names} for column in columns)
        return reason if has_columns and not {*absent} & {*names} else None

    sniff.__doc__ = f"{reason[0].upper()}{reason[1:]}."
    return sniff


def with_headers(table: pl.DataFrame, headers: Mapping[str, str]) -> pl.DataFrame:
    """The columns of a product under its headers, null if the table lacks them, then all others."""
    columns = [
        (pl.col(column) if column in table.columns else pl.lit(None, pl.String)).alias(header)
        for column, header in headers.items()
    ]
    return table.select(*columns, pl.exclude(*headers))


LOSES = "raters, scales, texts besides ids, fields of documents"
"""The losses of a sheet of judgments."""


def read_sheet_judgments(
    source: InputFile, columns: Mapping[str, tuple[str, ...]], *, guard: bool = False, last: bool = False
) -> FileContents:
    """Judgments from the columns of a product's CSV; other columns become fields of documents.

    A repeated judgment is read once.

    Args:
        source: the file.
        columns: the product's names of our columns.
        guard: True if a blank precedes text that a spreadsheet could take for a formula.
        last: True if the last of two grades of a document for one query counts, as in the product;
            otherwise two grades are an error.

    Raises:
        InputError, DuplicateError: see `read`.
    """
    csv_sheet = delimited_records.read_sheet(
        source, columns, numbers=("grade",), filled=("query_id",), guard=guard
    )
    rows = csv_sheet.rows
    unique_rows, location, repeated = drop_repeated(rows.select(*_PAIR, "grade"), csv_sheet.place, last=last)
    qrels, notes = schemas.make_qrels(unique_rows, source.stem, location)
    documents = _sheet_documents(rows, csv_sheet.others, len(qrels.table))
    return FileContents(qrels=qrels, documents=documents, notes=(*repeated, *notes))


def _sheet_documents(
    rows: pl.DataFrame, other_columns: Sequence[str], graded_count: int
) -> pl.DataFrame | None:
    """The documents of each query with fields; None if all are judged and there are no fields."""
    with_document = rows.filter(pl.col("doc_id").is_not_null())
    if not other_columns and not with_document["grade"].null_count():
        return None
    pool = with_document.select(*_PAIR, *other_columns).unique(_PAIR, keep="first", maintain_order=True)
    return pool if other_columns or len(pool) > graded_count else None


def pool_rows(contents: FileContents) -> pl.DataFrame:
    """All rows of a sheet of ratings: judgments, unrated documents, queries without documents."""
    qrels = contents.judgments("")
    rated = qrels.table.select(*_PAIR, "grade")
    rows = pl.concat([rated, unrated_pairs(contents)], how="diagonal")
    unjudged = pl.DataFrame({"query_id": qrels.unjudged}, schema={"query_id": pl.String})
    unjudged = unjudged.join(rows, on="query_id", how="anti", maintain_order="left")
    all_rows = pl.concat([rows, unjudged], how="diagonal")
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
        columns: the product's names of the columns in order, and our names.
        sniff: see `Format`.
        detail: see `Format`.
        last: see `read_sheet_judgments`.
        mark: a byte order mark, if the product writes it.
    """
    column_names = {column: (product_name.lower(),) for product_name, column in columns.items()}

    def write(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
        contents.judgments("")
        out.write(mark)
        contents, query_losses = with_text_ids(contents)
        rows = pool_rows(contents).with_columns(delimited_records.format_grade()).select(**columns)
        out.write(rows.write_csv(quote_style="necessary").encode())
        return (*pool_losses(contents, name), *query_losses)

    return Format(
        name=name,
        title=title,
        suffixes=(".csv",),
        sniff=sniff,
        read=partial(read_sheet_judgments, columns=column_names, last=last),
        write=write,
        loses=LOSES,
        detail=detail,
    )


def pool_losses(contents: FileContents, name: str) -> tuple[Loss, ...]:
    """The losses of a sheet of ratings: documents of all queries, and fields of documents."""
    if not has_pairs(contents):
        return find_losses(contents, name, "qrels", "unjudged")
    return find_losses(contents, name, "qrels", "unjudged", "documents", documents=())


_GOVUK_COLUMNS = {
    "queryEntry.query": "query_id",
    "queryEntry.targets.score": "grade",
    "queryEntry.targets.uri": "doc_id",
}


GOVUK_FORMAT = product_format(
    "govuk",
    "GOV.UK's judgment lists",
    _GOVUK_COLUMNS,
    detect_columns(
        "the first line names queryEntry.query, .targets.score and .targets.uri",
        *map(str.lower, _GOVUK_COLUMNS),
    ),
    "CSV with the columns queryEntry.query, queryEntry.targets.score and queryEntry.targets.uri, one "
    "judgment a row; the address is the document's id.",
)


_QUAERITE_COLUMNS = {"rating": "grade", "docid": "doc_id", "query": "query_id"}


def sniff_quaerite(first_bytes: bytes, name: str) -> str | None:
    """The three columns in Quaerite's order."""
    if delimited_records.read_column_names(first_bytes) == tuple(_QUAERITE_COLUMNS):
        return "the first line is rating,docid,query, as Quaerite writes it"
    return None


QUAERITE_FORMAT = product_format(
    "quaerite",
    "Quaerite's judgments",
    _QUAERITE_COLUMNS,
    sniff_quaerite,
    "CSV with the columns rating, docid and query in this order, written with a byte order mark, as "
    "Quaerite's own judgments are. An empty rating is unrated. If a document has two ratings for one query, "
    "the last one counts, as in Quaerite, and a warning names it.",
    last=True,
    mark=BOM,
)
