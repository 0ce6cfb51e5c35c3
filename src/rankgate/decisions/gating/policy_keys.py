"""The keys of policies, also as a JSON schema."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import Result
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.document_model import Section, Table, nonempty_blocks
from rankgate.core.present.number_formats import format_setting
from rankgate.decisions.gating.policy_settings import BUDGET, COMMON, EARLIER, LISTS, RAMP, SETTINGS
from rankgate.decisions.gating.rules import RULES

if TYPE_CHECKING:
    from rankgate.core.declare import Parameter
    from rankgate.core.value_types import Json
    from rankgate.decisions.gating.rule import RuleKind


_DESCRIPTIONS = {
    "[gate]": "Settings of the whole gate; every key is optional.",
    "[lists]": "Inputs of metrics of lists, in addition to judgments and runs.",
    "[experiment]": "The experiment with the KPIs that rules check.",
    "[[ramp]]": "A step of a launch; the steps are in order.",
    "[budget]": "The way stages share the allowed probability of a false launch.",
    "[earlier]": "Results that must have passed before the ramp.",
}


KEYS = Columns(
    "One row per key.",
    Column("table", pl.String, "the table of the policy"),
    Column("key", pl.String, "its name"),
    Column("default", pl.String, "its value where a policy does not have it; or that it is required"),
    Column("meaning", pl.String, "what it sets, and its possible values"),
)


def _table_sections(result: PolicyKeys) -> Iterator[Section]:
    keys = result.keys
    for title, table in result.tables:
        grid = KEYS.grid(keys.filter(table=title), "key", "default", "meaning")
        anchor = "".join(sign for sign in title.replace(" ", "-") if sign.isalnum() or sign in "-_")
        blocks = nonempty_blocks((table["description"], Table("", grid, prose=True)))
        yield Section(anchor, title, blocks)


@dataclass(frozen=True)
class PolicyKeys(Result):
    """Every key of a policy.

    Attributes:
        schema: the JSON schema (2020-12) of a policy; editors check and complete TOML by it.
    """

    kind = "policies"
    csv_table = "keys"
    headline_text = "all keys of a policy"
    layout = (_table_sections,)
    WRITTEN: ClassVar[tuple[str, ...]] = ("schema",)
    KEYS: ClassVar[Mapping[str, str]] = {"schema": ""}

    schema: Mapping[str, Any]

    @property
    def tables(self) -> list[tuple[str, Mapping[str, Any]]]:
        """Every table of a policy with its schema; tables of a kind of rule lack the common keys."""
        tables = self.schema["properties"]
        kinds = tables["rules"]["items"]["oneOf"]
        common = {parameter.name for parameter in COMMON}
        return [
            *((f"[{name}]", tables[name]) for name in ("gate", "lists", "experiment", "budget", "earlier")),
            ("[[ramp]]", tables["ramp"]["items"]),
            ("[[rules]]", _schema_of_every_rule(kinds)),
            *(
                (
                    f'kind = "{kind["title"]}"',
                    {**kind, "properties": {k: v for k, v in kind["properties"].items() if k not in common}},
                )
                for kind in kinds
            ),
        ]

    @property
    def keys(self) -> pl.DataFrame:
        """The columns of `KEYS`."""
        rows = [
            (
                title,
                name,
                "required" if name in table.get("required", ()) else _default_text(key),
                _meaning(key),
            )
            for title, table in self.tables
            for name, key in table["properties"].items()
        ]
        return pl.DataFrame(rows, KEYS, orient="row")


def policy_keys() -> PolicyKeys:
    """Every key of a policy, from the declarations of settings, values and rules."""
    from rankgate.decisions.gating.policy_experiment import experiment_keys

    rules = [
        {
            "title": kind.name,
            "description": _title(kind),
            "type": "object",
            "properties": _properties((*_common_keys(kind), *kind.takes)) | {"kind": {"const": kind.name}},
            "required": ["kind", *(p.name for p in kind.takes if p.required)],
            "additionalProperties": False,
        }
        for kind in RULES.all_objects
    ]
    return PolicyKeys(
        {
            "$schema": "https://json-schema.org/draft/2020-12/schema",
            "title": "rankgate policy",
            "type": "object",
            "properties": {
                "gate": _section("[gate]", SETTINGS),
                "lists": _section("[lists]", LISTS),
                "experiment": _section("[experiment]", experiment_keys()),
                "ramp": {"type": "array", "items": _section("[[ramp]]", RAMP)},
                "budget": _section("[budget]", BUDGET),
                "earlier": _section("[earlier]", EARLIER),
                "rules": {"type": "array", "minItems": 1, "items": {"oneOf": rules}},
            },
            "required": ["rules"],
            "additionalProperties": False,
        }
    )


def _common_keys(kind: RuleKind) -> list[Parameter]:
    """The keys of every rule, without the slice if the kind cannot have one."""
    return [parameter for parameter in COMMON if kind.sliced or parameter.name != "slice"]


def _section(name: str, parameters: Sequence[Parameter]) -> dict[str, Json]:
    required = [parameter.name for parameter in parameters if parameter.required]
    return {
        "description": _DESCRIPTIONS[name],
        "type": "object",
        "properties": _properties(parameters),
        **({"required": required} if required else {}),
        "additionalProperties": False,
    }


def _schema_of_every_rule(kinds: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    """The common keys, from the kinds that have them; ``kind`` is one of the kinds."""
    schemas = {name: schema for kind in kinds for name, schema in kind["properties"].items()}
    description = next(parameter.help for parameter in COMMON if parameter.name == "kind")
    schemas["kind"] = {"description": description, "enum": [kind["title"] for kind in kinds]}
    return {
        "description": "Keys of every rule; the keys of each kind follow.",
        "properties": {parameter.name: schemas[parameter.name] for parameter in COMMON},
        "required": ["kind"],
    }


def _default_text(schema: Mapping[str, Any]) -> str:
    return format_setting(schema["default"]) if schema.get("default", []) != [] else ""


def _meaning(schema: Mapping[str, Any]) -> str:
    parts, choices = [schema["description"]], schema.get("enum", ())
    if any(choice not in schema["description"] for choice in choices):
        parts.append(f"one of {', '.join(choices)}")
    if "maximum" in schema:
        parts.append(f"{schema['minimum']:g} to {schema['maximum']:g}")
    elif "minimum" in schema:
        parts.append(f"{schema['minimum']:g} or more")
    return "; ".join(parts)


def _properties(parameters: Iterable[Parameter]) -> dict[str, Json]:
    return {parameter.name: parameter.schema for parameter in parameters}


def _title(kind: RuleKind) -> str:
    if kind.of_experiment is not None:
        return f"{kind.title[0].upper()}{kind.title[1:]} (inferred from users of an experiment)."
    inference_label = "inferred from a sample of queries" if kind.statistical else "counted, not inferred"
    return f"{kind.title[0].upper()}{kind.title[1:]} ({inference_label})."
