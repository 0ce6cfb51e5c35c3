"""The parts of a policy that are about a launch: experiment, ramp, error budget."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import date
from typing import TYPE_CHECKING, Any

from rankgate.core.frozen import dataclass
from rankgate.decisions.gating.settings import BUDGET, EARLIER, EXPERIMENT, RAMP, STAGES

if TYPE_CHECKING:
    from rankgate.core.declare.toml import Toml


@dataclass(frozen=True)
class Launch:
    """What a policy says of a launch.

    Attributes:
        experiment: whose KPIs rules look at; empty without an experiment.
        ramp: the steps.
        budget: by stage the alpha that it may spend; empty without a budget.
        earlier: by stage the file of its result, and the margins of stages.
        spending: the stages whose share of the budget is written in the policy and above 0.
    """

    experiment: Mapping[str, Any]
    ramp: tuple[Mapping[str, Any], ...]
    budget: Mapping[str, float]
    earlier: Mapping[str, Any]
    spending: frozenset[str]

    def stages(self, *, offline: bool, online: bool) -> tuple[str, ...]:
        """The stages that the policy declares: by a result, a share of the budget, or rules.

        Args:
            offline: whether rules are decided by the gate.
            online: whether rules are decided by the ramp.
        """
        by_rules = {"gate": offline, "ramp": online}
        return tuple(
            name
            for name in STAGES
            if by_rules.get(name) or name in self.earlier or name in self.spending
        )

    @property
    def hashed(self) -> tuple[str, ...]:
        """What the policy's hash covers: all but the days on which steps began."""
        steps = [sorted((k, v) for k, v in step.items() if k != "since") for step in self.ramp]
        margins = sorted((k, v) for k, v in self.earlier.items() if not isinstance(v, str))
        parts = (sorted(self.experiment.items()), steps, sorted(self.budget.items()), margins)
        return tuple(repr(each) for each in parts if each)

    def check_budget(self, file: Toml, *, offline: bool, online: bool) -> None:
        """Check that every stage of the launch has a share of the error budget.

        Args:
            file: the policy.
            offline: whether rules are decided by the gate.
            online: whether rules are decided by the ramp.

        Raises:
            InputError: a stage that has none: its errors would be outside of the budget.
        """
        used = {name for name, value in self.earlier.items() if isinstance(value, str)}
        used |= ({"gate"} if offline else set()) | ({"ramp"} if online else set())
        for name in STAGES:
            if self.budget and name in used and not self.budget[name]:
                problem = f"the {name} is a stage of this launch: give it a share of the budget."
                raise file.error(problem, "budget", name)

    def check(self, file: Toml, rules: Collection[str]) -> None:
        """Check the steps against each other and against the rules.

        Raises:
            InputError: shares or days that do not ascend, a step that began before the one above
                it, a rule that is not there.
        """
        before: tuple[float, date | None] = (0.0, None)
        for place, step in enumerate(self.ramp):
            key = ("ramp", str(place))
            if step["share"] <= before[0]:
                raise file.error("shares of steps ascend.", *key, "share")
            began = day(file, step["since"], *key, "since")
            if began and place and (before[1] is None or began <= before[1]):
                problem = "a step begins after the one above it has begun."
                raise file.error(problem, *key, "since")
            for name in step["passes"]:
                if name not in rules:
                    problem = f"no rule is called {name!r}; there are {', '.join(sorted(rules))}."
                    raise file.error(problem, *key, "passes")
            before = (step["share"], began)
        if self.experiment:
            day(file, self.experiment["start"], "experiment", "start")


def read_launch(file: Toml) -> Launch:
    """What a policy says of a launch.

    Raises:
        InputError: an unknown key, a value that cannot be, a budget of more than all; with its
            line.
    """
    whole = file.values
    experiment = (
        file.read_values(whole["experiment"], EXPERIMENT, "experiment")
        if "experiment" in whole
        else {}
    )
    if experiment and experiment["control"] == experiment["treatment"]:
        raise file.error("control and treatment are two arms.", "experiment", "treatment")
    steps = whole.get("ramp", [])
    if not isinstance(steps, list) or not all(isinstance(step, dict) for step in steps):
        raise file.error("steps are tables: [[ramp]].", "ramp")
    if steps and not experiment:
        raise file.error("a ramp needs an [experiment].", "ramp", "0")
    ramp = tuple(file.read_values(step, RAMP, "ramp", str(n)) for n, step in enumerate(steps))
    earlier = file.read_values(whole.get("earlier", {}), EARLIER, "earlier")
    known = {name: value for name, value in earlier.items() if value is not None}
    named = any(isinstance(value, str) for value in known.values())
    budget = _budget(file, whole)
    spending = frozenset(
        name for name in STAGES if name in whole.get("budget", {}) and budget[name]
    )
    return Launch(experiment, ramp, budget, known if named else {}, spending)


def _budget(file: Toml, whole: Mapping[str, Any]) -> dict[str, float]:
    if "budget" not in whole:
        return {}
    values = file.read_values(whole["budget"], BUDGET, "budget")
    if "alpha" in whole.get("gate", {}):
        problem = "alpha is in [budget], which is that of all stages; take it out of [gate]."
        raise file.error(problem, "gate", "alpha")
    if sum(values[name] for name in STAGES) > 1 + 1e-9:
        raise file.error("the shares of stages are 1 at most in all.", "budget")
    return {name: values["alpha"] * values[name] for name in STAGES}


def day(file: Toml, text: str | None, *key: str) -> date | None:
    """A day that a policy says; None where it says none.

    Raises:
        InputError: something that is not a day; with its line.
    """
    if not text:
        return None
    try:
        return date.fromisoformat(text)
    except ValueError:
        raise file.error(f"{text!r} is not a day, such as 2026-03-01.", *key) from None
