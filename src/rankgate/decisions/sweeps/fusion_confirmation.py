"""Does an engine fuse as the sweep does? Its own fusion is asked for at the chosen point."""

from __future__ import annotations

from typing import TYPE_CHECKING

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.progress import step
from rankgate.decisions.sweeps.fusion_target import FusionTarget
from rankgate.decisions.sweeps.request_count import CONFIRMED
from rankgate.decisions.sweeps.targets import UNSET, digest

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankgate.data import Run
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
    measuring: PointMeasurer, chosen: MeasuredPoint, query_ids: Sequence[str] | None
) -> Confirmation | None:
    """Ask the engine of a fusion at the chosen point; None if there is none."""
    plan, target = measuring.plan, measuring.plan.target
    if not isinstance(target, FusionTarget) or target.confirm is None:
        return None
    asked = sorted(target.confirm.query_ids)[:CONFIRMED] if query_ids is None else query_ids[:CONFIRMED]
    step(f"{target.confirm.name}, to confirm the chosen setting")
    settings, few = plan.settings_at(chosen.point), target.only(asked)
    assert few.confirm is not None
    own_settings = {name: value for name, value in settings.items() if few.confirm.current(name) is not UNSET}
    path = measuring.folder / f"confirm-{digest(few.confirm.identity(own_settings))[:16]}"
    live = few.confirm.stored(path) or few.confirm.take(own_settings, path, lambda: None)
    name, depth = target.confirm.name, plan.scorer.depth
    if live.run is None:
        return Confirmation(name, len(asked), depth, 0, 0, None, None, live.problem)
    # training lists of the target are kept, so that nothing is asked again
    kept = target if query_ids is None else target.only(query_ids)
    computed = kept.take(settings, measuring.folder / chosen.key, lambda: None).run
    assert computed is not None
    pairs = pl.DataFrame({"query_id": list(asked)}).join(
        _first_documents(computed, depth), "query_id", how="left"
    )
    pairs = pairs.join(_first_documents(live.run, depth), "query_id", how="left", suffix="_live")
    pairs = pairs.with_columns(pl.col("doc_id", "doc_id_live").fill_null([]))
    label = plan.scorer.metrics[0][0]
    means = []
    for run in (computed, live.run):
        scores = plan.scorer.scored(run).scores.filter(
            pl.col("query_id").is_in(list(asked)), pl.col("metric") == label
        )
        means.append(scores["value"].fill_nan(0.0).mean())
    return Confirmation(
        name,
        len(asked),
        depth,
        int((pairs["doc_id"] == pairs["doc_id_live"]).sum()),
        int((pairs["doc_id"].list.sort() == pairs["doc_id_live"].list.sort()).sum()),
        *means,  # type: ignore[arg-type]
    )


def _first_documents(run: Run, depth: int) -> pl.DataFrame:
    """``query_id`` and ``doc_id``, the list of its first documents, best first."""
    ordered = run.table.sort(["query_id", "score", "doc_id"], descending=[False, True, True])
    return ordered.group_by("query_id", maintain_order=True).agg(pl.col("doc_id").head(depth))
