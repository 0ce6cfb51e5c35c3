"""Sign in and out, and accept an invitation."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from rankgate.store.people import audit, invitations, secrets, sessions, users
from rankgate.workspace.web.endpoint import FORM, SESSION
from rankgate.workspace.web.fields import wrong
from rankgate.workspace.web.render import assets
from rankgate.workspace.web.replies import Done, Page, Refused, Sent, not_found

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgate.store.people.users import User
    from rankgate.workspace.web.asked import Asked

_TRIES, _FROM_ONE, _SINCE = 10, 100, timedelta(minutes=15)
"""So many attempts may fail in this time from one address: for one name, and for any."""


def page(asked: Asked) -> Page:
    """The form to sign in."""
    return Page(
        "sign_in.html", {"next": inside(asked.values["next"]), "provider": _provider(asked)}
    )


def sign_in(asked: Asked) -> Done:
    """Sign in; a session begins anew, so that one that was planted is of no use."""
    name, password = asked.values["name"], asked.values["password"]
    hashed = _verified(asked, name, password)
    if hashed is None:
        raise Refused(403, "wrong-password", "The name or the password is wrong.")
    newer = secrets.renewed(hashed, password)
    with asked.store.write() as connection:
        user = users.named(connection, name)
        if newer is not None:
            users.renew_hash(connection, hashed, newer)
        secret = begun(asked, connection, user)
    to = inside(asked.values["next"])
    return Done(to, {"user": user.name}, cookies={SESSION: secret, FORM: None})


def _verified(asked: Asked, name: str, password: str) -> str | None:
    """The hash of a password that is right; None if it is wrong.

    The attempt is counted before the hash is computed, so that many at once are no more tries.

    Raises:
        Refused: too many attempts failed.
    """
    with asked.store.write() as connection:
        attempt = sessions.begin_attempt(
            connection, name, asked.address, tries=_TRIES, from_one=_FROM_ONE, since=_SINCE
        )
        hashed = users.password_of(connection, name)
    if attempt is None:
        minutes = round(_SINCE.total_seconds() / 60)
        problem = f"Too many attempts failed; try again in {minutes} minutes."
        raise Refused(429, "too-many-attempts", problem, again=minutes * 60)
    good = secrets.fits(hashed, password)
    with asked.store.write() as connection:
        if good:
            sessions.succeeded(connection, attempt)
        else:
            audit.record(connection, audit.Actor("nobody"), "sign-in.failed", name[:100])
    return hashed if good else None


def begun(asked: Asked, connection: Connection, user: User) -> str:
    """Begin a session, and end the one that there was; its secret."""
    if asked.who.session is not None:
        sessions.end(connection, asked.who.session.id)
    audit.record(connection, audit.Actor(user.name, user.id), "sign-in", user.name)
    return sessions.begin(connection, user.id)[1]


def inside(path: str | None) -> str:
    """A path of our own to go on to; anything else is the list of projects."""
    good = path and path.startswith("/") and not path.startswith(("//", "/\\"))
    return path if path and good and path.isprintable() and "\\" not in path else "/projects"


def sign_out(asked: Asked) -> Done:
    """End the session."""
    with asked.store.write() as connection:
        if asked.who.session is not None:
            sessions.end(connection, asked.who.session.id)
    return Done("/sign-in", cookies={SESSION: None})


def invitation(asked: Asked) -> Page:
    """The form by which somebody becomes a user, or by which a user joins a project."""
    with asked.store.read() as connection:
        found = invitations.find(connection, asked.path["secret"])
        known = {user.name for user in users.listed(connection)} if found else set()
    if found is None:
        raise Refused(
            404,
            "invalid-invitation",
            "This invitation was used, has been revoked or is too old; ask for another.",
        )
    user = asked.who.user
    data = {"name": found.name, "admin": found.admin, "role": found.role}
    extra = {
        "secret": asked.path["secret"],
        "provider": _provider(asked),
        "joins": user is not None and found.name in {"", user.name},
        "has_account": found.name in known,
    }
    return Page("invitation.html", data, extra)


def _provider(asked: Asked) -> str | None:
    """What the button for OpenID Connect calls the provider."""
    return None if asked.config.oidc is None else asked.config.oidc.name


def accept(asked: Asked) -> Done:
    """Become a user, and sign in; who is signed in joins as who they are."""
    given, secret = asked.values, asked.path["secret"]
    if asked.who.user is not None:
        return _join(asked, asked.who.user)
    if given["password"] is None:
        raise wrong("Password", "is missing")
    hashed = secrets.password_hash(given["password"])
    with asked.store.write() as connection:
        user = invitations.accept(
            connection, secret, given["name"] or "", hashed, given["display"] or ""
        )
        audit.record(connection, audit.Actor(user.name, user.id), "invitation.accept", user.name)
        session = begun(asked, connection, user)
    return Done("/projects", {"user": user.name}, cookies={SESSION: session, FORM: None})


def _join(asked: Asked, user: User) -> Done:
    """Give a user who is signed in what an invitation gives."""
    with asked.store.write() as connection:
        found = invitations.find(connection, asked.path["secret"])
        if found is not None and found.name not in {"", user.name}:
            problem = f"This invitation is for {found.name}; sign in as {found.name} to use it."
            raise Refused(403, "other-invitation", problem)
        invitations.join(connection, found, user)
        audit.record(connection, audit.Actor(user.name, user.id), "invitation.accept", user.name)
    return Done("/projects", {"user": user.name})


def change_password(asked: Asked) -> Done:
    """Another password; every other session ends, and API tokens where the user asks for it."""
    user = asked.user
    if _verified(asked, user.name, asked.values["before"]) is None:
        raise Refused(403, "wrong-password", "The password is wrong.")
    hashed = secrets.password_hash(asked.values["password"])
    with asked.store.write() as connection:
        users.set_password(connection, user.id, hashed)
        if asked.values["end_tokens"]:
            users.end_tokens(connection, user.id)
        asked.record(connection, "user.password", user.name, tokens=asked.values["end_tokens"])
        _, secret = sessions.begin(connection, user.id)
    return Done("/account", cookies={SESSION: secret})


def asset(asked: Asked) -> Sent:
    """A file that pages load."""
    found = assets().get(asked.path["name"])
    if found is None:
        raise not_found("file")
    return Sent(*found, fresh=False)
