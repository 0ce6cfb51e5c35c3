"""Versions of the store's schema, and the migrations to the newest."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import sqlalchemy as sa
from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

from rankgate.core.errors import UsageError
from rankgate.store.address import display_address
from rankgate.store.database import WRITES

if TYPE_CHECKING:
    from alembic.script.base import Script
    from sqlalchemy import Connection, Engine

_FOLDER = Path(__file__).parent / "migrations"
_LOCK = 7_202_611_221  # of PostgreSQL: one migration at a time


def list_migrations() -> tuple[Script, ...]:
    """Every migration, the oldest first."""
    script_directory = ScriptDirectory(str(_FOLDER), version_locations=[str(_FOLDER)])
    return tuple(reversed(list(script_directory.walk_revisions())))


def newest_version() -> str:
    """The version of a store that this program makes."""
    return list_migrations()[-1].revision


def version(connection: Connection) -> str | None:
    """The version of a store; None where there is none."""
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    revision = connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()
    return None if revision is None else str(revision)


def check_version(connection: Connection, *, older: bool = False) -> None:
    """Check that a store is of this program's version.

    Args:
        connection: of the store.
        older: accept an older version, as for a backup.

    Raises:
        UsageError: there is no store; an older or newer one.
    """
    current = version(connection)
    store_name = display_address(connection.engine.url)
    if current is None:
        problem = f"{store_name}: there is no store; make one with rankgate store init."
        raise UsageError(problem, code="no-store")
    revisions = [script.revision for script in list_migrations()]
    if current not in revisions:
        raise _newer_error(store_name, current)
    if current != revisions[-1] and not older:
        raise UsageError(
            f"{store_name}: the store is of version {current} and this program of "
            f"{revisions[-1]}; run rankgate store backup, then rankgate store upgrade.",
            code="older-store",
        )


def _newer_error(store_name: str, current: str) -> UsageError:
    return UsageError(
        f"{store_name}: the store is of version {current}, which is newer than this program; "
        "install a newer rankgate.",
        code="newer-store",
    )


def upgrade(engine: Engine, first: Callable[[Connection], None] | None = None) -> tuple[str, ...]:
    """Bring a store to the newest version, each migration in a transaction.

    Args:
        engine: of the store; an empty database becomes a store.
        first: done in the transaction of the first migration, after it.

    Returns:
        The versions that were passed.

    Raises:
        UsageError: a store of a newer version.
    """
    passed: list[str] = []
    for script in list_migrations():
        with engine.connect().execution_options(**{WRITES: True}) as connection, connection.begin():
            if migrate(connection, script.revision):
                passed.append(script.revision)
                if first is not None:
                    first(connection)
            first = None
    return tuple(passed)


def migrate(connection: Connection, target: str | None = None) -> bool:
    """Bring a store to a version, by default the newest, in the transaction of a connection.

    Returns:
        True if any migration ran.

    Raises:
        UsageError: a store of a newer version; no such version.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
    migrations = list_migrations()
    revisions = [script.revision for script in migrations]
    current = version(connection)
    for revision in (current, target):
        if revision is not None and revision not in revisions:
            raise _newer_error(display_address(connection.engine.url), revision)
    begin = 0 if current is None else revisions.index(current) + 1
    end = len(revisions) if target is None else revisions.index(target) + 1
    for script in migrations[begin:end]:
        context = MigrationContext.configure(connection, opts={"transactional_ddl": True})
        context._ensure_version_table()  # noqa: SLF001 - as alembic's own commands do
        with Operations.context(context):
            script.module.upgrade()
        connection.exec_driver_sql("DELETE FROM alembic_version")
        statement = sa.text("INSERT INTO alembic_version VALUES (:found)")
        connection.execute(statement, {"found": script.revision})
    return begin < end
