"""The gate on values of queries that another tool computed."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

from rankgate.core.errors import UsageError
from rankgate.core.progress import progress
from rankgate.decisions.comparison.designed import of_people
from rankgate.decisions.comparison.inference import Test
from rankgate.decisions.comparison.pairs import Rules, compared
from rankgate.decisions.gating.decide import decide
from rankgate.decisions.gating.designed import refuse_undesigned
from rankgate.decisions.gating.evidence import Inputs
from rankgate.measurement.scoring.run_names import systems_apart

if TYPE_CHECKING:
    from rankgate.decisions.comparison.inference import Interval
    from rankgate.decisions.comparison.scores.grouped import QueryGroups
    from rankgate.decisions.comparison.scores.systems import ReportedScores
    from rankgate.decisions.gating.policy import Policy
    from rankgate.decisions.gating.verdict import Verdict

_HOLES = (
    "decided by given values: what unjudged documents could change is not known, and neither are "
    "lists, judged shares, states and latencies"
)


def gate_scores(
    scores: ReportedScores,
    systems: tuple[object | None, object | None],
    rules: Policy,
    *,
    interval: Interval,
    today: str = "",
    redraws: int = 0,
) -> Verdict:
    """Decide by a policy; rules that look at lists stay inconclusive.

    Args:
        scores: values of another tool.
        systems: names of the baseline and the candidate; those of the tables where none are given.
        rules: the policy.
        interval: of the table of figures.
        today: the day, for exceptions that expire.
        redraws: as of ``gate``.

    Raises:
        InputError: tables that cannot be read, with file and line.
        UsageError: a metric of a rule that they do not have; not two systems.
    """
    ruled = tuple(dict.fromkeys(str(rule["metric"]) for rule in rules.rules if rule.get("metric")))
    if not ruled:
        problem = "no rule of the policy looks at a metric; give judgments and runs."
        raise UsageError(problem, code="unsupported-rule")
    found = scores.systems(ruled, rules["unequal"], rules.slices)
    sample = scores.read_sample()
    asked = [str(each) for each in systems if each is not None]
    both = found.named(asked)
    if len(both) != 2:
        known = ", ".join(found.systems)
        raise UsageError(
            f"a gate takes a baseline and a candidate; the scores have {known}: name two of them.",
            code="missing-input",
        )
    test = Test(
        interval=interval, level=1 - rules["alpha"], power=rules["power"], seed=rules["seed"],
        unequal=rules["unequal"],
    )  # fmt: skip
    base, other = systems_apart(both, [])
    if sample is not None:
        refuse_undesigned(rules, (), None)
    if found.groups is not None and (sample is not None or rules["interval"] == "guaranteed"):
        raise UsageError(
            'a sample of queries and interval = "guaranteed" need values of single queries, and '
            "these evaluations have sums of groups of them; give judgments and runs.",
            code="conflicting-options",
        )
    designs = of_people(sample, [base, other])
    with progress(None):
        (result,) = compared(base, other, Rules(test, sizes=False), designs)
    inputs = Inputs(
        ranges=found.ranges, values_only=True, groups=found.groups,
        design=designs[0] if designs else None,
    )  # fmt: skip
    again = 0 if designs else redraws
    verdict = decide(result, rules, inputs, today=today, redraws=again).noted(_HOLES)
    return verdict if found.groups is None else _of_groups(verdict, found.groups)


def _of_groups(verdict: Verdict, groups: QueryGroups) -> Verdict:
    """The verdict without the groups that values were of, and what it says of queries."""
    assert verdict.comparison is not None
    rules = tuple(
        replace(each, outcome=replace(each.outcome, queries=())) for each in verdict.rules
    )
    return replace(verdict, rules=rules, comparison=groups.in_queries(verdict.comparison)).noted(
        groups.note
    )
