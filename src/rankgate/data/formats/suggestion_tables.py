"""Tables of suggestions: completions by typed prefix, corrections of queries, facets."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.errors import DuplicateError, InputError
from rankgate.data.file_contents import FileContents
from rankgate.data.formats.collected_judgments import GrowingQrels
from rankgate.data.formats.format import Format
from rankgate.data.formats.products.product_sheets import detect_columns
from rankgate.data.run import Run
from rankgate.data.table_rows import RowLocation
from rankgate.data.text import delimited_records

if TYPE_CHECKING:
    from rankgate.data.streams.source import InputFile


_COMPLETIONS = ("target", "prefix", "suggestion")
_CORRECTIONS = ("query", "correction", "expected")
_FACETS = ("query", "facet", "documents")
_SEPARATORS = ",\t;"
_MAY_BE_EMPTY = frozenset({"prefix", "suggestion", "correction", "documents"})


def read_completions(source: InputFile) -> FileContents:
    """Read a ranking for each prefix of a query; the query itself is relevant."""
    rows, location = _read_rows(source, _COMPLETIONS)
    prefix, target, length = pl.col("prefix"), pl.col("target"), pl.col("prefix").str.len_chars()
    is_prefix = target.str.to_lowercase().str.starts_with(prefix.str.to_lowercase())
    _refuse(rows, ~is_prefix, pl.format("'{}' is not a prefix of '{}'.", prefix, target), location)
    lists = rows.select(
        "row",
        "rank",
        pl.format("{}#{}", target, length).alias("query_id"),
        doc_id="suggestion",
        sequence="target",
        position=length.cast(pl.Float64),
    )
    return _make_contents(lists, location, {text: [text] for text in rows["target"]}, source)


def read_corrections(source: InputFile) -> FileContents:
    """Read the corrections of each query as a ranking; the expected text is judged."""
    rows, location = _read_rows(source, _CORRECTIONS)
    is_other = pl.col("expected") != pl.col("expected").first().over("query")
    problem = pl.format("'{}' has two expected texts; separate several by bars.", "query")
    _refuse(rows, is_other, problem, location)
    lists = rows.select("row", "rank", query_id="query", doc_id="correction")
    expected = {query: text.split("|") for query, text in rows.select("query", "expected").iter_rows()}
    return _make_contents(lists, location, expected, source)


def read_facets(source: InputFile) -> FileContents:
    """Read each facet of a query as a ranking of its documents; judgments are in another file."""
    rows, location = _read_rows(source, _FACETS)
    is_repeated = ~pl.struct("query", "facet").is_first_distinct()
    problem = pl.format("facet '{}' appears twice for query '{}'; keep one.", "facet", "query")
    _refuse(rows, is_repeated, problem, location, "duplicate-document")
    order = pl.int_range(1, pl.len() + 1).over("query").cast(pl.Float64)
    lists = rows.select(
        "row",
        pl.lit(None, pl.Float64).alias("rank"),
        pl.format("{}#{}", "query", "facet").alias("query_id"),
        doc_id=pl.col("documents").str.split("|"),
        sequence="query",
        position=pl.coalesce("rank", order),
    ).explode("doc_id")
    return _make_contents(lists, location, {}, source)


def _make_contents(
    lists: pl.DataFrame, location: RowLocation, relevant: dict[str, list[str]], source: InputFile
) -> FileContents:
    """The run and the judgments of a table.

    Args:
        lists: the rows of all lists: ``query_id``, ``doc_id``, ``rank`` and ``row``; with
            ``sequence`` and ``position`` if lists belong to a task. An empty document is a list
            without documents.
        location: the location of the rows.
        relevant: the relevant documents of each query.
        source: the file.

    Raises:
        DuplicateError: a list has a document twice.
    """
    lists = lists.with_columns(pl.col("doc_id").str.strip_chars())
    documents = lists.filter(pl.col("doc_id") != "")
    is_repeated = ~pl.struct("query_id", "doc_id").is_first_distinct()
    problem = pl.format("'{}' appears twice in the list of '{}'; keep one.", "doc_id", "query_id")
    _refuse(documents, is_repeated, problem, location, "duplicate-document")
    order = pl.int_range(1, pl.len() + 1).over("query_id").cast(pl.Float64)
    table = documents.select("query_id", "doc_id", score=-pl.coalesce("rank", order))
    state = pl.when((pl.col("doc_id") != "").any()).then(pl.lit("ok")).otherwise(pl.lit("zero"))
    task_columns = pl.col("^sequence|position$").first()
    queries = lists.group_by("query_id", maintain_order=True).agg(state.alias("state"), task_columns)
    qrels = GrowingQrels(source)
    for query, documents_of_query in relevant.items():
        for document in dict.fromkeys(map(str.strip, documents_of_query)):
            qrels.add(query, document, 1, f"query '{query}'")
    run = Run(source.stem, lambda: iter([table]), queries=queries, place=RowLocation(source.label))
    return FileContents(qrels=qrels.qrels()[0], runs=(run,))


def _refuse(
    rows: pl.DataFrame, is_wrong: pl.Expr, problem: pl.Expr, location: RowLocation, code: str = "wrong-shape"
) -> None:
    """Raise an error for the first wrong row."""
    wrong_rows = rows.filter(is_wrong).select("row", problem.alias("problem"))
    if len(wrong_rows):
        row, text = wrong_rows.row(0)
        error_class = DuplicateError if code == "duplicate-document" else InputError
        raise error_class(text, source=location.label, line=location.line(row), code=code)


def _read_rows(source: InputFile, columns: tuple[str, ...]) -> tuple[pl.DataFrame, RowLocation]:
    """The rows of a table without blanks around texts, numbered in ``row``, and their location.

    Raises:
        InputError: a column is missing, a row has another length, a required field is empty, or
            there are no rows.
    """
    csv_sheet = delimited_records.read_sheet(
        source,
        {name: (name,) for name in (*columns, "rank")},
        numbers=("rank",),
        filled=[name for name in columns if name not in _MAY_BE_EMPTY],
        guard=False,
        separators=_SEPARATORS,
    )
    missing_columns = [name for name in columns if name in csv_sheet.absent]
    if missing_columns:
        names = ", ".join(
            name.strip().lower() for name in csv_sheet.rows.columns if name not in csv_sheet.absent
        )
        problem = f"no column '{missing_columns[0]}' among {names}."
        raise InputError(problem, source=source.label, line=1, code="missing-column")
    if csv_sheet.rows.is_empty():
        raise InputError("there are no rows in it.", source=source.label, code="no-rankings")
    texts = pl.col(*columns).str.strip_chars().fill_null("")
    return csv_sheet.rows.select(texts, "rank").with_row_index("row"), csv_sheet.place


def _make_format(
    name: str,
    title: str,
    columns: tuple[str, ...],
    read: Callable[[InputFile], FileContents],
    holds: tuple[str, ...],
    detail: str,
) -> Format:
    sniff = detect_columns(f"the first line names {', '.join(columns)}", *columns, separators=_SEPARATORS)
    return Format(
        name=name, title=title, suffixes=(".csv", ".tsv"), sniff=sniff, read=read, holds=holds, detail=detail
    )


COMPLETIONS = _make_format(
    "completions",
    "suggestions while a query is typed",
    _COMPLETIONS,
    read_completions,
    ("runs", "qrels"),
    "Columns target (the query that a user means), prefix (what is typed), suggestion and perhaps rank; an "
    "empty suggestion is a prefix without suggestions. The lists after each prefix are the rankings of a "
    "target, and the target is the relevant document: rankgate eval table.csv table.csv -m PrefixRR@3 -m "
    "KeystrokesSaved@10 -m MinKeystrokes.",
)
CORRECTIONS = _make_format(
    "corrections",
    "corrections of queries, applied or suggested (did you mean)",
    _CORRECTIONS,
    read_corrections,
    ("runs", "qrels"),
    "Columns query (as it was typed), correction, expected (several between bars) and perhaps rank; an empty "
    "correction, or the query itself, means no change. Corrections are a run, expected texts are judgments: "
    "rankgate eval table.csv table.csv -m CorrectionP -m CorrectionR.",
)
FACETS = _make_format(
    "facets",
    "facets shown for queries, with their documents",
    _FACETS,
    read_facets,
    ("runs",),
    "Columns query, facet, documents (ids between bars) and perhaps rank. Each facet is a ranking of its "
    "documents, and the query is their task: with judgments of documents EvidenceR@3 measures the documents "
    "that the first three facets reach, FirstUseful the first facet that leads to a relevant document, "
    "Redundancy how much facets overlap.",
)
