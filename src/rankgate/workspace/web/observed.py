"""Number, time, count and log every request."""

from __future__ import annotations

import logging
import re
import secrets
import time
from typing import TYPE_CHECKING, Any

from rankgate.workspace.web.endpoint import Endpoint
from rankgate.workspace.web.logs import DETAILS_KEY, REQUEST_NUMBER

if TYPE_CHECKING:
    from starlette.types import ASGIApp, Message, Receive, Scope, Send

    from rankgate.workspace.web.config import ServerConfig
    from rankgate.workspace.web.measures import ServerMetrics

_LOG = logging.getLogger("rankgate.access")
_NUMBER_PATTERN = re.compile(r"[A-Za-z0-9._-]{8,64}")
_UNKNOWN_ROUTE = "(no route)"


class RequestObserver:
    """Middleware around all others.

    The log and the metrics have the route's path with its parameters in braces, as paths of
    invitations are secrets; they have no query strings and no bodies.
    """

    def __init__(self, app: ASGIApp, config: ServerConfig, measures: ServerMetrics) -> None:
        self.app, self.config, self.measures = app, config, measures

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on, and note its answer."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        number = self._number(scope)
        begin = time.perf_counter()
        status = 500

        async def sent(message: Message) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], (b"x-request-id", number.encode())]
            await send(message)

        context_token = REQUEST_NUMBER.set(number)
        try:
            await self.app(scope, receive, sent)
        finally:
            self._note(scope, status, time.perf_counter() - begin)
            REQUEST_NUMBER.reset(context_token)

    def _number(self, scope: Scope) -> str:
        """The proxy's number of the request, if there is a proxy, or a new one."""
        proxy_number: str = dict(scope["headers"]).get(b"x-request-id", b"").decode("latin-1")
        if self.config.proxied and _NUMBER_PATTERN.fullmatch(proxy_number):
            return proxy_number
        return secrets.token_hex(8)

    def _note(self, scope: Scope, status: int, seconds: float) -> None:
        route = _route_path(scope)
        method = scope["method"] if route != _UNKNOWN_ROUTE else "other"
        self.measures.request(method, route, status, seconds)
        details: dict[str, Any] = {
            "method": scope["method"],
            "route": route,
            "status": status,
            "ms": round(1000 * seconds, 1),
            "client": scope["client"][0] if scope["client"] else "",
        }
        _LOG.info("%s %s %d", scope["method"], route, status, extra={DETAILS_KEY: details})


def _route_path(scope: Scope) -> str:
    """The path of the route that answered, with its parameters in braces."""
    owner = getattr(scope.get("endpoint"), "__self__", None)
    if isinstance(owner, Endpoint):
        return owner.route.path
    return "/metrics" if scope.get("endpoint") is not None else _UNKNOWN_ROUTE
