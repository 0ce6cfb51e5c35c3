"""How far raters agree, two by two."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.errors import UsageError
from rankgate.present.charts.heat import heat
from rankgate.present.charts.picture import Picture
from rankgate.present.charts.style import SIGNED
from rankgate.present.charts.words import short, shorts

if TYPE_CHECKING:
    from rankgate.judging.agreement.agreement import RaterAgreement


def draw(result: RaterAgreement) -> Picture:
    """A matrix of Cohen's kappa.

    Raises:
        UsageError: no two raters graded the same pair.
    """
    pairs = result.found.pairs
    if pairs.is_empty():
        raise UsageError(
            "no two raters graded the same pair; there is no agreement to draw.",
            code="no-common-pairs",
        )
    raters = sorted({*pairs["first"].to_list(), *pairs["second"].to_list()})
    names = dict(zip(raters, shorts(raters, 18), strict=True))
    rows: list[dict[str, Any]] = []
    known = {}
    for row in pairs.iter_rows(named=True):
        known[row["first"], row["second"]] = known[row["second"], row["first"]] = row
    for one in raters:
        for two in raters:
            pair = known.get((one, two))
            rows.append(
                {
                    "row": names[one],
                    "column": names[two],
                    "value": pair["kappa"] if pair else None,
                    "overlap": pair["overlap"] if pair else None,
                }
            )
    return Picture(
        "agreement",
        f"Agreement of {len(raters)} raters in {short(result.found.name)}",
        "Cohen's kappa of each two raters on the pairs that both graded: 1 is agreement, 0 is "
        "what chance gives; empty: no pair in common.",
        f"{result.found.counts['overlap']:,} pairs graded twice or more",
        {},
        tuple(rows),
        heat(rows, (-1, 1), SIGNED),
    )
