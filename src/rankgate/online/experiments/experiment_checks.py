"""Checks of an experiment before any figure of it is computed."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import date, timedelta
from itertools import pairwise
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.measurement.stats.sequential_experiments import (
    SampleRatio,
    sample_ratio,
    sequential_sample_ratio,
)
from rankgate.online.experiments.experiment_result import ExperimentFinding

if TYPE_CHECKING:
    from rankgate.online.experiments.units import Units


_MIN_UNITS = 100
_GAP_DAYS, _LONG_GAP_DAYS = 2, 7
_SATURDAY, _SUNDAY = 5, 6  # of date.weekday()
_MIN_LOG_CHANGE = float(np.log(2))
_EXPECTED, _SURE = 30, 5.0


def sample_ratio_of_units(units: Units, planned: Mapping[str, float]) -> SampleRatio:
    """The test of units per arm against planned shares; at any look where units have days."""
    test = sequential_sample_ratio if units.days else sample_ratio
    return test([units.counts.get(name, 0) for name in planned], list(planned.values()))


def check_experiment(
    units: Units, planned: Mapping[str, float], ratio: SampleRatio, tolerated: float = 0.0
) -> tuple[ExperimentFinding, ...]:
    """Every fault of the assignment and of the log.

    Args:
        units: who was in which arm.
        planned: the planned share, by arm.
        ratio: the test of the shares.
        tolerated: the share of units in several arms up to which they are only left out.
    """
    findings = [
        *_find_small_arms(units, planned),
        *_find_ratio_mismatch(units, planned, ratio),
        *_find_crossed_units(units, tolerated),
        *_find_gaps(units),
        *_find_logging_changes(units),
    ]
    return tuple(sorted(findings, key=lambda finding: finding.severity != "block"))


def _find_small_arms(units: Units, planned: Mapping[str, float]) -> Iterable[ExperimentFinding]:
    for name in planned:
        count = units.counts.get(name, 0)
        if count == 0:
            text = f"the arm {name} has no units; start it, or remove it from the plan"
            yield ExperimentFinding("empty-arm", "block", text, name)
        elif count < _MIN_UNITS:
            text = f"the arm {name} has {count} units; normal theory needs {_MIN_UNITS} or more"
            yield ExperimentFinding("few-units", "warn", text, name)


def _find_ratio_mismatch(
    units: Units, planned: Mapping[str, float], ratio: SampleRatio
) -> Iterable[ExperimentFinding]:
    blocks_below, warns_below = ratio.levels
    if ratio.p_value >= warns_below:
        return
    total = sum(planned.values())
    arm_counts = ", ".join(
        f"{name} {units.counts.get(name, 0):,} ({share / total:.0%} planned)"
        for name, share in planned.items()
    )
    blocks = ratio.p_value < blocks_below
    text = (
        f"sample-ratio mismatch: {arm_counts}; p = {ratio.p_value:.2g}; find out which units are "
        f"lost or assigned twice{' before comparing arms' * blocks}"
    )
    yield ExperimentFinding("sample-ratio", "block" if blocks else "warn", text)


def _find_crossed_units(units: Units, tolerated: float) -> Iterable[ExperimentFinding]:
    if not units.crossed:
        return
    share = units.crossed / (units.crossed + len(units.arms))
    text = f"{units.crossed:,} units ({share:.2%}) were in several arms, and are left out"
    blocks = share > tolerated
    if blocks:
        text += "; assign each unit once, or tolerate a share of them"
    yield ExperimentFinding("several-arms", "block" if blocks else "warn", text)


def _find_gaps(units: Units) -> Iterable[ExperimentFinding]:
    """Gaps: days on which no unit, or no unit of one arm, had any event.

    Days on which no arm has events are a restart from two days on that closed days do not explain,
    or from a week on.
    """
    if units.logged is None or units.logged.is_empty():
        return
    by_arm = {
        str(name): sorted(rows["day"].unique().to_list())
        for (name,), rows in units.logged.group_by("variant")
    }
    days = sorted({day for arm_days in by_arm.values() for day in arm_days})
    closed = _closed_weekdays(days)
    for before, after in pairwise(days):
        missing_days = _days_between(before, after)
        open_days = [day for day in missing_days if day.weekday() not in closed]
        if len(open_days) >= _GAP_DAYS or len(missing_days) >= _LONG_GAP_DAYS:
            yield ExperimentFinding("started-twice", "block", _gap_message("no arm", before, after))
    for name, arm_days in sorted(by_arm.items()):
        for before, after in pairwise(arm_days):
            missing_days = [day for day in days if before < day < after]
            if len(missing_days) >= _GAP_DAYS:
                yield ExperimentFinding(
                    "started-twice", "block", _gap_message(f"the arm {name}", before, after), name
                )


def _days_between(before: date, after: date) -> list[date]:
    return [before + timedelta(days=n) for n in range(1, (after - before).days)]


def _closed_weekdays(days: list[date]) -> set[int]:
    """Saturday and Sunday, and weekdays that came twice or more and never had an event."""
    missing_weekdays = Counter(
        day.weekday() for before, after in pairwise(days) for day in _days_between(before, after)
    )
    open_weekdays = {day.weekday() for day in days}
    regular = {
        day for day, times in missing_weekdays.items() if times > 1 and day not in open_weekdays
    }
    return {_SATURDAY, _SUNDAY} | regular


def _gap_message(arm_name: str, before: date, after: date) -> str:
    subject = f"{arm_name} has" if arm_name != "no arm" else "no arm has"
    return (
        f"{subject} {'any ' if arm_name == 'no arm' else 'no '}events between {before} and "
        f"{after}: the experiment seems to have been started twice; give its first day with --start"
    )


def _find_logging_changes(units: Units) -> Iterable[ExperimentFinding]:
    """Arms that log something less, or more, from a day on, which the other arms do not."""
    if units.logged is None or units.logged.is_empty():
        return
    for (column,), rows in units.logged.group_by("what", maintain_order=True):
        for name in rows["variant"].unique().sort():
            is_arm = pl.col("variant") == name
            change_day = _find_change_day(
                _counts_by_day(rows.filter(is_arm)),
                _counts_by_day(rows.filter(~is_arm)),
                sorted(rows["day"].unique()),
            )
            if change_day is not None:
                text = (
                    f"what the arm {name} logs changed on {change_day}: {column} a unit, against "
                    "the other "
                    "arms; take the days before or after it alone"
                )
                yield ExperimentFinding("logging-changed", "block", text, str(name))
                break


def _counts_by_day(rows: pl.DataFrame) -> dict[date, tuple[float, float]]:
    grouped = rows.group_by("day").agg(pl.col("count").sum(), pl.col("units").sum())
    return {day: (count, units) for day, count, units in grouped.iter_rows()}


def _find_change_day(
    arm_series: Mapping[date, tuple[float, float]],
    other_series: Mapping[date, tuple[float, float]],
    days: list[date],
) -> date | None:
    """The day from which an arm logs twice, or half, what it did, against the other arms.

    With the counts c1 before and c2 from a day on, and E1, E2 those that the other arms' rates
    would give, the day is the one with the largest

        G² = 2 (c1 log(c1/E1) + c2 log(c2/E2) − (c1 + c2) log((c1 + c2)/(E1 + E2)));

    a fourth of it is compared with chi-squared, as counts of users vary more than Poisson's.
    """
    best, change_day = 4 * _SURE**2, None
    for index in range(1, len(days)):
        parts = []
        for period in (days[:index], days[index:]):
            (count, units), (other_count, other_units) = (
                _sum_days(arm_series, period),
                _sum_days(other_series, period),
            )
            parts.append((count, units * other_count / other_units if other_units else 0.0))
        (first, usual_count), (second, expected) = parts
        if min(usual_count, expected) < _EXPECTED:
            continue
        change = np.log((second + 0.5) / expected) - np.log((first + 0.5) / usual_count)
        total = _deviance_term(first + second, usual_count + expected)
        deviance = 2 * (
            _deviance_term(first, usual_count) + _deviance_term(second, expected) - total
        )
        if abs(change) > _MIN_LOG_CHANGE and deviance > best:
            best, change_day = deviance, days[index]
    return change_day


def _deviance_term(count: float, expected: float) -> float:
    return count * float(np.log(count / expected)) if count else 0.0


def _sum_days(series: Mapping[date, tuple[float, float]], days: list[date]) -> tuple[float, float]:
    daily_sums = [series.get(day, (0.0, 0.0)) for day in days]
    return sum(daily_sum[0] for daily_sum in daily_sums), sum(
        daily_sum[1] for daily_sum in daily_sums
    )
