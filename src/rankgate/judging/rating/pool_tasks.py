"""Rating tasks from a pool: pairs with the texts of queries and documents."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from rankgate.core.errors import InputError
from rankgate.data import contents_of
from rankgate.data.dataframes import is_frame, polars_frame
from rankgate.data.formats.pool_file import read_pool
from rankgate.judging.pooling.pool import Pool
from rankgate.judging.rating.tasks import Task, tasks_from_tables

if TYPE_CHECKING:
    import polars as pl


PoolLike: TypeAlias = "Pool | str | Path | pl.DataFrame"
"""A pool: as `pool` returns it, a file, or a frame."""


def pool_table(pool: PoolLike) -> pl.DataFrame:
    """``query_id``, ``doc_id`` and ``batch`` of a pool.

    Raises:
        InputError: a file that is not a pool, with its line; an empty one.
    """
    table = read_pool(pool.table if isinstance(pool, Pool) else pool)
    if table.is_empty():
        label = str(pool) if isinstance(pool, str) else "pool"
        raise InputError("there is nothing to rate in it.", source=label, code="nothing-to-rate")
    return table


def read_tasks(
    table: pl.DataFrame,
    queries: str | Path | pl.DataFrame | None = None,
    documents: str | Path | pl.DataFrame | None = None,
) -> list[Task]:
    """The pairs of a table with their texts.

    Args:
        table: of ``pool_of``.
        queries: texts of the queries: query_id and text, in any format.
        documents: fields of the documents: doc_id, title and others, in any format.

    Raises:
        InputError: files that hold no such texts, or lack a document.
    """
    label = "documents" if is_frame(documents) else str(documents)
    return tasks_from_tables(
        table,
        None if queries is None else read_texts(queries, "queries"),
        None if documents is None else read_texts(documents, "documents"),
        label,
    )


def read_texts(source: str | Path | pl.DataFrame, kind: str) -> pl.DataFrame:
    """The texts of queries, or the fields of documents, of a file or frame.

    Args:
        source: where they are, in any format.
        kind: ``queries`` or ``documents``.

    Raises:
        InputError: there are none.
    """
    if not isinstance(source, str | Path):
        return polars_frame(source, kind)
    content: pl.DataFrame | None = getattr(contents_of(source), kind)
    if content is None:
        needed = "query_id and text" if kind == "queries" else "doc_id and fields such as title"
        problem = f"it holds no {kind}; columns {needed} are needed."
        raise InputError(problem, source=str(source), code="no-such-content")
    return content
