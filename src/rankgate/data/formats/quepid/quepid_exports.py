"""Quepid's detail export and general export of a case.

The detail export has the documents of a case, with ratings and fields, one per row. The
general export has each query of a case with its score and notes.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, BinaryIO

import polars as pl

from rankgate.core.errors import InputError
from rankgate.data.file_contents import FileContents
from rankgate.data.formats.collected_judgments import VALUES, collect_documents, make_run
from rankgate.data.formats.format import Format, Loss, Note
from rankgate.data.formats.format_writing import find_losses, first_rows, format_data, with_text_ids
from rankgate.data.formats.products.product_sheets import detect_columns, with_headers
from rankgate.data.formats.tables import schemas
from rankgate.data.table_rows import RowLocation, refuse_repeated
from rankgate.data.text import delimited_records
from rankgate.data.text.text_values import format_time, parse_time

if TYPE_CHECKING:
    from rankgate.data.run import Run
    from rankgate.data.streams.source import InputFile


_DETAIL_NAME = "quepid-detail"
_CASE = ("Team Name", "Case Name", "Case ID")
_HEADER = (*_CASE, "Query Text", "Doc ID", "Doc Position", "Title", "Rating")
_DETAIL_HEADERS = dict(
    zip((*_CASE, "query_id", "doc_id", "position", "title", "grade"), _HEADER, strict=True)
)
_DETAIL_COLUMNS = {column: (header.lower(),) for column, header in _DETAIL_HEADERS.items()}
_PAIR = ["query_id", "doc_id"]


def read_detail(source: InputFile) -> FileContents:
    """A run from positions, judgments from ratings, and documents from title and fields.

    Raises:
        InputError: a position or rating is not a number, or a query is empty; the message has the
            line.
        DuplicateError: a document is rated twice for one query.
    """
    csv_sheet = delimited_records.read_sheet(
        source, _DETAIL_COLUMNS, numbers=("position", "grade"), filled=("query_id",)
    )
    rows = csv_sheet.rows
    qrels, notes = schemas.make_qrels(rows.select(*_PAIR, "grade"), source.stem, csv_sheet.place)
    with_document = rows.filter(pl.col("doc_id").is_not_null())
    run, run_notes = make_detail_run(rows, source.stem, source.label)
    case = {
        name: case_values[0] for name in _CASE if len(case_values := rows[name].drop_nulls().unique()) == 1
    }
    fields = [
        name for name in ("title", *csv_sheet.others) if with_document[name].null_count() < len(with_document)
    ]
    return FileContents(
        qrels=qrels,
        runs=(run,),
        documents=collect_documents(with_document, fields),
        extra={_DETAIL_NAME: {"case": case}} if case else {},
        notes=(*notes, *run_notes),
    )


def make_detail_run(rows: pl.DataFrame, name: str, label: str) -> tuple[Run, tuple[Note, ...]]:
    """A run from ``query_id``, ``doc_id`` and ``position``, which is the rank.

    A row without a position is not retrieved; a query without other rows retrieved no documents.

    Raises:
        InputError: two documents have the same position.
    """
    ranked_rows = rows.drop_nulls(["doc_id", "position"])
    same_position = ranked_rows.filter(pl.struct("query_id", "position").is_duplicated())
    if len(same_position):
        query, position = same_position.select("query_id", "position").row(0)
        problem = f"two documents are in position {position:g} of query '{query}'."
        raise InputError(problem, source=label, code="duplicate-position")
    empty_queries = rows.join(ranked_rows, on="query_id", how="anti")["query_id"].unique(maintain_order=True)
    table = ranked_rows.select("query_id", "doc_id", score=-pl.col("position"))
    run = make_run(name, table, RowLocation(label), [(query, "zero") for query in empty_queries])
    unretrieved = rows.filter(pl.col("position").is_null())["doc_id"].drop_nulls()
    return run, Note.of("documents without a position, which were not retrieved", unretrieved)


def detail_rows(contents: FileContents) -> pl.DataFrame:
    """``query_id``, ``doc_id``, ``position``, ``grade`` of all retrieved or judged documents."""
    schema = {"query_id": pl.String, "doc_id": pl.String, "position": pl.Int64}
    ranked_rows = pl.DataFrame(schema=schema)
    if contents.runs:
        order = pl.col("score").rank("ordinal", descending=True).over("query_id").cast(pl.Int64)
        ranked_rows = contents.runs[0].table.select(*_PAIR, order.alias("position"))
        ranked_rows = ranked_rows.sort([first_rows(ranked_rows), pl.col("position")], maintain_order=True)
    if contents.qrels is None:
        return ranked_rows.with_columns(pl.lit(None, pl.Float64).alias("grade"))
    grades = contents.qrels.table.select(*_PAIR, "grade")
    all_rows = ranked_rows.join(grades, on=_PAIR, how="full", coalesce=True, maintain_order="left_right")
    queries_with_state = queries_of_states(contents.runs[0]) if contents.runs else ()
    queries = {"query_id": [*contents.qrels.unjudged, *queries_with_state]}
    empty_queries = pl.DataFrame(queries, {"query_id": pl.String}).unique(maintain_order=True)
    empty_queries = empty_queries.join(all_rows, on="query_id", how="anti", maintain_order="left")
    return pl.concat([all_rows, empty_queries], how="diagonal")


def queries_of_states(run: Run) -> list[str]:
    """The queries with a state, such as those that retrieved nothing."""
    return [] if run.queries is None else run.queries["query_id"].to_list()


def with_fields(rows: pl.DataFrame, documents: pl.DataFrame | None) -> pl.DataFrame:
    """Rows with the fields of their documents."""
    if documents is None:
        return rows
    keys = [name for name in _PAIR if name in documents.columns]
    repeated_columns = [name for name in documents.columns if name in rows.columns and name not in keys]
    return rows.join(documents.drop(repeated_columns), on=keys, how="left", maintain_order="left")


def write_detail(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """Write a row for each document that was retrieved or rated, with all its fields."""
    if not contents.runs:
        contents.judgments("")
    contents, query_losses = with_text_ids(contents)
    case = format_data(contents, _DETAIL_NAME).get("case", {})
    rows = with_fields(detail_rows(contents), contents.documents).with_columns(
        delimited_records.format_grade(), *(pl.lit(case.get(name), pl.String).alias(name) for name in _CASE)
    )
    delimited_records.write_sheet(with_headers(rows, _DETAIL_HEADERS), out)
    losses = find_losses(contents, _DETAIL_NAME, "qrels", "unjudged", "runs", "documents", runs=1)
    return (*losses, *query_losses, *(score_losses(contents.runs[0]) if contents.runs else ()))


def score_losses(run: Run) -> tuple[Loss, ...]:
    """The losses when ranks are written without scores; -rank itself is not a loss."""
    rank = -pl.int_range(1, pl.len() + 1).over("query_id").cast(pl.Float64)
    scores = run.table.filter(pl.col("score") != rank)["score"]
    return (
        *Loss.of("scores (ranks are kept)", scores.to_list()),
        *Loss.of("tag of a run", [run.tag] if run.tag else []),
    )


DETAIL_FORMAT = Format(
    name=_DETAIL_NAME,
    title="Quepid's detail export",
    suffixes=(".csv",),
    sniff=detect_columns(
        "the first line names Case Name, Query Text, Doc ID, Doc Position and Rating",
        "case name",
        "query text",
        "doc id",
        "doc position",
        "rating",
    ),
    read=read_detail,
    write=write_detail,
    holds=("qrels", "runs", "documents"),
    loses="scores (ranks are kept), raters, scales",
    detail=(
        "CSV with Team Name, Case Name, Case ID, Query Text, Doc ID, Doc Position, Title, Rating and any "
        "fields. The positions are a run, the ratings are judgments; a document without a position was not "
        "retrieved, one without a rating is unrated."
    ),
)


_GENERAL_NAME = "quepid-general"
_TEXTS = {"count": "Count", "information_need": "Information Need", "notes": "Notes", "options": "Options"}
_GENERAL_HEADERS = {
    **{name: name for name in _CASE},
    "query_id": "Query Text",
    "value": "Score",
    "at": "Date Last Scored",
    **_TEXTS,
}
_GENERAL_COLUMNS = {column: (header.lower(),) for column, header in _GENERAL_HEADERS.items()}


def read_general(source: InputFile) -> FileContents:
    """Queries with their notes, and the value of the case's metric for each."""
    csv_sheet = delimited_records.read_sheet(
        source, _GENERAL_COLUMNS, numbers=("value",), filled=("query_id",)
    )
    rows = csv_sheet.rows
    refuse_repeated(rows["query_id"], csv_sheet.place, "query", code="duplicate-query")
    times = [
        text and parse_time(text, "Date Last Scored", source.label, csv_sheet.place.line(row))
        for row, text in enumerate(rows["at"].to_list())
    ]
    case = {name: rows[name][0] for name in _CASE if len(rows) and rows[name][0]}
    values = rows.select(
        pl.lit(case.get("Case Name", source.stem)).alias("run"),
        "query_id",
        pl.lit("score").alias("metric"),
        pl.col("value").cast(pl.Float64),
        pl.Series("at", times, VALUES["at"]),
    )
    texts = [name for name in (*_TEXTS, *csv_sheet.others) if rows[name].null_count() < len(rows)]
    return FileContents(
        queries=rows.select("query_id", pl.col("query_id").alias("text"), *texts),
        values=values,
        extra={_GENERAL_NAME: {"case": case}} if case else {},
    )


def write_general(contents: FileContents, out: BinaryIO) -> tuple[Loss, ...]:
    """Write one row per query."""
    queries = contents.queries
    if queries is None:
        raise InputError(
            "no queries with their texts in it; this format is a list of them.", code="no-queries"
        )
    case = format_data(contents, _GENERAL_NAME).get("case", {})
    values = pl.DataFrame(schema=VALUES) if contents.values is None else contents.values
    first_values = values.unique("query_id", keep="first", maintain_order=True).select(
        "query_id", delimited_records.format_grade("value"), pl.col("at").map_elements(format_time, pl.String)
    )
    columns = [name for name in ("query_id", "text", *_TEXTS) if name in queries.columns]
    rows = queries.select(columns).join(first_values, on="query_id", how="left", maintain_order="left")
    rows = rows.with_columns(pl.lit(case.get(name), pl.String).alias(name) for name in _CASE)
    if "text" in columns:
        rows = rows.with_columns(query_id=pl.coalesce(pl.col("text").replace("", None), "query_id"))
    delimited_records.write_sheet(with_headers(rows, _GENERAL_HEADERS).select(_GENERAL_HEADERS.values()), out)
    further_count = len(values) - len(first_values)
    return (
        *find_losses(contents, _GENERAL_NAME, "queries", "values", queries=("text", *_TEXTS)),
        *([Loss("metric values besides the first of a query", further_count)] if further_count else ()),
    )


GENERAL_FORMAT = Format(
    name=_GENERAL_NAME,
    title="Quepid's general export",
    suffixes=(".csv",),
    sniff=detect_columns(
        "the first line names Case Name, Query Text, Score and Date Last Scored",
        "case name",
        "query text",
        "score",
        "date last scored",
    ),
    read=read_general,
    write=write_general,
    holds=("queries", "values"),
    loses="judgments, runs",
    detail=(
        "CSV with Team Name, Case Name, Case ID, Query Text, Score, Date Last Scored, Count, Information "
        "Need, Notes and Options: the queries of a case with their texts, and the last value of its metric, "
        "called score."
    ),
)
