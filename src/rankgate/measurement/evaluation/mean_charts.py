"""Charts of means: metrics by cutoff, precision against recall, trade-offs."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypedDict, TypeVar

from rankgate.core.errors import UsageError
from rankgate.core.present.charts.chart_layers import find_label_spots, spot_layers, unplaced_layers
from rankgate.core.present.charts.chart_parts import (
    ChartAxis,
    axis_title,
    concat_panels,
    hidden_axis,
    inline_data,
    labelled_lines,
    load_altair,
)
from rankgate.core.present.charts.chart_style import BLUE, DIM, GREY, INK, shorten_names
from rankgate.core.present.charts.picture import Picture
from rankgate.core.present.document_model import shorten_name
from rankgate.core.present.number_formats import UNDEFINED, count_noun, count_queries, format_decimal
from rankgate.measurement.evaluation.tradeoff import tradeoff

if TYPE_CHECKING:
    from rankgate.measurement.evaluation.scores import Scores
    from rankgate.measurement.evaluation.tradeoff import ScorecardFigures, Tradeoff


NumberMeanT = TypeVar("NumberMeanT", bound="NumberMean")


def query_count(result: Scores) -> str:
    """The number of queries in the means."""
    return count_queries(*(run.counts.queries for run in result.runs))


class NumberMean(TypedDict):
    """The mean of a run by a metric with a number after @."""

    run: str
    metric: str
    at: float
    value: float


class _CutoffMean(NumberMean):
    k: int


class _SystemPoint(TypedDict):
    system: str
    x: float
    y: float
    front: bool


def rows_by_number(result: Scores) -> list[NumberMean]:
    """The means of metrics with a number after @, by run, metric and that number."""
    names = shorten_names([run.run for run in result.runs])
    rows: list[NumberMean] = []
    for name, run in zip(names, result.runs, strict=True):
        points = [
            (float(level), stem_of(label), float(run.means[label]))
            for label in result.metrics
            if (level := parse_number(label)) is not None and not math.isnan(run.means[label])
        ]
        rows += [
            {"run": name, "metric": stem, "at": level, "value": value}
            for level, stem, value in sorted(points, key=lambda point: point[0])
        ]
    return rows


def best_first(rows: list[NumberMeanT], result: Scores) -> list[NumberMeanT]:
    """The rows of `rows_by_number`, ordered by the mean of the first metric, best run first."""
    if not rows:
        return rows
    stem = rows[0]["metric"]
    sign = -1 if stem in map(stem_of, result.lower) else 1
    signed_means: dict[str, list[float]] = {}
    for row in rows:
        run_means = signed_means.setdefault(row["run"], [])
        if row["metric"] == stem:
            run_means.append(sign * row["value"])
    merit = {
        name: sum(run_means) / len(run_means) if run_means else -math.inf
        for name, run_means in signed_means.items()
    }
    return sorted(rows, key=lambda row: -merit[row["run"]])


def parse_number(label: str) -> float | None:
    """Parse the number after @, or after the dot in trec_eval's names.

    >>> parse_number("nDCG@10"), parse_number("P.5"), parse_number("IPrec@0.1"), parse_number("AP")
    (10.0, 5.0, 0.1, None)
    """
    _, mark, tail = label.rpartition("@") if "@" in label else label.partition(".")
    try:
        return float(tail) if mark else None
    except ValueError:
        return None


def stem_of(label: str) -> str:
    """The metric without the part after @ or after the dot.

    >>> stem_of("nDCG(gain='exp')@10"), stem_of("P.5")
    ("nDCG(gain='exp')", 'P')
    """
    return label.rpartition("@")[0] if "@" in label else label.partition(".")[0]


_FEWEST_CUTOFFS = 2
_BLOCKS = "▁▂▃▄▅▆▇█"
_LOG_RATIO = 8  # a cutoff this many times the first is too far for even steps


def draw_cutoffs(result: Scores) -> Picture:
    """Draw one panel for one run, with a line per metric; else a panel per metric, a line per run.

    Raises:
        UsageError: no metric has several cutoffs.
    """
    rows = _rows(result)
    stems = list(dict.fromkeys(row["metric"] for row in rows))
    x = _axis(sorted({row["k"] for row in rows}))
    if len(result.runs) == 1:
        title = f"{shorten_name(result.runs[0].run)}: metrics at k"
        chart = labelled_lines([{**row, "series": row["metric"]} for row in rows], x, _MEAN_AXIS)
    else:
        title = f"Metrics at k of {count_noun(len(result.runs), 'run')}"
        chart = concat_panels([_panel(best_first(rows, result), stem, x) for stem in stems])
    caption = "Means over queries at each cutoff k."
    return Picture("cutoffs", title, caption, query_count(result), result.convention, tuple(rows), chart)


def _rows(result: Scores) -> list[_CutoffMean]:
    """The means of metrics that have several cutoffs.

    Raises:
        UsageError: no metric has several cutoffs.
    """
    rows = [row for row in rows_by_number(result) if float(row["at"]).is_integer() and row["at"] >= 1]
    stems = [
        stem
        for stem in dict.fromkeys(row["metric"] for row in rows)
        if len({row["at"] for row in rows if row["metric"] == stem}) >= _FEWEST_CUTOFFS
    ]
    cutoff_rows: list[_CutoffMean] = [{**row, "k": int(row["at"])} for row in rows if row["metric"] in stems]
    if not cutoff_rows:
        raise UsageError(
            "no metric has values at two cutoffs; give some, such as nDCG@5 and nDCG@10.",
            code="nothing-to-draw",
        )
    return cutoff_rows


_MEAN_AXIS = ChartAxis("value", "mean", form=".2f")


def _panel(rows: list[_CutoffMean], stem: str, x: ChartAxis) -> Any:
    metric_rows = [{**row, "series": row["run"]} for row in rows if row["metric"] == stem]
    return labelled_lines(metric_rows, x, _MEAN_AXIS, size=(320, 250), title=f"{stem}@k")


def _axis(cutoffs: list[int]) -> ChartAxis:
    log = cutoffs[-1] >= _LOG_RATIO * cutoffs[0]
    return ChartAxis("k", "cutoff k", (cutoffs[0], cutoffs[-1]), tuple(cutoffs), log=log)


def text_cutoffs(result: Scores, width: int) -> str:
    """The means and a bar of blocks, by metric for one run, or by run for each metric."""
    rows = _rows(result)
    is_single_run = len(result.runs) == 1
    titles = [result.runs[0].run] if is_single_run else list(dict.fromkeys(row["metric"] for row in rows))
    parts = []
    for name in titles:
        series_rows = rows if is_single_run else [row for row in rows if row["metric"] == name]
        lines: dict[str, dict[int, float]] = {}
        for row in series_rows:
            line_name = row["metric"] if is_single_run else row["run"]
            lines.setdefault(line_name, {})[row["k"]] = row["value"]
        subject = (
            f"{shorten_name(name)}: metrics at k"
            if is_single_run
            else f"{name} at k of {count_noun(len(lines), 'run')}"
        )
        title = f"{subject}, means over {query_count(result)}"
        parts.append("\n".join([title, "", *_lines(lines, width)]) + "\n")
    return "\n".join(parts)


def _lines(result: Mapping[str, Mapping[int, float]], width: int) -> list[str]:
    cutoffs = sorted({k for line in result.values() for k in line})
    names = max(map(len, result))
    top = max(value for line in result.values() for value in line.values())
    cells = max((width - names - len(cutoffs) - 4) // len(cutoffs) - 1, 5)
    form = 4 if cells > 5 else 2  # a mean with four decimals needs six cells
    size = form + 3
    lines = [f"{'':<{names}}  " + "".join(f"{f'@{k}':>{size}}" for k in cutoffs)]
    for name, line in result.items():
        means = "".join(f"{_number(line.get(k), form):>{size}}" for k in cutoffs)
        lines.append(f"{name:<{names}}  {means}  {shape([line.get(k) for k in cutoffs], top)}")
    return [line.rstrip() for line in lines]


def _number(value: float | None, digits: int) -> str:
    return UNDEFINED if value is None else f"{value:z.{digits}f}"


def shape(values: Sequence[float | None], top: float) -> str:
    """A block for each value, with the height of the value.

    >>> shape([0, 0.5, None, 1], 1)
    '▁▅ █'
    """
    if not top > 0:
        return ""
    return "".join(
        " " if value is None else _BLOCKS[round(max(value, 0) / top * (len(_BLOCKS) - 1))] for value in values
    )


_NAMES = ("IPrec", "iprec_at_recall")


def draw_precision_recall(result: Scores) -> Picture:
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
        else f"Precision and recall of {count_noun(len(result.runs), 'run')}"
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


_STEP, _LEAST, _HEIGHT, _SIDE, _NAME, _LINE = 110, 330, 300, 400, 120, 9
_MOST_NARROW_AXES = 5  # axes that fit on a phone
_MARGIN = 0.06  # share of the axes, around the points


def scorecard(source: Scores | ScorecardFigures | Tradeoff) -> Picture:
    """A line a system across an axis for each metric, the best on top."""
    result = tradeoff(source)
    names = dict(zip(result.means, shorten_names(list(result.means)), strict=True))
    systems = sorted(result.means, key=lambda name: _merit(result, name))  # the first get colours
    rows = [
        {
            "series": names[system],
            "metric": metric,
            "place": position,
            "value": result.means[system][metric],
            "share": _share(result, system, metric),
        }
        for system in systems
        for position, metric in enumerate(result.higher)
    ]
    width = max(_STEP * (len(result.higher) - 1), _LEAST)
    x = ChartAxis("place", "", (0, len(result.higher) - 1), bare=True)
    lines = labelled_lines(rows, x, ChartAxis("share", "", (0, 1), bare=True), size=(width, _HEIGHT))
    height = lines.height
    falls = "" if all(result.higher.values()) else " ↓: lower is better."
    return Picture(
        "scorecard",
        f"{count_noun(len(result.means), 'system')} by {count_noun(len(result.higher), 'metric')}",
        "Each axis goes from 0 to the largest mean of these systems, with the better end on top; lines that "
        "do not cross agree on the order. The front (no other system is as good at everything and better at "
        "something): "
        f"{', '.join(map(shorten_name, result.front))}.{falls}",
        count_queries(*result.counts, users=source.kind == "scorecard"),
        result.convention,
        tuple(rows),
        load_altair().layer(_axes(result, height), lines).properties(width=width, height=height),
        fluid=len(result.higher) <= _MOST_NARROW_AXES,
    )


def _merit(result: Tradeoff, system: str) -> tuple[bool, float]:
    """The order of systems: first the Pareto front, then by mean position on all axes."""
    shares = [_share(result, system, metric) for metric in result.higher]
    return system not in result.front, -sum(shares) / len(shares)


def _span(result: Tradeoff, metric: str) -> tuple[float, float]:
    """The ends of a metric's axis, including 0, so that small differences look small."""
    values = [system_means[metric] for system_means in result.means.values()]
    return min(0.0, *values), max(0.0, *values)


def _share(result: Tradeoff, system: str, metric: str) -> float:
    """The position of a value on its axis, from 0 to 1; 0.5 if all values are 0."""
    low, high = _span(result, metric)
    share = (result.means[system][metric] - low) / (high - low) if high > low else 0.5
    return share if result.higher[metric] else 1 - share


def _axes(result: Tradeoff, height: float) -> Any:
    alt = load_altair()
    rows = []
    for position, (metric, higher) in enumerate(result.higher.items()):
        top, bottom = _span(result, metric)[:: -1 if higher else 1]
        rows.append(
            {
                "place": position,
                "metric": f"{shorten_name(metric, 20)}{'' if higher else ' ↓'}",
                "top": _end(top),
                "bottom": _end(bottom),
            }
        )
    base = alt.Chart(inline_data(rows)).encode(x=alt.X("place:Q", axis=hidden_axis()))
    text_rows = (("metric", -26, INK), ("top", -12, DIM), ("bottom", height + 14, DIM))
    texts = [
        base.mark_text(color=shade, fontSize=12 if name == "metric" else 11).encode(
            y=alt.value(offset), text=f"{name}:N"
        )
        for name, offset, shade in text_rows
    ]
    return alt.layer(base.mark_rule(color=GREY, opacity=0.5), *texts)


def _end(value: float) -> str:
    return format_decimal(value) if value else "0"


def pareto(source: Scores | ScorecardFigures | Tradeoff) -> Picture:
    """The first metric against the second, a point per system; the front is blue."""
    result = tradeoff(source)
    first, second = list(result.higher)[:2]
    names = dict(zip(result.means, shorten_names(list(result.means)), strict=True))
    rows: list[_SystemPoint] = [
        {
            "system": names[system],
            "x": system_means[first],
            "y": system_means[second],
            "front": system in result.front,
        }
        for system, system_means in result.means.items()
    ]
    metric_count = len(result.higher)
    front_note = f" The front is by {metric_count} metrics." if metric_count > 2 else ""
    lower = [metric for metric in (first, second) if not result.higher[metric]]
    better = f" Lower is better: {', '.join(lower)}." if lower else ""
    return Picture(
        "pareto",
        f"{shorten_name(first)} against {shorten_name(second)}: {count_noun(len(rows), 'system')}",
        f"Blue: no other system is as good at everything and better at something.{front_note}{better}",
        count_queries(*result.counts, users=source.kind == "scorecard"),
        result.convention,
        tuple(rows),
        _points(rows, (first, second)),
        fluid=False,
    )


def _points(rows: list[_SystemPoint], metrics: tuple[str, str]) -> Any:
    alt = load_altair()
    domains = {"x": _ends([row["x"] for row in rows]), "y": _ends([row["y"] for row in rows])}
    x, y = (
        channel(
            f"{field}:Q",
            title=axis_title(f"mean {metric}", domain[0]),
            scale=alt.Scale(domain=domain, nice=False, zero=False),
            axis=alt.Axis(tickCount=6),
        )
        for channel, (field, domain), metric in zip((alt.X, alt.Y), domains.items(), metrics, strict=True)
    )
    base = alt.Chart(inline_data(rows)).encode(x=x, y=y)
    shade = alt.condition("datum.front", alt.value(BLUE), alt.value(GREY))
    points = base.mark_point(filled=True, size=80, opacity=0.9).encode(
        color=shade, tooltip=["system:N", "x:Q", "y:Q"]
    )
    sorted_rows = sorted(rows, key=lambda row: not row["front"])
    labelled_rows = [{**row, "shown": row["system"]} for row in sorted_rows]
    size = (_SIDE, max(_SIDE, _LINE * len(rows)))
    places, axes = _places(sorted_rows, size), {"x": x, "y": y}
    label_spots = find_label_spots(places, [row["system"] for row in sorted_rows], size, outside=_NAME)
    names = spot_layers(labelled_rows, label_spots, axes, color=shade)
    names += unplaced_layers(labelled_rows, places, label_spots, size, axes, color=shade)
    return alt.layer(points, *names).properties(width=size[0], height=size[1])


def _places(rows: list[_SystemPoint], size: tuple[int, int]) -> list[tuple[float, float]]:
    """The positions of points, from the left and from the top."""
    lowest_x, highest_x = _ends([row["x"] for row in rows])
    low, high = _ends([row["y"] for row in rows])
    return [
        (size[0] * (row["x"] - lowest_x) / (highest_x - lowest_x), size[1] * (high - row["y"]) / (high - low))
        for row in rows
    ]


def _ends(values: list[float]) -> list[float]:
    low, high = min(values), max(values)
    margin = (high - low) * _MARGIN or 0.05
    return [low - margin, high + margin]
