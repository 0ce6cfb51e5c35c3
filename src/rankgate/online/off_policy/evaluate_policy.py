"""Estimate what another policy would have earned.

The log is checked before another policy is evaluated on it.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import polars as pl

from rankgate.core.declare import Range
from rankgate.core.present.number_formats import count_noun
from rankgate.measurement.stats.mean_intervals import rare_values_interval
from rankgate.online.off_policy.bandit_log import BanditLog, add_reward_model, effective_size
from rankgate.online.off_policy.estimators import ESTIMATORS, Contribution, Estimator, EstimatorSettings
from rankgate.online.off_policy.off_policy_estimate import CHECKS, ESTIMATES, OffPolicyEstimate, check_row
from rankgate.online.off_policy.read_bandit_log import TargetLike, read_log, target_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rankgate.core.arrays import Floats
    from rankgate.core.value_types import Json
    from rankgate.data.input_types import ColumnsLike, TableLike


MAX_STANDARD_ERRORS = 4.0
"""Standard errors by which a mean weight may differ from what it must be."""

MIN_REWARDS = 20.0
"""Effective rewards below which an interval is mostly about rewards that a log may have missed."""

_MIN_SIZE_SHARE = 0.1  # the effective size as a share of all decisions
_MAX_WEIGHT_SHARE = 0.05  # the share of one decision in all weights
_MAX_NAMED = 5  # actions that a message names


def check_log(log: BanditLog, min_ess: float, max_unsupported: float) -> list[dict[str, Json]]:
    """Rows with ``check``, ``value``, ``limit``, ``outcome`` (ok, warns, blocks) and ``words``."""
    weight = log.slate_weights
    ess, total = effective_size(weight), float(weight.sum())
    share = float(weight.max()) / total if total else 1.0
    rewards = effective_rewards(log, weight[:, None])
    outcome = "warns" if ess < _MIN_SIZE_SHARE * log.units else "ok"
    return [
        check_row(
            "support",
            log.unsupported,
            max_unsupported,
            "blocks" if log.unsupported > max_unsupported else "warns" if log.unsupported > 0 else "ok",
            f"{log.unsupported:.2%} of the target's probability is on actions that the log never "
            f"shows{_action_names(log.unseen_actions)}; their rewards are unknown",
        ),
        check_row(
            "effective-size",
            ess,
            min_ess,
            "blocks" if ess < min_ess else outcome,
            f"the weighted log is worth {ess:,.1f} of its {count_noun(log.units, 'decision')} "
            f"({ess / log.units:.2%})",
        ),
        _check_mean_weight(log),
        *([] if log.time is None else [_check_drift(log, log.time)]),
        check_row(
            "largest-weight",
            share,
            _MAX_WEIGHT_SHARE,
            "warns" if share > _MAX_WEIGHT_SHARE else "ok",
            f"one decision has {share:.1%} of all weight (weight {weight.max():,.1f})",
        ),
        check_row(
            "effective-rewards",
            rewards,
            MIN_REWARDS,
            "blocks" if rewards == 0 else "warns" if rewards < MIN_REWARDS else "ok",
            f"the weighted log is worth {rewards:,.1f} rewarded decisions: the interval is mostly about "
            "rewards that it may have missed"
            if rewards
            else "no decision that the target could take has a reward",
        ),
    ]


def effective_rewards(log: BanditLog, weight: Floats) -> float:
    """The number of rewards of equal weight with the same precision.

    The smaller of two numbers: Kish's (1965) effective size of weight times reward, for the
    observed rewards; and the effective size of the weights times the weighted share of rewards, for
    the case that rewards do not depend on the action.

    Args:
        log: the decisions.
        weight: (S, K) the weight of each slot's reward, or (S, 1) the weight of all rewards of a
            slate.
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


def _check_mean_weight(log: BanditLog) -> dict[str, Json]:
    """Check that the mean weight equals the target's supported probability."""
    supported = (1 - log.unsupported) ** log.depth
    errors = _standard_errors_from(log.slate_weights, supported)
    return check_row(
        "mean-weight",
        float(log.slate_weights.mean()),
        supported,
        _outcome_of_errors(errors),
        f"the mean weight of the log is {log.slate_weights.mean():.4f} and must be {supported:.4f}; it "
        f"differs by {errors:.1f} standard errors",
    )


def _check_drift(log: BanditLog, time: NDArray[np.int64]) -> dict[str, Json]:
    """Check the mean weight in the earlier and the later half of the log, if it has times."""
    supported = (1 - log.unsupported) ** log.depth
    is_later = time >= np.sort(time)[log.units // 2]
    halves = {"earlier": log.slate_weights[~is_later], "later": log.slate_weights[is_later]}
    errors = {
        name: _standard_errors_from(weights, supported) for name, weights in halves.items() if len(weights)
    }
    worst_half = max(errors, key=lambda name: errors[name])
    mean = float(halves[worst_half].mean())
    return check_row(
        "drift",
        mean,
        supported,
        _outcome_of_errors(errors[worst_half]),
        f"the mean weight of the {worst_half} half is {mean:.4f} and must be {supported:.4f}; it differs by "
        f"{errors[worst_half]:.1f} standard errors",
    )


def _outcome_of_errors(errors: float) -> str:
    return "blocks" if errors > MAX_STANDARD_ERRORS else "warns" if errors > MAX_STANDARD_ERRORS / 2 else "ok"


def _standard_errors_from(weight: Floats, expected: float) -> float:
    """The difference of a mean in standard errors; 0 without a difference."""
    difference = abs(float(weight.mean()) - expected)
    if difference < 1e-6:
        return 0.0
    error = float(weight.std(ddof=1)) / np.sqrt(len(weight)) if len(weight) > 1 else 0.0
    return difference / error if error > 0 else float("inf")


_REJECTION_LEVEL = 0.01
"""p below which an assumption is rejected."""


def ope(
    log: TableLike,
    target: TargetLike,
    *,
    columns: ColumnsLike | None = None,
    estimators: Sequence[str] = (),
    clip: Annotated[float, Range(0, exclusive=True)] = 10.0,
    min_ess: Annotated[float, Range(1)] = 100.0,
    max_unsupported: Annotated[float, Range(0, 1)] = 0.05,
    level: Annotated[float, Range(0.5, 0.9999)] = 0.95,
) -> OffPolicyEstimate:
    """Estimate what another policy would have earned, from a log with propensities.

    There is no estimate if the log cannot answer: too little support, too small an effective
    size, weights whose mean is wrong. Reported is the estimator with the smallest error of those
    that suppose nothing; of those that suppose more only where the others have fewer than 20
    effective rewards, or where a call names it, and not if one that supposes less rejects it.
    Intervals are those of ``rare_values_interval``.

    Args:
        log: a table with a row for each decision: action, reward, propensity (P(action) when it
            was logged); with slates a row for each slot, with slate and position, the propensity
            being that of the action at its position given those above; with time a change of the
            logging is looked for.
        target: the policy: uniform over the actions of the log, or over 50 as uniform:50; a column
            of the log with its probability of the logged action; or a table of action, probability
            and perhaps position.
        columns: the names of columns in the log and in the target's table, as in
            reward=bought,action=offer.
        estimators: the estimators to compute; by default all that the log allows.
        clip: the largest weight of the clipped estimator.
        min_ess: the effective number of decisions below which there is no estimate.
        max_unsupported: the share of the target's probability on actions never shown above which
            there is no estimate.
        level: the confidence level of the intervals.

    Raises:
        InputError: a log that cannot be read; two columns that could be the propensity;
            propensities that are not above 0 and at most 1; a target without any action of the log.
        UsageError: no such target, column or estimator; an estimator that the log does not allow.
    """
    bandit_log = add_reward_model(read_log(log, target, columns))
    selected = _allowed_estimators(bandit_log, estimators)
    table = check_log(bandit_log, min_ess, max_unsupported)
    refused = any(row["outcome"] == "blocks" for row in table)
    settings = EstimatorSettings(clip)
    contributions = (
        {}
        if refused
        else {
            name: estimator.estimate(bandit_log, settings)
            for name, estimator in _with_rivals(selected).items()
        }
    )
    rows = [_estimate_row(estimator, contributions, bandit_log, level) for estimator in selected.values()]
    best = _reported_estimator(rows, contributions, bandit_log, selected, by_name=bool(estimators))
    weight = bandit_log.slate_weights
    logged = Contribution(float(bandit_log.total.mean()), bandit_log.total, np.ones((bandit_log.units, 1)))
    low, high = _interval(logged, bandit_log, level)
    return OffPolicyEstimate(
        target_name(target),
        bandit_log.units,
        bandit_log.depth,
        logged.value,
        low,
        high,
        best,
        pl.DataFrame(rows, schema=ESTIMATES).with_columns(pl.col(pl.Float64).fill_nan(None)),
        pl.DataFrame(table, schema=CHECKS),
        effective_size(weight),
        float(weight.mean()),
        float(weight.max()),
        bandit_log.unsupported,
        int((weight > clip).sum()),
        clip,
        level,
    )


def _allowed_estimators(log: BanditLog, names: Sequence[str]) -> dict[str, Estimator]:
    """The estimators of a log's kind; the requested ones, or all."""
    from rankgate.core.errors import UsageError

    requested = {name: ESTIMATORS.find(name) for name in names}
    for name, estimator in (requested or ESTIMATORS).items():
        fault = _missing_requirement(log, estimator)
        if fault and requested:
            raise UsageError(f"{name} needs {fault}.", code="estimator-not-allowed")
    candidates = requested or ESTIMATORS
    return {
        name: estimator for name, estimator in candidates.items() if not _missing_requirement(log, estimator)
    }


def _missing_requirement(log: BanditLog, estimator: Estimator) -> str:
    if estimator.model and log.expected is None:
        return "the target's probability of every action: uniform, or a file"
    if estimator.slates and log.depth == 1:
        return "slates of several slots"
    if estimator.slates is False and log.depth > 1:
        return "decisions of one slot"
    return ""


def _with_rivals(estimators: Mapping[str, Estimator]) -> dict[str, Estimator]:
    """The estimators, and the rivals that test their assumptions."""
    rivals = {
        estimator.against: ESTIMATORS[estimator.against]
        for estimator in estimators.values()
        if estimator.against
    }
    return {**rivals, **estimators}


def _estimate_row(
    estimator: Estimator, contributions: Mapping[str, Contribution], bandit_log: BanditLog, level: float
) -> dict[str, Json]:
    """An estimate with its interval, its difference to the log, and the test of its assumption.

    The test is paired (like Hausman's): if the assumption holds, the estimator and its rival
    estimate the same value on the same decisions.
    """
    row: dict[str, Json] = {"estimator": estimator.name, "assumption": estimator.assumption or None}
    if estimator.name not in contributions:
        return row
    contribution = contributions[estimator.name]
    low, high = _interval(contribution, bandit_log, level)
    weight = _contribution_weight(contribution, bandit_log) - 1
    difference = replace(
        contribution,
        value=contribution.value - float(bandit_log.total.mean()),
        parts=contribution.parts - bandit_log.total,
        weight=weight,
    )
    delta_low, delta_high = _interval(difference, bandit_log, level)
    p = None
    if estimator.against in contributions:
        rival = contributions[estimator.against]
        parts = contribution.parts if contribution.with_fixed_model is None else contribution.with_fixed_model
        gap_to_rival = Contribution(contribution.value - rival.value, parts - rival.parts)
        p = _two_sided(gap_to_rival.value, gap_to_rival.error)
    return row | {
        "value": contribution.value,
        "low": low,
        "high": high,
        "error": contribution.error,
        "delta": difference.value,
        "delta_low": delta_low,
        "delta_high": delta_high,
        "p_assumption": p,
        "holds": None if p is None else p >= _REJECTION_LEVEL,
    }


def _reported_estimator(
    rows: Sequence[Mapping[str, Any]],
    contributions: Mapping[str, Contribution],
    log: BanditLog,
    estimators: Mapping[str, Estimator],
    *,
    by_name: bool,
) -> str | None:
    """The estimator with the smallest error, of those with fewest assumptions and enough rewards.

    A test that does not reject an assumption does not prove it: an estimator with an assumption is
    used only if estimators without one have too few rewards, or if the call names it.
    """
    candidates: dict[str, float] = {
        row["estimator"]: row["error"]
        for row in rows
        if row.get("error") is not None
        and math.isfinite(row["error"])
        and row["holds"] is not False
        and (by_name or estimators[row["estimator"]].chosen)
    }
    with_enough_rewards = {
        name
        for name in candidates
        if effective_rewards(log, _contribution_weight(contributions[name], log)) >= MIN_REWARDS
    }
    without_assumption = {name for name in candidates if not estimators[name].assumption}
    for names in (
        without_assumption & with_enough_rewards,
        with_enough_rewards,
        without_assumption,
        set(candidates),
    ):
        if names:
            return min(sorted(names), key=lambda name: candidates[name])
    return None


def _contribution_weight(contribution: Contribution, log: BanditLog) -> Floats:
    """(S, K) or (S, 1) the increase of the estimate per unit of reward."""
    return log.slate_weights[:, None] if contribution.weight is None else contribution.weight


def _interval(contribution: Contribution, log: BanditLog, level: float) -> tuple[float, float]:
    """The interval of an estimate, which allows for rewards that the log may have missed.

    The largest possible contribution of a decision is its contribution without rewards, plus its
    largest weight times the largest reward of the log.
    """
    if not contribution.has_interval:
        return math.nan, math.nan
    weight = _contribution_weight(contribution, log)
    reward = log.reward if weight.shape == log.reward.shape else log.total[:, None]
    parts_without_reward = contribution.parts - (weight * reward).sum(axis=1)
    ends = []
    for rewards in (min(float(log.total.min()), 0.0), max(float(log.total.max()), 0.0)):
        possible = parts_without_reward[:, None] + weight * rewards
        ends += [float(possible.min()), float(possible.max())]
    low, high = rare_values_interval(contribution.parts, min(ends), max(ends), level)
    # parts are the error to first order; the estimate may differ from their mean
    shift = contribution.value - float(contribution.parts.mean())
    return low + shift, high + shift


def _two_sided(difference: float, error: float) -> float:
    """The two-sided p-value of a normal statistic; 1 without any difference."""
    if abs(difference) < np.finfo(float).eps:
        return 1.0
    return math.erfc(abs(difference) / error / math.sqrt(2)) if error > 0 else 0.0
