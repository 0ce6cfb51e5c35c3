"""Clusters of queries: a column of their table, or near-copies by their texts."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Mapping
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from collections.abc import Iterable

CLUSTER = "cluster"
"""The column of the queries' table with the cluster of each query."""

COPY_CLUSTER = "cluster_by_text"
"""The column of near-copies by text, for tables without clusters."""

TEXT_COLUMNS = ("text", "query_text", "query")
"""Columns of the queries' table that hold texts."""


def word_key(text: str) -> str:
    """A key that near-copies share: the words in alphabetical order, without case and marks.

    >>> word_key("iPhone 15 case!") == word_key("Case  iphone-15")
    True
    """
    plain_text = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(sorted(re.findall(r"\w+", plain_text)))


def find_near_copies(texts: Mapping[str, str]) -> dict[str, str]:
    """For each query that is a near-copy of another: the first query with the same words."""
    by_words: dict[str, list[str]] = {}
    for query, text in texts.items():
        if key := word_key(text):
            by_words.setdefault(key, []).append(query)
    groups = (queries for queries in by_words.values() if len(queries) > 1)
    return {query: queries[0] for queries in groups for query in queries}


def with_clusters(tags: pl.DataFrame) -> pl.DataFrame:
    """The table of queries with clusters of near-copies, if it names no clusters.

    Args:
        tags: ``query_id`` and other columns.
    """
    if CLUSTER in tags.columns:
        return tags
    column = next((name for name in TEXT_COLUMNS if name in tags.columns), None)
    if column is None or tags[column].dtype != pl.String:
        return tags
    query_texts = tags.select(pl.col("query_id").cast(pl.String), column).drop_nulls()
    copies = find_near_copies(dict(query_texts.iter_rows()))
    if not copies:
        return tags
    ids = tags["query_id"].cast(pl.String).to_list()
    return tags.with_columns(
        pl.Series(COPY_CLUSTER, [copies.get(query) for query in ids], pl.String)
    )


def read_clusters(tables: Iterable[pl.DataFrame]) -> dict[str, str]:
    """The cluster of each query that has one, of tables with ``query_id`` and tags."""
    cluster_of_query: dict[str, str] = {}
    for table in tables:
        name = next((name for name in (CLUSTER, COPY_CLUSTER) if name in table.columns), None)
        if name is None:
            continue
        named_clusters = table.select("query_id", pl.col(name).cast(pl.String).replace("", None))
        for query, cluster in named_clusters.drop_nulls().iter_rows():
            cluster_of_query.setdefault(query, cluster)
    return cluster_of_query
