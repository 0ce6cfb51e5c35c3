"""Queries: text, information need, frequency, and any other field as a tag."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

import polars as pl
import sqlalchemy as sa

from rankgate.core.frozen import dataclass
from rankgate.store.rows import CHUNK_ROWS, insert, unknown_error, value_of
from rankgate.store.tables.material import queries

if TYPE_CHECKING:
    from sqlalchemy import Connection

_QUERY_BY_NUMBER = sa.select(queries).where(queries.c.id == sa.bindparam("number"))
_NOT_ARCHIVED = queries.c.archived_at.is_(None)
_QUERY_COLUMNS = ("query_id", "text", "information_need", "frequency")


@dataclass(frozen=True)
class Query:
    """A query.

    Attributes:
        id: the number in the store.
        query_id: the id.
        text: what is searched for.
        information_need: what the searcher wants, for raters.
        tags: all other fields.
        frequency: how often it is asked.
        archived_at: since when it is hidden; None where it is not.
    """

    id: int
    query_id: str
    text: str | None
    information_need: str | None
    tags: Mapping[str, Any]
    frequency: float | None
    archived_at: datetime | None = None


def add_queries(connection: Connection, project: int, table: pl.DataFrame) -> int:
    """Add queries, or give those that are there the fields of the table.

    Args:
        connection: of a store, to write.
        project: which project.
        table: ``query_id`` and any of text, information_need, frequency, and tags.

    Returns:
        How many rows there were.
    """
    rows = [_row(project, row) for row in table.iter_rows(named=True)]
    columns = [name for name in _QUERY_COLUMNS[1:] if name in table.columns]
    for begin in range(0, len(rows), CHUNK_ROWS):
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
        connection.execute(statement, rows[begin : begin + CHUNK_ROWS])
    return len(rows)


def _row(project: int, row: Mapping[str, Any]) -> dict[str, Any]:
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
    """The numbers of queries by id; missing ones are added without a text."""
    query_ids = list(dict.fromkeys(ids))
    add_queries(
        connection, project, pl.DataFrame({"query_id": query_ids}, schema={"query_id": pl.String})
    )
    statement = sa.select(queries.c.query_id, queries.c.id).where(queries.c.project == project)
    number_of_query = {row.query_id: row.id for row in connection.execute(statement)}
    return {query_id: number_of_query[query_id] for query_id in query_ids}


def get_query(connection: Connection, project: int, query_id: str) -> Query:
    """A query by id.

    Raises:
        UsageError: there is none.
    """
    is_query = sa.and_(queries.c.project == project, queries.c.query_id == query_id)
    row = connection.execute(sa.select(queries).where(is_query)).first()
    if row is None:
        raise unknown_error("query", query_id)
    return value_of(Query, row)


def query_by_number(connection: Connection, query: int) -> Query:
    """A query by its number in the store."""
    return value_of(Query, connection.execute(_QUERY_BY_NUMBER, {"number": query}).one())


def list_queries(
    connection: Connection,
    project: int,
    *,
    after: int = 0,
    most: int | None = None,
    archived: bool = False,
) -> list[Query]:
    """Queries in the order in which they were added; archived ones only on request.

    Args:
        connection: of a store.
        project: which project.
        after: the number of the last one seen, to turn pages.
        most: how many; all by default.
        archived: list archived queries too.
    """
    statement = sa.select(queries).where(queries.c.project == project, queries.c.id > after)
    statement = statement if archived else statement.where(_NOT_ARCHIVED)
    rows = connection.execute(statement.order_by(queries.c.id).limit(most))
    return [value_of(Query, row) for row in rows]


def archived_ids(connection: Connection, project: int) -> set[str]:
    """The ids of queries that are archived."""
    statement = sa.select(queries.c.query_id).where(
        queries.c.project == project, sa.not_(_NOT_ARCHIVED)
    )
    return set(connection.scalars(statement))


def count_queries(connection: Connection, project: int) -> int:
    """Count the queries of a project, without archived ones."""
    is_active = sa.and_(queries.c.project == project, _NOT_ARCHIVED)
    return connection.scalar(sa.select(sa.func.count()).where(is_active)) or 0


def queries_table(connection: Connection, project: int) -> pl.DataFrame | None:
    """Queries that are not archived as a table of strings, tags as columns; None without any."""
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
    """Rows as a table of strings, without columns that hold nothing; None without rows."""
    if not rows:
        return None
    names = dict.fromkeys(name for row in rows for name in row)
    text_table = pl.DataFrame(
        {name: [row.get(name) for row in rows] for name in names},
        schema=dict.fromkeys(names, pl.String),
    )
    return text_table.select(
        name for name in names if name in ids or text_table[name].null_count() < len(text_table)
    )
