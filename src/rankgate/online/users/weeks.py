"""Satisfaction over weeks: cohorts, novelty, and how KPIs go with ranking metrics."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.errors import InputError
from rankgate.online.events.events import Events, EventsLike
from rankgate.online.faults.diagnose import diagnosed
from rankgate.online.users.link import correlated
from rankgate.online.users.per_user import chosen, per_user, rate
from rankgate.online.users.satisfaction import (
    AGES,
    COHORTS,
    LIFT,
    TRENDS,
    WEEKS,
    Satisfaction,
)  # fmt: skip

if TYPE_CHECKING:
    from rankgate.data.inputs import QrelsLike
    from rankgate.online.indicators.kpi import Kpi

KPIS = ("search_ctr", "mrr_first_click", "satisfied_click_rate", "session_success_rate")
"""What is followed over weeks by default."""

METRICS = ("nDCG@10",)
"""The ranking metrics that they are compared with by default."""

_Z = 1.959963984540054
_FEW = 2  # users that an interval needs
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
        qrels: judgments by the words of queries; with them the ranking metrics of the lists that
            were shown are correlated with KPIs, per query and per day.
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
        found = diagnosed(base, log.manifest)
        faults = tuple(each.code for each in found.blocking(("users", "time")))
        if faults and not events.despite:
            problem = f"the log doctor found {', '.join(faults)}, which makes users or times wrong;"
            raise InputError(f"{problem} --despite gives figures.", code="spoiled-users")
        seen = base.rows(
            'SELECT DISTINCT "user", CAST("at" AS DATE) AS day, variant FROM events WHERE '
            '"user" IS NOT NULL AND "at" IS NOT NULL'
        )
        if seen.is_empty():
            raise InputError("the log has no users with times.", code="no-users")
        asked = chosen(kpis or KPIS, log.kinds, events.success)
        rows = per_user(base, asked, ("day", "variant"), events.success)
        linked = correlated(base, asked, events.success, qrels, metrics or METRICS)
    ages = _ages(_aged(rows, seen), asked)
    return Satisfaction(_weeks(rows), _cohorts(seen), ages, _trends(ages), linked, faults)


def _week(column: str = "day") -> pl.Expr:
    return pl.col(column).dt.truncate("1w")


def _rates(rows: pl.DataFrame, keys: Sequence[str]) -> Iterable[dict[str, object]]:
    """The rate of each group, with users as units."""
    summed = rows.group_by(*keys, "user").agg(pl.col("total", "count").sum())
    for names, part in summed.group_by(*keys, maintain_order=False):
        found = rate(part["total"].to_numpy(), part["count"].to_numpy())
        half = _Z * found.error if found.users >= _FEW else math.nan
        low, high = (None if math.isnan(half) else found.value + sign * half for sign in (-1, 1))
        yield {**dict(zip(keys, names, strict=True)), "users": found.users, "value": found.value,
               "low": low, "high": high}  # fmt: skip


def _weeks(rows: pl.DataFrame) -> pl.DataFrame:
    if rows.is_empty():
        return pl.DataFrame(schema=WEEKS)
    named = rows.with_columns(week=_week().cast(pl.String))
    return pl.DataFrame(_rates(named, ("week", "kpi")), schema=WEEKS).sort("kpi", "week")


def _cohorts(seen: pl.DataFrame) -> pl.DataFrame:
    """Users by the week of their first event, and how many are active later."""
    last = seen["day"].max()
    active = seen.select("user", week=_week()).unique()
    first = active.group_by("user").agg(cohort=pl.col("week").min())
    size = first.group_by("cohort").agg(users=pl.len())
    both = active.join(first, on="user").with_columns(
        age=(pl.col("week") - pl.col("cohort")).dt.total_days() // _DAYS
    )
    counted = both.group_by("cohort", "age").agg(active=pl.len())
    grid = size.join(counted.select("age").unique(), how="cross")
    # a week that the log does not cover to its end would look like users who left
    whole = pl.col("cohort") + pl.duration(days=(pl.col("age") + 1) * _DAYS - 1) <= pl.lit(last)
    table = grid.join(counted, on=["cohort", "age"], how="left").filter(whole)
    return (
        table.with_columns(pl.col("active").fill_null(0))
        .with_columns(retention=pl.col("active") / pl.col("users"))
        .with_columns(pl.col("cohort").cast(pl.String))
        .select(pl.col(name).cast(kind) for name, kind in COHORTS.items())
        .sort("cohort", "age")
    )


def _aged(rows: pl.DataFrame, seen: pl.DataFrame) -> pl.DataFrame:
    """Sums with the weeks since the user's first day: in the log, and in the variant."""
    parts = []
    for of_variant in (False, True):
        keys = ["user", "variant"] if of_variant else ["user"]
        first = seen.group_by(keys).agg(first=pl.col("day").min())
        both = rows.join(first, on=keys)
        if of_variant:
            both = both.filter(pl.col("variant").is_not_null())
        else:
            both = both.with_columns(variant=pl.lit(""))
        age = (pl.col("day") - pl.col("first")).dt.total_days() // _DAYS
        parts.append(both.with_columns(age=age).drop("first"))
    return pl.concat(parts)


def _ages(rows: pl.DataFrame, asked: Sequence[Kpi]) -> pl.DataFrame:
    """Values by age, and differences of variants one after the other in the alphabet."""
    if rows.is_empty():
        return pl.DataFrame(schema=AGES)
    table = pl.DataFrame(list(_rates(rows, ("variant", "kpi", "age"))), schema=AGES)
    variants = sorted(set(table["variant"]) - {""})
    found = [table] if len(variants) != 1 else [table.filter(pl.col("variant") == "")]
    for one, other in pairwise(variants):
        left, right = (table.filter(pl.col("variant") == each) for each in (one, other))
        both = left.join(right, on=["kpi", "age"], suffix="_other")
        half = (
            (pl.col("high") - pl.col("value")) ** 2
            + (pl.col("high_other") - pl.col("value_other")) ** 2
        ).sqrt()
        delta = pl.col("value_other") - pl.col("value")
        found.append(
            both.select(
                variant=pl.lit(f"{other}{LIFT}{one}"), kpi="kpi", age="age",
                users=pl.col("users") + pl.col("users_other"), value=delta, low=delta - half,
                high=delta + half,
            )
        )  # fmt: skip
    order = {each.name: place for place, each in enumerate(asked)}
    return pl.concat(found).sort("variant", pl.col("kpi").replace_strict(order), "age")


def _trends(ages: pl.DataFrame) -> pl.DataFrame:
    """Lines through values by age, weighted by 1 / error squared."""
    rows = []
    for (variant, kpi), part in ages.group_by("variant", "kpi", maintain_order=True):
        known = part.filter(pl.col("high") > pl.col("value"))
        if len(known) < 3:  # two points make a line whatever they are
            continue
        x = known["age"].to_numpy().astype(np.float64)
        y = known["value"].to_numpy()
        weight = (_Z / (known["high"] - known["value"]).to_numpy()) ** 2
        centre = (weight * x).sum() / weight.sum()
        spread = float((weight * (x - centre) ** 2).sum())
        slope = float((weight * (x - centre) * y).sum() / spread)
        error = spread**-0.5
        rows.append(
            (variant, kpi, len(known), slope, slope - _Z * error, slope + _Z * error,
             math.erfc(abs(slope) / error / math.sqrt(2)))
        )  # fmt: skip
    return pl.DataFrame(rows, schema=TRENDS, orient="row")
