"""Lists of the users, tokens and projects of a store."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import Result
from rankgate.core.present.layout import View
from rankgate.core.present.number_formats import count_plural
from rankgate.store.blobs import stored_runs
from rankgate.store.material import projects
from rankgate.store.people import sign_in, users
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

    kind = "store_listing"
    main_table = "rows"
    layout = (View(),)

    store: str
    what: str
    rows: tuple[Mapping[str, Any], ...]

    @property
    def headline(self) -> str:
        """The number of rows."""
        return f"{count_plural(len(self.rows), self.what)} in {self.store}"


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
