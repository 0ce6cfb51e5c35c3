"""Compare the arms of an experiment: the verb ``ab``, and its checks before any figure."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import date, timedelta
from itertools import pairwise
from pathlib import Path
from shlex import quote
from typing import TYPE_CHECKING, cast

import numpy as np
import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.core.present.number_formats import count_noun
from rankgate.data.column_names import LOG_COLUMNS
from rankgate.data.logs.item_tables import read_frame
from rankgate.measurement.stats.sequential_experiments import (
    ANY_LOOK,
    SampleRatio,
    log_e_value,
    sample_ratio,
    sequential_sample_ratio,
)
from rankgate.online.events.events import Events
from rankgate.online.experiments.analyse_experiment import (
    ArmComparison,
    compare_with_itself,
    daily_table,
    find_doubts,
    metrics_table,
    segments_table,
)
from rankgate.online.experiments.common_days import compare_on_common_days
from rankgate.online.experiments.estimate_effects import ComparisonMethod
from rankgate.online.experiments.experiment_design import Design, ExperimentTest, read_units_from_table
from rankgate.online.experiments.experiment_result import (
    AGAINST_ITSELF,
    DAILY,
    METRICS,
    SEGMENTS,
    VARIANTS,
    Experiment,
    ExperimentFinding,
)
from rankgate.online.experiments.units import (
    Measure,
    make_kpi_tables,
    measure_from_column,
    measure_from_kpi,
    read_units_from_events,
    reasons_without_figures,
)
from rankgate.online.indicators.own_kpis import declare_kpis

if TYPE_CHECKING:
    from rankgate.online.events.events import EventsLike
    from rankgate.online.experiments.experiment_design import DesignLike, UnitsLike
    from rankgate.online.experiments.experiment_result import Severity

    Phases = Mapping[date, Mapping[str, float]]
    from rankgate.online.experiments.units import Units

_MIN_UNITS = 100
_GAP_DAYS, _LONG_GAP_DAYS = 2, 7
_SATURDAY, _SUNDAY = 5, 6  # of date.weekday()
_MIN_LOG_CHANGE = float(np.log(2))
_EXPECTED, _SURE = 30, 5.0


def sample_ratio_of_units(
    units: Units, planned: Mapping[str, float], phases: Phases | None = None
) -> SampleRatio:
    """The test of units per arm against planned shares; at any look where units have days.

    The e-values of phases are multiplied, as units of different days are independent.
    """
    if phases:
        evidence = sum(
            float(log_e_value([counts.get(name, 0) for name in shares], list(shares.values())))
            for counts, shares in _phase_counts(units, planned, phases)
        )
        return SampleRatio(math.exp(min(evidence, 700.0)), min(1.0, math.exp(-evidence)), ANY_LOOK)
    test = sequential_sample_ratio if units.days else sample_ratio
    return test([units.counts.get(name, 0) for name in planned], list(planned.values()))


def _phase_counts(
    units: Units, planned: Mapping[str, float], phases: Phases
) -> Iterable[tuple[dict[str, int], Mapping[str, float]]]:
    """The units of each phase by arm, and the planned shares; before the first phase those planned."""
    begins = [date.min, *phases, date.max]
    for (begin, end), shares in zip(pairwise(begins), [planned, *phases.values()], strict=True):
        counts = units.on_arms((pl.col("day") >= begin) & (pl.col("day") < end)).counts
        if counts:
            yield counts, shares


def check_experiment(
    units: Units, planned: Mapping[str, float], ratio: SampleRatio, tolerated: float = 0.0
) -> tuple[ExperimentFinding, ...]:
    """Every fault of the assignment and of the log.

    Args:
        units: the units with their arms.
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
            text = f"the arm {name} has {count_noun(count, 'unit')}; normal theory needs {_MIN_UNITS} or more"
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
        f"sample-ratio mismatch: {arm_counts}; p = {ratio.p_value:.2g}; find out which units are lost or "
        f"assigned twice{' before comparing arms' * blocks}"
    )
    yield ExperimentFinding("sample-ratio", "block" if blocks else "warn", text)


def _find_crossed_units(units: Units, tolerated: float) -> Iterable[ExperimentFinding]:
    if not units.crossed:
        return
    share = units.crossed / (units.crossed + len(units.arms))
    text = f"{count_noun(units.crossed, 'unit')} ({share:.2%}) were in several arms, such as "
    text += f"{', '.join(units.crossed_units)}, and are left out"
    blocks = share > tolerated
    if blocks:
        text += "; assign each unit once, or tolerate a share of them"
    yield ExperimentFinding("several-arms", "block" if blocks else "warn", text)


def _find_gaps(units: Units) -> Iterable[ExperimentFinding]:
    """Find gaps: days on which no unit, or no unit of one arm, had an event.

    Days on which no arm has events are a gap from two days on that closed days do not explain, or
    from a week on. It biases no arm unless units have another arm after it.
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
            severity: Severity = "block" if units.crossed else "warn"
            yield ExperimentFinding(
                "started-twice", severity, _gap_message("no arm", before, after, severity)
            )
    for name, arm_days in sorted(by_arm.items()):
        for before, after in pairwise(arm_days):
            missing_days = [day for day in days if before < day < after]
            if len(missing_days) >= _GAP_DAYS:
                text = _gap_message(f"the arm {name}", before, after, "block")
                yield ExperimentFinding("started-twice", "block", text, name)


def _days_between(before: date, after: date) -> list[date]:
    return [before + timedelta(days=n) for n in range(1, (after - before).days)]


def _closed_weekdays(days: list[date]) -> set[int]:
    """Saturday and Sunday, and weekdays that came twice or more and never had an event."""
    missing_weekdays = Counter(
        day.weekday() for before, after in pairwise(days) for day in _days_between(before, after)
    )
    open_weekdays = {day.weekday() for day in days}
    regular = {day for day, times in missing_weekdays.items() if times > 1 and day not in open_weekdays}
    return {_SATURDAY, _SUNDAY} | regular


def _gap_message(arm_name: str, before: date, after: date, severity: Severity) -> str:
    events = f"{arm_name} has {'any ' if arm_name == 'no arm' else 'no '}events between {before} and {after}"
    if severity == "warn":
        return f"{events}: a holiday or an outage of all arms biases none of them"
    return f"{events}: the experiment seems to have been started twice; give its first day with --start"


def _find_logging_changes(units: Units) -> Iterable[ExperimentFinding]:
    """Find arms that log a kind of event more or less often from a day on, unlike other arms."""
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
                    f"what the arm {name} logs changed on {change_day}: {column} a unit, against the other "
                    "arms; use only the days before or after it"
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
    """The day from which an arm logs twice or half as much as before, relative to other arms.

    With the counts c1 before and c2 from a day on, and E1, E2 those that the other arms' rates
    would give, the day is the one with the largest

        G² = 2 (c1 log(c1/E1) + c2 log(c2/E2) − (c1 + c2) log((c1 + c2)/(E1 + E2)));

    a fourth of G² is compared with chi-squared, as counts of users vary more than Poisson's.
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
        deviance = 2 * (_deviance_term(first, usual_count) + _deviance_term(second, expected) - total)
        if abs(change) > _MIN_LOG_CHANGE and deviance > best:
            best, change_day = deviance, days[index]
    return change_day


def _deviance_term(count: float, expected: float) -> float:
    return count * float(np.log(count / expected)) if count else 0.0


def _sum_days(series: Mapping[date, tuple[float, float]], days: list[date]) -> tuple[float, float]:
    daily_sums = [series.get(day, (0.0, 0.0)) for day in days]
    return sum(daily_sum[0] for daily_sum in daily_sums), sum(daily_sum[1] for daily_sum in daily_sums)


def ab(
    data: EventsLike | UnitsLike,
    metrics: Sequence[str] = (),
    *,
    design: DesignLike | None = None,
    test: ExperimentTest | None = None,
    guardrails: Mapping[str, float] | None = None,
    down: Sequence[str] = (),
    despite: bool = False,
) -> Experiment:
    """Compare the arms of an experiment on KPIs, after its sample ratio was checked.

    Args:
        data: the log: a folder of events, a table of them, files of logs, or ``Events``; with the
            ``variant`` of a design a table with a row for each unit.
        metrics: KPIs of the catalogue, such as search_ctr; of a table columns (spend), ratios of
            sums (spend/visits) and quantiles (p95(latency)).
        design: the experiment: unit, arms, control, days; or a TOML file with it.
        test: the test of the arms; by default at a level of 95 %, at one look.
        guardrails: metrics that may lose no more than a share, as in latency_p95=0.05.
        down: columns of a table that are better when lower.
        despite: also give figures that a fault of the experiment or of the log forbids.

    Raises:
        InputError: data that cannot be read; no such column; no event with an arm.
        UsageError: no metric, no such KPI or arm.
        MissingExtraError: DuckDB or Ibis is not installed.
    """
    names = list(dict.fromkeys([*metrics, *(guardrails or {})]))
    design, test = Design.of(design), test or ExperimentTest()
    if not names:
        error = UsageError("name a metric, such as -m search_ctr.", code="missing-metric")
        raise _table_of_units_error(data, (), design.variant) or error
    reasons: Mapping[str, str] = {}
    zone = ""
    if design.variant:
        measures = tuple(measure_from_column(name, tuple(down)) for name in names)
        units = read_units_from_table(cast("UnitsLike", data), measures, design)
    else:
        events = Events.of(data)
        declare_kpis(events)
        try:
            measures = tuple(measure_from_kpi(name) for name in names)
        except UsageError as error:
            raise _table_of_units_error(data, names) or error from None
        if despite:
            events = replace(events, despite=True)
        units, reasons, zone = _units_of_events(events, measures, design)
        despite = events.despite
    planned, control = planned_arms(units, design)
    phases = design.shares_by_day
    units, day_findings = compare_on_common_days(units, planned, phased=bool(phases))
    comparison = ArmComparison(
        control,
        tuple(name for name in planned if name != control),
        measures,
        ComparisonMethod(test.level, test.relative, test.looks, test.winsorise, test.bootstrap, test.seed),
        dict(guardrails or {}),
        test.correction,
        test.power,
        test.prior,
        test.halves,
        reasons,
    )
    settings = {
        "level": test.level,
        "power": test.power,
        "correction": test.correction,
        "relative": test.relative,
        "winsorise": test.winsorise,
        "sequential": test.sequential,
        "tuned_to": test.tuned_to,
        "bootstrap": test.bootstrap,
        "cuped": design.cuped or bool(design.covariates),
        "prior": test.prior,
        "seed": test.seed,
        "source": units.source,
        **({"time_zone": zone} if zone else {}),
        **({"phases": dict(design.phases or {})} if phases else {}),
    }
    unit = design.unit or ("row" if design.variant else "user")
    return analyse_experiment(
        units,
        planned,
        comparison,
        unit,
        settings,
        crossed=design.crossed,
        despite=despite,
        phases=phases,
        day_findings=day_findings,
    )


_MAX_ARMS = 5  # values of a column that could name the arms


def _table_of_units_error(data: object, names: Sequence[str], arms: str | None = None) -> InputError | None:
    """The error for a table with a row for each unit, whose metrics are columns; None for other data.

    Its lines name the columns that could hold the arms, words before numbers and those with the
    fewest values first. Without names of metrics they name all columns that could be metrics.
    """
    log = data.log if isinstance(data, Events) else data
    path = log[0] if isinstance(log, list | tuple) and len(log) == 1 else log
    if not isinstance(path, str | Path) or not Path(path).is_file():
        return None
    try:
        frame, _ = read_frame(path, "a table")
    except InputError:
        return None
    counts = {name: frame[name].drop_nulls().n_unique() for name in frame.columns}
    measured = [name for name in frame.columns if counts[name] > 1 and _has_numbers(frame[name])]
    used_columns = [value for name in names if (value := measure_from_column(name).value) in counts]
    arm_columns = (
        [arms]
        if arms
        else [
            name
            for name, count in counts.items()
            if 2 <= count <= min(_MAX_ARMS, len(frame) - 1)
            and not (name in used_columns or frame[name].dtype.is_float())
        ]
    )
    arm_columns.sort(key=lambda name: (name in measured, counts.get(name)))
    missing_text = "the column of the arms"
    if not names:
        ids = [name for name, count in counts.items() if count == len(frame)]
        if not ids or not LOG_COLUMNS.isdisjoint(map(str.lower, counts)):
            return None
        arm_columns = arm_columns[:1]
        used_columns = names = [name for name in measured if name not in {ids[0], *arm_columns}]
        missing_text = "the column of the arms and the metrics"
    if not used_columns:
        return None
    problem = f"it has a row for each unit, with {used_columns[0]} as a column; name {missing_text}"
    problem += " with one of:" if len(arm_columns) > 1 else ":"
    metrics = " ".join(f"-m {quote(name)}" for name in names)
    lines = tuple(
        f"rankgate online ab {quote(str(path))} --variant {quote(name)} {metrics}"
        for name in arm_columns or ["COLUMN"]
    )
    return InputError(problem, source=str(path), code="missing-variant", suggestions=lines)


def _has_numbers(column: pl.Series) -> bool:
    """True if all values are numbers, or true and false."""
    if column.dtype != pl.String:
        return column.dtype.is_numeric() or column.dtype == pl.Boolean
    texts = column.drop_nulls().replace({"True": "1", "False": "0", "true": "1", "false": "0"})
    return texts.cast(pl.Float64, strict=False).null_count() == 0


def _units_of_events(
    events: Events, measures: Sequence[Measure], design: Design
) -> tuple[Units, dict[str, str], str]:
    """The units, the reasons for measures without figures, and the time zone."""
    unit = design.unit_of_events
    with events.open() as log:
        reasons = reasons_without_figures(log, measures, events)
        units = read_units_from_events(
            make_kpi_tables(log.base, measures, unit, events.success),
            measures,
            unit,
            start=design.first_day,
            end=design.last_day,
            covariates=design.cuped,
            segments=design.segments,
        )
        return units, reasons, log.base.time_zone


def planned_arms(units: Units, design: Design) -> tuple[dict[str, float], str]:
    """The planned share of each arm, and the control.

    Raises:
        UsageError: no such arm; an arm that is not planned; only one arm.
    """
    control = design.control
    arms = sorted(units.counts)
    planned = dict(design.split) if design.split else dict.fromkeys(arms, 1.0)
    unplanned_arms = [name for name in arms if name not in planned]
    if unplanned_arms:
        problem = f"the data have arms that are not planned: {', '.join(unplanned_arms)}."
        raise UsageError(problem, code="unplanned-arm")
    if len(planned) < 2:
        problem = f"an experiment has two arms or more; there is {', '.join(arms) or 'no unit'}."
        raise UsageError(problem, code="one-arm")
    if control and control not in planned:
        problem = f"there is no arm {control!r}; there are {', '.join(planned)}."
        raise UsageError(problem, code="unknown-arm")
    total = sum(planned.values())
    return {name: share / total for name, share in planned.items()}, control or next(iter(planned))


def _mean_shares(units: Units, planned: Mapping[str, float], phases: Phases) -> dict[str, float]:
    """The planned share of each arm, over the units of all phases."""
    expected = dict.fromkeys(planned, 0.0)
    for counts, shares in _phase_counts(units, planned, phases):
        total = sum(counts.values()) / sum(shares.values())
        for name, share in shares.items():
            expected[name] = expected.get(name, 0.0) + share * total
    total = sum(expected.values())
    return {name: count / total for name, count in expected.items()} if total else dict(planned)


def analyse_experiment(
    units: Units,
    planned: Mapping[str, float],
    comparison: ArmComparison,
    unit: str,
    settings: Mapping[str, object],
    *,
    crossed: float = 0.0,
    despite: bool = False,
    phases: Phases | None = None,
    day_findings: Sequence[ExperimentFinding] = (),
) -> Experiment:
    """Check an experiment, then compute its figures; no figures if a check blocks.

    Args:
        units: the users with their arms and values, as `compare_on_common_days` returns them.
        planned: the planned share, by arm.
        comparison: the measures to compare, and the method.
        unit: the unit that was assigned.
        settings: the settings of the result.
        crossed: the tolerated share of units in several arms.
        despite: also compute figures if a check blocks.
        phases: planned shares by their first day, if they are not the same on all days.
        day_findings: the findings of `compare_on_common_days`.
    """
    ratio = sample_ratio_of_units(units, planned, phases)
    if phases:
        planned = _mean_shares(units, planned, phases)
    findings = [*check_experiment(units, planned, ratio, crossed), *day_findings]
    blocked = any(finding.severity == "block" for finding in findings) and not despite
    usable = not blocked and all(units.counts.get(name, 0) for name in planned)
    if usable:
        findings += find_doubts(units, comparison)
    total = sum(units.counts.values())
    variants = [
        (name, share, units.counts.get(name, 0) / total if total else 0.0, units.counts.get(name, 0))
        for name, share in planned.items()
    ]
    days = sorted({*units.days, *units.days_of_values})
    return Experiment(
        unit,
        comparison.control,
        pl.DataFrame(variants, schema=VARIANTS, orient="row"),
        (str(days[0]), str(days[-1])) if days else ("", ""),
        {"statistic": ratio.statistic, "p_value": ratio.p_value, "method": ratio.method},
        tuple(findings),
        metrics_table(units, comparison) if usable else pl.DataFrame(schema=METRICS),
        daily_table(units, comparison) if usable else pl.DataFrame(schema=DAILY),
        segments_table(units, comparison) if usable else pl.DataFrame(schema=SEGMENTS),
        compare_with_itself(units, comparison, comparison.method.seed)
        if usable
        else pl.DataFrame(schema=AGAINST_ITSELF),
        dict(settings),
    )
