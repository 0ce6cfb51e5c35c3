"""All KPIs: those of rankgate, then those of installed plug-ins.

This module declares the KPIs with clicks, sessions, users or events as rows.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from functools import partial

from rankgate.core.declare import Registry
from rankgate.core.errors import UsageError
from rankgate.online.events.event_table import PRICED, SURVEY_PATTERN
from rankgate.online.events.log_checks import Subject
from rankgate.online.indicators import kpis_of_searches
from rankgate.online.indicators.kpi import Kpi
from rankgate.online.indicators.search_tables import (
    NULL_IS_FALSE,
    QUICK_RETURN_SECONDS,
    SATISFIED_SECONDS,
    load_ibis,
    seconds,
    value_where,
)

_REVENUE_SUBJECTS: tuple[Subject, ...] = ("sessions", "revenue")
_WEEK = 7

_click_kpi = partial(Kpi, table="clicks", made_of=("clicks", "sessions", "time", "click times"))
_session_kpi = partial(Kpi, table="sessions", made_of=("sessions",))
_goal_kpi = partial(_session_kpi, needs=("add_to_cart", "purchase"), of_goal=True)
"""KPIs of sessions that reached their goal, which is this one if the log names no other actions."""

OF_CLICKS = (
    _click_kpi(
        "mean_click_rank",
        title="Rank of clicks",
        formula="mean rank over clicks with a rank",
        source="Meilisearch (average click position)",
        of=lambda t: t["rank"],
        unit="rank",
        better="down",
        made_of=("clicks", "ranks"),
    ),
    _click_kpi(
        "dwell_p50",
        title="Time on clicked documents, median",
        formula="median over clicks of the logged dwell, or of the time to the next search or click of the "
        "session; the last click of a session does not count if no event is logged",
        source="Kim and others 2014",
        of=lambda t: t.dwell,
        quantile=0.5,
        unit="seconds",
        better="up",
    ),
    _click_kpi(
        "satisfied_click_rate",
        title="Clicks that satisfied",
        formula=f"clicks with a dwell of at least {SATISFIED_SECONDS} s, or the last of their session / "
        "clicks",
        source="Fox and others 2005",
        of=lambda t: t.satisfied,
        unit="share",
        better="up",
    ),
    _click_kpi(
        "quick_back_rate",
        title="Clicks after which the user returned quickly",
        formula=f"clicks with a dwell below {QUICK_RETURN_SECONDS} s / clicks with a known dwell",
        of=lambda t: t.dwell < QUICK_RETURN_SECONDS,
        unit="share",
        better="down",
    ),
)

OF_SESSIONS = (
    _session_kpi(
        "session_ctr",
        title="Sessions with a click",
        formula="sessions with a click on a result / sessions with a search",
        of=lambda t: value_where(t.searches > 0, t.clicked),
        unit="share",
        better="up",
        needs=("click",),
        made_of=("sessions", "clicks"),
    ),
    _session_kpi(
        "searches_per_session",
        title="Searches per session",
        formula="searches / sessions with a search",
        of=lambda t: t.searches,
        unit="count",
        better="",
    ),
    _session_kpi(
        "pages_per_session",
        title="Pages per session",
        formula="(pages of results + clicked documents) / sessions",
        source="Google Analytics, with searches and clicks as pages",
        of=lambda t: t.pages,
        unit="pages",
        better="",
    ),
    _session_kpi(
        "session_duration",
        title="Length of sessions",
        formula="mean of (last event - first event)",
        source="Google Analytics",
        of=lambda t: t.seconds,
        unit="seconds",
        better="",
        made_of=("sessions", "time"),
    ),
    _session_kpi(
        "bounce_rate",
        title="Sessions of one page",
        formula="sessions with one page / sessions with a page",
        source="Google Analytics",
        of=lambda t: value_where(t.pages > 0, t.pages == 1),
        unit="share",
        better="down",
    ),
    _session_kpi(
        "session_return_rate",
        title="Sessions that clicked and then searched again",
        formula="sessions with a click and at least two searches / sessions with a click",
        source="Wikimedia search metrics (desktop return rate)",
        of=lambda t: value_where(t.clicked, t.searches > 1),
        unit="share",
        better="",
        needs=("click",),
        made_of=("sessions", "clicks"),
    ),
    _session_kpi(
        "reformulations_per_session",
        title="Reformulations per session",
        formula="reformulated searches / sessions with a search",
        of=lambda t: t.reformulations,
        unit="count",
        better="down",
        made_of=("sessions", "searches", "time"),
    ),
    _goal_kpi(
        "session_success_rate",
        title="Sessions that reached their goal",
        formula="sessions with an add_to_cart or a purchase, or with the actions that --success names / "
        "sessions with a search",
        of=lambda t: value_where(t.searches > 0, t.done),
        unit="share",
        better="up",
    ),
    _goal_kpi(
        "searches_per_success",
        title="Searches per successful session",
        formula="searches of all sessions / sessions that reached their goal",
        of=lambda t: t.searches,
        per=lambda t: t.done.cast("int64"),
        unit="count",
        better="down",
    ),
    _goal_kpi(
        "pages_per_success",
        title="Pages per successful session",
        formula="(pages of results + clicked documents) of all sessions with a search / sessions that "
        "reached their goal",
        of=lambda t: value_where(t.searches > 0, t.pages),
        per=lambda t: ((t.searches > 0) & t.done).fill_null(NULL_IS_FALSE).cast("int64"),
        unit="pages",
        better="down",
    ),
    _goal_kpi(
        "time_to_success_p50",
        title="Time to the goal, median",
        formula="median over successful sessions of (goal - first search)",
        of=lambda t: value_where(t.done & (t.done_at >= t.first_search), seconds(t.done_at, t.first_search)),
        quantile=0.5,
        unit="seconds",
        better="down",
        made_of=("sessions", "time", "click times"),
    ),
    _session_kpi(
        "session_conversion_rate",
        title="Sessions with a purchase",
        formula="sessions with a purchase / sessions",
        of=lambda t: t.purchases > 0,
        unit="share",
        better="up",
        needs=("purchase",),
    ),
    _session_kpi(
        "revenue_per_session",
        title="Revenue per session",
        formula="value of purchases / sessions; null where the log has no prices",
        of=lambda t: t.revenue.fill_null(0.0),
        unit="money",
        better="up",
        needs=(PRICED,),
        made_of=_REVENUE_SUBJECTS,
    ),
    _session_kpi(
        "revenue_per_session_winsorised",
        title="Revenue per session, large sums cut off",
        formula="as revenue_per_session, with each sum cut off at the 99.9th percentile of sums above 0",
        of=lambda t: t.revenue.fill_null(0.0),
        cap=0.999,
        unit="money",
        better="up",
        needs=(PRICED,),
        made_of=_REVENUE_SUBJECTS,
    ),
)

OF_USERS = (
    Kpi(
        "repeat_visit_rate",
        title="Sessions after which the user comes back within a week",
        formula=f"sessions followed by another of the user within {_WEEK} days / sessions that ended at "
        f"least {_WEEK} days before the log does, or were followed",
        table="users",
        of=lambda t: load_ibis().cases(
            (t.days_to_next <= _WEEK, True), (t.days_seen >= _WEEK, False), else_=None
        ),
        unit="share",
        better="up",
        made_of=("sessions", "users", "time"),
    ),
    Kpi(
        "days_to_return_p50",
        title="Days until the user comes back, median",
        formula="median of (next session - end of session) over sessions that another follows",
        table="users",
        of=lambda t: t.days_to_next,
        quantile=0.5,
        unit="days",
        better="down",
        made_of=("sessions", "users", "time"),
    ),
)

OF_EVENTS = (
    Kpi(
        "impression_ctr",
        title="Results that are clicked",
        formula="clicks / shown results",
        table="events",
        of=lambda t: t.kind == "click",
        per=lambda t: (t.kind == "impression").cast("int64"),
        unit="share",
        better="up",
        needs=("click",),
        made_of=("clicks", "impressions"),
    ),
    Kpi(
        "goods_return_rate",
        title="Returned purchases",
        formula="refunds / purchases; null in a log without refunds",
        table="events",
        of=lambda t: t.kind == "refund",
        per=lambda t: (t.kind == "purchase").cast("int64"),
        unit="share",
        better="down",
        needs=("refund",),
        made_of=("revenue",),
    ),
    Kpi(
        "survey_score",
        title="Answers of users",
        formula="mean value of events with the action survey, rating, satisfaction or feedback",
        table="events",
        of=lambda t: value_where((t.kind == "other") & t.action.lower().re_search(SURVEY_PATTERN), t.value),
        unit="score",
        better="up",
        made_of=("surveys",),
    ),
)


class KpiCatalogue(Registry[Kpi]):
    """The KPIs of rankgate and of plug-ins, and those that the mapping of a log declares.

    A mapping's KPIs are found by their names; they are not among the names that are listed.
    """

    mapping_kpis: Mapping[str, Kpi] = {}

    def declare(self, kpis: Iterable[Kpi]) -> None:
        """Add KPIs of a mapping; they replace those of equal names of other mappings."""
        self.mapping_kpis = {**self.mapping_kpis, **{kpi.name: kpi for kpi in kpis}}

    def __getitem__(self, name: str) -> Kpi:
        return self.mapping_kpis[name] if name in self.mapping_kpis else super().__getitem__(name)

    def find(self, name: str) -> Kpi:
        """Return the KPI with a name or an alias.

        Raises:
            UsageError: No KPI has the name; the message gives the nearest.
        """
        if name in self.mapping_kpis:
            return self.mapping_kpis[name]
        if name not in self and (matches := get_close_matches(name, self.mapping_kpis, 1)):
            problem = f"no KPI is called {name!r}; did you mean {matches[0]}?"
            raise UsageError(problem, code="unknown-KPI")
        return super().find(name)


KPIS = KpiCatalogue(
    Kpi, "KPI", (*kpis_of_searches.KPIS, *OF_EVENTS, *OF_CLICKS, *OF_SESSIONS, *OF_USERS), "rankgate.kpis"
)
"""KPIs by name."""


def format_kpi(name: str, value: float | None) -> str:
    """A value with its unit.

    >>> (format_kpi("search_ctr", 0.275), format_kpi("mean_click_rank", 2.45),
    ...  format_kpi("search_ctr", None))
    ('27.50%', '2.450', '–')
    """
    if value is None:
        return "–"
    unit = KPIS[name].unit if name in KPIS else ""
    if unit == "share":
        return f"{value:.2%}"
    if unit in ("seconds", "ms"):
        return f"{value:,.3f} {'s' if unit == 'seconds' else unit}"
    return f"{value:,.2f}" if unit == "money" else f"{value:,.3f}"
