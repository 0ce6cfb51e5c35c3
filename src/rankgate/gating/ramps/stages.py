"""Results of the stages before a ramp, and how much of the error budget each may spend."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from rankgate.errors import InputError
from rankgate.gating.settings import STAGES

if TYPE_CHECKING:
    from rankgate.gating.policy import Policy
    from rankgate.gating.rule import Status


@dataclass(frozen=True)
class Stage:
    """One stage of a launch.

    Attributes:
        name: gate, replay, interleaving or ramp.
        alpha: what it may spend of the error budget.
        status: pass, fail or inconclusive; None where it is no part of the launch.
        source: the file of its result, or why it is inconclusive.
    """

    name: str
    alpha: float
    status: Status | None
    source: str


def earlier(policy: Policy) -> tuple[Stage, ...]:
    """The stages before the ramp, from the files that the policy names.

    A result of another policy, or no result yet, is inconclusive.

    Raises:
        InputError: a file that is no JSON of a verdict.
    """
    found = []
    for name in STAGES[:-1]:
        alpha = policy.budget.get(name, policy["alpha"])
        if name not in policy.earlier:
            found.append(Stage(name, alpha, None, ""))
            continue
        found.append(Stage(name, alpha, *_read(policy, policy.earlier[name])))
    return tuple(found)


def _read(policy: Policy, named: str) -> tuple[Status, str]:
    path = policy.folder / named
    if not path.is_file():
        return "inconclusive", f"{named} is not there yet"
    try:
        values = json.loads(path.read_text(encoding="utf-8"))
        status = values["verdict"]
    except (ValueError, KeyError, TypeError, OSError):
        problem = "not the JSON of a verdict; write it with --format json."
        raise InputError(problem, source=str(path), code="invalid-result") from None
    if status not in {"pass", "fail", "inconclusive"}:
        problem = f"a verdict is pass, fail or inconclusive, not {status!r}."
        raise InputError(problem, source=str(path), code="invalid-result")
    digest = values.get("sha256") or (values.get("hashes") or {}).get("policy")
    if digest and digest != policy.sha256:
        return "inconclusive", f"{named} is of another policy, or of an earlier text of this one"
    return status, named
