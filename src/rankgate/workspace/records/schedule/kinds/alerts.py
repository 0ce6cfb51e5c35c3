"""Check the rules of alerts, and send the messages."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rankgate.workspace.records.schedule.kind import JobKind


def alert_commands(project: str, values: Mapping[str, Any]) -> list[list[str]]:  # noqa: ARG001
    """``rankgate alerts check``."""
    return [["alerts", "check", f"--project={project}"]]


ALERTS_JOB = JobKind(
    "alerts",
    (),
    alert_commands,
    good=frozenset({0, 1}),  # an alert is a result
    title="check the rules of alerts, and send the messages",
)
