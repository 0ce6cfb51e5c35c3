"""Who asks, and whether they may."""

from __future__ import annotations

import hmac
from collections.abc import Mapping
from datetime import timedelta
from typing import TYPE_CHECKING

from rankgate.store.people import sessions, signed_in, tokens
from rankgate.store.people.tokens import Token
from rankgate.store.rows import now
from rankgate.workspace.web.asked import Who
from rankgate.workspace.web.replies import Refused, not_found
from rankgate.workspace.web.route import ADMIN, ANYONE, SIGNED_IN

if TYPE_CHECKING:
    from rankgate.store.people.sessions import Session
    from rankgate.store.store import Store
    from rankgate.workspace.web.route import Route

_ALLOWS = {
    "read": {"read"},
    "record": {"record"},
    "rate": {"rate"},
    "manage": {"manage", "record", "read"},
    "admin": {"admin", "manage", "record", "rate", "read"},
}
"""What each scope of a token allows."""

_TOUCH = timedelta(minutes=5)


def who(store: Store, project: str | None, cookie: str | None, bearer: str | None) -> Who:
    """Who asks, by a token or a cookie, and what they may do in a project.

    Raises:
        Refused: a token that is not valid.
    """
    session: Session | None = None
    token: Token | None = None
    if bearer is None and not cookie:
        return Who()
    with store.read(once=True) as connection:
        if bearer is not None:
            found = signed_in.by_token(connection, bearer, project)
        else:
            found = signed_in.by_session(connection, cookie or "", project)
    if found is None:
        if bearer is not None:
            raise Refused(401, "invalid-token", "The token is not valid, or has ended.")
        return Who()
    role, there = found.role, found.project
    if isinstance(found.owner, Token):
        token = found.owner
        if there is not None and token.project not in {None, there.id}:
            role = None
    else:
        session = found.owner
    there = there if role else None
    return _touched(store, Who(found.user, session, token, there, role, found.rater))


def _touched(store: Store, found: Who) -> Who:
    """Sessions and tokens remember their last use, once in five minutes."""
    moment = now()
    if found.session is not None and moment - found.session.seen_at > _TOUCH:
        with store.write() as connection:
            sessions.touch(connection, found.session.id)
    if found.token is not None and (
        found.token.used_at is None or moment - found.token.used_at > _TOUCH
    ):
        with store.write() as connection:
            tokens.touch(connection, found.token.id)
    return found


def refuse(route: Route, asks: Who) -> None:
    """Refuse those who may not.

    Raises:
        Refused: nobody is signed in (401); no such project, or not theirs (404); not their role,
            or not the scope of their token (403); a change of a project that is archived (409).
    """
    if route.needs == ANYONE:
        return
    if asks.user is None:
        raise Refused(401, "sign-in", "Sign in first.")
    if asks.token is not None:
        _refuse_scope(route, asks.token)
    if route.needs == SIGNED_IN:
        return
    if route.needs == ADMIN:
        if not asks.user.admin:
            raise Refused(403, "not-allowed", "Only an admin of the store may do this.")
        return
    if asks.project is None:
        raise not_found("project")
    if asks.role not in route.needs:
        raise Refused(403, "not-allowed", "Your role in this project does not allow this.")
    if route.method != "GET" and asks.project.archived_at and not route.in_archived:
        problem = "The project is archived and cannot be changed; an admin can show it again first."
        raise Refused(409, "project-archived", problem)


def _refuse_scope(route: Route, token: Token) -> None:
    allowed = set().union(*(_ALLOWS[each] for each in token.scopes))
    limited = token.project is not None and isinstance(route.needs, str)
    if route.scope is None or route.scope not in allowed or limited:
        needed = route.scope or "no token at all"
        raise Refused(403, "token-scope", f"The token does not allow this; it takes: {needed}.")


def refuse_forged(route: Route, asks: Who, given: str, form_word: str) -> None:
    """Refuse requests that another site made a browser send.

    Raises:
        Refused: the word of the form is missing or another.
    """
    if route.method == "GET" or asks.token is not None:
        return
    wanted = asks.session.csrf if asks.session else form_word
    if not wanted or not hmac.compare_digest(given.encode(), wanted.encode()):
        raise Refused(
            403,
            "forged-request",
            "The form is too old, or was not ours; open the page again and send it once more.",
        )


def same_origin(headers: Mapping[str, str], host: str) -> bool:
    """Whether a browser says that a request came from our own pages; others say nothing."""
    if headers.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"}:
        return False
    origin = headers.get("origin")
    return origin is None or origin.partition("://")[2] == host
