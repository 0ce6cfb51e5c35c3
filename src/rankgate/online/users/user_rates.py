"""Sums of KPIs by user, and rates of groups of users with their errors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.online.indicators.kpi_catalogue import KPIS
from rankgate.online.indicators.search_tables import KpiTables
from rankgate.online.log_database import exact_sum

if TYPE_CHECKING:
    from rankgate.core.arrays import Floats
    from rankgate.online.indicators.kpi import Kpi
    from rankgate.online.log_database import Database


_TABLES = ("searches", "clicks", "sessions")


@dataclass(frozen=True)
class UserRate:
    """A ratio of sums over users.

    Attributes:
        value: the sum of totals divided by the sum of counts; NaN without counts.
        error: the standard error of value with users as units (delta method; Deng, Knoblich and Lu,
            KDD 2018); NaN with fewer than two users.
        users: the number of users.
        count: the sum of counts.
    """

    value: float
    error: float
    users: int
    count: int


def user_rate(total: Floats, count: Floats) -> UserRate:
    """The rate of users with these totals and counts.

    >>> user_rate(np.array([1.0, 0, 2]), np.array([1.0, 2, 3])).value
    0.5
    """
    users, total_count = len(total), float(count.sum())
    if not total_count:
        return UserRate(float("nan"), float("nan"), users, 0)
    value = float(total.sum()) / total_count
    residual = total - value * count
    error = float("nan")
    if users > 1:
        error = float(np.sqrt(users / (users - 1) * (residual @ residual)) / total_count)
    return UserRate(value, error, users, round(total_count))


def select_rate_kpis(names: Sequence[str], kinds: set[str], success: Sequence[str] = ()) -> list[Kpi]:
    """The named KPIs, which must be rates over users, without KPIs that the log cannot have.

    Raises:
        UsageError: no such KPI, or one that is not a mean over searches, clicks or sessions.
    """
    kpis = [KPIS.find(name) for name in names]
    for kpi in kpis:
        if kpi.table not in _TABLES or kpi.quantile is not None or kpi.cap is not None:
            problem = f"{kpi.name} is not a mean over searches, clicks or sessions of users."
            raise UsageError(problem, code="unsuitable-kpi")
    return [kpi for kpi in kpis if kpi.has_events(kinds, success)]


def sum_kpis_by_user(
    base: Database, kpis: Sequence[Kpi], by: Sequence[str], success: Sequence[str] = ()
) -> pl.DataFrame:
    """Sums by user: ``kpi``, ``user``, the columns of ``by``, ``total``, ``count``.

    Args:
        base: the database with ``events``.
        kpis: the KPIs to sum.
        by: additional columns, from day and variant.
        success: the event by which a session reached its goal.

    Raises:
        UsageError: no KPI.
    """
    kpi_tables = KpiTables(base, success, kpis, ("user", *by))
    frames = []
    for kpi in kpis:
        rows = kpi_tables[kpi.table]
        rows = rows.filter(rows.user.notnull())
        value = kpi.of(rows)
        if value.type().is_boolean():
            value = value.cast("int64")
        count = value.count() if kpi.per is None else exact_sum(kpi.per(rows))
        keys = [rows[name] for name in ("user", *by)]
        sums = rows.group_by(keys).aggregate(
            total=exact_sum(value).cast("float64"), count=count.cast("float64")
        )
        sums_by_user = base.rows(base.text(sums))
        frames.append(
            sums_by_user.select(pl.lit(kpi.name).alias("kpi"), "user", *by, "total", "count").sort(
                "user", *by
            )  # as DuckDB gives groups in any order
        )
    if not frames:
        raise UsageError("the log has nothing for these KPIs.", code="no-values")
    return pl.concat(frames).with_columns(pl.col("total", "count").fill_null(0.0)).filter(pl.col("count") > 0)
