"""What a tool returns: a result as JSON and text, cut to a size that an assistant can read."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from rankgate.present.write import rendered

if TYPE_CHECKING:
    from rankgate.present.result import Result

_TEXT = 20_000
"""Characters of text."""


def answer_of(result: Result, rows: int) -> dict[str, Any]:
    """``text`` as the command prints it, ``result`` as JSON, ``shortened`` tables with their rows.

    Args:
        result: of a verb.
        rows: of each table that are kept.
    """
    shortened: dict[str, int] = {}
    values = _cut(json.loads(rendered(result, "json")), "", rows, shortened)
    text = rendered(result, "text")
    if len(text) > _TEXT:
        shortened["text"] = len(text)
        text = f"{text[:_TEXT]}\n…"
    return {"text": text, "result": values, "shortened": shortened}


def _cut(value: Any, place: str, rows: int, shortened: dict[str, int]) -> Any:  # noqa: ANN401
    """A value with its long lists cut; their whole lengths go into ``shortened`` by place."""
    if isinstance(value, dict):
        return {
            name: _cut(each, f"{place}.{name}".lstrip("."), rows, shortened)
            for name, each in value.items()
        }
    if isinstance(value, list):
        if len(value) > rows:
            shortened[place] = len(value)
        return [_cut(each, f"{place}[{i}]", rows, shortened) for i, each in enumerate(value[:rows])]
    return value
