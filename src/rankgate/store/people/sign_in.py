"""Passwords, sessions, API tokens, and the user that a session or token identifies."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Iterable
from datetime import datetime, timedelta
from functools import cache
from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from rankgate.core.errors import UsageError, require
from rankgate.core.frozen import dataclass
from rankgate.store.material.projects import Project
from rankgate.store.people.users import User
from rankgate.store.rows import (
    columns_of,
    count_rows,
    list_values,
    new_id,
    now,
    unknown_error,
    update_row,
    value_fields,
    value_of,
)
from rankgate.store.tables.columns import Moment
from rankgate.store.tables.people_tables import projects, roles, sessions, sign_ins, tokens, users
from rankgate.store.tables.rating_tables import raters

if TYPE_CHECKING:
    from argon2 import PasswordHasher
    from sqlalchemy import Connection, Table


SHORTEST, LONGEST = 10, 1_000
"""The smallest and largest number of characters of a password."""

_BYTES = 32


@cache
def _hasher() -> PasswordHasher:
    require("passwords need argon2-cffi", "argon2")
    from argon2 import PasswordHasher

    return PasswordHasher()


@cache
def _dummy_hash() -> str:
    return _hasher().hash(secrets.token_hex())


def password_hash(password: str) -> str:
    """The argon2id hash of a password.

    Raises:
        UsageError: the password is shorter than ten characters, or far too long.
    """
    if not SHORTEST <= len(password) <= LONGEST:
        raise UsageError(f"a password needs at least {SHORTEST} characters.", code="weak-password")
    return _hasher().hash(password)


def verify_password(hashed: str | None, password: str) -> bool:
    """True if a password matches a hash; without a hash the check takes the same time."""
    from argon2.exceptions import InvalidHashError, VerificationError

    if len(password) > LONGEST:
        return False
    try:
        return _hasher().verify(hashed or _dummy_hash(), password) and hashed is not None
    except (VerificationError, InvalidHashError):
        return False


def renewed_hash(hashed: str, password: str) -> str | None:
    """A new hash of a password if the parameters of its hash are outdated; otherwise None."""
    return _hasher().hash(password) if _hasher().check_needs_rehash(hashed) else None


def new_secret(prefix: str) -> str:
    """A random secret, such as ``rgt_…``."""
    return f"{prefix}_{secrets.token_urlsafe(_BYTES)}"


def secret_hash(secret: str) -> str:
    """The stored hash of a random secret; one round of SHA-256 is enough for 256 random bits."""
    return hashlib.sha256(secret.encode()).hexdigest()


_ATTEMPTS = 0x72616E6B67_02
"""The PostgreSQL lock that makes attempts count one after the other."""

_CHECK_TIME = timedelta(minutes=1)
"""The longest time that the check of a password takes."""

LIFETIME = timedelta(hours=12)
"""The duration of a session after its last use."""


@dataclass(frozen=True)
class Session:
    """A session of a signed-in user.

    Attributes:
        id: the number.
        user: the number of the user.
        csrf: the token that every form of this session sends back.
        created_at, seen_at, expires_at: the times of creation, last use and expiry.
        address, browser: the IP address at sign-in, and the user agent of the browser.
    """

    id: int
    user: int
    csrf: str
    created_at: datetime
    seen_at: datetime
    expires_at: datetime
    address: str
    browser: str


def begin_session(
    connection: Connection, user: int, lifetime: timedelta = LIFETIME, *, address: str = "", browser: str = ""
) -> tuple[Session, str]:
    """Begin a session, and return its new secret for the cookie; only a hash is stored.

    Sessions of the user that have expired are deleted.
    """
    secret, moment = new_secret("rgs"), now()
    has_expired = sa.and_(sessions.c.user == user, sessions.c.expires_at <= moment)
    connection.execute(sa.delete(sessions).where(has_expired))
    number = new_id(
        connection,
        sessions,
        secret_hash=secret_hash(secret),
        user=user,
        csrf=new_secret("rgc"),
        created_at=moment,
        seen_at=moment,
        expires_at=moment + lifetime,
        address=address,
        browser=browser,
    )
    row = connection.execute(sa.select(sessions).where(sessions.c.id == number)).one()
    return value_of(Session, row), secret


def extend_session(connection: Connection, session: int, lifetime: timedelta = LIFETIME) -> None:
    """Extend a session; call this function every few minutes, not for every request."""
    moment = now()
    values = {"seen_at": moment, "expires_at": moment + lifetime}
    update_row(connection, sessions, session, **values)


def end_session(connection: Connection, session: int) -> None:
    """Delete a session."""
    connection.execute(sa.delete(sessions).where(sessions.c.id == session))


def list_sessions(connection: Connection, user: int) -> list[Session]:
    """The unexpired sessions of a user, the last used first."""
    is_active = sa.and_(sessions.c.user == user, sessions.c.expires_at > now())
    statement = sa.select(sessions).where(is_active).order_by(sessions.c.seen_at.desc())
    return list_values(connection, Session, statement)


def end_sessions(connection: Connection, user: int, *, except_for: int | None = None) -> int:
    """End all sessions of a user, or all but one; return the number of ended sessions."""
    statement = sa.delete(sessions).where(sessions.c.user == user)
    if except_for is not None:
        statement = statement.where(sessions.c.id != except_for)
    return connection.execute(statement).rowcount


def use_once(connection: Connection, word: str) -> bool:
    """Record a one-time token; True if it was used before, within a day."""
    name = f"once {secret_hash(word)}"
    if connection.scalar(sa.select(sign_ins.c.id).where(sign_ins.c.name == name)) is not None:
        return True
    new_id(connection, sign_ins, name=name, address="", at=now(), good=True)
    return False


def begin_attempt(
    connection: Connection, name: str, address: str, *, tries: int, from_one: int, since: timedelta
) -> int | None:
    """Record a sign-in attempt before the password is checked; see `end_attempt`.

    An attempt counts as failed until its check ends, so that attempts at the same time count. A check
    that never ended, as the server was killed, has told its sender nothing: it counts for
    `_CHECK_TIME` only.

    Attempts for one name are counted by address, so that other people cannot lock out its owner.
    Attempts of more than a day ago are deleted.

    Args:
        connection: a connection to a store, for writing.
        name: the name at sign-in.
        address: the IP address.
        tries: the number of failed attempts for the name from this address that are allowed, after
            the last success.
        from_one: the number of failed attempts for any name from this address that are allowed.
        since: the length of the period in which failed attempts count.

    Returns:
        The number of the attempt; None if too many failed.
    """
    if connection.dialect.name == "postgresql":  # SQLite itself allows only one write at a time
        connection.execute(sa.select(sa.func.pg_advisory_xact_lock(_ATTEMPTS)))
    moment, login = now(), name.strip().lower()
    connection.execute(sa.delete(sign_ins).where(sign_ins.c.at < moment - timedelta(days=1)))
    address_failures = sa.and_(
        sign_ins.c.address == address,
        sign_ins.c.good.is_(False),
        sign_ins.c.at > moment - since,
        sa.or_(sign_ins.c.checked, sign_ins.c.at > moment - _CHECK_TIME),
    )
    is_same_login = sa.and_(sign_ins.c.name == login, sign_ins.c.address == address)
    last = sa.select(sa.func.max(sign_ins.c.id)).where(is_same_login, sign_ins.c.good).scalar_subquery()
    name_failures = sa.and_(address_failures, is_same_login, sign_ins.c.id > sa.func.coalesce(last, 0))
    for failures, limit in ((name_failures, tries), (address_failures, from_one)):
        if count_rows(connection, failures) >= limit:
            return None
    return new_id(connection, sign_ins, name=login, address=address, at=moment, good=False, checked=False)


def end_attempt(connection: Connection, attempt: int, *, is_right: bool) -> None:
    """Record the result of an attempt, before the sender gets an answer.

    Args:
        connection: a connection to a store, for writing; its changes are stored before the answer.
        attempt: the number from `begin_attempt`.
        is_right: True if the password or code was right.
    """
    values = {"good": is_right, "checked": True}
    update_row(connection, sign_ins, attempt, **values)


SCOPES = ("read", "record", "rate", "manage", "admin")
"""The scopes of tokens; a token never has more rights than its user."""


@dataclass(frozen=True)
class Token:
    """A token without its secret.

    Attributes:
        id: the number.
        user: the number of its user.
        project: the only project that the token can access; None for all.
        name: the purpose of the token.
        scopes: the scopes, from ``SCOPES``.
        created_at, expires_at, revoked_at, used_at: the times of creation, expiry, revocation and
            last use.
    """

    id: int
    user: int
    project: int | None
    name: str
    scopes: tuple[str, ...]
    created_at: datetime
    expires_at: datetime | None
    revoked_at: datetime | None
    used_at: datetime | None


def issue_token(
    connection: Connection,
    user: int,
    name: str,
    scopes: Iterable[str] = ("read",),
    *,
    project: int | None = None,
    expires_at: datetime | None = None,
) -> tuple[Token, str]:
    """Create a token.

    Returns:
        The token, and its secret, which is not stored.

    Raises:
        UsageError: the scope does not exist.
    """
    scope_names = list(dict.fromkeys(scopes))
    for scope in scope_names:
        if scope not in SCOPES:
            raise UsageError(f"no scope {scope!r}; choose {', '.join(SCOPES)}.", code="unknown-scope")
    secret = new_secret("rgt")
    number = new_id(
        connection,
        tokens,
        user=user,
        project=project,
        name=name,
        scopes=scope_names,
        secret_hash=secret_hash(secret),
        created_at=now(),
        expires_at=expires_at,
    )
    return _get_token(connection, tokens.c.id == number), secret


def note_token_use(connection: Connection, token: int) -> None:
    """Record that a token was used."""
    update_row(connection, tokens, token, used_at=now())


def list_tokens(connection: Connection, user: int | None = None) -> list[Token]:
    """All tokens, or those of a user, the oldest first."""
    statement = sa.select(tokens).order_by(tokens.c.id)
    if user is not None:
        statement = statement.where(tokens.c.user == user)
    return [_token(row) for row in connection.execute(statement)]


def revoke_token(connection: Connection, token: int) -> Token:
    """Revoke a token.

    Raises:
        UsageError: the token does not exist.
    """
    is_active = sa.and_(tokens.c.id == token, tokens.c.revoked_at.is_(None))
    connection.execute(sa.update(tokens).where(is_active).values(revoked_at=now()))
    return _get_token(connection, tokens.c.id == token)


def _get_token(connection: Connection, condition: sa.ColumnElement[bool]) -> Token:
    row = connection.execute(sa.select(tokens).where(condition)).first()
    if row is None:
        raise unknown_error("token", "of this number")
    return _token(row)


def _token(row: sa.Row[tuple[object, ...]]) -> Token:
    return value_of(Token, {**row._mapping, "scopes": tuple(row.scopes)})  # noqa: SLF001 - SQLAlchemy's public name


_SECRET, _NAME = sa.bindparam("secret", type_=sa.Text), sa.bindparam("name", type_=sa.Text)
_NOW: sa.BindParameter[Any] = sa.bindparam("now", type_=Moment)


@dataclass(frozen=True)
class SignedIn:
    """The user of a valid session or token.

    Attributes:
        owner: the session or the token.
        user: the user.
        project: the requested project, or None.
        role: the role in the project: ``admin`` for admins of the store, or None.
        rater: the number of the user's rater; None if the user has not rated.
    """

    owner: Session | Token
    user: User
    project: Project | None
    role: str | None
    rater: int | None


def _statement(kind: type, table: Table, valid: sa.ColumnElement[bool]) -> sa.Select[Any]:
    return (
        sa.select(
            *columns_of(kind, table),
            *columns_of(User, users),
            *columns_of(Project, projects),
            roles.c.role,
            raters.c.id,
        )
        .select_from(
            table.join(users, users.c.id == table.c.user)
            .outerjoin(projects, projects.c.name == _NAME)
            .outerjoin(roles, sa.and_(roles.c.project == projects.c.id, roles.c.user == users.c.id))
            .outerjoin(raters, raters.c.user == users.c.id)
        )
        .where(table.c.secret_hash == _SECRET, users.c.disabled.is_(False), valid)
    )


_BY_SESSION = _statement(Session, sessions, sessions.c.expires_at > _NOW)
_BY_TOKEN = _statement(
    Token,
    tokens,
    sa.and_(tokens.c.revoked_at.is_(None), sa.or_(tokens.c.expires_at.is_(None), tokens.c.expires_at > _NOW)),
)


def by_session(connection: Connection, secret: str, project: str | None) -> SignedIn | None:
    """The user of a session cookie; None if it has ended, or its user is disabled."""
    return _find_user(connection, _BY_SESSION, Session, secret, project)


def by_token(connection: Connection, secret: str, project: str | None) -> SignedIn | None:
    """The user of a token; None if it is not valid, or its user is disabled."""
    return _find_user(connection, _BY_TOKEN, Token, secret, project)


def _find_user(
    connection: Connection,
    statement: sa.Select[Any],
    kind: type[Session | Token],
    secret: str,
    project: str | None,
) -> SignedIn | None:
    values = {"secret": secret_hash(secret), "name": project, "now": now()}
    row = connection.execute(statement, values).first()
    if row is None:
        return None
    boundaries = accumulate(len(value_fields(value_type)) for value_type in (kind, User, Project))
    owner_values, user_values, project_values = (row[begin:end] for begin, end in pairwise((0, *boundaries)))
    owner = dict(zip(value_fields(kind), owner_values, strict=True))
    if kind is Token:
        owner["scopes"] = tuple(owner["scopes"])
    user = User(*user_values)
    project_row = None if project_values[0] is None else Project(*project_values)
    role, rater = row[-2:]
    return SignedIn(kind(**owner), user, project_row, "admin" if user.admin and project_row else role, rater)
