"""The clauses that put a value together from its parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.present.numbers import column, decimal, plain

if TYPE_CHECKING:
    from rankgate.explanation.explanation import Explanation, Sum

_TERMS = 8  # of a sum that is written out; of a longer one the middle is left out

_WHY = {
    "missing": "the run does not have this query",
    "no relevant": "there is no relevant document, so that the metric has no value",
    "nothing retrieved": "nothing was retrieved, so that the metric has no value",
}

_BY_RANK = (
    "no sum over documents: a row tells by how much the value moves when the list is read "
    "down to it"
)


def together(told: Explanation) -> list[str]:
    """How the value comes from gains, weights and norm, or from the list read rank by rank."""
    value = column([told.value])[0]
    if told.why:
        under = f"under {told.convention['name']} it"
        if told.value is not None:
            return [_WHY[told.why], f"{under} counts as {value}"]
        left = "is left out of the mean" if told.why == "missing" else "stays undefined"
        return [_WHY[told.why], f"{under} {left}"]
    if told.summed is None or told.norm is None:
        start = "" if not told.start else f", from {decimal(told.start)} for an empty list"
        return [f"{told.metric} = {value}", f"{_BY_RANK}{start}"]
    if not told.norm.name:
        return [f"{told.metric} = {_equation(told.summed, value)}"]
    parts, whole = plain([told.summed.value])[0], plain([told.norm.value])[0]
    return [
        f"{told.summed.name} = {_equation(told.summed, parts)}",
        f"{told.norm.name} = {_equation(told.norm, whole)}",
        f"{told.metric} = {parts} / {whole} = {value}",
    ]


def _equation(told: Sum, value: str) -> str:
    """The terms and what they come to; the value alone where there are not two terms.

    A long sum keeps its first and its last terms.
    """
    terms = plain(told.terms)
    if len(terms) > _TERMS:
        terms = [*terms[: _TERMS - 2], "…", terms[-1]]
    return f"{' + '.join(terms)} = {value}" if len(terms) > 1 else value
