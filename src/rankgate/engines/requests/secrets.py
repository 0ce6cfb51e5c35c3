"""Secrets come from the environment, and never go anywhere but to the engine."""

from __future__ import annotations

import os
import re
from typing import Any

from rankgate.errors import UsageError

_VARIABLE = re.compile(r"\$\{([A-Za-z_][A-Za-z0-9_]*)\}")
_HIDDEN = "[secret]"
_SHORTEST = 4  # a shorter value would be cut out of innocent words


class Secrets:
    """Values of environment variables that a file names as ``${NAME}``."""

    def __init__(self) -> None:
        self._values: set[str] = set()

    def resolved(self, text: str) -> str:
        """The text with the values of its variables.

        Raises:
            UsageError: a variable that is not set.
        """
        return _VARIABLE.sub(self._value, text)

    def scrubbed(self, text: str) -> str:
        """A text that may be shown: without any value that was resolved."""
        for value in sorted(self._values, key=len, reverse=True):
            text = text.replace(value, _HIDDEN)
        return text

    def _value(self, found: re.Match[str]) -> str:
        value = os.environ.get(found[1], "")
        if not value:
            raise UsageError(
                f"the environment variable {found[1]} is not set; the engine's file names it.",
                code="missing-secret",
            )
        if len(value) >= _SHORTEST:
            self._values.add(value)
        return value


def resolved_table(table: dict[str, Any], secrets: Secrets) -> dict[str, str]:
    """A table of texts, such as headers, with the values of variables.

    Raises:
        UsageError: a variable that is not set; a value that no header can hold.
    """
    found = {name: secrets.resolved(str(value)) for name, value in table.items()}
    for name, value in found.items():
        if not value.isascii() or not value.isprintable():
            raise UsageError(
                f"the value of {name} holds what no header can; set it again.",
                code="invalid-key",
            )
    return found
