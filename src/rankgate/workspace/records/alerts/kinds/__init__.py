"""The kinds of alerts: a new one is a file in this folder, or an entry point of a package."""

from __future__ import annotations

from rankgate.core.declare import Registry, declared_in
from rankgate.workspace.records.alerts.kind import AlertKind

ALERTS = Registry(
    AlertKind, "kind of alert", lambda: declared_in(__name__, AlertKind), group="rankgate.alerts"
)
"""Every kind of alert, by name."""
