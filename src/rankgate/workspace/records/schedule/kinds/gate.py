"""Check a run of the project against a policy."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rankgate.core.declare import Parameter
from rankgate.workspace.records.schedule.kind import JobKind


def gate_commands(project: str, values: Mapping[str, Any]) -> list[list[str]]:
    """``rankgate gate`` of names in the project, recorded."""
    return [
        [
            "gate",
            f"--project={project}",
            "--record",
            f"--policy={values['policy']}",
            "--",
            values["judgments"],
            values["baseline"],
            values["candidate"],
        ]
    ]


GATE_JOB = JobKind(
    "gate",
    (
        Parameter("judgments", "text", "judgments in the project", required=True),
        Parameter("baseline", "text", "a run in the project", required=True),
        Parameter("candidate", "text", "a run in the project", required=True),
        Parameter("policy", "text", "the file of the policy", required=True),
    ),
    gate_commands,
    files=frozenset({"policy"}),
    good=frozenset({0, 1, 3}),  # a failed gate is a result
    title="check a run of the project against a policy",
)
