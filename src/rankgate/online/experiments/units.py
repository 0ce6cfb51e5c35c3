"""The units of an experiment with their arm and their values, and its measures.

A measure is a KPI of the catalogue, or columns of a table of units. Units from events have
sums of KPIs for each unit and day.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import field, replace
from datetime import date
from typing import TYPE_CHECKING, Any, Literal

import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.data.table_rows import in_row_order
from rankgate.online.events.diagnosis import diagnose_events
from rankgate.online.indicators import search_tables
from rankgate.online.indicators.kpi import Kpi
from rankgate.online.indicators.kpi_catalogue import KPIS
from rankgate.online.indicators.kpi_table import winsor_limit
from rankgate.online.indicators.search_tables import KpiTables
from rankgate.online.log_database import exact_sum

if TYPE_CHECKING:
    from rankgate.online.events.events import Events, OpenEvents
    from rankgate.online.log_database import Database


Kind = Literal["mean", "ratio", "proportion", "quantile"]
"""The comparison of arms; values show if a mean is a proportion."""

_QUANTILE = re.compile(r"p(\d+(?:\.\d+)?)\((.+)\)")


@dataclass(frozen=True)
class Measure:
    """A measure: a figure of units that is compared between arms.

    Attributes:
        name: the name in the user's request.
        value: the column that is averaged or summed.
        per: the column of the denominator; empty for a mean over units.
        quantile: the quantile of the values, instead of the mean.
        better: ``up`` or ``down``; empty if neither is better.
        unit: the unit of the value.
        kpi: the KPI of the catalogue; None for columns of a table.
    """

    name: str
    value: str
    per: str = ""
    quantile: float | None = None
    better: str = "up"
    unit: str = ""
    kpi: Kpi | None = None


def measure_from_column(expression: str, down: tuple[str, ...] = ()) -> Measure:
    """The measure of an expression: ``spend``, ``spend/visit`` (a ratio of sums) or ``p95(ms)``.

    >>> measure_from_column("spend/visit").per, measure_from_column("p95(ms)").quantile
    ('visit', 0.95)

    Raises:
        UsageError: a quantile that is not between 0 and 100.
    """
    better = "down" if expression in down else "up"
    if match := _QUANTILE.fullmatch(expression):
        share = float(match[1]) / 100
        if not 0 < share < 1:
            raise UsageError(f"{expression}: give a quantile between p1 and p99.", code="invalid-syntax")
        return Measure(expression, match[2], quantile=share, better=better)
    value, slash, denominator = expression.partition("/")
    return Measure(expression, value.strip(), denominator.strip() if slash else "", better=better)


def measure_from_kpi(name: str) -> Measure:
    """The measure of a KPI of the catalogue.

    Raises:
        UsageError: no such KPI.
    """
    kpi = KPIS.find(name)
    return Measure(name, name, "rows", quantile=kpi.quantile, better=kpi.better, unit=kpi.unit, kpi=kpi)


@dataclass(frozen=True)
class Units:
    """The units of an experiment: their arms, and their values.

    Attributes:
        arms: ``unit`` (from 0), ``variant``, ``day`` (of the first event; null without times), a
            column for each segment; only units that are in a single arm.
        rows: the rows of each measure: ``unit``, ``day``, ``value`` and, for ratios, ``per``: sums
            of a unit on a day; for quantiles single values. Nulls are left out.
        before: the rows of each measure from before the experiment: ``unit``, ``value`` and, for
            ratios, ``per``.
        crossed: the number of units that were in several arms; they are not in `arms`.
        logged: ``variant``, ``day``, ``what``, ``count``, ``units``: the number of events of each
            kind that were logged for an arm on a day.
        segments: names of the segments.
        source: the source of the rows.
        crossed_units: the first of the units that were in several arms.
        by_day: True if the shares of arms changed, so that units are compared by their first day.
    """

    arms: pl.DataFrame
    rows: Mapping[str, pl.DataFrame]
    before: Mapping[str, pl.DataFrame] = field(default_factory=dict)
    crossed: int = 0
    logged: pl.DataFrame | None = None
    segments: tuple[str, ...] = ()
    source: str = ""
    crossed_units: tuple[str, ...] = ()
    by_day: bool = False

    @property
    def counts(self) -> dict[str, int]:
        """The number of units of each arm."""
        grouped = self.arms.group_by("variant").len().sort("variant")
        return dict(grouped.iter_rows())

    @property
    def days(self) -> list[date]:
        """The days of the first events of units, in order."""
        days = self.arms["day"].drop_nulls().unique().sort()
        return days.to_list()

    @property
    def days_of_values(self) -> list[date]:
        """The days that have values, in order."""
        tables = [rows["day"] for rows in self.rows.values() if "day" in rows.columns]
        return sorted({day for column in tables for day in column.unique() if day is not None})

    def until(self, day: date) -> Units:
        """The units and values that were known at the end of a day."""
        rows = {name: table.filter(pl.col("day") <= day) for name, table in self.rows.items()}
        return replace(self, arms=self.arms.filter(pl.col("day") <= day), rows=rows)

    def on_arms(self, condition: pl.Expr) -> Units:
        """The units that meet a condition on `arms`."""
        return replace(self, arms=self.arms.filter(condition))

    def unit_rows(self, measure: Measure, cap: float | None = None) -> pl.DataFrame:
        """``unit``, ``variant``, ``value`` and more: a row per unit; for quantiles, per value.

        Args:
            measure: the measure.
            cap: the quantile of values of units at which they are cut off (winsorised).
        """
        rows = self.rows[measure.name]
        if measure.quantile is None:
            names = [name for name in ("value", "per") if name in rows.columns]
            rows = rows.group_by("unit").agg(in_row_order(pl.col(names)).sum())
            if cap is not None and len(rows):
                limit = rows["value"].quantile(cap, interpolation="linear")
                rows = rows.with_columns(pl.col("value").clip(upper_bound=limit))
            if measure.name in self.before:
                rows = _add_covariates(rows, self.before[measure.name])
        first_days = [pl.col("day").alias("first_day")] if self.by_day else []
        units = self.arms.select("unit", "variant", *first_days)
        return units.join(rows, "unit", maintain_order="left_right")


def _add_covariates(rows: pl.DataFrame, before: pl.DataFrame) -> pl.DataFrame:
    """Add sums from before the experiment; units without earlier events have 0."""
    renamed = before.select(
        "unit", before="value", **({"before_per": pl.col("per")} if "per" in before.columns else {})
    )
    names = [pl.col(name).fill_null(0.0) for name in renamed.columns if name != "unit"]
    return rows.join(renamed, "unit", how="left").with_columns(names)


def assign_arms(frame: pl.DataFrame, segments: Sequence[str] = ()) -> tuple[pl.DataFrame, pl.Series]:
    """The arms of units from rows of ``unit``, ``variant``, ``day``; the units in several arms.

    Segments are those of a unit's first row.
    """
    assigned = frame.filter(pl.col("unit").is_not_null(), pl.col("variant").is_not_null())
    grouped = assigned.group_by("unit", maintain_order=True).agg(
        pl.col("variant").min(),
        pl.col("variant").n_unique().alias("several"),
        pl.col("day").min(),
        *(pl.col(name).first() for name in segments),
    )
    single = grouped.filter(pl.col("several") == 1).drop("several")
    return single, grouped.filter(pl.col("several") > 1)["unit"]


def first_few(units: pl.Series) -> tuple[str, ...]:
    """The first three units, as texts."""
    return tuple(units.head(3).cast(pl.String))


UNIT_COLUMNS: Mapping[str, str] = {"user": "user", "session": "session", "query": "query_event_id"}
"""The units that can be assigned to arms, with their columns."""


def make_kpi_tables(
    base: Database, measures: Sequence[Measure], unit: str, success: Sequence[str]
) -> KpiTables:
    """The tables of a log that KPIs of units are read from."""
    kpis = [measure.kpi for measure in measures if measure.kpi]
    return KpiTables(base, success, kpis, (UNIT_COLUMNS.get(unit, unit), "day"))


def reasons_without_figures(log: OpenEvents, measures: Sequence[Measure], events: Events) -> dict[str, str]:
    """The reasons why measures have no figures in a log: a fault, or missing events.

    Args:
        log: the open log.
        measures: KPIs of the catalogue.
        events: the settings of the log's reader; figures that faults forbid are computed if it
            requests them.
    """
    subjects = {subject for measure in measures if measure.kpi for subject in measure.kpi.made_of}
    diagnosis = diagnose_events(log.base, log.manifest, subjects=subjects)
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
        unit: the unit that was assigned to arms.
        start: the first day of the experiment, by default the first with an arm; earlier days are
            for covariates.
        end: the last day of the experiment.
        covariates: True if sums from before the experiment are read.
        segments: the columns that divide units: application.
        variants: True if the log has arms; if False, all units are in one arm.

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
            earlier_sums = unit_sums.filter(pl.col("day") < start)
            before[measure.name] = earlier_sums.group_by("unit").agg(
                in_row_order(pl.col("value", "per")).sum()
            )
    logged = _logged_counts(log_tables, unit, start, end) if variants else None
    label = "the log"
    return Units(arms, rows, before, len(crossed), logged, tuple(segments), label, first_few(crossed))


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
) -> tuple[pl.DataFrame, pl.Series]:
    rows = log_tables.rows
    variant = rows.variant if variants else search_tables.load_ibis().literal("all")
    more = {name: search_tables.attribute_text(rows, name) for name in segments}
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
    arm_rows = _collect(log_tables, grouped).sort("unit", "variant")
    if arm_rows.is_empty():
        columns_text = f"a {unit} and a variant" if variants else f"a {unit}"
        problem = f"no event has {columns_text}; choose another --unit, or log the arm of an experiment."
        raise InputError(problem, source="the log", code="no-units")
    return assign_arms(arm_rows, segments)


def _collect(log_tables: KpiTables, expression: object) -> pl.DataFrame:
    base = log_tables.base
    return base.rows(base.text(expression)).with_columns(pl.col("day").cast(pl.Date))


def _kpi_sums(log_tables: KpiTables, measure: Measure, unit: str) -> pl.DataFrame:
    """``unit``, ``day``, ``value``, ``per`` of a KPI; for a quantile its single values.

    Each KPI is read once from a log, for all requested periods.
    """
    kpi: Kpi = measure.kpi  # type: ignore[assignment]
    key = (kpi.name, unit, measure.quantile is not None)
    if key not in log_tables.sums:
        # DuckDB gives rows in any order; the order of a unit's rows decides the last digit of sums
        log_tables.sums[key] = _read_kpi_sums(log_tables, kpi, measure, unit).sort("day", "value")
    return log_tables.sums[key]


def _read_kpi_sums(log_tables: KpiTables, kpi: Kpi, measure: Measure, unit: str) -> pl.DataFrame:
    rows = log_tables[kpi.table]
    column = UNIT_COLUMNS[unit]
    if column not in rows.columns:
        problem = f"{kpi.name} is computed from {kpi.table}, which have no {unit}; choose another --unit."
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
    denominator = exact_sum(kpi_rows.per) if kpi.per else kpi_rows.value.count()
    summed = kpi_rows.group_by("unit", "day").aggregate(
        value=exact_sum(kpi_rows.value).fill_null(0.0), per=denominator.cast("float64")
    )
    return _collect(log_tables, summed.filter(summed.per > 0))


def _logged_counts(log_tables: KpiTables, unit: str, start: date | None, end: date | None) -> pl.DataFrame:
    """Count each kind of event, and each column, that was logged for an arm on a day.

    Units that were in several arms do not count.
    """
    rows = search_tables.events()
    unit_column = rows[UNIT_COLUMNS[unit]]
    with_day = rows.mutate(unit=unit_column, day=rows.at.cast("timestamp").date())
    with_unit = with_day.filter(with_day.unit.notnull() & with_day.at.notnull())
    assigned = with_unit.filter(with_unit.variant.notnull() & _in_period(with_unit.day, start, end))
    arms = assigned.group_by("unit").aggregate(arm=assigned.variant.min(), last_arm=assigned.variant.max())
    events_in_period = with_unit.join(arms.filter(arms.arm == arms.last_arm), "unit")
    events_in_period = events_in_period.filter(_in_period(events_in_period.day, start, end))
    kinds = log_tables.base.rows("SELECT DISTINCT kind FROM events ORDER BY 1")["kind"].to_list()
    counts = {f"{kind} events": events_in_period.count(where=events_in_period.kind == kind) for kind in kinds}
    counts |= {name: events_in_period[name].count() for name in ("rank", "latency_ms", "session")}
    grouped = events_in_period.group_by(variant=events_in_period.arm, day=events_in_period.day).aggregate(
        units=events_in_period.unit.nunique(), **counts
    )
    return _collect(log_tables, grouped).unpivot(
        [*counts], index=["variant", "day", "units"], variable_name="what", value_name="count"
    )


def _in_period(day: Any, start: date | None, end: date | None) -> Any:  # noqa: ANN401 - columns of Ibis
    in_period = search_tables.load_ibis().literal(value=True)
    if start is not None:
        in_period &= day >= start
    return in_period if end is None else in_period & (day <= end)
