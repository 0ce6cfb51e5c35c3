"""All KPIs: those of rankgate, then those of installed plug-ins."""

from __future__ import annotations

from collections.abc import Container, Sequence

from rankgate.core.declare import Registry
from rankgate.online.indicators import of_searches, of_sessions
from rankgate.online.indicators.kpi import Kpi

KPIS = Registry(
    Kpi,
    "KPI",
    (
        *of_searches.KPIS, *of_sessions.OF_EVENTS, *of_sessions.OF_CLICKS,
        *of_sessions.OF_SESSIONS, *of_sessions.OF_USERS,
    ),
    "rankgate.kpis",
)  # fmt: skip
"""KPIs by name."""

SLICES = {
    "day": ("searches", "clicks", "sessions", "users", "events"),
    "variant": ("searches", "clicks", "sessions", "users", "events"),
    "application": ("searches", "clicks", "sessions"),
    "band": ("searches",),
    "position": ("events",),
    "page": ("searches",),
}
"""By what figures can be divided, and of which tables; band is the frequency of the query."""

_OF_GOALS = (
    "session_success_rate", "searches_per_success", "pages_per_success", "time_to_success_p50",
)  # fmt: skip


def has_events(each: Kpi, kinds: Container[str], success: Sequence[str] = ()) -> bool:
    """Whether a log with events of some kinds has what a KPI needs."""
    if each.name in _OF_GOALS and not success:
        return any(kind in kinds for kind in ("add_to_cart", "purchase"))
    return not each.needs or any(kind in kinds for kind in each.needs)
