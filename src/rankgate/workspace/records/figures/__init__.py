"""What is recorded of each kind of result: its figures, and its values per query."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from rankgate.core.present.resolve import resolved
from rankgate.workspace.records.figures.figures import Figures

if TYPE_CHECKING:
    from rankgate.core.present.result import Result

_HERE = "rankgate.workspace.records.figures"
_KINDS = {
    "evaluation": f"{_HERE}.of_evaluations:figures",
    "comparison": f"{_HERE}.of_comparisons:figures",
    "verdict": f"{_HERE}.of_comparisons:of_verdict",
    "scorecard": f"{_HERE}.of_scorecards:figures",
    "snapshot": f"{_HERE}.of_snapshots:figures",
    "kpi_table": f"{_HERE}.of_logs:figures",
    "experiment": f"{_HERE}.of_logs:of_experiment",
}


def figures_of(result: Result) -> Figures:
    """The figures of a result; a kind that has none is recorded without figures."""
    place = _KINDS.get(result.kind)
    if place is None:
        return Figures()
    found: Callable[[Result], Figures] = resolved(place)
    return found(result)
