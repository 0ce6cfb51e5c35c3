"""Kinds of charts with name, title and required result."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.lazy_names import load_name

if TYPE_CHECKING:
    from rankgate.core.present.base_result import Result
    from rankgate.core.present.charts.picture import Picture


@dataclass(frozen=True)
class ChartKind:
    """A kind of chart; the class of the result draws it (`Result.charts`).

    Attributes:
        name: the name for ``rankgate plot``.
        title: a description, in a few words.
        needs: the name of the required result in `rankgate.workspace.reports.chart_results`.
        text_from: ``module:function`` that draws it with characters; empty if it has no such version.
    """

    name: str
    title: str
    needs: str
    text_from: str = ""

    def draw(self, result: Result) -> Picture:
        """Draw the chart.

        Raises:
            UsageError: the result cannot be drawn.
            MissingExtraError: Altair is not installed.
        """
        return result.plot(self.name)

    def text(self, result: Result, width: int) -> str:
        """The chart as bars of characters.

        Raises:
            UsageError: the kind has no version with characters.
        """
        chart, version = result.find_chart(self.name), self.text_from
        # a comparison has another chart "heat", without such a version
        is_same = isinstance(chart, str) and chart.partition(":")[0] == version.partition(":")[0]
        replace(self, text_from=version if is_same else "").refuse_text()
        chart_text: str = load_name(self.text_from)(result, width)
        return chart_text

    def refuse_text(self) -> None:
        """Check that the kind of chart has a version for the terminal.

        Raises:
            UsageError: the kind has no version with characters.
        """
        if not self.text_from:
            raise UsageError(
                f"{self.name} has no form for the terminal; name a file with -o, such as {self.name}.svg.",
                code="binary-output",
            )


_QUERY_CHARTS = "rankgate.decisions.comparison.query_charts"
_EVALUATION = "rankgate.measurement.evaluation"

CHART_KINDS = (
    ChartKind("deltas", "differences query by query", "comparison", f"{_QUERY_CHARTS}:text_deltas"),
    ChartKind("cutoffs", "metrics at k", "cutoffs", f"{_EVALUATION}.mean_charts:text_cutoffs"),
    ChartKind("scatter", "two systems, one point per query", "comparison"),
    ChartKind("forest", "intervals of many differences", "comparisons"),
    ChartKind("reconcile", "one metric under all conventions", "reconciliation"),
    ChartKind("blindspots", "what metrics do not see", "blindness"),
    ChartKind("explain", "what each document adds to a value", "explanation"),
    ChartKind("judged", "share judged at each rank", "ranks"),
    ChartKind("grades", "share of each grade at each rank", "ranks"),
    ChartKind(
        "distributions", "values over queries", "evaluation", f"{_EVALUATION}.value_charts:text_distributions"
    ),
    ChartKind(
        "heat",
        "heat map of queries (topics) by system",
        "evaluation",
        f"{_EVALUATION}.value_charts:text_query_heat",
    ),
    ChartKind("precision-recall", "precision against recall", "recall"),
    ChartKind("power", "detectable difference by number of queries", "comparison"),
    ChartKind("holes", "what unjudged documents could change", "hidden"),
    ChartKind("cutoff", "what a threshold of the score keeps", "thresholds"),
    ChartKind("calibration", "predicted against observed sign changes", "calibration"),
    ChartKind("agreement", "agreement of each pair of raters", "agreed"),
    ChartKind("admission", "a judge's grades against people's grades", "admitted"),
    ChartKind("scorecard", "several metrics of each system", "tradeoff"),
    ChartKind("pareto", "two metrics against each other", "tradeoff"),
    ChartKind("stages", "stages with their ceilings", "pipeline"),
)
"""The kinds of charts, in the order of `rankgate plot --help`."""

RESULT_CHART_KINDS = tuple(
    ChartKind(name, title, "result")
    for name, title in (
        ("rank-intervals", "ranks that systems may have over data sets"),
        ("overlap-curve", "documents that two runs share by depth"),
        ("similarity", "how similar the rankings of several runs are"),
        ("migration", "documents that an index keeps, by step"),
        ("history", "a metric over time"),
        ("kpi-days", "KPIs by day"),
        ("kpi-positions", "clicks by rank"),
        ("click-models", "which click model predicts best"),
        ("click-curves", "how often ranks are looked at"),
        ("intents", "diversity of intents"),
        ("personalization", "lift of personal lists by group of users"),
        ("weeks", "KPIs by week"),
        ("novelty", "KPIs by how long users are known"),
        ("retention", "users that come back"),
        ("experiment", "differences between arms"),
        ("experiment-days", "differences between arms by day"),
        ("experiment-plan", "detectable difference by length"),
        ("preference", "preferences between interleaved systems"),
        ("sensitivity", "searches that interleaving and A/B tests need"),
        ("off-policy", "what another policy would have earned"),
        ("replay", "a candidate on logged clicks"),
        ("offline-online", "offline metrics against online KPIs"),
        ("coefficients", "agreement of raters with intervals"),
        ("sweep-front", "points of a sweep that no other beats"),
        ("sweep-dials", "values by parameter"),
        ("sweep-heat", "values by two parameters"),
    )
)
"""Charts of results that a command wrote with ``--format json``, such as those of logs."""


def find_chart_kind(name: str) -> ChartKind:
    """The kind of chart with a given name.

    Raises:
        UsageError: the name does not exist.
    """
    for chart_kind in (*CHART_KINDS, *RESULT_CHART_KINDS):
        if chart_kind.name == name:
            return chart_kind
    raise UsageError(
        f"unknown chart {name!r}; known: {', '.join(chart.name for chart in CHART_KINDS)}.",
        code="unknown-picture",
    )
