"""Users, tokens and projects of a store, with every change in the audit log."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from rankgate.data.qrels import Scale
from rankgate.data.scales import possible_grades, scale_of
from rankgate.judging.store.store_listing import StoreListing
from rankgate.store.kept import judgments, runs
from rankgate.store.material import projects
from rankgate.store.people import audit, secrets, tokens, users
from rankgate.store.people.audit import COMMAND_LINE
from rankgate.store.rating import tasks

if TYPE_CHECKING:
    from rankgate.store.database import Connection
    from rankgate.store.store import Store


def add_project(
    store: Store,
    name: str,
    *,
    scale: str | None = None,
    labels: Mapping[float, str] | None = None,
    title: str = "",
) -> None:
    """Make a project.

    Raises:
        UsageError: the name is taken; no such scale.
    """
    grades = None
    if scale is not None:
        found = scale_of(scale)
        named = dict(found.labels) | dict(labels or {})
        every = tuple((each, named.get(each, f"{each:g}")) for each in possible_grades(found))
        grades = Scale(found.lowest, found.highest, every)
    with store.write() as connection:
        made = projects.add(connection, name, title=title, scale=grades)
        audit.record(connection, COMMAND_LINE, "project.add", name, project=made.id)


def list_projects(store: Store) -> StoreListing:
    """Every project with what it holds."""
    with store.read() as connection:
        rows = tuple(_held(connection, each) for each in projects.listed(connection))
    return StoreListing(store.name, "projects", rows)


def _held(connection: Connection, project: projects.Project) -> dict[str, Any]:
    done = tasks.progress(connection, project.id)
    grades = projects.grades(connection, project.id)
    return {
        "name": project.name,
        "scale": ", ".join(f"{each.grade:g}" for each in grades),
        "tasks": done.total,
        "done": done.done,
        "disputed": done.disputed,
        "runs": len(runs.listed(connection, project.id)),
        "judgments": ", ".join(each.name for each in judgments.listed(connection, project.id)),
    }


def add_user(store: Store, name: str, password: str | None, *, admin: bool = False) -> None:
    """Add a user; with no password they cannot sign in until they have one.

    Raises:
        UsageError: the name is taken; a weak password.
    """
    hashed = None if password is None else secrets.password_hash(password)
    with store.write() as connection:
        made = users.add(connection, name, hashed, admin=admin)
        audit.record(connection, COMMAND_LINE, "user.add", made.name, details={"admin": admin})


def set_password(store: Store, name: str, password: str) -> None:
    """Give a user another password; their sessions end.

    Raises:
        UsageError: no such user; a weak password.
    """
    hashed = secrets.password_hash(password)
    with store.write() as connection:
        users.set_password(connection, users.named(connection, name).id, hashed)
        audit.record(connection, COMMAND_LINE, "user.password", name)


def set_role(store: Store, name: str, project: str, role: str | None) -> None:
    """Give a user a role in a project, or none.

    Raises:
        UsageError: no such user, project or role.
    """
    with store.write() as connection:
        found = projects.named(connection, project).id
        projects.refuse_archived(connection, found)
        users.grant(connection, found, users.named(connection, name).id, role)
        audit.record(connection, COMMAND_LINE, "user.role", name, project=found,
                     details={"role": role})  # fmt: skip


def remove_user(store: Store, name: str) -> str:
    """Remove a user; their ratings stay under a pseudonym, which is returned.

    Raises:
        UsageError: no such user; the only admin.
    """
    with store.write() as connection:
        pseudonym = users.remove(connection, users.named(connection, name).id)
        audit.record(connection, COMMAND_LINE, "user.remove", pseudonym)
    return pseudonym


def list_users(store: Store) -> StoreListing:
    """Every user with their roles."""
    with store.read() as connection:
        roles_by_user: dict[str, list[str]] = {}
        for project in projects.listed(connection):
            for user, role in users.members(connection, project.id):
                roles_by_user.setdefault(user.name, []).append(f"{project.name}: {role}")
        rows = tuple(
            {
                "name": each.name,
                "admin": "yes" if each.admin else "",
                "disabled": "yes" if each.disabled else "",
                "roles": ", ".join(roles_by_user.get(each.name, [])),
            }
            for each in users.listed(connection)
        )
    return StoreListing(store.name, "users", rows)


def add_token(
    store: Store,
    user: str,
    name: str,
    scopes: tuple[str, ...],
    *,
    project: str | None = None,
    days: int | None = None,
) -> str:
    """Make an API token; its secret, which is not kept.

    Raises:
        UsageError: no such user, project or scope.
    """
    end = None if days is None else datetime.now(UTC) + timedelta(days=days)
    with store.write() as connection:
        place = None if project is None else projects.named(connection, project).id
        owner = users.named(connection, user)
        made, secret = tokens.issue(
            connection, owner.id, name, scopes, project=place, expires_at=end
        )
        audit.record(connection, COMMAND_LINE, "token.add", str(made.id), project=place,
                     details={"user": owner.name, "scopes": list(made.scopes)})  # fmt: skip
    return secret


def revoke_token(store: Store, token: int) -> None:
    """End a token.

    Raises:
        UsageError: there is none of this number.
    """
    with store.write() as connection:
        tokens.revoke(connection, token)
        audit.record(connection, COMMAND_LINE, "token.revoke", str(token))


def list_tokens(store: Store) -> StoreListing:
    """Every token, without its secret."""
    with store.read() as connection:
        names = {each.id: each.name for each in users.listed(connection)}
        rows = tuple(
            {
                "number": each.id,
                "name": each.name,
                "user": names[each.user],
                "scopes": " ".join(each.scopes),
                "made": f"{each.created_at:%Y-%m-%d}",
                "expires": f"{each.expires_at:%Y-%m-%d}" if each.expires_at else "",
                "revoked": f"{each.revoked_at:%Y-%m-%d}" if each.revoked_at else "",
            }
            for each in tokens.listed(connection)
        )
    return StoreListing(store.name, "tokens", rows)
