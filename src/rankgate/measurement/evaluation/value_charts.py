"""Charts of values over queries: distributions and heat maps."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypedDict

import numpy as np

from rankgate.core.frozen import dataclass
from rankgate.core.present.charts.chart_style import BLUE, INK, RED, shorten_names
from rankgate.core.present.charts.chart_views import Axis, ChartView, HeatMap, Mark, Panel
from rankgate.core.present.document_model import Grid, make_printable
from rankgate.core.present.layout import Sentence, fill
from rankgate.core.present.number_formats import count_noun, finite_or_none, format_decimal
from rankgate.core.present.text_tables import fit_table, table_width, wrap_line
from rankgate.measurement.evaluation.mean_charts import query_count

if TYPE_CHECKING:
    from rankgate.core.present.charts.chart_views import Rows
    from rankgate.core.value_types import JsonObject
    from rankgate.measurement.evaluation.scores import Scores


_BINS = 10
_STROKES = 400
_CLEAR, _FAINT = 0.8, 0.15  # the highest and the lowest opacity of strokes
_FEW_STROKES = 50  # strokes of a run with the highest opacity


class _QueryValue(TypedDict):
    metric: str
    run: str
    query: str
    value: float


class _HeatCell(TypedDict):
    metric: str
    row: str
    column: str
    value: float | None


def _rows(result: Scores) -> list[_QueryValue]:
    """The values of all queries by metric and run, the best mean first."""
    names = shorten_names([run.run for run in result.runs])
    rows: list[_QueryValue] = []
    for metric in result.metrics:
        sign = 1 if metric in result.lower else -1
        means = {name: sign * run.means[metric] for name, run in zip(names, result.runs, strict=True)}
        order = sorted(means, key=lambda name: math.inf if math.isnan(means[name]) else means[name])
        rows += [
            {"metric": metric, "run": name, "query": query, "value": value}
            for name in order
            for query, value in result.runs[names.index(name)].per_query(metric).items()
            if value is not None
        ]
    return rows


def _strokes(rows: Rows, _result: object) -> Rows:
    """Limit the strokes of a run, evenly over its values; the picture looks the same."""
    thinned: list[Mapping[str, Any]] = []
    for run_rows in _by_run(rows).values():
        run_rows.sort(key=lambda row: row["value"])
        last = len(run_rows) - 1
        thinned += (
            run_rows if last < _STROKES else [run_rows[i * last // _STROKES] for i in range(_STROKES + 1)]
        )
    return thinned


def _by_run(rows: Rows) -> dict[str, list[Mapping[str, Any]]]:
    groups: dict[str, list[Mapping[str, Any]]] = {}
    for row in rows:
        groups.setdefault(row["run"], []).append(row)
    return groups


def _summaries(rows: Rows, result: Scores) -> Rows:
    """The quartiles and the mean of each run."""
    names = shorten_names([run.run for run in result.runs])
    means = {name: run.means[rows[0]["metric"]] for name, run in zip(names, result.runs, strict=True)}
    return [
        {"run": name, "low": low, "middle": middle, "high": high, "mean": finite_or_none(means[name])}
        for name, run_rows in _by_run(rows).items()
        for low, middle, high in [np.quantile([row["value"] for row in run_rows], (0.25, 0.5, 0.75)).tolist()]
    ]


def _distribution_panels(result: Scores) -> tuple[Panel, ...]:
    """A panel per metric: a line per run, a stroke per query, quartiles, and the mean."""
    strokes = min(max(len(run.query_ids) for run in result.runs), _STROKES)
    opacity = max(_FAINT, min(_CLEAR, _CLEAR * _FEW_STROKES / max(strokes, 1)))
    box = {"height": 24, "opacity": 1, "fillOpacity": 0.12, "stroke": INK, "strokeWidth": 1}
    return (
        Panel(
            _rows,
            Axis("value", "{metric}"),
            Axis("run", scale="names"),
            (
                Mark(
                    "tick", "value", style={"opacity": opacity, "thickness": 1.2, "size": 14}, rows=_strokes
                ),
                Mark("bar", "low", "high", BLUE, box, _summaries),
                Mark("tick", "middle", "", INK, {"size": 24}, _summaries),
                Mark("point", "mean", "", RED, {"shape": "diamond", "size": 90}, _summaries),
                Mark("words", ("mean {mean:decimal}",), rows=_summaries),
            ),
            facet=("metric",),
            title="{metric}",
            width=440,
            height=40,
            tooltip=("query",),
        ),
    )


def _distributions_about(result: Scores) -> str:
    is_sample = max(len(run.query_ids) for run in result.runs) > _STROKES
    stroke = f"Strokes are {_STROKES} of the queries" if is_sample else "Each stroke is a query"
    order = "" if len(result.runs) == 1 else "; the best mean is on top"
    return (
        f"{stroke}; the box spans the middle half, the line in it is the median; the orange diamond is the "
        f"mean{order}."
    )


DISTRIBUTIONS = ChartView(
    lambda result: fill(
        "Values of "
        + ("{runs[0].run:short}" if len(result.runs) == 1 else "{runs:n run}")
        + ", query by query",
        result,
    ),
    _distributions_about,
    query_count,
    _distribution_panels,
    empty="no query has a value to draw.",
    across=1,
)


def text_distributions(result: Scores, width: int) -> str:
    """Histograms of characters, in ten steps from a metric's lowest value to its highest."""
    rows = _rows(result)
    parts = []
    for metric in result.metrics:
        metric_rows = [row for row in rows if row["metric"] == metric]
        for name, run in zip(shorten_names([run.run for run in result.runs]), result.runs, strict=True):
            values = [row["value"] for row in metric_rows if row["run"] == name]
            mean = format_decimal(run.means[metric])
            title = f"{metric} of {name}: mean {mean} over {count_noun(len(values), 'query')}"
            parts.append("\n".join([title, "", *_histogram(values, _ends(metric_rows), width)]) + "\n")
    return "\n".join(parts)


def _ends(rows: list[_QueryValue]) -> tuple[float, float]:
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


_MOST_QUERIES = 680  # queries to draw, one point wide each
_NAME_LENGTH = 18  # letters in a query's name
_TEXT_ROWS = 20  # queries in the text


@dataclass(frozen=True)
class HeatValues:
    """The values of a heat map.

    Attributes:
        values: by metric, system and query.
        lower: the metrics that are better when lower.
        n: the number of queries, as text.
        convention: the name and hash of the convention.
    """

    values: Mapping[str, Mapping[str, Mapping[str, float]]]
    lower: Collection[str]
    n: str
    convention: JsonObject

    @cached_property
    def cells(self) -> Mapping[str, Sequence[_HeatCell]]:
        """The cells of each metric in the order of the picture."""
        return {metric: _sorted_cells(self.values[metric], metric, self.lower) for metric in self.values}

    @property
    def systems(self) -> list[str]:
        """The systems with values."""
        return list(dict.fromkeys(cell["row"] for cells in self.cells.values() for cell in cells))

    @property
    def is_thinned(self) -> bool:
        """True if not all queries are drawn."""
        counts = (len({cell["column"] for cell in cells}) for cells in self.cells.values())
        return any(count > _MOST_QUERIES for count in counts)

    def panel(self, metric: str) -> HeatMap:
        """The hardest query first, the best system on top."""
        cells = self.cells[metric]
        values = [cell["value"] for cell in cells if cell["value"] is not None]
        low, high = min(0.0, *values, 0.0), max(values, default=1.0)
        queries = count_noun(len({cell["column"] for cell in cells}), "query")
        return HeatMap(
            lambda _: cells,
            domain=(low, 1.0 if 0 < high <= 1 else high or 1.0),  # shares end at 1
            title=metric,
            across=f"{queries}, the hardest first",
            drawn=_thin_columns,
        )


def _thin_columns(rows: Rows) -> Rows:
    """The cells of as many queries as can be drawn, evenly over their order, with short names."""
    queries = list(dict.fromkeys(row["column"] for row in rows))
    last = len(queries) - 1
    if last >= _MOST_QUERIES:
        queries = [queries[i * last // (_MOST_QUERIES - 1)] for i in range(_MOST_QUERIES)]
    labels = dict(zip(queries, shorten_names(queries, _NAME_LENGTH), strict=True))
    return [{**row, "column": labels[row["column"]]} for row in rows if row["column"] in labels]


def _score_values(result: Scores) -> HeatValues:
    values = {
        metric: {
            run.run: {query: value for query, value in run.per_query(metric).items() if value is not None}
            for run in result.runs
        }
        for metric in result.metrics
    }
    return HeatValues(values, result.lower, query_count(result), result.convention)


HEAT = ChartView(
    lambda result: fill(
        "Values of {systems:n system} by query"
        if len(result.systems) > 1
        else "Values of {systems:short} by query",
        result,
    ),
    (
        Sentence(
            "A column for each query, the lowest mean of all systems on the left; a row for each system, the "
            "best mean on top. Empty: no value."
        ),
        Sentence(f"{_MOST_QUERIES} of the queries are drawn.", "is_thinned"),
    ),
    "{n}",
    lambda result: [result.panel(metric) for metric in result.values],
    empty="no query has a value to draw.",
    across=1,
    fluid=False,
    of=_score_values,
)


def _sorted_cells(
    values: Mapping[str, Mapping[str, float]], metric: str, lower: Collection[str]
) -> list[_HeatCell]:
    """A row for each system and query, in the order of the picture."""
    labels = dict(zip(values, shorten_names([*values]), strict=True))
    sign = -1 if metric in lower else 1
    systems = sorted(
        (name for name in values if values[name]),
        key=lambda name: -sign * sum(values[name].values()) / len(values[name]),
    )
    by_query: dict[str, list[float]] = {}
    for name in systems:
        for query, value in values[name].items():
            by_query.setdefault(query, []).append(value)
    queries = sorted(by_query, key=lambda query: (sign * sum(by_query[query]) / len(by_query[query]), query))
    return [
        {"metric": metric, "row": labels[name], "column": query, "value": values[name].get(query)}
        for name in systems
        for query in queries
    ]


def text_query_heat(result: Scores, width: int) -> str:
    """The queries on which systems differ most, with each system's value."""
    values = _score_values(result)
    parts = [_text(values.cells[metric], metric, width) for metric in result.metrics]
    return "\n".join(parts)


def _text(rows: Sequence[_HeatCell], metric: str, width: int) -> str:
    systems = list(dict.fromkeys(row["row"] for row in rows))
    values: dict[str, dict[str, float]] = {}
    for row in rows:
        if row["value"] is not None:
            values.setdefault(row["column"], {})[row["row"]] = row["value"]
    value_range = {
        query: max(by_system.values()) - min(by_system.values()) for query, by_system in values.items()
    }
    first_queries = sorted(value_range, key=lambda query: (-value_range[query], query))[:_TEXT_ROWS]
    grid = Grid(
        ("query", "spread", *map(make_printable, systems)),
        tuple(
            (
                make_printable(query),
                format_decimal(value_range[query]),
                *(format_decimal(values[query].get(name)) for name in systems),
            )
            for query in first_queries
        ),
        keys=2,
    )
    legend = ""
    if table_width(grid) > width:
        numbers = [f"({i})" for i in range(1, len(systems) + 1)]
        grid = replace(grid, head=("query", "spread", *numbers))
        names = ", ".join(map(" ".join, zip(numbers, map(make_printable, systems), strict=True)))
        legend = "\n".join(["", *wrap_line(names, width), ""])
    queries_text = count_noun(len(value_range), "query")
    if len(first_queries) < len(value_range):
        queries_text = f"{len(first_queries)} of {queries_text}"
    title = f"{metric}: {queries_text}, those on which systems differ most first"
    return f"{title}\n\n{fit_table(grid, width)}\n{legend}"
