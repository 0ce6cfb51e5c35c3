"""Documents as raters see them, kept as they were when they were added."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.store.material.content import content_hash
from rankgate.store.material.queries import strings
from rankgate.store.rows import PIECE, insert, now, value_of
from rankgate.store.tables.material import documents

if TYPE_CHECKING:
    import polars as pl
    from sqlalchemy import Connection

_BY_NUMBER = sa.select(documents).where(documents.c.id == sa.bindparam("number"))
_OWN = ("query_id", "doc_id", "url", "image")


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


def add(connection: Connection, project: int, table: pl.DataFrame) -> int:
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
    known = _known(connection, project)
    new, filled = [], []
    for row in rows:
        before = known.get((row["doc_id"], row["of_query"]))
        given = (row["fields"], row["url"], row["image"])
        if before is None:
            new.append(row)
            continue
        content = (before.fields, before.url, before.image)
        if content == ({}, None, None) and given != content:
            filled.append({"number": before.id, **row})
        elif given not in (content, ({}, None, None)):
            raise InputError(
                f"document '{row['doc_id']}' is in the store with other fields, which raters may "
                "have seen; give the new version another id.",
                source="documents",
                code="document-changed",
            )
    for begin in range(0, len(new), PIECE):
        connection.execute(sa.insert(documents), new[begin : begin + PIECE])
    if filled:
        columns: dict[str, Any] = {
            name: sa.bindparam(f"new_{name}") for name in ("fields", "url", "image", "sha256")
        }
        update = sa.update(documents).where(documents.c.id == sa.bindparam("number"))
        values = [
            {"number": row["number"], **{f"new_{name}": row[name] for name in columns}}
            for row in filled
        ]
        connection.execute(update.values(columns), values)
    return len(rows)


def _content(row: Mapping[str, Any]) -> dict[str, Any]:
    """What raters see of a document, and its hash."""
    fields = {k: v for k, v in row.items() if k not in _OWN and v is not None}
    url, image = row.get("url"), row.get("image")
    found = content_hash(fields, url, image)
    return {"fields": fields, "url": url, "image": image, "sha256": found}


def _known(connection: Connection, project: int) -> dict[tuple[str, str], Document]:
    chosen = sa.select(documents).where(documents.c.project == project)
    found = (value_of(Document, row) for row in connection.execute(chosen))
    return {(each.doc_id, each.of_query): each for each in found}


def _numbers(connection: Connection, project: int) -> dict[tuple[str, str], int]:
    names = (documents.c.doc_id, documents.c.of_query, documents.c.id)
    chosen = sa.select(*names).where(documents.c.project == project)
    return {(doc, query): number for doc, query, number in connection.execute(chosen)}


def ensure(
    connection: Connection, project: int, pairs: Iterable[tuple[str, str]]
) -> dict[tuple[str, str], int]:
    """The numbers of documents by query and document; those that are not there are added bare.

    The fields for a query come before those for every query.
    """
    wanted = list(dict.fromkeys(pairs))
    known = _numbers(connection, project)
    bare = dict.fromkeys(
        doc for query, doc in wanted if (doc, query) not in known and (doc, "") not in known
    )
    if bare:
        moment = now()
        rows = [{"project": project, "doc_id": doc, "created_at": moment} for doc in bare]
        for begin in range(0, len(rows), PIECE):
            made = insert(connection, documents).on_conflict_do_nothing()
            connection.execute(made, rows[begin : begin + PIECE])
        known = _numbers(connection, project)
    return {(query, doc): known.get((doc, query)) or known[doc, ""] for query, doc in wanted}


def by_number(connection: Connection, document: int) -> Document:
    """A document by its number in the store."""
    return value_of(Document, connection.execute(_BY_NUMBER, {"number": document}).one())


def of_query(
    connection: Connection, project: int, query_id: str, ids: Iterable[str]
) -> dict[str, Document]:
    """Documents by id as a query shows them; those that are not there are left out."""
    wanted = sa.and_(documents.c.project == project, documents.c.doc_id.in_(list(ids)),
                     documents.c.of_query.in_(["", query_id]))  # fmt: skip
    chosen = sa.select(documents).where(wanted).order_by(documents.c.of_query)
    return {row.doc_id: value_of(Document, row) for row in connection.execute(chosen)}


def count(connection: Connection, project: int) -> int:
    """How many documents a project has."""
    here = documents.c.project == project
    return connection.scalar(sa.select(sa.func.count()).where(here)) or 0


def fields(connection: Connection, project: int, most: int = 1_000) -> list[str]:
    """The names of fields that the first documents of a project have."""
    chosen = sa.select(documents.c.fields).where(documents.c.project == project)
    found = connection.scalars(chosen.order_by(documents.c.id).limit(most))
    return list(dict.fromkeys(name for each in found for name in each))


def table(connection: Connection, project: int) -> pl.DataFrame | None:
    """All documents as a table of strings, fields as columns; None where there are none."""
    rows: list[dict[str, str | None]] = []
    for each in sorted(_known(connection, project).values(), key=lambda found: found.id):
        row = {"query_id": each.of_query or None, "doc_id": each.doc_id, "url": each.url,
               "image": each.image}  # fmt: skip
        rows.append(row | {name: str(value) for name, value in each.fields.items()})
    return strings(rows, ("doc_id",))
