"""The keys of policies, also as a JSON schema."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Self

from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import Result
from rankgate.decisions.gating.policy_settings import BUDGET, COMMON, EARLIER, LISTS, RAMP, SETTINGS
from rankgate.decisions.gating.rules import RULES

if TYPE_CHECKING:
    from rankgate.core.declare import Parameter
    from rankgate.core.value_types import Json, JsonObject
    from rankgate.decisions.gating.rule import RuleKind


_DESCRIPTIONS = {
    "[gate]": "Settings of the whole gate; every key is optional.",
    "[lists]": "Inputs of metrics of lists, in addition to judgments and runs.",
    "[experiment]": "The experiment with the KPIs that rules check.",
    "[[ramp]]": "A step of a launch; the steps are in order.",
    "[budget]": "The way stages share the allowed probability of a false launch.",
    "[earlier]": "Results that must have passed before the ramp.",
}


@dataclass(frozen=True)
class PolicyKeys(Result):
    """Every key of a policy.

    Attributes:
        schema: the JSON schema (2020-12) of a policy; editors check and complete TOML by it.
    """

    kind: ClassVar[str] = "policies"
    document_from: ClassVar[str] = "rankgate.decisions.gating.gate_documents:keys_document"

    schema: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        """The schema, which may have further keys."""
        return {**self.head(), **self.schema}

    @classmethod
    def from_dict(cls, values: JsonObject) -> Self:
        """The keys that ``to_dict`` was called on."""
        return cls({name: table for name, table in values.items() if name not in cls.head()})


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


def _properties(parameters: Iterable[Parameter]) -> dict[str, Json]:
    return {parameter.name: parameter.schema for parameter in parameters}


def _title(kind: RuleKind) -> str:
    if kind.of_experiment is not None:
        return f"{kind.title[0].upper()}{kind.title[1:]} (inferred from users of an experiment)."
    inference_label = "inferred from a sample of queries" if kind.statistical else "counted, not inferred"
    return f"{kind.title[0].upper()}{kind.title[1:]} ({inference_label})."
