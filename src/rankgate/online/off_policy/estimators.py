"""All off-policy estimators: those of rankgate, then those of installed plug-ins.

An estimator gives a value and the contribution of each decision, under an assumption. Estimators
that weight rewards are IPS, clipped IPS and SNIPS; those with a model of rewards are the direct
method and doubly robust; those for ranked lists, with assumptions about slots, are IIPS, RIPS and
cascade-DR.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.declare import Declared, Registry, find_declared
from rankgate.core.frozen import dataclass

if TYPE_CHECKING:
    from rankgate.core.arrays import Floats
    from rankgate.online.off_policy.bandit_log import BanditLog


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
        parts: (S,) contributions: their mean is the estimate, their spread gives the error, to
            first order.
        weight: (S, K), or (S, 1) for all slots: the increase of ``parts`` per unit of reward, which
            limits the effect of rewards that the log missed; None to use the weights of decisions.
        has_interval: False if the error is not known.
        with_fixed_model: (S,) ``parts`` with the model of rewards taken as known, for the test
            against another estimator with the same fit; None if equal to ``parts``.
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


@dataclass(frozen=True, kw_only=True)
class Estimator(Declared):
    """An off-policy estimator.

    Attributes:
        estimate: from a log and settings the estimate.
        formula: in signs.
        assumption: its assumption in addition to right propensities and support.
        against: the estimator that supposes less, with which it is compared to test that; empty
            where nothing more is supposed.
        slates: True for slates, False for single decisions, None for both.
        model: True if it needs a model of rewards.
        chosen: True if it may be reported by default; else only where a call names it.
    """

    estimate: Callable[[BanditLog, EstimatorSettings], Contribution]
    formula: str
    assumption: str = ""
    against: str = ""
    slates: bool | None = None
    model: bool = False
    chosen: bool = True


def mean_contribution(parts: Floats, weight: Floats | None = None) -> Contribution:
    """The contribution of a plain mean; ``weight`` as in `Contribution`."""
    return Contribution(float(parts.mean()), np.asarray(parts, np.float64), weight)


def _clipped(log: BanditLog, settings: EstimatorSettings) -> Contribution:
    weight = np.minimum(log.slate_weights, settings.clip)
    return mean_contribution(weight * log.total, weight[:, None])


def _snips(log: BanditLog, settings: EstimatorSettings) -> Contribution:  # noqa: ARG001 - as all estimators
    """The ratio's parts are w (r - V) / mean w, around the value."""
    weight = log.slate_weights
    total = float(weight.sum())
    value = float(weight @ log.total) / total if total else float("nan")
    scaled_weight = weight * len(weight) / total if total else weight
    return Contribution(value, scaled_weight * (log.total - value) + value, scaled_weight[:, None])


IPS = Estimator(
    "ips",
    title="Inverse propensity scores",
    formula="mean of w r; w = P(target) / P(logged), of a slate the product over its slots",
    source="Horvitz and Thompson 1952; Strehl and others 2010",
    estimate=lambda log, _: mean_contribution(log.slate_weights * log.total, log.slate_weights[:, None]),
)
CLIPPED = Estimator(
    "clipped",
    title="Inverse propensity scores with weights of at most --clip",
    formula="mean of min(w, clip) r",
    source="Ionides 2008; Bottou and others 2013",
    estimate=_clipped,
    assumption="decisions with cut weights earn little",
    against="ips",
    chosen=False,
)
SNIPS = Estimator(
    "snips",
    title="Self-normalised inverse propensity scores",
    formula="sum of w r / sum of w",
    source="Swaminathan and Joachims 2015",
    estimate=_snips,
)


MAX_PRIOR_SHARE = 0.05
"""Share of the prior mean in the direct method's value above which it has no interval."""


def _dm(log: BanditLog, settings: EstimatorSettings) -> Contribution:  # noqa: ARG001 - as all estimators
    """Its error is that of the fitted model, to which each row adds its influence.

    If the model predicts mostly the mean of all actions instead of the action's own, its bias is
    unknown, and there is no interval.
    """
    assert log.expected is not None
    parts = log.expected.sum(axis=1)
    value = float(parts.mean())
    if log.model_influence is None or log.prior_share > MAX_PRIOR_SHARE:
        return Contribution(value, parts, log.model_slope, has_interval=False)
    return Contribution(value, parts + log.model_influence, log.model_slope, with_fixed_model=parts)


def doubly_robust(log: BanditLog, settings: EstimatorSettings) -> Contribution:  # noqa: ARG001 - as all
    """Add the model's expected rewards to its errors, weighted by the slot and those above it."""
    assert log.expected is not None
    assert log.predicted is not None
    residual = log.reward - log.predicted
    return mean_contribution((log.expected + log.until * residual).sum(axis=1), log.until)


DM = Estimator(
    "dm",
    title="Direct method: what a model of rewards expects",
    formula="mean of sum over a of P(a | target) q(a); q: mean reward of the action at its position, drawn "
    "towards the mean of all, fitted on other rows",
    source="Dudík, Langford and Li 2011",
    estimate=_dm,
    assumption="the model of rewards has no bias",
    against="dr",
    slates=False,
    model=True,
    chosen=False,
)
DR = Estimator(
    "dr",
    title="Doubly robust: the direct method, its errors corrected by weights",
    formula="mean of sum over a of P(a | target) q(a) + w (r - q(a))",
    source="Dudík, Langford and Li 2011",
    estimate=doubly_robust,
    slates=False,
    model=True,
)


IIPS = Estimator(
    "iips",
    title="Independent inverse propensity scores: a weight for each slot",
    formula="mean of sum over slots of w_k r_k",
    source="Li, Abbasi-Yadkori, Kveton and others 2018",
    estimate=lambda log, _: mean_contribution((log.weight * log.reward).sum(axis=1), log.weight),
    assumption="the reward of a slot does not depend on the other slots",
    against="rips",
    slates=True,
    chosen=False,
)
RIPS = Estimator(
    "rips",
    title="Reward interaction inverse propensity scores: weights of the slot and those above",
    formula="mean of sum over slots of w_1 ... w_k r_k",
    source="McInerney, Brost, Chandar and others 2020",
    estimate=lambda log, _: mean_contribution((log.until * log.reward).sum(axis=1), log.until),
    assumption="the reward of a slot does not depend on the slots below",
    against="ips",
    slates=True,
)
CASCADE_DR = Estimator(
    "cascade_dr",
    title="Cascade doubly robust: as rips, with a model of rewards",
    formula="mean of sum over slots of sum over a of P(a | target) q_k(a) + w_1 ... w_k (r_k - q_k): the "
    "paper's with a model of rewards to come that knows the slot and its action, whose rewards below cancel",
    source="Kiyohara, Saito, Matsuhiro and others 2022",
    estimate=doubly_robust,
    assumption="the reward of a slot does not depend on the slots below",
    against="ips",
    slates=True,
    model=True,
)


ESTIMATORS = Registry(
    Estimator, "estimator", partial(find_declared, __name__, Estimator), "rankgate.off_policy_estimators"
)
"""Estimators by name."""
