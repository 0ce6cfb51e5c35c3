"""Chart of metrics at k: means by cutoff."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import UsageError
from rankgate.core.present.charts.parts import ChartAxis, concat_panels, labelled_lines
from rankgate.core.present.charts.picture import Picture
from rankgate.core.present.charts.words import shorten_name
from rankgate.core.present.numbers import UNDEFINED
from rankgate.measurement.evaluation.charts.scored import best_first, query_count, rows_by_number

if TYPE_CHECKING:
    from rankgate.measurement.evaluation.scores import Scores

_FEWEST_CUTOFFS = 2
_BLOCKS = "▁▂▃▄▅▆▇█"
_LOG_RATIO = 8  # a cutoff so many times the first is too far for even steps


def draw(result: Scores) -> Picture:
    """Draw a panel with a line a metric for one run; for several, a panel a metric, a line a run.

    Raises:
        UsageError: no metric has two cutoffs or more.
    """
    rows = _rows(result)
    stems = list(dict.fromkeys(row["metric"] for row in rows))
    x = _axis(sorted({row["k"] for row in rows}))
    if len(result.runs) == 1:
        title = f"{shorten_name(result.runs[0].run)}: metrics at k"
        chart = labelled_lines([row | {"series": row["metric"]} for row in rows], x, _MEAN_AXIS)
    else:
        title = f"Metrics at k of {len(result.runs)} runs"
        chart = concat_panels([_panel(best_first(rows, result), stem, x) for stem in stems])
    caption = "Means over queries at each cutoff k."
    return Picture(
        "cutoffs", title, caption, query_count(result), result.convention, tuple(rows), chart
    )


def _rows(result: Scores) -> list[dict[str, Any]]:
    """The means of metrics that have several cutoffs.

    Raises:
        UsageError: none has.
    """
    rows = [
        row for row in rows_by_number(result) if float(row["at"]).is_integer() and row["at"] >= 1
    ]
    stems = [
        stem
        for stem in dict.fromkeys(row["metric"] for row in rows)
        if len({row["at"] for row in rows if row["metric"] == stem}) >= _FEWEST_CUTOFFS
    ]
    rows = [row | {"k": int(row["at"])} for row in rows if row["metric"] in stems]
    if not rows:
        raise UsageError(
            "no metric has values at two cutoffs; give some, such as nDCG@5 and nDCG@10.",
            code="nothing-to-draw",
        )
    return rows


_MEAN_AXIS = ChartAxis("value", "mean", form=".2f")


def _panel(rows: list[dict[str, Any]], stem: str, x: ChartAxis) -> Any:
    metric_rows = [row | {"series": row["run"]} for row in rows if row["metric"] == stem]
    return labelled_lines(metric_rows, x, _MEAN_AXIS, size=(320, 250), title=f"{stem}@k")


def _axis(cutoffs: list[int]) -> ChartAxis:
    log = cutoffs[-1] >= _LOG_RATIO * cutoffs[0]
    return ChartAxis("k", "cutoff k", (cutoffs[0], cutoffs[-1]), tuple(cutoffs), log=log)


def text(result: Scores, width: int) -> str:
    """A line for each metric of one run, or for each run by each metric: means, and their shape."""
    rows = _rows(result)
    is_single_run = len(result.runs) == 1
    titles = (
        [result.runs[0].run]
        if is_single_run
        else list(dict.fromkeys(row["metric"] for row in rows))
    )
    parts = []
    for name in titles:
        series_rows = rows if is_single_run else [row for row in rows if row["metric"] == name]
        lines: dict[str, dict[int, float]] = {}
        for row in series_rows:
            lines.setdefault(row["metric" if is_single_run else "run"], {})[row["k"]] = row["value"]
        subject = (
            f"{shorten_name(name)}: metrics at k"
            if is_single_run
            else f"{name} at k of {len(lines)} runs"
        )
        title = f"{subject}, means over {query_count(result)}"
        parts.append("\n".join([title, "", *_lines(lines, width)]) + "\n")
    return "\n".join(parts)


def _lines(result: Mapping[str, Mapping[int, float]], width: int) -> list[str]:
    cutoffs = sorted({k for line in result.values() for k in line})
    names = max(map(len, result))
    top = max(value for line in result.values() for value in line.values())
    cells = max((width - names - len(cutoffs) - 4) // len(cutoffs) - 1, 5)
    form = 4 if cells > 5 else 2  # a mean with four decimals takes six
    size = form + 3
    lines = [f"{'':<{names}}  " + "".join(f"{f'@{k}':>{size}}" for k in cutoffs)]
    for name, line in result.items():
        means = "".join(f"{_number(line.get(k), form):>{size}}" for k in cutoffs)
        lines.append(f"{name:<{names}}  {means}  {shape([line.get(k) for k in cutoffs], top)}")
    return [line.rstrip() for line in lines]


def _number(value: float | None, digits: int) -> str:
    return UNDEFINED if value is None else f"{value:z.{digits}f}"


def shape(values: Sequence[float | None], top: float) -> str:
    """A block for each value, as high as it is.

    >>> shape([0, 0.5, None, 1], 1)
    '▁▅ █'
    """
    if not top > 0:
        return ""
    return "".join(
        " " if value is None else _BLOCKS[round(max(value, 0) / top * (len(_BLOCKS) - 1))]
        for value in values
    )
