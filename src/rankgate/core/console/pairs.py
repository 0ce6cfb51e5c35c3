"""Options of the form NAME=VALUE that may be given several times."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

from rankgate.core.errors import UsageError

T = TypeVar("T")


def pairs(given: Sequence[str], option: str, read: Callable[[str], T]) -> dict[str, T]:
    """The names with their values.

    Args:
        given: as they were written.
        option: what errors call the option.
        read: makes a value of its word.

    Raises:
        UsageError: no ``=``, a name twice, or a value that cannot be read.

    >>> pairs(["buy=1", "view=0.1"], "--weight", float)
    {'buy': 1.0, 'view': 0.1}
    """
    found: dict[str, T] = {}
    for each in given:
        name, value = _split(each, option)
        if name in found:
            raise UsageError(f"{option}: {name} is given twice.", code="duplicate-name")
        try:
            found[name] = read(value)
        except ValueError:
            raise UsageError(
                f"{option} {each}: '{value}' is not a number.", code="not-a-number"
            ) from None
    return found


def _split(word: str, option: str) -> tuple[str, str]:
    name, equals, value = word.partition("=")
    if not equals or not name or not value:
        raise UsageError(f"{option} {word}: write it as NAME=VALUE.", code="invalid-syntax")
    return name, value
