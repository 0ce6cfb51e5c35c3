"""Satisfaction over weeks: cohorts, novelty, and correlations with ranking metrics."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.errors import InputError
from rankgate.online.events.events import Events, EventsLike
from rankgate.online.faults.diagnose import diagnose_events
from rankgate.online.users.link import correlate_kpis
from rankgate.online.users.per_user import select_rate_kpis, sum_kpis_by_user, user_rate
from rankgate.online.users.satisfaction import (
    AGES,
    COHORTS,
    DIFFERENCE_SIGN,
    TRENDS,
    WEEKS,
    Satisfaction,
)

if TYPE_CHECKING:
    from rankgate.data.inputs import QrelsLike
    from rankgate.online.indicators.kpi import Kpi

KPIS = ("search_ctr", "mrr_first_click", "satisfied_click_rate", "session_success_rate")
"""The KPIs that are followed over weeks by default."""

METRICS = ("nDCG@10",)
"""The ranking metrics that KPIs are compared with by default."""

_Z = 1.959963984540054
_MIN_USERS = 2  # users that an interval needs
_DAYS = 7


def weeks(
    events: EventsLike,
    *,
    kpis: Sequence[str] = (),
    qrels: QrelsLike | None = None,
    metrics: Sequence[str] = (),
) -> Satisfaction:
    """Follow users over weeks, and compare KPIs with ranking metrics of the same lists.

    Args:
        events: what users did: a folder of events, a table of them, files of logs, or ``Events``.
        kpis: the KPIs that are followed, means over searches, clicks or sessions; by default
            search_ctr, mrr_first_click, satisfied_click_rate and session_success_rate.
        qrels: judgments whose query ids are the texts of queries; with them the ranking metrics of
            the lists that were shown are correlated with KPIs, per query and per day.
        metrics: those ranking metrics; nDCG@10 by default.

    Raises:
        InputError: a log that cannot be read, or without times or users; a fault that makes users
            or times wrong.
        UsageError: no such KPI, or one that is no mean; none that the log has values for.
        MissingExtraError: DuckDB or Ibis is not installed.
    """
    events = Events.of(events)
    with events.open() as log:
        base = log.base
        diagnosis = diagnose_events(base, log.manifest)
        faults = tuple(fault.code for fault in diagnosis.blocking(("users", "time")))
        if faults and not events.despite:
            problem = f"the log doctor found {', '.join(faults)}, which makes users or times wrong;"
            raise InputError(f"{problem} --despite gives figures.", code="spoiled-users")
        active_days = base.rows(
            'SELECT DISTINCT "user", CAST("at" AS DATE) AS day, variant FROM events WHERE '
            '"user" IS NOT NULL AND "at" IS NOT NULL'
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


def _week_of(column: str = "day") -> pl.Expr:
    return pl.col(column).dt.truncate("1w")


def _group_rates(rows: pl.DataFrame, keys: Sequence[str]) -> Iterable[dict[str, object]]:
    """The rate of each group, with users as units."""
    summed = rows.group_by(*keys, "user").agg(pl.col("total", "count").sum())
    for names, group_rows in summed.group_by(*keys, maintain_order=False):
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
    rows_with_week = rows.with_columns(week=_week_of().cast(pl.String))
    return pl.DataFrame(_group_rates(rows_with_week, ("week", "kpi")), schema=WEEKS).sort(
        "kpi", "week"
    )


def _retention_by_cohort(active_days: pl.DataFrame) -> pl.DataFrame:
    """Users by the week of their first event, and how many are active later."""
    last_day = active_days["day"].max()
    active = active_days.select("user", week=_week_of()).unique()
    first_week = active.group_by("user").agg(cohort=pl.col("week").min())
    size = first_week.group_by("cohort").agg(users=pl.len())
    activity = active.join(first_week, on="user").with_columns(
        age=(pl.col("week") - pl.col("cohort")).dt.total_days() // _DAYS
    )
    active_counts = activity.group_by("cohort", "age").agg(active=pl.len())
    grid = size.join(active_counts.select("age").unique(), how="cross")
    # a week that the log does not cover to its end would look like users who left
    is_complete = pl.col("cohort") + pl.duration(days=(pl.col("age") + 1) * _DAYS - 1) <= pl.lit(
        last_day
    )
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
        joined = rows.join(first_day, on=keys)
        if of_variant:
            joined = joined.filter(pl.col("variant").is_not_null())
        else:
            joined = joined.with_columns(variant=pl.lit(""))
        age = (pl.col("day") - pl.col("first")).dt.total_days() // _DAYS
        frames.append(joined.with_columns(age=age).drop("first"))
    return pl.concat(frames)


def _values_by_age(rows: pl.DataFrame, kpis: Sequence[Kpi]) -> pl.DataFrame:
    """Values by age, and differences of variants one after the other in the alphabet."""
    if rows.is_empty():
        return pl.DataFrame(schema=AGES)
    table = pl.DataFrame(list(_group_rates(rows, ("variant", "kpi", "age"))), schema=AGES)
    variants = sorted(set(table["variant"]) - {""})
    tables = [table] if len(variants) != 1 else [table.filter(pl.col("variant") == "")]
    for first_variant, second_variant in pairwise(variants):
        first_rows, second_rows = (
            table.filter(pl.col("variant") == variant)
            for variant in (first_variant, second_variant)
        )
        joined = first_rows.join(second_rows, on=["kpi", "age"], suffix="_other")
        half = (
            (pl.col("high") - pl.col("value")) ** 2
            + (pl.col("high_other") - pl.col("value_other")) ** 2
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
    """Lines through values by age, weighted by 1 / error squared."""
    rows = []
    for (variant, kpi), group_rows in ages.group_by("variant", "kpi", maintain_order=True):
        points = group_rows.filter(pl.col("high") > pl.col("value"))
        if len(points) < 3:  # two points make a line whatever they are
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
