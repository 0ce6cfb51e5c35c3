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


def tasks_of(
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
    asked = _by_key(queries, ["query_id"], "queries")
    by = (
        ["query_id", "doc_id"]
        if documents is not None and "query_id" in documents.columns
        else ["doc_id"]
    )
    shown = _by_key(documents, by, label)
    items = []
    for query, document in pool.select(PAIR).iter_rows():
        key = (query, document) if len(by) > 1 else (document,)
        if documents is not None and key not in shown:
            problem = (
                f"document '{document}' of query '{query}' is in the pool and has no text here; "
                "add it, or leave it out of the pool."
            )
            raise InputError(problem, source=label, code="missing-text")
        items.append(Task(query, document, asked.get((query,), {}), shown.get(key, {})))
    return items


def _by_key(
    table: pl.DataFrame | None, by: list[str], label: str
) -> dict[tuple[str, ...], dict[str, str]]:
    if table is None:
        return {}
    twice = table.filter(pl.struct(by).is_duplicated())
    if len(twice):
        shown = " ".join(str(twice[name][0]) for name in by)
        raise InputError(
            f"{shown} appears twice; keep one row.", source=label, code="duplicate-document"
        )
    fields = [name for name in table.columns if name not in {"query_id", "doc_id"}]
    return {
        tuple(str(row[name]) for name in by): {
            name: str(row[name]) for name in fields if row[name] not in (None, "")
        }
        for row in table.iter_rows(named=True)
    }


def check_of(query_id: str, doc_id: str) -> str:
    """A word that fits only this pair, so that an id that a program changed is noticed.

    >>> check_of("1", "a")
    'caaa8be88bd'
    """
    return "c" + hashlib.sha256(f"{query_id}\x1f{doc_id}".encode()).hexdigest()[:10]
