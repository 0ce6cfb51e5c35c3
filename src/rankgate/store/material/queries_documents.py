"""Queries with their tags, and documents as raters see them.

A query has a text, an information need, a frequency, and any other field as a tag. Documents are
kept unchanged, with a hash of their content.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from datetime import datetime
from hashlib import sha256
from typing import TYPE_CHECKING, Any

import polars as pl
import sqlalchemy as sa

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.store.rows import (
    CHUNK_ROWS,
    MOMENT,
    chunks_of,
    count_rows,
    insert,
    insert_table,
    list_values,
    now,
    read_table,
    unknown_error,
    value_of,
)
from rankgate.store.tables.rating_tables import documents, queries

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgate.core.value_types import Json, JsonObject


def content_hash(fields: JsonObject, url: str | None, image: str | None) -> str | None:
    """SHA-256 of the fields and links as JSON with sorted keys, or None."""
    if not fields and url is None and image is None:
        return None
    json_text = json.dumps([fields, url, image], sort_keys=True, separators=(",", ":"))
    return sha256(json_text.encode()).hexdigest()


_NOT_ARCHIVED = queries.c.archived_at.is_(None)
_QUERY_COLUMNS = ("query_id", "text", "information_need", "frequency")


@dataclass(frozen=True)
class Query:
    """A query.

    Attributes:
        id: the number in the store.
        query_id: the id.
        text: the words of the search.
        information_need: a description of the searcher's need, for raters.
        tags: all other fields.
        frequency: the frequency of the query.
        archived_at: since when it is hidden; None where it is not.
    """

    id: int
    query_id: str
    text: str | None
    information_need: str | None
    tags: JsonObject
    frequency: float | None
    archived_at: datetime | None = None


def add_queries(connection: Connection, project: int, table: pl.DataFrame) -> int:
    """Add queries, or add the fields of the table to existing queries.

    Args:
        connection: a connection to a store, for writing.
        project: the number of the project.
        table: ``query_id`` and any of text, information_need, frequency, and tags.

    Returns:
        The number of rows.
    """
    rows = [_row(project, row) for row in table.iter_rows(named=True)]
    columns = [name for name in _QUERY_COLUMNS[1:] if name in table.columns]
    for chunk in chunks_of(rows):
        upsert = insert(connection, queries)
        new: dict[str, Any] = {name: upsert.excluded[name] for name in columns}
        if set(table.columns) - set(_QUERY_COLUMNS):
            new["tags"] = upsert.excluded["tags"]
        keys = ["project", "query_id"]
        statement = (
            upsert.on_conflict_do_update(index_elements=keys, set_=new)
            if new
            else upsert.on_conflict_do_nothing(index_elements=keys)
        )
        connection.execute(statement, chunk)
    return len(rows)


def _row(project: int, row: Mapping[str, Any]) -> dict[str, Json]:
    frequency = row.get("frequency")
    return {
        "project": project,
        "query_id": row["query_id"],
        "text": row.get("text"),
        "information_need": row.get("information_need"),
        "frequency": None if frequency is None else float(frequency),
        "tags": {k: v for k, v in row.items() if k not in _QUERY_COLUMNS and v is not None},
    }


def ensure_queries(connection: Connection, project: int, ids: Iterable[str]) -> dict[str, int]:
    """The numbers of queries by id; missing queries are added without a text."""
    query_ids = list(dict.fromkeys(ids))
    rows = pl.DataFrame({"query_id": query_ids}, schema={"query_id": pl.String})
    insert_table(connection, queries, rows.with_columns(pl.lit(project).alias("project")))
    statement = sa.select(queries.c.query_id, queries.c.id).where(queries.c.project == project)
    number_of_query = {row.query_id: row.id for row in connection.execute(statement)}
    return {query_id: number_of_query[query_id] for query_id in query_ids}


def get_query(connection: Connection, project: int, query_id: str) -> Query:
    """A query by id.

    Raises:
        UsageError: the query does not exist.
    """
    is_query = sa.and_(queries.c.project == project, queries.c.query_id == query_id)
    row = connection.execute(sa.select(queries).where(is_query)).first()
    if row is None:
        raise unknown_error("query", query_id)
    return value_of(Query, row)


def list_queries(
    connection: Connection, project: int, *, after: int = 0, most: int | None = None, archived: bool = False
) -> list[Query]:
    """Queries in the order in which they were added; archived queries only on request.

    Args:
        connection: a connection to a store.
        project: the number of the project.
        after: the number of the last query on the page before.
        most: the largest number of queries; all by default.
        archived: list archived queries too.
    """
    statement = sa.select(queries).where(queries.c.project == project, queries.c.id > after)
    statement = statement if archived else statement.where(_NOT_ARCHIVED)
    return list_values(connection, Query, statement.order_by(queries.c.id).limit(most))


def read_query_texts(connection: Connection, project: int, query_ids: Iterable[str]) -> dict[str, str]:
    """The texts of queries by id; those without a text are left out."""
    text_of_query: dict[str, str] = {}
    for ids in chunks_of(list(query_ids)):
        statement = sa.select(queries.c.query_id, queries.c.text).where(
            queries.c.project == project, queries.c.query_id.in_(ids), queries.c.text.is_not(None)
        )
        text_of_query |= {row.query_id: row.text for row in connection.execute(statement)}
    return text_of_query


def archived_ids(connection: Connection, project: int) -> set[str]:
    """The ids of queries that are archived."""
    statement = sa.select(queries.c.query_id).where(queries.c.project == project, sa.not_(_NOT_ARCHIVED))
    return set(connection.scalars(statement))


def count_queries(connection: Connection, project: int) -> int:
    """Count the queries of a project, without archived ones."""
    is_active = sa.and_(queries.c.project == project, _NOT_ARCHIVED)
    return count_rows(connection, is_active)


def queries_table(connection: Connection, project: int) -> pl.DataFrame | None:
    """Active queries as a table of strings, with tags as columns; None if there are no queries."""
    rows = []
    for query in list_queries(connection, project):
        frequency = None if query.frequency is None else f"{query.frequency:g}"
        row = {
            "query_id": query.query_id,
            "text": query.text,
            "frequency": frequency,
            "information_need": query.information_need,
        }
        rows.append(row | {name: str(value) for name, value in query.tags.items()})
    return string_table(rows, ("query_id",))


def string_table(rows: list[dict[str, str | None]], ids: tuple[str, ...]) -> pl.DataFrame | None:
    """Rows as a table of strings, without empty columns; None without rows."""
    if not rows:
        return None
    names = dict.fromkeys(name for row in rows for name in row)
    text_table = pl.DataFrame(
        {name: [row.get(name) for row in rows] for name in names}, schema=dict.fromkeys(names, pl.String)
    )
    return text_table.select(
        name for name in names if name in ids or text_table[name].null_count() < len(text_table)
    )


_DOCUMENT_BY_NUMBER = sa.select(documents).where(documents.c.id == sa.bindparam("number"))
_PAIR = ("query_id", "doc_id")
_DOCUMENT_COLUMNS = ("query_id", "doc_id", "url", "image")


@dataclass(frozen=True)
class Document:
    """A document with the fields that raters see.

    Attributes:
        id: the number in the store.
        doc_id: the id.
        of_query: the query that the fields belong to, if they differ by query; otherwise empty.
        fields: the fields for raters, by name.
        url, image: links, if any.
        sha256: the SHA-256 of the fields and links, or None.
    """

    id: int
    doc_id: str
    of_query: str
    fields: JsonObject
    url: str | None
    image: str | None
    sha256: str | None = None


def add_documents(connection: Connection, project: int, table: pl.DataFrame) -> int:
    """Add documents, and fields to existing documents without fields.

    Args:
        connection: a connection to a store, for writing.
        project: the number of the project.
        table: ``doc_id`` and fields, with ``query_id`` where fields differ by query.

    Returns:
        The number of rows.

    Raises:
        InputError: a document exists with other fields that raters may have seen.
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
    few_ids = [str(row["doc_id"]) for row in rows] if len(rows) <= CHUNK_ROWS else None
    existing = _documents_by_key(connection, project, few_ids)
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
                f"document '{row['doc_id']}' is in the store with other fields, which raters may have seen; "
                "give the new version another id.",
                source="documents",
                code="document-changed",
            )
    for chunk in chunks_of(new):
        connection.execute(sa.insert(documents), chunk)
    if completed:
        columns: dict[str, Any] = {
            name: sa.bindparam(f"new_{name}") for name in ("fields", "url", "image", "sha256")
        }
        update = sa.update(documents).where(documents.c.id == sa.bindparam("number"))
        values = [
            {"number": row["number"], **{f"new_{name}": row[name] for name in columns}} for row in completed
        ]
        connection.execute(update.values(columns), values)
    return len(rows)


def add_new_documents(connection: Connection, project: int, table: pl.DataFrame) -> int:
    """Add documents, and fields to documents without fields; other documents stay unchanged.

    Args:
        connection: a connection to a store, for writing.
        project: the number of the project.
        table: ``doc_id`` and fields.

    Returns:
        The number of documents that were added or got fields.
    """
    statement = sa.select(documents.c.doc_id, documents.c.fields).where(
        documents.c.project == project, documents.c.of_query == ""
    )
    complete_ids = {row.doc_id for row in connection.execute(statement) if row.fields}
    new_documents = table.filter(~pl.col("doc_id").is_in(list(complete_ids)))
    return add_documents(connection, project, new_documents)


def _content(row: Mapping[str, Any]) -> dict[str, Any]:
    """The content of a document as raters see it, with its hash."""
    fields = {k: v for k, v in row.items() if k not in _DOCUMENT_COLUMNS and v is not None}
    url, image = row.get("url"), row.get("image")
    digest = content_hash(fields, url, image)
    return {"fields": fields, "url": url, "image": image, "sha256": digest}


def _documents_by_key(
    connection: Connection, project: int, doc_ids: list[str] | None = None
) -> dict[tuple[str, str], Document]:
    """The documents of a project by key, all or those with some ids."""
    statement = sa.select(documents).where(documents.c.project == project)
    if doc_ids is not None:
        statement = statement.where(documents.c.doc_id.in_(doc_ids))
    stored_documents = (value_of(Document, row) for row in connection.execute(statement))
    return {(document.doc_id, document.of_query): document for document in stored_documents}


def ensure_documents(
    connection: Connection, project: int, pairs: Iterable[tuple[str, str]]
) -> dict[tuple[str, str], int]:
    """The numbers of documents by query and document; missing documents are added without fields.

    Fields for one query take precedence over fields for every query.
    """
    pair_list = list(dict.fromkeys(pairs))
    pairs_table = pl.DataFrame(pair_list, dict.fromkeys(_PAIR, pl.String), orient="row")
    numbers = number_documents(connection, project, pairs_table)
    return dict(zip(pair_list, numbers, strict=True))


def number_documents(connection: Connection, project: int, pairs: pl.DataFrame) -> pl.Series:
    """The number of each pair's document, as in `ensure_documents`.

    Args:
        connection: a connection to a store, for writing.
        project: the number of the project.
        pairs: ``query_id`` and ``doc_id``.
    """
    numbers = _find_numbers(connection, project, pairs)
    missing_ids = pairs.filter(numbers.is_null())["doc_id"].unique(maintain_order=True)
    if missing_ids.is_empty():
        return numbers
    rows = pl.DataFrame([missing_ids]).with_columns(
        pl.lit(project).alias("project"), pl.lit(now(), MOMENT).alias("created_at")
    )
    insert_table(connection, documents, rows)
    return _find_numbers(connection, project, pairs)


def _find_numbers(connection: Connection, project: int, pairs: pl.DataFrame) -> pl.Series:
    """The number of each pair's document; null if the document is missing."""
    names = (documents.c.doc_id, documents.c.of_query, documents.c.id)
    statement = sa.select(*names).where(documents.c.project == project)
    schema = {"doc_id": pl.String, "query_id": pl.String, "number": pl.Int64}
    numbers = read_table(connection, statement, schema)
    of_every_query = numbers.filter(pl.col("query_id") == "").select("doc_id", bare="number")
    return (
        pairs.join(numbers, on=_PAIR, how="left", maintain_order="left")
        .join(of_every_query, on="doc_id", how="left", maintain_order="left")
        .select(pl.coalesce("number", "bare"))
        .to_series()
    )


def document_by_number(connection: Connection, document: int) -> Document:
    """A document by its number in the store."""
    return value_of(Document, connection.execute(_DOCUMENT_BY_NUMBER, {"number": document}).one())


def documents_of_query(
    connection: Connection, project: int, query_id: str, ids: Iterable[str]
) -> dict[str, Document]:
    """Documents by id with the fields of a query; missing documents are left out."""
    condition = sa.and_(
        documents.c.project == project,
        documents.c.doc_id.in_(list(ids)),
        documents.c.of_query.in_(["", query_id]),
    )
    statement = sa.select(documents).where(condition).order_by(documents.c.of_query)
    return {row.doc_id: value_of(Document, row) for row in connection.execute(statement)}


def documents_of_pairs(
    connection: Connection, project: int, pairs: Iterable[tuple[str, str]]
) -> dict[tuple[str, str], Document]:
    """The document of each pair of query and document; missing documents are left out.

    Fields for one query take precedence over fields for every query.
    """
    pair_list = list(dict.fromkeys(pairs))
    all_ids = list(dict.fromkeys(doc_id for _, doc_id in pair_list))
    document_of_key: dict[tuple[str, str], Document] = {}
    for doc_ids in chunks_of(all_ids):
        statement = sa.select(documents).where(
            documents.c.project == project, documents.c.doc_id.in_(doc_ids)
        )
        for row in connection.execute(statement):
            document_of_key[row.of_query, row.doc_id] = value_of(Document, row)
    return {
        pair: document_of_key.get(pair) or document_of_key["", pair[1]]
        for pair in pair_list
        if pair in document_of_key or ("", pair[1]) in document_of_key
    }


def count_documents(connection: Connection, project: int) -> int:
    """Count the documents of a project."""
    in_project = documents.c.project == project
    return count_rows(connection, in_project)


def first_fields(connection: Connection, project: int, limit: int = 1_000) -> list[JsonObject]:
    """The fields of the first documents of a project."""
    statement = sa.select(documents.c.fields).where(documents.c.project == project)
    return list(connection.scalars(statement.order_by(documents.c.id).limit(limit)))


def field_names(connection: Connection, project: int, limit: int = 1_000) -> list[str]:
    """The names of the fields in the first documents of a project."""
    field_sets = first_fields(connection, project, limit)
    return list(dict.fromkeys(name for document_fields in field_sets for name in document_fields))


def documents_table(connection: Connection, project: int) -> pl.DataFrame | None:
    """All documents as a table of strings, fields as columns, or None."""
    rows: list[dict[str, str | None]] = []
    for document in sorted(_documents_by_key(connection, project).values(), key=lambda document: document.id):
        row = {
            "query_id": document.of_query or None,
            "doc_id": document.doc_id,
            "url": document.url,
            "image": document.image,
        }
        rows.append(row | {name: str(value) for name, value in document.fields.items()})
    return string_table(rows, ("doc_id",))
