"""Import Altair and its converter, which come with the extra ``plots``."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from rankgate.core.extras import require


def load_altair() -> Any:
    """Altair.

    Raises:
        MissingExtraError: it is not installed.
    """
    return _load("altair")


def load_converter() -> Any:
    """vl-convert, which makes images of specifications without a browser.

    Raises:
        MissingExtraError: it is not installed.
    """
    return _load("vl_convert")


def _load(name: str) -> Any:
    require("charts need Altair and vl-convert", name)
    return import_module(name)
