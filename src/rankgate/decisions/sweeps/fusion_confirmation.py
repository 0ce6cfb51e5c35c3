"""Does an engine fuse as the sweep does? Its own fusion is asked for at the chosen point."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.progress import step
from rankgate.decisions.sweeps.fusion_target import FusionTarget
from rankgate.decisions.sweeps.request_count import CONFIRMED
from rankgate.decisions.sweeps.targets import digest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankgate.decisions.sweeps.point_measurer import MeasuredPoint, PointMeasurer


@dataclass(frozen=True)
class Confirmation:
    """The lists of an engine's own fusion beside those that were computed.

    Attributes:
        engine: the name of the engine.
        queries: the number of queries that were asked.
        depth: the number of first documents that are compared.
        same_order: queries with the same first documents in the same order.
        same_documents: queries with the same first documents; equal scores may change their order.
        computed: the mean of the metric of the computed lists.
        live: the mean of the metric of the engine's lists; None if it failed.
        problem: why the engine failed; empty if it answered.
    """

    engine: str
    queries: int
    depth: int
    same_order: int
    same_documents: int
    computed: float | None
    live: float | None
    problem: str = ""

    @property
    def sentence(self) -> str:
        """What was compared, and what follows."""
        if self.problem:
            return f"{self.engine} did not confirm the chosen setting: {self.problem}"
        text = (
            f"{self.engine} itself, at the chosen setting: the first {self.depth} documents are the same in "
            f"{self.same_documents} of {self.queries} queries, in the same order in {self.same_order}"
        )
        if self.computed is not None and self.live is not None:
            text += f"; mean {self.live:.4f}, computed {self.computed:.4f}"
        if self.same_documents < self.queries:
            text += "; it fuses other lists: compare depths, shards and filters, or sweep the engine itself"
        return text


def confirm_fusion(
    measuring: PointMeasurer, chosen_point: MeasuredPoint, query_ids: Sequence[str] | None
) -> Confirmation | None:
    """Ask the engine of a fusion at the chosen point; None if there is none."""
    plan, target = measuring.plan, measuring.plan.target
    if not isinstance(target, FusionTarget) or target.confirm is None or chosen_point.scores is None:
        return None
    asked_ids = (sorted(target.confirm.query_ids) if query_ids is None else query_ids)[:CONFIRMED]
    name, depth = target.confirm.name, plan.scorer.depth
    step(f"{name}, to confirm the chosen setting")
    engine, point = target.confirm.with_queries(asked_ids), plan.settings_at(chosen_point.point)
    path = measuring.folder / f"confirm-{digest(engine.identity(point))[:16]}"
    live = engine.stored(path) or engine.take(point, path, lambda: None)
    if live.run is None:
        return Confirmation(name, len(asked_ids), depth, 0, 0, None, None, live.problem)
    # the lists of all training queries are in the folder, so that nothing is asked again
    fusion = target if query_ids is None else target.with_queries(query_ids)
    computed = fusion.take(point, measuring.folder / chosen_point.key, lambda: None).run
    assert computed is not None
    pairs = pl.DataFrame({"query_id": list(asked_ids)})
    for column, run in (("computed", computed), ("live", live.run)):
        sorted_rows = run.table.sort(["query_id", "score", "doc_id"], descending=[False, True, True])
        first = sorted_rows.group_by("query_id", maintain_order=True).agg(
            pl.col("doc_id").head(depth).alias(column)
        )
        pairs = pairs.join(first, "query_id", how="left").with_columns(pl.col(column).fill_null([]))
    is_same = pl.col("computed") == pl.col("live")
    is_same_set = pl.col("computed").list.sort() == pl.col("live").list.sort()
    order, documents = pairs.select(is_same.sum().alias("order"), is_same_set.sum().alias("documents")).row(0)
    in_metric = (pl.col("metric") == plan.scorer.metrics[0][0]) & pl.col("query_id").is_in(list(asked_ids))
    computed_mean, live_mean = (
        scores.filter(in_metric)["value"].fill_nan(0.0).mean()
        for scores in (chosen_point.scores, plan.scorer.scored(live.run).scores)
    )
    means: Any = computed_mean, live_mean
    return Confirmation(name, len(asked_ids), depth, order, documents, *means)
