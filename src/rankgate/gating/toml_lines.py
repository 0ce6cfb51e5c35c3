"""Where the keys of a TOML file stand, for errors."""

from __future__ import annotations

import re

_TABLE = re.compile(r"^\s*(\[\[?)\s*([^\]]+?)\s*\]\]?\s*(?:#.*)?$")
_KEY = re.compile(r"^\s*\"?([A-Za-z0-9_.-]+)\"?\s*=")


def lines_of(text: str) -> dict[tuple[str, ...], int]:
    r"""The line of each key and table: ``("rules", "1", "margin")`` of the second ``[[rules]]``.

    >>> lines_of("[gate]\nalpha = 0.1\n[[rules]]\nid = 'a'\n")[("rules", "0", "id")]
    4
    """
    found: dict[tuple[str, ...], int] = {}
    counts: dict[str, int] = {}
    prefix: tuple[str, ...] = ()
    for number, line in enumerate(text.splitlines(), 1):
        if table := _TABLE.match(line):
            name = table[2]
            prefix = tuple(part.strip().strip('"') for part in name.split("."))
            if table[1] == "[[":
                place = counts.get(name, -1) + 1
                counts[name] = place
                prefix = (*prefix, str(place))
            found.setdefault(prefix, number)
        elif key := _KEY.match(line):
            found.setdefault((*prefix, *key[1].split(".")), number)
    return found
