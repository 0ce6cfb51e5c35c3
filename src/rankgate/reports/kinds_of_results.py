"""Find the class of a result by its kind."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from importlib import import_module
from pathlib import Path

import rankgate
from rankgate.errors import UsageError
from rankgate.present.result import Result


@cache
def modules() -> Mapping[str, tuple[str, ...]]:
    """All modules of rankgate by their last name; nothing of them is imported."""
    found: dict[str, tuple[str, ...]] = {}
    for top in map(Path, rankgate.__path__):
        for path in sorted(top.rglob("*.py")):
            name = ".".join(("rankgate", *path.relative_to(top).with_suffix("").parts))
            found[path.stem] = (*found.get(path.stem, ()), name)
    return found


@cache
def result_class(kind: str) -> type[Result]:
    """The class of the results of a kind.

    Raises:
        UsageError: there is no such kind.
    """
    for name in modules().get(kind, ()) if kind.isidentifier() else ():
        for each in vars(import_module(name)).values():
            if isinstance(each, type) and issubclass(each, Result) and _kind(each) == kind:
                return each
    raise UsageError(f"no result is of kind {kind!r}.", code="unknown-kind")


def _kind(cls: type[Result]) -> str:
    return getattr(cls, "kind", "")
