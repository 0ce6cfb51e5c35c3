"""KPIs of a log, in total and by day, variant and more: the result of ``kpi``.

Tables are computed once; then each table has one aggregation for each way to divide.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any, ClassVar, NoReturn

import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import Notice, Result
from rankgate.core.present.charts.chart_views import Axis, ChartView, Mark, Panel, Rows
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.common_columns import KPI
from rankgate.core.present.document_model import Block
from rankgate.core.present.layout import NOTICES, CrossView, Sentence, ShownChart, View
from rankgate.online.events.diagnosis import UNMAPPED, LogFinding, diagnose_events
from rankgate.online.events.event_table import SLICES
from rankgate.online.events.events import Events, EventsLike
from rankgate.online.events.ingest import format_actions, mapping_advice, unmapped_actions
from rankgate.online.indicators import search_tables
from rankgate.online.indicators.kpi import Kpi
from rankgate.online.indicators.kpi_catalogue import KPIS, format_kpi
from rankgate.online.indicators.kpi_segments import SEGMENTS, segment_intervals
from rankgate.online.indicators.own_kpis import declare_kpis
from rankgate.online.indicators.search_tables import KpiTables
from rankgate.online.log_database import Database

if TYPE_CHECKING:
    from rankgate.online.events.diagnosis import Diagnosis
    from rankgate.online.events.manifest import Manifest


VALUES = Columns(
    "One row per KPI and slice.",
    KPI,
    Column("by", pl.String, "what divides the log; ``all`` for the total"),
    Column("slice", pl.String, "the part of the log"),
    Column(
        "value",
        pl.Float64,
        "the value of the KPI; null where undefined, blocked or without events",
        format_kpi,
        arguments=("kpi",),
    ),
    Column("n", pl.Int64, "the divisor"),
)
_TOTALS = Columns("One row per KPI.", VALUES, Column("what", pl.String, "what the KPI measures"))
_MAX_COLUMNS = 6  # KPIs of each divided table
TABLES = ("events", "searches", "clicks", "sessions", "users", "people")
"""The tables that KPIs are of."""

_FIRST_KPIS = (
    "search_ctr",
    "zero_result_rate",
    "impression_ctr",
    "mrr_first_click",
    "mean_click_rank",
    "session_success_rate",
    "revenue_per_search",
    "latency_p95",
)
_BANDS = {"head": 0, "torso": 1, "tail": 2}


def _slice_tables(result: KpiTable) -> Iterator[Block]:
    """A table for each column that divides the log, with the most important KPIs first."""
    divided = result.values.filter(pl.col("by") != "all")
    for (by,), rows in divided.group_by("by", maintain_order=True):
        available = rows.filter(pl.col("value").is_not_null())["kpi"].unique(maintain_order=True).to_list()
        first = [name for name in _FIRST_KPIS if name in available]
        names = (first + [name for name in available if name not in first])[:_MAX_COLUMNS]
        order = {name: position for position, name in enumerate(names)}
        table = rows.filter(pl.col("kpi").is_in(names)).sort(
            pl.col("slice").replace_strict(_BANDS, default=len(_BANDS)),
            pl.col("slice").cast(pl.Int64, strict=False),
            "slice",
            pl.col("kpi").replace_strict(order),
        )
        view = CrossView(
            table,
            f"by {by}",
            ("slice",),
            "kpi",
            "value",
            spaced=True,
            columns=VALUES,
            headers={"slice": str(by)},
        )
        yield from view.blocks(result)


@dataclass(frozen=True)
class OwnKpi:
    """What is shown of a KPI that the mapping of the log declares.

    Attributes:
        name: its name.
        title: what it measures.
        unit: the unit of its values.
        better: ``up`` or ``down``; empty if neither is better.
    """

    name: str
    title: str
    unit: str
    better: str


def _not_computed(_rows: object) -> NoReturn:
    raise UsageError("a mapping declares this KPI; give it with --mapping.", code="unknown-kpi")


_MAIN_KPIS = (
    "search_ctr",
    "zero_result_rate",
    "mrr_first_click",
    "session_conversion_rate",
    "revenue_per_search",
    "latency_p95",
)


def _kpi_panel(by: str, x: Axis, main_kpis: Sequence[str]) -> Panel:
    """A panel for each of the main KPIs, or of all if the table has none of them."""

    def points(result: KpiTable) -> pl.DataFrame:
        rows = result.values.filter(pl.col("value").is_not_null(), by=by)
        is_main = pl.col("kpi").is_in(main_kpis)
        position = pl.col("slice").cast(pl.Int64) if by == "position" else pl.col("slice")
        return rows.filter(is_main | ~is_main.any()).select("kpi", position.alias("at"), "value", "n")

    def value_axis(_result: object, rows: Rows) -> Axis:
        kpi = rows[0]["kpi"]
        is_share = kpi in KPIS and KPIS[kpi].unit == "share"
        return Axis("value", "{kpi:spaced}", form=".0%" if is_share else "")

    marks = (Mark("points", "value"),)
    return Panel(points, x, value_axis, marks, facet=("kpi",), most=6, title="{kpi:spaced}", tooltip=("n",))


@dataclass(frozen=True)
class KpiTable(Result):
    """KPIs of a log.

    Attributes:
        values: the columns of `VALUES`.
        findings: of the log doctor, which spoil some of the figures.
        blocked: by KPI that is not given the codes of the findings that block it.
        excluded: what was left out of the log, in words.
        first: the time of the first event.
        last: the time of the last event.
        events: how many there are.
        time_zone: of days.
        segments: the columns of `SEGMENTS`: intervals of the segments of dimensions.
        own_kpis: the KPIs that the mapping of the log declares.
    """

    kind = "kpi_table"
    label = "KPIs"
    charts: ClassVar = {
        "kpi-days": ChartView(
            "KPIs by day",
            "Values by day (UTC). A day without a point has no value, which is not 0.",
            "{events:n event}",
            (_kpi_panel("day", Axis("at", scale="time"), _MAIN_KPIS),),
            "KPIs",
            "there are no KPIs by day; ask for them with --by day.",
        ),
        "kpi-positions": ChartView(
            "Clicks by rank",
            "Clicks divided by impressions at each rank. The curve mixes how good results are with how often "
            "users look at a rank; rankgate online judgments separates the two.",
            "{events:n event}",
            (_kpi_panel("position", Axis("at", "rank", "rank"), ("impression_ctr",)),),
            "KPIs",
            "there are no KPIs by position; ask for them with --by position.",
        ),
    }
    order = 62
    SCHEMAS: ClassVar = {"values": VALUES, "segments": SEGMENTS}
    headline_text = "{totals.height} KPIs of {events:n event}, {period}"
    layout = (
        View("totals", cells=("kpi", "value", "n", "what"), columns=_TOTALS),
        ShownChart("kpi-days", "has_days"),
        ShownChart("kpi-positions", "has_positions"),
        _slice_tables,
        View(
            "shown_segments",
            "segments",
            ("kpi", "by", "slice", "units", "value", ("low", "high"), "p_differ"),
            columns=SEGMENTS,
            varying=("by",),
        ),
        Sentence(
            "Intervals are 95 %, with users as units (sessions where the user is unknown). p differ: of no "
            "difference between the segments (Cochran's Q), holm over {tests:n test}.",
            "has_segments",
        ),
        NOTICES,
        Sentence("Left out: {excluded_text}.", "excluded"),
        Sentence("The log has nothing for: {kpis_without_events}.", "kpis_without_events"),
    )

    values: pl.DataFrame
    findings: tuple[LogFinding, ...]
    blocked: Mapping[str, tuple[str, ...]]
    excluded: tuple[str, ...]
    first: str
    last: str
    events: int
    time_zone: str = "UTC"
    segments: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=SEGMENTS))
    own_kpis: tuple[OwnKpi, ...] = ()

    def __post_init__(self) -> None:
        KPIS.declare(  # so that values of a stored table are shown with their units
            Kpi(
                own_kpi.name,
                title=own_kpi.title,
                unit=own_kpi.unit,  # type: ignore[arg-type]
                better=own_kpi.better,  # type: ignore[arg-type]
                table="searches",
                of=_not_computed,
                formula="",
                made_of=(),
            )
            for own_kpi in self.own_kpis
            if own_kpi.name not in KPIS
        )

    def __getitem__(self, name: str) -> float | None:
        """The value of a KPI over the whole log; None where it is undefined."""
        matches = self.values.filter(pl.col("kpi") == name, pl.col("by") == "all")["value"]
        if not len(matches):
            raise KeyError(name)
        value: float | None = matches.item()
        return value

    @property
    def totals(self) -> pl.DataFrame:
        """The KPIs of the whole log that have a value, with their titles."""
        titles = {kpi.name: kpi.title for kpi in (*KPIS.all_objects, *KPIS.mapping_kpis.values())}
        total = self.values.filter(pl.col("value").is_not_null(), by="all")
        return total.with_columns(what=pl.col("kpi").replace_strict(titles, default=""))

    @property
    def period(self) -> str:
        """The first and the last day of the log, and the zone of its days."""
        days = f"{self.first[:10]} to {self.last[:10]}" if self.first else "without times"
        return days if self.time_zone == "UTC" else f"{days}, days of {self.time_zone}"

    @property
    def has_days(self) -> bool:
        """True if there are values of several days."""
        return self.values.filter(by="day")["slice"].n_unique() > 1

    @property
    def has_positions(self) -> bool:
        """True if there are values by position."""
        return "position" in self.values["by"]

    @property
    def has_segments(self) -> bool:
        """True if there are intervals of segments."""
        return not self.segments.is_empty()

    @property
    def shown_segments(self) -> pl.DataFrame:
        """The intervals of the most important KPIs."""
        order = [*_FIRST_KPIS, *self.segments["kpi"]]
        names = [name for name in dict.fromkeys(order) if name in self.segments["kpi"]][:_MAX_COLUMNS]
        return self.segments.filter(pl.col("kpi").is_in(names))

    @property
    def tests(self) -> int:
        """The number of tests that segments differ."""
        tested = self.segments.filter(pl.col("p_differ").is_not_null())
        return tested.select("kpi", "by").n_unique()

    @property
    def excluded_text(self) -> str:
        """What was left out of the log."""
        return "; ".join(self.excluded)

    @property
    def kpis_without_events(self) -> str:
        """The KPIs for which the log has no events."""
        names = self.values.filter(pl.col("value").is_null(), by="all")["kpi"]
        return ", ".join(name for name in names if name not in self.blocked)

    @property
    def status(self) -> int:
        """The exit code: 3 where no KPI has a value, else 0."""
        total = self.values.filter(pl.col("by") == "all")["value"]
        return 0 if total.count() else 3

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Findings that spoil figures, and the figures that are not given because of them."""
        notices = [Notice(finding.code, _sentence(finding), finding.code) for finding in self.findings]
        if self.blocked:
            notices.append(
                Notice(
                    "blocked-kpis",
                    "not given, because a fault of the log affects them: "
                    f"{', '.join(self.blocked)}; --despite gives them",
                )
            )
        return tuple(notices)


def _sentence(finding: LogFinding) -> str:
    sentence = f"{finding.code}: {finding.count:,} of {finding.total:,} {finding.words}"
    if finding.spoils:
        sentence += f"; it affects figures of {', '.join(finding.spoils)}"
    if finding.code == UNMAPPED:
        sentence += f" ({finding.share:.2%}); {finding.fix}"
    return sentence


def kpi(
    events: EventsLike, names: Sequence[str] = (), *, by: Sequence[str] = ("day",), checks: bool = True
) -> KpiTable:
    """Compute KPIs of a log, after a check for faults.

    Args:
        events: the log: a folder of events, a table of them, files of logs, or ``Events``. KPIs of
            a table on Spark are computed there, without the log doctor.
        names: the KPIs, such as search_ctr; all by default.
        by: the segments of the log: day, variant, application, band of query frequency, position,
            page.
        checks: True if the log doctor runs first; without it no faults are reported.

    Raises:
        InputError: a log that cannot be read; one that has nothing for any KPI.
        UsageError: no such KPI, or nothing that divides a log.
        MissingExtraError: DuckDB or Ibis is not installed.
    """
    events = Events.of(events)
    own_kpis = declare_kpis(events)
    kpis = [KPIS.find(name) for name in names] or [*KPIS.values(), *own_kpis]
    with events.open("kpi", checks=checks) as log:
        check_dimensions(log.base, by)
        subjects = {subject for indicator in kpis for subject in indicator.made_of}
        diagnosis = diagnose_events(log.base, log.manifest, subjects=subjects) if checks else None
        blocked = {} if events.despite or not diagnosis else _blocked_kpis(kpis, diagnosis)
        kinds = log.kinds
        possible = [indicator for indicator in kpis if indicator.name not in blocked]
        computed_kpis = [indicator for indicator in possible if indicator.has_events(kinds, events.success)]
        files = log.manifest.get("files")
        if files is not None and not any(file.get("states", True) for file in files.values()):
            computed_kpis = [indicator for indicator in computed_kpis if indicator.name != "error_rate"]
        if not computed_kpis and not blocked:
            _refuse_nothing(log.base, log.manifest, names)
        return make_kpi_table(
            log.base, kpis, computed_kpis, by, events.success, diagnosis, blocked, log.excluded
        )


_MAX_VALUES = 1000


def check_dimensions(base: Database, names: Sequence[str]) -> None:
    """Check that events have the attributes that divide them.

    Raises:
        UsageError: no event has the attribute, or too many values of it.
    """
    rows = search_tables.events()
    for name in names:
        if name in SLICES:
            continue
        values = search_tables.attribute_text(rows, name).nunique().name("values")
        count = base.first_value(base.text(values.as_table()))
        if not count:
            problem = (
                f"a log cannot be divided by {name!r}: no event has such an attribute; there are "
                f"{', '.join(SLICES)}, and the [dimensions] of the mapping."
            )
            raise UsageError(problem, code="unknown-slice")
        if count > _MAX_VALUES:
            problem = f"{name} has {count:,} values; a dimension has at most {_MAX_VALUES:,}."
            raise UsageError(problem, code="too-many-slices")


def _refuse_nothing(base: Database, manifest: Manifest, names: Sequence[str]) -> None:
    """Refuse a log without data for any KPI; name actions without a kind as a possible cause.

    Raises:
        InputError: with the kinds in the log, and the lines of a mapping for other actions.
    """
    actions = unmapped_actions(manifest.get("files", {}).values())
    if names and not actions:
        return
    kinds = base.rows("SELECT kind, count(*) AS events FROM events GROUP BY 1 ORDER BY 1")
    kinds_text = format_actions(dict(kinds.iter_rows())) or "no events"
    purpose = f"for {', '.join(names)}" if names else "for any KPI"
    advice = f"; for {format_actions(actions)} {mapping_advice([*actions])}" if actions else ""
    raise InputError(
        f"the log has nothing {purpose}; it has {kinds_text}{advice}.",
        source="the log",
        code="no-usable-events",
    )


def make_kpi_table(
    base: Database,
    requested_kpis: Sequence[Kpi],
    available_kpis: Sequence[Kpi],
    by: Sequence[str],
    success: Sequence[str],
    diagnosis: Diagnosis | None,
    blocked: Mapping[str, tuple[str, ...]],
    excluded: tuple[str, ...],
) -> KpiTable:
    """The KPIs of a database's ``events``.

    Args:
        base: DuckDB, or another database that runs expressions of Ibis.
        requested_kpis: the requested KPIs.
        available_kpis: the KPIs for which the log has events.
        by: the segments of the log.
        success: the rules of success.
        diagnosis: the findings of the log doctor.
        blocked: the KPIs that are not given, with the reasons.
        excluded: the rows of the log that were left out.
    """
    kpi_tables = KpiTables(base, success, available_kpis, by)
    values = [
        frame for column in ("all", *by) for frame in _values_by_column(kpi_tables, available_kpis, column)
    ]
    rows = [
        {"kpi": indicator.name, "by": "all", "slice": "", "value": None, "n": 0}
        for indicator in requested_kpis
        if indicator not in available_kpis  # blocked, or without events in the log
    ]
    values.append(pl.DataFrame(rows, schema=VALUES))
    order = {indicator.name: position for position, indicator in enumerate(requested_kpis)}
    table = pl.concat([pl.DataFrame(schema=VALUES), *values])
    table = table.sort(
        pl.col("by") != "all",
        pl.col("by"),
        pl.col("kpi").replace_strict(order, default=0),
        pl.col("slice").cast(pl.Int64, strict=False),
        pl.col("slice"),
    )
    subjects = {subject for indicator in requested_kpis for subject in indicator.made_of}
    findings = tuple(
        finding
        for finding in (diagnosis.findings if diagnosis else ())
        if set(finding.spoils) & subjects or finding.code == UNMAPPED
    )
    dimensions = [name for name in by if name not in SLICES]
    segments = segment_intervals(kpi_tables, available_kpis, dimensions)
    own_kpis = tuple(
        OwnKpi(kpi.name, kpi.title, kpi.unit, kpi.better) for kpi in requested_kpis if kpi.own_columns
    )
    return KpiTable(
        table, findings, blocked, excluded, **_log_period(base), segments=segments, own_kpis=own_kpis
    )


def _log_period(base: Database) -> dict[str, Any]:
    """The times of the first and the last event, and the number of events."""
    rows = search_tables.events()
    ends = rows.aggregate(first=rows.at.min(), last=rows.at.max(), events=rows.count())
    totals = base.rows(base.text(ends)).row(0, named=True)
    times = {name: totals[name] for name in ("first", "last")}
    return {
        **{name: f"{time:%Y-%m-%dT%H:%M:%SZ}" if time else "" for name, time in times.items()},
        "events": totals["events"],
        "time_zone": base.time_zone,
    }


def _blocked_kpis(kpis: Iterable[Kpi], diagnosis: Diagnosis) -> dict[str, tuple[str, ...]]:
    codes = {indicator.name: diagnosis.blocking(indicator.made_of) for indicator in kpis}
    return {name: tuple(fault.code for fault in faults) for name, faults in codes.items() if faults}


def _values_by_column(kpi_tables: KpiTables, kpis: Sequence[Kpi], by: str) -> Iterable[pl.DataFrame]:
    """The values of the KPIs of each table, divided by a column."""
    for table in TABLES:
        table_kpis = [indicator for indicator in kpis if indicator.table == table]
        if not table_kpis or (by != "all" and table not in SLICES.get(by, TABLES)):
            continue
        rows = kpi_tables[table]
        column = None if by == "all" else rows[by]
        sums = {
            name: expression
            for indicator in table_kpis
            for name, expression in indicator.columns(rows, winsor_limit(kpi_tables, rows, indicator)).items()
        }
        grouped = rows if column is None else rows.group_by(slice=column)
        wide_table = kpi_tables.base.rows(kpi_tables.base.text(grouped.aggregate(**sums)))
        if "slice" not in wide_table.columns:
            wide_table = wide_table.with_columns(slice=pl.lit(""))
        wide_table = wide_table.filter(pl.col("slice").is_not_null()).with_columns(
            pl.col("slice").cast(pl.String)
        )
        yield pl.concat([_kpi_values(wide_table, indicator.name, by) for indicator in table_kpis])


def winsor_limit(kpi_tables: KpiTables, rows: Any, indicator: Kpi) -> float | None:  # noqa: ANN401 - a table of Ibis
    """The value at which a winsorised KPI is cut off; None for other KPIs."""
    if indicator.cap is None:
        return None
    value = indicator.of(rows)
    expression = rows.aggregate(limit=value.quantile(indicator.cap, where=value > 0))
    limit: float | None = kpi_tables.base.first_value(kpi_tables.base.text(expression))
    return limit


def _kpi_values(wide_table: pl.DataFrame, name: str, by: str) -> pl.DataFrame:
    value, n = pl.col(f"{name}.value"), pl.col(f"{name}.n")
    return wide_table.select(
        kpi=pl.lit(name),
        by=pl.lit(by),
        slice=pl.col("slice"),
        value=pl.when(n > 0).then(value).cast(pl.Float64),
        n=n.fill_null(0).cast(pl.Int64),
    )
