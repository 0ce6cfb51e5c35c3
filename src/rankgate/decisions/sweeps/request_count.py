"""The number of requests of a sweep, which is stated before it starts."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rankgate.core.present.number_formats import count_noun
from rankgate.decisions.sweeps.fusion_target import FusionTarget
from rankgate.decisions.sweeps.race import FINALISTS, plan_rounds
from rankgate.decisions.sweeps.targets import EngineTarget

if TYPE_CHECKING:
    from rankgate.decisions.sweeps.sweep_plan import Plan

CONFIRMED = 50
"""Queries that the engine of a fusion is asked at the chosen point."""


def count_requests(plan: Plan) -> int:
    """The largest number of requests for the queries of a sweep, without retries and set-ups.

    Args:
        plan: the sweep; its folder may have runs already, which are not asked for again.
    """
    target = plan.target
    query_count = len(target.query_ids or ())
    training, held_out = query_count, 0
    if plan.split is not None:
        training, held_out = len(plan.split.training), len(plan.split.held_out)
    if isinstance(target, FusionTarget):
        return _of_fusion(plan, target, training, held_out)
    return _of_engine(plan, target, training, held_out) if isinstance(target, EngineTarget) else 0


def _of_engine(plan: Plan, target: EngineTarget, training: int, held_out: int) -> int:
    settings = plan.settings
    points = 1 + settings.trials if settings.search == "optuna" else len(plan.points)
    timed, total = points, points * training
    if settings.search == "race":
        timed = min(points, FINALISTS)
        total = sum(race_round.requests for race_round in plan_rounds(points, training))
    timing = timed * training if target.steady else 0
    return total + timing + (2 + (settings.predict is not None)) * held_out


def _of_fusion(plan: Plan, target: FusionTarget, training: int, held_out: int) -> int:
    settings, points = plan.settings, plan.points
    engines, has_dials = len(target.engines), any(list_source.names for list_source in target.engines)
    trials = 1 + settings.trials if settings.search == "optuna" and has_dials else 1
    total = target.requests(points, training) * trials
    judged = target.requests(points, held_out)
    if settings.predict is None:
        judged = min(judged, 2 * engines * held_out)
    return total + judged + (min(CONFIRMED, training) if target.confirm else 0)


def cost_sentence(plan: Plan) -> str:
    """What the sweep costs, before it starts; empty if it sends no request."""
    requests = count_requests(plan)
    if not requests:
        return ""
    points = 1 + plan.settings.trials if plan.settings.search == "optuna" else len(plan.points)
    single = points * len(plan.target.query_ids or ())
    settings = count_noun(points, "setting")
    if requests > single:
        addition = f"and {requests - single:,} to time the settings in turn and to judge the choice"
        return f"at most {requests:,} requests: {single:,} for {settings} at each query, {addition}"
    limit = f"at most {count_noun(requests, 'request')}"
    return f"{limit}; each of {settings} at each query would take {single:,}"
