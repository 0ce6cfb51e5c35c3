"""The kinds of rules; a new one is a file and a line here."""

from rankgate.gating.rules import (
    admitted,
    documents,
    drift,
    floor,
    improvement,
    judged,
    latency,
    noninferiority,
    per_query,
    states,
    unseen,
)

RULES = {
    kind.name: kind
    for kind in (
        noninferiority.KIND,
        improvement.KIND,
        floor.KIND,
        per_query.KIND,
        documents.MUST_HAVE,
        documents.MUST_NOT_HAVE,
        documents.ORDER,
        judged.KIND,
        states.KIND,
        latency.KIND,
        unseen.KIND,
        drift.KIND,
        admitted.KIND,
    )
}
"""Every kind of rule, by name."""
