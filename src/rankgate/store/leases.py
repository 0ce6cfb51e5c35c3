"""Leases: one of several processes does something, and another one when that has died."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

import sqlalchemy as sa

from rankgate.store.rows import AHEAD, insert, now
from rankgate.store.tables.people import settings

if TYPE_CHECKING:
    from sqlalchemy import Connection

PREFIX = "lease:"
"""How the names of leases begin among the settings; they are in no backup."""


def hold(connection: Connection, name: str, owner: str, lease: timedelta) -> bool:
    """Take or keep a lease; False while another owner has it.

    Args:
        connection: of a store, to write.
        name: of what.
        owner: the process.
        lease: how long it stays with the owner without being kept.
    """
    key, moment = PREFIX + name, now()
    mine = f"{(moment + lease).isoformat()} {owner}"
    made = insert(connection, settings).values(name=key, value="").on_conflict_do_nothing()
    connection.execute(made)
    free = sa.or_(
        settings.c.value < moment.isoformat(),
        settings.c.value > (moment + AHEAD).isoformat(),
        settings.c.value.endswith(f" {owner}"),
    )
    here = sa.update(settings).where(settings.c.name == key, free).values(value=mine)
    return bool(connection.execute(here).rowcount)


def release(connection: Connection, name: str, owner: str) -> None:
    """Give a lease back."""
    here = sa.and_(settings.c.name == PREFIX + name, settings.c.value.endswith(f" {owner}"))
    connection.execute(sa.update(settings).where(here).values(value=""))
