"""Query texts used as query ids, for formats without ids."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from rankgate.data.formats.format import Loss
from rankgate.data.formats.writing import lost_columns, texts

if TYPE_CHECKING:
    from rankgate.data.contents import FileContents
    from rankgate.data.run import Run


def by_text(contents: FileContents) -> tuple[FileContents, tuple[Loss, ...]]:
    """Contents without queries of their own, as the ids are the texts; and what is lost by it.

    Where two queries would have one name, nothing is changed: the ids stay, and the texts are
    lost with the queries.
    """
    table, names = contents.queries, texts(contents)
    new = {query: text for query, text in names.items() if query != text}
    kept = _ids(contents) - new.keys()
    if table is None or len({*new.values()} | kept) < len(new) + len(kept):
        return contents, ()
    losses = (
        *Loss.of("ids of queries, which are called by their texts", new),
        *lost_columns("queries", table, ("query_id", "text")),
    )
    if not new:
        return replace(contents, queries=None), losses
    qrels, ratings, documents = contents.qrels, contents.ratings, contents.documents
    if qrels:
        unjudged = tuple(new.get(query, query) for query in qrels.unjudged)
        qrels = replace(qrels, table=_renamed(qrels.table, new), unjudged=unjudged)
    if ratings:
        ratings = replace(ratings, table=_renamed(ratings.table, new))
    if documents is not None and "query_id" in documents.columns:
        documents = _renamed(documents, new)
    runs = tuple(_run(run, new) for run in contents.runs)
    called = replace(contents, qrels=qrels, ratings=ratings, documents=documents, runs=runs)
    return replace(called, queries=None), losses


def _ids(contents: FileContents) -> set[str]:
    """The ids of all queries that are judged, rated or asked."""
    found: set[str] = set()
    if contents.qrels:
        found |= {*contents.qrels.table["query_id"].unique(), *contents.qrels.unjudged}
    if contents.ratings:
        found |= {*contents.ratings.table["query_id"].unique()}
    if contents.queries is not None:
        found |= {*contents.queries["query_id"]}
    for run in contents.runs:
        found |= {*run.table["query_id"].unique()}
    return found


def _renamed(table: pl.DataFrame, names: Mapping[str, str]) -> pl.DataFrame:
    return table.with_columns(pl.col("query_id").replace(dict(names)))


def _run(run: Run, names: Mapping[str, str]) -> Run:
    def pieces() -> Iterator[pl.DataFrame]:
        yield from (_renamed(piece, names) for piece in run.pieces())

    states = None if run.queries is None else _renamed(run.queries, names)
    return replace(run, pieces=pieces, queries=states, rankings=None)
