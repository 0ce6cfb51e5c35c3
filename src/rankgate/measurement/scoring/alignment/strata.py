"""Align rankings with the pool that a sample of judgments was drawn from, by stratum."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.measurement.metrics.sampling.sampled_pool import SampledPool

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.measurement.metrics.judged import Floats


def sampled_pools(block: Any) -> Iterator[tuple[NDArray[np.int64], list[SampledPool]]]:  # noqa: ANN401
    """The pools of whole queries, a ``scoring.alignment.block.Block``.

    Raises:
        InputError: probabilities that do not fit their strata.
    """
    aligned, index = block.aligned, block.judgments
    stratum, chance = _columns(index)
    ends = np.searchsorted(aligned.owner, np.arange(len(aligned.codes) + 1))
    sampled_pools = []
    for t, code in enumerate(aligned.codes):
        begin, end = index.offsets[code], index.offsets[code + 1]
        rank = np.full(end - begin, np.inf)
        rows = slice(ends[t], ends[t + 1])
        places = aligned.judgment[rows]
        rank[places[places >= 0] - begin] = aligned.rank[rows][places >= 0]
        _, codes = np.unique(stratum[begin:end], return_inverse=True)
        pool = SampledPool(rank, index.grades[begin:end], codes, chance[begin:end])
        pool.refuse_unfit(index.query_ids[int(code)])
        sampled_pools.append(pool)
    yield np.arange(len(sampled_pools)), sampled_pools


def _columns(index: Any) -> tuple[NDArray[np.int64], Floats]:  # noqa: ANN401 - a JudgmentIndex
    """Stratum and probability of each judgment, by its place."""
    table = getattr(index.given, "table", None)
    known_columns = (
        [] if table is None else [c for c in ("stratum", "inclusion") if c in table.columns]
    )
    n = len(index.grades)
    stratum, chance = np.zeros(n, np.int64), np.full(n, np.nan)
    if known_columns:
        owner = np.repeat(np.arange(len(index.query_ids)), np.diff(index.offsets))
        judgments = pl.DataFrame(
            {"query_id": index.query_ids.gather(owner), "doc_id": index.doc_ids}
        )
        pair = ["query_id", "doc_id"]
        rows = judgments.join(
            index.given.table.select(*pair, *known_columns),
            on=pair,
            how="left",
            maintain_order="left",
        )
        if "stratum" in known_columns:
            ranks = rows["stratum"].fill_null("").rank("dense")
            stratum = ranks.to_numpy().astype(np.int64)
        if "inclusion" in known_columns:
            chance = rows["inclusion"].fill_null(np.nan).to_numpy()
    return stratum, chance
