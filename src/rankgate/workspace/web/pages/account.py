"""The account of a user: password and API tokens."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from rankgate.store.material import projects
from rankgate.store.people import tokens
from rankgate.store.rows import now
from rankgate.workspace.web.replies import Done, Page, not_found

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgate.store.people.tokens import Token
    from rankgate.store.people.users import User
    from rankgate.workspace.web.asked import Asked


def page(asked: Asked) -> Page:
    """Who is signed in, and their tokens."""
    with asked.store.read() as connection:
        found = tokens.listed(connection, asked.user.id)
    user = asked.user
    data = {
        "user": {"name": user.name, "display": user.display, "admin": user.admin},
        "tokens": [_shown(each) for each in found],
    }
    return Page("account.html", data)


def _shown(token: Token) -> dict[str, Any]:
    names = ("id", "name", "scopes", "project", "created_at", "expires_at", "revoked_at", "used_at")
    return {name: getattr(token, name) for name in names}


def issue(asked: Asked) -> Page:
    """A new token, whose secret is shown once."""
    given = asked.values
    scopes = [each for each in tokens.SCOPES if given[each]] or ["read"]
    with asked.store.write() as connection:
        project = None
        if given["project"]:
            project = _project_of(connection, asked.user, given["project"])
        token, secret = tokens.issue(
            connection, asked.user.id, given["name"], scopes, project=project,
            expires_at=now() + timedelta(days=given["days"] or 90),
        )  # fmt: skip
        asked.record(connection, "token.issue", token.name, scopes=scopes)
    data = {"token": secret, "name": token.name, "expires_at": token.expires_at}
    return Page("secret.html", data, {"back": "/account", "what": "token"})


def _project_of(connection: Connection, user: User, name: str) -> int:
    """The number of a project in which a user has a role; others are not there."""
    here = projects.listed(connection, None if user.admin else user.id)
    numbers = [project.id for project in here if project.name == name]
    if not numbers:
        raise not_found("project")
    return numbers[0]


def revoke(asked: Asked) -> Done:
    """End a token."""
    with asked.store.write() as connection:
        mine = {each.id for each in tokens.listed(connection, asked.user.id)}
        if asked.path["token"] not in mine:
            raise not_found("token")
        found = tokens.revoke(connection, asked.path["token"])
        asked.record(connection, "token.revoke", found.name)
    return Done("/account", {"token": found.id})
