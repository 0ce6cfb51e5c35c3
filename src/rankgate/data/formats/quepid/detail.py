"""Quepid's detail export: the documents of a case, with ratings and fields, one per row."""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.contents import FileContents
from rankgate.data.formats.collected import collect_documents, make_run, zero_states
from rankgate.data.formats.format import Format, Loss, Note
from rankgate.data.formats.query_texts import with_text_ids
from rankgate.data.formats.tables import schemas
from rankgate.data.formats.writing import find_losses, first_rows, format_data
from rankgate.data.text import sheet

if TYPE_CHECKING:
    from rankgate.data.run import Run
    from rankgate.data.streams.source import InputFile

_NAME = "quepid-detail"
_CASE = ("Team Name", "Case Name", "Case ID")
_HEADER = (*_CASE, "Query Text", "Doc ID", "Doc Position", "Title", "Rating")
_COLUMNS = {
    **{name: (name.lower(),) for name in _CASE},
    "query_id": ("query text",),
    "doc_id": ("doc id",),
    "position": ("doc position",),
    "title": ("title",),
    "grade": ("rating",),
}
_PAIR = ["query_id", "doc_id"]


def sniff(first_bytes: bytes, name: str) -> str | None:
    """The columns of a case, and those of its documents with a rating."""
    names = set(sheet.read_column_names(first_bytes))
    if {"case name", "query text", "doc id", "doc position", "rating"} <= names:
        return "the first line names Case Name, Query Text, Doc ID, Doc Position and Rating"
    return None


def read(source: InputFile) -> FileContents:
    """A run from the positions, judgments from the ratings, documents from title and fields.

    Raises:
        InputError: a position or rating that is not a number, an empty query; with the line.
        DuplicateError: a document rated twice for one query.
    """
    csv_sheet = sheet.read_sheet(
        source, _COLUMNS, numbers=("position", "grade"), filled=("query_id",)
    )
    rows = csv_sheet.rows
    qrels, notes = schemas.make_qrels(rows.select(*_PAIR, "grade"), source.stem, csv_sheet.place)
    with_document = rows.filter(pl.col("doc_id").is_not_null())
    run, run_notes = make_detail_run(with_document, rows["query_id"], source.stem, source.label)
    case = {
        name: case_values[0]
        for name in _CASE
        if len(case_values := rows[name].drop_nulls().unique()) == 1
    }
    fields = [
        name
        for name in ("title", *csv_sheet.others)
        if with_document[name].null_count() < len(with_document)
    ]
    return FileContents(
        qrels=qrels,
        runs=(run,),
        documents=collect_documents(with_document, fields),
        extra={_NAME: {"case": case}} if case else {},
        notes=(*notes, *run_notes),
    )


def make_detail_run(
    rows: pl.DataFrame, all_queries: pl.Series, name: str, label: str
) -> tuple[Run, tuple[Note, ...]]:
    """A run from ``query_id``, ``doc_id`` and ``position``, which is the rank.

    A row without a position was not retrieved; a query without rows retrieved nothing.

    Raises:
        InputError: two documents in one position.
    """
    ranked_rows = rows.filter(pl.col("position").is_not_null())
    same_position = ranked_rows.filter(pl.struct("query_id", "position").is_duplicated())
    if len(same_position):
        query, position = same_position["query_id"][0], same_position["position"][0]
        problem = f"two documents are in position {position:g} of query '{query}'."
        raise InputError(problem, source=label, code="duplicate-position")
    empty_queries = all_queries.unique(maintain_order=True)
    empty_queries = empty_queries.filter(
        ~empty_queries.is_in(ranked_rows["query_id"].unique().implode())
    )
    columns = (
        ranked_rows["query_id"].to_list(),
        ranked_rows["doc_id"].to_list(),
        (-ranked_rows["position"]).to_list(),
    )
    run = make_run(name, *columns, label=label, states=zero_states(empty_queries))
    unretrieved = rows.filter(pl.col("position").is_null())["doc_id"].to_list()
    return run, Note.of("documents without a position, which were not retrieved", unretrieved)


def detail_rows(contents: FileContents) -> pl.DataFrame:
    """``query_id``, ``doc_id``, ``position``, ``grade`` of all retrieved or judged documents."""
    schema = {"query_id": pl.String, "doc_id": pl.String, "position": pl.Int64}
    ranked_rows = pl.DataFrame(schema=schema)
    if contents.runs:
        order = pl.col("score").rank("ordinal", descending=True).over("query_id").cast(pl.Int64)
        ranked_rows = contents.runs[0].table.select(*_PAIR, order.alias("position"))
        ranked_rows = ranked_rows.sort(
            [first_rows(ranked_rows), pl.col("position")], maintain_order=True
        )
    qrels = contents.qrels
    grades = qrels.table.select(*_PAIR, "grade") if qrels else None
    if grades is None:
        return ranked_rows.with_columns(pl.lit(None, pl.Float64).alias("grade"))
    joined = ranked_rows.join(grades, on=_PAIR, how="left", maintain_order="left")
    unranked = grades.join(ranked_rows, on=_PAIR, how="anti", maintain_order="left")
    all_rows = pl.concat([joined, unranked], how="diagonal")
    queries = [*(qrels.unjudged if qrels else ()), *_queries_with_state(contents)]
    queries_with_rows = set(all_rows["query_id"].unique())
    queries_without_rows = list(
        dict.fromkeys(query for query in queries if query not in queries_with_rows)
    )
    return pl.concat(
        [
            all_rows,
            pl.DataFrame({"query_id": queries_without_rows}, schema={"query_id": pl.String}),
        ],
        how="diagonal",
    )


def _queries_with_state(contents: FileContents) -> list[str]:
    states = contents.runs[0].queries if contents.runs else None
    return [] if states is None else states["query_id"].to_list()


def with_fields(rows: pl.DataFrame, documents: pl.DataFrame | None) -> pl.DataFrame:
    """Rows with the fields of their documents."""
    if documents is None:
        return rows
    keys = [name for name in _PAIR if name in documents.columns]
    repeated_columns = [
        name for name in documents.columns if name in rows.columns and name not in keys
    ]
    return rows.join(documents.drop(repeated_columns), on=keys, how="left", maintain_order="left")


def write(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """Write a row for each document that was retrieved or rated, with all its fields."""
    if not contents.runs:
        contents.judgments("")
    contents, query_losses = with_text_ids(contents)
    case = format_data(contents, _NAME).get("case", {})
    rows = with_fields(detail_rows(contents), contents.documents).with_columns(
        sheet.format_grade(), *(pl.lit(case.get(name), pl.String).alias(name) for name in _CASE)
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
    fields = [name for name in rows.columns if name not in _HEADER]
    sheet.write_sheet(rows.select(*_HEADER, *fields), out)
    losses = find_losses(contents, _NAME, "qrels", "unjudged", "runs", "documents", runs=1)
    return (*losses, *query_losses, *score_losses(contents))


def score_losses(contents: FileContents) -> tuple[Loss, ...]:
    """The losses by writing ranks and not scores; -rank itself is no loss."""
    if not contents.runs:
        return ()
    run = contents.runs[0]
    rank = -pl.int_range(1, pl.len() + 1).over("query_id").cast(pl.Float64)
    scores = run.table.filter(pl.col("score") != rank)
    examples = [str(score) for score in scores["score"].head(3)]
    losses = [Loss("scores, of which the ranks are kept", len(scores), tuple(examples))]
    tag = Loss.of("tag of a run", [run.tag] if run.tag else [])
    return (*(losses if len(scores) else ()), *tag)


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
