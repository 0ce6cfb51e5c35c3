"""Rows as frozen values or tables, inserts for both databases, and leases.

The inserts work in both databases. A lease lets only one of several processes do some work, and
lets another process continue if the first has died.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, TypeVar

import polars as pl
import sqlalchemy as sa
from sqlalchemy.dialects import postgresql, sqlite

from rankgate.core.errors import UsageError
from rankgate.store.tables.people_tables import settings

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from sqlalchemy import Connection, Row, Table

    from rankgate.core.value_types import JsonObject, Schema


T = TypeVar("T")

MAX_AHEAD = timedelta(hours=1)
"""A lease or wait that ends later than this was written before the clock was put back."""

CHUNK_ROWS = 5_000
"""The number of rows written by one call."""

_READ_ROWS = 500
"""The number of rows held as Python objects while a table is read.

Fewer than the 700 new objects at which the garbage collector runs, which would take longer than the
reading.
"""


def value_fields(kind: Any) -> tuple[str, ...]:
    """The field names of a frozen dataclass, in order."""
    field_names: tuple[str, ...] = kind.__match_args__  # faster than dataclasses.fields
    return field_names


def columns_of(kind: type, table: Table) -> list[sa.Column[Any]]:
    """The columns of a table that match the fields of a frozen dataclass, in field order."""
    return [table.c[name] for name in value_fields(kind)]


def value_of(kind: type[T], row: Row[Any] | JsonObject) -> T:
    """A frozen value with the fields of a row."""
    columns: Any = row if isinstance(row, Mapping) else row._mapping  # noqa: SLF001 - public there
    return kind(*(columns[name] for name in value_fields(kind)))


def chunks_of(rows: Sequence[T]) -> Iterator[Sequence[T]]:
    """The rows in chunks, so that a statement has a bounded size."""
    return (rows[begin : begin + CHUNK_ROWS] for begin in range(0, len(rows), CHUNK_ROWS))


def list_values(
    connection: Connection, kind: type[T], statement: sa.Executable, parameters: JsonObject | None = None
) -> list[T]:
    """The rows of a statement as frozen values."""
    return [value_of(kind, row) for row in connection.execute(statement, parameters)]


def find_value(connection: Connection, kind: type[T], statement: sa.Executable) -> T | None:
    """The first row of a statement as a frozen value; None if there is no row."""
    row = connection.execute(statement).first()
    return None if row is None else value_of(kind, row)


def find_by_name(connection: Connection, kind: type[T], table: Table, project: int, name: str) -> T | None:
    """The row of a project with this name, or None."""
    is_named = sa.and_(table.c.project == project, table.c.name == name)
    return find_value(connection, kind, sa.select(table).where(is_named))


def get_by_number(connection: Connection, kind: type[T], table: Table, number: int, noun: str) -> T:
    """The row of a table with this number.

    Raises:
        UsageError: no row has this number.
    """
    row = connection.execute(sa.select(table).where(table.c.id == number)).first()
    if row is None:
        raise unknown_error(noun, number)
    return value_of(kind, row)


def list_rows(
    connection: Connection, kind: type[T], table: Table, project: int, *, archived: bool = True
) -> list[T]:
    """The rows of a project, the oldest first; archived rows only on request."""
    statement = sa.select(table).where(table.c.project == project).order_by(table.c.id)
    if not archived:
        statement = statement.where(table.c.archived_at.is_(None))
    return list_values(connection, kind, statement)


MOMENT = pl.Datetime("us", "UTC")
"""The type of timestamps in tables."""


def read_table(connection: Connection, statement: sa.Executable, schema: Schema) -> pl.DataFrame:
    """The result of a statement as a table, read column by column.

    Args:
        connection: a connection to a store.
        statement: its columns are those of the table, in order.
        schema: the names and types; timestamps are `MOMENT`.
    """
    # use the driver's rows, as SQLAlchemy's rows are slower; SQLite returns dates as text and
    # booleans as numbers
    is_sqlite = connection.dialect.name == "sqlite"
    types = {
        name: (_SQLITE_TYPES if is_sqlite else _POSTGRESQL_TYPES).get(dtype, dtype)
        for name, dtype in schema.items()
    }
    pieces = [pl.DataFrame(schema=types)]
    cursor = connection.execute(statement).cursor
    while cursor is not None and (rows := cursor.fetchmany(_READ_ROWS)):
        named_values = zip(types.items(), zip(*rows, strict=True), strict=True)
        pieces.append(
            pl.DataFrame([pl.Series(name, values, dtype) for (name, dtype), values in named_values])
        )
    table = pl.concat(pieces, rechunk=True)
    moments = [pl.col(name) for name, dtype in schema.items() if dtype == MOMENT]
    dates = []
    if is_sqlite:
        moments = [moment.str.to_datetime(_MOMENT_FORMAT, time_unit="us") for moment in moments]
        dates = [pl.col(name).str.to_date() for name, dtype in schema.items() if dtype == pl.Date]
    return table.with_columns(*dates, *(moment.dt.replace_time_zone("UTC") for moment in moments)).cast(
        pl.Schema(schema)
    )


_SQLITE_TYPES: Mapping[Any, Any] = {MOMENT: pl.String, pl.Date: pl.String, pl.Boolean: pl.Int8}
_POSTGRESQL_TYPES: Mapping[Any, Any] = {MOMENT: pl.Datetime("us")}
"""The column types returned by the drivers, if they differ."""

_MOMENT_FORMAT = "%Y-%m-%d %H:%M:%S%.6f"
"""The format in which SQLAlchemy writes timestamps into SQLite."""


def insert_table(connection: Connection, table: Table, rows: pl.DataFrame) -> None:
    """Insert rows, except those that a unique constraint refuses.

    Args:
        connection: a connection to a store, for writing.
        table: the table of the store.
        rows: columns of the table; timestamps are `MOMENT`.
    """
    # the driver gets the values, as SQLAlchemy's conversions take longer than the insert
    statement = insert(connection, table).on_conflict_do_nothing()
    compiled: Any = statement.compile(dialect=connection.dialect, column_keys=rows.columns)
    is_sqlite = connection.dialect.name == "sqlite"
    moments = [pl.col(name).dt for name, dtype in rows.schema.items() if dtype == MOMENT]
    driver_rows = rows.with_columns(
        moment.strftime(_MOMENT_FORMAT) if is_sqlite else moment.replace_time_zone(None) for moment in moments
    )
    for chunk in driver_rows.iter_slices(CHUNK_ROWS):
        values: Any = chunk.select(compiled.positiontup).rows() if is_sqlite else chunk.rows(named=True)
        connection.exec_driver_sql(str(compiled), values)


def insert(connection: Connection, table: Table) -> postgresql.Insert | sqlite.Insert:
    """An insert statement that can handle conflicts (``on_conflict_do_nothing``)."""
    return insert_of(connection.dialect.name, table)


def insert_of(dialect: str, table: Table) -> postgresql.Insert | sqlite.Insert:
    """An insert statement in a dialect, for statements that are built once."""
    dialect_insert = postgresql.insert if dialect == "postgresql" else sqlite.insert
    return dialect_insert(table)


def new_id(connection: Connection, table: Table, **values: object) -> int:
    """Insert one row; return its number."""
    number = connection.execute(table.insert().returning(table.c.id), values).scalar_one()
    return int(number)


def last_number(table: Table, project: int) -> sa.Select[Any]:
    """The last number of a project's rows in a table, null without rows."""
    return sa.select(sa.func.max(table.c.id)).where(table.c.project == project)


def update_row(connection: Connection, table: Table, number: int, **values: object) -> None:
    """Change columns of the row with this number."""
    connection.execute(sa.update(table).where(table.c.id == number).values(**values))


def count_rows(connection: Connection, *conditions: sa.ColumnElement[bool]) -> int:
    """The number of rows that meet all conditions."""
    return connection.scalar(sa.select(sa.func.count()).where(*conditions)) or 0


def now() -> datetime:
    """The current time in UTC."""
    return datetime.now(UTC)


def has_ended(
    column: sa.ColumnElement[Any], moment: datetime, longest: timedelta = MAX_AHEAD
) -> sa.ColumnElement[bool]:
    """True if a lease or a wait has ended, or ends too late because the clock was put back.

    Args:
        column: the column with the end.
        moment: the current time.
        longest: the longest possible duration.
    """
    return sa.or_(column <= moment, column > moment + longest)


_PAGE_SUFFIXES = (".json", ".csv")


def addressable(name: str) -> str:
    """A name as the address of a page can contain it, without characters of special meaning.

    >>> [addressable(name) for name in ("beir/scifact", "..", "a.json", "gold v2")]
    ['beir-scifact', '--', 'a-json', 'gold v2']
    """
    name = "".join("-" if sign in "/\\" or not sign.isprintable() else sign for sign in name)
    if not name.strip(". "):
        return "-" * max(1, len(name))
    stem, dot, suffix = name.rpartition(".")
    return f"{stem}-{suffix}" if f"{dot}{suffix}".lower() in _PAGE_SUFFIXES else name


def refuse_unaddressable(noun: str, name: str) -> None:
    """Check that a name can be in the address of a page.

    Raises:
        UsageError: the name cannot be in an address.
    """
    if addressable(name) != name:
        raise UsageError(
            f"{name!r} cannot be the name of {noun}, as it is in addresses of pages; use a name without "
            "slashes that does not end with .json or .csv.",
            code="invalid-name",
        )


def unknown_error(noun: str, name: object) -> UsageError:
    """The error for a name or number that the store does not have."""
    return UsageError(f"there is no {noun} {name!r} in the store.", code=f"unknown-{noun}")


def taken_error(noun: str, name: object) -> UsageError:
    """The error for a name that is taken already."""
    return UsageError(f"there is a {noun} {name!r} already; choose another name.", code="name-taken")


PREFIX = "lease:"
"""The prefix of lease names among the settings; backups leave leases out."""


def acquire(connection: Connection, name: str, owner: str, lease: timedelta) -> bool:
    """Take or renew a lease; False while another owner has it.

    Args:
        connection: a connection to a store, for writing.
        name: the name of the object.
        owner: the process.
        lease: the duration of the owner's lease.
    """
    key, moment = PREFIX + name, now()
    lease_value = f"{(moment + lease).isoformat()} {owner}"
    statement = insert(connection, settings).values(name=key, value="").on_conflict_do_nothing()
    connection.execute(statement)
    is_free = sa.or_(
        settings.c.value < moment.isoformat(),
        settings.c.value > (moment + MAX_AHEAD).isoformat(),
        settings.c.value.endswith(f" {owner}"),
    )
    update = sa.update(settings).where(settings.c.name == key, is_free).values(value=lease_value)
    return bool(connection.execute(update).rowcount)


def release(connection: Connection, name: str, owner: str) -> None:
    """Release a lease."""
    is_held = sa.and_(settings.c.name == PREFIX + name, settings.c.value.endswith(f" {owner}"))
    connection.execute(sa.update(settings).where(is_held).values(value=""))
