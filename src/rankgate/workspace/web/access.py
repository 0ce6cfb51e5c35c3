"""Identify the sender of a request, and check their permission."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING

from rankgate.store.people import sessions, signed_in, tokens
from rankgate.store.people.tokens import Token
from rankgate.store.rows import now
from rankgate.workspace.web.asked import Identity
from rankgate.workspace.web.replies import RequestRefused, not_found
from rankgate.workspace.web.route import ADMIN, ANYONE, SIGNED_IN

if TYPE_CHECKING:
    from rankgate.store.people.sessions import Session
    from rankgate.store.store import Store
    from rankgate.workspace.web.route import Route

_ALLOWED_SCOPES = {
    "read": {"read"},
    "record": {"record"},
    "rate": {"rate"},
    "manage": {"manage", "record", "read"},
    "admin": {"admin", "manage", "record", "rate", "read"},
}
"""The scopes that each scope of a token includes."""

_TOUCH_INTERVAL = timedelta(minutes=5)


def identify_sender(
    store: Store, project: str | None, cookie: str | None, bearer: str | None
) -> Identity:
    """Identify the sender of a request by a token or a cookie, with their role in a project.

    Raises:
        Refused: a token that is not valid.
    """
    session: Session | None = None
    token: Token | None = None
    if bearer is None and not cookie:
        return Identity()
    with store.read(once=True) as connection:
        if bearer is not None:
            account = signed_in.by_token(connection, bearer, project)
        else:
            account = signed_in.by_session(connection, cookie or "", project)
    if account is None:
        if bearer is not None:
            raise RequestRefused(401, "invalid-token", "The token is not valid, or has ended.")
        return Identity()
    role, stored_project = account.role, account.project
    if isinstance(account.owner, Token):
        token = account.owner
        if stored_project is not None and token.project not in {None, stored_project.id}:
            role = None
    else:
        session = account.owner
    stored_project = stored_project if role else None
    return _store_last_use(
        store, Identity(account.user, session, token, stored_project, role, account.rater)
    )


def _store_last_use(store: Store, identity: Identity) -> Identity:
    """Store the last use of a session or token, once in five minutes."""
    moment = now()
    if identity.session is not None and moment - identity.session.seen_at > _TOUCH_INTERVAL:
        with store.write() as connection:
            sessions.extend_session(connection, identity.session.id)
    if identity.token is not None and (
        identity.token.used_at is None or moment - identity.token.used_at > _TOUCH_INTERVAL
    ):
        with store.write() as connection:
            tokens.note_token_use(connection, identity.token.id)
    return identity


def refuse_unpermitted(route: Route, identity: Identity) -> None:
    """Refuse a request without permission.

    Raises:
        Refused: nobody is signed in (401); no such project, or not theirs (404); not their role,
            or not the scope of their token (403); a change of a project that is archived (409).
    """
    if route.needs == ANYONE:
        return
    if identity.user is None:
        raise RequestRefused(401, "sign-in", "Sign in first.")
    if identity.token is not None:
        _refuse_scope(route, identity.token)
    if route.needs == SIGNED_IN:
        return
    if route.needs == ADMIN:
        if not identity.user.admin:
            raise RequestRefused(403, "not-allowed", "Only an admin of the store may do this.")
        return
    if identity.project is None:
        raise not_found("project")
    if identity.role not in route.needs:
        raise RequestRefused(403, "not-allowed", "Your role in this project does not allow this.")
    if route.method != "GET" and identity.project.archived_at and not route.in_archived:
        problem = "The project is archived and cannot be changed; an admin can show it again first."
        raise RequestRefused(409, "project-archived", problem)


def _refuse_scope(route: Route, token: Token) -> None:
    allowed = set().union(*(_ALLOWED_SCOPES[scope] for scope in token.scopes))
    is_limited = token.project is not None and isinstance(route.needs, str)
    if route.scope is None or route.scope not in allowed or is_limited:
        required_scope = route.scope or "no token at all"
        raise RequestRefused(
            403, "token-scope", f"The token does not allow this; it takes: {required_scope}."
        )


def refuse_forged(route: Route, identity: Identity, sent_word: str, form_word: str) -> None:
    """Refuse requests that another site made a browser send.

    Raises:
        Refused: the word of the form is missing or another.
    """
    if route.method == "GET" or identity.token is not None:
        return
    expected_word = identity.session.csrf if identity.session else form_word
    if not expected_word or not hmac.compare_digest(sent_word.encode(), expected_word.encode()):
        raise RequestRefused(
            403,
            "forged-request",
            "The form is too old, or was not ours; open the page again and send it once more.",
        )


def same_origin(headers: Mapping[str, str], host: str) -> bool:
    """True if a browser reports that a request came from our own pages, or reports nothing."""
    if headers.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"}:
        return False
    origin = headers.get("origin")
    return origin is None or origin.partition("://")[2] == host
