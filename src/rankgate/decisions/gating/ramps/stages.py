"""Results of the stages before a ramp, and the share of the error budget of each."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.decisions.gating.ramps.step import experiment_of
from rankgate.decisions.gating.settings import STAGES

if TYPE_CHECKING:
    from rankgate.decisions.gating.policy import Policy
    from rankgate.decisions.gating.rule import Status

_NO_RESULT = "no result; name its JSON in [earlier]"


@dataclass(frozen=True)
class EarlierStage:
    """One stage of a launch.

    Attributes:
        name: gate, replay, interleaving or ramp.
        alpha: the share of the error budget that it may spend.
        status: pass, fail or inconclusive; None where it is not part of the launch.
        source: the file of its result, or the reason why it is inconclusive.
    """

    name: str
    alpha: float
    status: Status | None
    source: str


def read_earlier_stages(policy: Policy) -> tuple[EarlierStage, ...]:
    """The stages before the ramp, from the files that the policy names.

    Inconclusive are a stage that the policy declares without naming its result, and a result of
    another policy, of a lower level than the budget asks for, or that is not there yet. The
    interval of a replay or of interleaving, two-sided, must have a level of 1 − 2 alpha or more: it
    passes above the margin, and fails below.

    Raises:
        InputError: a file that is no JSON of such a result.
    """
    stages = []
    for name in STAGES[:-1]:
        alpha = policy.budget.get(name, policy["alpha"])
        if name in policy.earlier:
            stages.append(EarlierStage(name, alpha, *_read_result(policy, name, alpha)))
        elif name in policy.stages:
            stages.append(EarlierStage(name, alpha, "inconclusive", _NO_RESULT))
        else:
            stages.append(EarlierStage(name, alpha, None, ""))
    return tuple(stages)


def _read_result(policy: Policy, name: str, alpha: float) -> tuple[Status, str]:
    file_name = policy.earlier[name]
    path = policy.folder / file_name
    if not path.is_file():
        return "inconclusive", f"{file_name} is not there yet"
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        status, details = _status(values, policy, name, alpha)
    except (ValueError, KeyError, TypeError, AttributeError, OSError):
        problem = f"not the JSON of a result of the {name}; write it with --format json."
        raise InputError(problem, source=str(path), code="invalid-result") from None
    return status, f"{file_name}{details}"


def _status(
    values: Mapping[str, Any], policy: Policy, name: str, alpha: float
) -> tuple[Status, str]:
    if values.get("kind") in _INTERVAL_READERS:
        if values["level"] < 1 - 2 * alpha - 1e-9:
            needed = f"{1 - 2 * alpha:.4f}".rstrip("0")
            return "inconclusive", f" has the level {values['level']:g}; ask for --level {needed}"
        ends = _INTERVAL_READERS[values["kind"]](values, policy)
        return _compare_with_margin(ends, policy.earlier[f"{name}_margin"])
    status: Status = {"pass": "pass", "fail": "fail", "inconclusive": "inconclusive"}[
        values["verdict"]
    ]  # type: ignore[assignment]
    digest = values.get("sha256") or (values.get("hashes") or {}).get("policy")
    if digest and digest != policy.sha256:
        return "inconclusive", " is of another policy, or of an earlier text of this one"
    return status, ""


def _compare_with_margin(ends: tuple[float, float] | None, margin: float) -> tuple[Status, str]:
    if ends is None:
        return "inconclusive", " allows no conclusion"
    low, high = ends
    ends_text = f": {low:+.2%} to {high:+.2%}"
    return ("pass" if low > -margin else "fail" if high < -margin else "inconclusive"), ends_text


def _preference_interval(values: Mapping[str, Any], policy: Policy) -> tuple[float, float] | None:
    """The interval of the preference for the treatment; None where the log is not valid.

    For methods whose mean credits are equal without a preference the interval is that of credits.
    """
    control, treatment = experiment_of(policy).arms
    unbalanced = values["p_teams"] is not None and values["p_teams"] < 0.001
    for pair in values["pairs"]:
        if {pair["one"], pair["other"]} != {control, treatment} or unbalanced:
            continue
        names = ("low", "high") if values["test"] == "sign" else ("credit_low", "credit_high")
        low, high = (pair[name] for name in names)
        if low is None or high is None:
            return None
        return (low, high) if pair["other"] == treatment else (-high, -low)
    if unbalanced:
        return None
    raise KeyError(treatment)


def _reward_interval(values: Mapping[str, Any], policy: Policy) -> tuple[float, float] | None:  # noqa: ARG001 - as `_preference_interval`
    """The interval of the relative gain of reward; None where the log has no such estimate."""
    for row in values["estimates"]:
        if row["estimator"] == values["estimator"] and values["logged"]:
            if row["delta_low"] is None:
                return None
            return row["delta_low"] / values["logged"], row["delta_high"] / values["logged"]
    return None


def _replay_interval(values: Mapping[str, Any], policy: Policy) -> tuple[float, float] | None:  # noqa: ARG001 - as `_preference_interval`
    """The interval of the relative gain of DCG, which falls for no user who is satisfied sooner."""
    for row in values["measures"]:
        if row["measure"] == "dcg" and row["logged"]:
            return row["delta_low"] / row["logged"], row["delta_high"] / row["logged"]
    return None


_INTERVAL_READERS = {
    "preference": _preference_interval,
    "off_policy_estimate": _reward_interval,
    "counterfactual_replay": _replay_interval,
}
"""The reader of the interval, by kind of result."""
