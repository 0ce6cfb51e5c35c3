"""The first start: a store where there is none, and the link that makes its admin."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from rankgate.store.people import invitations, users
from rankgate.store.store import Store

if TYPE_CHECKING:
    from sqlalchemy import Connection


def opened(url: str | None) -> Store:
    """The store; a file of SQLite that is not there is made.

    Raises:
        UsageError: it cannot be opened.
    """
    from rankgate.store.address import address, file_of

    place = file_of(address(url))
    if place is not None and not place.exists():
        return Store.create(url)
    return Store.open(url)


def first_link(store: Store) -> str | None:
    """The path of the link that makes the admin; None where there is one."""
    with store.write() as connection:
        secret = _first_admin(connection)
    return None if secret is None else f"/invitations/{secret}"


def has_admin(store: Store) -> bool:
    """True if a user of the store is its admin."""
    with store.read() as connection:
        return any(user.admin for user in users.listed(connection))


def _first_admin(connection: Connection) -> str | None:
    """The secret of a link that makes the admin of a store without users; None if it has one.

    Links of earlier starts end.
    """
    if any(each.admin for each in users.listed(connection)):
        return None
    for each in invitations.waiting(connection):
        if each.admin:
            invitations.revoke(connection, each.id)
    return invitations.invite(connection, admin=True, lifetime=timedelta(days=1))[1]
