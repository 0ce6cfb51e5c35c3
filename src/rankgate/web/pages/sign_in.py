"""Sign in and out, and accept an invitation."""

from __future__ import annotations

from datetime import timedelta
from typing import TYPE_CHECKING

from rankgate.store.people import audit, invitations, secrets, sessions, users
from rankgate.web.endpoint import FORM, SESSION
from rankgate.web.render import assets
from rankgate.web.replies import Done, Page, Refused, Sent, not_found

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgate.store.people.users import User
    from rankgate.web.asked import Asked

_TRIES, _FROM_ONE, _SINCE = 10, 100, timedelta(minutes=15)
"""So many attempts may fail in this time for one name, and from one address."""


def page(asked: Asked) -> Page:
    """The form to sign in."""
    return Page(
        "sign_in.html", {"next": inside(asked.values["next"]), "provider": _provider(asked)}
    )


def sign_in(asked: Asked) -> Done:
    """Sign in; a session begins anew, so that one that was planted is of no use."""
    name, password = asked.values["name"], asked.values["password"]
    with asked.store.read() as connection:
        failed = sessions.failures(connection, name, "", _SINCE)
        from_one = sessions.failures(connection, "", asked.address, _SINCE)
        hashed = users.password_of(connection, name)
    if failed >= _TRIES or from_one >= _FROM_ONE:
        minutes = round(_SINCE.total_seconds() / 60)
        problem = f"Too many attempts failed; try again in {minutes} minutes."
        raise Refused(429, "too-many-attempts", problem, again=minutes * 60)
    good = secrets.fits(hashed, password)
    with asked.store.write() as connection:
        sessions.attempted(connection, name, asked.address, good=good)
        if not good:
            audit.record(connection, audit.Actor("nobody"), "sign-in.failed", name[:100])
        else:
            user = users.named(connection, name)
            secret = begun(asked, connection, user)
    if not good:
        raise Refused(403, "wrong-password", "The name or the password is wrong.")
    to = inside(asked.values["next"])
    return Done(to, {"user": user.name}, cookies={SESSION: secret, FORM: None})


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
    """The form by which somebody becomes a user."""
    with asked.store.read() as connection:
        found = invitations.find(connection, asked.path["secret"])
    if found is None:
        raise Refused(
            404,
            "invalid-invitation",
            "This invitation was used, has been revoked or is too old; ask for another.",
        )
    data = {"name": found.name, "admin": found.admin, "role": found.role}
    extra = {"secret": asked.path["secret"], "provider": _provider(asked)}
    return Page("invitation.html", data, extra)


def _provider(asked: Asked) -> str | None:
    """What the button for OpenID Connect calls the provider."""
    return None if asked.config.oidc is None else asked.config.oidc.name


def accept(asked: Asked) -> Done:
    """Become a user, and sign in."""
    given = asked.values
    hashed = secrets.password_hash(given["password"])
    with asked.store.write() as connection:
        user = invitations.accept(
            connection, asked.path["secret"], given["name"] or "", hashed, given["display"] or ""
        )
        audit.record(connection, audit.Actor(user.name, user.id), "invitation.accept", user.name)
        secret = begun(asked, connection, user)
    return Done("/projects", {"user": user.name}, cookies={SESSION: secret, FORM: None})


def change_password(asked: Asked) -> Done:
    """Another password; every session ends, and this one begins anew."""
    user = asked.user
    with asked.store.read() as connection:
        before = users.password_of(connection, user.name)
    if not secrets.fits(before, asked.values["before"]):
        raise Refused(403, "wrong-password", "The password is wrong.")
    hashed = secrets.password_hash(asked.values["password"])
    with asked.store.write() as connection:
        users.set_password(connection, user.id, hashed)
        asked.record(connection, "user.password", user.name)
        _, secret = sessions.begin(connection, user.id)
    return Done("/account", cookies={SESSION: secret})


def asset(asked: Asked) -> Sent:
    """A file that pages load."""
    found = assets().get(asked.path["name"])
    if found is None:
        raise not_found("file")
    return Sent(*found, fresh=False)
