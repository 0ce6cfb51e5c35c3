"""A page of a scorecard: who is better by what, the table of all metrics, and charts."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.present.document import Chart, Document
from rankgate.core.present.grid import printable
from rankgate.recommenders.documents.scorecard import document as card_document

if TYPE_CHECKING:
    from rankgate.core.present.result import ReportOptions
    from rankgate.recommenders.scorecard import Scorecard

_CHARTS = "rankgate.measurement.evaluation.charts.tradeoff"
_NAMED = 4  # metrics that a sentence names


def document(result: Scorecard, _: ReportOptions) -> Document:
    """The outline of a scorecard below a headline, with charts below its table."""
    made = card_document(result)
    card, *others = made.sections
    charts = (
        Chart(f"{_CHARTS}:scorecard", result),
        Chart(f"{_CHARTS}:pareto", result),
    )
    first = replace(card, blocks=(*card.blocks, *charts))
    lead = (sentence(result), *made.lead)
    return replace(made, lead=lead, sections=(first, *others))


def sentence(result: Scorecard) -> str:
    """By which metrics each system differs significantly from the first."""
    base, *others = result.systems
    if not others:
        return f"{printable(base)} by {len(result.metrics)} metrics."
    parts = [
        f"{printable(name)} is significantly {' and '.join(words)}"
        for name in others
        if (words := _differences(result, name))
    ]
    if not parts:
        return f"No system differs significantly from {printable(base)} by any metric."
    rest = len(others) - len(parts)
    more = f"; {rest} without a significant difference" if rest else ""
    return f"Against {printable(base)}: {'; '.join(parts)}{more}."


def _differences(result: Scorecard, system: str) -> list[str]:
    table = result.differences
    own = table.filter((pl.col("system") == system) & (pl.col("p_value") < 1 - result.level))
    words = []
    for word, better in (("better", True), ("worse", False)):
        names = own.filter(pl.col("better") == better)["metric"].to_list()
        more = f" and {len(names) - _NAMED} more" if len(names) > _NAMED else ""
        words += [f"{word} by {', '.join(names[:_NAMED])}{more}"] if names else []
    return words
