"""Predict relevance: logistic regression with query effects."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]
    Places = NDArray[np.int64]

_PRIOR = np.array([3.0, 1.5, 1.5, 1.5, 1.0])
"""Standard deviations of the coefficients before anything is known: of the intercept, of the log of
the rank, of standing in both lists, of standing in the candidate's alone, and of standing higher in
the candidate's."""
_EFFECT_SD_RANGE = (0.1, 3.0)  # between which the standard deviation of query effects lies
_ROUNDS, _STEPS = 20, 25
_CLOSE = 1e-8


@dataclass(frozen=True)
class RelevanceModel:
    """log-odds of relevance = x · coefficients + effect of the query, with a normal posterior.

    Attributes:
        coefficients: (F,) their posterior means.
        root: (F, F) a root of their posterior covariance, R Rᵀ.
        effects: (Q,) posterior means of the query effects.
        sd: (Q,) their standard deviations, the coefficients given.
        slopes: (Q, F) change of an effect with each coefficient.
        spread: the standard deviation of the effects of queries.
    """

    coefficients: Floats
    root: Floats
    effects: Floats
    sd: Floats
    slopes: Floats
    spread: float

    def log_odds(self, features: Floats, query: Places) -> Floats:
        """(N,) at the posterior means; queries from Q on have no judged document, effect 0."""
        effects = np.concatenate([self.effects, np.zeros(self._more(query))])
        return np.asarray(features @ self.coefficients + effects[query], np.float64)

    def drawn(
        self, features: Floats, query: Places, draws: int, rng: np.random.Generator
    ) -> Floats:
        """(N, S) log-odds, each column under parameters drawn from their posterior."""
        coefficient_draws = self.root @ rng.standard_normal((len(self.coefficients), draws))
        judged_effects = self.effects[:, None] + self.slopes @ coefficient_draws
        judged_effects += self.sd[:, None] * rng.standard_normal(judged_effects.shape)
        unjudged_effects = self.spread * rng.standard_normal((self._more(query), draws))
        odds_without_effects = features @ (self.coefficients[:, None] + coefficient_draws)
        return np.asarray(
            odds_without_effects + np.concatenate([judged_effects, unjudged_effects])[query],
            np.float64,
        )

    def _more(self, query: Places) -> int:
        return max(int(query.max(initial=-1)) + 1 - len(self.effects), 0)


def fit_relevance(features: Floats, query: Places, relevant: NDArray[np.bool_]) -> RelevanceModel:
    """Fit by Laplace's approximation; the spread of query effects by EM.

    Coefficients have normal priors around 0 (`_PRIOR`), query effects a normal law around 0 whose
    variance is the mean of their squared means and variances. Newton's steps use that the effects
    are independent given the coefficients. Breslow and Clayton, JASA 88 (1993).

    Args:
        features: (J, F) of the judged documents.
        query: (J,) the index of each one's query, 0 … Q − 1.
        relevant: (J,) true if its grade is above 0.
    """
    count = int(query.max()) + 1
    prior = np.diag(1 / _PRIOR[: features.shape[1]] ** 2)
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
        if abs(effect_sd - last_sd) < 1e-3:  # moves no chance visibly
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
    features: Floats,
    query: Places,
    coefficients: Floats,
    effects: Floats,
    prior: Floats,
    effect_sd: float,
) -> tuple[Floats, Floats, Floats, Floats]:
    """Chances (J,), and curvature: mixed (F, Q), of effects (Q,), of coefficients given effects."""
    chance = 1 / (1 + np.exp(-np.clip(features @ coefficients + effects[query], -30, 30)))
    weight = chance * (1 - chance)
    count = len(effects)
    cross = np.array([np.bincount(query, weight * column, count) for column in features.T], float)
    effect_precision = np.asarray(np.bincount(query, weight, count) + 1 / effect_sd**2, np.float64)
    coefficient_precision = (features * weight[:, None]).T @ features + prior
    return (
        chance,
        cross,
        effect_precision,
        coefficient_precision - (cross / effect_precision) @ cross.T,
    )
