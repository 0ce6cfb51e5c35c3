"""Metrics at k: how the means move with the cutoff."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import UsageError
from rankgate.core.present.charts.parts import ChartAxis, in_columns, labelled_lines
from rankgate.core.present.charts.picture import Picture
from rankgate.core.present.charts.words import short
from rankgate.core.present.numbers import UNDEFINED
from rankgate.measurement.evaluation.charts.scored import best_first, counted, rows_at

if TYPE_CHECKING:
    from rankgate.measurement.evaluation.evaluation import Evaluation

_LEAST = 2
_BLOCKS = "▁▂▃▄▅▆▇█"
_LOG = 8  # a cutoff so many times the first is too far for even steps


def draw(result: Evaluation) -> Picture:
    """One panel with a line a metric for one run; for several a panel a metric, a line a run.

    Raises:
        UsageError: no metric has two cutoffs or more.
    """
    rows = _rows(result)
    stems = list(dict.fromkeys(row["metric"] for row in rows))
    x = _axis(sorted({row["k"] for row in rows}))
    if len(result.runs) == 1:
        title = f"{short(result.runs[0].run)}: metrics at k"
        chart = labelled_lines([row | {"series": row["metric"]} for row in rows], x, _MEAN)
    else:
        title = f"Metrics at k of {len(result.runs)} runs"
        chart = in_columns([_panel(best_first(rows, result), stem, x) for stem in stems])
    about = "Means over queries at each cutoff k."
    return Picture("cutoffs", title, about, counted(result), result.convention, tuple(rows), chart)


def _rows(result: Evaluation) -> list[dict[str, Any]]:
    """The means of metrics that have several cutoffs.

    Raises:
        UsageError: none has.
    """
    rows = [row for row in rows_at(result) if float(row["at"]).is_integer() and row["at"] >= 1]
    stems = [
        stem
        for stem in dict.fromkeys(row["metric"] for row in rows)
        if len({row["at"] for row in rows if row["metric"] == stem}) >= _LEAST
    ]
    rows = [row | {"k": int(row["at"])} for row in rows if row["metric"] in stems]
    if not rows:
        raise UsageError(
            "no metric has values at two cutoffs; give some, such as nDCG@5 and nDCG@10.",
            code="nothing-to-draw",
        )
    return rows


_MEAN = ChartAxis("value", "mean", form=".2f")


def _panel(rows: list[dict[str, Any]], stem: str, x: ChartAxis) -> Any:
    own = [row | {"series": row["run"]} for row in rows if row["metric"] == stem]
    return labelled_lines(own, x, _MEAN, size=(320, 250), title=f"{stem}@k")


def _axis(cutoffs: list[int]) -> ChartAxis:
    log = cutoffs[-1] >= _LOG * cutoffs[0]
    return ChartAxis("k", "cutoff k", (cutoffs[0], cutoffs[-1]), tuple(cutoffs), log=log)


def text(result: Evaluation, width: int) -> str:
    """A line for each metric of one run, or for each run by each metric: means, and their shape."""
    rows = _rows(result)
    one = len(result.runs) == 1
    heads = [result.runs[0].run] if one else list(dict.fromkeys(row["metric"] for row in rows))
    parts = []
    for head in heads:
        own = rows if one else [row for row in rows if row["metric"] == head]
        lines: dict[str, dict[int, float]] = {}
        for row in own:
            lines.setdefault(row["metric" if one else "run"], {})[row["k"]] = row["value"]
        what = f"{short(head)}: metrics at k" if one else f"{head} at k of {len(lines)} runs"
        title = f"{what}, means over {counted(result)}"
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
