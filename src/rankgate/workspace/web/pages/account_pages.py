"""Pages for sign-in, the account of a user, and the users of the server.

Users sign in with a password or at an OpenID Connect provider, sign out, and accept invitations.
The account page has password, sessions and API tokens; second factors and lost passwords have
separate modules. The list of users is for admins of the server.
"""

from __future__ import annotations

import hmac
from datetime import timedelta
from typing import TYPE_CHECKING, Any
from urllib.parse import quote

from rankgate.core.errors import UsageError, require
from rankgate.core.present.number_formats import count_noun
from rankgate.store.material import projects
from rankgate.store.people import acts, invitations, one_time_secrets, second_factors, sign_in, users
from rankgate.store.people import sign_in as secrets
from rankgate.store.people import sign_in as sessions
from rankgate.store.people.audit import NOBODY, Actor
from rankgate.store.rating import tasks
from rankgate.workspace.records.alerts import alert_channels
from rankgate.workspace.web import oidc_users
from rankgate.workspace.web.endpoint import FORM, SESSION
from rankgate.workspace.web.oidc_users import find_user
from rankgate.workspace.web.rendering import read_assets
from rankgate.workspace.web.replies import (
    ActionReply,
    FileReply,
    PageReply,
    RedirectReply,
    RequestRefused,
    not_found,
)
from rankgate.workspace.web.shared_fields import END_TOKENS, NAME, NEW_PASSWORD, NEXT_ADDRESS, PASSWORD
from rankgate.workspace.web.texts import LANGUAGE, read_languages
from rankgate.workspace.web.web_request import ADMIN, ANYONE, SIGNED_IN, Field, action, invalid_value, page

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgate.store.people.sign_in import Session, Token
    from rankgate.store.people.users import User
    from rankgate.workspace.web.oidc_provider import Provider
    from rankgate.workspace.web.oidc_users import OidcSettings
    from rankgate.workspace.web.rendering import PageRow
    from rankgate.workspace.web.server_config import ServerConfig
    from rankgate.workspace.web.web_request import WebRequest


_TRIES, _FROM_ONE, _SINCE = 10, 100, timedelta(minutes=15)
"""The allowed attempts for one name and for all names from an address, and the period."""

PENDING = "rankgate_sign_in"
"""The cookie of a user who sent the right password but not yet the code."""

_CODE_TIME = timedelta(minutes=10)
"""The time limit for the code after the password."""


_NAME = Field("name", "Name", most=100, help="Letters, digits and . @ + - _")


@page("sign-in-page", "/sign-in", ANYONE, "Sign in", NEXT_ADDRESS, Field("password_is_set", kind="flag"))
def sign_in_page(request: WebRequest) -> PageReply:
    """The sign-in form."""
    data = {
        "next": own_path(request.values["next"]),
        "provider": _provider_name(request),
        "password_is_set": request.values["password_is_set"],
        "mails_links": mails_links(request.config),
    }
    return PageReply("sign_in.html", data)


def mails_links(config: ServerConfig) -> bool:
    """True if the server sends links to set a password by e-mail.

    The operator must have configured the mail server and the public address of this server, because
    an address taken from a request could lead to another site.
    """
    if not config.link:
        return False
    try:
        alert_channels.read_mail_server()
    except UsageError:
        return False
    return True


@action(
    "language",
    "/language",
    ANYONE,
    "Choose the language",
    Field(
        "language",
        "Language of the pages of raters",
        "choice",
        required=True,
        choices=tuple((texts.code, texts.language) for texts in read_languages().values()),
    ),
    NEXT_ADDRESS,
)
def choose_language(request: WebRequest) -> ActionReply:
    """Set the language of the rater pages in this browser."""
    language = request.values["language"]
    return ActionReply(own_path(request.values["next"]), {"language": language}, cookies={LANGUAGE: language})


@action("sign-in", "/sign-in", ANYONE, "Sign in", NAME, PASSWORD, NEXT_ADDRESS)
def sign_in_with_password(request: WebRequest) -> ActionReply:
    """Sign in with a new session, so that an attacker's planted session is useless.

    If the user has a second factor, no session begins yet, and the page for the code follows.
    """
    name, password = request.values["name"], request.values["password"]
    hashed = _verify_password(request, name, password)
    if hashed is None:
        raise RequestRefused(403, "wrong-password", "The name or the password is wrong.")
    renewed_hash = secrets.renewed_hash(hashed, password)
    with request.store.write() as connection:
        user = users.get_by_name(connection, name)
        next_path = landing_path(connection, user, request.values["next"])
        if renewed_hash is not None:
            users.renew_hash(connection, hashed, renewed_hash)
        if second_factors.has_second_factor(connection, user.id):
            pending, _ = one_time_secrets.issue(connection, user.id, "sign-in", _CODE_TIME)
            code_path = f"/sign-in/code?next={quote(next_path, safe='')}"
            return ActionReply(code_path, {"second_factor": True}, cookies={PENDING: pending})
        secret = begin_session(request, connection, user)
    return ActionReply(next_path, {"user": user.name}, cookies={SESSION: secret, FORM: None})


def _verify_password(request: WebRequest, name: str, password: str) -> str | None:
    """The hash of a correct password; None if the password is wrong.

    The attempt is counted before the hash is computed, so that parallel attempts also count.

    Raises:
        Refused: too many attempts failed.
    """
    with request.store.write() as connection:
        attempt = begin_attempt(connection, name, request.address)
        hashed = users.password_of(connection, name)
    is_right = secrets.verify_password(hashed, password)
    with request.store.write() as connection:
        sessions.end_attempt(connection, attempt, is_right=is_right)
        if not is_right:
            NOBODY.record(connection, "sign-in.failed", name[:100])
    return hashed if is_right else None


def begin_attempt(connection: Connection, name: str, address: str) -> int:
    """Record a sign-in attempt, which counts as failed until it succeeds; return its number.

    Raises:
        Refused: too many attempts failed.
    """
    attempt = sessions.begin_attempt(
        connection, name, address, tries=_TRIES, from_one=_FROM_ONE, since=_SINCE
    )
    if attempt is None:
        minutes = round(_SINCE.total_seconds() / 60)
        problem = f"Too many attempts failed; try again in {count_noun(minutes, 'minute')}."
        raise RequestRefused(429, "too-many-attempts", problem, again=minutes * 60)
    return attempt


def begin_session(request: WebRequest, connection: Connection, user: User, **details: Any) -> str:
    """Begin a session, and end the current one; return the secret of the new one."""
    if request.who.session is not None:
        sessions.end_session(connection, request.who.session.id)
    Actor(user.name, user.id).record(connection, "sign-in", user.name, **details)
    return _new_session(request, connection, user)


def _new_session(request: WebRequest, connection: Connection, user: User) -> str:
    _, secret = sessions.begin_session(connection, user.id, address=request.address, browser=request.browser)
    return secret


def own_path(path: str | None) -> str:
    """A path of this server to continue to; any other path becomes the list of projects."""
    is_inside = path and path.startswith("/") and not path.startswith(("//", "/\\"))
    return path if path and is_inside and path.isprintable() and "\\" not in path else _PROJECTS


_PROJECTS = "/projects"


def landing_path(connection: Connection, user: User, path: str | None = None) -> str:
    """The path after signing in: that of a link, else a rater's next task, else the list of projects.

    People who only rate come to the project with open tasks; with several projects and no open task they
    come to the list.

    Args:
        connection: a connection to the store.
        user: the user who signs in.
        path: the path of the link that asked for the sign-in.
    """
    next_path = own_path(path)
    if next_path not in {"/", _PROJECTS} or user.admin:
        return next_path
    user_projects = projects.list_projects(connection, user.id)
    if any(users.role_of(connection, project.id, user.id) != "rater" for project in user_projects):
        return next_path
    waiting = [p for p in user_projects if tasks.count_unanswered(connection, p.id, user.id) > 0]
    rated = waiting or (user_projects if len(user_projects) == 1 else [])
    return f"{_PROJECTS}/{rated[0].name}/rate" if rated else next_path


@action("sign-out", "/sign-out", SIGNED_IN, "Sign out")
def sign_out(request: WebRequest) -> ActionReply:
    """Sign out and end the session."""
    with request.store.write() as connection:
        if request.who.session is not None:
            sessions.end_session(connection, request.who.session.id)
    return ActionReply("/sign-in", cookies={SESSION: None})


@page("invitation", "/invitations/{secret}", ANYONE, "You are invited")
def invitation_page(request: WebRequest) -> PageReply:
    """The form to become a user, or to join a project."""
    with request.store.read() as connection:
        pending_invitation = invitations.find(connection, request.path["secret"])
        user_names = {user.name for user in users.list_users(connection)} if pending_invitation else set()
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
    """The name of the OpenID Connect provider on the sign-in button."""
    return None if request.config.oidc is None else request.config.oidc.name


@action(
    "accept",
    "/invitations/{secret}",
    ANYONE,
    "Accept",
    _NAME,
    Field("display", "Your name, as others see it", most=100),
    Field("password", "Password", "secret", most=1_000, help="Ten characters or more."),
)
def accept_invitation(request: WebRequest) -> ActionReply:
    """Create the invited user and sign in; a signed-in user joins with the current account."""
    fields, secret = request.values, request.path["secret"]
    if request.who.user is not None:
        return _join_project(request, request.who.user)
    if fields["password"] is None:
        raise invalid_value("Password", "is missing")
    hashed = secrets.password_hash(fields["password"])
    with request.store.write() as connection:
        user = invitations.accept(connection, secret, fields["name"] or "", hashed, fields["display"] or "")
        Actor(user.name, user.id).record(connection, "invitation.accept", user.name)
        session = begin_session(request, connection, user)
        landing = landing_path(connection, user)
    return ActionReply(landing, {"user": user.name}, cookies={SESSION: session, FORM: None})


def _join_project(request: WebRequest, user: User) -> ActionReply:
    """Give a signed-in user the role of an invitation."""
    with request.store.write() as connection:
        pending = invitations.find(connection, request.path["secret"])
        if pending is not None and pending.name not in {"", user.name}:
            problem = f"This invitation is for {pending.name}; sign in as {pending.name} to use it."
            raise RequestRefused(403, "other-invitation", problem)
        invitations.apply_invitation(connection, pending, user)
        Actor(user.name, user.id).record(connection, "invitation.accept", user.name)
        landing = landing_path(connection, user)
    return ActionReply(landing, {"user": user.name})


@action(
    "password",
    "/account/password",
    SIGNED_IN,
    "Change the password",
    Field("before", "Password until now", "secret", required=True, most=1_000),
    NEW_PASSWORD,
    END_TOKENS,
)
def change_password(request: WebRequest) -> ActionReply:
    """Change the password, and end all other sessions and, on request, API tokens."""
    user = request.user
    require_password(request, request.values["before"])
    hashed = secrets.password_hash(request.values["password"])
    with request.store.write() as connection:
        acts.set_password(connection, request.actor, user, hashed, end_tokens=request.values["end_tokens"])
        secret = _new_session(request, connection, user)
    return ActionReply("/account", cookies={SESSION: secret})


def require_password(request: WebRequest, password: str) -> None:
    """Check the password of the signed-in user.

    Raises:
        Refused: the password is wrong, or too many attempts failed.
    """
    if _verify_password(request, request.user.name, password) is None:
        raise RequestRefused(403, "wrong-password", "The password is wrong.")


@page("asset", "/assets/{name}", ANYONE, "Asset", Field("v", most=64))
def asset_reply(request: WebRequest) -> FileReply:
    """A static file for pages."""
    asset_file = read_assets().get(request.path["name"])
    if asset_file is None:
        raise not_found("file")
    return FileReply(*asset_file, fresh=False)


_PATH = "/sign-in/oidc"


def _oidc_settings(request: WebRequest) -> OidcSettings:
    if request.config.oidc is None:
        raise not_found()
    return request.config.oidc


def _find_provider(request: WebRequest, settings: OidcSettings) -> Provider:
    """The provider of the server, with its cached description and keys."""
    require("sign-in by OpenID Connect needs Authlib and joserfc", "authlib", "joserfc")
    from rankgate.workspace.web.oidc_provider import Provider

    return request.cache.get(("provider", settings), lambda: Provider(settings))


def _redirect_address(request: WebRequest) -> str:
    return f"{request.origin}{request.config.base}{_PATH}/callback"


@page("oidc", "/sign-in/oidc", ANYONE, "Sign in with a provider", NEXT_ADDRESS, Field("invitation", most=200))
def begin_oidc(request: WebRequest) -> RedirectReply:
    """Redirect the browser to the provider."""
    settings = _oidc_settings(request)
    address, pending_state = _find_provider(request, settings).begin(_redirect_address(request))
    pending_state |= {
        "next": own_path(request.values["next"]),
        "invitation": request.values["invitation"] or "",
    }
    return RedirectReply(address, {oidc_users.COOKIE: oidc_users.seal_cookie(settings, pending_state)})


@page(
    "oidc-callback",
    "/sign-in/oidc/callback",
    ANYONE,
    "Sign in with a provider",
    Field("state", most=200),
    Field("code", most=4_000),
    Field("iss", most=2_000),
    Field("error", most=200),
)
def oidc_callback(request: WebRequest) -> ActionReply:
    """Handle the return from the provider, and sign in with a new session."""
    settings, fields = _oidc_settings(request), request.values
    pending_state = oidc_users.open_cookie(settings, request.cookies.get(oidc_users.COOKIE, ""))
    if pending_state is None or not hmac.compare_digest(
        pending_state["state"].encode(), (fields["state"] or "").encode()
    ):
        problem = "This sign-in was not begun in this browser, or too long ago; sign in again."
        raise RequestRefused(403, "unknown-state", problem)
    if fields["error"] or not fields["code"]:
        raise RequestRefused(403, "provider-refused", "The sign-in provider did not sign you in.")
    with request.store.write() as connection:
        if sign_in.use_once(connection, pending_state["state"]):
            raise RequestRefused(403, "unknown-state", "This sign-in was used already; sign in again.")
    claims = _find_provider(request, settings).claims(
        fields["code"], pending_state, _redirect_address(request), fields["iss"]
    )
    try:
        with request.store.write() as connection:
            user = find_user(connection, settings, claims, pending_state["invitation"])
            secret = begin_session(request, connection, user)
            landing = landing_path(connection, user, pending_state["next"])
    except RequestRefused as refused:
        with request.store.write() as connection:
            email = _claimed_email(claims)
            NOBODY.record(connection, "sign-in.failed", email, code=refused.code, issuer=settings.issuer)
        raise
    cookies = {SESSION: secret, oidc_users.COOKIE: None}
    return ActionReply(landing, {"user": user.name}, cookies=cookies)


def _claimed_email(claims: object) -> str:
    email = claims.get("email") if isinstance(claims, dict) else None
    return email[:100] if isinstance(email, str) and email.isprintable() else ""


@page("account", "/account", SIGNED_IN, "Your account", scope="read")
def account_page(request: WebRequest) -> PageReply:
    """The account page: the user and tokens; sessions only if the request has a session."""
    user = request.user
    with request.store.read() as connection:
        user_tokens = sign_in.list_tokens(connection, user.id)
        user_sessions = sign_in.list_sessions(connection, user.id)
        security = {
            "has_password": users.password_of(connection, user.name) is not None,
            "second_factor": second_factors.has_second_factor(connection, user.id),
            "recovery_codes": second_factors.count_recovery_codes(connection, user.id),
        }
    data: PageRow = {
        "user": {"name": user.name, "display": user.display, "admin": user.admin},
        "tokens": [_token_view(token) for token in user_tokens],
    }
    current_session = request.who.session
    if current_session is not None:
        session_rows = [_session_view(session, current_session) for session in user_sessions]
        data |= {"sessions": session_rows, "security": security}
    return PageReply("account.html", data)


def _session_view(session: Session, current_session: Session) -> PageRow:
    names = ("id", "created_at", "seen_at", "expires_at", "address", "browser")
    view = {name: getattr(session, name) for name in names}
    return view | {"current": session.id == current_session.id, "title": browser_title(session.browser)}


_BROWSERS = {"Edg": "Edge", "OPR": "Opera", "Firefox": "Firefox", "FxiOS": "Firefox"} | {
    "CriOS": "Chrome",
    "Chrome": "Chrome",
    "Safari": "Safari",
}
_SYSTEMS = {"Android": "Android", "iPhone": "iPhone", "iPad": "iPad", "Windows": "Windows"} | {
    "CrOS": "ChromeOS",
    "Mac OS X": "macOS",
    "Linux": "Linux",
}
"""Words in user agents for browsers and systems; words that also occur in other names come last."""


def browser_title(browser: str) -> str:
    """The name of a browser and its system, or the start of its user agent.

    >>> browser_title("Mozilla/5.0 (X11; Linux x86_64; rv:140.0) Gecko/20100101 Firefox/140.0")
    'Firefox on Linux'
    >>> browser_title("curl/8.9")
    'curl/8.9'
    """
    program = next((title for word, title in _BROWSERS.items() if f"{word}/" in browser), "")
    system = next((title for word, title in _SYSTEMS.items() if word in browser), "")
    return f"{program} on {system}" if program and system else browser[:60]


@action("session-end", "/account/sessions/{session:int}/end", SIGNED_IN, "End the session")
def end_session(request: WebRequest) -> ActionReply:
    """End a session of the user; ending the current session is a sign-out."""
    with request.store.write() as connection:
        user_sessions = sign_in.list_sessions(connection, request.user.id)
        if request.path["session"] not in {session.id for session in user_sessions}:
            raise not_found("session")
        sessions.end_session(connection, request.path["session"])
        request.record(connection, "session.end", request.user.name)
    return ActionReply("/account", {"session": request.path["session"]})


@action("sessions-end", "/account/sessions/end", SIGNED_IN, "End all other sessions")
def end_other_sessions(request: WebRequest) -> ActionReply:
    """End all sessions of the user except the current session."""
    current_session = request.who.session
    assert current_session is not None  # tokens may not use this route
    with request.store.write() as connection:
        count = sign_in.end_sessions(connection, request.user.id, except_for=current_session.id)
        request.record(connection, "session.end", request.user.name, sessions=count)
    return ActionReply("/account", {"ended": count})


def _token_view(token: Token) -> PageRow:
    names = ("id", "name", "scopes", "project", "created_at", "expires_at", "revoked_at", "used_at")
    return {name: getattr(token, name) for name in names}


@action(
    "token-issue",
    "/account/tokens",
    SIGNED_IN,
    "Make a token",
    Field("name", "What it is for", required=True, most=100),
    Field("project", "Only in this project", most=63),
    Field("days", "Days until it ends", "whole", default="90", least=1, largest=3_650),
    Field("read", "read: see results", "flag", default="1"),
    Field("record", "record: record evaluations, and nothing else", "flag"),
    Field("rate", "rate: give ratings", "flag"),
    Field("manage", "manage: set up and resolve", "flag"),
    Field("admin", "admin: everything that you may do", "flag"),
)
def issue_token(request: WebRequest) -> PageReply:
    """Create a token; its secret is shown once."""
    fields = request.values
    scopes = [scope for scope in sign_in.SCOPES if fields[scope]] or ["read"]
    with request.store.write() as connection:
        if fields["project"]:
            # refuse a project in which the user has no role, as if it did not exist
            user_projects = projects.list_projects(
                connection, None if request.user.admin else request.user.id
            )
            if fields["project"] not in {project.name for project in user_projects}:
                raise not_found("project")
        token, secret = acts.add_token(
            connection,
            request.actor,
            request.user,
            fields["name"],
            scopes,
            project=fields["project"] or None,
            days=fields["days"] or 90,
        )
    data = {"token": secret, "name": token.name, "expires_at": token.expires_at}
    return PageReply("secret.html", data, {"back": "/account", "what": "token"})


@action("token-revoke", "/account/tokens/{token:int}/revoke", SIGNED_IN, "End the token")
def revoke_token(request: WebRequest) -> ActionReply:
    """Revoke a token."""
    with request.store.write() as connection:
        token_ids = {token.id for token in sign_in.list_tokens(connection, request.user.id)}
        if request.path["token"] not in token_ids:
            raise not_found("token")
        token = acts.revoke_token(connection, request.actor, request.path["token"])
    return ActionReply("/account", {"token": token.id})


@page("users", "/users", ADMIN, "Users")
def users_page(request: WebRequest) -> PageReply:
    """The page of all users."""
    with request.store.read() as connection:
        all_users = users.list_users(connection)
        secured_users = second_factors.users_with_second_factor(connection)
    rows = [
        {
            "id": user.id,
            "name": user.name,
            "display": user.display,
            "admin": user.admin,
            "disabled": user.disabled,
            "second_factor": user.id in secured_users,
            "created_at": user.created_at,
        }
        for user in all_users
    ]
    return PageReply("users.html", {"users": rows})


@action(
    "user-change",
    "/users/{user:int}",
    ADMIN,
    "Change the user",
    Field("sign_in", "May sign in", "choice", choices=(("yes", "yes"), ("no", "no"))),
    Field("admin", "Admin of the server", "choice", choices=(("yes", "yes"), ("no", "no"))),
)
def change_user(request: WebRequest) -> ActionReply:
    """Change whether a user may sign in and is an admin."""
    fields = request.values
    with request.store.write() as connection:
        user = find_path_user(connection, request)
        if fields["sign_in"] is not None:
            users.disable(connection, user.id, disabled=fields["sign_in"] == "no")
        if fields["admin"] is not None:
            users.set_admin(connection, user.id, admin=fields["admin"] == "yes")
        changes = {name: fields[name] for name in ("sign_in", "admin") if fields[name]}
        request.record(connection, "user.change", user.name, **changes)
    return ActionReply("/users", {"user": user.name})


@action(
    "user-remove",
    "/users/{user:int}/remove",
    ADMIN,
    "Remove the user",
    Field("confirm", "Write the name that they sign in with", required=True, most=100),
)
def remove_user(request: WebRequest) -> ActionReply:
    """Remove a user's name, password and roles; ratings stay under a pseudonym."""
    with request.store.write() as connection:
        user = find_path_user(connection, request)
        if request.values["confirm"] != user.name:
            raise invalid_value("confirm", f"write {user.name} to remove this user")
        name = acts.remove_user(connection, request.actor, user)
    return ActionReply("/users", {"pseudonym": name})


def find_path_user(connection: Connection, request: WebRequest) -> User:
    """The user with the number in the path.

    Raises:
        UsageError: the user does not exist.
    """
    user = users.get(connection, request.path["user"])
    if user is None:
        return users.get_by_name(connection, str(request.path["user"]))  # raises an error
    return user
