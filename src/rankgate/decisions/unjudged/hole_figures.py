"""Bounds, estimates and influence of the unjudged documents."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.frames import frame
from rankgate.decisions.comparison.values import values_of
from rankgate.measurement.scoring.bounds import best_grade

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.collection import Selection
    from rankgate.decisions.unjudged.hole_model import Holes
    from rankgate.decisions.unjudged.hypothetical_grades import Stage

    Floats = NDArray[np.float64]

_LEVEL = 0.95
_CORNERS = 4
_ROWS, _FEWEST = 5_000_000, 40  # grades that are drawn; sets at least

FIGURES = {
    "metric": pl.String,
    "n": pl.Int64,
    "delta": pl.Float64,
    "worst": pl.Float64,
    "best": pl.Float64,
    "expected": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "flip": pl.Float64,
    "flip_random": pl.Float64,
    "flip_pooled": pl.Float64,
}


def figures(
    stage: Stage,
    found: Holes,
    margins: Mapping[str, float],
    draws: int,
    seed: int,
    selection: Selection = "unknown",
) -> pl.DataFrame:
    """Bounds and estimates of every metric within the lists.

    Where there are many holes, fewer sets of grades are drawn than are asked for.

    Returns:
        the columns of `FIGURES`.
    """
    values = values_of(stage.baseline, stage.candidate, "zero")
    place = {query: i for i, query in enumerate(values.query_ids)}
    column = {metric: j for j, metric in enumerate(values.metrics)}
    table, top = found.table, best_grade(stage.scorer.qrels)
    grades, pooled = found.drawn(sets_of_grades(draws, len(table)), seed, selection)
    kept = table["query_id"].is_in(values.query_ids)
    table, grades = table.filter(kept), grades[kept.to_numpy()]
    queries = table["query_id"].unique(maintain_order=True).to_list()
    rows = np.array([place[query] for query in queries], np.int64)
    suppositions = np.concatenate([corners(table, top), grades], axis=1)
    deltas = np.zeros((len(stage.metrics), len(queries), suppositions.shape[1]))
    if len(queries):
        for block, part in stage.deltas(table, suppositions):
            deltas[:, :, block] = part
    parts = []
    for j, (label, _) in enumerate(stage.metrics):
        at = column[label]
        gains = Gains(values.gains[:, at], rows, values.signs[at] * deltas[j], pooled)
        parts.append({"metric": label, **gains.figures(margins[label], values.signs[at])})
    return frame(parts, FIGURES)


@dataclass(frozen=True)
class Gains:
    """What the candidate gains by each query: as measured, and under grades of its holes.

    Attributes:
        measured: (T,) NaN where undefined.
        rows: (H,) the places of the queries with holes.
        supposed: (H, 4 + S) their gains under the corners, then under each drawn set.
        pooled: (S,) of each set: whether holes are worse than judged documents like them, as what
            no pooled system had.
    """

    measured: Floats
    rows: NDArray[np.int64]
    supposed: Floats
    pooled: NDArray[np.bool_]

    def figures(self, margin: float, sign: float) -> dict[str, Any]:
        """The columns of `FIGURES` but the first; differences have the metric's own sign."""
        known = ~np.isnan(self.measured)
        base, n = np.where(known, self.measured, 0.0), max(int(known.sum()), 1)
        rest = base.sum() - base[self.rows].sum()
        extremes, drawn = self.supposed[:, :_CORNERS], self.supposed[:, _CORNERS:]
        means = (rest + drawn.sum(axis=0)) / n
        # the spread of each drawn set, from the queries that do not change and those that do
        squares = (base**2).sum() - (base[self.rows] ** 2).sum() + (drawn**2).sum(axis=0)
        now = status(base.sum() / n, (base**2).sum(), n, margin)
        flips = np.array(
            [status(m, s, n, margin) != now for m, s in zip(means, squares, strict=True)]
        )
        shares = [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2]
        low, high = sorted(sign * each for each in np.quantile(means, shares))
        return {
            "n": int(known.sum()),
            "delta": float(sign * base.sum() / n),
            "worst": float(sign * (rest + extremes.min(axis=1).sum()) / n),
            "best": float(sign * (rest + extremes.max(axis=1).sum()) / n),
            "expected": float(sign * means.mean()),
            "low": float(low),
            "high": float(high),
            "flip": float(flips.mean()),
            "flip_random": _mean(flips[~self.pooled]),
            "flip_pooled": _mean(flips[self.pooled]),
        }


def _mean(flips: NDArray[np.bool_]) -> float:
    return float(flips.mean()) if flips.size else float("nan")


def status(mean: float, squares: float, n: int, margin: float) -> str:
    """Where a one-sided 95 % interval lies, compared with −margin: above, below, or neither."""
    from scipy.special import stdtrit

    if n < 2:  # one query has no spread
        return "above" if mean > -margin else "below"
    error = np.sqrt(max(squares - n * mean**2, 0.0) / (n - 1) / n)
    reach = float(stdtrit(n - 1, _LEVEL)) * error
    return "above" if mean - reach > -margin else "below" if mean + reach < -margin else "open"


def sets_of_grades(draws: int, holes: int) -> int:
    """How many sets of grades are drawn: fewer than asked for where there are many holes."""
    return min(draws, max(_FEWEST, _ROWS // max(holes, 1)))


def corners(table: pl.DataFrame, top: float) -> Floats:
    """(N, 4) all against the candidate and all for it, with shared documents bad and best.

    A document that both lists have has one grade in both; which of the two grades hurts more
    depends on its ranks, so both are tried.
    """
    mine = table["rank_candidate"].is_not_null().to_numpy()
    theirs = table["rank_baseline"].is_not_null().to_numpy()
    both = mine & theirs
    against = np.where(theirs, top, 0.0)
    favour = np.where(mine, top, 0.0)
    items = [np.where(both, shared, side) for side in (against, favour) for shared in (0.0, top)]
    return np.stack(items, axis=1) if len(table) else np.zeros((0, 4))


def judge_next(stage: Stage, found: Holes) -> pl.DataFrame:
    """Holes by how much their grade could move the mean difference of the first metric.

    influence = |Δ(best) − Δ(0)| · √(p(1 − p)) / queries, p the estimated probability of
    relevance: the standard deviation that judging the document takes away.
    """
    table = found.table
    relevant = found.chances[:, found.grades > 0].sum(axis=1)
    effect = np.zeros(0) if table.is_empty() else _effects(stage, found)
    spread = np.sqrt(relevant * (1 - relevant))
    result = table.with_columns(
        pl.Series("relevant", relevant), pl.Series("influence", np.abs(effect) * spread)
    )
    ranks = [
        pl.format("rank {}", pl.col(f"rank_{side}")).fill_null("not among the first")
        for side in ("baseline", "candidate")
    ]
    where = pl.format("{} of the baseline, {} of the candidate", *ranks)
    return result.with_columns(where.alias("why")).sort(
        "influence", "query_id", "doc_id", descending=[True, False, False]
    )


def _effects(stage: Stage, found: Holes) -> Floats:
    """(N,) by how much the mean difference moves if one hole alone is of the best grade."""
    top = best_grade(stage.scorer.qrels)
    table = found.table
    within = table.select(pl.int_range(pl.len()).over("query_id").alias("at"))["at"].to_numpy()
    most = int(within.max()) + 1
    # one supposition more than the fullest query has holes: the i-th of each is best, the rest 0
    grades = np.zeros((len(table), most + 1))
    grades[np.arange(len(table)), within] = top
    queries = table["query_id"].unique(maintain_order=True).to_list()
    place = {query: i for i, query in enumerate(queries)}
    owner = np.array([place[query] for query in table["query_id"].to_list()], np.int64)
    effect = np.zeros((len(queries), most + 1))
    for block, part in stage.deltas(table, grades):
        effect[:, block] = part[0]
    n = max(len(stage.baseline.queries), 1)
    return np.asarray((effect[owner, within] - effect[owner, most]) / n, np.float64)
