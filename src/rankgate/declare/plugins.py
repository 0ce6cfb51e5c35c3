"""Objects that installed packages declare under an entry point."""

from __future__ import annotations

from types import ModuleType
from typing import TypeVar

from rankgate.errors import UsageError

T = TypeVar("T")


def installed(group: str, kind: type[T]) -> tuple[T, ...]:
    """Return the objects of one class that installed packages declare.

    An entry point is an object, or a module with objects in it.

    Raises:
        UsageError: A package that fails when it is loaded.
    """
    from importlib.metadata import entry_points

    found: list[T] = []
    for point in sorted(entry_points(group=group)):
        owner = f"{point.dist.name} {point.dist.version}" if point.dist else point.value
        try:
            loaded = point.load()
        except (Exception, SystemExit) as error:
            raise UsageError(
                f"the plug-in {owner} cannot be loaded ({type(error).__name__}: {error}); "
                "fix or remove it.",
                code="invalid-plugin",
            ) from error
        values = vars(loaded).values() if isinstance(loaded, ModuleType) else [loaded]
        found += [value for value in values if isinstance(value, kind)]
    return tuple(found)
