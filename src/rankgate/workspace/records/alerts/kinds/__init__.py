"""The kinds of alerts: a new one is a file in this folder, or an entry point of a package."""

from __future__ import annotations

from rankgate.core.declare import Registry, find_declared
from rankgate.workspace.records.alerts.kind import AlertKind

ALERTS = Registry(
    AlertKind, "kind of alert", lambda: find_declared(__name__, AlertKind), group="rankgate.alerts"
)
"""Every kind of alert, by name."""
