"""Chart of precision against recall, interpolated."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.errors import UsageError
from rankgate.core.present.charts.parts import ChartAxis, labelled_lines
from rankgate.core.present.charts.picture import Picture
from rankgate.core.present.charts.words import shorten_name
from rankgate.measurement.evaluation.charts.scored import best_first, query_count, rows_by_number

if TYPE_CHECKING:
    from rankgate.measurement.evaluation.scores import Scores

_NAMES = ("IPrec", "iprec_at_recall")


def draw(result: Scores) -> Picture:
    """Draw a line for each run.

    Raises:
        UsageError: no metric is IPrec.
    """
    rows = [
        {"series": row["run"], "recall": row["at"], "precision": row["value"]}
        for row in best_first(rows_by_number(result), result)
        if row["metric"].partition("(")[0] in _NAMES
    ]
    if not rows:
        raise UsageError(
            "no IPrec has a value; a precision-recall curve is made of IPrec@0.0 to IPrec@1.0.",
            code="nothing-to-draw",
        )
    x = ChartAxis("recall", "recall", (0, 1), (0, 0.2, 0.4, 0.6, 0.8, 1), form=".1f")
    y = ChartAxis("precision", "interpolated precision", (0, 1), form=".1f")
    title = (
        f"Precision and recall of {shorten_name(result.runs[0].run)}"
        if len(result.runs) == 1
        else f"Precision and recall of {len(result.runs)} runs"
    )
    return Picture(
        "precision-recall",
        title,
        "At each level of recall the greatest precision from there on, mean over queries."
        + (" The best mean is at the top of the list." if len(result.runs) > 1 else ""),
        query_count(result),
        result.convention,
        tuple(rows),
        labelled_lines(rows, x, y, size=(420, 380), listed=len(result.runs) > 1),
    )
