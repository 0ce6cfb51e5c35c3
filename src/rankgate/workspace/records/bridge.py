"""The parts of a break: the same run by the judgments before and after it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.errors import RankgateError
from rankgate.core.frozen import dataclass
from rankgate.measurement.evaluation.evaluate import evaluate
from rankgate.measurement.scoring.chosen import chosen_convention
from rankgate.workspace.records.figures.figures import mean_with_interval

if TYPE_CHECKING:
    from rankgate.data.scores import RunScores
    from rankgate.measurement.scoring.convention import Convention
    from rankgate.store.records.series import Point
    from rankgate.workspace.records.places.place import RecordStorage


@dataclass(frozen=True)
class BreakParts:
    """The parts of a difference across a break; they add up to it.

    Attributes:
        judgments: the run before it by the new judgments and convention, less by the old.
        queries: that the new mean is over other queries than the run before answers.
        rest: the new run less the run before, both by the new judgments.
        low, high: the 95 % interval of ``rest`` over queries.
        why: the reason why the parts are not known; empty if they are.
    """

    judgments: float | None = None
    queries: float | None = None
    rest: float | None = None
    low: float | None = None
    high: float | None = None
    why: str = ""


def split_break(storage: RecordStorage, before: Point, after: Point) -> BreakParts:
    """Score the run before a break with the judgments and convention after it."""
    details = storage.details(before)
    digest = str(details["inputs"].get("runs", {}).get(before.system, ""))
    run = storage.run(digest) if digest else None
    if run is None:
        return BreakParts(
            why="the run before it is not kept; record with the run to see the parts."
        )
    qrels = storage.qrels(after.qrels_sha256) if after.qrels_sha256 else None
    if qrels is None:
        return BreakParts(why="the judgments after it are not kept; record with --qrels.")
    convention = _find_convention(after)
    if convention is None:
        return BreakParts(why=f"the convention {after.convention} has changes that are not kept.")
    try:
        scores = evaluate(qrels, run, [after.metric], convention).runs[0]
    except RankgateError as error:
        return BreakParts(why=f"the run before it cannot be scored by them: {error}")
    return _compute_parts(scores, before, after, storage.per_query(after))


def _find_convention(point: Point) -> Convention | None:
    try:
        convention = chosen_convention(point.convention)
    except RankgateError:
        return None
    return convention if convention.hash == point.convention_hash else None


def _compute_parts(
    scores: RunScores, before: Point, after: Point, table: pl.DataFrame | None
) -> BreakParts:
    assert before.value is not None
    assert after.value is not None
    rescored_mean = scores.means[after.metric]
    if table is None or after.metric not in scores.values:
        return BreakParts(rescored_mean - before.value, 0.0, after.value - rescored_mean)
    new_values = table.filter(pl.col("system") == after.system).select(
        "query_id", pl.col(after.metric).alias("new")
    )
    old_values = pl.DataFrame(
        {
            "query_id": scores.query_ids,
            "old": scores.values[after.metric],
            "why": scores.why[after.metric],
        }
    ).filter(pl.col("why") != _MISSING_REASON)
    joined = (
        new_values.join(old_values, on="query_id").drop_nulls().filter(pl.col("old").is_not_nan())
    )
    if joined.is_empty():
        return BreakParts(why="the run before it answers none of the queries.")
    mean: Any = joined["old"].mean()
    system_effect, low, high = mean_with_interval(
        (joined["new"] - joined["old"]).to_numpy().astype(np.float64)
    )
    assert system_effect is not None
    judgments = float(mean) - before.value
    return BreakParts(
        judgments, after.value - before.value - judgments - system_effect, system_effect, low, high
    )


_MISSING_REASON = 1
"""The position of "missing" among the reasons of `RunScores.why`."""
