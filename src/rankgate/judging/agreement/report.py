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
    plain_document = plain.document(result)
    blocks = [block for section in plain_document.sections for block in section.blocks]
    alarms: list[Block] = [block for block in blocks if isinstance(block, Warnings)]
    tables = [block for block in blocks if not isinstance(block, Chart | Warnings)]
    charts = (Chart(f"{_CHART}:coefficients", result), Chart(f"{_CHART}:draw", result))
    sections = (
        Section("agreement", "Agreement", (*alarms, *charts)),
        Section("tables", "Coefficients, raters, grades and queries", tuple(tables), "Tables"),
    )
    return replace(
        plain_document,
        title=result.heading,
        lead=(sentence(result), plain_document.title),
        sections=sections,
    )


def sentence(result: RaterAgreement) -> str:
    """Krippendorff's alpha, and how many alarms there are."""
    coefficient = result.found.coefficients[_HEADLINE]
    count = len(result.alarms)
    alarms = f"{count} {'warning' if count == 1 else 'warnings'}" if count else "no warnings"
    if not math.isfinite(coefficient.value):
        return f"Krippendorff's alpha (ordinal) has no value; {alarms}."
    bounds_text = f" (95% interval [{coefficient.low:z.3f}, {coefficient.high:z.3f}])"
    interval_text = (
        bounds_text if math.isfinite(coefficient.low) else " (too few queries for an interval)"
    )
    return f"Krippendorff's alpha (ordinal) is {coefficient.value:z.3f}{interval_text}; {alarms}."
