"""Chart of the distribution of values over queries."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import UsageError
from rankgate.core.present.charts.backend import load_altair
from rankgate.core.present.charts.parts import concat_panels, inline_data, panel_title
from rankgate.core.present.charts.picture import Picture
from rankgate.core.present.charts.style import BLUE, INK, RED
from rankgate.core.present.charts.words import shorten_name, shorten_names
from rankgate.core.present.numbers import format_decimal
from rankgate.measurement.evaluation.charts.scored import query_count

if TYPE_CHECKING:
    from rankgate.measurement.evaluation.scores import Scores

_ROW, _WIDTH = 40, 440
_BINS = 10
_STROKES = 400
_CLEAR, _FAINT, _FEW = (
    0.8,
    0.15,
    50,
)  # opacity: the highest, the lowest, and how many strokes have the highest


def draw(result: Scores) -> Picture:
    """Draw a panel for each metric: a line a run, a stroke a query, quartiles, and the mean.

    Raises:
        UsageError: no query has a value.
    """
    rows = _rows(result)
    if not rows:
        raise UsageError("no query has a value to draw.", code="nothing-to-draw")
    is_sample = max(len(run.query_ids) for run in result.runs) > _STROKES
    stroke = f"Strokes are {_STROKES} of the queries" if is_sample else "Each stroke is a query"
    panels = [
        _panel(result, [row for row in rows if row["metric"] == label], label)
        for label in result.metrics
    ]
    return Picture(
        "distributions",
        f"Values of {shorten_name(result.runs[0].run)}, query by query"
        if len(result.runs) == 1
        else f"Values of {len(result.runs)} runs, query by query",
        f"{stroke}; the box spans the middle half, the line in it is the median; "
        "the orange diamond is the mean"
        + ("." if len(result.runs) == 1 else "; the best mean is on top."),
        query_count(result),
        result.convention,
        tuple(rows),
        concat_panels(panels, 1),
    )


def _rows(result: Scores) -> list[dict[str, Any]]:
    names = shorten_names([run.run for run in result.runs])
    return [
        {"metric": label, "run": name, "query": query, "value": value}
        for label in result.metrics
        for name, run in zip(names, result.runs, strict=True)
        for query, value in run.per_query(label).items()
        if value is not None
    ]


def _panel(result: Scores, rows: list[dict[str, Any]], metric: str) -> Any:
    alt = load_altair()
    names = shorten_names([run.run for run in result.runs])
    means: list[dict[str, Any]] = [
        {
            "run": name,
            "value": run.means[metric],
            "words": f"mean {format_decimal(run.means[metric])}",
        }
        for name, run in zip(names, result.runs, strict=True)
        if not math.isnan(run.means[metric])
    ]
    sign = 1 if metric in result.lower else -1
    order = [
        mean_row["run"] for mean_row in sorted(means, key=lambda mean_row: sign * mean_row["value"])
    ]
    order += [name for name in names if name not in order]
    y = alt.Y("run:N", sort=order, title=None, axis=alt.Axis(domain=False, ticks=False, grid=False))
    x = alt.X("value:Q", title=metric, scale=alt.Scale(nice=True))
    strokes = _sample_strokes(rows, names)
    opacity = max(_FAINT, min(_CLEAR, _CLEAR * _FEW * len(names) / max(len(strokes), 1)))
    base = alt.Chart(inline_data(strokes)).encode(y=y)
    boxes = base.transform_aggregate(
        low="q1(value)", middle="median(value)", high="q3(value)", groupby=["run"]
    )
    layers = [
        base.mark_tick(color=BLUE, opacity=opacity, thickness=1.2, size=14).encode(
            x=x, tooltip=["run:N", "query:N", "value:Q"]
        ),
        boxes.mark_bar(
            height=24, color=BLUE, opacity=1, fillOpacity=0.12, stroke=INK, strokeWidth=1
        ).encode(x="low:Q", x2="high:Q"),
        boxes.mark_tick(color=INK, thickness=2.5, size=24).encode(x="middle:Q"),
    ]
    mean = alt.Chart(inline_data(means)).encode(y=y)
    layers += [
        mean.mark_point(shape="diamond", filled=True, size=90, color=RED, opacity=1).encode(x=x),
        mean.mark_text(align="left").encode(x=alt.value(_WIDTH + 10), text="words:N"),
    ]
    return alt.layer(*layers).properties(
        width=_WIDTH, height=_ROW * max(len(names), 1), **panel_title(metric)
    )


def _sample_strokes(rows: list[dict[str, Any]], names: list[str]) -> list[dict[str, Any]]:
    """Limit the strokes of a run, evenly among its sorted values; the picture stays the same."""
    thinned = []
    for name in names:
        run_rows = sorted((row for row in rows if row["run"] == name), key=lambda row: row["value"])
        last = len(run_rows) - 1
        thinned += (
            run_rows
            if last < _STROKES
            else [run_rows[i * last // _STROKES] for i in range(_STROKES + 1)]
        )
    return thinned


def text(result: Scores, width: int) -> str:
    """Histograms of characters, ten steps from the lowest value to the highest of a metric."""
    rows = _rows(result)
    parts = []
    for metric in result.metrics:
        metric_rows = [row for row in rows if row["metric"] == metric]
        for name, run in zip(
            shorten_names([run.run for run in result.runs]), result.runs, strict=True
        ):
            values = [row["value"] for row in metric_rows if row["run"] == name]
            mean = format_decimal(run.means[metric])
            title = f"{metric} of {name}: mean {mean} over {len(values)} queries"
            parts.append(
                "\n".join([title, "", *_histogram(values, _ends(metric_rows), width)]) + "\n"
            )
    return "\n".join(parts)


def _ends(rows: list[dict[str, Any]]) -> tuple[float, float]:
    values = [row["value"] for row in rows] or [0.0]
    low, high = min(0.0, *values), max(values)
    return low, 1.0 if 0.5 < high <= 1 else high or 1.0  # shares end at 1


def _histogram(values: list[float], ends: tuple[float, float], width: int) -> list[str]:
    low, high = ends
    step = (high - low) / _BINS
    counts = [0] * _BINS
    for value in values:
        counts[min(int((value - low) / step), _BINS - 1)] += 1
    top = max(counts) or 1
    bar_width = width - 24
    return [
        f"{low + i * step:6.2f} to {low + (i + 1) * step:5.2f} {count:6}  "
        f"{'█' * round(bar_width * count / top)}".rstrip()
        for i, count in enumerate(counts)
    ]
