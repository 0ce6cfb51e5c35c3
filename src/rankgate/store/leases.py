"""Leases: one of several processes does something, and another one when that has died."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import sqlalchemy as sa

from rankgate.store.rows import MAX_AHEAD, insert, now
from rankgate.store.tables.people import settings

if TYPE_CHECKING:
    from sqlalchemy import Connection

PREFIX = "lease:"
"""The prefix of lease names among the settings; leases are in no backup."""


def acquire(connection: Connection, name: str, owner: str, lease: timedelta) -> bool:
    """Take or keep a lease; False while another owner has it.

    Args:
        connection: of a store, to write.
        name: of what.
        owner: the process.
        lease: how long it stays with the owner without being kept.
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
