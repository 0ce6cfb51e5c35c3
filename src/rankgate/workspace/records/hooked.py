"""Record the result of a command that has ``--record``, with its inputs."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from rankgate.core.console.pairs import parse_pairs
from rankgate.core.errors import RankgateError
from rankgate.data.collection import Collection
from rankgate.data.qrels import Qrels
from rankgate.workspace.records.record import record

if TYPE_CHECKING:
    from rankgate.core.present.result import Result
    from rankgate.workspace.records.recorded import Recorded

LABELS_VARIABLE = "RANKGATE_LABELS"
"""The environment variable with labels: ``nightly=yes,ranker=2``."""


def record_command_result(result: Result, parameters: Mapping[str, Any]) -> Recorded:
    """Record the result of a command with the files that it read.

    Args:
        result: what the command made.
        parameters: those of the command.

    Raises:
        UsageError: no place is named; it cannot be written.
    """
    label_texts = [text for text in os.environ.get(LABELS_VARIABLE, "").split(",") if text]
    names = _list_systems(result)
    project = parameters.get("project")
    store = parameters.get("store") if project else None
    qrels, runs = _read_inputs(parameters, names)
    return record(
        result,
        store=store,
        project=project,
        at=datetime.now(UTC).replace(microsecond=0),
        labels=parse_pairs(label_texts, LABELS_VARIABLE, str),
        qrels=qrels,
        runs=runs,
    )


def _list_systems(result: Result) -> list[str]:
    """The names of the systems, in the order of the runs that the command reads."""
    if result.kind == "evaluation":
        return [run.run for run in getattr(result, "runs", ())]
    if result.kind == "comparison":
        comparisons: Sequence[Any] = getattr(result, "comparisons", ())
        return [
            comparisons[0].baseline.name,
            *(comparison.candidate.name for comparison in comparisons),
        ]
    if result.kind == "verdict":
        return list(getattr(result, "names", ()))
    return list(getattr(result, "systems", ()))


def _read_inputs(parameters: Mapping[str, Any], names: Sequence[str]) -> tuple[Any, dict[str, Any]]:
    """Judgments and runs that the command read, if they can be read again by themselves."""
    run_names: list[str] = []
    for name in ("baseline", "candidate", "candidates", "runs"):
        value = parameters.get(name)
        run_names += value if isinstance(value, tuple) else [value] if value else []
    sources = [parameters.get("qrels"), *run_names]
    if parameters.get("columns") or parameters.get("scores") or "-" in sources:
        return None, {}
    from rankgate.data.read import read_run

    qrels: Any = None
    runs: dict[str, Any] = {}
    project = parameters.get("project")
    try:
        if project:
            from rankgate.measurement.store_options import opened_project

            with opened_project(parameters.get("store"), project) as open_project:
                judged = open_project.judged(str(parameters["qrels"]))
                qrels = judged if isinstance(judged, Qrels) else None
                for name, run_name in zip(names, run_names, strict=False):
                    runs[name] = open_project.run(run_name)
                    runs[name].table  # noqa: B018 - read before the store is closed
            return qrels, runs
        if parameters.get("qrels"):
            qrels = Collection.of(parameters["qrels"]).qrels()
        runs = {name: read_run(run_name) for name, run_name in zip(names, run_names, strict=False)}
        for run in runs.values():
            run.table  # noqa: B018 - errors come now
    except RankgateError:  # judgments by subtopic, ratings of single raters, a saved baseline
        return qrels, {}
    return qrels, runs
