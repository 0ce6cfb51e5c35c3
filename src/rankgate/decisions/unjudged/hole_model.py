"""Model of an unjudged document's grade, from judged documents at similar ranks.

Relevance is predicted by logistic regression with query effects.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.data.collection import SETTLED

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.core.arrays import Floats
    from rankgate.data.collection import Selection
    from rankgate.data.run_scores import ScoredRun

    Places = NDArray[np.int64]


_COEFFICIENT_PRIOR = np.array([3.0, 1.5, 1.5, 1.5, 1.0])
"""Standard deviations of the coefficients before anything is known: of the intercept, of the log of
the rank, of standing in both lists, of standing in the candidate's alone, and of standing higher in
the candidate's."""
_EFFECT_SD_RANGE = (0.1, 3.0)  # bounds of the standard deviation of query effects
_ROUNDS, _STEPS = 20, 25
_CLOSE = 1e-8


@dataclass(frozen=True)
class RelevanceModel:
    """log-odds of relevance = x · coefficients + effect of the query, with a normal posterior.

    Attributes:
        coefficients: (F,) the posterior means of the coefficients.
        root: (F, F) a root R of the coefficients' posterior covariance R Rᵀ.
        effects: (Q,) posterior means of the query effects.
        sd: (Q,) the standard deviations of the query effects, given the coefficients.
        slopes: (Q, F) the change of an effect with each coefficient.
        spread: the standard deviation of the effects of queries.
    """

    coefficients: Floats
    root: Floats
    effects: Floats
    sd: Floats
    slopes: Floats
    spread: float

    def log_odds(self, features: Floats, query: Places) -> Floats:
        """(N,) log-odds at the posterior means; queries without judged documents have effect 0."""
        effects = np.concatenate([self.effects, np.zeros(self._more(query))])
        return np.asarray(features @ self.coefficients + effects[query], np.float64)

    def draw_log_odds(self, features: Floats, query: Places, draws: int, rng: np.random.Generator) -> Floats:
        """(N, S) log-odds, each column under parameters drawn from their posterior."""
        coefficient_draws = self.root @ rng.standard_normal((len(self.coefficients), draws))
        judged_effects = self.effects[:, None] + self.slopes @ coefficient_draws
        judged_effects += self.sd[:, None] * rng.standard_normal(judged_effects.shape)
        unjudged_effects = self.spread * rng.standard_normal((self._more(query), draws))
        odds_without_effects = features @ (self.coefficients[:, None] + coefficient_draws)
        return np.asarray(
            odds_without_effects + np.concatenate([judged_effects, unjudged_effects])[query], np.float64
        )

    def _more(self, query: Places) -> int:
        return max(int(query.max(initial=-1)) + 1 - len(self.effects), 0)


def fit_relevance(features: Floats, query: Places, relevant: NDArray[np.bool_]) -> RelevanceModel:
    """Fit by Laplace's approximation; the spread of query effects by EM.

    Coefficients have normal priors around 0 (`_PRIOR`), query effects a normal law around 0 whose
    variance is the mean of their squared means and variances. Newton's steps use the independence
    of the effects given the coefficients. Breslow and Clayton, JASA 88 (1993).

    Args:
        features: (J, F) the features of the judged documents.
        query: (J,) the index of each document's query, 0 … Q − 1.
        relevant: (J,) true if the document's grade is above 0.
    """
    count = int(query.max()) + 1
    prior = np.diag(1 / _COEFFICIENT_PRIOR[: features.shape[1]] ** 2)
    y, effect_sd = relevant.astype(np.float64), 1.0
    coefficients, effects = np.zeros(features.shape[1]), np.zeros(count)
    for _ in range(_ROUNDS):
        for _ in range(_STEPS):
            curvature = _curvature(features, query, coefficients, effects, prior, effect_sd)
            chance, cross, effect_precision, schur = curvature
            slope = features.T @ (y - chance) - prior @ coefficients
            effect_gradient = np.bincount(query, y - chance, count) - effects / effect_sd**2
            step = np.linalg.solve(schur, slope - cross @ (effect_gradient / effect_precision))
            effect_step = (effect_gradient - cross.T @ step) / effect_precision
            coefficients = coefficients + np.clip(step, -2, 2)
            effects = effects + np.clip(effect_step, -2, 2)
            if max(np.abs(step).max(), np.abs(effect_step).max()) < _CLOSE:
                break
        _, cross, effect_precision, schur = _curvature(
            features, query, coefficients, effects, prior, effect_sd
        )
        covariance = np.linalg.inv(schur)
        slopes = -(cross / effect_precision).T
        variance = 1 / effect_precision + np.einsum("qf,fg,qg->q", slopes, covariance, slopes)
        last_sd, effect_sd = (
            effect_sd,
            float(np.clip(np.sqrt((effects**2 + variance).mean()), *_EFFECT_SD_RANGE)),
        )
        if abs(effect_sd - last_sd) < 1e-3:  # changes no probability noticeably
            break
    return RelevanceModel(
        coefficients,
        np.linalg.cholesky(covariance),
        effects,
        np.sqrt(1 / effect_precision),
        slopes,
        effect_sd,
    )


def _curvature(
    features: Floats, query: Places, coefficients: Floats, effects: Floats, prior: Floats, effect_sd: float
) -> tuple[Floats, Floats, Floats, Floats]:
    """Chances (J,), and curvature: mixed (F, Q), of effects (Q,), of coefficients given effects."""
    chance = 1 / (1 + np.exp(-np.clip(features @ coefficients + effects[query], -30, 30)))
    weight = chance * (1 - chance)
    count = len(effects)
    cross = np.array([np.bincount(query, weight * column, count) for column in features.T], float)
    effect_precision = np.asarray(np.bincount(query, weight, count) + 1 / effect_sd**2, np.float64)
    coefficient_precision = (features * weight[:, None]).T @ features + prior
    return (chance, cross, effect_precision, coefficient_precision - (cross / effect_precision) @ cross.T)


DEPARTURES = {"random": (0.0, 0.3), "pooled": (-1.0, 0.6)}
"""Mean and standard deviation of how far the log-odds of relevance of unjudged documents depart
from those of judged ones like them. Documents that no pooled system retrieved are worse than those
that one did (Zobel, SIGIR 1998); the mean is that of what one list alone has, and 0 for what both
have. Fitted on TREC-COVID and CAsT 2021, tested on other collections (docs/validity.md)."""

_SYSTEMS = ("baseline", "candidate")
_BANDS = (1, 3, 5, 10, 20, 50)
_GRADE_PRIOR = 5.0  # weight of all documents' grades in a band, in judged documents


@dataclass(frozen=True)
class HoleModel:
    """The unjudged documents among the first of either list.

    Attributes:
        table: ``query_id``, ``doc_id``, ``rank_baseline``, ``rank_candidate`` (null where the
            list lacks it).
        grades: (G,) the grades that judged documents have.
        chances: (N, G) the probability of each grade for each unjudged document.
        shares: (N, G) the number of judged documents of the band with each grade, including the
            prior.
        features: (N, F) the features that predict relevance.
        query: (N,) the index of the document's query in the model; queries from Q on have no judged
            document.
        model: the model of relevance; None if no document is judged.
    """

    table: pl.DataFrame
    grades: Floats
    chances: Floats
    shares: Floats
    features: Floats
    query: Places
    model: RelevanceModel | None

    def draw_grades(
        self, draws: int, seed: int, selection: Selection = "unknown"
    ) -> tuple[Floats, NDArray[np.bool_]]:
        """Draw grades of every hole, with the uncertainty of the model.

        Each draw has its own parameters: coefficients and query effects from their posterior,
        shares of grades from theirs, and a departure from the model of judged documents, because
        judgments need not be missing at random (Rubin, Biometrika 1976): the data do not show which
        of `DEPARTURES` is true. The log-odds of relevance of all holes of one kind (in the
        baseline's list alone, in the candidate's alone, in both) are moved by the same normal
        number.

        Args:
            draws: the number of sets.
            seed: the seed of the random draws.
            selection: the departure; "unknown" assumes each in half of the draws; grades are 0 for
                "complete" and "sparse".

        Returns:
            (N, S) grades, and (S,) true for draws with the departure of "pooled".
        """
        rng = np.random.default_rng(seed)
        is_pooled = (
            np.arange(draws) % 2 == 1 if selection == "unknown" else np.full(draws, selection == "pooled")
        )
        if self.model is None or not len(self.table) or selection in SETTLED:
            return np.zeros((len(self.table), draws)), is_pooled
        mean, sd = np.where(
            is_pooled, *(np.array(DEPARTURES[selection])[:, None] for selection in ("pooled", "random"))
        )
        departure = sd * rng.standard_normal((3, draws))
        departure[:2] += mean
        odds = (
            self.model.draw_log_odds(self.features, self.query, draws, rng)
            + departure[_list_membership(self.table)]
        )
        relevant = rng.random(odds.shape) < 1 / (1 + np.exp(-np.clip(odds, -30, 30)))
        grades_drawn = np.zeros(odds.shape)
        for level in (False, True):
            is_level = (self.grades > 0) == level
            grades, level_shares = self.grades[is_level], self.shares[:, is_level]
            if grades.size == 1:
                grades_drawn[relevant == level] = grades[0]
            elif grades.size:
                grade_index = _draw_grade_indices(level_shares, draws, rng)
                grades_drawn = np.where(relevant == level, grades[grade_index], grades_drawn)
        return grades_drawn, is_pooled


def model_holes(baseline: ScoredRun, candidate: ScoredRun) -> HoleModel:
    """Fit the model, and predict the probability of each grade for every hole.

    Relevance is predicted by logistic regression on the log of the document's best rank, the lists
    that have the document (both, or only one) and the log of the ratio of its ranks, with an effect
    of each query (see `relevance_model.fitted`). The grade of a relevant document follows the
    shares among relevant judged documents of the same band of ranks, shrunk towards the shares of
    all bands with the weight of five documents.
    """
    documents = _join_lists(baseline, candidate)
    judged_documents = documents.filter(pl.col("grade").is_not_null())
    holes = documents.filter(pl.col("grade").is_null())
    grades = np.unique(judged_documents["grade"].to_numpy()) if len(judged_documents) else np.zeros(1)
    columns = ("query_id", "doc_id", "rank_baseline", "rank_candidate")
    table, features = holes.select(columns), _features(holes)
    if not len(judged_documents) or not len(holes):
        uniform = np.full((len(holes), grades.size), 1 / grades.size)
        return HoleModel(table, grades, uniform, uniform, features, np.zeros(len(holes), np.int64), None)
    grade_index = np.searchsorted(grades, judged_documents["grade"].to_numpy())
    overall_shares = np.bincount(grade_index, minlength=grades.size) / len(grade_index)
    cell_of_judged, cell_of_hole = _cell_numbers(judged_documents, holes, "band")
    band_counts = (
        _count_grades(cell_of_judged, grade_index, cell_of_hole, grades.size) + _GRADE_PRIOR * overall_shares
    )
    query_of_judged, query_of_hole = _cell_numbers(judged_documents, holes, "query_id")
    model = fit_relevance(_features(judged_documents), query_of_judged, grades[grade_index] > 0)
    chance = 1 / (1 + np.exp(-model.log_odds(features, query_of_hole)))
    chances = np.zeros_like(band_counts)
    for level, level_chance in ((False, 1 - chance), (True, chance)):
        at_level = (grades > 0) == level
        if at_level.any():
            level_counts = band_counts[:, at_level]
            chances[:, at_level] = (
                level_chance[:, None] * level_counts / level_counts.sum(axis=1, keepdims=True)
            )
    chances /= chances.sum(axis=1, keepdims=True)
    return HoleModel(table, grades, chances, band_counts, features, query_of_hole, model)


def _features(documents: pl.DataFrame) -> Floats:
    """(N, 5) features: 1, log of the best rank, in both lists, in one alone (±½), log rank ratio.

    The last is the log of the baseline's rank over the candidate's, 0 if a list lacks it.
    """
    ranks = [documents[f"rank_{system}"].cast(pl.Float64).to_numpy() for system in _SYSTEMS]
    in_baseline, in_candidate = (~np.isnan(rank) for rank in ranks)
    log_rank_ratio = np.nan_to_num(np.log(ranks[0]) - np.log(ranks[1]))
    log_best_rank = np.log(np.fmin(*ranks))
    return np.stack(
        [
            np.ones_like(log_best_rank),
            log_best_rank,
            in_baseline & in_candidate,
            in_candidate.astype(float) / 2 - in_baseline / 2,
            log_rank_ratio,
        ],
        axis=1,
    )


def _list_membership(table: pl.DataFrame) -> Places:
    """(N,) 0 if only the baseline's list has the document, 1 if only the candidate's, 2 if both."""
    in_baseline, in_candidate = (table[f"rank_{system}"].is_not_null().to_numpy() for system in _SYSTEMS)
    return np.where(in_baseline & in_candidate, 2, in_candidate.astype(np.int64))


def _draw_grade_indices(band_counts: Floats, draws: int, rng: np.random.Generator) -> Places:
    """(N, S) indices of grades; each draw has its own shares, equal within a band."""
    distinct_counts, band_of_hole = np.unique(band_counts, axis=0, return_inverse=True)
    weight = rng.standard_gamma(np.maximum(distinct_counts, 1e-9), (draws, *distinct_counts.shape))
    upper_bounds = np.cumsum(weight / weight.sum(axis=2, keepdims=True), axis=2)
    random_points = rng.random((len(band_counts), draws))
    grade_index = np.zeros(random_points.shape, np.int64)
    for step in range(band_counts.shape[1] - 1):
        grade_index += random_points > upper_bounds[:, band_of_hole.ravel(), step].T
    return grade_index


def _join_lists(baseline: ScoredRun, candidate: ScoredRun) -> pl.DataFrame:
    """The documents of both lists, without duplicates, with ranks and the band of the best."""
    baseline_lists = baseline.lists.rename({"rank": "rank_baseline"})
    candidate_lists = candidate.lists.rename({"rank": "rank_candidate"})
    joined = baseline_lists.join(
        candidate_lists, on=["query_id", "doc_id"], how="full", coalesce=True, suffix="_two"
    )
    best_rank = pl.min_horizontal("rank_baseline", "rank_candidate")
    return joined.select(
        "query_id",
        "doc_id",
        "rank_baseline",
        "rank_candidate",
        pl.coalesce("grade", "grade_two").alias("grade"),
        pl.sum_horizontal(best_rank > end for end in _BANDS).alias("band"),
    ).sort("query_id", "doc_id")


def _cell_numbers(judged_documents: pl.DataFrame, holes: pl.DataFrame, column: str) -> tuple[Places, Places]:
    """The cell of each judged document, then of each hole."""
    cells = pl.concat([judged_documents.select(column), holes.select(column)]).unique(maintain_order=True)
    coded = cells.with_row_index("cell")
    cell_numbers = [
        table.select(column).join(coded, on=column, how="left", maintain_order="left")["cell"].to_numpy()
        for table in (judged_documents, holes)
    ]
    return cell_numbers[0].astype(np.int64), cell_numbers[1].astype(np.int64)


def _count_grades(cell_of_judged: Places, grade_index: Places, cell_of_hole: Places, grades: int) -> Floats:
    """(N, G) the number of judged documents in the cell of each hole, by grade."""
    size = int(max(cell_of_judged.max(initial=0), cell_of_hole.max(initial=0))) + 1
    counts = np.bincount(cell_of_judged * grades + grade_index, minlength=size * grades).reshape(size, grades)
    return np.asarray(counts[cell_of_hole], np.float64)
