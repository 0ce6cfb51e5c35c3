"""Users, tokens and projects of a store, and results that list them.

Every change is recorded in the audit log.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any, ClassVar

from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import Result
from rankgate.core.present.layout import Layout, View
from rankgate.core.present.number_formats import count_plural
from rankgate.data.qrels import Scale, parse_scale, possible_grades
from rankgate.store.blobs import stored_runs
from rankgate.store.material import projects
from rankgate.store.people import audit, second_factors, sign_in, users
from rankgate.store.people.audit import COMMAND_LINE
from rankgate.store.rating import tasks

if TYPE_CHECKING:
    from rankgate.core.value_types import Json
    from rankgate.store.database import Connection
    from rankgate.store.store import Store


@dataclass(frozen=True)
class StoreListing(Result):
    """Users, tokens or projects of a store.

    Attributes:
        store: the address of the store, without a password.
        what: the kind of rows, such as ``users``.
        rows: the rows by column.
    """

    kind: ClassVar[str] = "store_listing"
    main_table: ClassVar[str] = "rows"
    layout: ClassVar[Layout] = (View(),)

    store: str
    what: str
    rows: tuple[Mapping[str, Any], ...]

    @property
    def headline(self) -> str:
        """The number of rows."""
        return f"{count_plural(len(self.rows), self.what)} in {self.store}"


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
        UsageError: the name is taken; the scale does not exist.
    """
    grades = None
    if scale is not None:
        grade_scale = parse_scale(scale)
        label_of_grade = dict(grade_scale.labels) | dict(labels or {})
        labelled_grades = tuple(
            (grade, label_of_grade.get(grade, f"{grade:g}")) for grade in possible_grades(grade_scale)
        )
        grades = Scale(grade_scale.lowest, grade_scale.highest, labelled_grades)
    with store.write() as connection:
        project = projects.add(connection, name, title=title, scale=grades)
        audit.record(connection, COMMAND_LINE, "project.add", name, project=project.id)


def list_projects(store: Store) -> StoreListing:
    """Every project with its contents."""
    with store.read() as connection:
        rows = tuple(_project_row(connection, project) for project in projects.list_projects(connection))
    return StoreListing(store.name, "projects", rows)


def _project_row(connection: Connection, project: projects.Project) -> dict[str, Json]:
    progress = tasks.progress(connection, project.id)
    grades = projects.grades(connection, project.id)
    return {
        "name": project.name,
        "scale": ", ".join(f"{grade.grade:g}" for grade in grades),
        "tasks": progress.total,
        "done": progress.done,
        "disputed": progress.disputed,
        "runs": len(stored_runs.list_runs(connection, project.id)),
        "judgments": ", ".join(qrels.name for qrels in stored_runs.list_judgments(connection, project.id)),
    }


def add_user(store: Store, name: str, password: str | None, *, admin: bool = False) -> None:
    """Add a user; a user without a password cannot sign in until a password is set.

    Raises:
        UsageError: the name is taken; a weak password.
    """
    hashed = None if password is None else sign_in.password_hash(password)
    with store.write() as connection:
        user = users.add(connection, name, hashed, admin=admin)
        audit.record(connection, COMMAND_LINE, "user.add", user.name, details={"admin": admin})


def set_password(store: Store, name: str, password: str) -> None:
    """Set the password of a user; the user's sessions and password links end.

    Raises:
        UsageError: the user does not exist; the password is weak.
    """
    hashed = sign_in.password_hash(password)
    with store.write() as connection:
        users.set_password(connection, users.get_by_name(connection, name).id, hashed)
        audit.record(connection, COMMAND_LINE, "user.password", name)


def remove_second_factor(store: Store, name: str) -> None:
    """Remove the second factor of a user who lost the device; their sessions end.

    Raises:
        UsageError: no such user, or no second factor.
    """
    with store.write() as connection:
        user = users.get_by_name(connection, name)
        second_factors.remove(connection, user)
        sign_in.end_sessions(connection, user.id)
        audit.record(connection, COMMAND_LINE, "second-factor.remove", user.name)


def set_role(store: Store, name: str, project: str, role: str | None) -> None:
    """Set or remove the role of a user in a project.

    Raises:
        UsageError: the user, project or role does not exist.
    """
    with store.write() as connection:
        project_id = projects.get_by_name(connection, project).id
        projects.refuse_archived(connection, project_id)
        users.grant(connection, project_id, users.get_by_name(connection, name).id, role)
        audit.record(connection, COMMAND_LINE, "user.role", name, project=project_id, details={"role": role})


def remove_user(store: Store, name: str) -> str:
    """Remove a user; their ratings stay under a pseudonym, which is returned.

    Raises:
        UsageError: the user does not exist, or is the only admin.
    """
    with store.write() as connection:
        pseudonym = users.remove(connection, users.get_by_name(connection, name).id)
        audit.record(connection, COMMAND_LINE, "user.remove", pseudonym)
    return pseudonym


def list_users(store: Store) -> StoreListing:
    """Every user with their roles."""
    with store.read() as connection:
        roles_by_user: dict[str, list[str]] = {}
        for project in projects.list_projects(connection):
            for user, role in users.members(connection, project.id):
                roles_by_user.setdefault(user.name, []).append(f"{project.name}: {role}")
        rows = tuple(
            {
                "name": user.name,
                "admin": "yes" if user.admin else "",
                "disabled": "yes" if user.disabled else "",
                "roles": ", ".join(roles_by_user.get(user.name, [])),
            }
            for user in users.list_users(connection)
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
    """Create an API token, and return its secret, which is not stored.

    Raises:
        UsageError: the user, project or scope does not exist.
    """
    end = None if days is None else datetime.now(UTC) + timedelta(days=days)
    with store.write() as connection:
        project_id = None if project is None else projects.get_by_name(connection, project).id
        owner = users.get_by_name(connection, user)
        token, secret = sign_in.issue_token(
            connection, owner.id, name, scopes, project=project_id, expires_at=end
        )
        audit.record(
            connection,
            COMMAND_LINE,
            "token.add",
            str(token.id),
            project=project_id,
            details={"user": owner.name, "scopes": list(token.scopes)},
        )
    return secret


def revoke_token(store: Store, token: int) -> None:
    """Revoke a token.

    Raises:
        UsageError: no token has this number.
    """
    with store.write() as connection:
        sign_in.revoke_token(connection, token)
        audit.record(connection, COMMAND_LINE, "token.revoke", str(token))


def list_tokens(store: Store) -> StoreListing:
    """Every token, without its secret."""
    with store.read() as connection:
        names = {user.id: user.name for user in users.list_users(connection)}
        rows = tuple(
            {
                "number": token.id,
                "name": token.name,
                "user": names[token.user],
                "scopes": " ".join(token.scopes),
                "made": f"{token.created_at:%Y-%m-%d}",
                "expires": f"{token.expires_at:%Y-%m-%d}" if token.expires_at else "",
                "revoked": f"{token.revoked_at:%Y-%m-%d}" if token.revoked_at else "",
            }
            for token in sign_in.list_tokens(connection)
        )
    return StoreListing(store.name, "tokens", rows)
