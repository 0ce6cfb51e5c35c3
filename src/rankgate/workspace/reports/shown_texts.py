"""The words of queries and documents that a report shows."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from rankgate.core.errors import UsageError
from rankgate.data import contents_of

_LONGEST = 240
_NAMES = ("query_id", "doc_id", "text")


def texts_of_queries(path: str | None) -> dict[str, str]:
    """Texts by id; none without a file.

    Raises:
        InputError: the file cannot be read.
        UsageError: it has no texts.
    """
    if path is None:
        return {}
    found = contents_of(path).queries
    if found is None:
        raise UsageError(
            f"{path}: no texts of queries in it; see rankgate describe {path}.",
            code="no-such-content",
        )
    return dict(found.select("query_id", "text").drop_nulls().iter_rows())


def texts_of_documents(path: str | None, lists: Sequence[pl.DataFrame]) -> pl.DataFrame:
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
        return pl.DataFrame(schema=dict.fromkeys(_NAMES, pl.String))
    found = contents_of(path).documents
    if found is None:
        raise UsageError(
            f"{path}: no fields of documents in it; see rankgate describe {path}.",
            code="no-such-content",
        )
    keys = [name for name in ("query_id", "doc_id") if name in found.columns]
    if lists:
        shown = pl.concat([each.select(keys) for each in lists]).unique()
        found = found.join(shown, on=keys, how="semi")
    fields = [name for name in found.columns if name not in keys]
    text = pl.concat_str(
        [pl.col(name).cast(pl.String) for name in fields], separator=" · ", ignore_nulls=True
    )
    owner = pl.col("query_id") if "query_id" in keys else pl.lit(None, dtype=pl.String)
    cut = (
        pl.when(text.str.len_chars() > _LONGEST)
        .then(text.str.slice(0, _LONGEST) + "…")
        .otherwise(text)
    )
    return found.select(owner.alias("query_id"), "doc_id", cut.alias("text")).cast(pl.String)
