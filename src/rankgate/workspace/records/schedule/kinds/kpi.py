"""Compute KPIs of a log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rankgate.core.declare import Parameter
from rankgate.workspace.records.schedule.kind import JobKind, repeat_option


def kpi_commands(project: str, values: Mapping[str, Any]) -> list[list[str]]:  # noqa: ARG001
    """``rankgate online kpi``, recorded."""
    mapping = repeat_option("mapping", [values["mapping"]] if values["mapping"] else [])
    kpis = repeat_option("kpi", values["kpis"])
    return [["online", "kpi", "--record", *kpis, *mapping, "--", values["events"]]]


KPI_JOB = JobKind(
    "kpi",
    (
        Parameter("events", "text", "the folder or file of events", required=True),
        Parameter("kpis", "texts", "KPIs, such as search_ctr; left out: all", ()),
        Parameter("mapping", "text", "the file that says which column of the log holds what"),
    ),
    kpi_commands,
    files=frozenset({"events", "mapping"}),
    title="compute KPIs of a log",
)
