"""Results as JSON: plain values, full precision, the same bytes for the same result."""

from __future__ import annotations

import json
import math
from typing import Any


def to_json(result: dict[str, Any]) -> str:
    r"""One document with a newline at its end; undefined numbers are null.

    >>> to_json({"mean": {"AP": float("nan")}}).replace("\n", "")
    '{  "mean": {    "AP": null  }}'
    """
    return json.dumps(_without_nan(result), ensure_ascii=False, indent=2, allow_nan=False) + "\n"


def _without_nan(value: Any) -> Any:  # noqa: ANN401 - any JSON value
    if isinstance(value, dict):
        return {key: _without_nan(member) for key, member in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(member) for member in value]
    if isinstance(value, float) and not math.isfinite(value):
        return None
    return value
