"""Addresses of stores, and connections to SQLite and PostgreSQL.

Addresses are URLs of SQLite and PostgreSQL, shown without passwords. The connections make every
acknowledged write durable.
"""

from __future__ import annotations

import os
import sqlite3
from functools import partial
from pathlib import Path
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeAlias

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.exc import DBAPIError, DisconnectionError, OperationalError

from rankgate.core.errors import InputError, RankgateError, UsageError, require

if TYPE_CHECKING:
    from sqlalchemy import URL, Engine
    from sqlalchemy.engine import Dialect


STORE_VARIABLE = "RANKGATE_STORE"
"""The environment variable that names the store."""

PRIVATE = 0o600
"""The permissions of the files of a store: only the owner can read them."""

_DRIVERS = {"sqlite": "sqlite", "postgresql": "postgresql+psycopg", "postgres": "postgresql+psycopg"}


def address(url: str | None) -> URL:
    """The address of a store.

    Args:
        url: ``sqlite:///x.db``, ``postgresql://user@host/name``, or the path of a SQLite file;
            None is the value of the environment variable.

    Raises:
        UsageError: there is no address, or it is not the address of a store.
    """
    location = url or os.environ.get(STORE_VARIABLE, "")
    if not location:
        raise UsageError(
            f"no store is named; give --store sqlite:///judging.db, or set {STORE_VARIABLE}.", code="no-store"
        )
    from sqlalchemy import URL, make_url
    from sqlalchemy.exc import ArgumentError

    if "://" not in location:
        return URL.create("sqlite", database=location)
    try:
        parsed_url = make_url(location)
    except (ArgumentError, ValueError):
        raise _address_error() from None
    kind = parsed_url.drivername.partition("+")[0]
    if kind not in _DRIVERS or (kind == "sqlite" and not _is_file(parsed_url.database)):
        raise _address_error()
    return parsed_url.set(drivername=_DRIVERS[kind])


def _is_file(database: str | None) -> bool:
    return bool(database) and database != ":memory:" and not str(database).startswith("file:")


def _address_error() -> UsageError:
    return UsageError(
        "this is not the address of a store; write sqlite:///judging.db or "
        "postgresql://USER@HOST/DATABASE.",  # the address itself may contain a password
        code="unknown-store",
    )


def display_address(url: URL) -> str:
    """The address without its password, for messages."""
    return url.set(query={}).render_as_string(hide_password=True).replace("+psycopg", "")


def file_of(url: URL) -> Path | None:
    """The file of a SQLite store; None for PostgreSQL."""
    return Path(str(url.database)) if url.drivername == "sqlite" else None


BUSY_MILLISECONDS = 20_000
"""The time in milliseconds that SQLite waits for another writing process."""

IDLE_SECONDS = 5.0
"""The seconds after which an idle PostgreSQL connection is tested."""

Connection: TypeAlias = sa.Connection
"""A connection inside a transaction, from `Store.read` or `Store.write`."""

WRITES = "rankgate_writes"
"""The execution option of write connections: SQLite takes its lock when they begin."""

_DAMAGE = {
    "malformed": ("damaged-store", "the database is damaged; restore it from a backup."),
    "not a database": ("not-a-store", "it is not a database of SQLite."),
}
"""SQLite's error messages about unreadable files, with the code and the problem for each."""

_PRAGMAS = (
    "journal_mode=WAL",
    "synchronous=FULL",
    "foreign_keys=ON",
    f"busy_timeout={BUSY_MILLISECONDS}",
    "cache_size=-65536",
)


def make_engine(url: URL) -> Engine:
    """Create a database engine for an address.

    Raises:
        MissingExtraError: the PostgreSQL driver is not installed.
    """
    if file_of(url) is None:
        require("a store in PostgreSQL needs psycopg", "psycopg")
        engine = sa.create_engine(url, pool_size=10, max_overflow=20)
        event.listen(engine, "checkin", _note_use)
        event.listen(engine, "checkout", partial(_check_alive, engine.dialect))
        return engine
    engine = sa.create_engine(
        url,
        connect_args={"check_same_thread": False, "timeout": BUSY_MILLISECONDS / 1e3},
        pool_use_lifo=True,  # a write empties the caches of all other connections
    )
    event.listen(engine, "connect", _prepare_sqlite)
    event.listen(engine, "begin", _begin)
    return engine


def _prepare_sqlite(connection: Any, record: object) -> None:  # noqa: ARG001 - the driver's own
    connection.isolation_level = None  # transactions begin explicitly
    for pragma in _PRAGMAS:
        connection.execute(f"PRAGMA {pragma}").close()


def _note_use(connection: Any, record: Any) -> None:  # noqa: ARG001 - as SQLAlchemy calls it
    record.info["used"] = monotonic()


def _check_alive(dialect: Dialect, connection: Any, record: Any, proxy: Any) -> None:  # noqa: ARG001
    """Test a connection that was not used recently; the pool replaces a dead connection."""
    if monotonic() - record.info.get("used", monotonic()) < IDLE_SECONDS:
        return
    try:
        dialect.do_ping(connection)
    except dialect.loaded_dbapi.Error as error:
        raise DisconnectionError from error


def _begin(connection: Connection) -> None:
    writes = connection.get_execution_options().get(WRITES)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def database_error(error: DBAPIError, url: URL) -> RankgateError:
    """Describe a database error in one sentence, without addresses or statements."""
    store_name = display_address(url)
    message = " ".join(str(error.orig).split())
    if isinstance(error.orig, sqlite3.Error):
        if "locked" in message or "busy" in message:
            problem = f"another process wrote for more than {BUSY_MILLISECONDS // 1000} s; try again."
            return UsageError(f"{store_name}: {problem}", code="store-locked")
        for sign, (code, problem) in _DAMAGE.items():
            if sign in message:
                return InputError(problem, source=store_name, code=code)
        if "readonly" in message or "unable to open" in message:
            return UsageError(f"{store_name}: cannot be opened: {message}.", code="cannot-write")
        if "disk is full" in message or "disk I/O" in message:
            return UsageError(f"{store_name}: cannot be written: {message}.", code="cannot-write")
    if isinstance(error, OperationalError):
        return UsageError(f"{store_name}: cannot connect: {message}.", code="cannot-connect")
    return UsageError(f"{store_name}: the database refused: {message}.", code="store-refused")
