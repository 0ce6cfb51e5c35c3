"""Templates of requests: names in double braces, and ${NAME}, represent values."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

from rankgate.engines.requests.secrets import VARIABLE

_NONE: Mapping[str, str] = MappingProxyType({})
_NAME = re.compile(r"\{\{\s*([A-Za-z_][A-Za-z0-9_]*)\s*\}\}")
_NAME_OR_VARIABLE = re.compile(f"{_NAME.pattern}|{VARIABLE.pattern}")


def fill(template: Any, values: Mapping[str, Any], variables: Mapping[str, str] = _NONE) -> Any:
    """The template with values in place of names and of environment variables.

    A text that is one name and nothing else becomes the value with its type; in a longer text
    the value stands as text. Values are put into the structure, never into JSON text, so that no
    query can change the request. Neither can the value of a variable: all is put in at once.

    Args:
        template: texts, lists and tables.
        values: by the names in double braces.
        variables: by the names of environment variables; others stay as they are written.

    >>> fill({"size": "{{depth}}", "q": "title:{{query}}"}, {"depth": 10, "query": 'a"b'})
    {'size': 10, 'q': 'title:a"b'}

    Raises:
        KeyError: a name without a value.
    """
    if isinstance(template, Mapping):
        return {key: fill(value, values, variables) for key, value in template.items()}
    if isinstance(template, list):
        return [fill(value, values, variables) for value in template]
    if not isinstance(template, str):
        return template
    if whole_match := _NAME.fullmatch(template):
        return values[whole_match[1]]
    return _NAME_OR_VARIABLE.sub(
        lambda match: str(values[match[1]]) if match[1] else variables.get(match[2], match[0]),
        template,
    )


def template_names(template: Any) -> Iterator[str]:
    """The names that a template uses."""
    if isinstance(template, Mapping):
        for value in template.values():
            yield from template_names(value)
    elif isinstance(template, list):
        for value in template:
            yield from template_names(value)
    elif isinstance(template, str):
        yield from _NAME.findall(template)
