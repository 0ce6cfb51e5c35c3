"""``/metrics``: for Prometheus on this machine, or with a token; never for everybody."""

from __future__ import annotations

import hmac
import ipaddress
from typing import TYPE_CHECKING

from anyio import to_thread
from starlette.responses import PlainTextResponse, Response

from rankgate.workspace.web.headers import add_security_headers
from rankgate.workspace.web.measures import MEDIA_TYPE

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request

    from rankgate.workspace.web.config import ServerConfig
    from rankgate.workspace.web.limits import RequestBuckets, SharedRequestBuckets
    from rankgate.workspace.web.measures import ServerMetrics

METRICS_PATH = "/metrics"


def metrics_endpoint(
    config: ServerConfig, buckets: RequestBuckets | SharedRequestBuckets, measures: ServerMetrics
) -> Callable[[Request], Awaitable[Response]]:
    """The endpoint: for clients on this machine without a proxy, and for those with the token."""

    async def answer(request: Request) -> Response:
        client = request.client.host if request.client else ""
        if wait := buckets.wait(client):
            busy = PlainTextResponse(f"Try again in {wait} s.", 429, {"retry-after": str(wait)})
            return add_security_headers(busy, config)
        if not _is_allowed(request, client, config):
            return add_security_headers(PlainTextResponse("There is no such page.", 404), config)
        content = await to_thread.run_sync(measures.text)
        return add_security_headers(Response(content, headers={"content-type": MEDIA_TYPE}), config)

    return answer


def _is_allowed(request: Request, client: str, config: ServerConfig) -> bool:
    scheme, _, credentials = request.headers.get("authorization", "").partition(" ")
    if config.metrics_token:
        token = credentials.strip() if scheme.lower() == "bearer" else ""
        return hmac.compare_digest(token.encode(), config.metrics_token.encode())
    if config.proxied or "x-forwarded-for" in request.headers:
        return False  # a proxy on this machine sends requests of others
    try:
        return ipaddress.ip_address(client).is_loopback
    except ValueError:
        return False
