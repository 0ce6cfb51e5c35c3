"""Sheets of ratings: what the CSV files of all products share, for any names of columns."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, BinaryIO

import polars as pl

from rankgate.data.contents import FileContents
from rankgate.data.formats.format import Format, Loss
from rankgate.data.formats.query_texts import by_text
from rankgate.data.formats.repeated import once
from rankgate.data.formats.tables import schemas
from rankgate.data.formats.writing import appearance, by_pair, lost, lost_columns, unrated
from rankgate.data.text import sheet

if TYPE_CHECKING:
    from rankgate.data.streams.source import InputFile

LOSES = "raters, scales, texts besides ids, fields of documents"
"""What a sheet of judgments cannot hold."""

_PAIR = ["query_id", "doc_id"]


def judged(
    source: InputFile, columns: Mapping[str, tuple[str, ...]], *, guard: bool, last: bool = False
) -> FileContents:
    """Judgments from the columns of a product's CSV; other columns become those of documents.

    A judgment that appears twice is read once.

    Args:
        source: the file.
        columns: what it calls ours.
        guard: whether a blank is before what a spreadsheet could take for a formula.
        last: where a document has two grades for one query the last one counts, as in the
            product; otherwise that is an error.

    Raises:
        InputError, DuplicateError: as `read`.
    """
    required = [ours for ours in columns if ours == "query_id"]
    found = sheet.sheet(source, columns, numbers=("grade",), filled=required, guard=guard)
    rows = found.rows
    single, place, repeated = once(rows.select(*_PAIR, "grade"), found.place, last=last)
    qrels, notes = schemas.judgments(single, source.stem, place)
    documents = _documents(rows, found.others, len(qrels.table))
    return FileContents(qrels=qrels, documents=documents, notes=(*repeated, *notes))


def _documents(rows: pl.DataFrame, others: Sequence[str], graded: int) -> pl.DataFrame | None:
    """The documents of each query with their fields; None where all are judged and none has any."""
    named = rows.filter(pl.col("doc_id").is_not_null())
    if not others and not named["grade"].null_count():
        return None
    pool = named.select(*_PAIR, *others).unique(_PAIR, keep="first", maintain_order=True)
    return pool if others or len(pool) > graded else None


def pool_of(contents: FileContents) -> pl.DataFrame:
    """All rows of a sheet of ratings: judgments, documents without one, queries without any."""
    qrels = contents.judgments("")
    rated = qrels.table.select(*_PAIR, "grade")
    parts = [rated, unrated(contents).with_columns(pl.lit(None, pl.Float64).alias("grade"))]
    seen = pl.concat(parts)["query_id"].unique().implode()
    empty = pl.DataFrame({"query_id": list(qrels.unjudged)}, schema={"query_id": pl.String})
    empty = empty.filter(~pl.col("query_id").is_in(seen))
    nothing = [pl.lit(None, pl.String).alias("doc_id"), pl.lit(None, pl.Float64).alias("grade")]
    every = pl.concat([*parts, empty.with_columns(nothing)])
    return every.sort(appearance(every), maintain_order=True)


def product(
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
        name: of the format.
        title: what it is.
        columns: the product's names of the columns, in its order, and ours.
        sniff: as of `Format`.
        detail: as of `Format`.
        last: as of `judged`.
        mark: a byte order mark, where the product writes one.
    """
    wanted = {ours: (theirs.lower(),) for theirs, ours in columns.items()}

    def write(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
        contents.judgments("")
        out.write(mark)
        contents, called = by_text(contents)
        rows = pool_of(contents).with_columns(sheet.grade()).select(**columns)
        out.write(rows.write_csv(quote_style="necessary").encode())
        return (*pool_losses(contents, name), *called)

    return Format(
        name=name,
        title=title,
        suffixes=(".csv",),
        sniff=sniff,
        read=lambda source: judged(source, wanted, guard=False, last=last),
        write=write,
        loses=LOSES,
        detail=detail,
    )


def pool_losses(contents: FileContents, name: str) -> tuple[Loss, ...]:
    """What a sheet of ratings loses: documents of all queries, and the fields of documents."""
    if not by_pair(contents):
        return lost(contents, name, "qrels", "unjudged")
    columns = lost_columns("documents", contents.documents, _PAIR)
    return (*lost(contents, name, "qrels", "unjudged", "documents"), *columns)
