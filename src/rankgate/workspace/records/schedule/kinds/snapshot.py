"""Ask a search engine every query, and evaluate what it returns."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from rankgate.core.declare import Parameter
from rankgate.workspace.records.schedule.kind import JobKind, repeat_option


def snapshot_commands(project: str, values: Mapping[str, Any]) -> list[list[str]]:  # noqa: ARG001
    """``rankgate snapshot``, then ``rankgate eval`` of the run if there are judgments."""
    run = values["output"]
    record = [] if values["judgments"] else ["--record"]
    command_lines = [
        [
            "snapshot",
            f"--output={run}",
            "--force",
            *record,
            "--",
            values["engine"],
            values["queries"],
        ]
    ]
    if values["judgments"]:
        metrics = repeat_option("metric", values["metrics"])
        command_lines.append(["eval", "--record", *metrics, "--", values["judgments"], run])
    return command_lines


SNAPSHOT_JOB = JobKind(
    "snapshot",
    (
        Parameter("engine", "text", "the file of the engine", required=True),
        Parameter("queries", "text", "the file of the queries", required=True),
        Parameter("output", "text", "the file of the run, which ends in .run", "snapshot.run"),
        Parameter("judgments", "text", "the file of judgments; left out: the run is not evaluated"),
        Parameter("metrics", "texts", "metrics, such as nDCG@10", ("nDCG@10",)),
    ),
    snapshot_commands,
    files=frozenset({"engine", "queries", "output", "judgments"}),
    title="ask a search engine every query, and evaluate what it returns",
)
