"""Impact of personalisation: lift by group of users, and differences of lists.

The result of ``personalization`` comes first.
"""

from __future__ import annotations

import math
import re
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np
import polars as pl

from rankgate.core.declare import Count
from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import NoticeText, Result
from rankgate.core.present.charts.chart_views import ZERO, Axis, ChartView, Panel, highlight, interval
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.common_columns import KPI, P_RAW, P_VALUE, VARIANT
from rankgate.core.present.layout import NOTICES, Sentence, ShownChart, View
from rankgate.data.logs.item_tables import read_frame
from rankgate.measurement.stats.multiple_comparisons import correct
from rankgate.online.events.diagnosis import diagnose_events, spoiled_notice, spoiled_text
from rankgate.online.events.events import Events, EventsLike
from rankgate.online.indicators.kpi_catalogue import format_kpi
from rankgate.online.indicators.own_kpis import declare_kpis
from rankgate.online.log_database import Database
from rankgate.online.users.user_rates import UserRate, select_rate_kpis, sum_kpis_by_user, user_rate

if TYPE_CHECKING:
    from rankgate.core.value_types import Json, JsonObject
    from rankgate.data.input_types import Frame, Source


LIFTS = Columns(
    "One row per KPI, variant and group of users, all users first.",
    KPI,
    VARIANT,
    Column("group", pl.String, "the group of users; ``all`` first"),
    Column("users", pl.Int64, "users of the variant", unit="users"),
    Column(
        "users_control", pl.Int64, "users of the control", unit="users", header="users\ncontrol / variant"
    ),
    Column("control", pl.Float64, "the rate of the control", format_kpi, arguments=("kpi",)),
    Column("value", pl.Float64, "the value of the variant", format_kpi, arguments=("kpi",)),
    Column("delta", pl.Float64, "value − control", "signed"),
    Column("low", pl.Float64, "the low end of its 95 % interval (users are units, delta method)", "signed"),
    Column("high", pl.Float64, "the high end of its 95 % interval (users are units, delta method)", "signed"),
    Column("lift", pl.Float64, "delta / control", "+z.2%"),
    P_RAW,
    Column(
        "p_value",
        pl.Float64,
        "the p-value by Benjamini and Hochberg over the groups of a KPI and variant",
        "p",
        header="p",
    ),
)
INTERACTIONS = Columns(
    "One row per KPI and variant: Cochran's Q, whether groups differ in their delta.",
    KPI,
    VARIANT,
    Column("groups", pl.Int64, "how many groups there are"),
    Column("statistic", pl.Float64, "Cochran's Q", ".3f", header="Q"),
    P_VALUE,
)
LISTS = Columns(
    "One row per variant.",
    VARIANT,
    Column("queries", pl.Int64, "queries with lists of two users", ","),
    Column(
        "between_users",
        pl.Float64,
        "the mean share of two users' first documents that differ",
        ".2%",
        header="between\ntwo users",
    ),
    Column(
        "from_control",
        pl.Float64,
        "the same of a user of the variant and one of the control",
        ".2%",
        header="from the\ncontrol",
    ),
)
ALL = "all"
"""The group of all users."""

_LIFT_CELLS = (
    ("users_control", " / ", "users"),
    "control",
    "value",
    "delta",
    ("low", "high"),
    "lift",
    "p_value",
)


@dataclass(frozen=True)
class PersonalizationImpact(Result):
    """Variants with personal lists against one without, by group of users.

    Attributes:
        control: the variant without personal lists.
        depth: ranks of lists that are compared.
        grouped_by: where groups come from: a file, or activity in the log.
        lifts: the columns of `LIFTS`.
        interactions: the columns of `INTERACTIONS`.
        lists: the columns of `LISTS`.
        faults: codes of what the log doctor found that spoils variants.
    """

    kind = "personalization_impact"
    label = "Impact of personalisation"
    charts: ClassVar = {
        "personalization": ChartView(
            "Impact of personalisation by group of users",
            "95 % intervals of the difference from {control}, with users as units.",
            "{lifts:n difference}",
            (
                Panel(
                    "lifts",
                    Axis("delta", "difference from the control"),
                    Axis("group", scale="names"),
                    (ZERO, *interval("delta")),
                    row_filter=pl.col("low").is_not_null(),
                    facet=("kpi",),
                    most=4,
                    title="{kpi:spaced}",
                    colour=highlight(("group", ALL)),
                    height=30,
                    tooltip=("variant",),
                ),
            ),
            "online",
        )
    }
    order = 66
    SCHEMAS: ClassVar = {"lifts": LIFTS, "interactions": INTERACTIONS, "lists": LISTS}
    layout = (
        ShownChart("personalization", "lifts"),
        View(
            "lifts", "all users", ("kpi", "variant", *_LIFT_CELLS), keys=2, row_filter=pl.col("group") == ALL
        ),
        View(
            "lifts",
            "by group of users",
            ("kpi", "variant", "group", *_LIFT_CELLS),
            keys=3,
            row_filter=pl.col("group") != ALL,
        ),
        View("interactions", "whether groups differ", keys=2),
        View("lists", "lists: first {depth:n document} that differ"),
        NOTICES,
        Sentence(
            "Intervals are 95 %, with users as units (delta method). p-values of groups are corrected by "
            "Benjamini and Hochberg; whether groups differ is Cochran's Q: without it a group that seems to "
            "gain most may do so by chance."
        ),
    )
    notice_texts = (
        spoiled_notice("spoiled-variants", "variants"),
        NoticeText(
            "groups-by-activity",
            "groups are by how much users searched in this log, which a variant can change; --groups takes "
            "groups that were known before",
            lambda impact: impact.grouped_by == "activity",
        ),
    )

    control: str
    depth: int
    grouped_by: str
    lifts: pl.DataFrame
    interactions: pl.DataFrame
    lists: pl.DataFrame
    faults: tuple[str, ...] = ()

    @property
    def headline(self) -> str:
        """The first lift of all users."""
        lifts = self.lifts.filter(pl.col("group") == ALL, pl.col("lift").is_not_null())
        if lifts.is_empty():
            return f"No KPI to compare with {self.control}"
        row = lifts.row(0, named=True)
        return f"{row['variant']} against {self.control}: {row['kpi']} {row['lift']:+.2%} of the control's"


KPIS = ("search_ctr", "mrr_first_click", "satisfied_click_rate", "conversion_rate")
"""The KPIs with a lift by default."""

_Z = 1.959963984540054
_LISTS = (
    "WITH texts AS (SELECT query_event_id, max(query) AS query, max(variant) AS variant, "
    'max(coalesce("user", session)) AS person, min("at") AS "at" FROM events WHERE query_event_id IS NOT '
    "NULL GROUP BY 1), last AS (SELECT * FROM texts WHERE query IS NOT NULL AND variant IS NOT NULL AND "
    "person IS NOT NULL AND query_event_id IN (SELECT query_event_id FROM events WHERE kind = 'impression' "
    "AND rank IS NOT NULL) QUALIFY row_number() OVER (PARTITION BY query, variant, person ORDER BY "
    '"at" DESC, query_event_id) = 1) SELECT DISTINCT l.query, l.variant, l.person, e.doc_id FROM last l JOIN '
    "events e USING (query_event_id) WHERE e.kind = 'impression' AND e.rank <= $1 AND e.doc_id IS NOT NULL"
)
_COUNTS = "SELECT query, variant, doc_id, count(*) AS times FROM personal GROUP BY 1, 2, 3"
_SIZES = (
    "SELECT query, variant, count(*) AS users, max(size) AS size FROM (SELECT query, variant, person, "
    "count(*) AS size FROM personal GROUP BY 1, 2, 3) GROUP BY 1, 2"
)


def personalization(
    events: EventsLike,
    control: str,
    *,
    kpis: Sequence[str] = (),
    groups: Source | Frame | None = None,
    ranks: Count = 10,
) -> PersonalizationImpact:
    """Compare personal lists with lists that are the same for all users, by group of users.

    Args:
        events: the log: a folder of events, a table of them, files of logs, or ``Events``.
        control: the variant without personal lists.
        kpis: the KPIs of lifts, means over searches, clicks or sessions; by default search_ctr,
            mrr_first_click, satisfied_click_rate and conversion_rate.
        groups: a table with the columns user and group; without it users are grouped by how many
            searches they have: 1, 2 to 9, 10 and more.
        ranks: the number of ranks of lists that are compared.

    Raises:
        InputError: a log that cannot be read; variants that a fault makes wrong.
        UsageError: no such variant or KPI.
        MissingExtraError: DuckDB or Ibis is not installed.
    """
    events = Events.of(events)
    declare_kpis(events)
    with events.open() as log:
        base = log.base
        faults = tuple(fault.code for fault in diagnose_events(base, log.manifest).blocking(("variants",)))
        if faults and not events.despite:
            problem = f"{spoiled_text(faults, 'variants')}; --despite gives figures."
            raise InputError(problem, code="spoiled-variants")
        variant_rows = base.rows("SELECT DISTINCT variant FROM events WHERE variant IS NOT NULL ORDER BY 1")
        names = variant_rows["variant"].to_list()
        if control not in names or len(names) < 2:
            problem = f"the log has no variant {control!r} to compare others with; it has "
            raise UsageError(problem + f"{', '.join(names) or 'none'}.", code="unknown-variant")
        treatments = [name for name in names if name != control]
        rate_kpis = select_rate_kpis(kpis or KPIS, log.kinds, events.success)
        rows = sum_kpis_by_user(base, rate_kpis, ("variant",), events.success)
        grouped = rows.join(_groups(base, groups), on="user", how="left", maintain_order="left").with_columns(
            pl.col("group").fill_null("other")
        )
        distances = _list_distances(base, control, treatments, ranks)
    lifts, interactions = _compare_groups(grouped, control, treatments)
    grouped_by = "activity" if groups is None else "file"
    return PersonalizationImpact(control, ranks, grouped_by, lifts, interactions, distances, faults)


def _groups(base: Database, groups: Source | Frame | None) -> pl.DataFrame:
    """``user``, ``group``."""
    if groups is None:
        return base.rows(
            "SELECT \"user\", CASE WHEN searches < 2 THEN '1 search' WHEN searches < 10 THEN '2 to 9 "
            'searches\' ELSE \'10 and more\' END AS "group" FROM (SELECT "user", count(DISTINCT '
            'query_event_id) AS searches FROM events WHERE "user" IS NOT NULL GROUP BY 1)'
        )
    group_table, _ = read_frame(groups, "groups")
    if not {"user", "group"} <= set(group_table.columns):
        problem = f"groups need the columns user and group, not {', '.join(group_table.columns)}."
        raise InputError(problem, code="missing-column")
    return group_table.select(pl.col("user", "group").cast(pl.String)).unique("user", keep="first")


def _list_distances(base: Database, control: str, treatments: Sequence[str], ranks: int) -> pl.DataFrame:
    """Measure the distance of lists of a query: the latest list of each user and variant."""
    base.run(f"CREATE TEMP TABLE personal AS {_LISTS}", (ranks,))
    base.run(f"CREATE TEMP TABLE counted AS {_COUNTS}")
    base.run(f"CREATE TEMP TABLE sized AS {_SIZES}")
    rows = []
    for name in (control, *treatments):
        within_variant = base.rows(
            "SELECT count(*) AS queries, avg(far ORDER BY far) AS far FROM (SELECT 1 - sum(times * (times - "
            "1)) / (max(users) * (max(users) - 1) * max(size)) AS far FROM counted JOIN sized USING (query, "
            "variant) WHERE variant = $1 AND users > 1 GROUP BY query)",
            (name,),
        ).row(0)
        from_control = base.first_value(
            "SELECT avg(far ORDER BY far) FROM (SELECT 1 - shared / (a.users * b.users * greatest(a.size, "
            "b.size)) AS far FROM (FROM sized WHERE variant = $1) a JOIN (FROM sized WHERE variant = $2) b "
            "USING (query) JOIN (SELECT a.query, coalesce(sum(a.times * b.times), 0) AS shared FROM (FROM "
            "counted WHERE variant = $1) a LEFT JOIN (FROM counted WHERE variant = $2) b USING (query, "
            "doc_id) GROUP BY 1) USING (query))",
            (name, control),
        )
        rows.append((name, within_variant[0], within_variant[1], None if name == control else from_control))
    return pl.DataFrame(rows, schema=LISTS, orient="row")


def _compare_groups(
    rows: pl.DataFrame, control: str, treatments: Sequence[str]
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Compute lifts of each KPI, variant and group, and test for differences of groups."""
    lifts, interactions = [], []
    names = rows["kpi"].unique(maintain_order=True).to_list() if len(rows) else []
    for kpi in names:
        of_kpi = rows.filter(pl.col("kpi") == kpi)
        for variant in treatments:
            groups = sorted(of_kpi["group"].unique(), key=_natural_sort_key)
            group_lifts = [_lift(of_kpi, kpi, control, variant, group) for group in (ALL, *groups)]
            of_groups = [lift for lift in group_lifts[1:] if math.isfinite(lift["p_raw"])]
            corrected = correct(np.array([lift["p_raw"] for lift in of_groups]), "bh")
            for lift, p_value in zip(of_groups, corrected, strict=True):
                lift["p_value"] = float(p_value)
            group_lifts[0]["p_value"] = group_lifts[0]["p_raw"]
            lifts += group_lifts
            interactions.append(_interaction(of_groups, kpi, variant))
    clean = [
        {
            key: None if isinstance(value, float) and not math.isfinite(value) else value
            for key, value in row.items()
            if key != "error"
        }
        for row in lifts
    ]
    return (
        pl.DataFrame(clean, schema=LIFTS),
        pl.DataFrame([interaction for interaction in interactions if interaction], schema=INTERACTIONS),
    )


def _natural_sort_key(name: str) -> list[str | int]:
    """A key that sorts 10 after 2."""
    return [int(token) if token.isdigit() else token for token in re.split(r"(\d+)", name)]


def _lift(rows: pl.DataFrame, kpi: str, control: str, variant: str, group: str) -> dict[str, Any]:
    control_rate, variant_rate = (_rate(rows, name, group) for name in (control, variant))
    delta, error = (
        variant_rate.value - control_rate.value,
        math.hypot(control_rate.error, variant_rate.error),
    )
    p_value = math.erfc(abs(delta) / error / math.sqrt(2)) if error > 0 else math.nan
    return {
        "kpi": kpi,
        "variant": variant,
        "group": group,
        "users": variant_rate.users,
        "users_control": control_rate.users,
        "control": control_rate.value,
        "value": variant_rate.value,
        "delta": delta,
        "low": delta - _Z * error,
        "high": delta + _Z * error,
        "lift": delta / control_rate.value if control_rate.value else math.nan,
        "p_raw": p_value,
        "p_value": math.nan,
        "error": error,
    }


def _rate(rows: pl.DataFrame, variant: str, group: str) -> UserRate:
    variant_rows = rows.filter(pl.col("variant") == variant)
    if group != ALL:
        variant_rows = variant_rows.filter(pl.col("group") == group)
    return user_rate(variant_rows["total"].to_numpy(), variant_rows["count"].to_numpy())


def _interaction(rows: Sequence[JsonObject], kpi: str, variant: str) -> dict[str, Json]:
    """Cochran's Q of the deltas of groups; empty for a single group."""
    from rankgate.measurement.stats.special_functions import chdtrc

    if len(rows) < 2:
        return {}
    delta = np.array([row["delta"] for row in rows], np.float64)
    weight = np.array([row["error"] for row in rows], np.float64) ** -2.0
    mean = float((weight * delta).sum() / weight.sum())
    statistic = float((weight * (delta - mean) ** 2).sum())
    return {
        "kpi": kpi,
        "variant": variant,
        "groups": len(rows),
        "statistic": statistic,
        "p_value": float(chdtrc(len(rows) - 1, statistic)),
    }
