"""Read the key paths at the beginning of a JSON file, to distinguish formats."""

from __future__ import annotations

import re
from functools import lru_cache

from rankgate.data.text.json_text import DEPTH
from rankgate.data.text.utf8 import BOM

_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\]:,]', re.DOTALL)
_MOST = 20_000  # words looked at


@lru_cache(maxsize=4)
def keys(head: bytes) -> frozenset[str]:
    """The paths of all keys in JSON or JSON lines that may be cut off, or be no JSON at all.

    Keys are joined by dots; ``[]`` is after what holds a list.

    >>> sorted(keys(b'{"queries": [{"text": "a", "n": {"x": 1}}, {"te'))
    ['queries', 'queries[]', 'queries[].n', 'queries[].n.x', 'queries[].text']
    >>> sorted(keys(b'[{"id": 1}]'))
    ['[]', '[].id']
    """
    found: set[str] = set()
    stack: list[tuple[bytes, str]] = []  # each open bracket, and the path of what is in it
    key, last = "", b""
    for seen, match in enumerate(_TOKEN.finditer(head.removeprefix(BOM))):
        word = match[0]
        if seen > _MOST or len(stack) > DEPTH:
            break
        path = stack[-1][1] if stack else ""
        if word == b":" and stack and stack[-1][0] == b"{":
            name = last[1:-1].decode(errors="replace")
            key = f"{path}.{name}" if path else name
            found.add(key)
        elif word in {b"{", b"["}:
            inside = key or path
            if word == b"[":
                inside += "[]"
                found.add(inside)
            stack.append((word, inside))
            key = ""
        elif word in {b"}", b"]"}:
            if not stack:
                break
            stack.pop()
            key = ""
        elif word == b",":
            key = ""
        elif word.startswith(b'"'):
            last = word
    return frozenset(found)


def have(head: bytes, *paths: str) -> bool:
    """Whether the beginning of a file has every one of these keys."""
    return set(paths) <= keys(head)


def matching(head: bytes, pattern: str) -> bool:
    """Whether the path of some key is all of a pattern."""
    whole = re.compile(pattern)
    return any(whole.fullmatch(path) for path in keys(head))
