"""Short-lived secrets that work once: links to set a password, and sign-ins in progress.

Only hashes are stored, and a secret is deleted when it is used. A secret works for one purpose
only.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Literal

import sqlalchemy as sa

from rankgate.store.people import users as people
from rankgate.store.people.sign_in import new_secret, secret_hash
from rankgate.store.rows import count_rows, find_value, new_id, now
from rankgate.store.tables.people_tables import one_time_secrets, users

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgate.store.people.users import User


Purpose = Literal["password", "sign-in"]
"""``password`` is a link to set one, ``sign-in`` a password that was right and waits for a code."""

_PREFIXES: dict[Purpose, str] = {"password": "rgp", "sign-in": "rgf"}


def issue(connection: Connection, user: int, purpose: Purpose, lifetime: timedelta) -> tuple[str, datetime]:
    """Create a secret, which is not stored, and return it with its expiry time.

    Expired secrets, of any user, are deleted.
    """
    secret, moment = new_secret(_PREFIXES[purpose]), now()
    connection.execute(sa.delete(one_time_secrets).where(one_time_secrets.c.expires_at <= moment))
    new_id(
        connection,
        one_time_secrets,
        secret_hash=secret_hash(secret),
        user=user,
        purpose=purpose,
        created_at=moment,
        expires_at=moment + lifetime,
    )
    return secret, moment + lifetime


def count_since(connection: Connection, user: int, purpose: Purpose, moment: datetime) -> int:
    """The number of a user's unused secrets created since a given time."""
    is_recent = sa.and_(
        one_time_secrets.c.user == user,
        one_time_secrets.c.purpose == purpose,
        one_time_secrets.c.created_at > moment,
    )
    return count_rows(connection, is_recent)


def find(connection: Connection, secret: str, purpose: Purpose) -> User | None:
    """The user of a secret; None if it was used or has expired, or if its user is disabled."""
    statement = (
        sa.select(users)
        .join(one_time_secrets, one_time_secrets.c.user == users.c.id)
        .where(_is_valid(secret, purpose), users.c.disabled.is_(False))
    )
    return find_value(connection, people.User, statement)


def use(connection: Connection, secret: str, purpose: Purpose) -> User | None:
    """Use a secret and return its user, as `find`; of two simultaneous calls only one succeeds."""
    user = find(connection, secret, purpose)
    statement = sa.delete(one_time_secrets).where(_is_valid(secret, purpose))
    return user if connection.execute(statement).rowcount else None


def _is_valid(secret: str, purpose: Purpose) -> sa.ColumnElement[bool]:
    return sa.and_(
        one_time_secrets.c.secret_hash == secret_hash(secret),
        one_time_secrets.c.purpose == purpose,
        one_time_secrets.c.expires_at > now(),
    )
