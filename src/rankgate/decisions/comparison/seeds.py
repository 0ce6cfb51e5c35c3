"""Systems with several seeds in a comparison: the spread between seeds, and what is refused with it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.result_frames import make_frame
from rankgate.data.query_tags import read_clusters
from rankgate.measurement.evaluation.seed_spread import SEED_SPREAD, one_run_caution, spread_row

if TYPE_CHECKING:
    from rankgate.data.run_scores import ScoredRun
    from rankgate.decisions.comparison.inference import Test
    from rankgate.decisions.comparison.paired_values import PairedValues

SEEDS = Columns(
    "One row per metric and system with several seeds, over the compared queries; no rows without seeds.",
    SEED_SPREAD,
    Column(
        "share",
        pl.Float64,
        "the share of the variance of delta that the seeds of this system add",
        ".0%",
        header="share of delta's\nvariance",
    ),
)

SEED_NOTE = (
    "Values are means over seeds; intervals and p are about other users and other seeds, whose variances add "
    "up (Bouthillier et al. 2021). Numbers of queries and detectable differences are left out: more queries "
    "do not make seeds more alike."
)


def seed_table(values: PairedValues, baseline: ScoredRun, candidate: ScoredRun) -> pl.DataFrame:
    """The table `SEEDS` of a pair."""
    from rankgate.measurement.stats.seed_variance import SeedVariance

    systems = [system.name for system in (baseline, candidate) if len(system.seeds) > 1]
    rows: list[tuple[Any, ...]] = []
    for j, metric in enumerate(values.metrics):
        delta = (values.candidate - values.baseline)[:, j]
        is_defined = ~np.isnan(delta)
        if is_defined.sum() > 1:
            columns = [table[is_defined, j] for table in values.seeds]
            added = [SeedVariance.from_values(column).variance for column in columns]
            total = delta[is_defined].var(ddof=1) / is_defined.sum() + sum(added)
            for name, column, variance in zip(systems, columns, added, strict=True):
                share = variance / total if total else None
                rows.append((*spread_row(metric, name, column.mean(axis=0)), share))
    return make_frame(rows, SEEDS)


def joined_seeds(tables: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """The rows of `SEEDS` of several comparisons, each metric and system once."""
    return pl.concat(tables).unique(["metric", "system"], keep="first", maintain_order=True)


def seed_cautions(baseline: ScoredRun, candidate: ScoredRun) -> Iterator[str]:
    """A sentence on a system with one run, if the other one has several seeds."""
    if bool(baseline.seeds) != bool(candidate.seeds):
        yield one_run_caution((candidate if baseline.seeds else baseline).name)


def methods_without_seeds(systems: Sequence[ScoredRun], test: Test) -> dict[str, bool]:
    """What does not account for the spread between seeds, each with whether it is stated."""
    return {
        "--margin": test.margin is not None,
        "--wanted": test.wanted is not None,
        "clusters of queries": bool(read_clusters(system.tagged for system in systems)),
    }
