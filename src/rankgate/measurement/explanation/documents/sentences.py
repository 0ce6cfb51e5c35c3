"""The clauses that put a value together from its parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.numbers import column, decimal, plain

if TYPE_CHECKING:
    from rankgate.measurement.explanation.explanation import Explanation, Sum

_TERMS = 8  # of a sum that is written out; of a longer one the middle is left out

_WHY = {
    "missing": "the run does not have this query",
    "no relevant": "there is no relevant document, so that the metric has no value",
    "nothing retrieved": "nothing was retrieved, so that the metric has no value",
}

_BY_RANK = (
    "no sum over documents: a row shows by how much the value moves when the list is read "
    "down to it"
)


def together(result: Explanation) -> list[str]:
    """How the value comes from gains, weights and norm, or from the list read rank by rank."""
    value = column([result.value])[0]
    if result.why:
        under = f"under {result.convention['name']} it"
        if result.value is not None:
            return [_WHY[result.why], f"{under} counts as {value}"]
        left = "is left out of the mean" if result.why == "missing" else "stays undefined"
        return [_WHY[result.why], f"{under} {left}"]
    if result.summed is None or result.norm is None:
        start = "" if not result.start else f", from {decimal(result.start)} for an empty list"
        return [f"{result.metric} = {value}", f"{_BY_RANK}{start}"]
    if not result.norm.name:
        return [f"{result.metric} = {_equation(result.summed, value)}"]
    parts, whole = plain([result.summed.value])[0], plain([result.norm.value])[0]
    return [
        f"{result.summed.name} = {_equation(result.summed, parts)}",
        f"{result.norm.name} = {_equation(result.norm, whole)}",
        f"{result.metric} = {parts} / {whole} = {value}",
    ]


def _equation(result: Sum, value: str) -> str:
    """The terms and what they come to; the value alone where there are not two terms.

    A long sum keeps its first and its last terms.
    """
    terms = plain(result.terms)
    if len(terms) > _TERMS:
        terms = [*terms[: _TERMS - 2], "…", terms[-1]]
    return f"{' + '.join(terms)} = {value}" if len(terms) > 1 else value
