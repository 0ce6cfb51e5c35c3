"""Functions that are named by ``module:function``, so that nothing below imports drawing."""

from __future__ import annotations

from importlib import import_module
from typing import Any


def resolved(name: str) -> Any:
    """The function of that name.

    Args:
        name: ``module:function``, a constant of the program, never a user's word.
    """
    module, _, attribute = name.partition(":")
    return getattr(import_module(module), attribute)
