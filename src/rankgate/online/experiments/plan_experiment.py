"""Plan an experiment from a log: the verb ``plan``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated

import numpy as np
import polars as pl

from rankgate.core.declare import Range
from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.number_formats import count_noun
from rankgate.measurement.stats.experiment_arms import detectable, quantile
from rankgate.measurement.stats.sequential_experiments import half_width
from rankgate.online.events.events import Events
from rankgate.online.experiments.effects import compute_moments
from rankgate.online.experiments.experiment_design import Design, ExperimentTest
from rankgate.online.experiments.experiment_plan import DETECTABLE, INTERLEAVING, KPIS, NEEDED, ExperimentPlan
from rankgate.online.experiments.experiment_result import ExperimentFinding
from rankgate.online.experiments.units import (
    UNIT_COLUMNS,
    Measure,
    make_kpi_tables,
    measure_from_kpi,
    read_units_from_events,
    reasons_without_figures,
)
from rankgate.online.indicators.kpi_catalogue import KPIS as CATALOGUE
from rankgate.online.indicators.own_kpis import declare_kpis

if TYPE_CHECKING:
    from rankgate.core.arrays import Floats
    from rankgate.data.input_types import QrelsLike, RunLike
    from rankgate.online.events.events import EventsLike
    from rankgate.online.experiments.experiment_design import DesignLike
    from rankgate.online.experiments.units import Units
    from rankgate.online.log_database import Database


_WEEK = 7
_REPORTED_DAYS = (1, 2, 3, 5, 7, 10, 14, 21, 28, 42, 56, 90)


def plan(
    events: EventsLike,
    kpis: Sequence[str] = (),
    *,
    design: DesignLike | None = None,
    test: ExperimentTest | None = None,
    shares: Sequence[float] = (0.01, 0.05, 0.25, 0.5),
    effect: Annotated[float, Range(0.0, 10.0, exclusive=True)] = 0.02,
    horizon: Annotated[int, Range(1, 3_650)] = 90,
    interleave: tuple[QrelsLike, RunLike, RunLike] | None = None,
) -> ExperimentPlan:
    """Plan an A/B test from a log: for each KPI, the days until a difference can be detected.

    Users arrive as in the log: the growth of their number with the days is measured, and
    extrapolated. The gain by CUPED is the part of each unit's value in the second half of the log
    that its value in the first half explains.

    Args:
        events: the log: a folder of events, a table of them, files of logs, or ``Events``.
        kpis: the KPIs, such as search_ctr; all by default.
        design: the experiment; its unit counts; or a TOML file with it.
        test: the test of the arms; level and power count; days with CUPED and with intervals for
            every look are shown next to those of one look.
        shares: shares of the traffic that the treatment would have.
        effect: the relative difference that should show.
        horizon: the number of days of the forecast.
        interleave: judgments and two runs, to compute the units that interleaving and an A/B test
            need to distinguish them, with simulated clicks.

    Raises:
        InputError: a log that cannot be read, or without times.
        UsageError: no such KPI or unit; a share that is not between 0 and 1.
        MissingExtraError: DuckDB or Ibis is not installed.
    """
    unit, test = Design.of(design).unit_of_events, test or ExperimentTest()
    if any(not 0 < share < 1 for share in shares):
        raise UsageError("a share of the traffic is between 0 and 1.", code="invalid-share")
    events = Events.of(events)
    own_names = [kpi.name for kpi in declare_kpis(events)]
    measures = [measure_from_kpi(name) for name in (kpis or [*CATALOGUE, *own_names])]
    with events.open() as log:
        reasons = reasons_without_figures(log, measures, events)
        planned = [
            measure for measure in measures if measure.name not in reasons and _has_unit(measure, unit)
        ]
        reasons |= {
            measure.name: f"it has no value for each {unit}"
            for measure in measures
            if measure not in planned and measure.name not in reasons
        }
        all_units, halves = _read_units(log.base, planned, unit, events.success)
        per_unit = _searches_per_unit(log.base, unit)
    goal = _Goal(1 - test.level, test.power, effect, horizon, tuple(shares))
    curves = {measure.name: _growth_curve(all_units, measure, halves) for measure in planned}
    days = all_units.days
    table = [_kpi_row(measure, curves.get(measure.name), reasons) for measure in measures]
    rows = [row for name, curve in curves.items() if curve for row in _needed_rows(name, curve, goal)]
    needed = pl.DataFrame(rows, schema=NEEDED, orient="row").sort(
        "share", pl.col("days").fill_null(horizon + 1), "kpi", descending=[True, False, False]
    )
    detectable_rows = [
        row for name, curve in curves.items() if curve for row in _detectable_rows(name, curve, goal)
    ]
    return ExperimentPlan(
        unit,
        str(days[0]),
        str(days[-1]),
        pl.DataFrame(table, schema=KPIS, orient="row"),
        needed,
        pl.DataFrame(detectable_rows, schema=DETECTABLE, orient="row"),
        horizon,
        {"level": test.level, "power": test.power, "effect": effect, "shares": list(shares)},
        tuple(_find_doubts(len(days), unit)),
        _interleaving_table(interleave, per_unit, [curve for curve in curves.values() if curve], horizon),
    )


@dataclass(frozen=True)
class _Goal:
    alpha: float
    power: float
    effect: float
    horizon: int
    shares: tuple[float, ...]


@dataclass(frozen=True)
class _Curve:
    """The growth of the number of units and of their deviation by day.

    Attributes:
        value: the value of the KPI over the log.
        units: (D,) units with a value after each day.
        deviation: (D,) the standard deviation of a unit's contribution, relative to the value.
        explained: the share of the variance that earlier values explain; None if unknown.
    """

    value: float
    units: Floats
    deviation: Floats
    explained: float | None

    def value_at(self, day: int) -> tuple[float, float]:
        """The units and deviation after a day; beyond the log, units grow by a power law."""
        last = len(self.units)
        if day <= last:
            return float(self.units[day - 1]), float(self.deviation[day - 1])
        half = max(last // 2, 1)
        growth = (
            np.log(self.units[-1] / self.units[half - 1]) / np.log(last / half)
            if last > half and self.units[half - 1] > 0
            else 1.0
        )
        more = (day / last) ** min(max(growth, 0.0), 1.0)
        return float(self.units[-1] * more), float(self.deviation[-1])


def _has_unit(measure: Measure, unit: str) -> bool:
    """True if the rows of a KPI have this unit."""
    table = measure.kpi.table if measure.kpi else ""
    if table == "people":
        return unit == "user"
    return unit != "query" or table in {"searches", "clicks", "events"}


def _read_units(
    base: Database, measures: Sequence[Measure], unit: str, success: Sequence[str]
) -> tuple[Units, Units | None]:
    """The units of the log; the units of its second half with their values in the first half."""
    log_tables = make_kpi_tables(base, measures, unit, success)
    all_units = read_units_from_events(log_tables, measures, unit, variants=False)
    days = all_units.days
    if not days:
        raise InputError("no event has a time.", source="the log", code="no-times")
    if len(days) < 2:
        return all_units, None
    middle = days[0] + timedelta(days=((days[-1] - days[0]).days + 1) // 2)
    halves = read_units_from_events(log_tables, measures, unit, start=middle, covariates=True, variants=False)
    return all_units, halves


def _growth_curve(units: Units, measure: Measure, halves: Units | None) -> _Curve | None:
    counts, deviations, value = [], [], np.nan
    rows = units.rows[measure.name]
    if rows.is_empty():
        return None
    units_of_measure = replace(units, rows={measure.name: rows})
    first = rows["day"].min()
    last = rows["day"].max()
    day = first
    while day <= last:  # type: ignore[operator]
        known_units = units_of_measure.until(day)  # type: ignore[arg-type]
        n, value, deviation = _unit_deviation(known_units, measure)
        counts.append(n)
        deviations.append(deviation)
        day += timedelta(days=1)  # type: ignore[operator]
    explained = None if halves is None else _explained_variance(halves, measure)
    if not np.isfinite(deviations[-1]) or not value or not deviations[-1] > 0:
        return None
    return _Curve(value, np.array(counts, float), np.array(deviations, float), explained)


def _unit_deviation(units: Units, measure: Measure) -> tuple[int, float, float]:
    """The number of units, the value, and the relative deviation of a unit's contribution."""
    rows = units.unit_rows(measure)
    if measure.quantile is not None:
        unit_number = rows["unit"].rank("dense").to_numpy().astype(np.int64)
        quantile_estimate = quantile(rows["value"].to_numpy(), measure.quantile, unit_number)
        n, value, se = quantile_estimate.clusters, quantile_estimate.value, quantile_estimate.se
    else:
        sums = compute_moments(rows)
        n, value, se = sums.n, sums.ratio, sums.se
    return n, value, float(se * np.sqrt(n) / abs(value)) if value else np.nan


def _explained_variance(halves: Units, measure: Measure) -> float | None:
    """r² of linearised values, y − R n, of both halves of the log."""
    if measure.name not in halves.before or halves.before[measure.name].is_empty():
        return None
    sums = compute_moments(halves.unit_rows(measure))
    if sums.n < 3 or "before" not in sums.mean:
        return None
    value, earlier = sums.gradients
    value_variance, earlier_variance = (sums.covariance(value, value), sums.covariance(earlier, earlier))
    covariance = sums.covariance(value, earlier)
    return (
        covariance**2 / (value_variance * earlier_variance)
        if value_variance > 0 and earlier_variance > 0
        else None
    )


def _kpi_row(measure: Measure, curve: _Curve | None, reasons: dict[str, str]) -> tuple[object, ...]:
    if curve is None:
        reason = reasons.get(measure.name, "the log has too few values, or all are the same")
        return measure.name, None, None, 0, None, reason
    return (
        measure.name,
        curve.value,
        float(curve.deviation[-1]),
        int(curve.units[-1]),
        curve.explained,
        None,
    )


def _needed_rows(name: str, curve: _Curve, goal: _Goal) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    for share in goal.shares:
        days = {"plain": None, "cuped": None, "sequential": None}
        for day in range(1, goal.horizon + 1):
            units, deviation = curve.value_at(day)
            smallest_effect = detectable(deviation, units, share, goal.alpha, goal.power)
            scale = {"plain": 1.0, "sequential": _sequential_factor(units, goal)}
            if curve.explained is not None:
                scale["cuped"] = (1 - curve.explained) ** 0.5
            for kind, factor in scale.items():
                if days[kind] is None and smallest_effect * factor <= goal.effect:
                    days[kind] = day  # type: ignore[assignment]
        plain_days = days["plain"]
        count = None if plain_days is None else round(curve.value_at(plain_days)[0])
        rows.append((name, share, goal.effect, plain_days, days["cuped"], days["sequential"], count))
    return rows


def _sequential_factor(units: float, goal: _Goal) -> float:
    """The factor by which intervals for every look widen the detectable difference."""
    from rankgate.measurement.stats.special_functions import ndtri

    if units < 2:
        return np.inf
    z_sum = float(half_width(1.0, units, goal.alpha, units)) + float(ndtri(goal.power))
    return z_sum / float(ndtri(1 - goal.alpha / 2) + ndtri(goal.power))


def _detectable_rows(name: str, curve: _Curve, goal: _Goal) -> list[tuple[object, ...]]:
    rows: list[tuple[object, ...]] = []
    for share in goal.shares:
        for day in (shown_day for shown_day in _REPORTED_DAYS if shown_day <= goal.horizon):
            units, deviation = curve.value_at(day)
            smallest_effect = detectable(deviation, units, share, goal.alpha, goal.power)
            if np.isfinite(smallest_effect):
                smallest_cuped = (
                    None if curve.explained is None else smallest_effect * (1 - curve.explained) ** 0.5
                )
                rows.append((name, share, day, round(units), smallest_effect, smallest_cuped))
    return rows


def _searches_per_unit(base: Database, unit: str) -> float:
    """The mean number of searches of a unit over the log."""
    count = f'count(DISTINCT "{UNIT_COLUMNS[unit]}")'
    searches_per_unit = base.first_value(
        f"SELECT count(*) / nullif({count}, 0) FROM events WHERE kind = 'search'"
    )
    return float(searches_per_unit or 1.0)


def _interleaving_table(
    systems: tuple[QrelsLike, RunLike, RunLike] | None,
    per_unit: float,
    curves: Sequence[_Curve],
    horizon: int,
) -> pl.DataFrame:
    """The units that interleaving and A/B tests need, at the log's number of searches per unit."""
    if systems is None:
        return pl.DataFrame(schema=INTERLEAVING)
    from rankgate.online.interleaving.simulate_tests import sensitivity

    qrels, *runs = systems
    rows: list[tuple[object, ...]] = []
    for row in sensitivity(qrels, runs).tests.iter_rows(named=True):
        units = days = None
        if row["needed"] is not None:
            units = max(1, round(row["needed"] / per_unit))
            days_with_enough = (
                day
                for day in range(1, horizon + 1)
                if any(curve.value_at(day)[0] >= units for curve in curves)
            )
            days = next(days_with_enough, None)
        rows.append((row["test"], row["design"], row["needed"], units, days, row["times_fewer"]))
    return pl.DataFrame(rows, schema=INTERLEAVING, orient="row").sort(
        "searches", nulls_last=True, maintain_order=True
    )


def _find_doubts(days: int, unit: str) -> list[ExperimentFinding]:
    if days >= 2 * _WEEK:
        return []
    text = (
        f"only {count_noun(days, 'day has', 'days have')} a new {unit}; two weeks or more show returning "
        "users on all days of a week; with less, days beyond the log are guesses"
    )
    return [ExperimentFinding("short-log", "warn", text)]
