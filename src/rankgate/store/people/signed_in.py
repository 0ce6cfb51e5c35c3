"""Identify the user of a session or token: in one statement, as every request needs it."""

from __future__ import annotations

from itertools import accumulate, pairwise
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from rankgate.core.frozen import dataclass
from rankgate.store.material.projects import Project
from rankgate.store.people.secrets import secret_hash
from rankgate.store.people.sessions import Session
from rankgate.store.people.tokens import Token
from rankgate.store.people.users import User
from rankgate.store.rows import columns_of, now, value_fields
from rankgate.store.tables.columns import Moment
from rankgate.store.tables.facts import raters
from rankgate.store.tables.people import projects, roles, sessions, tokens, users

if TYPE_CHECKING:
    from sqlalchemy import Connection, Table

_SECRET, _NAME = sa.bindparam("secret", type_=sa.Text), sa.bindparam("name", type_=sa.Text)
_NOW: sa.BindParameter[Any] = sa.bindparam("now", type_=Moment)


@dataclass(frozen=True)
class SignedIn:
    """Somebody whose secret is valid.

    Attributes:
        owner: their session, or their token.
        user: who.
        project: the project of that name; None where there is none.
        role: in the project: ``admin`` for admins of the store, or None.
        rater: the number of the rater that they are, once they have rated.
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
    sa.and_(
        tokens.c.revoked_at.is_(None),
        sa.or_(tokens.c.expires_at.is_(None), tokens.c.expires_at > _NOW),
    ),
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
    owner_values, user_values, project_values = (
        row[begin:end] for begin, end in pairwise((0, *boundaries))
    )
    owner = dict(zip(value_fields(kind), owner_values, strict=True))
    if kind is Token:
        owner["scopes"] = tuple(owner["scopes"])
    user = User(*user_values)
    project_row = None if project_values[0] is None else Project(*project_values)
    role, rater = row[-2:]
    return SignedIn(
        kind(**owner), user, project_row, "admin" if user.admin and project_row else role, rater
    )
