"""Estimators with a model of rewards: the direct method and doubly robust."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.online.off_policy.estimator import (
    Contribution,
    Estimator,
    EstimatorSettings,
    mean_contribution,
)

if TYPE_CHECKING:
    from rankgate.online.off_policy.bandit_log import BanditLog

MAX_PRIOR_SHARE = 0.05
"""Share of the prior mean in the direct method's value above which it has no interval."""


def _dm(log: BanditLog, settings: EstimatorSettings) -> Contribution:  # noqa: ARG001 - as all estimators
    """Its error is that of the fitted model, to which each row adds its influence.

    Where the model is much the mean of all actions instead of the action's own, its bias is not
    known, and there is no interval.
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
    formula="mean of sum over a of P(a | target) q(a); q: mean reward of the action at its "
    "position, drawn towards the mean of all, fitted on other rows",
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
