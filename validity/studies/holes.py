"""Do estimates about unjudged documents come true, on collections that they were not fitted on?"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from rankgate.decisions.unjudged.hole_figures import interval_status
from rankgate.decisions.unjudged.hole_model import model_holes
from studies.hidden_judgments import RUNS, WAYS, Hidden, collections, hidden
from tables import percent, table

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

TRIALS, DRAWS = 400, 400
FITTED = ("TREC-COVID", "CAsT 2021")
BANDS = ((0, 0.05), (0.05, 0.2), (0.2, 0.4), (0.4, 0.6), (0.6, 0.8), (0.8, 1.01))
SURE = 0.1  # the gate's default
MISS = 0.05  # what a band may be off
_LEVEL = (0.025, 0.975)
MIDDLE = (0.4, 0.8)
TAKES = {
    "unknown": tuple(dict.fromkeys(method for method, _ in WAYS)),
    "random": ("at random", "candidate's"),
    "pooled": ("candidate not pooled", "neither pooled"),
}
"""Ways of hiding under which a selection is true."""

HIDDEN = {"unknown": "all ways", "random": "at random, candidate's", "pooled": "not pooled"}


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


@dataclass(frozen=True)
class Row:
    """Trials of one kind together.

    Attributes:
        table: bands, of predictions; groups; sure, the decisions that the gate takes; or wrong,
            middling predictions for an unknown selection where it is one of the two.
        name: of the band, the group, or the way of hiding.
        selection: that draws are made for.
        fitted: whether the departure was fitted on these collections; None: on some of them.
        trials: how many.
        predicted, flipped: mean chance of a flip, and share of flips.
        error: standard error of the share; trials of one pair of systems are dependent.
        inside, away, brier, constant, estimated, measured: as the page says; of groups.
    """

    table: str
    name: str
    selection: str
    fitted: bool | None
    trials: int
    predicted: float
    flipped: float
    error: float
    inside: float
    away: float
    brier: float
    constant: float
    estimated: float
    measured: float


def run(trials: int = TRIALS, seed: int = 2) -> list[Row]:
    """Every collection that is there."""
    results = []
    for collection in collections():
        for i in range(trials):
            rng = np.random.default_rng([seed, i, *collection.name.encode()])
            trial = hidden(collection, i, rng)
            if trial:
                results.append(_trial(collection.name, trial, i))
    return list(_rows(results))


def _trial(name: str, trial: Hidden, seed: int) -> Trial:
    truth, now = trial.gains(trial.grades), trial.gains(trial.left)
    model = model_holes(*trial.sides)
    grades, pooled = model.draw_grades(DRAWS, seed)
    gain_draws = trial.drawn(model, grades)
    means, verdict = gain_draws.mean(axis=0), _said(now)
    flips = np.array([_said(column) != verdict for column in gain_draws.T])
    parts = [means, means[~pooled], means[pooled]]
    ends = [np.quantile(group_means, _LEVEL) for group_means in parts]
    mean = float(truth.mean())
    return Trial(
        name,
        " ".join(trial.pair),
        trial.way,
        trial.share,
        len(model.table),
        _said(truth) != verdict,
        (float(flips[~pooled].mean()), float(flips[pooled].mean())),
        tuple(bool(low <= mean <= high) for low, high in ends),
        tuple(
            float(np.clip((mean - group_means.mean()) / max(group_means.std(), 1e-9), -9, 9))
            for group_means in parts
        ),
        float(means.mean()) - mean,
        float(now.mean()) - mean,
    )


def _said(gains: Floats) -> str:
    return interval_status(float(gains.mean()), float((gains**2).sum()), len(gains), 0.0)


def _rows(trials: Sequence[Trial]) -> Iterator[Row]:
    """What the page shows."""
    for selection, ways in TAKES.items():
        selected = [t for t in trials if t.way in ways]
        for fitted in (True, False):
            group = [t for t in selected if (t.data in FITTED) == fitted]
            chance = _predicted(group, selection)
            for low, high in BANDS:
                in_band = (chance >= low) & (chance < high)
                band = [t for t, is_inside in zip(group, in_band, strict=True) if is_inside]
                if band:
                    name = f"{low:.0%} to {min(high, 1):.0%}"
                    yield _row("bands", name, selection, band, fitted=fitted)
    for name in dict.fromkeys(t.data for t in trials):
        yield _row("groups", name, "unknown", [t for t in trials if t.data == name])
    for name in dict.fromkeys(t.way for t in trials):
        yield _row("groups", name, "unknown", [t for t in trials if t.way == name])
    not_fitted = [t for t in trials if t.data not in FITTED]
    for selection, ways in TAKES.items():
        group = [t for t in not_fitted if t.way in ways]
        yield _row("groups", HIDDEN[selection], selection, group, fitted=False)
        middle = [t for t in group if MIDDLE[0] <= sum(t.flips) / 2 < MIDDLE[1]]
        yield _row("wrong", HIDDEN[selection], "unknown", middle, fitted=False)
    yield _row("sure", "", "unknown", [t for t in trials if max(t.flips) <= SURE])


def _predicted(trials: Sequence[Trial], selection: str) -> Floats:
    flips = np.array([t.flips for t in trials])
    index = list(TAKES).index(selection)
    return np.asarray(flips[:, index - 1] if index else flips.mean(axis=1))


def _row(
    table_: str, name: str, selection: str, trials: Sequence[Trial], *, fitted: bool | None = None
) -> Row:
    chance, index = _predicted(trials, selection), list(TAKES).index(selection)
    flipped = np.array([t.flipped for t in trials], float)
    pairs = np.unique([f"{t.data} {t.pair}" for t in trials], return_inverse=True)[1]
    sums = np.bincount(pairs, flipped - flipped.mean())
    figures = (
        chance.mean(),
        flipped.mean(),
        np.sqrt((sums**2).sum()) / len(trials),
        np.mean([t.inside[index] for t in trials]),
        np.mean([t.away[index] for t in trials]),
        ((chance - flipped) ** 2).mean(),
        flipped.var(),
        np.mean([abs(t.error) for t in trials]),
        np.mean([abs(t.naive) for t in trials]),
    )
    return Row(table_, name, selection, fitted, len(trials), *map(float, figures))


def section(cells: Sequence[Any]) -> str:
    """The section of the page."""
    bands = [c for c in cells if c.table == "bands"]
    missed = [
        f"{c.selection} {c.name} by {c.flipped - c.predicted:+.2f}"
        for c in bands
        if not c.fitted and abs(c.flipped - c.predicted) > MISS
    ]
    wrong = [
        f"hidden {c.name}, {percent(c.predicted)} became {percent(c.flipped)}"
        for c in cells
        if c.table == "wrong" and c.name != HIDDEN["unknown"]
    ]
    sure = next(c for c in cells if c.table == "sure")
    intro = (
        "Judgments are hidden and predicted: 15, 30 or 50 % at random; as many, or all, of the documents "
        "that only the candidate shows; and all documents that three other systems do not have among their "
        "first ten, in the candidate's list or in both lists. Runs are real for "
        f"{', '.join(RUNS)}, and simulated from the real judgments of the others. How far unjudged documents "
        "depart from judged ones was fitted on "
        f"{' and '.join(FITTED)}; the others had no part in it. The data do not show how judged documents "
        "were chosen, so `--selection` asks: `unknown` (the default: half of the draws each), `random`, "
        "`pooled`. Standard errors take the trials of one pair of systems as dependent."
    )
    missing = (
        f"Bands of collections not fitted on that miss by more than {MISS:g}: "
        f"{'; '.join(missed) or 'none'}. A prediction for `unknown` is right on average over all these ways, "
        f"not for each of them: {'; '.join(wrong)}."
    )
    safe = (
        f"Of {sure.trials:,} decisions whose chance of a flip is at most 10 % under either selection, as the "
        f"gate demands, {sure.flipped * sure.trials:.0f} flipped ({sure.flipped:.2%})."
    )
    groups = (
        "How often 95 % of draws hold the true difference; how far it lies from the expected one in standard "
        "deviations of the draws (below 0: worse for the candidate than expected); Brier scores of the "
        "prediction and of always the share of flips; mean absolute errors of the estimated difference and "
        "of the measured one. By collection and by way, for `unknown`; then each selection where it is true, "
        "on collections not fitted on."
    )
    parts = [intro, _bands(bands), missing, safe, groups, _groups(cells)]
    return "\n\n".join(["## What unjudged documents could hide", *(p.rstrip() for p in parts)]) + "\n"


def _bands(cells: Sequence[Any]) -> str:
    heads = ("`--selection`", "hidden", "collections", "predicted", "trials", "mean prediction", "flipped")
    rows = [
        (
            c.selection,
            HIDDEN[c.selection],
            "fitted on" if c.fitted else "not fitted on",
            c.name,
            f"{c.trials:,}",
            percent(c.predicted),
            f"{percent(c.flipped)} ± {percent(c.error)}",
        )
        for c in cells
    ]
    return table(heads, rows)


def _groups(cells: Sequence[Any]) -> str:
    heads = ("of", "trials", "inside", "away", "Brier", "constant", "estimated", "measured")
    rows = [
        (
            c.name if c.fitted is None else f"`{c.selection}`: {c.name}",
            f"{c.trials:,}",
            percent(c.inside),
            f"{c.away:+.2f}",
            f"{c.brier:.3f}",
            f"{c.constant:.3f}",
            f"{c.estimated:.4f}",
            f"{c.measured:.4f}",
        )
        for c in cells
        if c.table == "groups"
    ]
    return table(heads, rows)
