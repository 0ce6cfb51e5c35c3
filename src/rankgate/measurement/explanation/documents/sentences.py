"""The clauses that put a value together from its parts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.numbers import format_column, format_counts, format_decimal

if TYPE_CHECKING:
    from rankgate.measurement.explanation.explanation import Explanation, Sum

_MOST_TERMS = 8  # of a sum that is written out; of a longer one the middle is left out

_REASON_TEXTS = {
    "missing": "the run does not have this query",
    "no relevant": "there is no relevant document, so that the metric has no value",
    "nothing retrieved": "nothing was retrieved, so that the metric has no value",
}

_BY_RANK = (
    "no sum over documents: a row shows by how much the value moves when the list is read "
    "down to it"
)


def compose_value(result: Explanation) -> list[str]:
    """Compose the value from gains, weights and norm, or from the list read rank by rank."""
    value = format_column([result.value])[0]
    if result.why:
        subject = f"under {result.convention['name']} it"
        if result.value is not None:
            return [_REASON_TEXTS[result.why], f"{subject} counts as {value}"]
        outcome = "is left out of the mean" if result.why == "missing" else "stays undefined"
        return [_REASON_TEXTS[result.why], f"{subject} {outcome}"]
    if result.summed is None or result.norm is None:
        start = (
            "" if not result.start else f", from {format_decimal(result.start)} for an empty list"
        )
        return [f"{result.metric} = {value}", f"{_BY_RANK}{start}"]
    if not result.norm.name:
        return [f"{result.metric} = {_equation(result.summed, value)}"]
    summed_text, norm_text = (
        format_counts([result.summed.value])[0],
        format_counts([result.norm.value])[0],
    )
    return [
        f"{result.summed.name} = {_equation(result.summed, summed_text)}",
        f"{result.norm.name} = {_equation(result.norm, norm_text)}",
        f"{result.metric} = {summed_text} / {norm_text} = {value}",
    ]


def _equation(result: Sum, value: str) -> str:
    """The terms and their sum; the value alone with fewer than two terms.

    A long sum keeps its first and its last terms.
    """
    terms = format_counts(result.terms)
    if len(terms) > _MOST_TERMS:
        terms = [*terms[: _MOST_TERMS - 2], "…", terms[-1]]
    return f"{' + '.join(terms)} = {value}" if len(terms) > 1 else value
