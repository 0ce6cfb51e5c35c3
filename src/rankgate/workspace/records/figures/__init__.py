"""The recorded figures of each kind of result, with values per query."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from rankgate.core.present.resolve import load_name
from rankgate.workspace.records.figures.figures import Figures

if TYPE_CHECKING:
    from rankgate.core.present.result import Result

_PACKAGE = "rankgate.workspace.records.figures"
_KINDS = {
    "evaluation": f"{_PACKAGE}.of_evaluations:evaluation_figures",
    "comparison": f"{_PACKAGE}.of_comparisons:comparison_figures",
    "verdict": f"{_PACKAGE}.of_comparisons:verdict_figures",
    "scorecard": f"{_PACKAGE}.of_scorecards:scorecard_figures",
    "snapshot": f"{_PACKAGE}.of_snapshots:snapshot_figures",
    "kpi_table": f"{_PACKAGE}.of_logs:kpi_figures",
    "experiment": f"{_PACKAGE}.of_logs:experiment_figures",
}


def figures_of(result: Result) -> Figures:
    """The figures of a result; a kind that has none is recorded without figures."""
    function_path = _KINDS.get(result.kind)
    if function_path is None:
        return Figures()
    make_figures: Callable[[Result], Figures] = load_name(function_path)
    return make_figures(result)
