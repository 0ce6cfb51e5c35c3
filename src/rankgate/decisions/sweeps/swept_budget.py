"""What a sweep spends of the account of held-out queries.

The points of a grid do not depend on figures, so that each is a test, and the chosen point passes or
not at its level. Then the sweep shows the figures of all points: whoever chooses the next candidate has
seen them, and the queries are worn.
"""

from __future__ import annotations

from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.present.base_result import Notice
from rankgate.decisions.gating.bounds import decide_statuses
from rankgate.decisions.gating.charged_tests import missing_account
from rankgate.decisions.gating.rule import Terms
from rankgate.decisions.gating.saved.holdout_account import (
    HoldoutAccount,
    HoldoutBudget,
    find_account,
    query_keys,
    unknown_budget,
)

if TYPE_CHECKING:
    from collections.abc import Sequence

    import polars as pl

    from rankgate.core.arrays import Floats
    from rankgate.decisions.sweeps.point_measurer import MeasuredPoint
    from rankgate.decisions.sweeps.sweep_plan import Plan

_ACCOUNT_POWER = 0.8


def charge_sweep(
    plan: Plan, points: Sequence[MeasuredPoint], gains: Floats | None, query_ids: list[str], best_point: int
) -> tuple[HoldoutBudget, Notice]:
    """Charge the points of a sweep to the account of the folder, and note that figures are shown.

    Args:
        plan: the sweep.
        points: the measured points; the first is the baseline.
        gains: (n, P) the gains of the points over the baseline; None if points depend on figures, or
            values are not those of queries.
        query_ids: the n queries.
        best_point: the column of the chosen point; 0 is the baseline.

    Raises:
        InputError: the account cannot be read or written.
    """
    account = find_account(Path())
    if account is None:
        return _noted(missing_account())
    keys = query_keys(query_ids, plan.scorer.qrels.table, None)
    if not plan.settings.account:
        account.show(keys)
        reason = "account = false turns the account off; as figures are shown, these queries are worn"
        return _noted(unknown_budget(reason))
    if gains is None:
        account.show(keys)
        reason = (
            "points depend on figures, or queries are clustered, so no test holds; these queries are worn"
        )
        return _noted(unknown_budget(reason))
    budget, is_better = _charge_points(account, plan, points, gains, keys, best_point)
    account.show(keys)
    answer = "no point is better" if not best_point else "it is not shown that the chosen point is better"
    if is_better:
        answer = "the chosen point is better than the baseline"
    if budget.state == "worn":
        answer = "nothing is decided"
    return _noted(budget, f"{answer}; as figures are shown, these queries are worn for later candidates. ")


def _charge_points(
    account: HoldoutAccount,
    plan: Plan,
    points: Sequence[MeasuredPoint],
    gains: Floats,
    keys: pl.DataFrame,
    best_point: int,
) -> tuple[HoldoutBudget, bool]:
    """The budget after the last point, and True if the chosen one passes its test."""
    metric = plan.scorer.metrics[0][0]
    budget, is_better = HoldoutBudget("open", queries=len(gains)), False
    for column in range(1, len(points)):
        runs = (plan.target.data_hash, points[0].key, points[column].key)
        parts = (plan.scorer.qrels.sha256, metric, *filter(None, runs))
        is_chosen = column == best_point
        budget, passes = charge_gain(account, parts, keys, metric, gains[:, column], is_chosen=is_chosen)
        if passes is None:
            return budget, False
        is_better |= passes
    return budget, is_better


def charge_gain(
    account: HoldoutAccount,
    parts: Sequence[str],
    keys: pl.DataFrame,
    metric: str,
    gains: Floats,
    *,
    is_chosen: bool = True,
) -> tuple[HoldoutBudget, bool | None]:
    """Charge the test of a gain; its budget, and True if the gain passes, None if it was refused.

    Args:
        account: the account.
        parts: what the test is recognised by.
        keys: the queries.
        metric: the metric.
        gains: (n,) the gains.
        is_chosen: False for a point that was not chosen, whose test is charged and does not pass.

    Raises:
        InputError: the account cannot be read or written.
    """
    test = blake2b("\x00".join(parts).encode(), digest_size=16).hexdigest()
    charge = account.charge(test, keys, 1.0, _ACCOUNT_POWER, f"{metric} ", gains)
    if charge.id is None:
        return charge.budget, None
    passes = is_chosen and bool(
        decide_statuses(gains[:, None], np.zeros(1), Terms(charge.level))[0] == "pass"
    )
    account.settle(charge, passed=passes)
    return charge.budget, passes


def _noted(budget: HoldoutBudget, answer: str = "") -> tuple[HoldoutBudget, Notice]:
    return budget, Notice("budget", f"{answer}{budget.sentence}")
