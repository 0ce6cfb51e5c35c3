"""The users of the server: for its admins."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.store.people import audit, users
from rankgate.workspace.web.fields import wrong
from rankgate.workspace.web.replies import Done, Page

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgate.store.people.users import User
    from rankgate.workspace.web.asked import Asked


def page(asked: Asked) -> Page:
    """Every user."""
    with asked.store.read() as connection:
        found = users.listed(connection)
    rows = [
        {"id": each.id, "name": each.name, "display": each.display, "admin": each.admin,
         "disabled": each.disabled, "created_at": each.created_at}
        for each in found
    ]  # fmt: skip
    return Page("users.html", {"users": rows})


def change(asked: Asked) -> Done:
    """Let a user sign in or not, and do everything or not."""
    given = asked.values
    with asked.store.write() as connection:
        user = _user(connection, asked)
        if given["sign_in"] is not None:
            users.disable(connection, user.id, disabled=given["sign_in"] == "no")
        if given["admin"] is not None:
            users.set_admin(connection, user.id, admin=given["admin"] == "yes")
        words = {name: given[name] for name in ("sign_in", "admin") if given[name]}
        _record(connection, asked, "user.change", user.name, **words)
    return Done("/users", {"user": user.name})


def remove(asked: Asked) -> Done:
    """Remove a user: name, password and roles go, ratings stay under a pseudonym."""
    with asked.store.write() as connection:
        user = _user(connection, asked)
        if asked.values["confirm"] != user.name:
            raise wrong("confirm", f"write {user.name} to remove this user")
        name = users.remove(connection, user.id)
        _record(connection, asked, "user.remove", name)
    return Done("/users", {"pseudonym": name})


def _user(connection: Connection, asked: Asked) -> User:
    found = users.get(connection, asked.path["user"])
    if found is None:
        return users.named(connection, str(asked.path["user"]))  # reports that there is none
    return found


def _record(
    connection: Connection, asked: Asked, action: str, subject: str, **details: object
) -> None:
    actor = audit.Actor(asked.user.name, asked.user.id)
    audit.record(connection, actor, action, subject, details=details)
