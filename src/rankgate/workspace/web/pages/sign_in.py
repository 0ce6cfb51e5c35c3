"""Sign in and out, and accept an invitation."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from rankgate.store.people import audit, invitations, secrets, sessions, users
from rankgate.workspace.web.endpoint import FORM, SESSION
from rankgate.workspace.web.fields import invalid_value
from rankgate.workspace.web.render import read_assets
from rankgate.workspace.web.replies import (
    ActionReply,
    FileReply,
    PageReply,
    RequestRefused,
    not_found,
)

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgate.store.people.users import User
    from rankgate.workspace.web.asked import WebRequest

_TRIES, _FROM_ONE, _SINCE = 10, 100, timedelta(minutes=15)
"""So many attempts may fail in this time from one address: for one name, and for any."""


def sign_in_page(request: WebRequest) -> PageReply:
    """The form to sign in."""
    return PageReply(
        "sign_in.html",
        {"next": own_path(request.values["next"]), "provider": _provider_name(request)},
    )


def sign_in(request: WebRequest) -> ActionReply:
    """Sign in with a new session, so that one that was planted is of no use."""
    name, password = request.values["name"], request.values["password"]
    hashed = _verify_password(request, name, password)
    if hashed is None:
        raise RequestRefused(403, "wrong-password", "The name or the password is wrong.")
    renewed_hash = secrets.renewed_hash(hashed, password)
    with request.store.write() as connection:
        user = users.get_by_name(connection, name)
        if renewed_hash is not None:
            users.renew_hash(connection, hashed, renewed_hash)
        secret = begin_session(request, connection, user)
    next_path = own_path(request.values["next"])
    return ActionReply(next_path, {"user": user.name}, cookies={SESSION: secret, FORM: None})


def _verify_password(request: WebRequest, name: str, password: str) -> str | None:
    """The hash of a password that is right; None if it is wrong.

    The attempt is counted before the hash is computed, so that parallel attempts count, too.

    Raises:
        Refused: too many attempts failed.
    """
    with request.store.write() as connection:
        attempt = sessions.begin_attempt(
            connection, name, request.address, tries=_TRIES, from_one=_FROM_ONE, since=_SINCE
        )
        hashed = users.password_of(connection, name)
    if attempt is None:
        minutes = round(_SINCE.total_seconds() / 60)
        problem = f"Too many attempts failed; try again in {minutes} minutes."
        raise RequestRefused(429, "too-many-attempts", problem, again=minutes * 60)
    is_right = secrets.verify_password(hashed, password)
    with request.store.write() as connection:
        if is_right:
            sessions.mark_success(connection, attempt)
        else:
            audit.record(connection, audit.Actor("nobody"), "sign-in.failed", name[:100])
    return hashed if is_right else None


def begin_session(request: WebRequest, connection: Connection, user: User) -> str:
    """Begin a session, and end the current one; return the secret of the new one."""
    if request.who.session is not None:
        sessions.end_session(connection, request.who.session.id)
    audit.record(connection, audit.Actor(user.name, user.id), "sign-in", user.name)
    return sessions.begin_session(connection, user.id)[1]


def own_path(path: str | None) -> str:
    """A path of our own to go on to; any other becomes the list of projects."""
    is_inside = path and path.startswith("/") and not path.startswith(("//", "/\\"))
    return path if path and is_inside and path.isprintable() and "\\" not in path else "/projects"


def sign_out(request: WebRequest) -> ActionReply:
    """End the session."""
    with request.store.write() as connection:
        if request.who.session is not None:
            sessions.end_session(connection, request.who.session.id)
    return ActionReply("/sign-in", cookies={SESSION: None})


def invitation_page(request: WebRequest) -> PageReply:
    """The form by which somebody becomes a user, or by which a user joins a project."""
    with request.store.read() as connection:
        pending_invitation = invitations.find(connection, request.path["secret"])
        user_names = (
            {user.name for user in users.list_users(connection)} if pending_invitation else set()
        )
    if pending_invitation is None:
        raise RequestRefused(
            404,
            "invalid-invitation",
            "This invitation was used, has been revoked or is too old; ask for another.",
        )
    user = request.who.user
    data = {
        "name": pending_invitation.name,
        "admin": pending_invitation.admin,
        "role": pending_invitation.role,
    }
    extra = {
        "secret": request.path["secret"],
        "provider": _provider_name(request),
        "joins": user is not None and pending_invitation.name in {"", user.name},
        "has_account": pending_invitation.name in user_names,
    }
    return PageReply("invitation.html", data, extra)


def _provider_name(request: WebRequest) -> str | None:
    """The name of the OpenID Connect provider on its button."""
    return None if request.config.oidc is None else request.config.oidc.name


def accept_invitation(request: WebRequest) -> ActionReply:
    """Become a user, and sign in; a signed-in user joins as themselves."""
    fields, secret = request.values, request.path["secret"]
    if request.who.user is not None:
        return _join_project(request, request.who.user)
    if fields["password"] is None:
        raise invalid_value("Password", "is missing")
    hashed = secrets.password_hash(fields["password"])
    with request.store.write() as connection:
        user = invitations.accept(
            connection, secret, fields["name"] or "", hashed, fields["display"] or ""
        )
        audit.record(connection, audit.Actor(user.name, user.id), "invitation.accept", user.name)
        session = begin_session(request, connection, user)
    return ActionReply("/projects", {"user": user.name}, cookies={SESSION: session, FORM: None})


def _join_project(request: WebRequest, user: User) -> ActionReply:
    """Give a user who is signed in what an invitation gives."""
    with request.store.write() as connection:
        pending = invitations.find(connection, request.path["secret"])
        if pending is not None and pending.name not in {"", user.name}:
            problem = f"This invitation is for {pending.name}; sign in as {pending.name} to use it."
            raise RequestRefused(403, "other-invitation", problem)
        invitations.apply_invitation(connection, pending, user)
        audit.record(connection, audit.Actor(user.name, user.id), "invitation.accept", user.name)
    return ActionReply("/projects", {"user": user.name})


def change_password(request: WebRequest) -> ActionReply:
    """Another password; every other session ends, and API tokens where the user asks for it."""
    user = request.user
    if _verify_password(request, user.name, request.values["before"]) is None:
        raise RequestRefused(403, "wrong-password", "The password is wrong.")
    hashed = secrets.password_hash(request.values["password"])
    with request.store.write() as connection:
        users.set_password(connection, user.id, hashed)
        if request.values["end_tokens"]:
            users.end_tokens(connection, user.id)
        request.record(connection, "user.password", user.name, tokens=request.values["end_tokens"])
        _, secret = sessions.begin_session(connection, user.id)
    return ActionReply("/account", cookies={SESSION: secret})


def asset_reply(request: WebRequest) -> FileReply:
    """A file that pages load."""
    asset_file = read_assets().get(request.path["name"])
    if asset_file is None:
        raise not_found("file")
    return FileReply(*asset_file, fresh=False)
