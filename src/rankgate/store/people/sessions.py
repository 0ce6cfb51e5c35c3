"""Sessions of people who are signed in, and attempts to sign in."""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import TYPE_CHECKING

import sqlalchemy as sa

from rankgate.core.frozen import dataclass
from rankgate.store.people.secrets import new_secret, secret_hash
from rankgate.store.rows import new_id, now, value_of
from rankgate.store.tables.people import sessions, sign_ins, users

if TYPE_CHECKING:
    from sqlalchemy import Connection

_ATTEMPTS = 0x72616E6B67_02
"""The lock of PostgreSQL that counts attempts one after the other."""

LIFETIME = timedelta(hours=12)
"""The time that a session lasts after its last use."""


@dataclass(frozen=True)
class Session:
    """Somebody who is signed in.

    Attributes:
        id: the number.
        user: who.
        csrf: the word that every form of this session sends back.
        created_at, seen_at, expires_at: moments.
    """

    id: int
    user: int
    csrf: str
    created_at: datetime
    seen_at: datetime
    expires_at: datetime


def begin_session(
    connection: Connection, user: int, lifetime: timedelta = LIFETIME
) -> tuple[Session, str]:
    """Begin a session with a new secret, for the cookie; it is not kept."""
    secret, moment = new_secret("rgs"), now()
    number = new_id(
        connection,
        sessions,
        secret_hash=secret_hash(secret),
        user=user,
        csrf=new_secret("rgc"),
        created_at=moment,
        seen_at=moment,
        expires_at=moment + lifetime,
    )
    row = connection.execute(sa.select(sessions).where(sessions.c.id == number)).one()
    return value_of(Session, row), secret


def find_session(connection: Connection, secret: str) -> Session | None:
    """The session of a cookie; None if it has ended, or its user is disabled."""
    row = connection.execute(
        sa.select(sessions)
        .join(users, users.c.id == sessions.c.user)
        .where(
            sessions.c.secret_hash == secret_hash(secret),
            sessions.c.expires_at > now(),
            users.c.disabled.is_(False),
        )
    ).first()
    return None if row is None else value_of(Session, row)


def extend_session(connection: Connection, session: int, lifetime: timedelta = LIFETIME) -> None:
    """Extend a session; call it every few minutes, not with every request."""
    moment = now()
    values = {"seen_at": moment, "expires_at": moment + lifetime}
    connection.execute(sa.update(sessions).where(sessions.c.id == session).values(**values))


def end_session(connection: Connection, session: int) -> None:
    """Sign out."""
    connection.execute(sa.delete(sessions).where(sessions.c.id == session))


def end_sessions(connection: Connection, user: int) -> None:
    """Sign a user out everywhere."""
    connection.execute(sa.delete(sessions).where(sessions.c.user == user))


def use_once(connection: Connection, word: str) -> bool:
    """Record a one-time word; True if it was used before, within a day."""
    name = f"once {secret_hash(word)}"
    if connection.scalar(sa.select(sign_ins.c.id).where(sign_ins.c.name == name)) is not None:
        return True
    new_id(connection, sign_ins, name=name, address="", at=now(), good=True)
    return False


def begin_attempt(
    connection: Connection, name: str, address: str, *, tries: int, from_one: int, since: timedelta
) -> int | None:
    """Record a sign-in attempt before the password is checked; it counts as failed until then.

    Attempts for one name are counted by address, so that others cannot lock its owner out. Those
    of more than a day ago are forgotten.

    Args:
        connection: of a store, to write.
        name: who signs in.
        address: from where.
        tries: how many attempts for the name may fail from this address, after the last good one.
        from_one: how many attempts may fail from this address for any name.
        since: in this time.

    Returns:
        The number of the attempt; None if too many failed.
    """
    if connection.dialect.name == "postgresql":  # SQLite lets one write at a time by itself
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_ATTEMPTS)))
    moment, login = now(), name.strip().lower()
    connection.execute(sa.delete(sign_ins).where(sign_ins.c.at < moment - timedelta(days=1)))
    address_failures = sa.and_(
        sign_ins.c.address == address, sign_ins.c.good.is_(False), sign_ins.c.at > moment - since
    )
    is_same_login = sa.and_(sign_ins.c.name == login, sign_ins.c.address == address)
    last = (
        sa.select(sa.func.max(sign_ins.c.id))
        .where(is_same_login, sign_ins.c.good)
        .scalar_subquery()
    )
    name_failures = sa.and_(
        address_failures, is_same_login, sign_ins.c.id > sa.func.coalesce(last, 0)
    )
    for failures, limit in ((name_failures, tries), (address_failures, from_one)):
        if (connection.scalar(sa.select(sa.func.count()).where(failures)) or 0) >= limit:
            return None
    return new_id(connection, sign_ins, name=login, address=address, at=moment, good=False)


def mark_success(connection: Connection, attempt: int) -> None:
    """Record that the password of an attempt was right."""
    connection.execute(sa.update(sign_ins).where(sign_ins.c.id == attempt).values(good=True))
