"""A sign-in under way: kept in a signed cookie of the browser that began it."""

from __future__ import annotations

import hmac
import json
import time
from base64 import urlsafe_b64decode, urlsafe_b64encode
from collections.abc import Mapping
from hashlib import sha256
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rankgate.workspace.web.oidc.settings import OidcSettings

COOKIE = "rankgate_oidc"

_LIFETIME = 600
"""Seconds in which somebody has signed in at the provider."""


def seal_cookie(
    settings: OidcSettings, contents: Mapping[str, str], moment: float | None = None
) -> str:
    """Make the cookie: its contents, its end, and a signature that only this server can make."""
    end = int((moment or time.time()) + _LIFETIME)
    body = urlsafe_b64encode(json.dumps({**contents, "end": str(end)}).encode()).decode()
    return f"{body}.{_signature(settings, body)}"


def open_cookie(
    settings: OidcSettings, cookie: str, moment: float | None = None
) -> Mapping[str, str] | None:
    """The contents of a cookie; None if it is too old, or not ours."""
    body, _, signature = cookie.rpartition(".")
    if not hmac.compare_digest(signature.encode(), _signature(settings, body).encode()):
        return None
    contents: dict[str, str] = json.loads(urlsafe_b64decode(body))
    return contents if int(contents["end"]) > (moment or time.time()) else None


def _signature(settings: OidcSettings, body: str) -> str:
    key = sha256(f"rankgate sign-in {settings.issuer} {settings.client_secret}".encode()).digest()
    return hmac.new(key, body.encode(), sha256).hexdigest()
