"""Compare the arms of an experiment: the verb ``ab``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, cast

import polars as pl

from rankgate.core.errors import UsageError
from rankgate.online.events.events import Events
from rankgate.online.experiments.analysis import (
    ArmComparison,
    against_itself,
    daily_of,
    doubts,
    metrics_of,
    segments_of,
)
from rankgate.online.experiments.checks import checked, ratio_of
from rankgate.online.experiments.design import Design, ExperimentTest
from rankgate.online.experiments.estimate import Method
from rankgate.online.experiments.experiment import (
    AGAINST_ITSELF,
    DAILY,
    METRICS,
    SEGMENTS,
    VARIANTS,
    Experiment,
)
from rankgate.online.experiments.measure import Measure, of_column, of_kpi
from rankgate.online.experiments.unit_events import from_events, kpi_tables
from rankgate.online.experiments.unit_table import from_table
from rankgate.online.faults.diagnose import diagnosed
from rankgate.online.indicators.catalogue import has_events

if TYPE_CHECKING:
    from rankgate.online.events.events import EventsLike
    from rankgate.online.experiments.design import DesignLike
    from rankgate.online.experiments.finding import ExperimentFinding
    from rankgate.online.experiments.unit_table import UnitsLike
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
        data: what users did: a folder of events, a table of them, files of logs, or ``Events``;
            with the ``variant`` of a design a table with a row for each unit.
        metrics: KPIs of the catalogue, such as search_ctr; of a table columns (spend), ratios of
            sums (spend/visits) and quantiles (p95(latency)).
        design: the experiment: unit, arms, control, days; or a TOML file with it.
        test: how the arms are tested; by default at a level of 95 %, at one look.
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
    why: Mapping[str, str] = {}
    zone = ""
    if design.variant:
        measures = tuple(of_column(name, tuple(down)) for name in names)
        units = from_table(cast("UnitsLike", data), measures, design)
    else:
        measures = tuple(of_kpi(name) for name in names)
        events = Events.of(data)
        if despite:
            events = replace(events, despite=True)
        units, why, zone = _units_of_events(events, measures, design)
        despite = events.despite
    planned, control = arms_of(units, design)
    comparison = ArmComparison(
        control, tuple(name for name in planned if name != control), measures,
        Method(test.level, test.relative, test.looks, test.winsorise, test.bootstrap, test.seed),
        dict(guardrails or {}), test.correction, test.power, test.prior, test.halves, why,
    )  # fmt: skip
    settings = {
        "level": test.level, "power": test.power, "correction": test.correction,
        "relative": test.relative, "winsorise": test.winsorise, "sequential": test.sequential,
        "tuned_to": test.tuned_to, "bootstrap": test.bootstrap,
        "cuped": design.cuped or bool(design.covariates), "prior": test.prior, "seed": test.seed,
        "source": units.source, **({"time_zone": zone} if zone else {}),
    }  # fmt: skip
    unit = design.unit or ("row" if design.variant else "user")
    return analysed(units, planned, comparison, unit, settings,
                    crossed=design.crossed, despite=despite)  # fmt: skip


def _units_of_events(
    events: Events, measures: Sequence[Measure], design: Design
) -> tuple[Units, dict[str, str], str]:
    """The units; by measure the faults of the log that forbid it; the time zone."""
    unit = design.unit_of_events
    with events.open() as log:
        diagnosis = diagnosed(log.base, log.manifest)
        kinds = log.kinds
        why = {}
        for measure in measures:
            faults = diagnosis.blocking(measure.kpi.made_of if measure.kpi else ())
            codes = [fault.code for fault in faults if fault.code != "sample-ratio"]
            if codes and not events.despite:
                why[measure.name] = f"a fault of the log forbids it: {', '.join(codes)}"
            if measure.kpi and not has_events(measure.kpi, kinds, events.success):
                why[measure.name] = "the log has no events for it"
        units = from_events(
            kpi_tables(log.base, measures, unit, events.success), measures, unit,
            start=design.first_day, end=design.last_day, covariates=design.cuped,
            segments=design.segments,
        )  # fmt: skip
        return units, why, log.base.time_zone


def arms_of(units: Units, design: Design) -> tuple[dict[str, float], str]:
    """The planned share of each arm, and the control.

    Raises:
        UsageError: no such arm, an arm that is not planned, only one.
    """
    control = design.control
    found = sorted(units.counts)
    planned = dict(design.split) if design.split else dict.fromkeys(found, 1.0)
    extra = [name for name in found if name not in planned]
    if extra:
        problem = f"the data have arms that are not planned: {', '.join(extra)}."
        raise UsageError(problem, code="unplanned-arm")
    if len(planned) < 2:
        problem = f"an experiment has two arms or more; there is {', '.join(found) or 'no unit'}."
        raise UsageError(problem, code="one-arm")
    if control and control not in planned:
        problem = f"there is no arm {control!r}; there are {', '.join(planned)}."
        raise UsageError(problem, code="unknown-arm")
    total = sum(planned.values())
    return {name: share / total for name, share in planned.items()}, control or next(iter(planned))


def analysed(
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
        planned: by arm the planned share.
        comparison: what is compared, and how.
        unit: what was assigned.
        settings: what the result says about how it was computed.
        crossed: the tolerated share of units in several arms.
        despite: compute figures where a check blocks, too.
    """
    ratio = ratio_of(units, planned)
    findings: list[ExperimentFinding] = list(checked(units, planned, ratio, crossed))
    blocked = any(each.severity == "block" for each in findings) and not despite
    usable = not blocked and all(units.counts.get(name, 0) for name in planned)
    if usable:
        findings += doubts(units, comparison)
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
    days = units.days
    return Experiment(
        unit, comparison.control, pl.DataFrame(variants, schema=VARIANTS, orient="row"),
        (str(days[0]), str(days[-1])) if days else ("", ""),
        {"statistic": ratio.statistic, "p_value": ratio.p_value, "method": ratio.method},
        tuple(findings),
        metrics_of(units, comparison) if usable else pl.DataFrame(schema=METRICS),
        daily_of(units, comparison) if usable else pl.DataFrame(schema=DAILY),
        segments_of(units, comparison) if usable else pl.DataFrame(schema=SEGMENTS),
        against_itself(units, comparison, comparison.method.seed)
        if usable else pl.DataFrame(schema=AGAINST_ITSELF),
        dict(settings),
    )  # fmt: skip
