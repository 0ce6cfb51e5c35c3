"""An off-policy estimator: its value, what each decision adds to it, what it supposes."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import field
from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.declare import Declared
from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.online.off_policy.bandit_log import BanditLog

    Floats = NDArray[np.float64]


@dataclass(frozen=True)
class EstimatorSettings:
    """Options of estimators.

    Attributes:
        clip: the largest weight of the clipped estimator.
    """

    clip: float = 10.0


@dataclass(frozen=True)
class Contribution:
    """An estimate as a mean over decisions.

    Attributes:
        value: the estimate.
        parts: (S,) whose mean it is and whose spread is its error, to first order.
        weight: (S, K), or (S, 1) for all slots: by how much ``parts`` grows with a reward, which
            says how much a reward that the log has missed could add; None where the estimator
            does not say it, and the weights of decisions are taken.
        has_interval: False where the error is not known.
        with_fixed_model: (S,) as ``parts``, with the model of rewards taken as known, which the
            test against another estimator compares: the fit of both is the same; None where
            ``parts`` are so.
    """

    value: float
    parts: Floats
    weight: Floats | None = None
    has_interval: bool = True
    with_fixed_model: Floats | None = None

    @property
    def error(self) -> float:
        """The standard error."""
        return float(self.parts.std(ddof=1) / np.sqrt(len(self.parts)))


@dataclass(frozen=True)
class Estimator(Declared):
    """An off-policy estimator.

    Attributes:
        estimate: from a log and settings the estimate.
        formula: in signs.
        assumption: what it supposes in addition to right propensities and support.
        against: the estimator that supposes less, with which it is compared to test that; empty
            where nothing more is supposed.
        slates: whether it is of slates (True), of single decisions (False), or of both (None).
        model: whether it needs a model of rewards.
        chosen: True if it may be reported by default; else only where a call names it.
    """

    estimate: Callable[[BanditLog, EstimatorSettings], Contribution] = field(kw_only=True)
    formula: str = field(kw_only=True)
    assumption: str = field(default="", kw_only=True)
    against: str = field(default="", kw_only=True)
    slates: bool | None = field(default=None, kw_only=True)
    model: bool = field(default=False, kw_only=True)
    chosen: bool = field(default=True, kw_only=True)


def mean_contribution(parts: Floats, weight: Floats | None = None) -> Contribution:
    """A plain mean; ``weight`` as of `Contribution`."""
    return Contribution(float(parts.mean()), np.asarray(parts, np.float64), weight)
