"""The texts of queries and documents that a report shows."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from rankgate.core.errors import UsageError
from rankgate.data import contents_of

_MAX_TEXT_LENGTH = 240
_COLUMN_NAMES = ("query_id", "doc_id", "text")


def read_query_texts(path: str | None) -> dict[str, str]:
    """Texts of queries by id; empty without a file.

    Raises:
        InputError: the file cannot be read.
        UsageError: it has no texts.
    """
    if path is None:
        return {}
    queries = contents_of(path).queries
    if queries is None:
        raise UsageError(
            f"{path}: no texts of queries in it; see rankgate describe {path}.",
            code="no-such-content",
        )
    return dict(queries.select("query_id", "text").drop_nulls().iter_rows())


def read_document_texts(path: str | None, lists: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """The fields of the documents of some lists, in one text each.

    Args:
        path: a file with fields of documents; none gives no texts.
        lists: ``query_id`` and ``doc_id`` of what is shown.

    Returns:
        ``query_id`` (null: for every query), ``doc_id``, ``text``.

    Raises:
        InputError: the file cannot be read.
        UsageError: it has no fields.
    """
    if path is None:
        return pl.DataFrame(schema=dict.fromkeys(_COLUMN_NAMES, pl.String))
    documents = contents_of(path).documents
    if documents is None:
        raise UsageError(
            f"{path}: no fields of documents in it; see rankgate describe {path}.",
            code="no-such-content",
        )
    keys = [name for name in ("query_id", "doc_id") if name in documents.columns]
    if lists:
        ranked_keys = pl.concat([ranking.select(keys) for ranking in lists]).unique()
        documents = documents.join(ranked_keys, on=keys, how="semi")
    fields = [name for name in documents.columns if name not in keys]
    text = pl.concat_str(
        [pl.col(name).cast(pl.String) for name in fields], separator=" · ", ignore_nulls=True
    )
    owner = pl.col("query_id") if "query_id" in keys else pl.lit(None, dtype=pl.String)
    shortened = (
        pl.when(text.str.len_chars() > _MAX_TEXT_LENGTH)
        .then(text.str.slice(0, _MAX_TEXT_LENGTH) + "…")
        .otherwise(text)
    )
    return documents.select(owner.alias("query_id"), "doc_id", shortened.alias("text")).cast(
        pl.String
    )
