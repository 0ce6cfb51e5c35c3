"""Compare the arms of an experiment: the verb ``ab``."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import polars as pl

from rankgate.core.declare import Count, Range, Share
from rankgate.core.errors import UsageError
from rankgate.measurement.stats.corrections import Correction
from rankgate.online.database import MEMORY, database
from rankgate.online.events.opened import open_events
from rankgate.online.experiments.analysis import (
    TUNED_TO,
    Design,
    against_itself,
    daily_of,
    doubts,
    metrics_of,
    segments_of,
)
from rankgate.online.experiments.checks import checked, ratio_of
from rankgate.online.experiments.effect import Relative
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
from rankgate.online.experiments.unit_events import COLUMNS, from_events, kpi_tables
from rankgate.online.experiments.unit_table import from_table
from rankgate.online.faults.diagnose import diagnosed
from rankgate.online.indicators.catalogue import has_events
from rankgate.online.indicators.compute import exclude

if TYPE_CHECKING:
    from rankgate.online.events.mapping import LogMapping
    from rankgate.online.events.opened import EventsLike
    from rankgate.online.experiments.finding import ExperimentFinding
    from rankgate.online.experiments.unit_table import UnitsLike
    from rankgate.online.experiments.units import Units


def ab(
    data: EventsLike | UnitsLike,
    metrics: Sequence[str] = (),
    *,
    variant: str = "",
    unit: str = "",
    control: str = "",
    split: Mapping[str, float] | None = None,
    day: str = "",
    start: str = "",
    end: str = "",
    guardrails: Mapping[str, float] | None = None,
    down: Sequence[str] = (),
    cuped: bool = False,
    covariates: Mapping[str, str] | None = None,
    segments: Sequence[str] = (),
    winsorise: Annotated[float | None, Range(0.5, 1.0, exclusive=True)] = None,
    sequential: bool = False,
    tuned_to: Count = TUNED_TO,
    bootstrap: Annotated[int, Range(0)] = 0,
    relative: Relative = "fieller",
    level: Annotated[float, Range(0.5, 0.9999)] = 0.95,
    power: Share = 0.8,
    correction: Correction = "holm",
    prior: Annotated[float, Range(0.0, exclusive=True)] = 0.1,
    halves: Annotated[int, Range(0)] = 0,
    crossed: Annotated[float, Range(0.0, 1.0)] = 0.0,
    mapping: str | Path | LogMapping | None = None,
    without_bots: bool = False,
    success: Sequence[str] = (),
    despite: bool = False,
    seed: Annotated[int, Range(0)] = 0,
    memory: str = MEMORY,
) -> Experiment:
    """Compare the arms of an experiment on KPIs, after its sample ratio was checked.

    Args:
        data: events, as of ``kpi``; or, with ``variant``, a table with a row for each unit.
        metrics: KPIs of the catalogue, such as search_ctr; of a table columns (spend), ratios of
            sums (spend/visits) and quantiles (p95(latency)).
        variant: the column of arms of a table.
        unit: what was assigned to arms: user, session or query, user by default; of a table the
            column of units, without it each row is one.
        control: the arm that others are compared with; by default the first by name.
        split: the planned share of each arm, as in old=0.9; equal shares by default.
        day: the column of days of a table.
        start: the first day of the experiment, as in 2026-03-01; by default the first with an arm.
        end: its last day.
        guardrails: metrics that may lose no more than a share, as in latency_p95=0.05.
        down: columns of a table that are better when lower.
        cuped: adjust for each unit's own value from before ``start``.
        covariates: of a table the column that adjusts a metric, as in spend=history, or both of a
            ratio, as in spend/visits=spent/visited; they must be known before the experiment.
        segments: columns of a table that divide units; of events: application.
        winsorise: the quantile at which large values of units are cut off, as in 0.999.
        sequential: give intervals and p-values that hold at every look.
        tuned_to: the units at which these intervals are narrowest.
        bootstrap: resamples of units for standard errors by the bootstrap; 0: no bootstrap.
        relative: how intervals of relative differences are made: fieller, by the test of p; log,
            as tea-tasting does; delta, as GrowthBook does. Guardrails take fieller.
        level: of intervals.
        power: of detectable differences.
        correction: of p-values of all metrics that are no guardrails.
        prior: the standard deviation of relative effects before the data, for the Bayesian view.
        halves: how often random halves of the control are compared with each other.
        crossed: the share of units in several arms that is tolerated; they are left out.
        mapping: a TOML file that says which column of a log holds what.
        without_bots: leave out sessions with more than 50 searches, or 1,000 events and more.
        success: the actions that mean that a session reached its goal.
        despite: give figures that a fault forbids, too.
        seed: of random halves and resamples.
        memory: how much DuckDB may use before it uses the disk.

    Raises:
        InputError: data that cannot be read; no such column; no event with an arm.
        UsageError: no metric, no such KPI or arm; options that do not fit together.
        MissingExtraError: DuckDB or Ibis is not installed.
    """
    names = list(dict.fromkeys([*metrics, *(guardrails or {})]))
    if not names:
        raise UsageError("name a metric, such as -m search_ctr.", code="missing-metric")
    period = (_day(start, "start"), _day(end, "end"))
    if cuped and variant:
        raise UsageError("CUPED of a table needs its column; say --covariate METRIC=COLUMN.",
                         code="conflicting-options")  # fmt: skip
    why: Mapping[str, str] = {}
    zone = ""
    if variant:
        measures = tuple(of_column(name, tuple(down)) for name in names)
        units = from_table(
            cast("UnitsLike", data), measures, variant, unit, day=day, covariates=covariates,
            segments=segments,
        )  # fmt: skip
    else:
        measures = tuple(of_kpi(name) for name in names)
        read = _Reading(unit or "user", period, mapping, cuped, tuple(segments), tuple(success))
        units, why = read.units(data, measures, memory, bots=without_bots, despite=despite)
        zone = read.time_zone
    planned, control = arms_of(units, split, control)
    design = Design(
        control, tuple(name for name in planned if name != control), measures,
        Method(level, relative, tuned_to if sequential else None, winsorise, bootstrap, seed),
        dict(guardrails or {}), correction, power, prior, halves, why,
    )  # fmt: skip
    settings = {
        "level": level, "power": power, "correction": correction, "relative": relative,
        "winsorise": winsorise, "sequential": sequential, "tuned_to": tuned_to,
        "bootstrap": bootstrap, "cuped": cuped or bool(covariates), "prior": prior, "seed": seed,
        "source": units.source, **({"time_zone": zone} if zone else {}),
    }  # fmt: skip
    return analysed(units, planned, design, unit or ("row" if variant else "user"), settings,
                    crossed=crossed, despite=despite)  # fmt: skip


class _Reading:
    """How units are read from events."""

    def __init__(
        self,
        unit: str,
        period: tuple[date | None, date | None],
        mapping: str | Path | LogMapping | None,
        cuped: bool,  # noqa: FBT001 - as it was given
        segments: tuple[str, ...],
        success: tuple[str, ...],
    ) -> None:
        if unit not in COLUMNS:
            problem = f"no event has a unit {unit!r}; there are {', '.join(COLUMNS)}."
            raise UsageError(problem, code="unknown-unit")
        self.unit, self.period, self.mapping = unit, period, mapping
        self.cuped, self.segments, self.success = cuped, segments, success
        self.time_zone = ""

    def units(
        self,
        data: EventsLike,
        measures: Sequence[Measure],
        memory: str,
        *,
        bots: bool,
        despite: bool,
    ) -> tuple[Units, dict[str, str]]:
        """The units, and by measure the faults of the log that forbid it."""
        with database(memory) as base:
            manifest = open_events(base, data, self.mapping)
            self.time_zone = base.time_zone
            if bots:
                exclude(base, bots=True, duplicates=False)
            found = diagnosed(base, manifest)
            kinds = set(base.rows("SELECT DISTINCT kind FROM events")["kind"])
            why = {}
            for each in measures:
                faults = found.blocking(each.kpi.made_of if each.kpi else ())
                codes = [fault.code for fault in faults if fault.code != "sample-ratio"]
                if codes and not despite:
                    why[each.name] = f"a fault of the log forbids it: {', '.join(codes)}"
                if each.kpi and not has_events(each.kpi, kinds, self.success):
                    why[each.name] = "the log has no events for it"
            first, last = self.period
            units = from_events(
                kpi_tables(base, measures, self.unit, self.success), measures,
                self.unit,
                start=first, end=last,
                covariates=self.cuped, segments=self.segments,
            )  # fmt: skip
        return units, why


def arms_of(
    units: Units, split: Mapping[str, float] | None, control: str
) -> tuple[dict[str, float], str]:
    """The planned share of each arm, and the control.

    Raises:
        UsageError: no such arm, shares that are not above 0, an arm that is not planned, only one.
    """
    found = sorted(units.counts)
    planned = dict(split) if split else dict.fromkeys(found, 1.0)
    extra = [name for name in found if name not in planned]
    if extra:
        problem = f"the data have arms that are not planned: {', '.join(extra)}."
        raise UsageError(problem, code="unplanned-arm")
    if any(not share > 0 for share in planned.values()):
        raise UsageError("planned shares are above 0.", code="invalid-share")
    if len(planned) < 2:
        problem = f"an experiment has two arms or more; there is {', '.join(found) or 'no unit'}."
        raise UsageError(problem, code="one-arm")
    if control and control not in planned:
        problem = f"there is no arm {control!r}; there are {', '.join(planned)}."
        raise UsageError(problem, code="unknown-arm")
    total = sum(planned.values())
    return {name: share / total for name, share in planned.items()}, control or next(iter(planned))


def _day(text: str, name: str) -> date | None:
    if not text:
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        problem = f"--{name} {text!r} is not a day, such as 2026-03-01."
        raise UsageError(problem, code="invalid-day") from None


def analysed(
    units: Units,
    planned: Mapping[str, float],
    design: Design,
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
        design: what is compared, and how.
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
        findings += doubts(units, design)
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
        unit, design.control, pl.DataFrame(variants, schema=VARIANTS, orient="row"),
        (str(days[0]), str(days[-1])) if days else ("", ""),
        {"statistic": ratio.statistic, "p_value": ratio.p_value, "method": ratio.method},
        tuple(findings),
        metrics_of(units, design) if usable else pl.DataFrame(schema=METRICS),
        daily_of(units, design) if usable else pl.DataFrame(schema=DAILY),
        segments_of(units, design) if usable else pl.DataFrame(schema=SEGMENTS),
        against_itself(units, design, design.method.seed)
        if usable else pl.DataFrame(schema=AGAINST_ITSELF),
        dict(settings),
    )  # fmt: skip
