"""Numbers as files write them."""

from __future__ import annotations

import math
import re

_MAX_SHOWN_LENGTH = 40


def number_fault(text: str, name: str) -> str:
    """The reason why a text is not a finite number; empty if it is one."""
    short_text = text if len(text) <= _MAX_SHOWN_LENGTH else text[:_MAX_SHOWN_LENGTH] + "…"
    value = _number(text)
    if value is None:
        return f"{name} '{short_text}' is not a number; write one such as 12.5."
    if not math.isfinite(value):
        return f"{name} '{short_text}' is not a finite number; write one such as 12.5."
    return ""


def _number(text: str) -> float | None:
    try:
        return float(text) if text.isascii() and not re.search(r"[_xX]", text) else None
    except ValueError:
        return None
