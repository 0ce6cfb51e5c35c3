"""The parts of a policy that are about a launch: experiment, ramp, error budget."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from datetime import date
from typing import TYPE_CHECKING, Any

from rankgate.core.frozen import dataclass
from rankgate.decisions.gating.settings import BUDGET, EARLIER, RAMP, STAGES, parse_day

if TYPE_CHECKING:
    from rankgate.core.declare.toml import TomlFile


@dataclass(frozen=True)
class Launch:
    """The tables of a policy that describe a launch.

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
            offline: True if the gate decides rules.
            online: True if the ramp decides rules.
        """
        by_rules = {"gate": offline, "ramp": online}
        return tuple(
            name
            for name in STAGES
            if by_rules.get(name) or name in self.earlier or name in self.spending
        )

    @property
    def hashed(self) -> tuple[str, ...]:
        """The parts that the policy's hash covers: all but the days on which steps began."""
        steps = [sorted((k, v) for k, v in step.items() if k != "since") for step in self.ramp]
        margins = sorted((k, v) for k, v in self.earlier.items() if not isinstance(v, str))
        parts = (sorted(self.experiment.items()), steps, sorted(self.budget.items()), margins)
        return tuple(repr(hashed_value) for hashed_value in parts if hashed_value)

    def check_budget(self, file: TomlFile, *, offline: bool, online: bool) -> None:
        """Check that every stage of the launch has a share of the error budget.

        Args:
            file: the policy.
            offline: True if the gate decides rules.
            online: True if the ramp decides rules.

        Raises:
            InputError: a stage that has none: its errors would be outside of the budget.
        """
        used_stages = {name for name, value in self.earlier.items() if isinstance(value, str)}
        used_stages |= ({"gate"} if offline else set()) | ({"ramp"} if online else set())
        for name in STAGES:
            if self.budget and name in used_stages and not self.budget[name]:
                problem = f"the {name} is a stage of this launch: give it a share of the budget."
                raise file.error(problem, "budget", name)

    def check(self, file: TomlFile, rules: Collection[str]) -> None:
        """Check the steps against each other and against the rules.

        Raises:
            InputError: shares or days that do not ascend, a step that began before the one above
                it, a rule that is not there.
        """
        previous_step: tuple[float, date | None] = (0.0, None)
        for index, step in enumerate(self.ramp):
            key = ("ramp", str(index))
            if step["share"] <= previous_step[0]:
                raise file.error("shares of steps ascend.", *key, "share")
            start_day = parse_day(file, step["since"], *key, "since")
            if start_day and index and (previous_step[1] is None or start_day <= previous_step[1]):
                problem = "a step begins after the one above it has begun."
                raise file.error(problem, *key, "since")
            for name in step["passes"]:
                if name not in rules:
                    problem = f"no rule is called {name!r}; there are {', '.join(sorted(rules))}."
                    raise file.error(problem, *key, "passes")
            previous_step = (step["share"], start_day)


def read_launch(file: TomlFile) -> Launch:
    """Read the tables of a policy that describe a launch.

    Raises:
        InputError: an unknown key, a value that cannot be, a budget of more than all; with its
            line.
    """
    policy_tables = file.values
    experiment: Mapping[str, Any] = {}
    if "experiment" in policy_tables:
        from rankgate.decisions.gating.policy_experiment import read_experiment  # few have one

        experiment = read_experiment(file)
    steps = policy_tables.get("ramp", [])
    if not isinstance(steps, list) or not all(isinstance(step, dict) for step in steps):
        raise file.error("steps are tables: [[ramp]].", "ramp")
    if steps and not experiment:
        raise file.error("a ramp needs an [experiment].", "ramp", "0")
    ramp = tuple(file.read_values(step, RAMP, "ramp", str(n)) for n, step in enumerate(steps))
    earlier = file.read_values(policy_tables.get("earlier", {}), EARLIER, "earlier")
    earlier_values = {name: value for name, value in earlier.items() if value is not None}
    has_earlier_result = any(isinstance(value, str) for value in earlier_values.values())
    budget = _budget(file, policy_tables)
    spending = frozenset(
        name for name in STAGES if name in policy_tables.get("budget", {}) and budget[name]
    )
    return Launch(experiment, ramp, budget, earlier_values if has_earlier_result else {}, spending)


def _budget(file: TomlFile, policy_tables: Mapping[str, Any]) -> dict[str, float]:
    if "budget" not in policy_tables:
        return {}
    values = file.read_values(policy_tables["budget"], BUDGET, "budget")
    if "alpha" in policy_tables.get("gate", {}):
        problem = "alpha is in [budget], which is that of all stages; take it out of [gate]."
        raise file.error(problem, "gate", "alpha")
    if sum(values[name] for name in STAGES) > 1 + 1e-9:
        raise file.error("the shares of stages are 1 at most in all.", "budget")
    return {name: values["alpha"] * values[name] for name in STAGES}
