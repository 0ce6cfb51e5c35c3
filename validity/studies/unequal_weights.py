"""Queries of unequal weights: intervals and verdicts, as they were and as they are."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rankgate.decisions.gating.bounds import decide_statuses
from rankgate.decisions.gating.rule import Terms
from rankgate.measurement.stats.mean_intervals import guarded_ends, skewness, student_quantile, t_interval
from rankgate.measurement.stats.sampling_design import inclusion_probabilities
from rankgate.measurement.stats.weighted_means import WeightPrecision, estimate_population
from tables import marked, percent, table

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Weights = Callable[[int, np.random.Generator], Floats]

ALPHA, MARGIN = 0.05, 0.02
REPLICATIONS, POPULATIONS = 1000, 25
SD = 0.2
SETS, LOOKED_AT = 2000, 200


@dataclass(frozen=True)
class Cell:
    """One design, before (linearised error, n − 1 degrees of freedom) and now.

    Attributes:
        design: how queries weigh and were drawn.
        n: queries drawn.
        effective: median of effective queries.
        decided: share of samples with an interval now.
        covers, covers_before: 95 % intervals of `compare` that hold the truth, of those there are.
        false_pass, false_pass_before: passes of all samples where the loss is the margin.
        false_fail, false_fail_before: fails of all samples where the loss is the margin.
        power, power_before: passes of all samples where nothing is lost on average.
        holds: if false passes are at most 5 %, within three standard errors.
    """

    design: str
    n: int
    effective: float
    decided: float
    covers: float
    covers_before: float
    false_pass: float
    false_pass_before: float
    false_fail: float
    false_fail_before: float
    power: float
    power_before: float
    holds: bool


@dataclass(frozen=True)
class Dominated:
    """Two equal systems, 40 queries of which one has a share of the traffic; margin .02.

    Attributes:
        share: of the one query.
        effective: effective queries.
        passed_before, failed_before: of sets by the old interval.
        decided: of sets now.
    """

    share: float
    effective: float
    passed_before: float
    failed_before: float
    decided: float


def zipf(exponent: float) -> Weights:
    """Weights rank^−exponent."""
    return lambda size, _: np.arange(1, size + 1.0) ** -exponent


def lognormal(sd: float) -> Weights:
    """Lognormal weights, largest first."""
    return lambda size, rng: -np.sort(-rng.lognormal(0, sd, size))


def uniform(size: int, rng: np.random.Generator) -> Floats:
    """From .5 to 1.5."""
    return -np.sort(-rng.uniform(0.5, 1.5, size))


def two(size: int, _: np.random.Generator) -> Floats:
    """A fifth of the queries counts five times as much."""
    return np.where(np.arange(size) < size / 5, 5.0, 1.0)


HEAD = 20  # queries that lose, unless a design says otherwise

DESIGNS: dict[str, tuple[Weights, int, int, float, bool]] = {
    "Zipf .5": (zipf(0.5), 20_000, 100, 0.0, False),
    "Zipf .8": (zipf(0.8), 20_000, 100, 0.0, False),
    "Zipf 1": (zipf(1.0), 20_000, 100, 0.0, False),
    "Zipf 1.2": (zipf(1.2), 20_000, 100, 0.0, False),
    "Zipf .5, head loses .4": (zipf(0.5), 20_000, 100, 0.4, False),
    "Zipf .8, head loses .4": (zipf(0.8), 20_000, 100, 0.4, False),
    "Zipf 1, head loses .4": (zipf(1.0), 20_000, 100, 0.4, False),
    "Zipf 1.2, head loses .4": (zipf(1.2), 20_000, 100, 0.4, False),
    "Zipf 1 of 4,000": (zipf(1.0), 4000, 60, 0.0, False),
    "Zipf 1 of 4,000, head loses .4": (zipf(1.0), 4000, 60, 0.4, False),
    "lognormal, sd 1": (lognormal(1.0), 4000, 100, 0.0, False),
    "lognormal, sd 1, head loses .4": (lognormal(1.0), 4000, 100, 0.4, False),
    "lognormal, sd .5": (lognormal(0.5), 4000, 30, 0.0, False),
    "from .5 to 1.5, 15": (uniform, 4000, 15, 0.0, False),
    "from .5 to 1.5, 60": (uniform, 4000, 60, 0.0, False),
    "a fifth counts fivefold": (two, 4000, 60, 0.0, False),
    "Zipf 1 by traffic": (zipf(1.0), 4000, 60, 0.0, True),
    "Zipf 1 by traffic, head loses .4": (zipf(1.0), 4000, 60, 0.4, True),
    "Zipf 1.2 by traffic, head loses .4": (zipf(1.2), 20_000, 100, 0.4, True),
    "Zipf .5, head of 100 loses .4": (zipf(0.5), 20_000, 100, 0.4, False),
    "Zipf .5, head of 200 loses .4": (zipf(0.5), 20_000, 100, 0.4, False),
    "Zipf .5, head of 500 loses .4": (zipf(0.5), 20_000, 100, 0.4, False),
    "lognormal, sd 1, head of 200 loses .4": (lognormal(1.0), 20_000, 100, 0.4, False),
    "Zipf .5 by traffic, head of 200 loses .4": (zipf(0.5), 20_000, 100, 0.4, True),
}
"""Weights, size of the population, queries drawn, what the first queries lose in addition, and if
queries are drawn with chances proportional to their weights."""

HEADS = {name: int(name.split("head of ")[1].split()[0]) for name in DESIGNS if "head of " in name}


def run(replications: int = REPLICATIONS, seed: int = 43) -> list[Any]:
    """Every design, then dominated sets."""
    cells: list[Any] = [_cell(name, design, replications, seed) for name, design in DESIGNS.items()]
    return cells + [_dominated(share, seed) for share in (0.61, 0.84, 0.9999)]


def _cell(name: str, design: tuple[Any, ...], replications: int, seed: int) -> Cell:
    weigh, size, n, head_loss, by_traffic = design
    rng = np.random.default_rng([seed, *name.encode()])
    rows = []
    for _ in range(POPULATIONS):
        weights = weigh(size, rng)
        values = rng.normal(0, SD, size)
        values[: HEADS.get(name, HEAD)] -= head_loss
        values -= weights @ values / weights.sum()  # the truth is 0
        chance = inclusion_probabilities(weights, n) if by_traffic else np.full(size, n / size)
        for _ in range(replications // POPULATIONS):
            sample_indices = (
                np.flatnonzero(rng.random(size) < chance)
                if by_traffic
                else rng.choice(size, n, replace=False)
            )
            rows.append(
                _one(
                    values[sample_indices],
                    weights[sample_indices] / chance[sample_indices],
                    chance[sample_indices],
                )
            )
    result = {key: np.array([row[key] for row in rows]) for key in rows[0]}
    decided = result["decided"] > 0
    mean = {key: float(result[key].mean()) for key in result}
    return Cell(
        name,
        n,
        float(np.median(result["effective"])),
        float(decided.mean()),
        float(result["covers"][decided].mean()) if decided.any() else float("nan"),
        *(
            mean[key]
            for key in (
                "covers_before",
                "false_pass",
                "false_pass_before",
                "false_fail",
                "false_fail_before",
                "power",
                "power_before",
            )
        ),
        mean["false_pass"] <= ALPHA + 3 * (ALPHA * (1 - ALPHA) / len(rows)) ** 0.5,
    )


def _one(values: Floats, weights: Floats, chance: Floats) -> dict[str, float]:
    """One sample whose truth is 0: a loss of the margin is a bound of 0."""
    certain = chance == 1
    sure = certain if certain.any() else None
    now = estimate_population(values, weights, certain=sure)
    weighing = WeightPrecision.from_weights(weights, None, sure)
    decided = weighing.problem(now) is None
    ends = t_interval(now.values, 1 - ALPHA, degrees=weighing.degrees)
    terms = Terms(degrees=weighing.degrees)
    verdicts = decide_statuses(np.repeat(now.values[:, None], 2, axis=1), np.array([0.0, -MARGIN * 4]), terms)
    n, v = len(values), weights / weights.mean()
    mean = float(v @ values / n)
    old = v * (values - mean)
    error = np.sqrt(old @ old / (n * (n - 1)))
    reach = student_quantile(n - 1, 1 - ALPHA / 2) * error
    low, high = guarded_ends(np.array([mean]), np.array([error]), skewness(old), n, 1 - 2 * ALPHA)
    return {
        "effective": weighing.worth(now),
        "decided": float(decided),
        "covers": float(ends.low[0] <= 0 <= ends.high[0]),
        "covers_before": float(abs(mean) <= reach),
        "false_pass": float(decided and verdicts[0] == "pass"),
        "false_pass_before": float(low[0] > 0),
        "false_fail": float(decided and verdicts[0] == "fail"),
        "false_fail_before": float(high[0] < 0),
        "power": float(decided and verdicts[1] == "pass"),
        "power_before": float(low[0] > -MARGIN * 4),
    }


def _dominated(share: float, seed: int) -> Dominated:
    rng = np.random.default_rng([seed, int(share * 10_000)])
    weights = np.r_[share, np.full(39, (1 - share) / 39)]
    weighing = WeightPrecision.from_weights(weights)
    v = weights / weights.mean()
    values = rng.normal(0, 0.1, (40, SETS))
    mean = v @ values / 40
    old = v[:, None] * (values - mean)
    error = np.sqrt((old**2).sum(axis=0) / (40 * 39))
    low, high = guarded_ends(mean, error, skewness(old), 40, 1 - 2 * ALPHA)
    decided = sum(
        weighing.problem(estimate_population(column, weights)) is None for column in values.T[:LOOKED_AT]
    )
    return Dominated(
        share,
        weighing.effective,
        float((low > -MARGIN).mean()),
        float((high < -MARGIN).mean()),
        decided / LOOKED_AT,
    )


def section(cells: Sequence[Any]) -> str:
    """Its part of the page."""
    designs = [cell for cell in cells if hasattr(cell, "design")]
    rows = [
        (
            cell.design,
            str(cell.n),
            f"{cell.effective:.0f}",
            percent(cell.decided),
            f"{_share(cell.covers)} ({percent(cell.covers_before)})",
            f"{marked(cell.false_pass, cell.holds)} ({percent(cell.false_pass_before)})",
            f"{percent(cell.false_fail)} ({percent(cell.false_fail_before)})",
            f"{percent(cell.power)} ({percent(cell.power_before)})",
        )
        for cell in designs
    ]
    usual = [cell for cell in designs if cell.decided >= 0.1]
    lowest = min(cell.covers for cell in usual)
    highest = max(cell.false_pass for cell in usual)
    highest_decided = max(cell.false_pass / cell.decided for cell in usual)
    headings = (
        "weights",
        "queries",
        "effective",
        "decided",
        "95 % intervals cover",
        "false pass",
        "false fail",
        "pass, no loss",
    )
    share_rows = [
        (
            f"{cell.share:.2%}",
            f"{cell.effective:.1f}",
            percent(cell.passed_before),
            percent(cell.failed_before),
            percent(cell.decided),
        )
        for cell in cells
        if not hasattr(cell, "design")
    ]
    shares = ("traffic of one query", "effective", "pass, before", "fail, before", "decided now")
    return f"""\
## Queries of unequal weights

Differences are normal with a standard deviation of {SD:g}, over {POPULATIONS} populations of 4,000
or 20,000 queries. A false pass or fail is a share of all samples of a candidate with a loss equal
to the margin; a pass without loss has a margin of {4 * MARGIN:g}. In brackets: Student's t with
n − 1 degrees of freedom and the linearised error, as it was. Now the error is that of the
jackknife, the degrees of freedom are (Σv²)²/Σv⁴ − 1, and nothing is decided with fewer than 10
effective queries or with weights of a design effect above 2. Where the {HEAD} most frequent
queries, or 100 to 500 of 20,000, lose .4 more, samples drawn with equal chances seldom hold enough
of them: the interval covers as little as {_share(lowest)} of the time, and false passes reach
{percent(highest)} of all samples and {percent(highest_decided)} of those that are decided (designs of which a
tenth is decided); each pass reports the share of the weight that the sample may not show. Drawn by
traffic (`rankgate pool --query-sampling pps`), the head is there, and queries that were certain to
be drawn add no error.

{table(headings, rows)}

Two equal systems, 40 queries, a margin of {MARGIN:g}:

{table(shares, share_rows)}
"""


def _share(value: float) -> str:
    return percent(value) if np.isfinite(value) else "–"
