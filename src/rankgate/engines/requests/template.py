"""Templates of requests: names in double braces represent values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

_NAME = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}")


def filled(template: Any, values: Mapping[str, Any]) -> Any:
    """The template with values in place of names.

    A text that is one name and nothing else becomes the value with its type; in a longer text
    the value stands as text. Values are put into the structure, never into JSON text, so that no
    query can change the request.

    >>> filled({"size": "{{depth}}", "q": "title:{{query}}"}, {"depth": 10, "query": 'a"b'})
    {'size': 10, 'q': 'title:a"b'}

    Raises:
        KeyError: a name without a value.
    """
    if isinstance(template, Mapping):
        return {key: filled(value, values) for key, value in template.items()}
    if isinstance(template, list):
        return [filled(value, values) for value in template]
    if not isinstance(template, str):
        return template
    if whole := _NAME.fullmatch(template):
        return values[whole[1]]
    return _NAME.sub(lambda found: str(values[found[1]]), template)


def names(template: Any) -> Iterator[str]:
    """The names that a template uses."""
    if isinstance(template, Mapping):
        for value in template.values():
            yield from names(value)
    elif isinstance(template, list):
        for value in template:
            yield from names(value)
    elif isinstance(template, str):
        yield from _NAME.findall(template)
