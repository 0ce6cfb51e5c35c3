"""API tokens: a secret that is shown once, with scopes and an end."""

from __future__ import annotations

from collections.abc import Iterable
from datetime import datetime
from typing import TYPE_CHECKING

import sqlalchemy as sa

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.store.people.secrets import new_secret, secret_hash
from rankgate.store.rows import new_id, now, unknown_error, value_of
from rankgate.store.tables.people import tokens, users

if TYPE_CHECKING:
    from sqlalchemy import Connection

SCOPES = ("read", "record", "rate", "manage", "admin")
"""The scopes of tokens; a token never allows more than its user may do."""


@dataclass(frozen=True)
class Token:
    """A token without its secret.

    Attributes:
        id: the number.
        user: whose.
        project: the only project that it is for, if any.
        name: what it is used for.
        scopes: of ``SCOPES``.
        created_at, expires_at, revoked_at, used_at: moments.
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
    """Make a token.

    Returns:
        The token, and its secret, which is not kept.

    Raises:
        UsageError: no such scope.
    """
    scope_names = list(dict.fromkeys(scopes))
    for scope in scope_names:
        if scope not in SCOPES:
            raise UsageError(
                f"no scope {scope!r}; choose {', '.join(SCOPES)}.", code="unknown-scope"
            )
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


def find_token(connection: Connection, secret: str) -> Token | None:
    """The token of a secret; None if there is none that is valid, or its user is disabled."""
    moment = now()
    row = connection.execute(
        sa.select(tokens)
        .join(users, users.c.id == tokens.c.user)
        .where(
            tokens.c.secret_hash == secret_hash(secret),
            tokens.c.revoked_at.is_(None),
            sa.or_(tokens.c.expires_at.is_(None), tokens.c.expires_at > moment),
            users.c.disabled.is_(False),
        )
    ).first()
    return None if row is None else _token(row)


def note_token_use(connection: Connection, token: int) -> None:
    """Record that a token was used."""
    connection.execute(sa.update(tokens).where(tokens.c.id == token).values(used_at=now()))


def list_tokens(connection: Connection, user: int | None = None) -> list[Token]:
    """All tokens, or those of a user, the oldest first."""
    statement = sa.select(tokens).order_by(tokens.c.id)
    if user is not None:
        statement = statement.where(tokens.c.user == user)
    return [_token(row) for row in connection.execute(statement)]


def revoke_token(connection: Connection, token: int) -> Token:
    """End a token.

    Raises:
        UsageError: there is none.
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
