"""Units of an experiment from events: sums of KPIs for each unit and day."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.errors import InputError
from rankgate.online.experiments.measure import Measure
from rankgate.online.experiments.units import Units, assign_arms
from rankgate.online.faults.diagnose import diagnose_events
from rankgate.online.indicators import tables
from rankgate.online.indicators.built import KpiTables
from rankgate.online.indicators.compute import winsor_limit

if TYPE_CHECKING:
    from rankgate.online.database import Database
    from rankgate.online.events.events import Events, OpenEvents
    from rankgate.online.indicators.kpi import Kpi

UNIT_COLUMNS: Mapping[str, str] = {
    "user": "user",
    "session": "session",
    "query": "query_event_id",
}
"""The units that can be assigned to arms, with their columns."""

SEGMENT_COLUMNS = ("application",)
"""The columns that can divide the units of a log."""


def make_kpi_tables(
    base: Database, measures: Sequence[Measure], unit: str, success: Sequence[str]
) -> KpiTables:
    """The tables of a log that KPIs of units are read from."""
    kpis = [measure.kpi for measure in measures if measure.kpi]
    return KpiTables(base, success, kpis, (UNIT_COLUMNS.get(unit, unit), "day"))


def reasons_without_figures(
    log: OpenEvents, measures: Sequence[Measure], events: Events
) -> dict[str, str]:
    """Find the reasons why a log has no figures for measures: a fault, or no events.

    Args:
        log: the open log.
        measures: KPIs of the catalogue.
        events: how the log is read; what faults forbid is computed where it says so.
    """
    diagnosis = diagnose_events(log.base, log.manifest)
    kinds = log.kinds
    reasons = {}
    for measure in measures:
        if measure.kpi is None:
            continue
        faults = diagnosis.blocking(measure.kpi.made_of)
        codes = [fault.code for fault in faults if fault.code != "sample-ratio"]
        if codes and not events.despite:
            reasons[measure.name] = f"a fault of the log forbids it: {', '.join(codes)}"
        elif not measure.kpi.has_events(kinds, events.success):
            reasons[measure.name] = "the log has no events for it"
    return reasons


def read_units_from_events(
    log_tables: KpiTables,
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
        log_tables: the tables of the log.
        measures: KPIs of the catalogue.
        unit: what was assigned to arms.
        start: the first day of the experiment, by default the first with an arm; what was before
            is for covariates.
        end: the last day of the experiment.
        covariates: whether sums from before the experiment are read.
        segments: what divides units: application.
        variants: whether the log has arms; without them all units are in one.

    Raises:
        InputError: no event has such a unit, or an arm.
    """
    arms, crossed = _read_arms(log_tables, unit, start, end, segments, variants=variants)
    start = start or arms["day"].min()  # type: ignore[assignment]
    rows, before = {}, {}
    for measure in measures:
        sums = _kpi_sums(log_tables, measure, unit)
        unit_sums = sums.join(arms.select("unit"), "unit", how="semi")
        rows[measure.name] = unit_sums.filter(_period_filter(start, end))
        if covariates and start is not None and measure.quantile is None:
            names = [pl.col(name).sum() for name in ("value", "per")]
            before[measure.name] = (
                unit_sums.filter(pl.col("day") < start).group_by("unit").agg(names)
            )
    logged = _logged_counts(log_tables, arms, unit, start, end) if variants else None
    label = "the log"
    return Units(arms, rows, before, crossed, {}, logged, tuple(segments), label)


def _period_filter(start: date | None, end: date | None) -> pl.Expr:
    in_period = pl.lit(value=True)
    if start is not None:
        in_period &= pl.col("day") >= start
    if end is not None:
        in_period &= pl.col("day") <= end
    return in_period


def _read_arms(
    log_tables: KpiTables,
    unit: str,
    start: date | None,
    end: date | None,
    segments: Sequence[str],
    *,
    variants: bool,
) -> tuple[pl.DataFrame, int]:
    rows = log_tables.rows
    variant = rows.variant if variants else tables.load_ibis().literal("all")
    more = {name: rows.attributes.cast("json")[name].str for name in segments}
    assigned = rows.select(
        unit=rows[UNIT_COLUMNS[unit]], variant=variant, day=rows.at.cast("timestamp").date(), **more
    )
    assigned = assigned.filter(assigned.unit.notnull() & assigned.variant.notnull())
    if start is not None:
        assigned = assigned.filter(assigned.day.isnull() | (assigned.day >= start))
    if end is not None:
        assigned = assigned.filter(assigned.day.isnull() | (assigned.day <= end))
    last = {name: assigned[name].max() for name in segments}
    grouped = assigned.group_by("unit", "variant").aggregate(day=assigned.day.min(), **last)
    arm_rows = _collect(log_tables, grouped)
    if arm_rows.is_empty():
        columns_text = f"a {unit} and a variant" if variants else f"a {unit}"
        problem = (
            f"no event has {columns_text}; say another --unit, or log the arm of an experiment."
        )
        raise InputError(problem, source="the log", code="no-units")
    return assign_arms(arm_rows, segments)


def _collect(log_tables: KpiTables, expression: Any) -> pl.DataFrame:  # noqa: ANN401 - of Ibis
    sql = tables.load_ibis().to_sql(expression, dialect="duckdb")
    frame = log_tables.base.rows(str(sql))
    if "day" in frame.columns:
        frame = frame.with_columns(pl.col("day").cast(pl.Date))
    return frame


def _kpi_sums(log_tables: KpiTables, measure: Measure, unit: str) -> pl.DataFrame:
    """``unit``, ``day``, ``value``, ``per`` of a KPI; of a quantile its single values."""
    kpi: Kpi = measure.kpi  # type: ignore[assignment]
    rows = log_tables[kpi.table]
    column = UNIT_COLUMNS[unit]
    if column not in rows.columns:
        problem = f"{kpi.name} is of {kpi.table}, which have no {unit}; say another --unit."
        raise InputError(problem, source="the log", code="no-units")
    value = kpi.of(rows)
    if value.type().is_boolean():
        value = value.cast("int64")
    limit = winsor_limit(log_tables, rows, kpi)
    if limit is not None:
        value = value.clip(upper=limit)
    kpi_rows = rows.select(
        unit=rows[column],
        day=rows.day,
        value=value.cast("float64"),
        **({"per": kpi.per(rows).cast("float64")} if kpi.per else {}),
    )
    kpi_rows = kpi_rows.filter(kpi_rows.unit.notnull())
    if measure.quantile is not None:
        return _collect(log_tables, kpi_rows.filter(kpi_rows.value.notnull()))
    denominator = kpi_rows.per.sum() if kpi.per else kpi_rows.value.count()
    summed = kpi_rows.group_by("unit", "day").aggregate(
        value=kpi_rows.value.sum().fill_null(0.0), per=denominator.cast("float64")
    )
    return _collect(log_tables, summed.filter(summed.per > 0))


def _logged_counts(
    log_tables: KpiTables, arms: pl.DataFrame, unit: str, start: date | None, end: date | None
) -> pl.DataFrame:
    """Count each kind of event, and each column, that was logged for an arm on a day."""
    log_tables.base.connection.register("given_arms", arms.select("unit", "variant").to_arrow())
    column = UNIT_COLUMNS[unit]
    kinds = log_tables.base.rows("SELECT DISTINCT kind FROM events ORDER BY 1")["kind"].to_list()
    counts = [f"count(*) FILTER (WHERE kind = '{kind}') AS \"{kind} events\"" for kind in kinds]
    counts += [f'count({name}) AS "{name}"' for name in ("rank", "latency_ms", "session")]
    counts_by_day = log_tables.base.rows(
        'SELECT a.variant AS variant, CAST("at" AS DATE) AS day, '
        f'count(DISTINCT e."{column}") AS units, {", ".join(counts)} FROM events e '
        f'JOIN given_arms a ON e."{column}" = a.unit WHERE "at" IS NOT NULL GROUP BY 1, 2'
    ).filter(_period_filter(start, end))
    names = [name for name in counts_by_day.columns if name not in ("variant", "day", "units")]
    return counts_by_day.unpivot(
        names, index=["variant", "day", "units"], variable_name="what", value_name="count"
    )
