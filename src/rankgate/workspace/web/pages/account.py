"""The account of a user: password and API tokens."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING, Any

from rankgate.store.material import projects
from rankgate.store.people import tokens
from rankgate.store.rows import now
from rankgate.workspace.web.replies import ActionReply, PageReply, not_found

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgate.store.people.tokens import Token
    from rankgate.store.people.users import User
    from rankgate.workspace.web.asked import WebRequest


def account_page(request: WebRequest) -> PageReply:
    """The signed-in user, with their tokens."""
    with request.store.read() as connection:
        user_tokens = tokens.list_tokens(connection, request.user.id)
    user = request.user
    data = {
        "user": {"name": user.name, "display": user.display, "admin": user.admin},
        "tokens": [_token_view(token) for token in user_tokens],
    }
    return PageReply("account.html", data)


def _token_view(token: Token) -> dict[str, Any]:
    names = ("id", "name", "scopes", "project", "created_at", "expires_at", "revoked_at", "used_at")
    return {name: getattr(token, name) for name in names}


def issue_token(request: WebRequest) -> PageReply:
    """A new token, whose secret is shown once."""
    fields = request.values
    scopes = [scope for scope in tokens.SCOPES if fields[scope]] or ["read"]
    with request.store.write() as connection:
        project = None
        if fields["project"]:
            project = _find_project(connection, request.user, fields["project"])
        token, secret = tokens.issue_token(
            connection,
            request.user.id,
            fields["name"],
            scopes,
            project=project,
            expires_at=now() + timedelta(days=fields["days"] or 90),
        )
        request.record(connection, "token.issue", token.name, scopes=scopes)
    data = {"token": secret, "name": token.name, "expires_at": token.expires_at}
    return PageReply("secret.html", data, {"back": "/account", "what": "token"})


def _find_project(connection: Connection, user: User, name: str) -> int:
    """The number of a project in which a user has a role; others are not there."""
    user_projects = projects.list_projects(connection, None if user.admin else user.id)
    numbers = [project.id for project in user_projects if project.name == name]
    if not numbers:
        raise not_found("project")
    return numbers[0]


def revoke_token(request: WebRequest) -> ActionReply:
    """End a token."""
    with request.store.write() as connection:
        token_ids = {token.id for token in tokens.list_tokens(connection, request.user.id)}
        if request.path["token"] not in token_ids:
            raise not_found("token")
        token = tokens.revoke_token(connection, request.path["token"])
        request.record(connection, "token.revoke", token.name)
    return ActionReply("/account", {"token": token.id})
