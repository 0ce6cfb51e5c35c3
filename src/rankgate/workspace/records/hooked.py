"""What ``--record`` of other commands does with their result."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from rankgate.core.console.pairs import pairs
from rankgate.core.errors import RankgateError
from rankgate.data.collection import Collection
from rankgate.data.qrels import Qrels
from rankgate.workspace.records.record import record

if TYPE_CHECKING:
    from rankgate.core.present.result import Result
    from rankgate.workspace.records.recorded import Recorded

LABELS = "RANKGATE_LABELS"
"""The environment variable with labels: ``nightly=yes,ranker=2``."""


def record_command(result: Result, given: Mapping[str, Any]) -> Recorded:
    """Record the result of a command with the files that it read.

    Args:
        result: what the command made.
        given: the parameters of the command.

    Raises:
        UsageError: no place is named; it cannot be written.
    """
    words = [each for each in os.environ.get(LABELS, "").split(",") if each]
    names = _systems(result)
    project = given.get("project")
    store = given.get("store") if project else None
    qrels, runs = _inputs(given, names)
    return record(
        result, store=store, project=project, at=datetime.now(UTC).replace(microsecond=0),
        labels=pairs(words, LABELS, str), qrels=qrels, runs=runs,
    )  # fmt: skip


def _systems(result: Result) -> list[str]:
    """The names of the systems, in the order of the runs that the command reads."""
    if result.kind == "evaluation":
        return [run.run for run in getattr(result, "runs", ())]
    if result.kind == "comparison":
        found: Sequence[Any] = getattr(result, "comparisons", ())
        return [found[0].baseline.name, *(each.candidate.name for each in found)]
    if result.kind == "verdict":
        return list(getattr(result, "names", ()))
    return list(getattr(result, "systems", ()))


def _inputs(given: Mapping[str, Any], names: Sequence[str]) -> tuple[Any, dict[str, Any]]:
    """Judgments and runs that the command read, if they can be read again by themselves."""
    words: list[str] = []
    for name in ("baseline", "candidate", "candidates", "runs"):
        value = given.get(name)
        words += value if isinstance(value, tuple) else [value] if value else []
    places = [given.get("qrels"), *words]
    if given.get("columns") or given.get("scores") or "-" in places:
        return None, {}
    from rankgate.data.read import read_run

    qrels: Any = None
    runs: dict[str, Any] = {}
    project = given.get("project")
    try:
        if project:
            from rankgate.measurement.store_options import opened_project

            with opened_project(given.get("store"), project) as found:
                judged = found.judged(str(given["qrels"]))
                qrels = judged if isinstance(judged, Qrels) else None
                for name, word in zip(names, words, strict=False):
                    runs[name] = found.run(word)
                    runs[name].table  # noqa: B018 - read before the store is closed
            return qrels, runs
        if given.get("qrels"):
            qrels = Collection.of(given["qrels"]).qrels()
        runs = {name: read_run(word) for name, word in zip(names, words, strict=False)}
        for each in runs.values():
            each.table  # noqa: B018 - errors come now
    except RankgateError:  # judgments by subtopic, ratings of single raters, a saved baseline
        return qrels, {}
    return qrels, runs
