"""Send a message to a webhook: signed, to a checked address, without redirects."""

from __future__ import annotations

import hashlib
import hmac
import ipaddress
import json
import os
import time
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from rankgate.core.errors import UsageError
from rankgate.workspace.records.alerts.addresses import (
    Networks,
    read_allowed_networks,
    resolve_address,
)

if TYPE_CHECKING:
    from urllib3 import HTTPConnectionPool

    from rankgate.workspace.records.alerts.message import Message
    from rankgate.workspace.records.alerts.rules import Channel

_CONNECT, _READ = 5.0, 10.0
"""Seconds to connect, and to wait for the answer."""


def signature(key: str, moment: int, body: bytes) -> str:
    """The header ``X-Rankgate-Signature``: HMAC-SHA256 of the moment, a dot, and the body."""
    digest = hmac.new(key.encode(), b"%d." % moment + body, hashlib.sha256).hexdigest()
    return f"t={moment},v1={digest}"


def post_webhook(
    channel: Channel,
    message: Message,
    networks: Networks | None = None,
    *,
    allow_http: bool = False,
) -> None:
    """Post a message.

    Args:
        channel: a webhook.
        message: what to send.
        networks: which private networks it may reach; by default those of the environment.
        allow_http: send over plain HTTP also to other machines.

    Raises:
        UsageError: the key is not set, the address is not allowed or does not answer, or answers
            with another status than 200 to 299.
    """
    import urllib3

    url = channel.values["url"]
    parts = urlsplit(url)
    body = json.dumps(message.body(), ensure_ascii=False).encode()
    headers = {
        "host": parts.netloc,
        "content-type": "application/json",
        "user-agent": "rankgate",
        "x-rankgate-event": message.event,
        "x-rankgate-delivery": str(message.number),
        **_signature_headers(channel, body),
    }
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    with _connection_pool(url, networks or read_allowed_networks(), allow_http=allow_http) as pool:
        try:
            answer = pool.request(
                "POST",
                target,
                body=body,
                headers=headers,
                redirect=False,
                retries=False,
                timeout=urllib3.Timeout(connect=_CONNECT, read=_READ),
                preload_content=False,
            )
            status = answer.status
            answer.close()  # the body does not matter, and may be long
        except urllib3.exceptions.HTTPError as error:
            problem = f"the webhook {channel.name!r} does not answer ({type(error).__name__})."
            raise UsageError(problem, code="webhook-failed") from None
    if not 200 <= status < 300:
        problem = f"the webhook {channel.name!r} answered with status {status}."
        raise UsageError(problem, code="webhook-failed")


def _signature_headers(channel: Channel, body: bytes) -> dict[str, str]:
    variable = channel.values["secret_from"]
    if variable is None:
        return {}
    key = os.environ.get(variable)
    if not key:
        problem = f"the webhook {channel.name!r} needs the variable {variable}, which is not set."
        raise UsageError(problem, code="missing-key")
    return {"x-rankgate-signature": signature(key, int(time.time()), body)}


def _connection_pool(url: str, networks: Networks, *, allow_http: bool) -> HTTPConnectionPool:
    """Connections to the checked address, with the name of the host in TLS and its certificate."""
    import urllib3

    parts = urlsplit(url)
    host = parts.hostname or ""
    try:
        port = parts.port or (443 if parts.scheme == "https" else 80)
    except ValueError:
        raise UsageError("the port of the webhook is no port.", code="invalid-address") from None
    address = resolve_address(host, port, networks)
    if parts.scheme == "http" and not (allow_http or ipaddress.ip_address(address).is_loopback):
        problem = "the webhook would be sent unencrypted; use https, or allow it with --allow-http."
        raise UsageError(problem, code="insecure-address")
    if parts.scheme == "https":
        return urllib3.HTTPSConnectionPool(
            address, port, maxsize=1, server_hostname=host, assert_hostname=host
        )
    return urllib3.HTTPConnectionPool(address, port, maxsize=1)
