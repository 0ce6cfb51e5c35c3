"""The rules that there are: one kind a file, one line each."""

from rankgate.gate.declare import Kind
from rankgate.gate.rules import (
    drift,
    errors,
    floor,
    improvement,
    judged,
    latency,
    must_have,
    must_not_have,
    noninferiority,
    order,
    per_query,
    zero_results,
)

RULES: tuple[Kind, ...] = (
    noninferiority.KIND,
    improvement.KIND,
    floor.KIND,
    per_query.KIND,
    must_have.KIND,
    must_not_have.KIND,
    order.KIND,
    judged.KIND,
    zero_results.KIND,
    errors.KIND,
    latency.KIND,
    drift.KIND,
)
"""In the order of the documentation."""
