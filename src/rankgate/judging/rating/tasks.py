"""Rating tasks: pairs of query and document with their texts."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping

import polars as pl

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.judging.standing import PAIR


@dataclass(frozen=True)
class Task:
    """One pair to be rated.

    Attributes:
        query_id: of the pair.
        doc_id: of the pair.
        query: what is known of the query by name, its ``text`` first.
        document: the document's fields by name.
    """

    query_id: str
    doc_id: str
    query: Mapping[str, str]
    document: Mapping[str, str]

    @property
    def pair(self) -> tuple[str, str]:
        """Query and document."""
        return self.query_id, self.doc_id


def tasks_from_tables(
    pool: pl.DataFrame,
    queries: pl.DataFrame | None = None,
    documents: pl.DataFrame | None = None,
    label: str = "documents",
) -> list[Task]:
    """The pairs of a pool with the texts that there are.

    Args:
        pool: ``query_id`` and ``doc_id``, in order.
        queries: ``query_id`` and texts.
        documents: ``doc_id`` and fields, or those of each query with ``query_id`` too.
        label: what errors call the documents.

    Raises:
        InputError: texts are given, and one of a document of the pool is missing; or appears
            twice.
    """
    query_texts = _texts_by_key(queries, ["query_id"], "queries")
    key_columns = (
        ["query_id", "doc_id"]
        if documents is not None and "query_id" in documents.columns
        else ["doc_id"]
    )
    document_texts = _texts_by_key(documents, key_columns, label)
    tasks = []
    for query, document in pool.select(PAIR).iter_rows():
        key = (query, document) if len(key_columns) > 1 else (document,)
        if documents is not None and key not in document_texts:
            problem = (
                f"document '{document}' of query '{query}' is in the pool and has no text here; "
                "add it, or leave it out of the pool."
            )
            raise InputError(problem, source=label, code="missing-text")
        tasks.append(
            Task(query, document, query_texts.get((query,), {}), document_texts.get(key, {}))
        )
    return tasks


def _texts_by_key(
    table: pl.DataFrame | None, key_columns: list[str], label: str
) -> dict[tuple[str, ...], dict[str, str]]:
    if table is None:
        return {}
    duplicates = table.filter(pl.struct(key_columns).is_duplicated())
    if len(duplicates):
        key_text = " ".join(str(duplicates[name][0]) for name in key_columns)
        raise InputError(
            f"{key_text} appears twice; keep one row.", source=label, code="duplicate-document"
        )
    fields = [name for name in table.columns if name not in {"query_id", "doc_id"}]
    return {
        tuple(str(row[name]) for name in key_columns): {
            name: str(row[name]) for name in fields if row[name] not in (None, "")
        }
        for row in table.iter_rows(named=True)
    }


def check_word(query_id: str, doc_id: str) -> str:
    """A check word for this pair, so that an id that a program changed is noticed.

    >>> check_word("1", "a")
    'caaa8be88bd'
    """
    return "c" + hashlib.sha256(f"{query_id}\x1f{doc_id}".encode()).hexdigest()[:10]
