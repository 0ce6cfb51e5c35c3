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
_SPREAD = (0.1, 3.0)  # between which the standard deviation of query effects lies
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
        slopes: (Q, F) by how much an effect moves with each coefficient.
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
        moved = self.root @ rng.standard_normal((len(self.coefficients), draws))
        known = self.effects[:, None] + self.slopes @ moved
        known += self.sd[:, None] * rng.standard_normal(known.shape)
        unknown = self.spread * rng.standard_normal((self._more(query), draws))
        whole = features @ (self.coefficients[:, None] + moved)
        return np.asarray(whole + np.concatenate([known, unknown])[query], np.float64)

    def _more(self, query: Places) -> int:
        return max(int(query.max(initial=-1)) + 1 - len(self.effects), 0)


def fitted(features: Floats, query: Places, relevant: NDArray[np.bool_]) -> RelevanceModel:
    """Fit by Laplace's approximation; the spread of query effects by EM.

    Coefficients have normal priors around 0 (`_PRIOR`), query effects a normal law around 0 whose
    variance is the mean of their squared means and variances. Newton's steps use that the effects
    are independent given the coefficients. Breslow and Clayton, JASA 88 (1993).

    Args:
        features: (J, F) of the judged documents.
        query: (J,) the place of each one's query, 0 … Q − 1.
        relevant: (J,) whether its grade is above 0.
    """
    count = int(query.max()) + 1
    prior = np.diag(1 / _PRIOR[: features.shape[1]] ** 2)
    y, spread = relevant.astype(np.float64), 1.0
    coefficients, effects = np.zeros(features.shape[1]), np.zeros(count)
    for _ in range(_ROUNDS):
        for _ in range(_STEPS):
            parts = _curvature(features, query, coefficients, effects, prior, spread)
            chance, cross, own, schur = parts
            slope = features.T @ (y - chance) - prior @ coefficients
            rise = np.bincount(query, y - chance, count) - effects / spread**2
            step = np.linalg.solve(schur, slope - cross @ (rise / own))
            lift = (rise - cross.T @ step) / own
            coefficients = coefficients + np.clip(step, -2, 2)
            effects = effects + np.clip(lift, -2, 2)
            if max(np.abs(step).max(), np.abs(lift).max()) < _CLOSE:
                break
        _, cross, own, schur = _curvature(features, query, coefficients, effects, prior, spread)
        covariance = np.linalg.inv(schur)
        slopes = -(cross / own).T
        variance = 1 / own + np.einsum("qf,fg,qg->q", slopes, covariance, slopes)
        last, spread = spread, float(np.clip(np.sqrt((effects**2 + variance).mean()), *_SPREAD))
        if abs(spread - last) < 1e-3:  # moves no chance visibly
            break
    return RelevanceModel(
        coefficients, np.linalg.cholesky(covariance), effects, np.sqrt(1 / own), slopes, spread
    )


def _curvature(
    features: Floats,
    query: Places,
    coefficients: Floats,
    effects: Floats,
    prior: Floats,
    spread: float,
) -> tuple[Floats, Floats, Floats, Floats]:
    """Chances (J,), mixed (F, Q), of effects (Q,), and of coefficients once effects are out."""
    chance = 1 / (1 + np.exp(-np.clip(features @ coefficients + effects[query], -30, 30)))
    weight = chance * (1 - chance)
    count = len(effects)
    cross = np.array([np.bincount(query, weight * column, count) for column in features.T], float)
    own = np.asarray(np.bincount(query, weight, count) + 1 / spread**2, np.float64)
    whole = (features * weight[:, None]).T @ features + prior
    return chance, cross, own, whole - (cross / own) @ cross.T
