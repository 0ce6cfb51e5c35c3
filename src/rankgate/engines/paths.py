"""Where something is in a JSON answer: keys and numbers with dots between."""

from __future__ import annotations

from typing import Any

Path = tuple[str, ...]

MISSING = object()
"""What is not there; JSON's null is there."""


def parsed(words: str | list[Any]) -> Path:
    r"""The steps of a path; a list where a key has a dot of its own.

    >>> parsed("hits.hits"), parsed("1.0.2:"), parsed(["a.b", 0])
    (('hits', 'hits'), ('1', '0', '2:'), ('a.b', '0'))
    """
    return (
        tuple(map(str, words)) if isinstance(words, list) else tuple(filter(None, words.split(".")))
    )


def at(value: Any, path: Path) -> Any:
    """What a path leads to, or `MISSING`.

    A step is the key of an object, the place in a list (below 0 from its end), or a part of a
    list, as in ``2:``.

    >>> at({"rows": [["h"], ["a"], ["b"]]}, parsed("rows.1:"))
    [['a'], ['b']]
    >>> at({"rows": []}, parsed("rows.0")) is MISSING
    True
    """
    for step in path:
        value = _step(value, step)
        if value is MISSING:
            return MISSING
    return value


def _step(value: Any, step: str) -> Any:
    if isinstance(value, dict):
        return value.get(step, MISSING)
    if not isinstance(value, list):
        return MISSING
    begin, colon, end = step.partition(":")
    try:
        if colon:
            return value[int(begin) if begin else None : int(end) if end else None]
        return value[int(step)]
    except (ValueError, IndexError):
        return MISSING
