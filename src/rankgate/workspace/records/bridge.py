"""The parts of a break: the same run by the judgments before and after it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.errors import RankgateError
from rankgate.core.frozen import dataclass
from rankgate.measurement.evaluation.evaluate import evaluate
from rankgate.measurement.scoring.chosen import chosen_convention
from rankgate.workspace.records.figures.figures import interval

if TYPE_CHECKING:
    from rankgate.data.scores import Scores
    from rankgate.measurement.scoring.convention import Convention
    from rankgate.store.records.series import Point
    from rankgate.workspace.records.places.place import Place


@dataclass(frozen=True)
class Parts:
    """What a difference across a break is made of; the parts add up to it.

    Attributes:
        judgments: the run before it by the new judgments and convention, less by the old.
        queries: that the new mean is over other queries than the run before answers.
        rest: the new run less the run before, both by the new judgments.
        low, high: the 95 % interval of ``rest`` over queries.
        why: why the parts are not known; empty if they are.
    """

    judgments: float | None = None
    queries: float | None = None
    rest: float | None = None
    low: float | None = None
    high: float | None = None
    why: str = ""


def parts_of(place: Place, before: Point, after: Point) -> Parts:
    """Score the run before a break as the one after it was scored."""
    details = place.details(before)
    digest = str(details["inputs"].get("runs", {}).get(before.system, ""))
    run = place.run(digest) if digest else None
    if run is None:
        return Parts(why="the run before it is not kept; record with the run to see the parts.")
    qrels = place.qrels(after.qrels_sha256) if after.qrels_sha256 else None
    if qrels is None:
        return Parts(why="the judgments after it are not kept; record with --qrels.")
    convention = _convention(after)
    if convention is None:
        return Parts(why=f"the convention {after.convention} has changes that are not kept.")
    try:
        scores = evaluate(qrels, run, [after.metric], convention).runs[0]
    except RankgateError as error:
        return Parts(why=f"the run before it cannot be scored by them: {error}")
    return _parts(scores, before, after, place.per_query(after))


def _convention(point: Point) -> Convention | None:
    try:
        found = chosen_convention(point.convention)
    except RankgateError:
        return None
    return found if found.hash == point.convention_hash else None


def _parts(scores: Scores, before: Point, after: Point, table: pl.DataFrame | None) -> Parts:
    assert before.value is not None
    assert after.value is not None
    bridged = scores.means[after.metric]
    if table is None or after.metric not in scores.values:
        return Parts(bridged - before.value, 0.0, after.value - bridged)
    own = table.filter(pl.col("system") == after.system).select(
        "query_id", pl.col(after.metric).alias("new")
    )
    old = pl.DataFrame({
        "query_id": scores.query_ids,
        "old": scores.values[after.metric],
        "why": scores.why[after.metric],
    }).filter(pl.col("why") != _MISSING)  # fmt: skip
    both = own.join(old, on="query_id").drop_nulls().filter(pl.col("old").is_not_nan())
    if both.is_empty():
        return Parts(why="the run before it answers none of the queries.")
    mean: Any = both["old"].mean()
    rest, low, high = interval((both["new"] - both["old"]).to_numpy().astype(np.float64))
    assert rest is not None
    judgments = float(mean) - before.value
    return Parts(judgments, after.value - before.value - judgments - rest, rest, low, high)


_MISSING = 1
"""The place of "missing" among the reasons of `Scores.why`."""
