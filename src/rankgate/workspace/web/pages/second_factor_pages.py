"""Pages for second factors: setup, sign-in with a code, and removal."""

from __future__ import annotations

from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from rankgate.store.people import acts, one_time_secrets, second_factors, sign_in
from rankgate.store.people.audit import NOBODY
from rankgate.workspace.web.endpoint import FORM, SESSION
from rankgate.workspace.web.pages.account_pages import (
    PENDING,
    begin_attempt,
    begin_session,
    find_path_user,
    landing_path,
    own_path,
    require_password,
)
from rankgate.workspace.web.rendering import qr_code
from rankgate.workspace.web.replies import ActionReply, PageReply, RequestRefused
from rankgate.workspace.web.shared_fields import NEXT_ADDRESS, PASSWORD
from rankgate.workspace.web.web_request import ADMIN, ANYONE, SIGNED_IN, Field, action, page

if TYPE_CHECKING:
    from rankgate.store.people.users import User
    from rankgate.workspace.web.web_request import WebRequest


_APP_CODE = Field("code", "Code of the app", required=True, most=40, help="Six digits.")

_CODE = Field(
    "code", "Code", required=True, most=40, help="Six digits from the app, or one of your recovery codes."
)


@page("sign-in-code-page", "/sign-in/code", ANYONE, "Enter your code", NEXT_ADDRESS)
def code_page(request: WebRequest) -> PageReply | ActionReply:
    """The form for a code after the password; without a correct password, the sign-in form."""
    if _pending_user(request) is None:
        return ActionReply("/sign-in")
    return PageReply("sign_in_code.html", {"next": own_path(request.values["next"])})


def _pending_user(request: WebRequest) -> User | None:
    """The user who gave the correct password in this browser a few minutes ago."""
    with request.store.read() as connection:
        return one_time_secrets.find(connection, request.cookies.get(PENDING, ""), "sign-in")


@action("sign-in-code", "/sign-in/code", ANYONE, "Sign in", _CODE, NEXT_ADDRESS)
def sign_in_with_code(request: WebRequest) -> ActionReply:
    """Sign in with a code after the password."""
    user = _pending_user(request)
    if user is None:
        raise _expired_refusal()
    kind = _use_code(request, user)
    with request.store.write() as connection:
        if one_time_secrets.use(connection, request.cookies.get(PENDING, ""), "sign-in") is None:
            raise _expired_refusal()
        secret = begin_session(request, connection, user, second_factor=kind)
        landing = landing_path(connection, user, request.values["next"])
    cookies = {SESSION: secret, FORM: None, PENDING: None}
    return ActionReply(landing, {"user": user.name}, cookies=cookies)


def _expired_refusal() -> RequestRefused:
    problem = "This sign-in has expired; begin it again with the password."
    return RequestRefused(403, "sign-in-expired", problem)


def _use_code(request: WebRequest, user: User) -> str:
    """Use the code of a request, and return its kind.

    Attempts are counted by user, from all addresses, because only users with the password reach
    this page.

    Raises:
        Refused: the code is wrong or was used; too many attempts failed.
    """
    with request.store.write() as connection:
        attempt = begin_attempt(connection, user.name, f"second factor {user.id}")
        kind = second_factors.use_code(connection, user.id, request.values["code"])
        sign_in.end_attempt(connection, attempt, is_right=kind is not None)
        if kind is None:
            NOBODY.record(connection, "sign-in.failed", user.name, second_factor="wrong code")
    if kind is None:
        problem = "This code is wrong, or was used already; wait for the next one of the app."
        raise RequestRefused(403, "wrong-code", problem, field="code")
    return kind


@action("second-factor-begin", "/account/second-factor", SIGNED_IN, "Set up a second factor", PASSWORD)
def begin_second_factor(request: WebRequest) -> PageReply:
    """The secret of a new second factor, shown once, with the form to confirm it."""
    require_password(request, request.values["password"])
    user = request.user
    with request.store.write() as connection:
        secret = second_factors.begin(connection, user.id)
    host = urlsplit(request.origin).hostname or ""
    link = second_factors.app_link(secret, user.name, f"rankgate {host}")
    data = {"secret": secret, "link": link}
    return PageReply("second_factor.html", data, {"picture": qr_code(link)})


@action(
    "second-factor-confirm",
    "/account/second-factor/confirm",
    SIGNED_IN,
    "Turn on the second factor",
    _APP_CODE,
)
def confirm_second_factor(request: WebRequest) -> PageReply:
    """Enable a second factor; recovery codes are shown once, and other sessions end."""
    user, session = request.user, request.who.session
    with request.store.write() as connection:
        codes = second_factors.confirm(connection, user.id, request.values["code"])
        if codes is not None:
            except_for = None if session is None else session.id
            sign_in.end_sessions(connection, user.id, except_for=except_for)
            request.record(connection, "second-factor.add", user.name)
    if codes is None:
        problem = "This code is wrong; write the one that the app shows now."
        raise RequestRefused(403, "wrong-code", problem, field="code")
    return PageReply("recovery_codes.html", {"codes": codes})


@action(
    "recovery-codes",
    "/account/second-factor/recovery-codes",
    SIGNED_IN,
    "Make new recovery codes",
    PASSWORD,
    _CODE,
)
def renew_recovery_codes(request: WebRequest) -> PageReply:
    """Create new recovery codes, shown once; earlier codes become invalid."""
    user = request.user
    require_password(request, request.values["password"])
    _use_code(request, user)
    with request.store.write() as connection:
        codes = second_factors.renew_recovery_codes(connection, user.id)
        request.record(connection, "second-factor.codes", user.name)
    return PageReply("recovery_codes.html", {"codes": codes})


@action(
    "second-factor-remove",
    "/account/second-factor/remove",
    SIGNED_IN,
    "Remove the second factor",
    PASSWORD,
    _CODE,
)
def remove_second_factor(request: WebRequest) -> ActionReply:
    """Remove the second factor of the signed-in user."""
    user = request.user
    require_password(request, request.values["password"])
    _use_code(request, user)
    with request.store.write() as connection:
        second_factors.remove(connection, user)
        request.record(connection, "second-factor.remove", user.name)
    return ActionReply("/account", {"user": user.name})


@action(
    "second-factor-remove-of-user",
    "/users/{user:int}/second-factor/remove",
    ADMIN,
    "Remove the second factor",
    scope=None,
)
def remove_second_factor_of_user(request: WebRequest) -> ActionReply:
    """Remove the second factor of a user who lost the device; their sessions end."""
    with request.store.write() as connection:
        user = find_path_user(connection, request)
        acts.remove_second_factor(connection, request.actor, user)
    return ActionReply("/users", {"user": user.name})
