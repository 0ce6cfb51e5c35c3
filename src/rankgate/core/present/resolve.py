"""Functions that are named by ``module:function``, so that nothing below imports drawing."""

from __future__ import annotations

from importlib import import_module
from typing import Any

ABOVE: dict[str, str] = {}
"""Functions and tables of packages above, which the top of the package (`rankgate`) names.

``write_report`` writes the report of a result, ``convention_details`` describes a convention,
``path_of_input`` is the path in ``FORMAT:PATH``, ``kinds_of_results`` has the classes of results.
"""


def resolved(name: str) -> Any:
    """The function of that name.

    Args:
        name: ``module:function``, a constant of the program, never a user's word.
    """
    module, _, attribute = name.partition(":")
    return getattr(import_module(module), attribute)


def above(name: str) -> Any:
    """The function or table of a package above, by its name in `ABOVE`."""
    return resolved(ABOVE[name])
