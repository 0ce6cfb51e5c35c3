"""Charts of means: metrics by cutoff, precision against recall."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypedDict, TypeVar

from rankgate.core.errors import UsageError
from rankgate.core.present.charts.chart_style import shorten_names
from rankgate.core.present.charts.chart_views import Axis, ChartView, Panel
from rankgate.core.present.document_model import shorten_name
from rankgate.core.present.layout import fill
from rankgate.core.present.number_formats import UNDEFINED, count_noun, count_queries

if TYPE_CHECKING:
    from rankgate.core.present.charts.chart_views import Rows
    from rankgate.measurement.evaluation.scores import Scores


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


def _cutoff_axis(_result: object, rows: Rows) -> Axis:
    cutoffs = sorted({row["k"] for row in rows})
    is_wide = cutoffs[-1] >= _LOG_RATIO * cutoffs[0]
    scale = "log" if is_wide else "number"
    return Axis("k", "cutoff k", scale, domain=(cutoffs[0], cutoffs[-1]), ticks=tuple(cutoffs))


_MEAN_AXIS = Axis("value", "mean", form=".2f")
_SINGLE_RUN = Panel(_rows, _cutoff_axis, _MEAN_AXIS, series="metric", names="ends", width=480, height=300)
_SEVERAL_RUNS = Panel(
    lambda result: best_first(_rows(result), result),
    _cutoff_axis,
    _MEAN_AXIS,
    facet=("metric",),
    title="{metric}@k",
    series="run",
    names="ends",
    width=320,
    height=250,
)

CUTOFFS = ChartView(
    lambda result: fill(
        "{runs[0].run:short}: metrics at k" if len(result.runs) == 1 else "Metrics at k of {runs:n run}",
        result,
    ),
    "Means over queries at each cutoff k.",
    query_count,
    lambda result: (_SINGLE_RUN if len(result.runs) == 1 else _SEVERAL_RUNS,),
)


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


def _recall_levels(result: Scores) -> Rows:
    return [
        {"series": row["run"], "recall": row["at"], "precision": row["value"]}
        for row in best_first(rows_by_number(result), result)
        if row["metric"].partition("(")[0] in _NAMES
    ]


def _recall_panels(result: Scores) -> tuple[Panel, ...]:
    return (
        Panel(
            _recall_levels,
            Axis("recall", "recall", form=".1f", domain=(0, 1), ticks=(0, 0.2, 0.4, 0.6, 0.8, 1)),
            Axis("precision", "interpolated precision", form=".1f", domain=(0, 1)),
            series="series",
            names="ends" if len(result.runs) == 1 else "list",
            width=420,
            height=380,
        ),
    )


PRECISION_RECALL = ChartView(
    lambda result: fill(
        "Precision and recall of " + ("{runs[0].run:short}" if len(result.runs) == 1 else "{runs:n run}"),
        result,
    ),
    lambda result: (
        "At each level of recall the greatest precision from there on, mean over queries."
        + (" The best mean is at the top of the list." if len(result.runs) > 1 else "")
    ),
    query_count,
    _recall_panels,
    empty="no IPrec has a value; a precision-recall curve is made of IPrec@0.0 to IPrec@1.0.",
)
