"""Metrics at k: how the means move with the cutoff."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rankgate.errors import UsageError
from rankgate.report.charts.parts import Axis, in_columns, labelled_lines
from rankgate.report.charts.picture import Picture
from rankgate.report.charts.scored import counted, rows_at
from rankgate.report.charts.words import short

if TYPE_CHECKING:
    from rankgate.services import Evaluation

_LEAST = 2
_LOG = 8  # a cutoff so many times the first is too far for even steps


def draw(told: Evaluation) -> Picture:
    """One panel with a line a metric for one run; for several a panel a metric, a line a run.

    Raises:
        UsageError: no metric has two cutoffs or more.
    """
    rows = [row for row in rows_at(told) if float(row["at"]).is_integer() and row["at"] >= 1]
    stems = [
        stem
        for stem in dict.fromkeys(row["metric"] for row in rows)
        if len({row["at"] for row in rows if row["metric"] == stem}) >= _LEAST
    ]
    rows = [row | {"k": int(row["at"])} for row in rows if row["metric"] in stems]
    if not rows:
        raise UsageError(
            "no metric has values at two cutoffs; give some, such as nDCG@5 and nDCG@10."
        )
    x = _axis(sorted({row["k"] for row in rows}))
    if len(told.runs) == 1:
        title = f"{short(told.runs[0].run)}: metrics at k"
        chart = labelled_lines([row | {"series": row["metric"]} for row in rows], x, _MEAN)
    else:
        title = f"Metrics at k of {len(told.runs)} runs"
        chart = in_columns([_panel(rows, stem, x) for stem in stems])
    about = "Means over queries at each cutoff k."
    return Picture("cutoffs", title, about, counted(told), told.convention, tuple(rows), chart)


_MEAN = Axis("value", "mean", form=".2f")


def _panel(rows: list[dict[str, Any]], stem: str, x: Axis) -> Any:  # noqa: ANN401 - Altair's
    own = [row | {"series": row["run"]} for row in rows if row["metric"] == stem]
    return labelled_lines(own, x, _MEAN, size=(320, 250), title=f"{stem}@k")


def _axis(cutoffs: list[int]) -> Axis:
    log = cutoffs[-1] >= _LOG * cutoffs[0]
    return Axis("k", "cutoff k", (cutoffs[0], cutoffs[-1]), tuple(cutoffs), log=log)
