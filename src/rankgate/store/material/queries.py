"""Queries: text, information need, frequency, and any other field as a tag."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

import polars as pl
import sqlalchemy as sa

from rankgate.core.frozen import dataclass
from rankgate.store.rows import PIECE, insert, unknown, value_of
from rankgate.store.tables.material import queries

if TYPE_CHECKING:
    from sqlalchemy import Connection

_BY_NUMBER = sa.select(queries).where(queries.c.id == sa.bindparam("number"))
_SHOWN = queries.c.archived_at.is_(None)
_OWN = ("query_id", "text", "information_need", "frequency")


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


def add(connection: Connection, project: int, table: pl.DataFrame) -> int:
    """Add queries, or give those that are there the fields of the table.

    Args:
        connection: of a store, to write.
        project: which project.
        table: ``query_id`` and any of text, information_need, frequency, and tags.

    Returns:
        How many rows there were.
    """
    rows = [_row(project, each) for each in table.iter_rows(named=True)]
    given = [name for name in _OWN[1:] if name in table.columns]
    for begin in range(0, len(rows), PIECE):
        made = insert(connection, queries)
        new: dict[str, Any] = {name: made.excluded[name] for name in given}
        if set(table.columns) - set(_OWN):
            new["tags"] = made.excluded["tags"]
        keys = ["project", "query_id"]
        statement = (
            made.on_conflict_do_update(index_elements=keys, set_=new)
            if new
            else made.on_conflict_do_nothing(index_elements=keys)
        )
        connection.execute(statement, rows[begin : begin + PIECE])
    return len(rows)


def _row(project: int, row: Mapping[str, Any]) -> dict[str, Any]:
    frequency = row.get("frequency")
    return {
        "project": project,
        "query_id": row["query_id"],
        "text": row.get("text"),
        "information_need": row.get("information_need"),
        "frequency": None if frequency is None else float(frequency),
        "tags": {k: v for k, v in row.items() if k not in _OWN and v is not None},
    }


def ensure(connection: Connection, project: int, ids: Iterable[str]) -> dict[str, int]:
    """The numbers of queries by id; those that are not there are added without a text."""
    wanted = list(dict.fromkeys(ids))
    add(connection, project, pl.DataFrame({"query_id": wanted}, schema={"query_id": pl.String}))
    chosen = sa.select(queries.c.query_id, queries.c.id).where(queries.c.project == project)
    found = {row.query_id: row.id for row in connection.execute(chosen)}
    return {each: found[each] for each in wanted}


def get(connection: Connection, project: int, query_id: str) -> Query:
    """A query by id.

    Raises:
        UsageError: there is none.
    """
    here = sa.and_(queries.c.project == project, queries.c.query_id == query_id)
    row = connection.execute(sa.select(queries).where(here)).first()
    if row is None:
        raise unknown("query", query_id)
    return value_of(Query, row)


def by_number(connection: Connection, query: int) -> Query:
    """A query by its number in the store."""
    return value_of(Query, connection.execute(_BY_NUMBER, {"number": query}).one())


def listed(
    connection: Connection, project: int, *, after: int = 0, most: int | None = None,
    archived: bool = False,
) -> list[Query]:  # fmt: skip
    """Queries in the order in which they were added; those that are archived only where wanted.

    Args:
        connection: of a store.
        project: which project.
        after: the number of the last one seen, to turn pages.
        most: how many; all by default.
        archived: whether those that are archived are listed too.
    """
    chosen = sa.select(queries).where(queries.c.project == project, queries.c.id > after)
    chosen = chosen if archived else chosen.where(_SHOWN)
    found = connection.execute(chosen.order_by(queries.c.id).limit(most))
    return [value_of(Query, row) for row in found]


def archived_ids(connection: Connection, project: int) -> set[str]:
    """The ids of queries that are archived."""
    chosen = sa.select(queries.c.query_id).where(queries.c.project == project, sa.not_(_SHOWN))
    return set(connection.scalars(chosen))


def count(connection: Connection, project: int) -> int:
    """How many queries a project has, without those that are archived."""
    here = sa.and_(queries.c.project == project, _SHOWN)
    return connection.scalar(sa.select(sa.func.count()).where(here)) or 0


def table(connection: Connection, project: int) -> pl.DataFrame | None:
    """Queries that are not archived as a table of strings, tags as columns; None without any."""
    rows = []
    for each in listed(connection, project):
        frequency = None if each.frequency is None else f"{each.frequency:g}"
        row = {"query_id": each.query_id, "text": each.text, "frequency": frequency,
               "information_need": each.information_need}  # fmt: skip
        rows.append(row | {name: str(value) for name, value in each.tags.items()})
    return strings(rows, ("query_id",))


def strings(rows: list[dict[str, str | None]], ids: tuple[str, ...]) -> pl.DataFrame | None:
    """Rows as a table of strings, without columns that hold nothing; None without rows."""
    if not rows:
        return None
    names = dict.fromkeys(name for row in rows for name in row)
    found = pl.DataFrame(
        {name: [row.get(name) for row in rows] for name in names},
        schema=dict.fromkeys(names, pl.String),
    )
    return found.select(
        name for name in names if name in ids or found[name].null_count() < len(found)
    )
