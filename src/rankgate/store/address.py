"""Addresses of stores: SQLite and PostgreSQL by URL, shown without passwords."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from rankgate.core.errors import UsageError

if TYPE_CHECKING:
    from sqlalchemy import URL

STORE_VARIABLE = "RANKGATE_STORE"
"""The environment variable that names the store."""

PRIVATE = 0o600
"""Permissions of the files of a store: only their owner reads them."""

_DRIVERS = {
    "sqlite": "sqlite",
    "postgresql": "postgresql+psycopg",
    "postgres": "postgresql+psycopg",
}


def address(url: str | None) -> URL:
    """The address of a store.

    Args:
        url: ``sqlite:///x.db``, ``postgresql://user@host/name``, or the path of a SQLite file;
            None is what the environment variable says.

    Raises:
        UsageError: none is given; one that is no store's.
    """
    location = url or os.environ.get(STORE_VARIABLE, "")
    if not location:
        raise UsageError(
            f"no store is named; give --store sqlite:///judging.db, or set {STORE_VARIABLE}.",
            code="no-store",
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
        "this is no address of a store; write sqlite:///judging.db or "
        "postgresql://USER@HOST/DATABASE.",  # the address itself may hold a password
        code="unknown-store",
    )


def display_address(url: URL) -> str:
    """The address for people, without a password."""
    return url.set(query={}).render_as_string(hide_password=True).replace("+psycopg", "")


def file_of(url: URL) -> Path | None:
    """The file of a SQLite store; None for PostgreSQL."""
    return Path(str(url.database)) if url.drivername == "sqlite" else None
