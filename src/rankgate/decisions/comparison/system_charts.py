"""Charts of a comparison by system and rank: intervals, heat map, power, shares of grades.

The module holds the intervals of many differences below each other, the heat map of the values
of all systems of a comparison, the chart of power (detectable difference by number of
queries), and the charts by rank: the judged share, and the shares of the grades.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.present.charts.chart_style import BLUE, GREY, PAPER, RED, no_interval_reason
from rankgate.core.present.charts.chart_views import ZERO, Axis, ChartView, Mark, Panel, interval
from rankgate.core.present.layout import fill
from rankgate.core.present.number_formats import count_queries, format_correction, format_signed
from rankgate.decisions.comparison.comparison_power import power_curves
from rankgate.decisions.comparison.comparison_tables import grades_by_rank
from rankgate.measurement.evaluation.value_charts import HEAT, HeatValues

if TYPE_CHECKING:
    from collections.abc import Mapping

    from rankgate.core.present.charts.chart_views import Rows
    from rankgate.decisions.comparison.comparison import Comparisons
    from rankgate.decisions.comparison.comparison_power import PowerCurves
    from rankgate.decisions.comparison.comparison_tables import GradesByRank


def _forest_title(result: Comparisons) -> str:
    several = fill("{comparisons:n system} against {only.baseline.name:short}", result)
    single = fill("{only.candidate.name:short} against {only.baseline.name:short}", result)
    return several if len(result) > 1 else single


def _forest_about(result: Comparisons) -> str:
    correction = result.only.correction
    correction_note = "" if correction.startswith("none") else ", not corrected"
    return fill(
        f"Mean difference from {{only.baseline.name:short}} with its {{only.level:.0%}} interval "
        f"({{only.interval}}{correction_note}), and p of the {{only.test}} test, "
        f"{format_correction(correction)}. Blue: better, orange: worse, where p is below {_alpha(result):g}.",
        result,
    )


def _alpha(result: Comparisons) -> float:
    return round(1 - result.only.level, 10)


def _differences(result: Comparisons) -> pl.DataFrame:
    """The differences of all candidates by metric, the best first."""
    metric_order = pl.col("metric").cast(pl.Enum(result.only.names))
    return result.metrics_by_system.drop_nulls("delta").sort(metric_order, -pl.col("gain"), "system")


def _difference_text(row: Mapping[str, Any]) -> str:
    """The figures, with the reason if there is no interval."""
    if row["low"] is None:
        return f"{format_signed(row['delta'])}  {no_interval_reason(row['n'])}"
    return fill("{delta:signed}  [{low:+z.3f}, {high:+z.3f}]  p {p_value:p}", row, row)


def _forest_panels(result: Comparisons) -> tuple[Panel, ...]:
    """A panel for each metric, a line for each candidate, the best first."""
    is_significant = f"isValid(datum.p_value) && datum.p_value < {_alpha(result):g}"
    return (
        Panel(
            _differences,
            Axis("delta", "Δ {metric} from {only.baseline.name:short}", form="signed"),
            Axis("system", scale="names"),
            (ZERO, *interval("delta"), Mark("words", _difference_text)),
            ("system", "metric", "n", "delta", "gain", "low", "high", "p_value"),
            facet=("metric",),
            title="{metric}",
            colour=(
                (f"{is_significant} && datum.gain > 0", BLUE),
                (f"{is_significant} && datum.gain < 0", RED),
                GREY,
            ),
            width=360,
            height=22,
        ),
    )


FOREST = ChartView(
    _forest_title,
    _forest_about,
    "{drawn[n]:query_counts}",
    _forest_panels,
    empty="no candidate has a difference.",
    across=1,
)


def _query_values(results: Comparisons) -> HeatValues:
    """The values of the baseline and every candidate by query."""
    first_comparison = results.only
    values: dict[str, dict[str, dict[str, float]]] = {metric: {} for metric in first_comparison.names}
    for comparison in results.comparisons:
        names = comparison.baseline.name, comparison.candidate.name
        columns = ("metric", "query_id", "baseline", "candidate")
        for metric, query, *pair in comparison.queries.select(columns).iter_rows():
            for name, value in zip(names, pair, strict=True):
                values[metric].setdefault(name, {})[query] = value
    query_count = count_queries(*first_comparison.metrics["n"])
    return HeatValues(values, first_comparison.lower, query_count, first_comparison.convention)


SYSTEM_HEAT = HEAT._replace(of=_query_values)


def _power_points(result: PowerCurves) -> pl.DataFrame:
    """The detectable differences by number of queries, then the measured ones."""
    curves = result.curves.select(pl.col("metric").alias("series"), "n", "detectable")
    measured = result.measured.select(
        pl.col("metric").alias("series"), "n", pl.col("delta").abs().alias("measured")
    )
    return pl.concat([curves, measured], how="diagonal")


def _query_axis(_result: object, rows: Rows) -> Axis:
    counts = sorted({row["n"] for row in rows if row["detectable"] is not None})
    ticks = tuple(n for n in counts if str(n).rstrip("0") in {"1", "2", "5"})
    return Axis("n", "queries", "log", domain=(counts[0], counts[-1]), ticks=ticks)


def _difference_axis(_result: object, rows: Rows) -> Axis:
    high = max(row["detectable"] or row["measured"] or 0.0 for row in rows) * 1.04
    return Axis("detectable", "detectable difference", form=".2f", domain=(0, high))


POWER = ChartView(
    "Detectable difference by queries: {candidate:short} against {baseline:short}",
    "The smallest true difference that a number of queries detects with a power of {power:.0%} at level "
    "{alpha:.2g}. Ring: the measured difference; above the line it is large enough to be detected.",
    "{measured[n]:query_counts} measured",
    (
        Panel(
            _power_points,
            _query_axis,
            _difference_axis,
            (
                Mark(
                    "ring",
                    "measured",
                    style={"size": 120, "strokeWidth": 2.5, "fill": PAPER},
                    rows=lambda rows, _: [row for row in rows if row["measured"] is not None],
                ),
            ),
            series="series",
            names="ends",
            width=480,
            height=300,
        ),
    ),
    of=lambda results: power_curves(results.only),
)

_STEP = 16  # points of a rank
_MAX_SYSTEMS = 6  # systems with shares at single ranks that can be distinguished
_STEPS, _TICKS = (1, 2, 5, 10, 20, 50, 100, 200, 500, 1000), 5


def _judged_panels(result: GradesByRank) -> list[Panel]:
    """judged@k, and for few systems the judged share at each rank; the rest up to 1 are holes."""
    titles = {"upto": "judged@k: of the first k", "at": "judged at rank k alone"}
    return [
        Panel(
            "judged",
            Axis("rank", "rank k", domain=(1, max(result.depth, 2)), ticks=_ticks(result.depth)),
            Axis(share, "share judged", form=".3~p"),
            columns=(pl.col("system").alias("series"), "rank", "at", "upto", "lists"),
            title=title,
            series="series",
            names="ends",
            width=320,
            height=280,
        )
        for share, title in titles.items()
        if share == "upto" or len(result.systems) <= _MAX_SYSTEMS
    ]


JUDGED_CHART = ChartView(
    "Judged share of the first {depth:n document}",
    "Mean share of judged documents; the others are unjudged (holes), and most metrics count them as not "
    "relevant.",
    "{queries:n query}",
    _judged_panels,
    of=grades_by_rank,
)


def _grade_panels(result: GradesByRank) -> tuple[Panel, ...]:
    """Stacked shares of the grades at each rank, a panel a system."""
    depth = result.depth
    return (
        Panel(
            "grades",
            Axis("rank", "rank", "rank", domain=(1, depth), ticks=_ticks(depth)),
            Axis("share", "share", form=".0%", domain=(0, 1)),
            (Mark("stack", "share"),),
            facet=("system",),
            title="{system}",
            series="label",
            by_grade=True,
            width=max(_STEP * depth, 160),
            height=180,
            tooltip=("count",),
        ),
    )


GRADES_CHART = ChartView(
    "Grades of the first {depth:n document}, rank by rank",
    "Shares of the documents at each rank; the best grade at the bottom.",
    "{queries:n query}",
    _grade_panels,
    of=grades_by_rank,
)


def _ticks(depth: int) -> tuple[int, ...]:
    """The first rank and some round ones.

    >>> _ticks(3), _ticks(20), _ticks(100)
    ((1, 2, 3), (1, 5, 10, 15, 20), (1, 20, 40, 60, 80, 100))
    """
    step = next(step for step in _STEPS if depth <= _TICKS * step or step == _STEPS[-1])
    return tuple(sorted({1, *range(step, depth + 1, step)}))
