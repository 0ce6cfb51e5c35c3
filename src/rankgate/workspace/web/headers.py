"""Headers of security, on every response."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from starlette.responses import Response

    from rankgate.workspace.web.config import Config

_POLICY = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src {images}; "
    "connect-src 'self'; form-action 'self'; frame-ancestors 'none'; base-uri 'none'"
)


def secured(response: Response, config: Config, images: Sequence[str] = ()) -> Response:
    """Set the headers; a page loads nothing from elsewhere but the images of its project."""
    own = {
        "content-security-policy": _POLICY.format(images=" ".join(["'self'", *images])),
        "x-content-type-options": "nosniff",
        "x-frame-options": "DENY",
        "referrer-policy": "same-origin",
        "cross-origin-opener-policy": "same-origin",
        "cross-origin-resource-policy": "same-origin",
        "permissions-policy": "camera=(), microphone=(), geolocation=()",
    }
    if config.secure:
        own["strict-transport-security"] = "max-age=31536000"
    response.headers.setdefault("cache-control", "no-store")
    response.headers.update(own)
    return response
