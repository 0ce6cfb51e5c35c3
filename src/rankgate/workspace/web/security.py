"""Identify and limit the senders of requests, and set security headers.

The sender of a request is identified, and the sender's permission is checked. A token bucket limits
the requests of a client. Every response has security headers.
"""

from __future__ import annotations

import hmac
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from datetime import timedelta
from hashlib import blake2b
from multiprocessing import get_context
from typing import TYPE_CHECKING

from rankgate.store.people import sign_in
from rankgate.store.people.sign_in import Token
from rankgate.store.rows import now
from rankgate.workspace.web.replies import RequestRefused, not_found
from rankgate.workspace.web.web_request import ADMIN, ANYONE, SIGNED_IN, Identity

if TYPE_CHECKING:
    from starlette.responses import Response

    from rankgate.store.people.sign_in import Session
    from rankgate.store.store import Store
    from rankgate.workspace.web.server_config import ServerConfig
    from rankgate.workspace.web.web_request import Route


_ALLOWED_SCOPES = {
    "read": {"read"},
    "record": {"record"},
    "rate": {"rate"},
    "manage": {"manage", "record", "read"},
    "admin": {"admin", "manage", "record", "rate", "read"},
}
"""The scopes that each scope of a token includes."""

_TOUCH_INTERVAL = timedelta(minutes=5)


def identify_sender(store: Store, project: str | None, cookie: str | None, bearer: str | None) -> Identity:
    """Identify the sender of a request by a token or a cookie, with their role in a project.

    Raises:
        Refused: the token is not valid.
    """
    session: Session | None = None
    token: Token | None = None
    if bearer is None and not cookie:
        return Identity()
    with store.read(once=True) as connection:
        if bearer is not None:
            account = sign_in.by_token(connection, bearer, project)
        else:
            account = sign_in.by_session(connection, cookie or "", project)
    if account is None:
        if bearer is not None:
            raise RequestRefused(401, "invalid-token", "The token is not valid, or has expired.")
        return Identity()
    role, stored_project = account.role, account.project
    if isinstance(account.owner, Token):
        token = account.owner
        if stored_project is not None and token.project not in {None, stored_project.id}:
            role = None
    else:
        session = account.owner
    stored_project = stored_project if role else None
    return _store_last_use(store, Identity(account.user, session, token, stored_project, role, account.rater))


def _store_last_use(store: Store, identity: Identity) -> Identity:
    """Store the last use of a session or token, at most once in five minutes."""
    moment = now()
    if identity.session is not None and moment - identity.session.seen_at > _TOUCH_INTERVAL:
        with store.write() as connection:
            sign_in.extend_session(connection, identity.session.id)
    if identity.token is not None and (
        identity.token.used_at is None or moment - identity.token.used_at > _TOUCH_INTERVAL
    ):
        with store.write() as connection:
            sign_in.note_token_use(connection, identity.token.id)
    return identity


def refuse_unpermitted(route: Route, identity: Identity) -> None:
    """Refuse a request without permission.

    Raises:
        Refused: no user is signed in (401); the project does not exist or the user has no role in
            it (404); the role or the token's scope is not sufficient (403); the project is archived
            (409).
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
            raise RequestRefused(403, "not-allowed", "This needs an admin of the store.")
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
    """Refuse requests that another site made a browser send (CSRF).

    Raises:
        Refused: the CSRF token of the form is missing or wrong.
    """
    if route.method == "GET" or identity.token is not None:
        return
    expected_word = identity.session.csrf if identity.session else form_word
    if not expected_word or not hmac.compare_digest(sent_word.encode(), expected_word.encode()):
        raise RequestRefused(
            403,
            "forged-request",
            "The form is too old, or is of another site; open the page again and send the form again.",
        )


def same_origin(headers: Mapping[str, str], host: str) -> bool:
    """True if the browser reports a request from our own pages, or reports no origin."""
    if headers.get("sec-fetch-site", "same-origin") not in {"same-origin", "none"}:
        return False
    origin = headers.get("origin")
    return origin is None or origin.partition("://")[2] == host


_MAX_CLIENTS = 10_000
"""The number of stored clients; the least recently active clients are dropped."""

_PROBES = 8


class SharedRequestBuckets:
    """Request buckets that several processes share, in memory of a fixed size.

    The hash of a client's name selects a few slots, and its bucket is in one of them; if all are
    taken, the least recently active client is dropped. Processes use no locks: at worst, one of two
    simultaneous requests is not counted.

    Args:
        per_minute: the number of requests.
        slots: the number of stored clients.
        clock: the time in seconds, the same in all processes, for tests.
    """

    def __init__(
        self, per_minute: int, slots: int = _MAX_CLIENTS, clock: Callable[[], float] = time.monotonic
    ) -> None:
        context = get_context("spawn")
        self._size, self._slots, self._clock = float(per_minute), slots, clock
        self._keys = context.RawArray("Q", slots)
        self._left = context.RawArray("d", slots)
        self._at = context.RawArray("d", slots)

    def wait(self, client: str) -> int:
        """The seconds until the client may send the next request; 0 means now."""
        moment = self._clock()
        slot, is_known = self._slot(client)
        remaining, last_time = (self._left[slot], self._at[slot]) if is_known else (self._size, moment)
        remaining, seconds = _take_request(self._size, remaining, moment - last_time)
        self._left[slot], self._at[slot] = remaining, moment
        return seconds

    def _slot(self, client: str) -> tuple[int, bool]:
        key = int.from_bytes(blake2b(client.encode(), digest_size=8).digest()) or 1
        slots = [(key + offset) % self._slots for offset in range(_PROBES)]
        for candidate in slots:
            if self._keys[candidate] == key:
                return candidate, True
        slot = min(slots, key=self._at.__getitem__)
        self._keys[slot] = key
        return slot, False


def _take_request(size: float, remaining: float, seconds: float) -> tuple[float, int]:
    """The remaining requests of a bucket after one request, and the seconds to wait."""
    rate = size / 60
    remaining = min(size, remaining + max(0.0, seconds) * rate)
    return max(0.0, remaining - 1), 0 if remaining >= 1 else max(1, round((1 - remaining) / rate))


class RequestBuckets:
    """A bucket for each client: each request takes one unit, and a minute refills the bucket.

    Args:
        per_minute: the number of requests.
        clock: the time in seconds, for tests.
    """

    def __init__(self, per_minute: int, clock: Callable[[], float] = time.monotonic) -> None:
        self._size, self._clock = float(per_minute), clock
        self._left: OrderedDict[str, tuple[float, float]] = OrderedDict()
        self._lock = threading.Lock()

    def wait(self, client: str) -> int:
        """The seconds until the client may send the next request; 0 means now."""
        with self._lock:
            moment = self._clock()
            remaining, last_time = self._left.pop(client, (self._size, moment))
            remaining, seconds = _take_request(self._size, remaining, moment - last_time)
            self._left[client] = (remaining, moment)
            if len(self._left) > _MAX_CLIENTS:
                self._left.popitem(last=False)
        return seconds


_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src {images}; connect-src 'self'; "
    "form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)


def add_security_headers(response: Response, config: ServerConfig, images: Sequence[str] = ()) -> Response:
    """Set the security headers; a page loads only images of its project from other sites."""
    headers = {
        "content-security-policy": _POLICY.format(images=" ".join(["'self'", *images])),
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
        "referrer-policy": "same-origin",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "permissions-policy": "camera=(), microphone=(), geolocation=()",
    }
    if config.secure:
        headers["strict-transport-security"] = "max-age=31536000"
    response.headers.setdefault("cache-control", "no-store")
    response.headers.update(headers)
    return response
