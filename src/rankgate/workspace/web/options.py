"""The words that forms offer in lists, besides those that a route declares."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.data.formats import registry
from rankgate.store.kept import runs
from rankgate.store.rating import batches
from rankgate.workspace.records.alerts.rules import read_rules

if TYPE_CHECKING:
    from rankgate.workspace.web.asked import Asked


def run_names(asked: Asked) -> list[str]:
    """The runs of the project."""
    with asked.store.read() as connection:
        return [run.name for run in runs.listed(connection, asked.project.id)]


def batch_names(asked: Asked) -> list[str]:
    """The batches of the project."""
    with asked.store.read() as connection:
        return [batch.name for batch in batches.listed(connection, asked.project.id)]


def channel_names(asked: Asked) -> list[str]:
    """The channels of the project's alerts."""
    text = str(asked.project.settings.get("alerts", ""))
    return sorted(read_rules(text).channels) if text else []


def format_names(asked: Asked) -> list[str]:  # noqa: ARG001 - as all of them
    """The formats that can be read."""
    return [form.name for form in registry.FORMATS]
