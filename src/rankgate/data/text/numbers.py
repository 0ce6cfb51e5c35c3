"""Numbers as files write them."""

from __future__ import annotations

import math
import re

_SHOWN = 40


def number_fault(text: str, name: str) -> str:
    """What keeps a text from being a finite number; empty where nothing does."""
    shown = text if len(text) <= _SHOWN else text[:_SHOWN] + "…"
    value = _number(text)
    if value is None:
        return f"{name} '{shown}' is not a number; write one such as 12.5."
    if not math.isfinite(value):
        return f"{name} '{shown}' is not a finite number; write one such as 12.5."
    return ""


def _number(text: str) -> float | None:
    try:
        return float(text) if text.isascii() and not re.search(r"[_xX]", text) else None
    except ValueError:
        return None
