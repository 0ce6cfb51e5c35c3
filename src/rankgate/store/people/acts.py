"""Acts on projects, users and tokens, for pages and commands alike; the audit log has each of them.

An act takes place in the transaction of its connection. Users are given by name or as they are.
"""

from __future__ import annotations

from collections.abc import Iterable
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from rankgate.store.material import projects
from rankgate.store.people import second_factors, sign_in, users
from rankgate.store.people.users import User
from rankgate.store.rows import now

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgate.data.qrels import Scale
    from rankgate.store.people.audit import Actor
    from rankgate.store.people.sign_in import Token


def _find_user(connection: Connection, user: User | str) -> User:
    return user if isinstance(user, User) else users.get_by_name(connection, user)


def add_project(
    connection: Connection,
    actor: Actor,
    name: str,
    *,
    scale: Scale | None = None,
    title: str = "",
    description: str = "",
) -> projects.Project:
    """Make a project with the grades of its scale.

    Raises:
        UsageError: the name is taken, or is not a valid name.
    """
    project = projects.add(connection, name, title=title, description=description, scale=scale)
    actor.record(connection, "project.add", project.name, project=project.id)
    return project


def add_user(
    connection: Connection, actor: Actor, name: str, hashed: str | None, *, admin: bool = False
) -> User:
    """Add a user; a user without a password cannot sign in until a password is set.

    Raises:
        UsageError: the name is taken, or is not a valid name.
    """
    user = users.add(connection, name, hashed, admin=admin)
    actor.record(connection, "user.add", user.name, admin=admin)
    return user


def set_password(
    connection: Connection,
    actor: Actor,
    user: User | str,
    hashed: str,
    *,
    end_tokens: bool = False,
    **details: Any,
) -> None:
    """Set the password of a user; the user's sessions and links end, and on request the API tokens.

    Raises:
        UsageError: the user does not exist.
    """
    user = _find_user(connection, user)
    users.set_password(connection, user.id, hashed)
    if end_tokens:
        users.end_tokens(connection, user.id)
    actor.record(connection, "user.password", user.name, tokens=end_tokens, **details)


def remove_second_factor(connection: Connection, actor: Actor, user: User | str) -> None:
    """Remove the second factor of a user who lost the device; their sessions end.

    Raises:
        UsageError: the user does not exist, or has no second factor.
    """
    user = _find_user(connection, user)
    second_factors.remove(connection, user)
    sign_in.end_sessions(connection, user.id)
    actor.record(connection, "second-factor.remove", user.name)


def set_role(
    connection: Connection, actor: Actor, user: User | str, project: str, role: str | None, **details: Any
) -> None:
    """Give a user a role in a project, instead of the one that they have there, or remove it.

    Raises:
        UsageError: the user, project or role does not exist, or the project is archived.
    """
    project_id = projects.get_by_name(connection, project).id
    projects.refuse_archived(connection, project_id)
    user = _find_user(connection, user)
    users.grant(connection, project_id, user.id, role)
    actor.record(connection, "user.role", user.name, project=project_id, role=role or "none", **details)


def remove_user(connection: Connection, actor: Actor, user: User | str) -> str:
    """Remove a user's name, password and roles; their ratings stay under a pseudonym, which is returned.

    Raises:
        UsageError: the user does not exist, or is the only admin.
    """
    pseudonym = users.remove(connection, _find_user(connection, user).id)
    actor.record(connection, "user.remove", pseudonym)
    return pseudonym


def add_token(
    connection: Connection,
    actor: Actor,
    user: User | str,
    name: str,
    scopes: Iterable[str],
    *,
    project: str | None = None,
    days: int | None = None,
) -> tuple[Token, str]:
    """Make a token of a user for some days, or without an end; return it with its secret.

    Raises:
        UsageError: the user, project or scope does not exist.
    """
    project_id = None if project is None else projects.get_by_name(connection, project).id
    user = _find_user(connection, user)
    end = None if days is None else now() + timedelta(days=days)
    token, secret = sign_in.issue_token(connection, user.id, name, scopes, project=project_id, expires_at=end)
    details: dict[str, Any] = {"user": user.name, "scopes": list(token.scopes)}
    actor.record(connection, "token.add", token.name, project=project_id, **details)
    return token, secret


def revoke_token(connection: Connection, actor: Actor, number: int) -> Token:
    """Revoke a token.

    Raises:
        UsageError: no token has this number.
    """
    token = sign_in.revoke_token(connection, number)
    actor.record(connection, "token.revoke", token.name)
    return token
