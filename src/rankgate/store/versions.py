"""Versions of the store's schema, and the way from each to the newest."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING

import sqlalchemy as sa
from alembic.operations import Operations
from alembic.runtime.migration import MigrationContext
from alembic.script import ScriptDirectory

from rankgate.core.errors import UsageError
from rankgate.store.address import shown
from rankgate.store.database import WRITES

if TYPE_CHECKING:
    from alembic.script.base import Script
    from sqlalchemy import Connection, Engine

_FOLDER = Path(__file__).parent / "migrations"
_LOCK = 7_202_611_221  # of PostgreSQL: one migration at a time


def scripts() -> tuple[Script, ...]:
    """Every migration, the oldest first."""
    found = ScriptDirectory(str(_FOLDER), version_locations=[str(_FOLDER)])
    return tuple(reversed(list(found.walk_revisions())))


def newest() -> str:
    """The version of a store that this program makes."""
    return scripts()[-1].revision


def version(connection: Connection) -> str | None:
    """The version of a store; None where there is none."""
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    found = connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()
    return None if found is None else str(found)


def refuse_others(connection: Connection, *, older: bool = False) -> None:
    """Check that a store is of this program's version.

    Args:
        connection: of the store.
        older: whether an older version will do, as for a backup.

    Raises:
        UsageError: there is no store; an older or newer one.
    """
    found = version(connection)
    place = shown(connection.engine.url)
    if found is None:
        problem = f"{place}: there is no store; make one with rankgate store init."
        raise UsageError(problem, code="no-store")
    known = [each.revision for each in scripts()]
    if found not in known:
        raise _newer(place, found)
    if found != known[-1] and not older:
        raise UsageError(
            f"{place}: the store is of version {found} and this program of {known[-1]}; run "
            "rankgate store backup, then rankgate store upgrade.",
            code="older-store",
        )


def _newer(place: str, found: str) -> UsageError:
    return UsageError(
        f"{place}: the store is of version {found}, which is newer than this program; install a "
        "newer rankgate.",
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
    for script in scripts():
        with engine.connect().execution_options(**{WRITES: True}) as one, one.begin():
            if build(one, script.revision):
                passed.append(script.revision)
                if first is not None:
                    first(one)
            first = None
    return tuple(passed)


def build(connection: Connection, to: str | None = None) -> bool:
    """Bring a store to a version, by default the newest, in the transaction of a connection.

    Returns:
        Whether anything was to be done.

    Raises:
        UsageError: a store of a newer version; no such version.
    """
    if connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
    every = scripts()
    known = [each.revision for each in every]
    found = version(connection)
    for each in (found, to):
        if each is not None and each not in known:
            raise _newer(shown(connection.engine.url), each)
    begin = 0 if found is None else known.index(found) + 1
    end = len(known) if to is None else known.index(to) + 1
    for script in every[begin:end]:
        context = MigrationContext.configure(connection, opts={"transactional_ddl": True})
        context._ensure_version_table()  # noqa: SLF001 - as alembic's own commands do
        with Operations.context(context):
            script.module.upgrade()
        connection.exec_driver_sql("DELETE FROM alembic_version")
        statement = sa.text("INSERT INTO alembic_version VALUES (:found)")
        connection.execute(statement, {"found": script.revision})
    return begin < end
