"""All KPIs: those of rankgate, then those of installed plug-ins."""

from __future__ import annotations

from rankgate.core.declare import Registry
from rankgate.online.indicators import of_searches, of_sessions
from rankgate.online.indicators.kpi import Kpi

KPIS = Registry(
    Kpi,
    "KPI",
    (
        *of_searches.KPIS,
        *of_sessions.OF_EVENTS,
        *of_sessions.OF_CLICKS,
        *of_sessions.OF_SESSIONS,
        *of_sessions.OF_USERS,
    ),
    "rankgate.kpis",
)
"""KPIs by name."""

SLICES = {
    "day": ("searches", "clicks", "sessions", "users", "events"),
    "variant": ("searches", "clicks", "sessions", "users", "events"),
    "application": ("searches", "clicks", "sessions"),
    "band": ("searches",),
    "position": ("events",),
    "page": ("searches",),
}
"""The columns that divide figures, and the tables that have them; band is query frequency."""
