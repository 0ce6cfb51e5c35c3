"""A page of a scorecard: significant differences, the table of all metrics, and charts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.present.document import Chart, Document
from rankgate.core.present.grid import make_printable
from rankgate.recommenders.documents.scorecard import document as card_document

if TYPE_CHECKING:
    from rankgate.core.present.result import ReportOptions
    from rankgate.recommenders.scorecard import Scorecard

_CHARTS = "rankgate.measurement.evaluation.charts.tradeoff"
_MAX_METRICS = 4  # metrics that a sentence names


def document(result: Scorecard, _: ReportOptions) -> Document:
    """The outline of a scorecard below a headline, with charts below its table."""
    document_ = card_document(result)
    card, *other_sections = document_.sections
    charts = (
        Chart(f"{_CHARTS}:scorecard", result),
        Chart(f"{_CHARTS}:pareto", result),
    )
    first = replace(card, blocks=(*card.blocks, *charts))
    lead = (sentence(result), *document_.lead)
    return replace(document_, lead=lead, sections=(first, *other_sections))


def sentence(result: Scorecard) -> str:
    """The metrics by which each system differs significantly from the first."""
    base, *other_systems = result.systems
    if not other_systems:
        return f"{make_printable(base)} by {len(result.metrics)} metrics."
    parts = [
        f"{make_printable(name)} is significantly {' and '.join(differences)}"
        for name in other_systems
        if (differences := _differences(result, name))
    ]
    if not parts:
        return f"No system differs significantly from {make_printable(base)} by any metric."
    similar_count = len(other_systems) - len(parts)
    similar_note = f"; {similar_count} without a significant difference" if similar_count else ""
    return f"Against {make_printable(base)}: {'; '.join(parts)}{similar_note}."


def _differences(result: Scorecard, system: str) -> list[str]:
    table = result.differences
    significant = table.filter(
        (pl.col("system") == system) & (pl.col("p_value") < 1 - result.level)
    )
    clauses = []
    for word, better in (("better", True), ("worse", False)):
        names = significant.filter(pl.col("better") == better)["metric"].to_list()
        ellipsis = f" and {len(names) - _MAX_METRICS} more" if len(names) > _MAX_METRICS else ""
        clauses += [f"{word} by {', '.join(names[:_MAX_METRICS])}{ellipsis}"] if names else []
    return clauses
