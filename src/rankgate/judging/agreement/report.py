"""Report page on agreement: headline, charts and tables."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING

from rankgate.core.present.document import Chart, Document, Section, Warnings
from rankgate.judging.agreement import document as plain

if TYPE_CHECKING:
    from rankgate.core.present.document import Block
    from rankgate.core.present.result import ReportOptions
    from rankgate.judging.agreement.agreement import RaterAgreement

_CHART = "rankgate.judging.agreement.chart"
_HEADLINE = "alpha, ordinal"


def document(result: RaterAgreement, _: ReportOptions) -> Document:
    """The most important coefficient and the alarms, charts, then the tables."""
    made = plain.document(result)
    blocks = [block for section in made.sections for block in section.blocks]
    alarms: list[Block] = [block for block in blocks if isinstance(block, Warnings)]
    tables = [block for block in blocks if not isinstance(block, Chart | Warnings)]
    charts = (Chart(f"{_CHART}:coefficients", result), Chart(f"{_CHART}:draw", result))
    sections = (
        Section("agreement", "Agreement", (*alarms, *charts)),
        Section("tables", "Coefficients, raters, grades and queries", tuple(tables), "Tables"),
    )
    return replace(
        made, title=result.heading, lead=(sentence(result), made.title), sections=sections
    )


def sentence(result: RaterAgreement) -> str:
    """Krippendorff's alpha, and how many alarms there are."""
    found = result.found.coefficients[_HEADLINE]
    count = len(result.alarms)
    alarms = f"{count} {'warning' if count == 1 else 'warnings'}" if count else "no warnings"
    if not math.isfinite(found.value):
        return f"Krippendorff's alpha (ordinal) has no value; {alarms}."
    ends = f" (95% interval [{found.low:z.3f}, {found.high:z.3f}])"
    known = ends if math.isfinite(found.low) else " (too few queries for an interval)"
    return f"Krippendorff's alpha (ordinal) is {found.value:z.3f}{known}; {alarms}."
