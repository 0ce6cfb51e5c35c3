"""Evaluate runs of the project again."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rankgate.core.declare import Parameter
from rankgate.workspace.records.schedule.kind import JobKind, repeat_option


def evaluate_commands(project: str, values: Mapping[str, Any]) -> list[list[str]]:
    """``rankgate eval`` of names in the project, recorded."""
    return [
        [
            "eval",
            f"--project={project}",
            "--record",
            *repeat_option("metric", values["metrics"]),
            "--",
            values["judgments"],
            *values["runs"],
        ]
    ]


EVALUATE_JOB = JobKind(
    "evaluate",
    (
        Parameter(
            "judgments",
            "text",
            "judgments in the project, or all for the ratings so far",
            required=True,
        ),
        Parameter("runs", "texts", "runs in the project", required=True),
        Parameter("metrics", "texts", "metrics, such as nDCG@10", ("nDCG@10",)),
    ),
    evaluate_commands,
    title="evaluate runs of the project",
)
