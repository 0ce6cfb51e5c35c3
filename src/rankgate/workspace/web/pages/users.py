"""The users of the server: for its admins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.store.people import audit, users
from rankgate.workspace.web.fields import invalid_value
from rankgate.workspace.web.replies import ActionReply, PageReply

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgate.store.people.users import User
    from rankgate.workspace.web.asked import WebRequest


def users_page(request: WebRequest) -> PageReply:
    """Every user."""
    with request.store.read() as connection:
        all_users = users.list_users(connection)
    rows = [
        {
            "id": user.id,
            "name": user.name,
            "display": user.display,
            "admin": user.admin,
            "disabled": user.disabled,
            "created_at": user.created_at,
        }
        for user in all_users
    ]
    return PageReply("users.html", {"users": rows})


def change_user(request: WebRequest) -> ActionReply:
    """Change whether a user may sign in, and is an admin."""
    fields = request.values
    with request.store.write() as connection:
        user = _find_user(connection, request)
        if fields["sign_in"] is not None:
            users.disable(connection, user.id, disabled=fields["sign_in"] == "no")
        if fields["admin"] is not None:
            users.set_admin(connection, user.id, admin=fields["admin"] == "yes")
        changes = {name: fields[name] for name in ("sign_in", "admin") if fields[name]}
        _record_action(connection, request, "user.change", user.name, **changes)
    return ActionReply("/users", {"user": user.name})


def remove_user(request: WebRequest) -> ActionReply:
    """Remove a user: name, password and roles go, ratings stay under a pseudonym."""
    with request.store.write() as connection:
        user = _find_user(connection, request)
        if request.values["confirm"] != user.name:
            raise invalid_value("confirm", f"write {user.name} to remove this user")
        name = users.remove(connection, user.id)
        _record_action(connection, request, "user.remove", name)
    return ActionReply("/users", {"pseudonym": name})


def _find_user(connection: Connection, request: WebRequest) -> User:
    user = users.get(connection, request.path["user"])
    if user is None:
        return users.get_by_name(
            connection, str(request.path["user"])
        )  # reports that there is none
    return user


def _record_action(
    connection: Connection, request: WebRequest, action: str, subject: str, **details: object
) -> None:
    actor = audit.Actor(request.user.name, request.user.id)
    audit.record(connection, actor, action, subject, details=details)
