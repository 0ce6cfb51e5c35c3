"""Estimators of ranked lists: IIPS, RIPS and cascade-DR, which suppose how slots depend."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.online.off_policy.estimator import (
    Contribution,
    Estimator,
    EstimatorSettings,
    mean_contribution,
)
from rankgate.online.off_policy.estimators.direct import doubly_robust

if TYPE_CHECKING:
    from rankgate.online.off_policy.bandit_log import BanditLog


def _iips(log: BanditLog, settings: EstimatorSettings) -> Contribution:  # noqa: ARG001 - as all estimators
    return mean_contribution((log.weight * log.reward).sum(axis=1), log.weight)


def _rips(log: BanditLog, settings: EstimatorSettings) -> Contribution:  # noqa: ARG001 - as all estimators
    return mean_contribution((log.until * log.reward).sum(axis=1), log.until)


IIPS = Estimator(
    "iips",
    title="Independent inverse propensity scores: a weight for each slot",
    formula="mean of sum over slots of w_k r_k",
    source="Li, Abbasi-Yadkori, Kveton and others 2018",
    estimate=_iips,
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
    estimate=_rips,
    assumption="the reward of a slot does not depend on the slots below",
    against="ips",
    slates=True,
)
CASCADE_DR = Estimator(
    "cascade_dr",
    title="Cascade doubly robust: as rips, with a model of rewards",
    formula="mean of sum over slots of sum over a of P(a | target) q_k(a) + w_1 ... w_k (r_k - "
    "q_k): the paper's with a model of rewards to come that knows the slot and its action, whose "
    "rewards below cancel",
    source="Kiyohara, Saito, Matsuhiro and others 2022",
    estimate=doubly_robust,
    assumption="the reward of a slot does not depend on the slots below",
    against="ips",
    slates=True,
    model=True,
)
