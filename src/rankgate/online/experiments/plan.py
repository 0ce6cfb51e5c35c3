"""Plan an experiment from a log: the verb ``plan``."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import timedelta
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import polars as pl

from rankgate.core.declare import Count, Range
from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.measurement.stats.experiments.always_valid import half_width
from rankgate.measurement.stats.experiments.quantiles import quantile
from rankgate.measurement.stats.experiments.sizes import detectable
from rankgate.online.events.events import Events
from rankgate.online.experiments.design import Design, ExperimentTest
from rankgate.online.experiments.experiment_plan import (
    DETECTABLE,
    INTERLEAVING,
    KPIS,
    NEEDED,
    ExperimentPlan,
)
from rankgate.online.experiments.finding import ExperimentFinding
from rankgate.online.experiments.measure import Measure, of_kpi
from rankgate.online.experiments.moments import moments
from rankgate.online.experiments.unit_events import COLUMNS, from_events, kpi_tables
from rankgate.online.faults.diagnose import diagnosed
from rankgate.online.indicators.catalogue import KPIS as CATALOGUE
from rankgate.online.indicators.catalogue import has_events

if TYPE_CHECKING:
    from rankgate.data.inputs import QrelsLike, RunLike
    from rankgate.online.database import Database
    from rankgate.online.events.events import EventsLike, OpenEvents
    from rankgate.online.experiments.design import DesignLike
    from rankgate.online.experiments.units import Units

_SHORT = 7
_SHOWN = (1, 2, 3, 5, 7, 10, 14, 21, 28, 42, 56, 90)


def plan(
    events: EventsLike,
    kpis: Sequence[str] = (),
    *,
    design: DesignLike | None = None,
    test: ExperimentTest | None = None,
    shares: Sequence[float] = (0.01, 0.05, 0.25, 0.5),
    effect: Annotated[float, Range(0.0, 10.0, exclusive=True)] = 0.02,
    horizon: Count = 90,
    interleave: tuple[QrelsLike, RunLike, RunLike] | None = None,
) -> ExperimentPlan:
    """Plan an experiment from a log: what shows after how many days, for each KPI.

    Users come as they did in the log: how their number grows with the days is measured, and
    continued beyond it. CUPED is what each unit's value of the first half of the log explains of
    that of the second half.

    Args:
        events: what users did: a folder of events, a table of them, files of logs, or ``Events``.
        kpis: the KPIs, such as search_ctr; all by default.
        design: the experiment, of which the unit counts; or a TOML file with it.
        test: how its arms would be tested, of which level and power count; days with CUPED and
            with intervals for every look are shown beside those of one look.
        shares: shares of the traffic that the treatment would have.
        effect: the relative difference that should show.
        horizon: how many days are looked ahead.
        interleave: judgments and two runs: how many units interleaving needs to tell them from
            each other, and how many an A/B test of the same two, with simulated clicks.

    Raises:
        InputError: a log that cannot be read, or without times.
        UsageError: no such KPI or unit; a share that is not between 0 and 1.
        MissingExtraError: DuckDB or Ibis is not installed.
    """
    unit, test = Design.of(design).unit_of_events, test or ExperimentTest()
    if any(not 0 < each < 1 for each in shares):
        raise UsageError("a share of the traffic is between 0 and 1.", code="invalid-share")
    measures = [of_kpi(name) for name in (kpis or CATALOGUE)]
    events = Events.of(events)
    with events.open() as log:
        why = _unknown(log, measures, events)
        known = [each for each in measures if each.name not in why and _has(each, unit)]
        why |= {each.name: f"it has no value for each {unit}" for each in measures
                if each not in known and each.name not in why}  # fmt: skip
        whole, halves = _units(log.base, known, unit, events.success)
        per_unit = _searches(log.base, unit)
    goal = _Goal(1 - test.level, test.power, effect, horizon, tuple(shares))
    curves = {each.name: _curve(whole, each, halves) for each in known}
    days = whole.days
    table = [_kpi(each, curves.get(each.name), why) for each in measures]
    rows = [row for name, curve in curves.items() if curve for row in _needed(name, curve, goal)]
    needed = pl.DataFrame(rows, schema=NEEDED, orient="row").sort(
        "share", pl.col("days").fill_null(horizon + 1), "kpi", descending=[True, False, False]
    )
    shown = [row for name, curve in curves.items() if curve for row in _shown(name, curve, goal)]
    return ExperimentPlan(
        unit, str(days[0]), str(days[-1]), pl.DataFrame(table, schema=KPIS, orient="row"), needed,
        pl.DataFrame(shown, schema=DETECTABLE, orient="row"), horizon,
        {"level": test.level, "power": test.power, "effect": effect, "shares": list(shares)},
        tuple(_doubts(len(days))),
        _interleaving(interleave, per_unit, [each for each in curves.values() if each], horizon),
    )  # fmt: skip


@dataclass(frozen=True)
class _Goal:
    alpha: float
    power: float
    effect: float
    horizon: int
    shares: tuple[float, ...]


@dataclass(frozen=True)
class _Curve:
    """How units and their spread grow with the days.

    Attributes:
        value: of the KPI over the log.
        units: (D,) units with a value after each day.
        deviation: (D,) sd of a unit's contribution, relative to the value.
        explained: the share of the variance that earlier values explain; None where unknown.
    """

    value: float
    units: np.ndarray[Any, np.dtype[np.float64]]
    deviation: np.ndarray[Any, np.dtype[np.float64]]
    explained: float | None

    def at(self, day: int) -> tuple[float, float]:
        """Units and deviation after a day; beyond the log units grow by the power of its end."""
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


def _has(measure: Measure, unit: str) -> bool:
    """Whether the rows of a KPI have such a unit."""
    table = measure.kpi.table if measure.kpi else ""
    return unit != "query" or table in {"searches", "clicks", "events"}


def _unknown(log: OpenEvents, measures: Sequence[Measure], events: Events) -> dict[str, str]:
    found = diagnosed(log.base, log.manifest)
    kinds = log.kinds
    why = {}
    for each in measures:
        faults = found.blocking(each.kpi.made_of if each.kpi else ())
        codes = [fault.code for fault in faults if fault.code != "sample-ratio"]
        if codes and not events.despite:
            why[each.name] = f"a fault of the log forbids it: {', '.join(codes)}"
        elif each.kpi and not has_events(each.kpi, kinds, events.success):
            why[each.name] = "the log has no events for it"
    return why


def _units(
    base: Database, measures: Sequence[Measure], unit: str, success: Sequence[str]
) -> tuple[Units, Units | None]:
    """The units of the log; and those of its second half with their values of the first."""
    built = kpi_tables(base, measures, unit, success)
    whole = from_events(built, measures, unit, variants=False)
    days = whole.days
    if not days:
        raise InputError("no event has a time.", source="the log", code="no-times")
    if len(days) < 2:
        return whole, None
    middle = days[0] + timedelta(days=((days[-1] - days[0]).days + 1) // 2)
    halves = from_events(built, measures, unit, start=middle, covariates=True, variants=False)
    return whole, halves


def _curve(units: Units, measure: Measure, halves: Units | None) -> _Curve | None:
    counts, deviations, value = [], [], np.nan
    rows = units.rows[measure.name]
    if rows.is_empty():
        return None
    first = rows["day"].min()
    last = rows["day"].max()
    day = first
    while day <= last:  # type: ignore[operator]
        n, value, deviation = _spread(units.until(day), measure)  # type: ignore[arg-type]
        counts.append(n)
        deviations.append(deviation)
        day += timedelta(days=1)  # type: ignore[operator]
    explained = None if halves is None else _explained(halves, measure)
    if not np.isfinite(deviations[-1]) or not value or not deviations[-1] > 0:
        return None
    return _Curve(value, np.array(counts, float), np.array(deviations, float), explained)


def _spread(units: Units, measure: Measure) -> tuple[int, float, float]:
    """Units, value and relative deviation of a unit's contribution."""
    rows = units.of(measure)
    if measure.quantile is not None:
        place = rows["unit"].rank("dense").to_numpy().astype(np.int64)
        found = quantile(rows["value"].to_numpy(), measure.quantile, place)
        n, value, se = found.clusters, found.value, found.se
    else:
        sums = moments(rows)
        n, value, se = sums.n, sums.ratio, sums.se
    return n, value, float(se * np.sqrt(n) / abs(value)) if value else np.nan


def _explained(halves: Units, measure: Measure) -> float | None:
    """r² of linearised values, y − R n, of both halves of the log."""
    if measure.name not in halves.before or halves.before[measure.name].is_empty():
        return None
    sums = moments(halves.of(measure))
    if sums.n < 3 or "before" not in sums.mean:
        return None
    value, earlier = sums.gradients
    own, other = sums.covariance(value, value), sums.covariance(earlier, earlier)
    both = sums.covariance(value, earlier)
    return both**2 / (own * other) if own > 0 and other > 0 else None


def _kpi(measure: Measure, curve: _Curve | None, why: dict[str, str]) -> tuple[Any, ...]:
    if curve is None:
        words = why.get(measure.name, "the log has too few values, or all are the same")
        return measure.name, None, None, 0, None, words
    return (measure.name, curve.value, float(curve.deviation[-1]), int(curve.units[-1]),
            curve.explained, None)  # fmt: skip


def _needed(name: str, curve: _Curve, goal: _Goal) -> list[tuple[Any, ...]]:
    rows = []
    for share in goal.shares:
        days = {"plain": None, "cuped": None, "sequential": None}
        for day in range(1, goal.horizon + 1):
            units, deviation = curve.at(day)
            least = detectable(deviation, units, share, goal.alpha, goal.power)
            scale = {"plain": 1.0, "sequential": _wider(units, goal)}
            if curve.explained is not None:
                scale["cuped"] = (1 - curve.explained) ** 0.5
            for kind, factor in scale.items():
                if days[kind] is None and least * factor <= goal.effect:
                    days[kind] = day  # type: ignore[assignment]
        plain = days["plain"]
        count = None if plain is None else round(curve.at(plain)[0])
        rows.append((name, share, goal.effect, plain, days["cuped"], days["sequential"], count))
    return rows


def _wider(units: float, goal: _Goal) -> float:
    """How much larger the detectable difference is with an interval that holds at every look."""
    from scipy.special import ndtri

    if units < 2:
        return np.inf
    wide = float(half_width(1.0, units, goal.alpha, units)) + float(ndtri(goal.power))
    return wide / float(ndtri(1 - goal.alpha / 2) + ndtri(goal.power))


def _shown(name: str, curve: _Curve, goal: _Goal) -> list[tuple[Any, ...]]:
    rows = []
    for share in goal.shares:
        for day in (each for each in _SHOWN if each <= goal.horizon):
            units, deviation = curve.at(day)
            least = detectable(deviation, units, share, goal.alpha, goal.power)
            if np.isfinite(least):
                less = None if curve.explained is None else least * (1 - curve.explained) ** 0.5
                rows.append((name, share, day, round(units), least, less))
    return rows


def _searches(base: Database, unit: str) -> float:
    """Searches of a unit over the log."""
    count = f'count(DISTINCT "{COLUMNS[unit]}")'
    found = base.one(f"SELECT count(*) / nullif({count}, 0) FROM events WHERE kind = 'search'")
    return float(found or 1.0)


def _interleaving(
    systems: tuple[QrelsLike, RunLike, RunLike] | None,
    per_unit: float,
    curves: Sequence[_Curve],
    horizon: int,
) -> pl.DataFrame:
    """What interleaving and A/B tests of two systems need; units search as they did in the log."""
    if systems is None:
        return pl.DataFrame(schema=INTERLEAVING)
    from rankgate.online.interleaving.simulate_tests import sensitivity

    qrels, *runs = systems
    rows: list[tuple[Any, ...]] = []
    for row in sensitivity(qrels, runs).tests.iter_rows(named=True):
        units = days = None
        if row["needed"] is not None:
            units = max(1, round(row["needed"] / per_unit))
            came = (day for day in range(1, horizon + 1)
                    if any(each.at(day)[0] >= units for each in curves))  # fmt: skip
            days = next(came, None)
        rows.append((row["test"], row["design"], row["needed"], units, days, row["times_fewer"]))
    return pl.DataFrame(rows, schema=INTERLEAVING, orient="row").sort(
        "searches", nulls_last=True, maintain_order=True
    )


def _doubts(days: int) -> list[ExperimentFinding]:
    if days >= 2 * _SHORT:
        return []
    text = (
        f"the log has {days} days; two weeks or more show how users come back on all days of a "
        "week, without which days beyond the log are guesses"
    )
    return [ExperimentFinding("short-log", "warn", text)]
