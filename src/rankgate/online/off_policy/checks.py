"""What must hold before another policy is evaluated on a log."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from rankgate.online.off_policy.bandit_log import BanditLog, effective_size

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

OFF = 4.0
"""Standard errors by which a mean weight may differ from what it must be."""

ENOUGH = 20.0
"""Effective rewards below which an interval is mostly about rewards that a log may have missed."""

_THIN = 0.1  # effective size as a share of all decisions
_HEAVY = 0.05  # share of one decision in all weights
_NAMED = 5  # actions that a message names


def checks(log: BanditLog, min_ess: float, max_unsupported: float) -> list[dict[str, Any]]:
    """``check``, ``value``, ``limit``, ``outcome`` (ok, warns, blocks) and ``words`` of each."""
    weight = log.whole
    ess, total = effective_size(weight), float(weight.sum())
    share = float(weight.max()) / total if total else 1.0
    rewards = effective_rewards(log, weight[:, None])
    thin = "warns" if ess < _THIN * log.units else "ok"
    return [
        _row("support", log.unsupported, max_unsupported,
             "blocks" if log.unsupported > max_unsupported else
             "warns" if log.unsupported > 0 else "ok",
             f"{log.unsupported:.2%} of the target's probability is on actions that the log never "
             f"shows{_names(log.unseen_actions)}; their rewards are unknown"),
        _row("effective-size", ess, min_ess, "blocks" if ess < min_ess else thin,
             f"the weighted log is worth {ess:,.1f} of its {log.units:,} decisions "
             f"({ess / log.units:.2%})"),
        _mean_weight(log),
        *([] if log.time is None else [_drift(log, log.time)]),
        _row("largest-weight", share, _HEAVY, "warns" if share > _HEAVY else "ok",
             f"one decision has {share:.1%} of all weight (weight {weight.max():,.1f})"),
        _row("effective-rewards", rewards, ENOUGH,
             "blocks" if rewards == 0 else "warns" if rewards < ENOUGH else "ok",
             f"the weighted log is worth {rewards:,.1f} rewarded decisions: the interval is mostly "
             "about rewards that it may have missed" if rewards else
             "no decision that the target could take has a reward"),
    ]  # fmt: skip


def effective_rewards(log: BanditLog, weight: Floats) -> float:
    """How many rewards of equal weight would be as precise.

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


def _names(actions: tuple[str, ...]) -> str:
    if not actions:
        return ""
    return f" ({', '.join(actions[:_NAMED])}{', ...' if len(actions) > _NAMED else ''})"


def _row(
    check: str, value: float, limit: float, outcome: str, words: str
) -> dict[str, str | float]:
    return {
        "check": check, "value": float(value), "limit": float(limit), "outcome": outcome,
        "words": words,
    }  # fmt: skip


def _mean_weight(log: BanditLog) -> dict[str, Any]:
    """The mean weight must be the target's supported probability."""
    supported = (1 - log.unsupported) ** log.depth
    errors = _off(log.whole, supported)
    return _row(
        "mean-weight", float(log.whole.mean()), supported, _outcome(errors),
        f"the mean weight of the log is {log.whole.mean():.4f} and must be {supported:.4f}; it "
        f"differs by {errors:.1f} standard errors",
    )  # fmt: skip


def _drift(log: BanditLog, time: NDArray[np.int64]) -> dict[str, Any]:
    """The same in the earlier and the later half of the log, which only times can tell."""
    supported = (1 - log.unsupported) ** log.depth
    later = time >= np.sort(time)[log.units // 2]
    halves = {"earlier": log.whole[~later], "later": log.whole[later]}
    errors = {name: _off(weights, supported) for name, weights in halves.items() if len(weights)}
    worst = max(errors, key=lambda name: errors[name])
    mean = float(halves[worst].mean())
    return _row(
        "drift", mean, supported, _outcome(errors[worst]),
        f"the mean weight of the {worst} half is {mean:.4f} and must be {supported:.4f}; it "
        f"differs by {errors[worst]:.1f} standard errors",
    )  # fmt: skip


def _outcome(errors: float) -> str:
    return "blocks" if errors > OFF else "warns" if errors > OFF / 2 else "ok"


def _off(weight: Floats, expected: float) -> float:
    """By how many standard errors the mean differs; equal weights have no spread."""
    difference = abs(float(weight.mean()) - expected)
    if difference < 1e-6:
        return 0.0
    error = float(weight.std(ddof=1)) / np.sqrt(len(weight)) if len(weight) > 1 else 0.0
    return difference / error if error > 0 else float("inf")
