"""Quepid's detail export: what a case retrieved, with ratings and fields, one row a document."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.contents import FileContents
from rankgate.data.formats.collected import documents_of, nothing_for, ranked
from rankgate.data.formats.format import Format, Loss, Note
from rankgate.data.formats.query_texts import by_text
from rankgate.data.formats.tables import schemas
from rankgate.data.formats.writing import appearance, lost, own
from rankgate.data.text import sheet

if TYPE_CHECKING:
    from rankgate.data.run import Run
    from rankgate.data.streams.source import InputFile

_NAME = "quepid-detail"
_CASE = ("Team Name", "Case Name", "Case ID")
_HEAD = (*_CASE, "Query Text", "Doc ID", "Doc Position", "Title", "Rating")
_COLUMNS = {
    **{name: (name.lower(),) for name in _CASE},
    "query_id": ("query text",),
    "doc_id": ("doc id",),
    "position": ("doc position",),
    "title": ("title",),
    "grade": ("rating",),
}
_PAIR = ["query_id", "doc_id"]


def sniff(head: bytes, name: str) -> str | None:
    """The columns of a case, and those of its documents with a rating."""
    names = set(sheet.names_of(head))
    if {"case name", "query text", "doc id", "doc position", "rating"} <= names:
        return "the first line names Case Name, Query Text, Doc ID, Doc Position and Rating"
    return None


def read(source: InputFile) -> FileContents:
    """A run from the positions, judgments from the ratings, documents from title and fields.

    Raises:
        InputError: a position or rating that is not a number, an empty query; with the line.
        DuplicateError: a document rated twice for one query.
    """
    found = sheet.sheet(source, _COLUMNS, numbers=("position", "grade"), filled=("query_id",))
    rows = found.rows
    qrels, notes = schemas.judgments(rows.select(*_PAIR, "grade"), source.stem, found.place)
    there = rows.filter(pl.col("doc_id").is_not_null())
    run, more = retrieved(there, rows["query_id"], source.stem, source.label)
    case = {
        name: values[0] for name in _CASE if len(values := rows[name].drop_nulls().unique()) == 1
    }
    fields = [name for name in ("title", *found.others) if there[name].null_count() < len(there)]
    return FileContents(
        qrels=qrels,
        runs=(run,),
        documents=documents_of(there, fields),
        extra={_NAME: {"case": case}} if case else {},
        notes=(*notes, *more),
    )


def retrieved(
    rows: pl.DataFrame, asked: pl.Series, name: str, label: str
) -> tuple[Run, tuple[Note, ...]]:
    """A run from ``query_id``, ``doc_id`` and ``position``, which is the rank.

    A row without a position was not retrieved; a query without rows retrieved nothing.

    Raises:
        InputError: two documents in one position.
    """
    content = rows.filter(pl.col("position").is_not_null())
    twice = content.filter(pl.struct("query_id", "position").is_duplicated())
    if len(twice):
        query, position = twice["query_id"][0], twice["position"][0]
        problem = f"two documents are in position {position:g} of query '{query}'."
        raise InputError(problem, source=label, code="duplicate-position")
    empty = asked.unique(maintain_order=True)
    empty = empty.filter(~empty.is_in(content["query_id"].unique().implode()))
    columns = (
        content["query_id"].to_list(),
        content["doc_id"].to_list(),
        (-content["position"]).to_list(),
    )
    run = ranked(name, *columns, label=label, states=nothing_for(empty))
    rest = rows.filter(pl.col("position").is_null())["doc_id"].to_list()
    return run, Note.of("documents without a position, which were not retrieved", rest)


def rows_of(contents: FileContents) -> pl.DataFrame:
    """``query_id``, ``doc_id``, ``position``, ``grade`` of everything retrieved or judged."""
    schema = {"query_id": pl.String, "doc_id": pl.String, "position": pl.Int64}
    content = pl.DataFrame(schema=schema)
    if contents.runs:
        order = pl.col("score").rank("ordinal", descending=True).over("query_id").cast(pl.Int64)
        content = contents.runs[0].table.select(*_PAIR, order.alias("position"))
        content = content.sort([appearance(content), pl.col("position")], maintain_order=True)
    qrels = contents.qrels
    grades = qrels.table.select(*_PAIR, "grade") if qrels else None
    if grades is None:
        return content.with_columns(pl.lit(None, pl.Float64).alias("grade"))
    joined = content.join(grades, on=_PAIR, how="left", maintain_order="left")
    rest = grades.join(content, on=_PAIR, how="anti", maintain_order="left")
    every = pl.concat([joined, rest], how="diagonal")
    queries = [*(qrels.unjudged if qrels else ()), *_zero(contents)]
    seen = set(every["query_id"].unique())
    alone = list(dict.fromkeys(query for query in queries if query not in seen))
    return pl.concat(
        [every, pl.DataFrame({"query_id": alone}, schema={"query_id": pl.String})], how="diagonal"
    )


def _zero(contents: FileContents) -> list[str]:
    states = contents.runs[0].queries if contents.runs else None
    return [] if states is None else states["query_id"].to_list()


def with_fields(rows: pl.DataFrame, documents: pl.DataFrame | None) -> pl.DataFrame:
    """Rows with the fields of their documents."""
    if documents is None:
        return rows
    keys = [name for name in _PAIR if name in documents.columns]
    taken = [name for name in documents.columns if name in rows.columns and name not in keys]
    return rows.join(documents.drop(taken), on=keys, how="left", maintain_order="left")


def write(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """One row a document that was retrieved or rated, with all its fields."""
    if not contents.runs:
        contents.judgments("")
    contents, called = by_text(contents)
    case = own(contents, _NAME).get("case", {})
    rows = with_fields(rows_of(contents), contents.documents).with_columns(
        sheet.grade(), *(pl.lit(case.get(name), pl.String).alias(name) for name in _CASE)
    )
    rows = rows.rename(
        {
            "query_id": "Query Text",
            "doc_id": "Doc ID",
            "position": "Doc Position",
            "grade": "Rating",
        }
    )
    rows = rows.rename({"title": "Title"}) if "title" in rows.columns else rows
    if "Title" not in rows.columns:
        rows = rows.with_columns(pl.lit(None, pl.String).alias("Title"))
    fields = [name for name in rows.columns if name not in _HEAD]
    sheet.write(rows.select(*_HEAD, *fields), out)
    found = lost(contents, _NAME, "qrels", "unjudged", "runs", "documents", runs=1)
    return (*found, *called, *score_losses(contents))


def score_losses(contents: FileContents) -> tuple[Loss, ...]:
    """The scores of a run of which only the ranks are written; -rank itself is no loss."""
    if not contents.runs:
        return ()
    run = contents.runs[0]
    rank = -pl.int_range(1, pl.len() + 1).over("query_id").cast(pl.Float64)
    scores = run.table.filter(pl.col("score") != rank)
    shown = [str(score) for score in scores["score"].head(3)]
    found = [Loss("scores, of which the ranks are kept", len(scores), tuple(shown))]
    tag = Loss.of("tag of a run", [run.tag] if run.tag else [])
    return (*(found if len(scores) else ()), *tag)


FORMAT = Format(
    name=_NAME,
    title="Quepid's detail export",
    suffixes=(".csv",),
    sniff=sniff,
    read=read,
    write=write,
    holds=("qrels", "runs", "documents"),
    loses="scores (ranks are kept), raters, scales",
    detail=(
        "CSV with Team Name, Case Name, Case ID, Query Text, Doc ID, Doc Position, Title, Rating "
        "and any fields. The positions are a run, the ratings are judgments; a document without "
        "a position was not retrieved, one without a rating is unrated."
    ),
)
