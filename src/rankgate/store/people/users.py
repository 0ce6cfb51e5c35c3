"""Users and raters of a store.

Users have passwords, roles in projects, and pseudonyms once they are removed. Raters are
people, users or not, and models by their identity.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from datetime import datetime
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.store.rows import (
    count_rows,
    find_value,
    insert,
    list_values,
    new_id,
    now,
    taken_error,
    unknown_error,
    value_of,
)
from rankgate.store.tables.people_tables import (
    ROLES,
    one_time_secrets,
    recovery_codes,
    roles,
    second_factors,
    sessions,
    tokens,
    users,
)
from rankgate.store.tables.rating_tables import assignments, raters, tasks

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgate.core.value_types import JsonObject


_NAME = re.compile(r"[\w.@+-]{1,100}")


@dataclass(frozen=True)
class User:
    """A user who can sign in.

    Attributes:
        id: the number.
        name: the name at sign-in, in lower case.
        display: the name on pages.
        admin: True if the user has all rights in the store.
        disabled: True if the user cannot sign in.
        created_at: the time when the user was added.
    """

    id: int
    name: str
    display: str
    admin: bool
    disabled: bool
    created_at: datetime


def add(
    connection: Connection,
    name: str,
    hashed: str | None = None,
    *,
    display: str = "",
    admin: bool = False,
    issuer: str | None = None,
    subject: str | None = None,
) -> User:
    """Add a user.

    Args:
        connection: a connection to a store, for writing.
        name: the name at sign-in; stored in lower case.
        hashed: the password's hash, computed by `secrets.password_hash` before the transaction;
            None if the user signs in elsewhere, or has no password yet.
        display: the name on pages.
        admin: True if the user gets all rights.
        issuer: the OpenID Connect provider of the user.
        subject: the user's id at this provider.

    Raises:
        UsageError: the name is taken, or is not a valid name.
    """
    login = name.strip().lower()
    if not _NAME.fullmatch(login):
        raise UsageError(
            f"{name!r} is not a user's name; use letters, digits and . @ + - _.", code="invalid-name"
        )
    if connection.scalar(sa.select(users.c.id).where(users.c.name == login)) is not None:
        raise taken_error("user", login)
    new_id(
        connection,
        users,
        name=login,
        display=display or name,
        password_hash=hashed,
        admin=admin,
        issuer=issuer,
        subject=subject,
        created_at=now(),
    )
    return get_by_name(connection, login)


def get_by_name(connection: Connection, name: str) -> User:
    """A user by name.

    Raises:
        UsageError: the user does not exist.
    """
    user = _find_user(connection, users.c.name == name.strip().lower())
    if user is None:
        raise unknown_error("user", name)
    return user


def get(connection: Connection, user: int) -> User | None:
    """A user by number."""
    return _find_user(connection, users.c.id == user)


def by_identity(connection: Connection, issuer: str, subject: str) -> User | None:
    """A user by their OpenID Connect identity."""
    return _find_user(connection, sa.and_(users.c.issuer == issuer, users.c.subject == subject))


def link(connection: Connection, user: int, issuer: str, subject: str) -> None:
    """Link a user to an OpenID Connect identity, for sign-in.

    Raises:
        UsageError: the user has another identity.
    """
    is_unlinked = sa.and_(users.c.id == user, users.c.issuer.is_(None), users.c.subject.is_(None))
    update = sa.update(users).where(is_unlinked).values(issuer=issuer, subject=subject)
    if not connection.execute(update).rowcount:
        raise UsageError(
            "this user signs in by another identity; an admin removes it first.", code="other-identity"
        )


def list_users(connection: Connection) -> list[User]:
    """Every user, by name."""
    return list_values(connection, User, sa.select(users).order_by("name"))


def _find_user(connection: Connection, condition: sa.ColumnElement[bool]) -> User | None:
    return find_value(connection, User, sa.select(users).where(condition))


def password_of(connection: Connection, name: str) -> str | None:
    """The password hash of a user who may sign in; None without a password.

    Verify the hash with `sign_in.verify_password` outside of a transaction: verification is slow on
    purpose.
    """
    login = sa.and_(users.c.name == name.strip().lower(), users.c.disabled.is_(False))
    return connection.scalar(sa.select(users.c.password_hash).where(login))


def set_password(connection: Connection, user: int, hashed: str) -> None:
    """Set the password of a user, as a hash by `secrets.password_hash`.

    The user's sessions and password links end. A second factor stays.

    Raises:
        UsageError: the user does not exist.
    """
    _update(connection, user, password_hash=hashed)
    _sign_out(connection, user)


def _sign_out(connection: Connection, user: int) -> None:
    """End a user's sessions, sign-ins in progress, and links to set a password."""
    for table in (sessions, one_time_secrets):
        connection.execute(sa.delete(table).where(table.c.user == user))


def renew_hash(connection: Connection, before: str, hashed: str) -> None:
    """Replace the hash of an unchanged password by a newer one; sessions stay."""
    is_same_hash = users.c.password_hash == before
    connection.execute(sa.update(users).where(is_same_hash).values(password_hash=hashed))


def set_admin(connection: Connection, user: int, *, admin: bool) -> None:
    """Grant or remove admin rights; the last admin keeps them.

    Raises:
        UsageError: the user does not exist; the user is the only admin.
    """
    if not admin:
        _refuse_last_admin(connection, user)
    _update(connection, user, admin=admin)


def disable(connection: Connection, user: int, *, disabled: bool = True) -> None:
    """Disable a user and end their sessions, links and tokens, or enable the user again.

    Raises:
        UsageError: the user does not exist; the user is the only admin.
    """
    if disabled:
        _refuse_last_admin(connection, user)
        _end(connection, user)
    _update(connection, user, disabled=disabled)


def remove(connection: Connection, user: int) -> str:
    """Remove a user's name, password and roles; ratings stay under a pseudonym.

    Returns:
        The pseudonym.

    Raises:
        UsageError: the user does not exist; the user is the only admin.
    """
    _refuse_last_admin(connection, user)
    _end(connection, user)
    for table in (roles, recovery_codes, second_factors):
        connection.execute(sa.delete(table).where(table.c.user == user))
    name = f"removed-{user}"
    _update(
        connection,
        user,
        name=name,
        display=name,
        password_hash=None,
        issuer=None,
        subject=None,
        disabled=True,
        admin=False,
    )
    connection.execute(sa.update(raters).where(raters.c.user == user).values(name=name))
    return name


def _end(connection: Connection, user: int) -> None:
    _sign_out(connection, user)
    end_tokens(connection, user)


def end_tokens(connection: Connection, user: int) -> None:
    """End all API tokens of a user."""
    is_active = sa.and_(tokens.c.user == user, tokens.c.revoked_at.is_(None))
    connection.execute(sa.update(tokens).where(is_active).values(revoked_at=now()))


def _refuse_last_admin(connection: Connection, user: int) -> None:
    other_admins = sa.and_(users.c.admin, users.c.disabled.is_(False), users.c.id != user)
    user_row = get(connection, user)
    if user_row is None:
        raise unknown_error("user", user)
    if user_row.admin and not count_rows(connection, other_admins):
        raise UsageError(f"{user_row.name} is the only admin; add another first.", code="last-admin")


def _update(connection: Connection, user: int, **values: object) -> None:
    update_result = connection.execute(sa.update(users).where(users.c.id == user).values(**values))
    if not update_result.rowcount:
        raise unknown_error("user", user)


def grant(connection: Connection, project: int, user: int, role: str | None) -> None:
    """Set or remove the role of a user in a project.

    Raises:
        UsageError: the role does not exist.
    """
    if role is not None and role not in ROLES:
        raise UsageError(f"no role {role!r}; choose {', '.join(ROLES)}.", code="unknown-role")
    is_member = sa.and_(roles.c.project == project, roles.c.user == user)
    connection.execute(sa.delete(roles).where(is_member))
    if role is not None:
        values = {"project": project, "user": user, "role": role}
        connection.execute(insert(connection, roles).values(values))


def role_of(connection: Connection, project: int, user: int) -> str | None:
    """The role of a user in a project: ``admin`` for admins of the store, or None without one."""
    row = connection.execute(
        sa.select(users.c.admin, roles.c.role)
        .select_from(users.outerjoin(roles, sa.and_(roles.c.user == users.c.id, roles.c.project == project)))
        .where(users.c.id == user, users.c.disabled.is_(False))
    ).first()
    if row is None:
        return None
    return "admin" if row.admin else row.role


def members(connection: Connection, project: int) -> list[tuple[User, str]]:
    """The users of a project with their roles, by name."""
    rows = connection.execute(
        sa.select(users, roles.c.role)
        .join(roles, roles.c.user == users.c.id)
        .where(roles.c.project == project)
        .order_by(users.c.name)
    )
    return [(value_of(User, row), row.role) for row in rows]


PERSON, MODEL = "person", "model"


@dataclass(frozen=True)
class Rater:
    """A person or a model that rates.

    Attributes:
        id: the number.
        kind: ``person`` or ``model``.
        name: the name in ratings.
        user: the number of the user, if the rater is one.
        identity: the identity of a model: model, prompt and settings.
    """

    id: int
    kind: str
    name: str
    user: int | None
    identity: Mapping[str, Any]


def rater_of_user(connection: Connection, user: int) -> Rater:
    """The rater of a user; a missing rater is added.

    Imported ratings under the user's name become the user's ratings: the admin who adds a user
    confirms the identity.

    Raises:
        UsageError: the user does not exist; the name is that of another user's rater.
    """
    row = connection.execute(sa.select(raters).where(raters.c.user == user)).first()
    if row is not None:
        return value_of(Rater, row)
    name = connection.scalar(sa.select(users.c.name).where(users.c.id == user))
    if name is None:
        raise unknown_error("user", user)
    statement = insert(connection, raters).on_conflict_do_nothing()
    connection.execute(statement, {"kind": PERSON, "name": name, "user": user, "created_at": now()})
    is_same_name = sa.and_(raters.c.kind == PERSON, raters.c.name == name)
    connection.execute(sa.update(raters).where(is_same_name, raters.c.user.is_(None)).values(user=user))
    row = connection.execute(sa.select(raters).where(raters.c.user == user)).first()
    if row is None:
        raise UsageError(f"another user rates as {name!r}.", code="name-taken")
    return value_of(Rater, row)


def ensure(
    connection: Connection, name: str, kind: str = PERSON, identity: JsonObject | None = None
) -> Rater:
    """A rater by name; a missing rater is added.

    Raises:
        UsageError: a model of this name with another identity: a changed model, prompt or setting
            is another rater and needs another name.
    """
    is_same_name = sa.and_(raters.c.kind == kind, raters.c.name == name)
    row = connection.execute(sa.select(raters).where(is_same_name)).first()
    if row is None:
        new_id(connection, raters, kind=kind, name=name, identity=dict(identity or {}), created_at=now())
        row = connection.execute(sa.select(raters).where(is_same_name)).one()
    rater = value_of(Rater, row)
    if identity is not None and _identity_text(rater.identity) != _identity_text(identity):
        raise UsageError(
            f"{name!r} is a model with other settings; a changed model, prompt or setting is another rater: "
            "give it another name.",
            code="other-rater",
        )
    return rater


def _identity_text(identity: JsonObject) -> str:
    return json.dumps(dict(identity), sort_keys=True)


def list_raters(connection: Connection) -> list[Rater]:
    """Every rater, by number."""
    statement = sa.select(raters).order_by(raters.c.id)
    return list_values(connection, Rater, statement)


def raters_of_project(connection: Connection, project: int) -> dict[str, int]:
    """The raters who have answered a task of a project: name and number."""
    statement = sa.select(raters.c.name, raters.c.id).where(
        sa.exists().where(
            assignments.c.rater == raters.c.id,
            assignments.c.state == "answered",
            sa.exists().where(tasks.c.id == assignments.c.task, tasks.c.project == project),
        )
    )
    return {name: number for name, number in connection.execute(statement)}  # noqa: C416 - rows
