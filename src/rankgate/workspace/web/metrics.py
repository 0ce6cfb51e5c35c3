"""``/metrics``: for Prometheus on this machine, or with a token; never for everybody."""

from __future__ import annotations

import hmac
import ipaddress
from typing import TYPE_CHECKING

from anyio import to_thread
from starlette.responses import PlainTextResponse, Response

from rankgate.workspace.web.headers import secured
from rankgate.workspace.web.measures import MEDIA

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable

    from starlette.requests import Request

    from rankgate.workspace.web.config import Config
    from rankgate.workspace.web.limits import Buckets, SharedBuckets
    from rankgate.workspace.web.measures import Measures

PATH = "/metrics"


def metrics(
    config: Config, buckets: Buckets | SharedBuckets, measures: Measures
) -> Callable[[Request], Awaitable[Response]]:
    """The endpoint: for clients on this machine without a proxy, and for those with the token."""

    async def answer(request: Request) -> Response:
        client = request.client.host if request.client else ""
        if wait := buckets.wait(client):
            busy = PlainTextResponse(f"Try again in {wait} s.", 429, {"retry-after": str(wait)})
            return secured(busy, config)
        if not _allowed(request, client, config):
            return secured(PlainTextResponse("There is no such page.", 404), config)
        content = await to_thread.run_sync(measures.text)
        return secured(Response(content, headers={"content-type": MEDIA}), config)

    return answer


def _allowed(request: Request, client: str, config: Config) -> bool:
    scheme, _, word = request.headers.get("authorization", "").partition(" ")
    if config.metrics_token:
        given = word.strip() if scheme.lower() == "bearer" else ""
        return hmac.compare_digest(given.encode(), config.metrics_token.encode())
    if config.proxied or "x-forwarded-for" in request.headers:
        return False  # a proxy on this machine asks for others
    try:
        return ipaddress.ip_address(client).is_loopback
    except ValueError:
        return False
