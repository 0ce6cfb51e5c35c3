"""Satisfaction over weeks: cohorts, novelty, and correlations with ranking metrics.

The result of ``weeks`` comes first; then the correlation of KPIs with ranking metrics of the
lists that were shown, per query and per day.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING, ClassVar

import numpy as np
import polars as pl

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import Result
from rankgate.core.present.charts.chart_views import BAND, Axis, ChartView, Mark, Panel
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.common_columns import KPI, METRIC, P_VALUE
from rankgate.core.present.layout import NOTICES, CrossView, Sentence, ShownChart, View
from rankgate.data import read_qrels
from rankgate.data.table_rows import in_row_order
from rankgate.measurement.evaluation.evaluate import evaluate
from rankgate.measurement.scoring.scoring_facts import refuse_no_shared_document
from rankgate.measurement.stats.rank_correlation import spearman
from rankgate.online.events.diagnosis import diagnose_events, spoiled_notice, spoiled_text
from rankgate.online.events.events import Events, EventsLike
from rankgate.online.indicators import search_tables
from rankgate.online.indicators.kpi_catalogue import format_kpi
from rankgate.online.indicators.own_kpis import declare_kpis
from rankgate.online.indicators.search_tables import KpiTables
from rankgate.online.users.user_rates import select_rate_kpis, sum_kpis_by_user, user_rate

if TYPE_CHECKING:
    from rankgate.data.input_types import QrelsLike
    from rankgate.online.indicators.kpi import Kpi
    from rankgate.online.log_database import Database


WEEKS = Columns(
    "One row per week and KPI.",
    Column("week", pl.String, "the Monday of the week, in the log's time zone", header="week of"),
    KPI,
    Column("users", pl.Int64, "users of the week", unit="users"),
    Column("value", pl.Float64, "the value of the KPI", format_kpi, arguments=("kpi",)),
    Column("low", pl.Float64, "the low end of its 95 % interval (users are units, delta method)"),
    Column("high", pl.Float64, "the high end of its 95 % interval (users are units, delta method)"),
)
COHORTS = Columns(
    "One row per cohort and age; weeks after the end of the log, and its last one, are left out.",
    Column("cohort", pl.String, "the week of a user's first event", header="week of"),
    Column("age", pl.Int64, "weeks since then", unit="weeks"),
    Column("users", pl.Int64, "users of the cohort", unit="users"),
    Column("active", pl.Int64, "users of the cohort with an event in the week", unit="users"),
    Column("retention", pl.Float64, "active / users", ".2%"),
)
AGES = Columns(
    "One row per variant, KPI and age: values that fall with age show a novelty that wears off.",
    Column("variant", pl.String, "the variant; empty is all; ``b - a`` is the difference of two"),
    KPI,
    Column("age", pl.Int64, "weeks since the user's first event in the variant", unit="weeks"),
    Column("users", pl.Int64, "users of this age", unit="users"),
    Column("value", pl.Float64, "the value of the KPI"),
    Column("low", pl.Float64, "the low end of its 95 % interval (users are units, delta method)"),
    Column("high", pl.Float64, "the high end of its 95 % interval (users are units, delta method)"),
)
TRENDS = Columns(
    "One row per variant and KPI: the weighted line through the values by age.",
    Column(
        "variant", pl.String, "the variant; empty is all; ``b - a`` is the difference of two", empty="all"
    ),
    KPI,
    Column("weeks", pl.Int64, "weeks that the line goes through"),
    Column("slope", pl.Float64, "the change of the value in a week", "signed", header="change\na week"),
    Column("low", pl.Float64, "the low end of its interval", "signed"),
    Column("high", pl.Float64, "the high end of its interval", "signed"),
    P_VALUE,
)
CORRELATIONS = Columns(
    "One row per metric and KPI: ranking metrics of the lists that were shown, and KPIs.",
    Column("per", pl.String, "the paired unit: query or day"),
    METRIC,
    KPI,
    Column("n", pl.Int64, "how many pairs there are"),
    Column("spearman", pl.Float64, "Spearman's correlation", "+.3f", header="Spearman"),
    Column("low", pl.Float64, "the low end of its interval", "+.3f"),
    Column("high", pl.Float64, "the high end of its interval", "+.3f"),
    P_VALUE,
)
DIFFERENCE_SIGN = " - "
"""The text between the names of two variants in rows of ages and trends of a difference."""


def _kpi_panel(source: str, x: Axis) -> Panel:
    """A panel for each KPI of all variants together."""
    return Panel(
        source,
        x,
        Axis("value", "{kpi:spaced}", zero=False),
        BAND,
        row_filter=pl.col("variant") == "" if source == "ages" else None,
        facet=("kpi",),
        most=4,
        title="{kpi:spaced}",
        tooltip=("users",),
    )


@dataclass(frozen=True)
class Satisfaction(Result):
    """KPIs of users over weeks.

    Attributes:
        weeks: the columns of `WEEKS`.
        cohorts: the columns of `COHORTS`.
        ages: the columns of `AGES`.
        trends: the columns of `TRENDS`.
        correlations: the columns of `CORRELATIONS`.
        faults: codes of what the log doctor found that spoils users or times.
    """

    kind = "satisfaction"
    label = "Satisfaction over weeks"
    charts: ClassVar = {
        "weeks": ChartView(
            "KPIs by week",
            "Values by week (of its Monday, UTC) with 95 % intervals; users are units.",
            "{week_count:n week}",
            (_kpi_panel("weeks", Axis("week", scale="time")),),
            "online",
        ),
        "novelty": ChartView(
            "KPIs by how long users are known",
            "Values by weeks since a user's first event. A novelty wears off where they fall.",
            "{drawn:n value}",
            (_kpi_panel("ages", Axis("age", "weeks since the first event", form="d")),),
            "online",
        ),
        "retention": ChartView(
            "Users that come back",
            "Users by the week of their first event: the share that is active in later weeks.",
            "{drawn[cohort]:n cohort}",
            (
                Panel(
                    "cohorts",
                    Axis("age", "weeks since the first event", form="d"),
                    Axis("retention", "users active", form=".0%", domain=(0, 1)),
                    (Mark("points", "retention"),),
                    series="cohort",
                    legend="week of",
                    most=7,
                    width=460,
                    height=260,
                    tooltip=("active", "users"),
                ),
            ),
            "online",
        ),
    }
    order = 67
    SCHEMAS: ClassVar = {
        "weeks": WEEKS,
        "cohorts": COHORTS,
        "ages": AGES,
        "trends": TRENDS,
        "correlations": CORRELATIONS,
    }
    headline_text = "{week_count:n week}, {users:n user} with a complete first week"
    layout = (
        ShownChart("weeks", "weeks"),
        ShownChart("novelty", "trends"),
        ShownChart("retention", "cohorts"),
        CrossView("weeks", "by week", ("week", "users"), column_key="kpi", value="value", spaced=True),
        CrossView(
            "cohorts",
            "users that come back, by the week of their first event",
            ("cohort", "users"),
            column_key="age",
            value="retention",
            header="after {}",
        ),
        View(
            "trends",
            "change with each week since a user's first event",
            ("kpi", "variant", "weeks", "slope", ("low", "high"), "p_value"),
            keys=2,
        ),
        View(
            "correlations",
            "correlation with ranking metrics",
            ("per", "metric", "kpi", "n", "spearman", ("low", "high"), "p_value"),
            keys=3,
        ),
        NOTICES,
        Sentence(
            "Intervals are 95 %, with users as units. A trend below 0 is a novelty that wears off, or users "
            "of other kinds who stay: a difference of two variants has the same users in both."
        ),
    )
    notice_texts = (spoiled_notice("spoiled-users", "users or times"),)

    weeks: pl.DataFrame
    cohorts: pl.DataFrame
    ages: pl.DataFrame
    trends: pl.DataFrame
    correlations: pl.DataFrame
    faults: tuple[str, ...] = ()

    @property
    def week_count(self) -> int:
        """The number of weeks."""
        return self.weeks["week"].n_unique()

    @property
    def users(self) -> int:
        """The number of users with a complete first week."""
        return int(self.cohorts.filter(pl.col("age") == 0)["users"].sum())


_MIN_PAIRS = 4  # the fewest pairs for an interval
_SHOWN_LISTS = (
    'SELECT t.query, CAST(t."at" AS DATE) AS day, l.docs, count(*) AS searches FROM (SELECT query_event_id, '
    "list(doc_id ORDER BY rank, doc_id) AS docs FROM (SELECT query_event_id, doc_id, min(rank) AS rank FROM "
    "events WHERE kind = 'impression' AND rank IS NOT NULL AND doc_id IS NOT NULL AND query_event_id IS NOT "
    "NULL GROUP BY 1, 2) GROUP BY 1) l JOIN (SELECT query_event_id, max(query) AS query, "
    'min("at") AS "at" FROM events WHERE query_event_id IS NOT NULL GROUP BY 1) t USING (query_event_id) '
    "WHERE t.query IS NOT NULL GROUP BY 1, 2, 3 ORDER BY 1, 2, 3"
)


_LEVELS = ("query", "day")


def correlate_kpis(
    base: Database,
    kpis: Sequence[Kpi],
    success: Sequence[str],
    qrels: QrelsLike | None,
    metrics: Sequence[str],
) -> pl.DataFrame:
    """Spearman's correlation of each metric and KPI over queries, and over days.

    Raises:
        InputError: no query of the log is judged.
    """
    if qrels is None:
        return pl.DataFrame(schema=CORRELATIONS)
    values = _metric_values(base, qrels, metrics)
    kpi_tables = KpiTables(base, success, kpis, _LEVELS)
    rows = []
    for level in _LEVELS:
        weighted = pl.col("value") * pl.col("searches")
        mean = values.group_by("metric", level, maintain_order=True).agg(
            metric_value=in_row_order(weighted).sum() / pl.col("searches").sum()
        )
        for kpi in kpis:
            figures = _kpi_values(kpi_tables, kpi, level)
            if figures is None:
                continue
            for (metric,), metric_values in mean.group_by("metric", maintain_order=True):
                joined = metric_values.join(figures, on=level, maintain_order="left").drop_nulls()
                correlation = spearman(joined["metric_value"].to_numpy(), joined["value"].to_numpy())
                statistics = (correlation.value, correlation.low, correlation.high, correlation.p_value)
                reported = (
                    float(statistic) if math.isfinite(statistic) and len(joined) >= _MIN_PAIRS else None
                    for statistic in statistics
                )
                rows.append((level, metric, kpi.name, len(joined), *reported))
    return pl.DataFrame(rows, schema=CORRELATIONS, orient="row").sort("per", "metric", "kpi")


def _metric_values(base: Database, qrels: QrelsLike, metrics: Sequence[str]) -> pl.DataFrame:
    """``query``, ``day``, ``searches``, ``metric``, ``value`` of each shown list."""
    lists = base.rows(_SHOWN_LISTS).with_row_index("list").with_columns(pl.col("list").cast(pl.String))
    judged = read_qrels(qrels).by_document().table.select("query_id", "doc_id", "grade")
    judged_lists = lists.join(judged.select(query="query_id"), on="query", how="semi")
    if judged_lists.is_empty():
        problem = "no query of the log is judged; its query texts must be the ids of judged queries."
        raise InputError(problem, code="no-common-queries")
    run = judged_lists.select(query_id="list", doc_id="docs").explode("doc_id")
    run = run.with_columns(score=-pl.int_range(pl.len()).over("query_id").cast(pl.Float64))
    grades = judged_lists.select("list", query_id="query").join(judged, on="query_id")
    grades = grades.select("doc_id", "grade", query_id="list")
    evaluated_run = evaluate(grades.select("query_id", "doc_id", "grade"), run, list(metrics)).runs[0]
    refuse_no_shared_document("the log", evaluated_run.counts.cautions)
    table = evaluated_run.table.select(list="query_id", metric="metric", value="value")
    return (
        judged_lists.select("list", "query", "day", "searches")
        .join(table, on="list", maintain_order="left_right")
        .drop_nulls()
    )


def _kpi_values(kpi_tables: KpiTables, kpi: Kpi, column: str) -> pl.DataFrame | None:
    """The KPI by query or by day; None if its table does not have the column."""
    rows = kpi_tables[kpi.table]
    if column not in rows.columns:
        return None
    sums = rows.group_by(rows[column]).aggregate(**kpi.columns(rows))
    kpi_values = kpi_tables.base.rows(str(search_tables.load_ibis().to_sql(sums, dialect="duckdb")))
    return kpi_values.filter(pl.col(f"{kpi.name}.n") > 0).select(column, value=f"{kpi.name}.value")


KPIS = ("search_ctr", "mrr_first_click", "satisfied_click_rate", "session_success_rate")
"""The KPIs that are followed over weeks by default."""

METRICS = ("nDCG@10",)
"""The ranking metrics that KPIs are compared with by default."""

_Z = 1.959963984540054
_MIN_USERS = 2  # the fewest users for an interval
_DAYS = 7
_WEEK_OF_DAY = pl.col("day").dt.truncate("1w")


def weeks(
    events: EventsLike,
    *,
    kpis: Sequence[str] = (),
    qrels: QrelsLike | None = None,
    metrics: Sequence[str] = (),
) -> Satisfaction:
    """Follow users over weeks, and compare KPIs with ranking metrics of the same lists.

    Args:
        events: the log: a folder of events, a table of them, files of logs, or ``Events``.
        kpis: the KPIs that are followed, means over searches, clicks or sessions; by default
            search_ctr, mrr_first_click, satisfied_click_rate and session_success_rate.
        qrels: judgments whose query ids are the texts of queries; with them the ranking metrics of
            the lists that were shown are correlated with KPIs, per query and per day.
        metrics: those ranking metrics; nDCG@10 by default.

    Raises:
        InputError: a log that cannot be read, or without times or users; a fault that makes users
            or times wrong.
        UsageError: no such KPI, or one that is not a mean; none that the log has values for.
        MissingExtraError: DuckDB or Ibis is not installed.
    """
    events = Events.of(events)
    declare_kpis(events)
    with events.open() as log:
        base = log.base
        diagnosis = diagnose_events(base, log.manifest)
        faults = tuple(fault.code for fault in diagnosis.blocking(("users", "time")))
        if faults and not events.despite:
            problem = f"{spoiled_text(faults, 'users or times')}; --despite gives figures."
            raise InputError(problem, code="spoiled-users")
        active_days = base.rows(
            'SELECT DISTINCT "user", CAST("at" AS DATE) AS day, variant FROM events WHERE "user" IS NOT NULL '
            'AND "at" IS NOT NULL'
        )
        if active_days.is_empty():
            raise InputError("the log has no users with times.", code="no-users")
        rate_kpis = select_rate_kpis(kpis or KPIS, log.kinds, events.success)
        rows = sum_kpis_by_user(base, rate_kpis, ("day", "variant"), events.success)
        correlations = correlate_kpis(base, rate_kpis, events.success, qrels, metrics or METRICS)
    ages = _values_by_age(_add_ages(rows, active_days), rate_kpis)
    return Satisfaction(
        _values_by_week(rows),
        _retention_by_cohort(active_days),
        ages,
        _fit_trends(ages),
        correlations,
        faults,
    )


def _group_rates(rows: pl.DataFrame, keys: Sequence[str]) -> Iterable[dict[str, object]]:
    """The rate of each group, with users as units."""
    summed = rows.group_by(*keys, "user", maintain_order=True).agg(
        in_row_order(pl.col("total", "count")).sum()
    )
    for names, group_rows in summed.group_by(*keys, maintain_order=True):
        estimate = user_rate(group_rows["total"].to_numpy(), group_rows["count"].to_numpy())
        half = _Z * estimate.error if estimate.users >= _MIN_USERS else math.nan
        low, high = (None if math.isnan(half) else estimate.value + sign * half for sign in (-1, 1))
        yield {
            **dict(zip(keys, names, strict=True)),
            "users": estimate.users,
            "value": estimate.value,
            "low": low,
            "high": high,
        }


def _values_by_week(rows: pl.DataFrame) -> pl.DataFrame:
    if rows.is_empty():
        return pl.DataFrame(schema=WEEKS)
    rows_with_week = rows.with_columns(week=_WEEK_OF_DAY.cast(pl.String))
    return pl.DataFrame(_group_rates(rows_with_week, ("week", "kpi")), schema=WEEKS).sort("kpi", "week")


def _retention_by_cohort(active_days: pl.DataFrame) -> pl.DataFrame:
    """Users by the week of their first event, and the number of users who are active later."""
    last_day = active_days["day"].max()
    active = active_days.select("user", week=_WEEK_OF_DAY).unique()
    first_week = active.group_by("user").agg(cohort=pl.col("week").min())
    size = first_week.group_by("cohort").agg(users=pl.len())
    activity = active.join(first_week, on="user").with_columns(
        age=(pl.col("week") - pl.col("cohort")).dt.total_days() // _DAYS
    )
    active_counts = activity.group_by("cohort", "age").agg(active=pl.len())
    grid = size.join(active_counts.select("age").unique(), how="cross")
    # in a partly logged week, active users would look like users who left
    is_complete = pl.col("cohort") + pl.duration(days=(pl.col("age") + 1) * _DAYS - 1) <= pl.lit(last_day)
    table = grid.join(active_counts, on=["cohort", "age"], how="left").filter(is_complete)
    return (
        table.with_columns(pl.col("active").fill_null(0))
        .with_columns(retention=pl.col("active") / pl.col("users"))
        .with_columns(pl.col("cohort").cast(pl.String))
        .select(pl.col(name).cast(kind) for name, kind in COHORTS.items())
        .sort("cohort", "age")
    )


def _add_ages(rows: pl.DataFrame, active_days: pl.DataFrame) -> pl.DataFrame:
    """Sums with the weeks since the user's first day: in the log, and in the variant."""
    frames = []
    for of_variant in (False, True):
        keys = ["user", "variant"] if of_variant else ["user"]
        first_day = active_days.group_by(keys).agg(first=pl.col("day").min())
        joined = rows.join(first_day, on=keys, maintain_order="left")
        if of_variant:
            joined = joined.filter(pl.col("variant").is_not_null())
        else:
            joined = joined.with_columns(variant=pl.lit(""))
        age = (pl.col("day") - pl.col("first")).dt.total_days() // _DAYS
        frames.append(joined.with_columns(age=age).drop("first"))
    return pl.concat(frames)


def _values_by_age(rows: pl.DataFrame, kpis: Sequence[Kpi]) -> pl.DataFrame:
    """Values by age, and differences of consecutive variants in alphabetical order."""
    if rows.is_empty():
        return pl.DataFrame(schema=AGES)
    table = pl.DataFrame(list(_group_rates(rows, ("variant", "kpi", "age"))), schema=AGES)
    variants = sorted(set(table["variant"]) - {""})
    tables = [table] if len(variants) != 1 else [table.filter(pl.col("variant") == "")]
    for first_variant, second_variant in pairwise(variants):
        first_rows, second_rows = (
            table.filter(pl.col("variant") == variant) for variant in (first_variant, second_variant)
        )
        joined = first_rows.join(second_rows, on=["kpi", "age"], suffix="_other")
        half = (
            (pl.col("high") - pl.col("value")) ** 2 + (pl.col("high_other") - pl.col("value_other")) ** 2
        ).sqrt()
        delta = pl.col("value_other") - pl.col("value")
        tables.append(
            joined.select(
                variant=pl.lit(f"{second_variant}{DIFFERENCE_SIGN}{first_variant}"),
                kpi="kpi",
                age="age",
                users=pl.col("users") + pl.col("users_other"),
                value=delta,
                low=delta - half,
                high=delta + half,
            )
        )
    order = {kpi.name: position for position, kpi in enumerate(kpis)}
    return pl.concat(tables).sort("variant", pl.col("kpi").replace_strict(order), "age")


def _fit_trends(ages: pl.DataFrame) -> pl.DataFrame:
    """Fit lines through values by age, weighted by 1 / error squared."""
    rows = []
    for (variant, kpi), group_rows in ages.group_by("variant", "kpi", maintain_order=True):
        points = group_rows.filter(pl.col("high") > pl.col("value"))
        if len(points) < 3:  # two points always fit a line
            continue
        x = points["age"].to_numpy().astype(np.float64)
        y = points["value"].to_numpy()
        weight = (_Z / (points["high"] - points["value"]).to_numpy()) ** 2
        centre = (weight * x).sum() / weight.sum()
        sum_of_squares = float((weight * (x - centre) ** 2).sum())
        slope = float((weight * (x - centre) * y).sum() / sum_of_squares)
        error = sum_of_squares**-0.5
        rows.append(
            (
                variant,
                kpi,
                len(points),
                slope,
                slope - _Z * error,
                slope + _Z * error,
                math.erfc(abs(slope) / error / math.sqrt(2)),
            )
        )
    return pl.DataFrame(rows, schema=TRENDS, orient="row")
