"""Units of an experiment from events: sums of KPIs for each unit and day."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.errors import InputError
from rankgate.online.experiments.measure import Measure
from rankgate.online.experiments.units import Units, numbered
from rankgate.online.indicators import tables
from rankgate.online.indicators.built import KpiTables
from rankgate.online.indicators.compute import limit_of

if TYPE_CHECKING:
    from rankgate.online.database import Database
    from rankgate.online.indicators.kpi import Kpi

COLUMNS: Mapping[str, str] = {
    "user": "user", "session": "session", "query": "query_event_id",
}  # fmt: skip
"""What can be assigned to arms, with its column."""

SEGMENTS = ("application",)
"""What can divide the units of a log."""


def kpi_tables(
    base: Database, measures: Sequence[Measure], unit: str, success: Sequence[str]
) -> KpiTables:
    """The tables of a log that KPIs of units are read from."""
    kpis = [each.kpi for each in measures if each.kpi]
    return KpiTables(base, success, kpis, (COLUMNS.get(unit, unit), "day"))


def from_events(
    built: KpiTables,
    measures: Sequence[Measure],
    unit: str = "user",
    *,
    start: date | None = None,
    end: date | None = None,
    covariates: bool = False,
    segments: Sequence[str] = (),
    variants: bool = True,
) -> Units:
    """Read units from the tables of a log.

    Args:
        built: the tables of the log.
        measures: KPIs of the catalogue.
        unit: what was assigned to arms.
        start: the first day of the experiment, by default the first with an arm; what was before
            is for covariates.
        end: its last day.
        covariates: whether sums from before the experiment are read.
        segments: what divides units: application.
        variants: whether the log has arms; without them all units are in one.

    Raises:
        InputError: no event has such a unit, or an arm.
    """
    arms, crossed = _arms(built, unit, start, end, segments, variants=variants)
    start = start or arms["day"].min()  # type: ignore[assignment]
    rows, before = {}, {}
    for each in measures:
        found = _sums(built, each, unit)
        known = found.join(arms.select("unit"), "unit", how="semi")
        rows[each.name] = known.filter(_between(start, end))
        if covariates and start is not None and each.quantile is None:
            names = [pl.col(name).sum() for name in ("value", "per")]
            before[each.name] = known.filter(pl.col("day") < start).group_by("unit").agg(names)
    logged = _logged(built, arms, unit, start, end) if variants else None
    label = "the log"
    return Units(arms, rows, before, crossed, {}, logged, tuple(segments), label)


def _between(start: date | None, end: date | None) -> pl.Expr:
    inside = pl.lit(value=True)
    if start is not None:
        inside &= pl.col("day") >= start
    if end is not None:
        inside &= pl.col("day") <= end
    return inside


def _arms(
    built: KpiTables,
    unit: str,
    start: date | None,
    end: date | None,
    segments: Sequence[str],
    *,
    variants: bool,
) -> tuple[pl.DataFrame, int]:
    rows = built.rows
    variant = rows.variant if variants else tables.ibis().literal("all")
    more = {name: rows.attributes.cast("json")[name].str for name in segments}
    chosen = rows.select(
        unit=rows[COLUMNS[unit]], variant=variant, day=rows.at.cast("timestamp").date(), **more
    )
    chosen = chosen.filter(chosen.unit.notnull() & chosen.variant.notnull())
    if start is not None:
        chosen = chosen.filter(chosen.day.isnull() | (chosen.day >= start))
    if end is not None:
        chosen = chosen.filter(chosen.day.isnull() | (chosen.day <= end))
    last = {name: chosen[name].max() for name in segments}
    grouped = chosen.group_by("unit", "variant").aggregate(day=chosen.day.min(), **last)
    found = _collected(built, grouped)
    if found.is_empty():
        what = f"a {unit} and a variant" if variants else f"a {unit}"
        problem = f"no event has {what}; say another --unit, or log the arm of an experiment."
        raise InputError(problem, source="the log", code="no-units")
    return numbered(found, segments)


def _collected(built: KpiTables, expression: Any) -> pl.DataFrame:  # noqa: ANN401 - of Ibis
    sql = tables.ibis().to_sql(expression, dialect="duckdb")
    frame = built.base.rows(str(sql))
    if "day" in frame.columns:
        frame = frame.with_columns(pl.col("day").cast(pl.Date))
    return frame


def _sums(built: KpiTables, measure: Measure, unit: str) -> pl.DataFrame:
    """``unit``, ``day``, ``value``, ``per`` of a KPI; of a quantile its single values."""
    kpi: Kpi = measure.kpi  # type: ignore[assignment]
    rows = built[kpi.table]
    column = COLUMNS[unit]
    if column not in rows.columns:
        problem = f"{kpi.name} is of {kpi.table}, which have no {unit}; say another --unit."
        raise InputError(problem, source="the log", code="no-units")
    value = kpi.of(rows)
    if value.type().is_boolean():
        value = value.cast("int64")
    limit = limit_of(built, rows, kpi)
    if limit is not None:
        value = value.clip(upper=limit)
    chosen = rows.select(
        unit=rows[column], day=rows.day, value=value.cast("float64"),
        **({"per": kpi.per(rows).cast("float64")} if kpi.per else {}),
    )  # fmt: skip
    chosen = chosen.filter(chosen.unit.notnull())
    if measure.quantile is not None:
        return _collected(built, chosen.filter(chosen.value.notnull()))
    per = chosen.per.sum() if kpi.per else chosen.value.count()
    summed = chosen.group_by("unit", "day").aggregate(
        value=chosen.value.sum().fill_null(0.0), per=per.cast("float64")
    )
    return _collected(built, summed.filter(summed.per > 0))


def _logged(
    built: KpiTables, arms: pl.DataFrame, unit: str, start: date | None, end: date | None
) -> pl.DataFrame:
    """How often each kind of event, and each column, was logged for an arm on a day."""
    built.base.connection.register("given_arms", arms.select("unit", "variant").to_arrow())
    column = COLUMNS[unit]
    kinds = built.base.rows("SELECT DISTINCT kind FROM events ORDER BY 1")["kind"].to_list()
    counts = [f"count(*) FILTER (WHERE kind = '{kind}') AS \"{kind} events\"" for kind in kinds]
    counts += [f'count({name}) AS "{name}"' for name in ("rank", "latency_ms", "session")]
    wide = built.base.rows(
        'SELECT a.variant AS variant, CAST("at" AS DATE) AS day, '
        f'count(DISTINCT e."{column}") AS units, {", ".join(counts)} FROM events e '
        f'JOIN given_arms a ON e."{column}" = a.unit WHERE "at" IS NOT NULL GROUP BY 1, 2'
    ).filter(_between(start, end))
    names = [name for name in wide.columns if name not in ("variant", "day", "units")]
    return wide.unpivot(names, index=["variant", "day", "units"], variable_name="what",
                        value_name="count")  # fmt: skip
