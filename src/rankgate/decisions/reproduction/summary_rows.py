"""Rows of a published table that summarise other rows: averages, medians, spreads, p and changes.

Such a row is not a mean over queries, so that a number of queries does not limit it. It is checked
against the rows that it summarises.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.present.number_formats import count_noun
from rankgate.decisions.reproduction.printed_cells import PrintedNumber, UnreadCell
from rankgate.decisions.reproduction.published_table import IMPOSSIBLE, POSSIBLE, UNKNOWN

if TYPE_CHECKING:
    from rankgate.core.arrays import Floats

Interval = tuple[float, float]

_REMARK = r"\.?(?:\s*(?:\(.*\)|\[.*\]|over all\b.*|across\b.*))?"
_SUMMARIES = {
    "mean": rf"(?:(?:(?:macro|micro|overall|weighted|grand)[\s-]*)?(?:avg|average|mean)|overall){_REMARK}",
    "median": rf"(?:overall\s*)?median{_REMARK}",
    "spread": rf"(?:σ|sd|s\.d|std|(?:std|st|standard)?\.?[\s-]*(?:dev|deviation|err|error)){_REMARK}",
    "p": rf"(?:(?-i:p)|(?:p|sig)[\s.-]*val(?:ue)?s?){_REMARK}",
    "change": r"(?:(?:abs|rel|absolute|relative|%)?\.?\s*"
    rf"(?:gain|improvement|improv|impr|delta|diff|difference|change|lift)s?|Δ\s*%?){_REMARK}",
}
_CHANGE_NAMES = re.compile(
    r"(?i).*\b(?:diff(?:erence)?|change|gain|improvement|relative|delta)\b(?!\s*=)|.*Δ"
)


def names_change(heading: str) -> bool:
    """True if the name of a row or column can be that of changes."""
    return bool(_CHANGE_NAMES.match(heading))


def summary_kind(system: str, numbers: Sequence[PrintedNumber | UnreadCell | None]) -> str | None:
    """The kind of a row that summarises; None for a system.

    A row is of changes by its name, a plus sign, or several negative numbers.

    >>> summary_kind("Macro avg.", ()), summary_kind("Mean pooling", ())
    ('mean', None)
    """
    for kind, names in _SUMMARIES.items():
        if re.fullmatch(names, system.strip(), re.IGNORECASE):
            return kind
    printed_numbers = [number for number in numbers[1:] if isinstance(number, PrintedNumber)]
    signs = sum(number.value < 0 for number in printed_numbers)
    is_change = (
        any(number.change for number in printed_numbers)
        or (names_change(system) and signs)
        or (signs > 1 and all(number.value <= 0 for number in printed_numbers))
    )
    return "change" if is_change else None


def check_summary(
    kind: str, printed: Interval, blocks: Sequence[tuple[Floats, Floats]], width: float
) -> tuple[str, str]:
    """The status of a number that summarises rows, and the reason.

    Args:
        kind: of `summary_kind`.
        printed: the lowest and highest value that rounds to the number.
        blocks: the rows that it may summarise, all of them first: (R, 2) lowest and highest means,
            and (R,) their weights.
        width: the difference of the metric's highest and lowest value; infinite if unknown.
    """
    low, high = printed
    if kind == "p":
        return (IMPOSSIBLE, "a p-value is between 0 and 1") if low > 1 or high < 0 else (POSSIBLE, "")
    means, _ = blocks[0]
    if any(
        _meets(printed, values) for block in blocks if len(block[0]) for values in _CANDIDATES[kind](*block)
    ):
        return POSSIBLE, ""
    if kind == "spread" and (high < 0 or low > width / 2**0.5):  # two values, one at each end
        return IMPOSSIBLE, "values of this metric cannot spread so much"
    if kind in {"mean", "median"} and len(means) and (high < means.min() or low > means.max()):
        return IMPOSSIBLE, f"it is not between the lowest and the highest of {count_noun(len(means), 'row')}"
    return UNKNOWN, f"not the {kind} of rows of this table; it may be weighted, or of other values"


def _meets(printed: Interval, values: Interval) -> bool:
    rounding = 1e-9
    return printed[0] <= values[1] + rounding and printed[1] >= values[0] - rounding


def _averages(means: Floats, weights: Floats) -> list[Interval]:
    return [
        (float(low), float(high))
        for low, high in (means.mean(axis=0), np.average(means, axis=0, weights=weights))
    ]


def _medians(means: Floats, weights: Floats) -> list[Interval]:  # noqa: ARG001 - as other summaries
    low, high = np.median(means, axis=0)
    return [(float(low), float(high))]


def _spreads(means: Floats, weights: Floats) -> list[Interval]:  # noqa: ARG001 - as other summaries
    middle, error = means.mean(axis=1), float(np.ptp(means, axis=1).max())
    spreads = [float(middle.std(ddof=ddof)) for ddof in (0, 1) if len(middle) > ddof]
    return [(spread - error, spread + error) for spread in spreads]


def _changes(means: Floats, weights: Floats) -> list[Interval]:  # noqa: ARG001 - as other summaries
    """Differences of two rows, and those as a share of one row, as fractions and as percentages."""
    intervals: list[Interval] = []
    for i, (low, high) in enumerate(means.tolist()):
        for base_low, base_high in means[np.arange(len(means)) != i].tolist():
            ends = [(low - base_high, high - base_low)]
            if base_low > 0:
                shares = [end / base - 1 for end in (low, high) for base in (base_low, base_high)]
                ends.append((min(shares), max(shares)))
            intervals += [(scale * first, scale * last) for first, last in ends for scale in (1, 100)]
    return intervals


_CANDIDATES: dict[str, Callable[[Floats, Floats], list[Interval]]] = {
    "mean": _averages,
    "median": _medians,
    "spread": _spreads,
    "change": _changes,
}
