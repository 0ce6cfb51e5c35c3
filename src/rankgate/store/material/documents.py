"""Documents as raters see them, kept as they were when they were added."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.store.material.content import content_hash
from rankgate.store.material.queries import string_table
from rankgate.store.rows import CHUNK_ROWS, insert, now, value_of
from rankgate.store.tables.material import documents

if TYPE_CHECKING:
    import polars as pl
    from sqlalchemy import Connection

_DOCUMENT_BY_NUMBER = sa.select(documents).where(documents.c.id == sa.bindparam("number"))
_DOCUMENT_COLUMNS = ("query_id", "doc_id", "url", "image")


@dataclass(frozen=True)
class Document:
    """A document.

    Attributes:
        id: the number in the store.
        doc_id: the id.
        of_query: the query whose fields these are, where they differ by query; or empty.
        fields: what raters see, by name.
        url, image: links, if any.
        sha256: of the fields and links; None where there are none.
    """

    id: int
    doc_id: str
    of_query: str
    fields: Mapping[str, Any]
    url: str | None
    image: str | None
    sha256: str | None = None


def add_documents(connection: Connection, project: int, table: pl.DataFrame) -> int:
    """Add documents; those that are there without fields get them.

    Args:
        connection: of a store, to write.
        project: which project.
        table: ``doc_id`` and fields, with ``query_id`` where fields differ by query.

    Returns:
        How many rows there were.

    Raises:
        InputError: a document is there with other fields, which raters may have seen.
    """
    moment = now()
    rows = [
        {
            "project": project,
            "doc_id": row["doc_id"],
            "of_query": row.get("query_id") or "",
            **_content(row),
            "created_at": moment,
        }
        for row in table.iter_rows(named=True)
    ]
    existing = _documents_by_key(connection, project)
    new, completed = [], []
    for row in rows:
        existing_document = existing.get((row["doc_id"], row["of_query"]))
        new_content = (row["fields"], row["url"], row["image"])
        if existing_document is None:
            new.append(row)
            continue
        content = (existing_document.fields, existing_document.url, existing_document.image)
        if content == ({}, None, None) and new_content != content:
            completed.append({"number": existing_document.id, **row})
        elif new_content not in (content, ({}, None, None)):
            raise InputError(
                f"document '{row['doc_id']}' is in the store with other fields, which raters may "
                "have seen; give the new version another id.",
                source="documents",
                code="document-changed",
            )
    for begin in range(0, len(new), CHUNK_ROWS):
        connection.execute(sa.insert(documents), new[begin : begin + CHUNK_ROWS])
    if completed:
        columns: dict[str, Any] = {
            name: sa.bindparam(f"new_{name}") for name in ("fields", "url", "image", "sha256")
        }
        update = sa.update(documents).where(documents.c.id == sa.bindparam("number"))
        values = [
            {"number": row["number"], **{f"new_{name}": row[name] for name in columns}}
            for row in completed
        ]
        connection.execute(update.values(columns), values)
    return len(rows)


def _content(row: Mapping[str, Any]) -> dict[str, Any]:
    """The content of a document as raters see it, with its hash."""
    fields = {k: v for k, v in row.items() if k not in _DOCUMENT_COLUMNS and v is not None}
    url, image = row.get("url"), row.get("image")
    digest = content_hash(fields, url, image)
    return {"fields": fields, "url": url, "image": image, "sha256": digest}


def _documents_by_key(connection: Connection, project: int) -> dict[tuple[str, str], Document]:
    statement = sa.select(documents).where(documents.c.project == project)
    stored_documents = (value_of(Document, row) for row in connection.execute(statement))
    return {(document.doc_id, document.of_query): document for document in stored_documents}


def _numbers_by_key(connection: Connection, project: int) -> dict[tuple[str, str], int]:
    names = (documents.c.doc_id, documents.c.of_query, documents.c.id)
    statement = sa.select(*names).where(documents.c.project == project)
    return {(doc, query): number for doc, query, number in connection.execute(statement)}


def ensure_documents(
    connection: Connection, project: int, pairs: Iterable[tuple[str, str]]
) -> dict[tuple[str, str], int]:
    """The numbers of documents by query and document; missing ones are added without fields.

    The fields for a query come before those for every query.
    """
    pair_list = list(dict.fromkeys(pairs))
    numbers = _numbers_by_key(connection, project)
    bare = dict.fromkeys(
        doc for query, doc in pair_list if (doc, query) not in numbers and (doc, "") not in numbers
    )
    if bare:
        moment = now()
        rows = [{"project": project, "doc_id": doc, "created_at": moment} for doc in bare]
        for begin in range(0, len(rows), CHUNK_ROWS):
            statement = insert(connection, documents).on_conflict_do_nothing()
            connection.execute(statement, rows[begin : begin + CHUNK_ROWS])
        numbers = _numbers_by_key(connection, project)
    return {(query, doc): numbers.get((doc, query)) or numbers[doc, ""] for query, doc in pair_list}


def document_by_number(connection: Connection, document: int) -> Document:
    """A document by its number in the store."""
    return value_of(Document, connection.execute(_DOCUMENT_BY_NUMBER, {"number": document}).one())


def documents_of_query(
    connection: Connection, project: int, query_id: str, ids: Iterable[str]
) -> dict[str, Document]:
    """Documents by id with the fields of a query; missing ones are left out."""
    condition = sa.and_(
        documents.c.project == project,
        documents.c.doc_id.in_(list(ids)),
        documents.c.of_query.in_(["", query_id]),
    )
    statement = sa.select(documents).where(condition).order_by(documents.c.of_query)
    return {row.doc_id: value_of(Document, row) for row in connection.execute(statement)}


def count_documents(connection: Connection, project: int) -> int:
    """Count the documents of a project."""
    in_project = documents.c.project == project
    return connection.scalar(sa.select(sa.func.count()).where(in_project)) or 0


def field_names(connection: Connection, project: int, limit: int = 1_000) -> list[str]:
    """The names of fields that the first documents of a project have."""
    statement = sa.select(documents.c.fields).where(documents.c.project == project)
    field_sets = connection.scalars(statement.order_by(documents.c.id).limit(limit))
    return list(dict.fromkeys(name for document_fields in field_sets for name in document_fields))


def documents_table(connection: Connection, project: int) -> pl.DataFrame | None:
    """All documents as a table of strings, fields as columns; None where there are none."""
    rows: list[dict[str, str | None]] = []
    for document in sorted(
        _documents_by_key(connection, project).values(), key=lambda document: document.id
    ):
        row = {
            "query_id": document.of_query or None,
            "doc_id": document.doc_id,
            "url": document.url,
            "image": document.image,
        }
        rows.append(row | {name: str(value) for name, value in document.fields.items()})
    return string_table(rows, ("doc_id",))
