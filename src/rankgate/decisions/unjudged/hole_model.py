"""Model of an unjudged document's grade, from judged documents at similar ranks."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.decisions.unjudged.relevance_model import fitted

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.collection import Selection
    from rankgate.data.comparison import ScoredRun
    from rankgate.decisions.unjudged.relevance_model import RelevanceModel

    Floats = NDArray[np.float64]
    Places = NDArray[np.int64]

DEPARTURES = {"random": (0.0, 0.3), "pooled": (-1.0, 0.6)}
"""Mean and standard deviation of how far the log-odds of relevance of unjudged documents depart
from those of judged ones like them. What no pooled system had is worse than what one had (Zobel,
SIGIR 1998); the mean is that of what one list alone has, and 0 for what both have. Fitted on
TREC-COVID and CAsT 2021, tested on other collections (docs/validity.md)."""

_SIDES = ("baseline", "candidate")
_BANDS = (1, 3, 5, 10, 20, 50)
_PRIOR = 5.0  # judged documents that the grades of all weigh as much as, in a band of ranks


@dataclass(frozen=True)
class Holes:
    """The unjudged documents among the first of either list.

    Attributes:
        table: ``query_id``, ``doc_id``, ``rank_baseline``, ``rank_candidate`` (null where the
            list lacks it).
        grades: (G,) the grades that judged documents have.
        chances: (N, G) the probability of each grade for each of them.
        shares: (N, G) how many judged documents of its band have each grade, the prior included.
        features: (N, F) from which their relevance is predicted.
        query: (N,) the place of its query among the model's; those from Q on have no judged
            document.
        model: of relevance; None where no document is judged.
    """

    table: pl.DataFrame
    grades: Floats
    chances: Floats
    shares: Floats
    features: Floats
    query: Places
    model: RelevanceModel | None

    def drawn(
        self, draws: int, seed: int, selection: Selection = "unknown"
    ) -> tuple[Floats, NDArray[np.bool_]]:
        """Grades of every hole, so many times, with all that is not known about them.

        Each draw has its own parameters: coefficients and query effects from their posterior,
        shares of grades from theirs, and a departure from what judged documents say, because
        judgments need not be missing at random (Rubin, Biometrika 1976): the data cannot tell
        which of `DEPARTURES` is true. The log-odds of relevance of all holes of one kind (in the
        baseline's list alone, in the candidate's alone, in both) are moved by the same normal
        number.

        Args:
            draws: how often.
            seed: of the drawing.
            selection: which departure; "unknown" assumes each in half of the draws.

        Returns:
            (N, S) grades, and (S,) whether the departure is that of "pooled".
        """
        rng = np.random.default_rng(seed)
        pooled = (
            np.arange(draws) % 2 == 1
            if selection == "unknown"
            else np.full(draws, selection == "pooled")
        )
        if self.model is None or not len(self.table):
            return np.zeros((len(self.table), draws)), pooled
        mean, sd = np.where(
            pooled, *(np.array(DEPARTURES[each])[:, None] for each in ("pooled", "random"))
        )
        apart = sd * rng.standard_normal((3, draws))
        apart[:2] += mean
        odds = self.model.drawn(self.features, self.query, draws, rng) + apart[_kind(self.table)]
        relevant = rng.random(odds.shape) < 1 / (1 + np.exp(-np.clip(odds, -30, 30)))
        found = np.zeros(odds.shape)
        for level in (False, True):
            grades, shares = self.grades[(self.grades > 0) == level], self._shares(level)
            if grades.size == 1:
                found[relevant == level] = grades[0]
            elif grades.size:
                place = _placed(shares, draws, rng)
                found = np.where(relevant == level, grades[place], found)
        return found, pooled

    def _shares(self, relevant: bool) -> Floats:  # noqa: FBT001 - which of the two
        return self.shares[:, (self.grades > 0) == relevant]


def modelled(baseline: ScoredRun, candidate: ScoredRun) -> Holes:
    """Every hole with the chances of its grade.

    Whether it is relevant: a logistic regression on the log of its best rank, whether both lists
    have it, or which alone, and which ranks it higher, with an effect of each query (see
    `relevance_model.fitted`). Which grade it then has: the shares among relevant judged documents
    of the same band of ranks, drawn towards those of all by as much as five documents weigh.
    """
    pooled = _pooled(baseline, candidate)
    judged = pooled.filter(pl.col("grade").is_not_null())
    holes = pooled.filter(pl.col("grade").is_null())
    grades = np.unique(judged["grade"].to_numpy()) if len(judged) else np.zeros(1)
    columns = ("query_id", "doc_id", "rank_baseline", "rank_candidate")
    table, features = holes.select(columns), _features(holes)
    if not len(judged) or not len(holes):
        even = np.full((len(holes), grades.size), 1 / grades.size)
        return Holes(table, grades, even, even, features, np.zeros(len(holes), np.int64), None)
    place = np.searchsorted(grades, judged["grade"].to_numpy())
    whole = np.bincount(place, minlength=grades.size) / len(place)
    cell, own = _coded(judged, holes, "band")
    shares = _counted(cell, place, own, grades.size) + _PRIOR * whole
    query, mine = _coded(judged, holes, "query_id")
    model = fitted(_features(judged), query, grades[place] > 0)
    chance = 1 / (1 + np.exp(-model.log_odds(features, mine)))
    chances = np.zeros_like(shares)
    for level, part in ((False, 1 - chance), (True, chance)):
        some = (grades > 0) == level
        if some.any():
            inside = shares[:, some]
            chances[:, some] = part[:, None] * inside / inside.sum(axis=1, keepdims=True)
    chances /= chances.sum(axis=1, keepdims=True)
    return Holes(table, grades, chances, shares, features, mine, model)


def _features(pooled: pl.DataFrame) -> Floats:
    """(N, 5) 1, log of the best rank, in both lists, in which alone (±½), in which higher.

    The last is the log of the baseline's rank over the candidate's, 0 where a list lacks it.
    """
    ranks = [pooled[f"rank_{system}"].cast(pl.Float64).to_numpy() for system in _SIDES]
    one, two = (~np.isnan(rank) for rank in ranks)
    higher = np.nan_to_num(np.log(ranks[0]) - np.log(ranks[1]))
    best = np.log(np.fmin(*ranks))
    return np.stack(
        [np.ones_like(best), best, one & two, two.astype(float) / 2 - one / 2, higher], axis=1
    )


def _kind(table: pl.DataFrame) -> Places:
    """(N,) 0 for what the baseline's list alone has, 1 for the candidate's alone, 2 for both."""
    one, two = (table[f"rank_{system}"].is_not_null().to_numpy() for system in _SIDES)
    return np.where(one & two, 2, two.astype(np.int64))


def _placed(shares: Floats, draws: int, rng: np.random.Generator) -> Places:
    """(N, S) places of grades; each draw has its own shares, alike for holes of one band."""
    kinds, back = np.unique(shares, axis=0, return_inverse=True)
    weight = rng.standard_gamma(np.maximum(kinds, 1e-9), (draws, *kinds.shape))
    upto = np.cumsum(weight / weight.sum(axis=2, keepdims=True), axis=2)
    point = rng.random((len(shares), draws))
    place = np.zeros(point.shape, np.int64)
    for step in range(shares.shape[1] - 1):
        place += point > upto[:, back.ravel(), step].T
    return place


def _pooled(baseline: ScoredRun, candidate: ScoredRun) -> pl.DataFrame:
    """The documents of both lists, each once, with its ranks and the band of the best."""
    one = baseline.lists.rename({"rank": "rank_baseline"})
    two = candidate.lists.rename({"rank": "rank_candidate"})
    both = one.join(two, on=["query_id", "doc_id"], how="full", coalesce=True, suffix="_two")
    best = pl.min_horizontal("rank_baseline", "rank_candidate")
    return both.select(
        "query_id",
        "doc_id",
        "rank_baseline",
        "rank_candidate",
        pl.coalesce("grade", "grade_two").alias("grade"),
        pl.sum_horizontal(best > end for end in _BANDS).alias("band"),
    ).sort("query_id", "doc_id")


def _coded(judged: pl.DataFrame, holes: pl.DataFrame, by: str) -> tuple[Places, Places]:
    """The cell of each judged document, and of each hole; those of judged documents come first."""
    cells = pl.concat([judged.select(by), holes.select(by)]).unique(maintain_order=True)
    coded = cells.with_row_index("cell")
    found = [
        table.select(by).join(coded, on=by, how="left", maintain_order="left")["cell"].to_numpy()
        for table in (judged, holes)
    ]
    return found[0].astype(np.int64), found[1].astype(np.int64)


def _counted(cell: Places, place: Places, own: Places, grades: int) -> Floats:
    """(N, G) how many judged documents of each hole's cell have each grade."""
    size = int(max(cell.max(initial=0), own.max(initial=0))) + 1
    counts = np.bincount(cell * grades + place, minlength=size * grades).reshape(size, grades)
    return np.asarray(counts[own], np.float64)
