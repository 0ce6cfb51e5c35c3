"""Read the key paths at the beginning of a JSON file, to distinguish formats."""

from __future__ import annotations

import re
from functools import lru_cache

from rankgate.data.text.json_text import DEPTH
from rankgate.data.text.utf8 import BOM

_TOKEN = re.compile(rb'"(?:[^"\\]|\\.)*"|[{}\[\]:,]', re.DOTALL)
_MAX_TOKENS = 20_000  # tokens to read


@lru_cache(maxsize=4)
def find_key_paths(first_bytes: bytes) -> frozenset[str]:
    """The paths of all keys in JSON or JSON lines, which may be cut off or not be JSON at all.

    Keys are joined by dots; ``[]`` follows a path that holds a list.

    >>> sorted(find_key_paths(b'{"queries": [{"text": "a", "n": {"x": 1}}, {"te'))
    ['queries', 'queries[]', 'queries[].n', 'queries[].n.x', 'queries[].text']
    >>> sorted(find_key_paths(b'[{"id": 1}]'))
    ['[]', '[].id']
    """
    key_paths: set[str] = set()
    stack: list[tuple[bytes, str]] = []  # each open bracket, and the path of what is in it
    key, last_string = "", b""
    for token_count, match in enumerate(_TOKEN.finditer(first_bytes.removeprefix(BOM))):
        token = match[0]
        if token_count > _MAX_TOKENS or len(stack) > DEPTH:
            break
        path = stack[-1][1] if stack else ""
        if token == b":" and stack and stack[-1][0] == b"{":
            name = last_string[1:-1].decode(errors="replace")
            key = f"{path}.{name}" if path else name
            key_paths.add(key)
        elif token in {b"{", b"["}:
            inner_path = key or path
            if token == b"[":
                inner_path += "[]"
                key_paths.add(inner_path)
            stack.append((token, inner_path))
            key = ""
        elif token in {b"}", b"]"}:
            if not stack:
                break
            stack.pop()
            key = ""
        elif token == b",":
            key = ""
        elif token.startswith(b'"'):
            last_string = token
    return frozenset(key_paths)


def has_keys(first_bytes: bytes, *paths: str) -> bool:
    """True if the beginning of a file has every one of these keys."""
    return set(paths) <= find_key_paths(first_bytes)


def matches_key(first_bytes: bytes, pattern: str) -> bool:
    """True if a pattern matches the whole path of some key."""
    path_pattern = re.compile(pattern)
    return any(path_pattern.fullmatch(path) for path in find_key_paths(first_bytes))
