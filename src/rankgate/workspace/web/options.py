"""The choices that forms offer in lists, besides those that a route declares."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.data.formats import registry
from rankgate.store.kept import runs
from rankgate.store.rating import batches
from rankgate.workspace.records.alerts.rules import read_rules

if TYPE_CHECKING:
    from rankgate.workspace.web.asked import WebRequest


def list_run_names(request: WebRequest) -> list[str]:
    """The runs of the project."""
    with request.store.read() as connection:
        return [run.name for run in runs.list_runs(connection, request.project.id)]


def list_batch_names(request: WebRequest) -> list[str]:
    """The batches of the project."""
    with request.store.read() as connection:
        return [batch.name for batch in batches.list_batches(connection, request.project.id)]


def list_channel_names(request: WebRequest) -> list[str]:
    """The channels of the project's alerts."""
    text = str(request.project.settings.get("alerts", ""))
    return sorted(read_rules(text).channels) if text else []


def list_format_names(request: WebRequest) -> list[str]:  # noqa: ARG001 - as all of them
    """The formats that can be read."""
    return [form.name for form in registry.FORMATS]
