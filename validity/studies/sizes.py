"""Do the recommended numbers of queries have the power that is meant?

A pair of neighbouring systems is a population of topics, four metrics each. A sample of its topics
is compared, its means moved to those of the population ("if the difference stays"), and the number
of queries is computed from the sample alone. Fresh samples of that number are then decided upon:
significance of a metric after Holm's correction, and passes of a gate of one to four rules.
"""

from __future__ import annotations

import csv
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.special import stdtr

from rankgate.measurement.stats.mean_intervals import guarded_ends
from rankgate.measurement.stats.multiple_comparisons import corrected_rows
from rankgate.measurement.stats.query_power import Samples, queries_for, queries_for_power
from studies.populations import FOLDER

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

METRICS = ("ndcg_cut_10", "map", "P_5", "recip_rank")
PAIRS, PILOT, FRESH, POWER, ALPHA = 24, 30, 1000, 0.8, 0.05
DECISIONS = ("1 metric", "4 metrics, Holm", "1 rule", "2 rules", "4 rules")
MARGIN = 0.5  # of a standard deviation: how far the means of a gate lie above their bounds


@dataclass(frozen=True)
class Cell:
    """One kind of decision.

    Attributes:
        data: whose topics.
        decision: what has to come out.
        pairs: of systems; a sample of each.
        formula: mean power of the queries that the paired t-test alone would take.
        simulated: mean power of the queries by simulation through the decision.
        low, high: between which the power lies for the middle 80 % of samples.
    """

    data: str
    decision: str
    pairs: int
    formula: float
    simulated: float
    low: float
    high: float

    @property
    def holds(self) -> bool:
        """Whether the mean power is as meant, within .03."""
        return abs(self.simulated - POWER) <= 0.03


def run(pairs: int = PAIRS, seed: int = 0) -> list[Cell]:
    """Both rounds of TREC-COVID, every decision; empty where the data are not at hand."""
    cells = []
    for name in ("r1", "r2"):
        path = FOLDER / "score-matrices-trec-covid" / f"scores.{name}.csv"
        if not path.is_file() and not path.with_suffix(".csv.gz").is_file():
            return []
        scores = _scores(name)
        rng = np.random.default_rng([seed, len(cells)])
        some = _pairs(scores, pairs, rng)
        cells += [_cell(f"TREC-COVID {name}", decision, some, rng) for decision in DECISIONS]
    return cells


def _cell(data: str, decision: str, some: list[Floats], rng: np.random.Generator) -> Cell:
    plain, simulated = [], []
    for population in some:
        count = int(decision[0])
        whole = population[:, :count]
        if "rule" in decision:
            whole = whole - whole.mean(axis=0) + MARGIN * whole.std(axis=0)
            decide, sides = _passes, 1
        else:
            decide, sides = _significant, 2
        mean = whole.mean(axis=0)
        pilot = whole[rng.integers(len(whole), size=PILOT)]
        pilot = pilot - pilot.mean(axis=0) + mean
        sd = pilot.std(axis=0, ddof=1)
        if not (sd > 0).all() or not mean.all():
            continue
        alone = [queries_for_power(m, s, ALPHA, POWER, sides) for m, s in zip(mean, sd, strict=True)]
        first = alone[0] if sides == 2 else max(alone)
        if first > 20_000:
            continue
        sized = queries_for(pilot, decide(mean), POWER, start=first)[0]
        plain.append(_power(whole, first, decide(mean), rng))
        simulated.append(_power(whole, sized, decide(mean), rng))
    low, high = np.quantile(simulated, [0.1, 0.9])
    return Cell(
        data,
        decision,
        len(simulated),
        float(np.mean(plain)),
        float(np.mean(simulated)),
        float(low),
        float(high),
    )


def _power(
    whole: Floats, n: float, decide: Callable[[Samples], NDArray[np.bool_]], rng: np.random.Generator
) -> float:
    """The share of fresh samples of the population in which the decision comes out."""
    size = max(int(np.ceil(n)), 3)
    hits = []
    for _ in range(10):
        own = whole[rng.integers(len(whole), size=(FRESH // 10, size))]
        mean, sd = own.mean(axis=1), own.std(axis=1, ddof=1)
        third = ((own - mean[:, None]) ** 3).mean(axis=1)
        wide = own.std(axis=1)
        skew = np.where(wide > 0, third / np.where(wide > 0, wide, 1.0) ** 3, 0.0)
        hits.append(decide(Samples(np.full(mean.shape, float(size)), mean, sd, skew))[:, 0])
    return float(np.mean(hits))


def _significant(mean: Floats) -> Callable[[Samples], NDArray[np.bool_]]:
    def decide(samples: Samples) -> NDArray[np.bool_]:
        with np.errstate(divide="ignore", invalid="ignore"):
            p = 2 * stdtr(samples.n - 1, -np.abs(samples.mean / samples.error))
        p = corrected_rows(np.where(np.isnan(p), 1.0, p), "holm")
        return np.asarray((p <= ALPHA) & (samples.mean * mean > 0))[:, :1]

    return decide


def _passes(_: Floats) -> Callable[[Samples], NDArray[np.bool_]]:
    """Every rule passes: the low end of its one-sided interval lies above its bound, here 0."""

    def decide(samples: Samples) -> NDArray[np.bool_]:
        few = samples.n < 10
        with np.errstate(divide="ignore", invalid="ignore"):
            low, _ = guarded_ends(
                samples.mean, samples.error, samples.skewness, np.maximum(samples.n, 3), 1 - 2 * ALPHA
            )
        return np.asarray(((low > 0) & ~few).all(axis=1)[:, None])

    return decide


def _scores(name: str) -> dict[str, Floats]:
    """(topics, metrics) of each run."""
    import gzip

    path = FOLDER / "score-matrices-trec-covid" / f"scores.{name}.csv.gz"
    with gzip.open(path, "rt", encoding="utf-8", newline="") as stream:
        rows = list(csv.DictReader(stream))
    found: dict[str, list[tuple[str, list[float]]]] = {}
    for row in rows:
        found.setdefault(row["run"], []).append((row["topic"], [float(row[metric]) for metric in METRICS]))
    return {run: np.array([values for _, values in sorted(some)]) for run, some in found.items()}


def _pairs(scores: dict[str, Floats], count: int, rng: np.random.Generator) -> list[Floats]:
    """Differences of systems that lie some places apart by their first metric."""
    order = sorted(scores, key=lambda run: -scores[run][:, 0].mean())
    order = order[: len(order) * 3 // 4]
    begin = rng.integers(len(order) - 12, size=count)
    apart = rng.integers(3, 12, size=count)
    return [scores[order[i]] - scores[order[i + j]] for i, j in zip(begin, apart, strict=True)]


def section(cells: Sequence[Cell]) -> str:
    """The section of the page."""
    rows = [
        f"| {c.data} | {c.decision} | {c.pairs} | {c.formula:.1%} | "
        f"{c.simulated:.1%}{'' if c.holds else ' ✘'} | {c.low:.0%} to {c.high:.0%} |"
        for c in cells
    ]
    words = (
        f"How many queries a difference takes is computed from a sample of {PILOT} topics of two systems, "
        "for the mean that the sample shows, so that fresh samples of that number should have a power of "
        f"{POWER:.0%}. By the paired t-test alone (as it was before), and by simulation through the decision "
        "itself: a metric that is significant after Holm's correction over four, or all of several rules "
        "that pass. The last column: the middle 80 % of samples, as the spread of so few topics is itself "
        "not known well. A mean that differs from the target by more than 3 % is marked ✘."
    )
    head = "| data | decision | pairs | t-test alone | simulated | 80 % of samples |"
    rule = "|:--|:--|:--|:--|:--|:--|"
    return "\n".join(["## Numbers of queries", "", words, "", head, rule, *rows, ""])
