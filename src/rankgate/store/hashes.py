"""A hash of every table, the same for the same rows in SQLite and PostgreSQL."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping
from datetime import date
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from rankgate.core.frozen import dataclass
from rankgate.store.leases import PREFIX
from rankgate.store.rows import CHUNK_ROWS

if TYPE_CHECKING:
    from sqlalchemy import Connection, Table

    from rankgate.store.store import Store

EXCLUDED_TABLES = ("alembic_version", "sessions", "sign_ins")
"""Tables that backups leave out, so that a stolen backup signs nobody in."""


@dataclass(frozen=True)
class TableHash:
    """The content of a table.

    Attributes:
        rows: how many.
        sha256: of the rows as JSON lines in the order of the primary key, keys sorted.
    """

    rows: int
    sha256: str


class RowHasher:
    """Compute the hash of a table from its rows, one after the other."""

    def __init__(self) -> None:
        self._count, self._digest = 0, hashlib.sha256()

    def add(self, values: Mapping[str, Any]) -> None:
        """Add the next row, as `rows_of` gives it."""
        self._count += 1
        text = json.dumps(_normalize_numbers(values), sort_keys=True, ensure_ascii=False)
        self._digest.update(text.encode() + b"\n")

    def result(self) -> TableHash:
        """The hash of the rows so far."""
        return TableHash(self._count, self._digest.hexdigest())


def hashes(store: Store) -> dict[str, TableHash]:
    """The hash of each table of one state of a store, by name; blobs are named by their hashes.

    Raises:
        UsageError: the database cannot be reached.
    """
    with store.read() as connection:
        return table_hashes(connection)


def table_hashes(connection: Connection) -> dict[str, TableHash]:
    """The hash of each table that a backup has."""
    hash_of_table = {}
    for table in tables_of(connection):
        hasher = RowHasher()
        for values in rows_of(connection, table):
            hasher.add(values)
        hash_of_table[table.name] = hasher.result()
    return hash_of_table


def tables_of(connection: Connection) -> list[Table]:
    """Every table of a backup; tables that others refer to come first."""
    metadata = sa.MetaData()
    metadata.reflect(connection)
    return [table for table in metadata.sorted_tables if table.name not in EXCLUDED_TABLES]


def rows_of(connection: Connection, table: Table) -> Iterator[dict[str, Any]]:
    """The rows of a table as JSON can hold them, in the order of the primary key.

    The place of the blobs is left empty, as each store has another one; leases of processes are
    left out.
    """
    statement = sa.select(table).order_by(*table.primary_key.columns)
    rows = connection.execute(statement, execution_options={"yield_per": CHUNK_ROWS})
    for row in rows:
        values = {name: _json_value(value) for name, value in row._mapping.items()}  # noqa: SLF001 - public there
        if table.name == "settings":
            if values["name"].startswith(PREFIX):
                continue
            if values["name"] == "blobs":
                values["value"] = ""
        yield values


def _json_value(value: Any) -> Any:
    return value.isoformat() if isinstance(value, date) else value


def _normalize_numbers(value: Any) -> Any:
    """A value with 2.0 as 2: PostgreSQL keeps numbers in JSON by value, not as written."""
    if isinstance(value, Mapping):
        return {key: _normalize_numbers(child) for key, child in value.items()}
    if isinstance(value, list | tuple):
        return [_normalize_numbers(child) for child in value]
    return int(value) if isinstance(value, float) and value.is_integer() else value
