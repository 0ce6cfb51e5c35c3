"""Checks of a log before another policy is evaluated on it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rankgate.online.off_policy.bandit_log import BanditLog, effective_size

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

MAX_STANDARD_ERRORS = 4.0
"""Standard errors by which a mean weight may differ from what it must be."""

MIN_REWARDS = 20.0
"""Effective rewards below which an interval is mostly about rewards that a log may have missed."""

_MIN_SIZE_SHARE = 0.1  # effective size as a share of all decisions
_MAX_WEIGHT_SHARE = 0.05  # share of one decision in all weights
_MAX_NAMED = 5  # actions that a message names


def check_log(log: BanditLog, min_ess: float, max_unsupported: float) -> list[dict[str, Any]]:
    """``check``, ``value``, ``limit``, ``outcome`` (ok, warns, blocks) and ``words`` of each."""
    weight = log.whole
    ess, total = effective_size(weight), float(weight.sum())
    share = float(weight.max()) / total if total else 1.0
    rewards = effective_rewards(log, weight[:, None])
    outcome = "warns" if ess < _MIN_SIZE_SHARE * log.units else "ok"
    return [
        _check_row(
            "support",
            log.unsupported,
            max_unsupported,
            "blocks"
            if log.unsupported > max_unsupported
            else "warns"
            if log.unsupported > 0
            else "ok",
            f"{log.unsupported:.2%} of the target's probability is on actions that the log never "
            f"shows{_action_names(log.unseen_actions)}; their rewards are unknown",
        ),
        _check_row(
            "effective-size",
            ess,
            min_ess,
            "blocks" if ess < min_ess else outcome,
            f"the weighted log is worth {ess:,.1f} of its {log.units:,} decisions "
            f"({ess / log.units:.2%})",
        ),
        _check_mean_weight(log),
        *([] if log.time is None else [_check_drift(log, log.time)]),
        _check_row(
            "largest-weight",
            share,
            _MAX_WEIGHT_SHARE,
            "warns" if share > _MAX_WEIGHT_SHARE else "ok",
            f"one decision has {share:.1%} of all weight (weight {weight.max():,.1f})",
        ),
        _check_row(
            "effective-rewards",
            rewards,
            MIN_REWARDS,
            "blocks" if rewards == 0 else "warns" if rewards < MIN_REWARDS else "ok",
            f"the weighted log is worth {rewards:,.1f} rewarded decisions: the interval is mostly "
            "about rewards that it may have missed"
            if rewards
            else "no decision that the target could take has a reward",
        ),
    ]


def effective_rewards(log: BanditLog, weight: Floats) -> float:
    """The number of rewards of equal weight with the same precision.

    The smaller one of Kish's (1965) effective size of weight times reward, which counts what was
    seen, and of the effective size of the weights times the weighted share of rewards, which
    counts what would be seen if rewards did not depend on the action.

    Args:
        log: the decisions.
        weight: (S, K) of each slot's reward, or (S, 1) of all of a slate.
    """
    reward = log.reward if weight.shape == log.reward.shape else log.total[:, None]
    slots = log.shown if weight.shape == log.reward.shape else np.ones(weight.shape, np.bool_)
    weights, rewards = weight[slots], reward[slots]
    total = float(weights.sum())
    share = float(weights[rewards != 0].sum()) / total if total else 0.0
    return min(effective_size(weights * np.abs(rewards)), effective_size(weights) * share)


def _action_names(actions: tuple[str, ...]) -> str:
    if not actions:
        return ""
    return f" ({', '.join(actions[:_MAX_NAMED])}{', ...' if len(actions) > _MAX_NAMED else ''})"


def _check_row(
    check: str, value: float, limit: float, outcome: str, message: str
) -> dict[str, str | float]:
    return {
        "check": check,
        "value": float(value),
        "limit": float(limit),
        "outcome": outcome,
        "words": message,
    }


def _check_mean_weight(log: BanditLog) -> dict[str, Any]:
    """The mean weight must be the target's supported probability."""
    supported = (1 - log.unsupported) ** log.depth
    errors = _standard_errors_from(log.whole, supported)
    return _check_row(
        "mean-weight",
        float(log.whole.mean()),
        supported,
        _outcome_of_errors(errors),
        f"the mean weight of the log is {log.whole.mean():.4f} and must be {supported:.4f}; it "
        f"differs by {errors:.1f} standard errors",
    )


def _check_drift(log: BanditLog, time: NDArray[np.int64]) -> dict[str, Any]:
    """The same in the earlier and the later half of the log, which only times can tell."""
    supported = (1 - log.unsupported) ** log.depth
    is_later = time >= np.sort(time)[log.units // 2]
    halves = {"earlier": log.whole[~is_later], "later": log.whole[is_later]}
    errors = {
        name: _standard_errors_from(weights, supported)
        for name, weights in halves.items()
        if len(weights)
    }
    worst_half = max(errors, key=lambda name: errors[name])
    mean = float(halves[worst_half].mean())
    return _check_row(
        "drift",
        mean,
        supported,
        _outcome_of_errors(errors[worst_half]),
        f"the mean weight of the {worst_half} half is {mean:.4f} and must be {supported:.4f}; it "
        f"differs by {errors[worst_half]:.1f} standard errors",
    )


def _outcome_of_errors(errors: float) -> str:
    return (
        "blocks"
        if errors > MAX_STANDARD_ERRORS
        else "warns"
        if errors > MAX_STANDARD_ERRORS / 2
        else "ok"
    )


def _standard_errors_from(weight: Floats, expected: float) -> float:
    """The difference of the mean in standard errors; 0 without a difference."""
    difference = abs(float(weight.mean()) - expected)
    if difference < 1e-6:
        return 0.0
    error = float(weight.std(ddof=1)) / np.sqrt(len(weight)) if len(weight) > 1 else 0.0
    return difference / error if error > 0 else float("inf")
