"""Headers of security, on every response."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.responses import Response

    from rankgate.workspace.web.config import ServerConfig

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src {images}; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)


def add_security_headers(
    response: Response, config: ServerConfig, images: Sequence[str] = ()
) -> Response:
    """Set the headers; a page loads nothing from elsewhere but the images of its project."""
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
