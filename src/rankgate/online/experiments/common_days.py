"""The days that arms have in common, and the shares of arms by day.

What users do changes with the days: weekends, seasons, news. An arm that began later, ended earlier
or had another share of the units on some days differs from the others although it changes nothing.
So arms are compared on the whole days that all of them have, and within days where shares changed.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import replace
from datetime import timedelta
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.present.number_formats import count_noun
from rankgate.measurement.stats.sequential_experiments import sequential_sample_ratio
from rankgate.online.experiments.experiment_result import ExperimentFinding

if TYPE_CHECKING:
    from datetime import date

    from numpy.typing import NDArray

    from rankgate.online.experiments.units import Units

_ABSENT = 7.0
"""Units that an arm would have on a day by its share; with none, it is absent: e⁻⁷ is .001."""

_LEAST_EXPECTED = 5.0  # units of each arm on a day, or on several days together
_CHANGED = 0.001
"""The p-value of constant shares below which arms are compared within days. If shares were constant
in truth, the comparison within days holds too."""


def compare_on_common_days(
    units: Units, planned: Mapping[str, float], *, phased: bool = False
) -> tuple[Units, tuple[ExperimentFinding, ...]]:
    """The units that began on whole days that all arms have, and what was left out.

    Days on which an arm is absent are left out, and the day on which an arm begins after the others
    or ends before them, as it may not be whole. Units whose first event is on such a day are left
    out, and so are values after the last day. If the others are not in the planned shares, and the
    units with values on the remaining days are, it is these that are compared: units had their arm
    before it was logged. Where shares of arms changed between days, units are compared by day.

    Args:
        units: the units with their arms.
        planned: the planned share, by arm.
        phased: True if shares were planned to change, which is then no finding.
    """
    names = [name for name in planned if units.counts.get(name, 0)]
    begun, active = _days_by_arm(units.arms.drop_nulls("day"), names), _activity(units, names)
    if len(names) < 2 or begun.height < 2:
        return units, ()
    findings: list[ExperimentFinding] = []
    is_absent = pl.Series(_is_absent(begun.select(names).to_numpy()).any(axis=1))
    last_days = _first_days(active.reverse(), names)
    left_out = {*begun["day"].filter(is_absent), *_first_days(begun, names), *last_days}
    if left_out:
        last_day: date = min(last_days) - timedelta(days=1) if last_days else max(active["day"])
        compared = _began_within(units, left_out, last_day)
        if not phased and not _as_planned(compared, planned):
            active_units = _active_within(units, left_out, last_day)
            compared = active_units if _as_planned(active_units, planned) else compared
        if not all(compared.counts.get(name, 0) for name in names):
            text = (
                "no whole day has units of all arms, and users change with the days: start the arms together"
            )
            return units, (ExperimentFinding("no-common-days", "block", text),)
        findings.append(_left_out_finding(units, compared, sorted(left_out)))
        units = compared
    begun = _days_by_arm(units.arms.drop_nulls("day"), names)
    counts = _merge_days(begun.select(names).to_numpy())
    if phased:
        return replace(units, by_day=True), tuple(findings)
    if _p_of_constant_shares(counts) < _CHANGED:
        findings.append(_changed_finding(begun, names))
        units = replace(units, by_day=True)
    return units, tuple(findings)


def _began_within(units: Units, left_out: Collection[date], last_day: date) -> Units:
    """The units whose first day is not left out, and their values until a day."""
    compared = units.on_arms(~pl.col("day").is_in(list(left_out))).until(last_day)
    ids = compared.arms.select("unit")
    rows = {name: table.join(ids, "unit", how="semi") for name, table in compared.rows.items()}
    return replace(compared, rows=rows)


def _active_within(units: Units, left_out: Collection[date], last_day: date) -> Units:
    """The units with values on the remaining days, which begin with the first of these.

    It is the comparison of units that had their arm before it was logged.
    """
    rows = {
        name: table.filter(~pl.col("day").is_in(list(left_out)), pl.col("day") <= last_day)
        for name, table in units.rows.items()
    }
    first_days = pl.concat([table.select("unit", "day") for table in rows.values()]).group_by("unit").min()
    arms = units.arms.drop("day").join(first_days, "unit", maintain_order="left")
    return replace(units, arms=arms.select(units.arms.columns), rows=rows)


def _as_planned(units: Units, planned: Mapping[str, float]) -> bool:
    """True if the shares of units are not unlike those planned."""
    ratio = sequential_sample_ratio([units.counts.get(name, 0) for name in planned], list(planned.values()))
    return ratio.p_value >= ratio.levels[0]


def _days_by_arm(arms: pl.DataFrame, names: Sequence[str]) -> pl.DataFrame:
    """``day`` and the number of units of each arm, one row for each day."""
    counts = [(pl.col("variant") == name).sum().cast(pl.Float64).alias(name) for name in names]
    return arms.group_by("day").agg(counts).sort("day")


def _activity(units: Units, names: Sequence[str]) -> pl.DataFrame:
    """The same of the units with events on a day, whenever they began."""
    if units.logged is None or units.logged.is_empty():
        return _days_by_arm(units.arms.drop_nulls("day"), names)
    by_day = units.logged.group_by("variant", "day").agg(pl.col("units").max())
    counts = [
        pl.col("units").filter(pl.col("variant") == name).sum().cast(pl.Float64).alias(name) for name in names
    ]
    return by_day.drop_nulls("day").group_by("day").agg(counts).sort("day")


def _is_absent(counts: NDArray[np.float64]) -> NDArray[np.bool_]:
    """(D, A) True on days where an arm has no units, and would have by its share on other days."""
    totals = counts.sum(axis=1, keepdims=True)
    present: NDArray[np.bool_] = counts > 0
    shares = counts.sum(axis=0) / np.maximum((totals * present).sum(axis=0), 1)
    return np.asarray(~present & (totals * shares / (1 - shares).clip(1e-9) >= _ABSENT))


def _first_days(begun: pl.DataFrame, names: Sequence[str]) -> list[date]:
    """The first days, in the order of the rows, of arms that begin after a day on which they are absent."""
    counts = begun.select(names).to_numpy()
    absent, firsts = _is_absent(counts), (counts > 0).argmax(axis=0)
    return [begun["day"][int(first)] for arm, first in enumerate(firsts) if absent[:first, arm].any()]


def _left_out_finding(units: Units, remaining: Units, days: Sequence[date]) -> ExperimentFinding:
    lost = len(units.arms) - len(remaining.arms)
    text = (
        f"the arms do not have the same days: {_span(days)} and {count_noun(lost, 'unit')} of these days are "
        f"left out, and the arms are compared from {remaining.days[0]} to {remaining.days[-1]}, as users "
        "change with the days"
    )
    return ExperimentFinding("uncommon-days", "warn", text)


def _span(days: Sequence[date]) -> str:
    if len(days) < 4:
        return ", ".join(map(str, days))
    return f"{days[0]}, {days[1]} … {days[-1]} ({len(days)} days)"


def _changed_finding(begun: pl.DataFrame, names: Sequence[str]) -> ExperimentFinding:
    """The finding about shares that changed, with the day that divides them best."""
    counts = begun.select(names).to_numpy()
    p_values = [
        _p_of_constant_shares(np.array([counts[:day].sum(axis=0), counts[day:].sum(axis=0)]))
        for day in range(1, len(counts))
    ]
    day = int(np.argmin(p_values)) + 1
    shares_before, shares_after = (
        period_counts.sum(axis=0) / period_counts.sum() for period_counts in (counts[:day], counts[day:])
    )
    shares = ", ".join(
        f"{name} {first:.0%} and {second:.0%}"
        for name, first, second in zip(names, shares_before, shares_after, strict=True)
    )
    text = (
        f"the shares of the arms changed: {shares} before and from {begun['day'][day]}; units are compared "
        "with those that began on the same day"
    )
    return ExperimentFinding("shares-changed", "warn", text)


def _merge_days(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    """(D', A) counts of days, neighbours added until each arm is expected to have some units."""
    smallest_share = counts.sum(axis=0).min() / max(counts.sum(), 1)
    merged = _merged_days(counts.sum(axis=1) * smallest_share)
    return np.stack([np.bincount(merged, arm) for arm in counts.T], axis=1)


def _merged_days(sizes: NDArray[np.float64]) -> NDArray[np.int64]:
    """(D,) the number of the period of each day; each period has the least size, or is the only one."""
    periods, size, period = np.zeros(len(sizes), np.int64), 0.0, 0
    for day, day_size in enumerate(sizes):
        periods[day] = period
        size += day_size
        if size >= _LEAST_EXPECTED:
            period, size = period + 1, 0.0
    if size and period:  # the rest belongs to the period before it
        periods[periods == period] = period - 1
    return periods


def _p_of_constant_shares(counts: NDArray[np.float64]) -> float:
    """The p-value of Pearson's chi-squared test of equal shares of arms on all days."""
    from rankgate.measurement.stats.special_functions import chdtrc

    counts = counts[counts.sum(axis=1) > 0]
    if len(counts) < 2:
        return 1.0
    expected = np.outer(counts.sum(axis=1), counts.sum(axis=0)) / counts.sum()
    statistic = ((counts - expected) ** 2 / expected).sum()
    return float(chdtrc((counts.shape[0] - 1) * (counts.shape[1] - 1), statistic))


def periods_of_days(days: pl.Series, is_treatment: NDArray[np.bool_]) -> NDArray[np.int64]:
    """(n,) the period of each unit: its first day, with neighbours of days that have few units.

    Args:
        days: the first days of units.
        is_treatment: (n,) True for units of the treatment.
    """
    _, day_number = np.unique(days.to_numpy(), return_inverse=True)
    arms = np.stack(
        [
            np.bincount(day_number[flags], minlength=day_number.max() + 1)
            for flags in (~is_treatment, is_treatment)
        ]
    )
    return _merged_days(arms.min(axis=0).astype(float))[day_number]
