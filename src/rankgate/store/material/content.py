"""The hash of a document's content as raters see it."""

from __future__ import annotations

import json
from hashlib import sha256
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from rankgate.core.value_types import JsonObject


def content_hash(fields: JsonObject, url: str | None, image: str | None) -> str | None:
    """SHA-256 of the fields and links as JSON with sorted keys, or None."""
    if not fields and url is None and image is None:
        return None
    json_text = json.dumps([fields, url, image], sort_keys=True, separators=(",", ":"))
    return sha256(json_text.encode()).hexdigest()
