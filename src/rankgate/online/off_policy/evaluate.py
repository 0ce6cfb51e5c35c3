"""Estimate what another policy would have earned."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import polars as pl

from rankgate.core.declare import Range
from rankgate.measurement.stats.rare_values import rare_values_interval
from rankgate.online.off_policy.bandit_log import BanditLog, effective_size
from rankgate.online.off_policy.catalogue import ESTIMATORS
from rankgate.online.off_policy.checks import ENOUGH, checks, effective_rewards
from rankgate.online.off_policy.estimator import Contribution, Estimator, Settings
from rankgate.online.off_policy.off_policy_estimate import (
    CHECKS,
    ESTIMATES,
    OffPolicyEstimate,
)
from rankgate.online.off_policy.read_log import DecisionLog, read_log
from rankgate.online.off_policy.reward_model import with_model
from rankgate.online.off_policy.target_policy import TargetLike, target_name

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import NDArray

    from rankgate.online.off_policy.read_log import DecisionLogLike

    Floats = NDArray[np.float64]

_REJECTED = 0.01
"""p below which an assumption is rejected."""


def ope(
    log: DecisionLogLike,
    target: TargetLike,
    *,
    estimators: Sequence[str] = (),
    clip: Annotated[float, Range(0, exclusive=True)] = 10.0,
    min_ess: Annotated[float, Range(1)] = 100.0,
    max_unsupported: Annotated[float, Range(0, 1)] = 0.05,
    level: Annotated[float, Range(0.5, 0.9999)] = 0.95,
) -> OffPolicyEstimate:
    """Estimate what another policy would have earned, from a log with propensities.

    Nothing is estimated where the log cannot answer: too little support, too small an effective
    size, weights whose mean is wrong. Reported is the estimator with the smallest error of those
    that suppose nothing; of those that suppose more only where the others have fewer than 20
    effective rewards, or where a call names it, and not if one that supposes less rejects it.
    Intervals are those of ``rare_values_interval``.

    Args:
        log: a table with a row for each decision: action, reward, propensity; or a
            ``DecisionLog`` that says what its columns are called.
        target: the policy: uniform, a column of the log with its probability of the logged action,
            or a table of action, probability and perhaps position.
        estimators: which are computed; by default all that the log allows.
        clip: the largest weight of the clipped estimator.
        min_ess: the effective number of decisions below which nothing is estimated.
        max_unsupported: the share of the target's probability on actions never shown above which
            nothing is estimated.
        level: of the intervals.

    Raises:
        InputError: a log that cannot be read; two columns that could be the propensity;
            propensities that are not above 0 and at most 1; a target without any action of the log.
        UsageError: no such target or estimator; an estimator that the log does not allow.
    """
    read = with_model(read_log(DecisionLog.of(log), target))
    chosen = _allowed(read, estimators)
    table = checks(read, min_ess, max_unsupported)
    refused = any(row["outcome"] == "blocks" for row in table)
    settings = Settings(clip)
    found = {} if refused else {
        name: each.estimate(read, settings) for name, each in _with_rivals(chosen).items()
    }  # fmt: skip
    rows = [_row(each, found, read, level) for each in chosen.values()]
    best = _best(rows, found, read, chosen, by_name=bool(estimators))
    weight = read.whole
    logged = Contribution(float(read.total.mean()), read.total, np.ones((read.units, 1)))
    low, high = _interval(logged, read, level)
    return OffPolicyEstimate(
        target_name(target),
        read.units,
        read.depth,
        logged.value,
        low,
        high,
        best,
        pl.DataFrame(rows, schema=ESTIMATES).with_columns(pl.col(pl.Float64).fill_nan(None)),
        pl.DataFrame(table, schema=CHECKS),
        effective_size(weight),
        float(weight.mean()),
        float(weight.max()),
        read.unsupported,
        int((weight > clip).sum()),
        clip,
        level,
    )


def _allowed(log: BanditLog, names: Sequence[str]) -> dict[str, Estimator]:
    """The estimators of a log's kind; those that were asked for, or all."""
    from rankgate.core.errors import UsageError

    asked = {name: ESTIMATORS.named(name) for name in names}
    for name, each in (asked or ESTIMATORS).items():
        fault = _fault(log, each)
        if fault and asked:
            raise UsageError(f"{name} needs {fault}.", code="estimator-not-allowed")
    known = asked or ESTIMATORS
    return {name: each for name, each in known.items() if not _fault(log, each)}


def _fault(log: BanditLog, each: Estimator) -> str:
    if each.model and log.expected is None:
        return "the target's probability of every action: uniform, or a file"
    if each.slates and log.depth == 1:
        return "slates of several slots"
    if each.slates is False and log.depth > 1:
        return "decisions of one slot"
    return ""


def _with_rivals(chosen: Mapping[str, Estimator]) -> dict[str, Estimator]:
    """The estimators, and those that test what they suppose."""
    rivals = {each.against: ESTIMATORS[each.against] for each in chosen.values() if each.against}
    return {**rivals, **chosen}


def _row(
    each: Estimator, found: Mapping[str, Contribution], read: BanditLog, level: float
) -> dict[str, Any]:
    """One estimate with its interval, its difference to the log, and the test of what it supposes.

    The test is a paired one (as Hausman's): if the assumption holds, the estimator and its rival
    estimate the same, decision by decision on the same log.
    """
    row: dict[str, Any] = {"estimator": each.name, "assumption": each.assumption or None}
    if each.name not in found:
        return row
    own = found[each.name]
    low, high = _interval(own, read, level)
    weight = _weight(own, read) - 1
    ahead = replace(
        own, value=own.value - float(read.total.mean()), parts=own.parts - read.total, weight=weight
    )
    less, more = _interval(ahead, read, level)
    p = None
    if each.against in found:
        rival = found[each.against]
        parts = own.parts if own.with_fixed_model is None else own.with_fixed_model
        gap = Contribution(own.value - rival.value, parts - rival.parts)
        p = _two_sided(gap.value, gap.error)
    return row | {
        "value": own.value, "low": low, "high": high, "error": own.error, "delta": ahead.value,
        "delta_low": less, "delta_high": more, "p_assumption": p,
        "holds": None if p is None else p >= _REJECTED,
    }  # fmt: skip


def _best(
    rows: Sequence[Mapping[str, Any]],
    found: Mapping[str, Contribution],
    log: BanditLog,
    estimators: Mapping[str, Estimator],
    *,
    by_name: bool,
) -> str | None:
    """The smallest error among the estimators that suppose least and have enough rewards.

    A test that does not reject an assumption is no reason to suppose it: an estimator with an
    assumption is taken only where those without one have too few rewards, or where it was named.
    """
    candidates: dict[str, float] = {
        row["estimator"]: row["error"]
        for row in rows
        if row.get("error") is not None and math.isfinite(row["error"])
        and row["holds"] is not False and (by_name or estimators[row["estimator"]].chosen)
    }  # fmt: skip
    enough = {
        name
        for name in candidates
        if effective_rewards(log, _weight(found[name], log)) >= ENOUGH
    }  # fmt: skip
    free = {name for name in candidates if not estimators[name].assumption}
    for names in (free & enough, enough, free, set(candidates)):
        if names:
            return min(sorted(names), key=lambda name: candidates[name])
    return None


def _weight(contribution: Contribution, log: BanditLog) -> Floats:
    """(S, K) or (S, 1) by how much the estimate grows with rewards."""
    return log.whole[:, None] if contribution.weight is None else contribution.weight


def _interval(contribution: Contribution, log: BanditLog, level: float) -> tuple[float, float]:
    """The interval of an estimate, whose ends hold for rewards that the log may have missed.

    The most that a decision could add is what it adds without its rewards, and its largest weight
    times the largest reward of the log.
    """
    if not contribution.has_interval:
        return math.nan, math.nan
    weight = _weight(contribution, log)
    reward = log.reward if weight.shape == log.reward.shape else log.total[:, None]
    without = contribution.parts - (weight * reward).sum(axis=1)
    ends = []
    for rewards in (min(float(log.total.min()), 0.0), max(float(log.total.max()), 0.0)):
        possible = without[:, None] + weight * rewards
        ends += [float(possible.min()), float(possible.max())]
    low, high = rare_values_interval(contribution.parts, min(ends), max(ends), level)
    # parts are the error to first order; the estimate may differ from their mean
    moved = contribution.value - float(contribution.parts.mean())
    return low + moved, high + moved


def _two_sided(difference: float, error: float) -> float:
    """P of a normal statistic; 1 where there is no difference at all."""
    if abs(difference) < np.finfo(float).eps:
        return 1.0
    return math.erfc(abs(difference) / error / math.sqrt(2)) if error > 0 else 0.0
