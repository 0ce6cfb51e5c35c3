"""The store: opened by URL, and read and written in transactions.

The module also has the versions of the store's schema, and the migrations to the newest version.
"""

from __future__ import annotations

import os
import stat
import threading
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import field
from functools import cache
from importlib import import_module
from pathlib import Path
from pkgutil import iter_modules
from typing import TYPE_CHECKING, Self

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.store import migrations
from rankgate.store.blobs.blob_folders import PRIVATE_FOLDER, Blobs, Folder, open_blobs
from rankgate.store.database import (
    PRIVATE,
    WRITES,
    address,
    database_error,
    display_address,
    file_of,
    make_engine,
)
from rankgate.store.tables.people_tables import settings

if TYPE_CHECKING:
    from sqlalchemy import URL, Connection, Engine


_LOCK = 7_202_611_221  # the PostgreSQL lock for one migration at a time


@cache
def list_migrations() -> dict[str, str]:
    """The module of every migration by the version that it makes, the oldest first."""
    names = sorted(module.name for module in iter_modules(migrations.__path__))
    return {name[1:].partition("_")[0]: f"{migrations.__name__}.{name}" for name in names}


def newest_version() -> str:
    """The store version that this program creates."""
    return max(list_migrations())


def version(connection: Connection) -> str | None:
    """The version of a store, or None."""
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    revision = connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalar()
    return None if revision is None else str(revision)


def check_version(connection: Connection, *, older: bool = False) -> None:
    """Check that a store has this program's version.

    Args:
        connection: a connection to the store.
        older: accept an older version, as for a backup.

    Raises:
        UsageError: there is no store, or its version is older or newer.
    """
    current = version(connection)
    store_name = display_address(connection.engine.url)
    if current is None:
        problem = f"{store_name}: the store does not exist; create it with rankgate store init."
        raise UsageError(problem, code="no-store")
    if current not in list_migrations():
        raise _unknown_version_error(store_name, current)
    if current != newest_version() and not older:
        raise UsageError(
            f"{store_name}: the store is of version {current} and this program of {newest_version()}; run "
            f"rankgate store backup, then rankgate store upgrade.",
            code="older-store",
        )


def _unknown_version_error(store_name: str, current: str) -> UsageError:
    if current < min(list_migrations()):
        return UsageError(
            f"{store_name}: the store is of version {current}, from before the first release, which this "
            "program cannot read; create a new store with rankgate store init.",
            code="older-store",
        )
    return UsageError(
        f"{store_name}: the store is of version {current}, which is newer than this program; install a newer "
        "rankgate.",
        code="newer-store",
    )


def upgrade(engine: Engine, first: Callable[[Connection], None] | None = None) -> tuple[str, ...]:
    """Migrate a store to the newest version, each migration in its own transaction.

    Args:
        engine: the engine of the store; an empty database becomes a store.
        first: a function called after the first migration, in the same transaction.

    Returns:
        The versions of the completed migrations.

    Raises:
        UsageError: the store has a newer version.
    """
    passed: list[str] = []
    for revision in list_migrations():
        with engine.connect().execution_options(**{WRITES: True}) as connection, connection.begin():
            if migrate(connection, revision):
                passed.append(revision)
                if first is not None:
                    first(connection)
            first = None
    return tuple(passed)


def migrate(connection: Connection, target: str | None = None) -> bool:
    """Migrate a store to a version, by default the newest, in an open transaction.

    Returns:
        True if any migration ran.

    Raises:
        UsageError: the store has a version without a migration; so has the requested version.
    """
    from alembic.operations import Operations  # slow to import, and few processes migrate
    from alembic.runtime.migration import MigrationContext

    if connection.dialect.name == "postgresql":
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_LOCK)))
    modules = list_migrations()
    revisions = list(modules)
    current = version(connection)
    for revision in (current, target):
        if revision is not None and revision not in modules:
            raise _unknown_version_error(display_address(connection.engine.url), revision)
    begin = 0 if current is None else revisions.index(current) + 1
    end = len(revisions) if target is None else revisions.index(target) + 1
    for new_revision in revisions[begin:end]:
        context = MigrationContext.configure(connection, opts={"transactional_ddl": True})
        context._ensure_version_table()  # noqa: SLF001 - as alembic's own commands do
        with Operations.context(context):
            import_module(modules[new_revision]).upgrade()
        connection.exec_driver_sql("DELETE FROM alembic_version")
        statement = sa.text("INSERT INTO alembic_version VALUES (:found)")
        connection.execute(statement, {"found": new_revision})
    return begin < end


_BLOBS = "blobs"
_OTHERS_MODE = 0o077


@dataclass(frozen=True)
class Store:
    """An open store.

    Attributes:
        engine: the engine of the database.
        blobs: the blobs with rows of runs and judgments.
        writing: the lock that lets one thread at a time write to SQLite.
    """

    engine: Engine
    blobs: Blobs
    writing: threading.Lock | None = field(repr=False)

    @classmethod
    def open(cls, url: str | None = None, *, older: bool = False) -> Self:
        """Open a store with this program's version.

        Args:
            url: its address; None is the value of ``RANKGATE_STORE``.
            older: accept an older version, as for a backup before it is upgraded.

        Raises:
            UsageError: there is no store, it has another version, or it cannot be reached.
            InputError: the file is not a store.
        """
        store_url = address(url)
        file = file_of(store_url)
        if file is not None and not file.is_file():
            problem = (
                f"{display_address(store_url)}: the store does not exist; create it with rankgate store init."
            )
            raise UsageError(problem, code="no-store")
        if file is not None:
            for suffix in ("", "-wal", "-shm"):
                _make_private(file.with_name(f"{file.name}{suffix}"), PRIVATE)
        engine = make_engine(store_url)
        try:
            with database_errors(store_url), engine.connect() as connection:
                check_version(connection, older=older)
                blobs_location = connection.scalar(
                    sa.select(settings.c.value).where(settings.c.name == _BLOBS)
                )
        except BaseException:
            engine.dispose()
            raise
        blobs_place = open_blobs(str(blobs_location), store_url)
        if file is not None and isinstance(blobs_place, Folder):
            _make_private(blobs_place.folder, PRIVATE_FOLDER)
        return cls(engine, blobs_place, None if file is None else threading.Lock())

    @classmethod
    def create(cls, url: str | None = None, blobs: str | None = None) -> Self:
        """Create a store where no store exists, and open it.

        Args:
            url: its address.
            blobs: the folder, or the fsspec URL, of runs and judgments; by default a folder next
                to the file of SQLite. PostgreSQL needs one.

        Raises:
            UsageError: a store exists already; the store cannot be created; PostgreSQL has no
                location for blobs.
        """
        store_url = address(url)
        refuse_missing_place(store_url, blobs)
        with _new_file(file_of(store_url)):
            engine = make_engine(store_url)
            try:
                with database_errors(store_url):
                    passed_versions = upgrade(
                        engine, first=lambda connection: _save_blobs_location(connection, blobs or "")
                    )
            finally:
                engine.dispose()
        if not passed_versions:
            problem = f"{display_address(store_url)}: there is a store already; name another place."
            raise UsageError(problem, code="store-exists")
        return cls.open(url)

    @property
    def url(self) -> URL:
        """The address of the store, including its password."""
        return self.engine.url

    @property
    def name(self) -> str:
        """The address of the store for messages."""
        return display_address(self.url)

    @contextmanager
    def read(self, *, once: bool = False) -> Iterator[Connection]:
        """A transaction that reads one state of the store.

        Args:
            once: True for a single statement, which reads one state by itself.

        Raises:
            UsageError: the database cannot be reached.
        """
        with database_errors(self.url), self.engine.connect() as connection:
            if self.writing is None:
                level = "AUTOCOMMIT" if once else "REPEATABLE READ"
                connection.execution_options(isolation_level=level)
            with connection.begin():
                yield connection

    @contextmanager
    def write(self) -> Iterator[Connection]:
        """A write transaction: committed when the block ends, or rolled back.

        Raises:
            UsageError: the database cannot be reached or written.
        """
        with ExitStack() as stack:
            stack.enter_context(database_errors(self.url))
            if self.writing is not None:
                stack.enter_context(self.writing)
            connection = stack.enter_context(self.engine.connect())
            connection.execution_options(**{WRITES: True})
            stack.enter_context(connection.begin())
            yield connection

    @contextmanager
    def trial(self) -> Iterator[Connection]:
        """A write transaction that is rolled back at its end, to preview the changes.

        Raises:
            UsageError: the database cannot be reached or written.
        """
        with self.write() as connection, connection.begin_nested() as point:
            yield connection
            point.rollback()

    def close(self) -> None:
        """Close all connections."""
        self.engine.dispose()

    def __reduce__(self) -> tuple[object, tuple[str]]:
        """Reopen the store in another process, for pickle."""
        return type(self).open, (self.url.render_as_string(hide_password=False),)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self.close()


def _make_private(path: Path, mode: int) -> None:
    """Make files of older versions private to their owner; other users leave them unchanged."""
    with suppress(OSError):  # the file does not exist
        status = path.stat()
        if stat.S_IMODE(status.st_mode) & _OTHERS_MODE and status.st_uid == os.geteuid():
            path.chmod(mode)


@contextmanager
def _new_file(file: Path | None) -> Iterator[None]:
    """A private SQLite file; it is deleted if it cannot become a store.

    Files that SQLite makes next to it have the same permissions.
    """
    if file is None or file.exists():
        yield
        return
    try:
        os.close(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, PRIVATE))
    except OSError as error:
        problem = f"{file}: cannot be made: {error.strerror}."
        raise UsageError(problem, code="cannot-write") from None
    try:
        yield
    except BaseException:
        for suffix in ("", "-wal", "-shm", "-journal"):
            file.with_name(f"{file.name}{suffix}").unlink(missing_ok=True)
        raise


def _save_blobs_location(connection: Connection, blobs: str) -> None:
    connection.execute(sa.insert(settings).values(name=_BLOBS, value=blobs))


def refuse_missing_place(store_url: URL, blobs: str | None) -> None:
    """Check that a new store has a location, and a location for its blobs.

    Raises:
        UsageError: a location is missing.
    """
    file = file_of(store_url)
    if file is None and not blobs:
        raise UsageError(
            "a store in PostgreSQL needs a place for runs and judgments; give --blobs FOLDER, or a URL such "
            "as s3://bucket/folder.",
            code="missing-input",
        )
    if file is not None and not file.parent.is_dir():
        problem = f"{file}: there is no folder {file.parent}; create it first."
        raise UsageError(problem, code="cannot-write")


@contextmanager
def database_errors(url: URL) -> Iterator[None]:
    """Turn database errors into errors of rankgate."""
    try:
        yield
    except DBAPIError as error:
        raise database_error(error, url) from error
