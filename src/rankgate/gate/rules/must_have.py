"""``must_have``: for one query a document is among the first."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.gate.declare import Finding, Kind, Parameter
from rankgate.gate.rules.ranked import ranks

if TYPE_CHECKING:
    from rankgate.gate.declare import Evidence, Rule


def decide(rule: Rule, evidence: Evidence) -> Finding:
    """Look the document up in the candidate's list."""
    query, document, within = (rule.settings[name] for name in ("query", "document", "within"))
    found = ranks(evidence, query)
    if isinstance(found, Finding):
        return found
    rank = found.get(document)
    good = rank is not None and rank <= within
    where = f"at rank {rank}" if rank else f"not within rank {evidence.comparison.depth}"
    words = f"For query {query} document {document} is {where}; it must be within {within}."
    return Finding("pass" if good else "fail", words, n=1)


KIND = Kind(
    "must_have",
    "For one query the document is among the first.",
    (
        Parameter("query", "string", "The query's id.", required=True),
        Parameter("document", "string", "The document's id.", required=True),
        Parameter("within", "integer", "The last rank that counts.", default=10, low=1),
    ),
    decide,
)
