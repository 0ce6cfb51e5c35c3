"""Estimate what another policy would have earned."""

from __future__ import annotations

import math
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import polars as pl

from rankgate.declare import Count, Range
from rankgate.online.off_policy.bandit_log import BanditLog, effective_size
from rankgate.online.off_policy.catalogue import ESTIMATORS
from rankgate.online.off_policy.checks import checks
from rankgate.online.off_policy.estimator import Contribution, Estimator, Settings
from rankgate.online.off_policy.off_policy_estimate import (
    CHECKS,
    ESTIMATES,
    OffPolicyEstimate,
)
from rankgate.online.off_policy.read_log import read_log, with_model

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankgate.data.inputs import TableLike

_REJECTED = 0.01
"""p below which an assumption is rejected."""


def ope(
    log: TableLike,
    target: str | Path,
    *,
    estimators: Sequence[str] = (),
    columns: Mapping[str, str] | None = None,
    actions: Count | None = None,
    clip: Annotated[float, Range(0, exclusive=True)] = 10.0,
    min_ess: Annotated[float, Range(1)] = 100.0,
    max_unsupported: Annotated[float, Range(0, 1)] = 0.05,
    level: Annotated[float, Range(0.5, 0.9999)] = 0.95,
) -> OffPolicyEstimate:
    """Estimate what another policy would have earned, from a log with propensities.

    Nothing is estimated where the log cannot answer: too little support, too small an effective
    size, weights whose mean is wrong. An estimator is reported only if what it supposes is not
    rejected by one that supposes less.

    Args:
        log: a table with a row for each decision: action, reward, propensity (P(action) when it
            was logged); with slates a row for each slot, with slate and position, the propensity
            being that of the action at its position given those above.
        target: the policy: uniform, a column of the log with its probability of the logged action,
            or a table of action, probability and perhaps position.
        estimators: which are computed; by default all that the log allows.
        columns: what columns of the log are called, as in reward=click.
        actions: how many actions there are; by default those that the log shows.
        clip: the largest weight of the clipped estimator.
        min_ess: the effective number of decisions below which nothing is estimated.
        max_unsupported: the share of the target's probability on actions never shown above which
            nothing is estimated.
        level: of the intervals.

    Raises:
        InputError: a log that cannot be read; propensities that are not above 0 and at most 1.
        UsageError: no such target or estimator; an estimator that the log does not allow.
    """
    read = with_model(read_log(log, target, columns, actions))
    chosen = _allowed(read, estimators)
    table = checks(read, min_ess, max_unsupported)
    refused = any(row["outcome"] == "blocks" for row in table)
    settings = Settings(clip)
    found = {} if refused else {
        name: each.estimate(read, settings) for name, each in _with_rivals(chosen).items()
    }  # fmt: skip
    rows = [_row(each, found, read, level) for each in chosen.values()]
    best = _best(rows, chosen)
    weight = read.whole
    logged = Contribution(float(read.total.mean()), read.total)
    low, high = _interval(logged.value, logged.error, read.units, level)
    return OffPolicyEstimate(
        Path(target).name if Path(str(target)).is_file() else str(target),
        read.units,
        read.depth,
        logged.value,
        low,
        high,
        best,
        pl.DataFrame(rows, schema=ESTIMATES),
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
    from rankgate.errors import UsageError

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
    each: Estimator, found: Mapping[str, Contribution], log: BanditLog, level: float
) -> dict[str, Any]:
    """One estimate with its interval, its difference to the log, and the test of what it supposes.

    The test is a paired one (as Hausman's): if the assumption holds, the estimator and its rival
    estimate the same, decision by decision on the same log.
    """
    row: dict[str, Any] = {"estimator": each.name, "assumption": each.assumption or None}
    if each.name not in found:
        return row
    own = found[each.name]
    low, high = _interval(own.value, own.error, log.units, level)
    ahead = Contribution(own.value - float(log.total.mean()), own.parts - log.total)
    less, more = _interval(ahead.value, ahead.error, log.units, level)
    p = None
    if each.against in found:
        rival = found[each.against]
        gap = Contribution(own.value - rival.value, own.parts - rival.parts)
        p = _two_sided(gap.value, gap.error)
    return row | {
        "value": own.value, "low": low, "high": high, "error": own.error, "delta": ahead.value,
        "delta_low": less, "delta_high": more, "p_assumption": p,
        "holds": None if p is None else p >= _REJECTED,
    }  # fmt: skip


def _best(rows: Sequence[Mapping[str, Any]], chosen: Mapping[str, Estimator]) -> str | None:
    """The smallest error among estimators whose assumption is not rejected."""
    known = [
        row
        for row in rows
        if row.get("error") is not None and chosen[row["estimator"]].chosen
        and row["holds"] is not False and math.isfinite(row["error"])
    ]  # fmt: skip
    return min(known, key=lambda row: row["error"])["estimator"] if known else None


def _interval(value: float, error: float, n: int, level: float) -> tuple[float, float]:
    from rankgate.stats.interval import student_quantile

    if n < 2:
        return math.nan, math.nan
    reach = student_quantile(n - 1, (1 + level) / 2) * error
    return value - reach, value + reach


def _two_sided(difference: float, error: float) -> float:
    """P of a normal statistic; 1 where there is no difference at all."""
    if abs(difference) < np.finfo(float).eps:
        return 1.0
    return math.erfc(abs(difference) / error / math.sqrt(2)) if error > 0 else 0.0
