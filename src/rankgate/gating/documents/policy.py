"""Policies: what they may say, as text, Markdown or JSON schema; and what one demands."""

from __future__ import annotations

from math import isfinite
from typing import TYPE_CHECKING, Any

from rankgate.present.forms import as_json, as_markdown
from rankgate.present.forms.as_text import WIDTH
from rankgate.present.forms.paragraphs import indented, labelled
from rankgate.present.grid import Grid, printable

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from rankgate.declare import Parameter
    from rankgate.gating.policies import Vocabulary
    from rankgate.gating.policy import Policy
    from rankgate.gating.rule import RuleKind

FORMS = ("text", "json", "markdown", "schema")
"""The forms of what policies may say, by the name that ``--format`` takes."""

_TYPES = {
    "number": "number",
    "int": "integer",
    "text": "string",
    "bool": "boolean",
    "list": "array",
}
_ABOUT = {
    "[gate]": "What holds for the gate as a whole; every line may be left out.",
    "[lists]": "What metrics of lists need beside judgments and runs.",
    "[[rules]]": "What every rule may say; then what its kind may say.",
}


def render_all(result: Vocabulary, form: str, width: int = WIDTH) -> str:
    """All that a policy may say, in one of `FORMS`."""
    if form in {"schema", "json"}:
        return as_json.dumped(schema(result))
    sections = [
        ("[gate]", _ABOUT["[gate]"], result.settings),
        ("[lists]", _ABOUT["[lists]"], result.lists),
        ("[[rules]]", _ABOUT["[[rules]]"], result.common),
        *((f'kind = "{kind.name}"', _title(kind), kind.takes) for kind in result.kinds),
    ]
    if form == "markdown":
        return "\n".join(_markdown(*each) for each in sections)
    return "\n".join(_text(*each, width) for each in sections)


def render(result: Policy, form: str, width: int = WIDTH) -> str:
    """What one policy demands: text or JSON."""
    if form != "text":
        return as_json.dumped(_dict(result))
    lines = [f"{printable(result.source)}: {len(result.rules)} rules\n"]
    if any(result.lists[name] for name in ("train", "items", "obvious", "earlier")):
        lines.append(labelled(["[lists]"], [_said(result.lists)], [14], width))
    for rule in result.rules:
        place = f" where {rule.slice}" if rule.slice else ""
        says = _said(rule.values)
        head = f"{rule.id} ({rule.tier})"
        lines.append(labelled([rule.kind], [head + place, *([says] if says else [])], [14], width))
    return "".join(lines)


def schema(result: Vocabulary) -> dict[str, Any]:
    """The JSON schema (2020-12) of a policy; editors check and complete TOML by it."""
    rules = [
        {
            "title": kind.name,
            "description": _title(kind),
            "type": "object",
            "properties": _properties((*_common(result, kind), *kind.takes))
            | {"kind": {"const": kind.name}},
            "required": ["kind", *(p.name for p in kind.takes if p.required)],
            "additionalProperties": False,
        }
        for kind in result.kinds
    ]
    return {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "rankgate policy",
        "type": "object",
        "properties": {
            "gate": _section("[gate]", result.settings),
            "lists": _section("[lists]", result.lists),
            "rules": {"type": "array", "minItems": 1, "items": {"oneOf": rules}},
        },
        "required": ["rules"],
        "additionalProperties": False,
    }


def _common(result: Vocabulary, kind: RuleKind) -> list[Parameter]:
    """What every rule may say, without the slice where the kind looks at none."""
    return [each for each in result.common if kind.sliced or each.name != "slice"]


def _section(name: str, parameters: Iterable[Parameter]) -> dict[str, Any]:
    return {
        "description": _ABOUT[name],
        "type": "object",
        "properties": _properties(parameters),
        "additionalProperties": False,
    }


def _properties(parameters: Iterable[Parameter]) -> dict[str, Any]:
    return {each.name: _property(each) for each in parameters}


def _property(each: Parameter) -> dict[str, Any]:
    values: dict[str, Any] = {"type": _TYPES[each.kind], "description": each.help}
    if each.choices:
        values["enum"] = list(each.choices)
    if isfinite(each.range.low):
        values["minimum"] = each.range.low
    if isfinite(each.range.high):
        values["maximum"] = each.range.high
    if each.default is not None:
        values["default"] = list(each.default) if each.kind == "list" else each.default
    return values


def _title(kind: RuleKind) -> str:
    infers = "infers from a sample of queries" if kind.statistical else "counts"
    return f"{kind.title[0].upper()}{kind.title[1:]}; it {infers}."


def _text(head: str, about: str, parameters: Iterable[Parameter], width: int) -> str:
    rows = [
        labelled([each.name, _default(each)], [_about(each)], [12, 14], width - 2)
        for each in parameters
    ]
    return labelled([head], [about], [22], width) + indented("".join(rows))


def _markdown(head: str, about: str, parameters: Iterable[Parameter]) -> str:
    rows = tuple((p.name, _default(p), _about(p)) for p in parameters)
    table = as_markdown.table(Grid(("key", "default", "what it says"), rows, frozenset(range(3))))
    return f"### `{head}`\n\n{about}\n" + (f"\n{table}\n" if rows else "")


def _default(each: Parameter) -> str:
    if each.required:
        return "required"
    return "" if each.default is None or each.default == () else _word(each.default)


def _about(each: Parameter) -> str:
    parts, limits = [each.help], each.range
    if any(choice not in each.help for choice in each.choices):
        parts.append(f"one of {', '.join(each.choices)}")
    if isfinite(limits.high):
        parts.append(f"{limits.low:g} to {limits.high:g}")
    elif isfinite(limits.low):
        parts.append(f"{limits.low:g} or more")
    return "; ".join(parts)


def _said(values: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{name} {_word(value)}"
        for name, value in values.items()
        if value is not None and value not in ((), [])
    )


def _word(value: Any) -> str:  # noqa: ANN401 - what TOML holds
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else printable(str(value))


def _dict(result: Policy) -> dict[str, Any]:
    return {
        "schema_version": 1,
        "source": result.source,
        "sha256": result.sha256,
        "gate": dict(result.settings),
        "lists": dict(result.lists),
        "rules": [
            {
                "id": rule.id,
                "kind": rule.kind,
                "tier": rule.tier,
                "slice": rule.slice,
                **rule.values,
            }
            for rule in result.rules
        ],
    }
