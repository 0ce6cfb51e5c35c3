"""Estimators that weight rewards: IPS, clipped IPS, SNIPS."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from rankgate.online.off_policy.estimator import (
    Contribution,
    Estimator,
    EstimatorSettings,
    mean_contribution,
)

if TYPE_CHECKING:
    from rankgate.online.off_policy.bandit_log import BanditLog


def _ips(log: BanditLog, settings: EstimatorSettings) -> Contribution:  # noqa: ARG001 - as all estimators
    return mean_contribution(log.whole * log.total, log.whole[:, None])


def _clipped(log: BanditLog, settings: EstimatorSettings) -> Contribution:
    weight = np.minimum(log.whole, settings.clip)
    return mean_contribution(weight * log.total, weight[:, None])


def _snips(log: BanditLog, settings: EstimatorSettings) -> Contribution:  # noqa: ARG001 - as all estimators
    """The ratio's parts are w (r - V) / mean w, around the value."""
    weight = log.whole
    total = float(weight.sum())
    value = float(weight @ log.total) / total if total else float("nan")
    scaled_weight = weight * len(weight) / total if total else weight
    return Contribution(value, scaled_weight * (log.total - value) + value, scaled_weight[:, None])


IPS = Estimator(
    "ips",
    title="Inverse propensity scores",
    formula="mean of w r; w = P(target) / P(logged), of a slate the product over its slots",
    source="Horvitz and Thompson 1952; Strehl and others 2010",
    estimate=_ips,
)
CLIPPED = Estimator(
    "clipped",
    title="Inverse propensity scores with weights of at most --clip",
    formula="mean of min(w, clip) r",
    source="Ionides 2008; Bottou and others 2013",
    estimate=_clipped,
    assumption="decisions whose weights are cut earn little",
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
