"""Query texts used as query ids, for formats without ids."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from rankgate.data.formats.format import Loss
from rankgate.data.formats.writing import column_losses, texts_by_query

if TYPE_CHECKING:
    from rankgate.data.contents import FileContents
    from rankgate.data.run import Run


def with_text_ids(contents: FileContents) -> tuple[FileContents, tuple[Loss, ...]]:
    """Contents with query texts as ids and without a queries table; and the losses.

    If two queries would get one name, nothing is changed: the ids stay, and the texts are lost
    with the queries.
    """
    table, names = contents.queries, texts_by_query(contents)
    text_of_query = {query: text for query, text in names.items() if query != text}
    kept_ids = _query_ids(contents) - text_of_query.keys()
    if table is None or len({*text_of_query.values()} | kept_ids) < len(text_of_query) + len(
        kept_ids
    ):
        return contents, ()
    losses = (
        *Loss.of("ids of queries, which are called by their texts", text_of_query),
        *column_losses("queries", table, ("query_id", "text")),
    )
    if not text_of_query:
        return replace(contents, queries=None), losses
    qrels, ratings, documents = contents.qrels, contents.ratings, contents.documents
    if qrels:
        unjudged = tuple(text_of_query.get(query, query) for query in qrels.unjudged)
        qrels = replace(qrels, table=_rename_queries(qrels.table, text_of_query), unjudged=unjudged)
    if ratings:
        ratings = replace(ratings, table=_rename_queries(ratings.table, text_of_query))
    if documents is not None and "query_id" in documents.columns:
        documents = _rename_queries(documents, text_of_query)
    runs = tuple(_rename_run(run, text_of_query) for run in contents.runs)
    renamed_contents = replace(
        contents, qrels=qrels, ratings=ratings, documents=documents, runs=runs
    )
    return replace(renamed_contents, queries=None), losses


def _query_ids(contents: FileContents) -> set[str]:
    """The ids of all queries that are judged, rated, ranked or listed."""
    query_ids: set[str] = set()
    if contents.qrels:
        query_ids |= {*contents.qrels.table["query_id"].unique(), *contents.qrels.unjudged}
    if contents.ratings:
        query_ids |= {*contents.ratings.table["query_id"].unique()}
    if contents.queries is not None:
        query_ids |= {*contents.queries["query_id"]}
    for run in contents.runs:
        query_ids |= {*run.table["query_id"].unique()}
    return query_ids


def _rename_queries(table: pl.DataFrame, names: Mapping[str, str]) -> pl.DataFrame:
    return table.with_columns(pl.col("query_id").replace(dict(names)))


def _rename_run(run: Run, names: Mapping[str, str]) -> Run:
    def pieces() -> Iterator[pl.DataFrame]:
        yield from (_rename_queries(frame, names) for frame in run.pieces())

    states = None if run.queries is None else _rename_queries(run.queries, names)
    return replace(run, pieces=pieces, queries=states, rankings=None)
