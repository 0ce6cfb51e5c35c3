"""Documents of policies: all keys, or the rules of one policy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rankgate.core.present.document import Document, Entries, Entry, PlainRows, Section, Table
from rankgate.core.present.document import make_document as made
from rankgate.core.present.grid import Grid
from rankgate.decisions.gating.settings import COMMON

if TYPE_CHECKING:
    from rankgate.decisions.gating.policies import PolicyKeys
    from rankgate.decisions.gating.policy import Policy

_FILES = ("train", "items", "obvious", "earlier")
_EVERY_RULE = "Keys of every rule; the keys of each kind follow."


def keys_document(result: PolicyKeys) -> Document:
    """Every key with its default and meaning, table by table."""
    tables = result.schema["properties"]
    gate, lists, rules = (tables[name] for name in ("gate", "lists", "rules"))
    kinds = rules["items"]["oneOf"]
    common = {parameter.name: parameter for parameter in COMMON}
    parts: list[tuple[str, Mapping[str, Any], Any]] = [
        ("[gate]", gate, gate["properties"]),
        ("[lists]", lists, lists["properties"]),
        *(
            (f"[{name}]", tables[name], tables[name]["properties"])
            for name in ("experiment", "budget", "earlier")
        ),
        ("[[ramp]]", tables["ramp"]["items"], tables["ramp"]["items"]["properties"]),
        ("[[rules]]", {"description": _EVERY_RULE, "required": ["kind"]}, _common_keys(kinds)),
    ]
    parts += [
        (
            f'kind = "{kind["title"]}"',
            kind,
            {name: schema for name, schema in kind["properties"].items() if name not in common},
        )
        for kind in kinds
    ]
    rows = [
        (table, *row)
        for table, table_schema, properties in parts
        for row in _rows(table_schema, properties)
    ]
    return Document(
        "all keys of a policy",
        sections=tuple(_section(*table_parts) for table_parts in parts),
        rows=PlainRows(("table", "key", "default", "meaning"), rows),
    )


def document(result: Policy) -> Document:
    """The demands of one policy, rule by rule."""
    entries = []
    if any(result.lists[name] for name in _FILES):
        entries.append(Entry("[lists]", (_settings_text(result.lists),)))
    tables = {name: getattr(result, name) for name in ("experiment", "budget", "earlier")}
    entries += [
        Entry(f"[{name}]", (_settings_text(table),)) for name, table in tables.items() if table
    ]
    entries += [Entry("[[ramp]]", (_settings_text(step),)) for step in result.ramp]
    for rule in result.rules:
        slice_label = f" where {rule.slice}" if rule.slice else ""
        lines = (f"{rule.id} ({rule.tier}){slice_label}", _settings_text(rule.values))
        entries.append(Entry(rule.kind, tuple(filter(None, lines))))
    rows = [
        (rule.id, rule.kind, rule.tier, rule.slice, name, _value_text(value))
        for rule in result.rules
        for name, value in rule.values.items()
        if value is not None
    ]
    header = ("rule", "kind", "tier", "slice", "key", "value")
    count = len(result.rules)
    title = f"{count} {'rule' if count == 1 else 'rules'} of {result.source}"
    return made(title, Entries(tuple(entries)), rows=PlainRows(header, rows))


def _common_keys(kinds: list[dict[str, Any]]) -> dict[str, Any]:
    """The keys of every rule, as a kind has them that has all; ``kind`` is one of the kinds."""
    schemas = {name: schema for kind in kinds for name, schema in kind["properties"].items()}
    names = [kind["title"] for kind in kinds]
    description = next(parameter.help for parameter in COMMON if parameter.name == "kind")
    kind_schema = {"kind": {"description": description, "enum": names}}
    return {parameter.name: {**schemas, **kind_schema}[parameter.name] for parameter in COMMON}


def _section(title: str, schema: Mapping[str, Any], properties: Mapping[str, Any]) -> Section:
    rows = tuple(_rows(schema, properties))
    grid = Grid(("key", "default", "meaning"), rows, frozenset(range(3)))
    blocks = [schema["description"], *([Table("", grid, prose=True)] if rows else [])]
    anchor = "".join(sign for sign in title.replace(" ", "-") if sign.isalnum() or sign in "-_")
    return Section(anchor, title, tuple(blocks))


def _rows(schema: Mapping[str, Any], properties: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    required = schema.get("required", ())
    return [
        (
            name,
            "required" if name in required else _default_text(key_schema),
            _meaning_text(key_schema),
        )
        for name, key_schema in properties.items()
    ]


def _default_text(schema: Mapping[str, Any]) -> str:
    return _value_text(schema["default"]) if schema.get("default", []) != [] else ""


def _meaning_text(schema: Mapping[str, Any]) -> str:
    parts, choices = [schema["description"]], schema.get("enum", ())
    if any(choice not in schema["description"] for choice in choices):
        parts.append(f"one of {', '.join(choices)}")
    if "maximum" in schema:
        parts.append(f"{schema['minimum']:g} to {schema['maximum']:g}")
    elif "minimum" in schema:
        parts.append(f"{schema['minimum']:g} or more")
    return "; ".join(parts)


def _settings_text(values: Mapping[str, Any]) -> str:
    return ", ".join(
        f"{name} {_value_text(value)}"
        for name, value in values.items()
        if value is not None and value not in ((), [])
    )


def _value_text(value: Any) -> str:  # noqa: ANN401 - any TOML value
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:g}" if isinstance(value, float) else str(value)
