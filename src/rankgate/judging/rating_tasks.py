"""Rating tasks: pairs of query and document with their texts."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import TypeAlias

import polars as pl

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.data import contents_of
from rankgate.data.foreign_frames import is_frame, polars_frame
from rankgate.data.formats.pool_file import read_pool
from rankgate.judging.counting_ratings import PAIR
from rankgate.judging.pooling.pool import Pool


@dataclass(frozen=True)
class Task:
    """One pair to rate.

    Attributes:
        query_id: the query of the pair.
        doc_id: the document of the pair.
        query: the fields of the query by name, its ``text`` first.
        document: the document's fields by name.
    """

    query_id: str
    doc_id: str
    query: Mapping[str, str]
    document: Mapping[str, str]

    @property
    def pair(self) -> tuple[str, str]:
        """The ids of query and document."""
        return self.query_id, self.doc_id


def tasks_from_tables(
    pool: pl.DataFrame,
    queries: pl.DataFrame | None = None,
    documents: pl.DataFrame | None = None,
    label: str = "documents",
) -> list[Task]:
    """The pairs of a pool with the available texts.

    Args:
        pool: ``query_id`` and ``doc_id``, in order.
        queries: ``query_id`` and texts.
        documents: ``doc_id`` and fields; also ``query_id`` if the fields differ by query.
        label: the name of the documents in errors.

    Raises:
        InputError: the text of a document of the pool is missing, or appears twice.
    """
    query_texts = _texts_by_key(queries, ["query_id"], "queries")
    key_columns = (
        ["query_id", "doc_id"] if documents is not None and "query_id" in documents.columns else ["doc_id"]
    )
    document_texts = _texts_by_key(documents, key_columns, label)
    tasks = []
    for query, document in pool.select(PAIR).iter_rows():
        key = (query, document) if len(key_columns) > 1 else (document,)
        if documents is not None and key not in document_texts:
            problem = (
                f"document '{document}' of query '{query}' is in the pool and has no text here; add it, or "
                "leave it out of the pool."
            )
            raise InputError(problem, source=label, code="missing-text")
        tasks.append(Task(query, document, query_texts.get((query,), {}), document_texts.get(key, {})))
    return tasks


def _texts_by_key(
    table: pl.DataFrame | None, key_columns: list[str], label: str
) -> dict[tuple[str, ...], dict[str, str]]:
    if table is None:
        return {}
    duplicates = table.filter(pl.struct(key_columns).is_duplicated())
    if len(duplicates):
        key_text = " ".join(str(duplicates[name][0]) for name in key_columns)
        raise InputError(f"{key_text} appears twice; keep one row.", source=label, code="duplicate-document")
    fields = [name for name in table.columns if name not in {"query_id", "doc_id"}]
    return {
        tuple(str(row[name]) for name in key_columns): {
            name: str(row[name]) for name in fields if row[name] not in (None, "")
        }
        for row in table.iter_rows(named=True)
    }


def check_word(query_id: str, doc_id: str) -> str:
    """A check word for a pair, which detects ids changed by a program.

    >>> check_word("1", "a")
    'caaa8be88bd'
    """
    return "c" + hashlib.sha256(f"{query_id}\x1f{doc_id}".encode()).hexdigest()[:10]


PoolLike: TypeAlias = "Pool | str | Path | pl.DataFrame"
"""A pool: the result of `pool`, a file, or a frame."""


def pool_table(pool: PoolLike) -> pl.DataFrame:
    """``query_id``, ``doc_id`` and ``batch`` of a pool.

    Raises:
        InputError: the file is not a pool (the error has the line), or is empty.
    """
    table = read_pool(pool.table if isinstance(pool, Pool) else pool)
    if table.is_empty():
        label = str(pool) if isinstance(pool, str) else "pool"
        raise InputError("it has no documents to rate.", source=label, code="nothing-to-rate")
    return table


def read_tasks(
    table: pl.DataFrame,
    queries: str | Path | pl.DataFrame | None = None,
    documents: str | Path | pl.DataFrame | None = None,
) -> list[Task]:
    """The pairs of a pool table with their texts.

    Args:
        table: the table of ``pool_of``.
        queries: texts of the queries: query_id and text, in any format.
        documents: fields of the documents: doc_id, title and others, in any format.

    Raises:
        InputError: a file has no such texts, or lacks a document.
    """
    label = "documents" if is_frame(documents) else str(documents)
    return tasks_from_tables(
        table,
        None if queries is None else read_texts(queries, "queries"),
        None if documents is None else read_texts(documents, "documents"),
        label,
    )


def read_texts(source: str | Path | pl.DataFrame, kind: str) -> pl.DataFrame:
    """The texts of queries, or the fields of documents, from a file or frame.

    Args:
        source: the source of the documents, in any format.
        kind: ``queries`` or ``documents``.

    Raises:
        InputError: the source has no rows.
    """
    if not isinstance(source, str | Path):
        return polars_frame(source, kind)
    content: pl.DataFrame | None = getattr(contents_of(source), kind)
    if content is None:
        needed = "query_id and text" if kind == "queries" else "doc_id and fields such as title"
        problem = f"it holds no {kind}; columns {needed} are needed."
        raise InputError(problem, source=str(source), code="no-such-content")
    return content
