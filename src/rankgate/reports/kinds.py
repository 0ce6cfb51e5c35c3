"""Every kind of picture, by hand: a line a kind."""

from __future__ import annotations

from rankgate.blind_spots import charts as blind
from rankgate.comparison.charts import deltas, forest, power, scatter
from rankgate.errors import UsageError
from rankgate.evaluation.charts import cutoffs, distributions, precision_recall
from rankgate.explanation.charts import gains, reconciled
from rankgate.judging.admission import chart as admitted
from rankgate.judging.agreement import chart as raters
from rankgate.pipelines.charts import ranked, staged
from rankgate.present.charts.kind import Kind
from rankgate.recommenders import charts as scorecard
from rankgate.unjudged.charts import calibration as calibrated
from rankgate.unjudged.charts import holes as bounds

KINDS = (
    Kind("deltas", "differences query by query", "comparison", deltas.draw, deltas.text),
    Kind("cutoffs", "metrics at k", "cutoffs", cutoffs.draw, cutoffs.text),
    Kind("scatter", "two systems, a point a query", "comparison", scatter.draw),
    Kind("forest", "intervals of many differences", "comparisons", forest.draw),
    Kind("reconcile", "one metric under all conventions", "reconciliation", reconciled.draw),
    Kind("blindspots", "what metrics do not see", "blindness", blind.draw),
    Kind("explain", "what each document adds to a value", "explanation", gains.draw),
    Kind("judged", "share judged at each rank", "ranks", ranked.judged),
    Kind("grades", "mix of grades at each rank", "ranks", ranked.grades),
    Kind(
        "distributions", "values over queries", "evaluation", distributions.draw, distributions.text
    ),
    Kind("precision-recall", "precision against recall", "recall", precision_recall.draw),
    Kind("power", "what more queries would show", "planned", power.draw),
    Kind("holes", "what unjudged documents could hide", "hidden", bounds.draw),
    Kind("calibration", "estimates of holes come true?", "calibration", calibrated.draw),
    Kind("agreement", "raters, two by two", "agreed", raters.draw),
    Kind("admission", "a judge's grades by people's", "admitted", admitted.draw),
    Kind("scorecard", "systems by several metrics", "tradeoff", scorecard.scorecard),
    Kind("pareto", "two metrics against each other", "tradeoff", scorecard.pareto),
    Kind("stages", "stages with their ceilings", "pipeline", staged.draw),
)
"""In the order of `rankgate plot --help`."""


def kind(name: str) -> Kind:
    """The kind of that name.

    Raises:
        UsageError: there is none.
    """
    for each in KINDS:
        if each.name == name:
            return each
    raise UsageError(
        f"no picture is called {name!r}; there are {', '.join(each.name for each in KINDS)}.",
        code="unknown-picture",
    )
