"""Shared parts of writers: judgments by query, the texts of queries, and the list of losses."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any, BinaryIO

import polars as pl

from rankgate.data.file_contents import Loss
from rankgate.data.qrels import QRELS_SCHEMA, Ratings
from rankgate.data.text.json_text import format_json, whole_numbers

if TYPE_CHECKING:
    from rankgate.core.value_types import Json
    from rankgate.data.file_contents import FileContents
    from rankgate.data.qrels import Qrels
    from rankgate.data.run import Run


def with_text_ids(contents: FileContents) -> tuple[FileContents, tuple[Loss, ...]]:
    """Contents with query texts as ids and no queries table, and the losses.

    If two queries would get the same id, nothing is changed: the ids stay, and the texts are lost
    with the queries.
    """
    table, names = contents.queries, texts_by_query(contents)
    text_of_query = {query: text for query, text in names.items() if query != text}
    kept_ids = set(query_ids(contents)) - text_of_query.keys()
    if table is None or len({*text_of_query.values()} | kept_ids) < len(text_of_query) + len(kept_ids):
        return contents, ()
    losses = (*id_losses(text_of_query), *_column_losses("queries", table, ("text",)))
    if not text_of_query:
        return replace(contents, queries=None), losses

    def rename(table: pl.DataFrame) -> pl.DataFrame:
        return table.with_columns(pl.col("query_id").replace(text_of_query))

    qrels, ratings, documents = contents.qrels, contents.ratings, contents.documents
    if qrels:
        unjudged = tuple(text_of_query.get(query, query) for query in qrels.unjudged)
        qrels = replace(qrels, table=rename(qrels.table), unjudged=unjudged)
    if documents is not None and "query_id" in documents.columns:
        documents = rename(documents)
    renamed_contents = replace(
        contents,
        qrels=qrels,
        ratings=ratings and replace(ratings, table=rename(ratings.table)),
        documents=documents,
        runs=tuple(_with_queries(run, rename) for run in contents.runs),
        queries=None,
    )
    return renamed_contents, losses


def _with_queries(run: Run, rename: Callable[[pl.DataFrame], pl.DataFrame]) -> Run:
    states = None if run.queries is None else rename(run.queries)
    return replace(run, pieces=lambda: map(rename, run.pieces()), queries=states, rankings=None)


def id_losses(queries: Iterable[str]) -> tuple[Loss, ...]:
    """The loss of the ids of queries that are written by their texts."""
    return Loss.of("ids of queries; their texts are the ids", queries)


def query_ids(contents: FileContents) -> list[str]:
    """The ids of all queries that are judged, rated, listed or ranked."""
    parts = (contents.qrels, contents.ratings, *contents.runs)
    tables = [contents.queries, *(part.table for part in parts if part)]
    ids = [table["query_id"].unique(maintain_order=True) for table in tables if table is not None]
    unjudged = contents.qrels.unjudged if contents.qrels else ()
    return [*dict.fromkeys([*chain.from_iterable(ids), *unjudged])]


_PAIR = ["query_id", "doc_id"]


_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


def collect_grades(qrels: Qrels) -> dict[str, dict[str, float]]:
    """The grades of each query's documents; queries without judgments come last, empty.

    A pair appears only once in judgments.
    """
    groups = qrels.table.group_by("query_id", maintain_order=True).agg("doc_id", "grade")
    grades_by_query = {
        query: dict(zip(documents, whole_numbers(grades), strict=True))
        for query, documents, grades in groups.iter_rows()
    }
    for query in qrels.unjudged:
        grades_by_query.setdefault(query, {})
    return grades_by_query


def collect_pooled_grades(contents: FileContents) -> dict[str, dict[str, float | None]]:
    """As `collect_grades`, with None for documents without a grade.

    Raises:
        InputError: there are no judgments.
    """
    grades = collect_grades(contents.judgments(""))
    grades_by_query: dict[str, dict[str, float | None]] = {
        query_id: {**grade_of_doc} for query_id, grade_of_doc in grades.items()
    }
    for query, document in unrated_pairs(contents).iter_rows():
        grades_by_query.setdefault(query, {})[document] = None
    return grades_by_query


def ratings_of(contents: FileContents, rater: str) -> Ratings:
    """The ratings; without them the judgments, as ratings of one rater.

    Raises:
        InputError: there are neither ratings nor judgments.
    """
    if contents.ratings:
        return contents.ratings
    return Ratings(contents.judgments("").table.with_columns(rater=pl.lit(rater)))


def has_pairs(contents: FileContents) -> bool:
    """True if documents are listed by query, so that they form a pool for each query."""
    return contents.documents is not None and {*_PAIR} <= set(contents.documents.columns)


def unrated_pairs(contents: FileContents) -> pl.DataFrame:
    """The unjudged pairs of query and document, in the order of documents."""
    documents, qrels = contents.documents, contents.qrels
    if documents is None or not has_pairs(contents):
        return pl.DataFrame(schema=dict.fromkeys(_PAIR, pl.String))
    pairs = documents.select(_PAIR).unique(maintain_order=True)
    return pairs if qrels is None else pairs.join(qrels.table, _PAIR, "anti", maintain_order="left")


def first_rows(table: pl.DataFrame) -> pl.Series:
    """The row where the query of each row first appears; it sorts queries in file order."""
    rows = table.select("query_id").with_row_index("place")
    return rows.select(pl.col("place").min().over("query_id")).to_series()


def ranking_by_query(run: Run) -> dict[str, list[tuple[str, float]]]:
    """Each query's documents with their scores, best first; equal scores in file order."""
    best_first = pl.col("doc_id", "score").sort_by("score", descending=True, maintain_order=True)
    rankings = run.table.group_by("query_id", maintain_order=True).agg(best_first)
    return {query: [*zip(docs, scores, strict=True)] for query, docs, scores in rankings.iter_rows()}


def texts_by_query(contents: FileContents) -> dict[str, str]:
    """The text of each query that has one."""
    table = contents.queries
    if table is None or not {"query_id", "text"} <= set(table.columns):
        return {}
    return {query: text for query, text in table.select("query_id", "text").iter_rows() if text}


def rows_by_id(table: pl.DataFrame | None, key: str) -> dict[str, dict[str, str]]:
    """The rows of a table of strings by id, without nulls."""
    if table is None or key not in table.columns:
        return {}
    return {
        row[key]: {name: value for name, value in row.items() if value is not None}
        for row in table.iter_rows(named=True)
    }


def format_data(contents: FileContents, name: str) -> Mapping[str, Any]:
    """The data in the contents that only this format has; empty for other formats."""
    format_extra = contents.extra.get(name)
    return format_extra if isinstance(format_extra, dict) else {}


def find_losses(
    contents: FileContents,
    name: str,
    *kept_parts: str,
    runs: int | None = None,
    queries: Iterable[str] | None = None,
    documents: Iterable[str] | None = None,
) -> tuple[Loss, ...]:
    """The losses of a format that writes some parts of the contents.

    Args:
        contents: all contents.
        name: the format; the fields that are its own are kept.
        kept_parts: the written parts, with ``scale`` and ``unjudged`` if they are written.
        runs: the number of runs that are written; all if not given.
        queries: the columns of queries that are written, besides ids; all if not given.
        documents: as ``queries``, of documents.
    """
    other_extra = {owner: value for owner, value in contents.extra.items() if owner != name}
    table, qrels = contents.documents, contents.qrels
    has_only_ids = table is not None and set(table.columns) == {*_PAIR}
    other_contents = replace(contents, extra=other_extra, documents=None if has_only_ids else table)
    losses = list(other_contents.losses(*kept_parts, runs=runs))
    if qrels and "documents" not in kept_parts:
        pairs = (f"{query} {document}" for query, document in unrated_pairs(contents).iter_rows())
        losses += Loss.of("pairs without a grade", pairs)
    if qrels and "qrels" in kept_parts:
        if qrels.scale and "scale" not in kept_parts:
            scale_text = f"{qrels.scale.lowest:g} to {qrels.scale.highest:g}"
            losses.append(Loss("scale of the grades", 1, (scale_text,)))
        if "unjudged" not in kept_parts:
            losses += Loss.of("queries without judgments", qrels.unjudged)
        columns = [column for column in qrels.table.columns if column not in QRELS_SCHEMA]
        losses += Loss.of("columns of judgments", columns)
    return (
        *losses,
        *_column_losses("queries", contents.queries, queries),
        *_column_losses("documents", table, documents),
    )


def _column_losses(
    noun: str, table: pl.DataFrame | None, kept_columns: Iterable[str] | None
) -> tuple[Loss, ...]:
    """The columns of a table, besides ids, that a format cannot hold."""
    if table is None or kept_columns is None:
        return ()
    names = [name for name in table.columns if name not in {*_PAIR, *kept_columns}]
    return Loss.of(f"fields of {noun}", names)


def write_json(out: BinaryIO, value: Json, levels: int = 3) -> None:
    """Write one JSON document, with one line for each value of the outer levels.

    Python's own indentation would break every inner object into lines, and takes ten times
    longer.
    """
    out.write(_format_lines(whole_numbers(value), levels).encode() + b"\n")


def write_json_lines(out: BinaryIO, values: Iterable[Any]) -> None:
    """Write one JSON value a line."""
    out.writelines(format_json(value).encode() + b"\n" for value in values)


def _format_lines(value: Json, levels: int, pad: str = " ") -> str:
    if not levels or not isinstance(value, dict | list) or not value:
        return _ENCODER.encode(value)
    is_object = isinstance(value, dict)
    members = value.items() if isinstance(value, dict) else (("", element) for element in value)
    inner = [
        (f"{_ENCODER.encode(key)}: " if is_object else "") + _format_lines(member, levels - 1, pad + " ")
        for key, member in members
    ]
    opening, closing = "{}" if is_object else "[]"
    return f"{opening}\n{pad}" + f",\n{pad}".join(inner) + f"\n{pad[1:]}{closing}"
