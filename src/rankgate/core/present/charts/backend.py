"""Import Altair and its converter, which come with the extra ``plots``."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from rankgate.core.extras import require


def altair() -> Any:
    """Altair.

    Raises:
        MissingExtraError: it is not installed.
    """
    return _opened("altair")


def converter() -> Any:
    """vl-convert, which makes images of specifications without a browser.

    Raises:
        MissingExtraError: it is not installed.
    """
    return _opened("vl_convert")


def _opened(name: str) -> Any:
    require("charts need Altair and vl-convert", name)
    return import_module(name)
