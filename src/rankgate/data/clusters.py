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
"""The column of the queries' table that names the cluster of each."""

COPIES = "cluster_by_text"
"""The same, made of near-copies by the texts where the table has no clusters."""

_TEXTS = ("text", "query_text", "query")


def words_of(text: str) -> str:
    """A key that near-copies share: the words in order of the alphabet, without case and marks.

    >>> words_of("iPhone 15 case!") == words_of("Case  iphone-15")
    True
    """
    plain = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(sorted(re.findall(r"\w+", plain)))


def near_copies(texts: Mapping[str, str]) -> dict[str, str]:
    """By query that is a near-copy of another: the first query with the same words."""
    by_words: dict[str, list[str]] = {}
    for query, text in texts.items():
        if key := words_of(text):
            by_words.setdefault(key, []).append(query)
    groups = (queries for queries in by_words.values() if len(queries) > 1)
    return {query: queries[0] for queries in groups for query in queries}


def with_clusters(tags: pl.DataFrame) -> pl.DataFrame:
    """The table of queries with the clusters that its texts show, where it names none.

    Args:
        tags: ``query_id`` and other columns.
    """
    if CLUSTER in tags.columns:
        return tags
    column = next((name for name in _TEXTS if name in tags.columns), None)
    if column is None or tags[column].dtype != pl.String:
        return tags
    known = tags.select(pl.col("query_id").cast(pl.String), column).drop_nulls()
    copies = near_copies(dict(known.iter_rows()))
    if not copies:
        return tags
    ids = tags["query_id"].cast(pl.String).to_list()
    return tags.with_columns(pl.Series(COPIES, [copies.get(query) for query in ids], pl.String))


def clusters_of(tables: Iterable[pl.DataFrame]) -> dict[str, str]:
    """The cluster of each query that has one, of tables with ``query_id`` and tags."""
    result: dict[str, str] = {}
    for table in tables:
        name = next((name for name in (CLUSTER, COPIES) if name in table.columns), None)
        if name is None:
            continue
        named = table.select("query_id", pl.col(name).cast(pl.String).replace("", None))
        for query, cluster in named.drop_nulls().iter_rows():
            result.setdefault(query, cluster)
    return result
