"""Connections to SQLite and PostgreSQL that keep what they acknowledge."""

from __future__ import annotations

import sqlite3
from functools import partial
from time import monotonic
from typing import TYPE_CHECKING, Any, TypeAlias

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.exc import DBAPIError, DisconnectionError, OperationalError

from rankgate.core.errors import InputError, RankgateError, UsageError
from rankgate.core.extras import require
from rankgate.store.address import file_of, shown

if TYPE_CHECKING:
    from sqlalchemy import URL, Engine
    from sqlalchemy.engine import Dialect

BUSY = 20_000
"""Milliseconds that SQLite waits for another process that writes."""

IDLE = 5.0
"""Seconds after which a connection to PostgreSQL is asked whether it still is one."""

Connection: TypeAlias = sa.Connection
"""A connection in a transaction, as `Store.read` and `Store.write` give it."""

WRITES = "rankgate_writes"
"""The execution option of connections that write: SQLite takes its lock when they begin."""

_DAMAGE = {
    "malformed": ("damaged-store", "the database is damaged; restore it from a backup."),
    "not a database": ("not-a-store", "it is not a database of SQLite."),
}
"""What SQLite says of a file that it cannot read: the code of the error, and what is wrong."""

_PRAGMAS = (
    "journal_mode=WAL",
    "synchronous=FULL",
    "foreign_keys=ON",
    f"busy_timeout={BUSY}",
    "cache_size=-65536",
)


def engine_of(url: URL) -> Engine:
    """An engine for an address.

    Raises:
        MissingExtraError: the driver of PostgreSQL is not installed.
    """
    if file_of(url) is None:
        require("a store in PostgreSQL needs psycopg", "psycopg")
        engine = sa.create_engine(url, pool_size=10, max_overflow=20)
        event.listen(engine, "checkin", _used)
        event.listen(engine, "checkout", partial(_answers, engine.dialect))
        return engine
    engine = sa.create_engine(url, connect_args={"check_same_thread": False, "timeout": BUSY / 1e3})
    event.listen(engine, "connect", _prepared)
    event.listen(engine, "begin", _begin)
    return engine


def _prepared(connection: Any, record: object) -> None:  # noqa: ARG001 - the driver's own
    connection.isolation_level = None  # transactions begin where we say so
    for pragma in _PRAGMAS:
        connection.execute(f"PRAGMA {pragma}").close()


def _used(connection: Any, record: Any) -> None:  # noqa: ARG001 - as SQLAlchemy calls it
    record.info["used"] = monotonic()


def _answers(dialect: Dialect, connection: Any, record: Any, taken: Any) -> None:  # noqa: ARG001
    """Ask a connection that was not used lately whether it still is one; else the next is taken."""
    if monotonic() - record.info.get("used", monotonic()) < IDLE:
        return
    try:
        dialect.do_ping(connection)
    except dialect.loaded_dbapi.Error as error:
        raise DisconnectionError from error


def _begin(connection: Connection) -> None:
    writes = connection.get_execution_options().get(WRITES)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")


def failure(error: DBAPIError, url: URL) -> RankgateError:
    """What is wrong with a database, in one sentence, without addresses or statements."""
    place = shown(url)
    words = " ".join(str(error.orig).split())
    if isinstance(error.orig, sqlite3.Error):
        if "locked" in words or "busy" in words:
            problem = f"another process wrote for more than {BUSY // 1000} s; try again."
            return UsageError(f"{place}: {problem}", code="store-locked")
        for sign, (code, problem) in _DAMAGE.items():
            if sign in words:
                return InputError(problem, source=place, code=code)
        if "readonly" in words or "unable to open" in words:
            return UsageError(f"{place}: cannot be opened: {words}.", code="cannot-write")
        if "disk is full" in words or "disk I/O" in words:
            return UsageError(f"{place}: cannot be written: {words}.", code="cannot-write")
    if isinstance(error, OperationalError):
        return UsageError(f"{place}: cannot connect: {words}.", code="cannot-connect")
    return UsageError(f"{place}: the database refused: {words}.", code="store-refused")
