"""An effect as a posterior distribution: normal prior, normal estimate."""

from __future__ import annotations

import numpy as np

from rankgate.core.frozen import dataclass


@dataclass(frozen=True)
class Posterior:
    """The posterior distribution of an effect.

    Attributes:
        mean, sd: of the posterior.
        better: the probability that the effect is above 0.
        loss: the expected loss of choosing the treatment: E[max(−effect, 0)].
    """

    mean: float
    sd: float
    better: float
    loss: float


def posterior(delta: float, se: float, prior_sd: float) -> Posterior:
    """Combine an estimate with the prior N(0, prior_sd²).

    The posterior is N(w delta, w se²) with w = prior_sd² / (prior_sd² + se²); the loss is
    sd φ(mean/sd) − mean Φ(−mean/sd).
    """
    from scipy.special import ndtr

    weight = prior_sd**2 / (prior_sd**2 + se**2)
    mean, sd = weight * delta, float(np.sqrt(weight)) * se
    if not sd > 0:
        return Posterior(mean, sd, float(mean > 0), max(-mean, 0.0))
    z = mean / sd
    density = np.exp(-(z**2) / 2) / np.sqrt(2 * np.pi)
    return Posterior(mean, sd, float(ndtr(z)), float(sd * density - mean * ndtr(-z)))
