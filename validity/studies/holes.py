"""Do estimates about unjudged documents come true, on collections that they were not fitted on?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rankgate.unjudged.hole_figures import status
from rankgate.unjudged.hole_model import modelled
from studies.hidden_judgments import RUNS, Hidden, collections, hidden
from tables import percent, table

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

TRIALS, DRAWS = 400, 400
FITTED = ("TREC-COVID", "CAsT 2021")
BANDS = ((0, 0.05), (0.05, 0.2), (0.2, 0.4), (0.4, 0.6), (0.6, 0.8), (0.8, 1.01))
SURE = 0.1  # the gate's default
_LEVEL = (0.025, 0.975)
_BY_CHANCE = ("at random", "candidate's")
_POOLED = ("candidate not pooled", "neither pooled")


@dataclass(frozen=True)
class Trial:
    """One experiment; pairs of numbers are of draws for judgments chosen at random, and pooled.

    Attributes:
        data: the collection.
        pair: whose lists.
        way, share: how judgments were hidden.
        holes: how many.
        flipped: whether what the interval says changed when all were judged.
        flips: the chance of that.
        inside: whether 95 % of draws hold the true difference: of all draws, then of each half.
        away: the true difference less the expected one, in standard deviations of the draws.
        error, naive: the expected difference, and the measured one, less the true one.
    """

    data: str
    pair: str
    way: str
    share: float
    holes: int
    flipped: bool
    flips: tuple[float, float]
    inside: tuple[bool, bool, bool]
    away: tuple[float, float, float]
    error: float
    naive: float


def run(trials: int = TRIALS, seed: int = 2) -> list[Trial]:
    """Every collection that is there."""
    found = []
    for collection in collections():
        for i in range(trials):
            rng = np.random.default_rng([seed, i, *collection.name.encode()])
            trial = hidden(collection, i, rng)
            if trial:
                found.append(_trial(collection.name, trial, i))
    return found


def _trial(name: str, trial: Hidden, seed: int) -> Trial:
    truth, now = trial.gains(trial.grades), trial.gains(trial.left)
    found = modelled(*trial.sides)
    grades, pooled = found.drawn(DRAWS, seed)
    drawn = trial.drawn(found, grades)
    means, said = drawn.mean(axis=0), _said(now)
    flips = np.array([_said(column) != said for column in drawn.T])
    parts = [means, means[~pooled], means[pooled]]
    ends = [np.quantile(part, _LEVEL) for part in parts]
    mean = float(truth.mean())
    return Trial(
        name,
        " ".join(trial.pair),
        trial.way,
        trial.share,
        len(found.table),
        _said(truth) != said,
        (float(flips[~pooled].mean()), float(flips[pooled].mean())),
        tuple(bool(low <= mean <= high) for low, high in ends),
        tuple(
            float(np.clip((mean - part.mean()) / max(part.std(), 1e-9), -9, 9)) for part in parts
        ),
        float(means.mean()) - mean,
        float(now.mean()) - mean,
    )


def _said(gains: Floats) -> str:
    return status(float(gains.mean()), float((gains**2).sum()), len(gains), 0.0)


def section(cells: Sequence[Any]) -> str:
    """The section of the page."""
    takes: tuple[tuple[str, str, int, Callable[[Any], bool]], ...] = (
        ("unknown", "all", 0, lambda _: True),
        ("random", "at random, candidate's", 1, lambda c: c.way in _BY_CHANCE),
        ("pooled", "not pooled", 2, lambda c: c.way in _POOLED),
    )
    bands, worst = [], {}
    for selection, hidden_how, which, wanted in takes:
        for title, fitted in (("fitted on", True), ("not fitted on", False)):
            own = [c for c in cells if wanted(c) and (c.data in FITTED) == fitted]
            rows, misses = _bands(own, which)
            bands += [(selection, hidden_how, title, *row) for row in rows]
            worst[selection, fitted] = misses
    heads = ("`--selection`", "hidden", "collections", "predicted", "trials", "mean prediction",
             "flipped")  # fmt: skip
    fresh = [c for c in cells if c.data not in FITTED]
    sure = [c for c in cells if max(c.flips) <= SURE]
    missed = [f"{name} {', '.join(misses)}" for (name, fitted), misses in worst.items()
              if misses and not fitted]  # fmt: skip
    words = (
        "Judgments are hidden and predicted: 15, 30 or 50 % at random; as many, or all, of what "
        "the candidate alone shows; and all that three other systems do not have among their first "
        f"ten, of the candidate's list alone or of both. Runs are real for {', '.join(RUNS)}, and "
        "simulated from the real judgments of the others. How far unjudged documents depart from "
        f"judged ones was fitted on {' and '.join(FITTED)}; the others had no part in it. The data "
        "do not show how judged documents were chosen, so `--selection` asks: `unknown` (the "
        "default: half of the draws each), `random`, `pooled`. Standard errors take the trials of "
        "one pair of systems as dependent."
    )
    missing = (
        "Bands of collections not fitted on that miss by more than .05: "
        f"{'; '.join(missed) or 'none'}. A prediction for `unknown` is right on average over all "
        f"these ways, not for each of them: {_wrong(fresh)}."
    )
    safe = (
        f"Of {len(sure):,} decisions whose chance of a flip is at most 10 % under either "
        f"selection, as the gate demands, {sum(c.flipped for c in sure)} flipped "
        f"({np.mean([c.flipped for c in sure]):.2%})."
    )
    groups = (
        "How often 95 % of draws hold the true difference; how far it lies from the expected one "
        "in standard deviations of the draws (below 0: worse for the candidate than expected); "
        "Brier scores of the prediction and of always the share of flips; mean absolute errors of "
        "the estimated difference and of the measured one. By collection and by way, for "
        "`unknown`; then each selection where it is true."
    )
    parts = [words, table(heads, bands), missing, safe, groups, _groups(cells, takes)]
    return "\n\n".join(["## What unjudged documents could hide", *parts])


def _predicted(cells: Sequence[Any], which: int) -> Floats:
    flips = np.array([c.flips for c in cells])
    return np.asarray(flips.mean(axis=1) if not which else flips[:, which - 1])


def _bands(cells: Sequence[Any], which: int) -> tuple[list[tuple[str, ...]], list[str]]:
    """Rows of predictions by bands, and the bands that miss by more than .05."""
    predicted = _predicted(cells, which)
    flipped = np.array([c.flipped for c in cells], float)
    clusters = np.unique([f"{c.data} {c.pair}" for c in cells], return_inverse=True)[1]
    rows, misses = [], []
    for low, high in BANDS:
        own = (predicted >= low) & (predicted < high)
        if not own.any():
            continue
        name = f"{low:.0%} to {min(high, 1):.0%}"
        share, mean = flipped[own].mean(), predicted[own].mean()
        sums = np.bincount(clusters[own], flipped[own] - share)
        error = np.sqrt((sums**2).sum()) / own.sum()
        rows.append((name, f"{own.sum():,}", percent(mean), f"{percent(share)} ± {percent(error)}"))
        if abs(share - mean) > 0.05:
            misses.append(f"{name} by {share - mean:+.2f}")
    return rows, misses


def _wrong(cells: Sequence[Any]) -> str:
    """How predictions for an unknown selection come out where it is one of the two."""
    parts = []
    for title, ways in (("at random or of the candidate's", _BY_CHANCE), ("not pooled", _POOLED)):
        own = [c for c in cells if c.way in ways]
        predicted = _predicted(own, 0)
        middle = (predicted >= 0.4) & (predicted < 0.8)
        flipped = np.array([c.flipped for c in own], float)[middle].mean()
        parts.append(f"hidden {title}, {percent(predicted[middle].mean())} became "
                     f"{percent(flipped)}")  # fmt: skip
    return "; ".join(parts)


def _groups(
    cells: Sequence[Any], takes: Sequence[tuple[str, str, int, Callable[[Any], bool]]]
) -> str:
    groups = [
        (name, 0, [c for c in cells if c.data == name]) for name in {c.data: 0 for c in cells}
    ]
    groups += [(name, 0, [c for c in cells if c.way == name]) for name in {c.way: 0 for c in cells}]
    groups += [
        (f"`{selection}`: {how}", which, [c for c in cells if wanted(c) and c.data not in FITTED])
        for selection, how, which, wanted in takes
    ]
    rows = []
    for name, which, own in groups:
        predicted, flipped = _predicted(own, which), np.array([c.flipped for c in own], float)
        rows.append((
            name,
            f"{len(own):,}",
            percent(np.mean([c.inside[which] for c in own])),
            f"{np.mean([c.away[which] for c in own]):+.2f}",
            f"{((predicted - flipped) ** 2).mean():.3f}",
            f"{flipped.var():.3f}",
            f"{np.mean([abs(c.error) for c in own]):.4f}",
            f"{np.mean([abs(c.naive) for c in own]):.4f}",
        ))  # fmt: skip
    heads = ("of", "trials", "inside", "away", "Brier", "constant", "estimated", "measured")
    return table(heads, rows)
