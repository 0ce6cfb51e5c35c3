"""The loss of a pipeline against the best there is, by cause."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import polars as pl

from rankgate.core.frozen import dataclass

RETRIEVAL, DEPTH, CUT, ORDER = "retrieval", "depth", "cut", "order"
"""Causes of a loss: the document is not among the candidates of retrieval; it is below those that
a reranker orders; a reranker removes it; it is there, at a wrong rank."""

LOSSES: dict[str, Any] = {
    "stage": pl.String,
    "why": pl.String,
    "lost": pl.Float64,
    "share": pl.Float64,
}

_ROUNDING = 1e-12


@dataclass(frozen=True)
class Bottleneck:
    """The largest loss.

    Attributes:
        stage: its name.
        why: `RETRIEVAL`, `DEPTH`, `CUT` or `ORDER`.
        lost: the size of the loss, mean over queries.
        share: of all that is missing.
        next_stage, next_why, next_lost: the second largest loss; None if there is no other.
        low, high: interval of the difference of both losses, by Student's t; None where there
            are fewer than two queries, or no second.
        significant: True if that interval lies above 0.
    """

    stage: str
    why: str
    lost: float
    share: float
    next_stage: str | None
    next_why: str | None
    next_lost: float | None
    low: float | None
    high: float | None
    significant: bool


def compute_losses(values: pl.DataFrame, names: Sequence[str], path: Sequence[int]) -> pl.DataFrame:
    """The loss to the best possible value, in parts that add up.

        best − value_n = (best − ceiling_r)
                         + Σ_{r<i≤n} [(ceiling_{i−1} − reach_i) + (reach_i − ceiling_i)]
                         + (ceiling_n − value_n)

    with r the last stage that retrieves: what its candidates lack, what each later stage does not
    look at and takes out, and what the last stage's order leaves on the table. ``reach_i`` is the
    best that any order of the documents that stage i looks at could reach; without it a stage
    looks at all candidates.

    Args:
        values: ``best``, ``value0``, ``ceiling0``, …, and ``reach1``, … where it is known.
        names: of the stages.
        path: the indices of the stages from r to n.

    Returns:
        the columns of `LOSSES`, means over queries, then ``more`` and ``less``: the columns of
        values whose difference each is.
    """
    first, end = path[0], path[-1]
    pairs = [(names[first], RETRIEVAL, "best", f"ceiling{first}")]
    for before, i in pairwise(path):
        candidates = f"ceiling{before}"
        if f"reach{i}" in values.columns:
            pairs.append((names[i], DEPTH, candidates, f"reach{i}"))
            candidates = f"reach{i}"
        pairs.append((names[i], CUT, candidates, f"ceiling{i}"))
    pairs.append((names[end], ORDER, f"ceiling{end}", f"value{end}"))
    loss_means = [float((values[a] - values[b]).mean() or 0.0) for *_, a, b in pairs]  # type: ignore[arg-type]
    total = sum(loss_means)
    return pl.DataFrame(
        {
            "stage": [pair[0] for pair in pairs],
            "why": [pair[1] for pair in pairs],
            "lost": loss_means,
            "share": [loss / total if total > _ROUNDING else None for loss in loss_means],
            "more": [pair[2] for pair in pairs],
            "less": [pair[3] for pair in pairs],
        },
        schema={**LOSSES, "more": pl.String, "less": pl.String},
    )


def find_bottleneck(values: pl.DataFrame, lost: pl.DataFrame, level: float) -> Bottleneck | None:
    """The largest loss, with the significance of its difference to the second.

    Args:
        values: as for `compute_losses`.
        lost: the result of `compute_losses`.
        level: of the interval.
    """
    ranked = lost.sort("lost", descending=True, maintain_order=True)
    first = ranked.row(0, named=True)
    if first["lost"] <= _ROUNDING:
        return None
    second = ranked.row(1, named=True)  # retrieval and order are always present
    low = high = None
    if len(values) > 1:
        from rankgate.measurement.stats.interval import t_interval

        by_query = [values[row["more"]] - values[row["less"]] for row in (first, second)]
        interval = t_interval((by_query[0] - by_query[1]).to_numpy(), level)
        low, high = float(interval.low[0]), float(interval.high[0])
    has_second = second["lost"] > _ROUNDING
    return Bottleneck(
        first["stage"],
        first["why"],
        first["lost"],
        first["share"],
        second["stage"] if has_second else None,
        second["why"] if has_second else None,
        second["lost"] if has_second else None,
        low,
        high,
        low is not None and low > 0,
    )
