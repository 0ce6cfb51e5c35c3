"""``zero_results``: few queries return nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.gate.declare import Kind, Parameter
from rankgate.gate.rules.states import share

if TYPE_CHECKING:
    from rankgate.gate.declare import Evidence, Finding, Rule


def decide(rule: Rule, evidence: Evidence) -> Finding:
    """Queries that ran and returned nothing, and those that the run lacks."""
    return share(rule, evidence, ("zero", "not_run"), "return nothing")


KIND = Kind(
    "zero_results",
    "The share of the candidate's queries that return nothing.",
    (Parameter("at_most", "number", "The share, 0 to 1.", required=True, low=0, high=1),),
    decide,
)
