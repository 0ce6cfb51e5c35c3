"""Compute KPIs: tables once, then one aggregation for each table and way to divide it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.online.database import Database
from rankgate.online.events.events import Events, EventsLike
from rankgate.online.events.unmapped import advice, named_actions, unmapped_actions
from rankgate.online.faults.diagnose import diagnosed
from rankgate.online.faults.finding import UNMAPPED
from rankgate.online.indicators import tables
from rankgate.online.indicators.built import KpiTables
from rankgate.online.indicators.catalogue import KPIS, SLICES, has_events
from rankgate.online.indicators.kpi_table import VALUES, KpiTable

if TYPE_CHECKING:
    from rankgate.online.faults.diagnosis import Diagnosis
    from rankgate.online.indicators.kpi import Kpi


def kpi(
    events: EventsLike,
    names: Sequence[str] = (),
    *,
    by: Sequence[str] = ("day",),
    checks: bool = True,
) -> KpiTable:
    """Compute KPIs of a log, after the log doctor.

    Args:
        events: what users did: a folder of events, a table of them, files of logs, or ``Events``.
        names: the KPIs, such as search_ctr; all by default.
        by: what divides the log: day, variant, application, band of query frequency, position,
            page.
        checks: whether the log doctor runs first; without it nothing is said of faults.

    Raises:
        InputError: a log that cannot be read; one that has nothing for any KPI.
        UsageError: no such KPI, or nothing that divides a log.
        MissingExtraError: DuckDB or Ibis is not installed.
    """
    kpis = [KPIS.named(name) for name in names] or list(KPIS.values())
    check_slices(by)
    events = Events.of(events)
    with events.open() as log:
        diagnosis = diagnosed(log.base, log.manifest) if checks else None
        blocked = {} if events.despite or not diagnosis else _blocked(kpis, diagnosis)
        kinds = log.kinds
        possible = [each for each in kpis if each.name not in blocked]
        measured = [each for each in possible if has_events(each, kinds, events.success)]
        if not _tells_failures(log.manifest):
            measured = [each for each in measured if each.name != "error_rate"]
        if not measured and not blocked:
            _refuse_nothing(log.base, log.manifest, names)
        return table_of(log.base, kpis, measured, by, events.success, diagnosis, blocked,
                        log.excluded)  # fmt: skip


def check_slices(by: Sequence[str]) -> None:
    """Check what divides a log.

    Raises:
        UsageError: no such slice.
    """
    for name in by:
        if name not in SLICES:
            problem = f"nothing divides a log by {name!r}; there are {', '.join(SLICES)}."
            raise UsageError(problem, code="unknown-slice")


def _refuse_nothing(base: Database, manifest: Mapping[str, Any], names: Sequence[str]) -> None:
    """Refuse a log that has nothing for any KPI, or whose actions without a kind may be why.

    Raises:
        InputError: with the kinds that there are, and the lines of a mapping for other actions.
    """
    actions = unmapped_actions(manifest.get("files", {}).values())
    if names and not actions:
        return
    kinds = base.rows("SELECT kind, count(*) AS events FROM events GROUP BY 1 ORDER BY 1")
    kinds_words = named_actions(dict(kinds.iter_rows())) or "no events"
    wanted = f"for {', '.join(names)}" if names else "for any KPI"
    more = f"; for {named_actions(actions)} {advice([*actions])}" if actions else ""
    raise InputError(f"the log has nothing {wanted}; it has {kinds_words}{more}.",
                     source="the log", code="no-usable-events")  # fmt: skip


def table_of(
    base: Database,
    chosen: Sequence[Kpi],
    known: Sequence[Kpi],
    by: Sequence[str],
    success: Sequence[str] = (),
    found: Diagnosis | None = None,
    blocked: Mapping[str, tuple[str, ...]] | None = None,
    excluded: tuple[str, ...] = (),
) -> KpiTable:
    """The KPIs of a database's ``events``.

    Args:
        base: DuckDB, or another that carries out expressions of Ibis.
        chosen: the KPIs that are asked for.
        known: those that the log has events for.
        by: what divides the log.
        success: the rules of success.
        found: by the log doctor.
        blocked: the KPIs that are not given, and why.
        excluded: what was left out of the log.
    """
    blocked = blocked or {}
    built = KpiTables(base, success, known, by)
    values = [frame for each in ("all", *by) for frame in _divided(built, known, each)]
    values.append(_unknown([each.name for each in chosen if each not in known]))
    order = {each.name: place for place, each in enumerate(chosen)}
    table = pl.concat([pl.DataFrame(schema=VALUES), *values])
    table = table.sort(
        pl.col("by") != "all", pl.col("by"), pl.col("kpi").replace_strict(order, default=0),
        pl.col("slice").cast(pl.Int64, strict=False), pl.col("slice"),
    )  # fmt: skip
    subjects = {subject for each in chosen for subject in each.made_of}
    findings = tuple(
        finding
        for finding in (found.findings if found else ())
        if set(finding.spoils) & subjects or finding.code == UNMAPPED
    )
    return KpiTable(table, findings, blocked, excluded, **_head(base))


def _head(base: Database) -> dict[str, Any]:
    """The times of the first and the last event, and how many there are."""
    rows = tables.events()
    ends = rows.aggregate(first=rows.at.min(), last=rows.at.max(), events=rows.count())
    found = base.rows(base.text(ends)).row(0, named=True)
    times = {name: found[name] for name in ("first", "last")}
    return {
        **{name: f"{at:%Y-%m-%dT%H:%M:%SZ}" if at else "" for name, at in times.items()},
        "events": found["events"],
        "time_zone": base.time_zone,
    }


def _tells_failures(manifest: Mapping[str, Any]) -> bool:
    """Whether the log has states of searches, and not numbers of results only."""
    return any(each.get("states", True) for each in manifest.get("files", {"": {}}).values())


def _blocked(chosen: Iterable[Kpi], found: Diagnosis) -> dict[str, tuple[str, ...]]:
    codes = {each.name: found.blocking(each.made_of) for each in chosen}
    return {name: tuple(each.code for each in faults) for name, faults in codes.items() if faults}


def _divided(built: KpiTables, chosen: Sequence[Kpi], by: str) -> Iterable[pl.DataFrame]:
    """The values of the KPIs of each table, divided by a column."""
    for table in ("events", "searches", "clicks", "sessions", "users"):
        given = [each for each in chosen if each.table == table]
        if not given or (by != "all" and table not in SLICES[by]):
            continue
        rows = built[table]
        column = None if by == "all" else rows[by]
        sums = {
            name: column_
            for each in given
            for name, column_ in each.columns(rows, limit_of(built, rows, each)).items()
        }
        grouped = rows if column is None else rows.group_by(slice=column)
        yield _long(built.base.rows(built.base.text(grouped.aggregate(**sums))), given, by)


def limit_of(built: KpiTables, rows: Any, each: Kpi) -> float | None:  # noqa: ANN401 - a table of Ibis
    """Where a winsorised KPI is cut off."""
    if each.cap is None:
        return None
    value = each.of(rows)
    expression = rows.aggregate(limit=value.quantile(each.cap, where=value > 0))
    limit: float | None = built.base.one(built.base.text(expression))
    return limit


def _long(wide: pl.DataFrame, given: Sequence[Kpi], by: str) -> pl.DataFrame:
    """A row for each KPI and slice; slices without a name are left out."""
    if "slice" not in wide.columns:
        wide = wide.with_columns(slice=pl.lit(""))
    wide = wide.filter(pl.col("slice").is_not_null()).with_columns(pl.col("slice").cast(pl.String))
    return pl.concat([_one(wide, each.name, by) for each in given])


def _unknown(names: Sequence[str]) -> pl.DataFrame:
    """Null for KPIs that are blocked, or of which the log has no events."""
    rows = [{"kpi": name, "by": "all", "slice": "", "value": None, "n": 0} for name in names]
    return pl.DataFrame(rows, schema=VALUES)


def _one(wide: pl.DataFrame, name: str, by: str) -> pl.DataFrame:
    value, n = pl.col(f"{name}.value"), pl.col(f"{name}.n")
    return wide.select(
        kpi=pl.lit(name),
        by=pl.lit(by),
        slice=pl.col("slice"),
        value=pl.when(n > 0).then(value).cast(pl.Float64),
        n=n.fill_null(0).cast(pl.Int64),
    )
