"""Pages for lost passwords: a link from an admin, or by e-mail, sets a new password."""

from __future__ import annotations

import logging
import re
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from functools import cache
from typing import TYPE_CHECKING

from rankgate.core.errors import RankgateError
from rankgate.store.people import acts, one_time_secrets, sign_in, users
from rankgate.store.people.audit import NOBODY, Actor
from rankgate.store.rows import now
from rankgate.workspace.records.alerts import alert_channels
from rankgate.workspace.web.pages.account_pages import begin_attempt, find_path_user, mails_links
from rankgate.workspace.web.replies import ActionReply, PageReply, RequestRefused, not_found
from rankgate.workspace.web.shared_fields import END_TOKENS, NEW_PASSWORD
from rankgate.workspace.web.web_request import ADMIN, ANYONE, Field, action, page

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgate.store.people.users import User
    from rankgate.store.store import Store
    from rankgate.workspace.web.web_request import WebRequest


_LOG = logging.getLogger("rankgate.web")

_FROM_ADMIN, _BY_MAIL = timedelta(days=1), timedelta(hours=1)
"""The time for which a link works."""

_MAX_MAILS, _MAIL_INTERVAL = 3, timedelta(minutes=15)
"""The largest number of messages to one user in this time, for all senders."""

_ADDRESS = re.compile(r"[^@]+@[^@]+")


@action(
    "password-link", "/users/{user:int}/password-link", ADMIN, "Make a link for a new password", scope=None
)
def make_link(request: WebRequest) -> PageReply:
    """Create a link with which a user sets a new password; an admin sees the link once."""
    with request.store.write() as connection:
        user = find_path_user(connection, request)
        if user.disabled:
            raise RequestRefused(409, "disabled", f"{user.name} may not sign in.")
        secret, end = one_time_secrets.issue(connection, user.id, "password", _FROM_ADMIN)
        request.record(connection, "user.password-link", user.name)
    link = f"{request.origin}{request.config.base}/password/{secret}"
    data = {"token": link, "name": user.name, "expires_at": end}
    return PageReply("secret.html", data, {"back": "/users", "what": "password"})


@page("lost-password-page", "/password", ANYONE, "New password")
def lost_password_page(request: WebRequest) -> PageReply:
    """The form to request a link by e-mail."""
    if not mails_links(request.config):
        raise not_found()
    return PageReply("lost_password.html", {"sent": False})


@action(
    "lost-password",
    "/password",
    ANYONE,
    "Send a link",
    Field("name", "E-mail address", required=True, most=100),
)
def ask_for_link(request: WebRequest) -> PageReply:
    """Send a password link to a user whose name is an e-mail address.

    The reply is the same for every name, and is made before the store is queried, so that neither
    its text nor its duration reveals whether the user exists.
    """
    if not mails_links(request.config):
        raise not_found()
    name = request.values["name"].strip().lower()
    with request.store.write() as connection:
        attempt = begin_attempt(connection, f"password of {name}", request.address)
        sign_in.end_attempt(connection, attempt, is_right=False)  # every request counts
    _senders().submit(_mail_link, request.store, name, request.config.link)
    return PageReply("lost_password.html", {"sent": True})


@cache
def _senders() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(2, "rankgate-mail")


def _mail_link(store: Store, name: str, server_link: str) -> None:
    """Send a link if the named user exists and has a password and an e-mail address."""
    try:
        with store.write() as connection:
            user = _user_by_address(connection, name)
            if user is None:
                return
            secret, _ = one_time_secrets.issue(connection, user.id, "password", _BY_MAIL)
            NOBODY.record(connection, "user.password-mail", user.name)
        text = (
            f"Somebody asked for a new password for {user.name} at {server_link}.\n\n"
            f"Set it here, once, within an hour:\n{server_link}/password/{secret}\n\n"
            "If it was not you, do nothing: the password stays as it is.\n"
        )
        alert_channels.send_text([user.name], "A new password for rankgate", text)
    except RankgateError as error:
        _LOG.warning("a link to set a password was not sent: %s", error)
    except Exception:  # noqa: BLE001 - nobody waits for this thread
        _LOG.exception("a link to set a password was not sent")


def _user_by_address(connection: Connection, name: str) -> User | None:
    """The user who may receive a link at an address.

    A user who signs in only by a provider has no password, and cannot set one.
    """
    if not _ADDRESS.fullmatch(name) or users.password_of(connection, name) is None:
        return None
    user = users.get_by_name(connection, name)
    first_moment = now() - _MAIL_INTERVAL
    count = one_time_secrets.count_since(connection, user.id, "password", first_moment)
    return user if count < _MAX_MAILS else None


@page("new-password-page", "/password/{secret}", ANYONE, "New password")
def password_page(request: WebRequest) -> PageReply:
    """The form to set a new password with a link."""
    return PageReply("password.html", {"name": _find_user(request).name})


@action("new-password", "/password/{secret}", ANYONE, "Set the password", NEW_PASSWORD, END_TOKENS)
def set_password(request: WebRequest) -> ActionReply:
    """Set the password with a link, which works once; all sessions of the user end."""
    _find_user(request)  # checked before the slow computation of the hash
    hashed = sign_in.password_hash(request.values["password"])
    with request.store.write() as connection:
        user = one_time_secrets.use(connection, request.path["secret"], "password")
        if user is None:
            raise _invalid_link()
        actor, end_tokens = Actor(user.name, user.id), request.values["end_tokens"]
        acts.set_password(connection, actor, user, hashed, end_tokens=end_tokens, by="link")
    return ActionReply("/sign-in?password_is_set=1", {"user": user.name})


def _find_user(request: WebRequest) -> User:
    with request.store.read() as connection:
        user = one_time_secrets.find(connection, request.path["secret"], "password")
    if user is None:
        raise _invalid_link()
    return user


def _invalid_link() -> RequestRefused:
    problem = "This link was used, or is too old; ask for another."
    return RequestRefused(410, "invalid-link", problem)
