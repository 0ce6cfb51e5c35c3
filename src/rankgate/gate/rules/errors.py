"""``errors``: few queries fail."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.gate.declare import Kind, Parameter
from rankgate.gate.rules.states import share

if TYPE_CHECKING:
    from rankgate.gate.declare import Evidence, Finding, Rule


def decide(rule: Rule, evidence: Evidence) -> Finding:
    """Queries that the engine answered with an error."""
    return share(rule, evidence, ("failed",), "failed")


KIND = Kind(
    "errors",
    "The share of the candidate's queries that failed.",
    (Parameter("at_most", "number", "The share, 0 to 1.", default=0.0, low=0, high=1),),
    decide,
)
