"""Invitations: links that let a person become a user once."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import sqlalchemy as sa

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.store.people import users as people
from rankgate.store.people.sign_in import new_secret, secret_hash
from rankgate.store.rows import find_value, list_values, new_id, now, update_row, value_of
from rankgate.store.tables.people_tables import ROLES, invitations

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgate.store.people.users import User

LIFETIME = timedelta(days=7)


@dataclass(frozen=True)
class Invitation:
    """An unused invitation link.

    Attributes:
        id: the number.
        project, role: the project and the role in it; None if the user gets no role.
        admin: True if the user becomes an admin of the store.
        name: the user's name; if empty, the user chooses it.
        created_by: the user who sends the invitation.
        created_at, expires_at, used_at: the times of creation, expiry and use.
    """

    id: int
    project: int | None
    role: str | None
    admin: bool
    name: str
    created_by: int | None
    created_at: datetime
    expires_at: datetime
    used_at: datetime | None


def invite(
    connection: Connection,
    *,
    project: int | None = None,
    role: str | None = None,
    admin: bool = False,
    name: str = "",
    created_by: int | None = None,
    lifetime: timedelta = LIFETIME,
) -> tuple[Invitation, str]:
    """Create an invitation.

    Returns:
        The invitation, and the secret of its link, which is not stored.

    Raises:
        UsageError: a role has no project, or does not exist.
    """
    if (project is None) != (role is None) or (role is not None and role not in ROLES):
        problem = f"name a project and a role in it: {', '.join(ROLES)}."
        raise UsageError(problem, code="unknown-role")
    secret, moment = new_secret("rgi"), now()
    number = new_id(
        connection,
        invitations,
        secret_hash=secret_hash(secret),
        project=project,
        role=role,
        admin=admin,
        name=name.strip().lower(),
        created_by=created_by,
        created_at=moment,
        expires_at=moment + lifetime,
    )
    row = connection.execute(sa.select(invitations).where(invitations.c.id == number)).one()
    return value_of(Invitation, row), secret


def find(connection: Connection, secret: str) -> Invitation | None:
    """The invitation of a link; None if it was used, revoked or has expired."""
    return find_value(
        connection,
        Invitation,
        sa.select(invitations).where(
            invitations.c.secret_hash == secret_hash(secret),
            invitations.c.used_at.is_(None),
            invitations.c.revoked_at.is_(None),
            invitations.c.expires_at > now(),
        ),
    )


def accept(connection: Connection, secret: str, name: str, hashed: str | None, display: str = "") -> User:
    """Add the invited user; the link works once. `hashed` is a hash by `secrets.password_hash`.

    Raises:
        UsageError: the link is not valid; the name is taken.
    """
    invitation = find(connection, secret)
    if invitation is None:
        raise _invalid_error()
    user = people.add(connection, invitation.name or name, hashed, display=display, admin=invitation.admin)
    apply_invitation(connection, invitation, user)
    return user


def apply_invitation(connection: Connection, invitation: Invitation | None, user: User) -> None:
    """Give a user the role of an invitation, and mark it as used; a higher role stays.

    Raises:
        UsageError: the invitation is not valid, or another user used it at the same time.
    """
    if invitation is None:
        raise _invalid_error()
    is_open = sa.and_(invitations.c.id == invitation.id, invitations.c.used_at.is_(None))
    update = sa.update(invitations).where(is_open).values(used_at=now(), used_by=user.id)
    if not connection.execute(update).rowcount:
        raise _invalid_error()
    if invitation.admin and not user.admin:
        people.set_admin(connection, user.id, admin=True)
    if invitation.project is not None and invitation.role is not None:
        current = people.role_of(connection, invitation.project, user.id)
        if current is None or ROLES.index(invitation.role) < ROLES.index(current):
            people.grant(connection, invitation.project, user.id, invitation.role)


def _invalid_error() -> UsageError:
    problem = "this invitation was used, has been revoked or is too old; ask for another."
    return UsageError(problem, code="invalid-invitation")


def list_open(connection: Connection, project: int | None = None) -> list[Invitation]:
    """Unused invitations, the oldest first."""
    statement = sa.select(invitations).where(
        invitations.c.used_at.is_(None), invitations.c.revoked_at.is_(None), invitations.c.expires_at > now()
    )
    if project is not None:
        statement = statement.where(invitations.c.project == project)
    return list_values(connection, Invitation, statement.order_by("id"))


def revoke(connection: Connection, invitation: int) -> None:
    """Revoke an invitation."""
    update_row(connection, invitations, invitation, revoked_at=now())
