"""Passes where few queries changed: by normal theory alone, and with the limit of their share."""

from __future__ import annotations

from dataclasses import dataclass
from math import sqrt
from typing import TYPE_CHECKING, Any

import numpy as np

from rankgate.decisions.gating.bounds import decide_statuses
from rankgate.decisions.gating.rule import Terms
from rankgate.measurement.stats.mean_intervals import guarded_interval
from rankgate.measurement.stats.rare_changes import FEW_CHANGES
from tables import marked, percent, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

MARGIN, ALPHA, REPLICATIONS = 0.02, 0.05, 4000
SIZES, LOSSES = (20, 50, 100, 300, 1000), (0.05, 0.1, 0.3, 1.0)
GAINERS, GAIN = 0.05, 0.0005
ERROR = sqrt(ALPHA * (1 - ALPHA) / REPLICATIONS)


@dataclass(frozen=True)
class Cell:
    """Passes in one cell.

    Attributes:
        loss, n: how much the queries that lose lose, and the number of queries.
        before, after: false passes at the margin by normal theory alone, and by the gate.
        sound_before, sound_after: passes where as many queries change by the gain alone.
    """

    loss: float
    n: int
    before: float
    after: float
    sound_before: float
    sound_after: float


def run(seed: int = 67) -> list[Cell]:
    """Every loss and size: MARGIN / loss of the queries lose, GAINERS of the others gain a little."""
    cells = []
    for loss in LOSSES:
        for n in SIZES:
            rng = np.random.default_rng([seed, n, round(100 * loss)])
            loses = rng.random((n, REPLICATIONS)) < MARGIN / loss
            gains = np.where(rng.random((n, REPLICATIONS)) < GAINERS, GAIN, 0.0)
            truth = -MARGIN + (1 - MARGIN / loss) * GAINERS * GAIN
            shares = [*_passes(np.where(loses, -loss, gains), truth)]
            shares += _passes(np.where(loses, GAIN, gains), -MARGIN)
            cells.append(Cell(loss, n, *shares))
    return cells


def section(cells: Sequence[Any]) -> str:
    """The section of the page."""
    worst_before, worst_after = (max(getattr(c, name) for c in cells) for name in ("before", "after"))
    small, large = (
        min(c.sound_after for c in cells if is_size(c.n)) for is_size in ((50).__ge__, (300).__le__)
    )
    text = (
        f"Some queries lose so much that the mean is at the margin of {MARGIN:g}; {GAINERS:.0%} of others "
        f"gain {GAIN:g}, the remaining ones are unchanged. A small sample often has the gains and no "
        f"loss, and its spread does not show them. Where fewer than {FEW_CHANGES} queries changed, "
        "the gate, TOST and the posterior bound the loss by the Clopper-Pearson limit of the share "
        "of such queries, times the largest loss that a query can have. "
        f"False passes were at most {worst_before:.1%} and are at most {worst_after:.1%}. The price: "
        f"where these queries gain {GAIN:g} too, which is sound, down to {small:.1%} of samples of up to 50 "
        f"queries still pass, and {large:.1%} of those of 300 or more. Lists that are all the same pass as "
        "equal at every size. Intervals of `compare` without a margin do not have this limit."
    )
    rows = [
        (
            f"{c.loss:g}",
            f"{c.n:,}",
            marked(c.before, c.before <= ALPHA + 3 * ERROR),
            marked(c.after, c.after <= ALPHA + 3 * ERROR),
            percent(c.sound_before),
            percent(c.sound_after),
        )
        for c in cells
    ]
    heads = (
        "loss",
        "n",
        "false passes, t alone",
        "with the limit",
        "sound passes, t alone",
        "with the limit",
    )
    return f"## Few changed queries\n\n{text}\n\n{table(heads, rows)}"


def _passes(delta: NDArray[np.float64], bound: float) -> tuple[float, float]:
    """The shares of samples whose mean is above a bound by normal theory alone, and by the gate."""
    has_spread = np.ptp(delta, axis=0) > 0
    low = np.where(has_spread, guarded_interval(delta, 1 - 2 * ALPHA).low, -np.inf)
    statuses = decide_statuses(delta, np.full(delta.shape[1], bound), Terms(), (-1.0, 1.0))
    return float((low > bound).mean()), float((statuses == "pass").mean())
