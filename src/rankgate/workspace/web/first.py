"""The first start: a new store if there is none, and the link that makes its admin."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from rankgate.store.people import invitations, users
from rankgate.store.store import Store

if TYPE_CHECKING:
    from sqlalchemy import Connection


def open_or_create_store(url: str | None) -> Store:
    """The store; a file of SQLite that is not there is made.

    Raises:
        UsageError: it cannot be opened.
    """
    from rankgate.store.address import address, file_of

    path = file_of(address(url))
    if path is not None and not path.exists():
        return Store.create(url)
    return Store.open(url)


def first_link(store: Store) -> str | None:
    """The path of the link that makes the admin; None where there is one."""
    with store.write() as connection:
        secret = _invite_first_admin(connection)
    return None if secret is None else f"/invitations/{secret}"


def has_admin(store: Store) -> bool:
    """True if a user of the store is its admin."""
    with store.read() as connection:
        return any(user.admin for user in users.list_users(connection))


def _invite_first_admin(connection: Connection) -> str | None:
    """The secret of a link that makes the admin of a store without users; None if it has one.

    Links of earlier starts end.
    """
    if any(user.admin for user in users.list_users(connection)):
        return None
    for invitation in invitations.list_open(connection):
        if invitation.admin:
            invitations.revoke(connection, invitation.id)
    return invitations.invite(connection, admin=True, lifetime=timedelta(days=1))[1]
