"""Paths of values in a JSON answer: keys and numbers with dots between."""

from __future__ import annotations

from typing import Any

Path = tuple[str, ...]

MISSING = object()
"""The value of a missing path; JSON's null is a value."""


def parse_path(path: str | list[Any]) -> Path:
    r"""The steps of a path; a list if a key has a dot of its own.

    >>> parse_path("hits.hits"), parse_path("1.0.2:"), parse_path(["a.b", 0])
    (('hits', 'hits'), ('1', '0', '2:'), ('a.b', '0'))
    """
    return tuple(map(str, path)) if isinstance(path, list) else tuple(filter(None, path.split(".")))


def value_at_path(value: Any, path: Path) -> Any:
    """The value at a path, or `MISSING`.

    A step is the key of an object, the position in a list (below 0 from its end), a slice of a
    list, as in ``2:``, or ``*``, the only value of an object.

    >>> value_at_path({"rows": [["h"], ["a"], ["b"]]}, parse_path("rows.1:"))
    [['a'], ['b']]
    >>> value_at_path({"rows": []}, parse_path("rows.0")) is MISSING
    True
    """
    for step in path:
        value = _take_step(value, step)
        if value is MISSING:
            return MISSING
    return value


def _take_step(value: Any, step: str) -> Any:
    if isinstance(value, dict):
        if step == "*" and len(value) == 1:
            return next(iter(value.values()))
        return value.get(step, MISSING)
    if not isinstance(value, list):
        return MISSING
    start, colon, stop = step.partition(":")
    try:
        if colon:
            return value[int(start) if start else None : int(stop) if stop else None]
        return value[int(step)]
    except (ValueError, IndexError):
        return MISSING
