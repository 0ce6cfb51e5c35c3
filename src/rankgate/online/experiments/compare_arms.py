"""Compare the arms of an experiment: the verb ``ab``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import polars as pl

from rankgate.core.errors import UsageError
from rankgate.online.events.events import Events
from rankgate.online.experiments.analyse_experiment import (
    ArmComparison,
    compare_with_itself,
    daily_table,
    find_doubts,
    metrics_table,
    segments_table,
)
from rankgate.online.experiments.estimate_effects import ComparisonMethod
from rankgate.online.experiments.experiment_checks import check_experiment, sample_ratio_of_units
from rankgate.online.experiments.experiment_design import (
    Design,
    ExperimentTest,
    read_units_from_table,
)
from rankgate.online.experiments.experiment_result import (
    AGAINST_ITSELF,
    DAILY,
    METRICS,
    SEGMENTS,
    VARIANTS,
    Experiment,
)
from rankgate.online.experiments.units import (
    Measure,
    make_kpi_tables,
    measure_from_column,
    measure_from_kpi,
    read_units_from_events,
    reasons_without_figures,
)

if TYPE_CHECKING:
    from rankgate.online.events.events import EventsLike
    from rankgate.online.experiments.experiment_design import DesignLike, UnitsLike
    from rankgate.online.experiments.experiment_result import ExperimentFinding
    from rankgate.online.experiments.units import Units


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
        despite: give figures that a fault of the experiment or of the log forbids, too.

    Raises:
        InputError: data that cannot be read; no such column; no event with an arm.
        UsageError: no metric, no such KPI or arm.
        MissingExtraError: DuckDB or Ibis is not installed.
    """
    names = list(dict.fromkeys([*metrics, *(guardrails or {})]))
    if not names:
        raise UsageError("name a metric, such as -m search_ctr.", code="missing-metric")
    design, test = Design.of(design), test or ExperimentTest()
    reasons: Mapping[str, str] = {}
    zone = ""
    if design.variant:
        measures = tuple(measure_from_column(name, tuple(down)) for name in names)
        units = read_units_from_table(cast("UnitsLike", data), measures, design)
    else:
        measures = tuple(measure_from_kpi(name) for name in names)
        events = Events.of(data)
        if despite:
            events = replace(events, despite=True)
        units, reasons, zone = _units_of_events(events, measures, design)
        despite = events.despite
    planned, control = planned_arms(units, design)
    comparison = ArmComparison(
        control,
        tuple(name for name in planned if name != control),
        measures,
        ComparisonMethod(
            test.level, test.relative, test.looks, test.winsorise, test.bootstrap, test.seed
        ),
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
    }
    unit = design.unit or ("row" if design.variant else "user")
    return analyse_experiment(
        units, planned, comparison, unit, settings, crossed=design.crossed, despite=despite
    )


def _units_of_events(
    events: Events, measures: Sequence[Measure], design: Design
) -> tuple[Units, dict[str, str], str]:
    """The units; the reasons why measures have no figures; the time zone."""
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
        UsageError: no such arm, an arm that is not planned, only one.
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


def analyse_experiment(
    units: Units,
    planned: Mapping[str, float],
    comparison: ArmComparison,
    unit: str,
    settings: Mapping[str, object],
    *,
    crossed: float = 0.0,
    despite: bool = False,
) -> Experiment:
    """Check an experiment, then compute its figures; none where a check blocks.

    Args:
        units: who was in which arm and did what.
        planned: the planned share, by arm.
        comparison: the measures to compare, and the method.
        unit: the unit that was assigned.
        settings: the settings of the result.
        crossed: the tolerated share of units in several arms.
        despite: compute figures where a check blocks, too.
    """
    ratio = sample_ratio_of_units(units, planned)
    findings: list[ExperimentFinding] = list(check_experiment(units, planned, ratio, crossed))
    blocked = any(finding.severity == "block" for finding in findings) and not despite
    usable = not blocked and all(units.counts.get(name, 0) for name in planned)
    if usable:
        findings += find_doubts(units, comparison)
    total = sum(units.counts.values())
    variants = [
        (
            name,
            share,
            units.counts.get(name, 0) / total if total else 0.0,
            units.counts.get(name, 0),
        )
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
