"""Documents of policies: all keys, or the rules of one policy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rankgate.core.present.document import Document, Entries, Entry, PlainRows, Section, Table
from rankgate.core.present.document import document as made
from rankgate.core.present.grid import Grid
from rankgate.decisions.gating.settings import COMMON

if TYPE_CHECKING:
    from rankgate.decisions.gating.policies import PolicyKeys
    from rankgate.decisions.gating.policy import Policy

_FILES = ("train", "items", "obvious", "earlier")
_EVERY_RULE = "Keys of every rule; the keys of each kind follow."


def keys(result: PolicyKeys) -> Document:
    """Every key with its default and meaning, table by table."""
    tables = result.schema["properties"]
    gate, lists, rules = (tables[name] for name in ("gate", "lists", "rules"))
    kinds = rules["items"]["oneOf"]
    common = {each.name: each for each in COMMON}
    parts: list[tuple[str, Mapping[str, Any], Any]] = [
        ("[gate]", gate, gate["properties"]),
        ("[lists]", lists, lists["properties"]),
        *(
            (f"[{name}]", tables[name], tables[name]["properties"])
            for name in ("experiment", "budget", "earlier")
        ),
        ("[[ramp]]", tables["ramp"]["items"], tables["ramp"]["items"]["properties"]),
        ("[[rules]]", {"description": _EVERY_RULE, "required": ["kind"]}, _common(kinds)),
    ]
    parts += [
        (
            f'kind = "{kind["title"]}"',
            kind,
            {name: each for name, each in kind["properties"].items() if name not in common},
        )
        for kind in kinds
    ]
    rows = [(table, *row) for table, about, properties in parts for row in _rows(about, properties)]
    return Document(
        "all keys of a policy",
        sections=tuple(_section(*part) for part in parts),
        rows=PlainRows(("table", "key", "default", "meaning"), rows),
    )


def document(result: Policy) -> Document:
    """What one policy demands, rule by rule."""
    entries = []
    if any(result.lists[name] for name in _FILES):
        entries.append(Entry("[lists]", (_said(result.lists),)))
    tables = {name: getattr(result, name) for name in ("experiment", "budget", "earlier")}
    entries += [Entry(f"[{name}]", (_said(each),)) for name, each in tables.items() if each]
    entries += [Entry("[[ramp]]", (_said(step),)) for step in result.ramp]
    for rule in result.rules:
        place = f" where {rule.slice}" if rule.slice else ""
        lines = (f"{rule.id} ({rule.tier}){place}", _said(rule.values))
        entries.append(Entry(rule.kind, tuple(filter(None, lines))))
    rows = [
        (rule.id, rule.kind, rule.tier, rule.slice, name, _word(value))
        for rule in result.rules
        for name, value in rule.values.items()
        if value is not None
    ]
    head = ("rule", "kind", "tier", "slice", "key", "value")
    count = len(result.rules)
    title = f"{count} {'rule' if count == 1 else 'rules'} of {result.source}"
    return made(title, Entries(tuple(entries)), rows=PlainRows(head, rows))


def _common(kinds: list[dict[str, Any]]) -> dict[str, Any]:
    """The keys of every rule, as a kind has them that has all; ``kind`` is one of the kinds."""
    found = {name: each for kind in kinds for name, each in kind["properties"].items()}
    names = [kind["title"] for kind in kinds]
    about = next(each.help for each in COMMON if each.name == "kind")
    own = {"kind": {"description": about, "enum": names}}
    return {each.name: {**found, **own}[each.name] for each in COMMON}


def _section(title: str, about: Mapping[str, Any], properties: Mapping[str, Any]) -> Section:
    rows = tuple(_rows(about, properties))
    grid = Grid(("key", "default", "meaning"), rows, frozenset(range(3)))
    blocks = [about["description"], *([Table("", grid, prose=True)] if rows else [])]
    anchor = "".join(sign for sign in title.replace(" ", "-") if sign.isalnum() or sign in "-_")
    return Section(anchor, title, tuple(blocks))


def _rows(about: Mapping[str, Any], properties: Mapping[str, Any]) -> list[tuple[str, str, str]]:
    required = about.get("required", ())
    return [
        (name, "required" if name in required else _default(each), _meaning(each))
        for name, each in properties.items()
    ]


def _default(each: Mapping[str, Any]) -> str:
    return _word(each["default"]) if each.get("default", []) != [] else ""


def _meaning(each: Mapping[str, Any]) -> str:
    parts, choices = [each["description"]], each.get("enum", ())
    if any(choice not in each["description"] for choice in choices):
        parts.append(f"one of {', '.join(choices)}")
    if "maximum" in each:
        parts.append(f"{each['minimum']:g} to {each['maximum']:g}")
    elif "minimum" in each:
        parts.append(f"{each['minimum']:g} or more")
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
    return f"{value:g}" if isinstance(value, float) else str(value)
