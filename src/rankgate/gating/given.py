"""The gate on values of queries that another tool computed."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from rankgate.comparison.designed import of_people
from rankgate.comparison.inference import Test
from rankgate.comparison.pairs import Rules, compared
from rankgate.comparison.scores.systems import given_scores
from rankgate.errors import UsageError
from rankgate.gating.decide import decide
from rankgate.gating.designed import refuse_undesigned
from rankgate.gating.evidence import Inputs
from rankgate.scoring.run_names import systems_apart

if TYPE_CHECKING:
    from rankgate.comparison.inference import Interval
    from rankgate.data.inputs import TagsLike
    from rankgate.evaluation.sample import Sample
    from rankgate.gating.policy import Policy
    from rankgate.gating.verdict import Verdict
    from rankgate.metrics.declare import Metric

_HOLES = (
    "decided by given values: what unjudged documents could change is not known, and neither are "
    "lists, judged shares, states and latencies"
)


def gate_scores(
    scores: Any,  # noqa: ANN401 - as of given_scores
    systems: tuple[object | None, object | None],
    rules: Policy,
    *,
    interval: Interval,
    direction: Mapping[str, str] | None = None,
    tags: TagsLike | None = None,
    extra: Sequence[Metric] = (),
    today: str = "",
    redraws: int = 0,
    names: Sequence[str] = (),
    sample: Sample | None = None,
) -> Verdict:
    """Decide by a policy; rules that look at lists stay inconclusive.

    Args:
        scores: one table or several.
        systems: names of the baseline and the candidate; those of the tables where none are given.
        rules: the policy.
        interval: of the table of figures.
        direction: by name, higher or lower, for metrics that rankgate does not know.
        tags: ``query_id`` and columns of tags.
        extra: user-defined metrics.
        today: the day, for exceptions that expire.
        redraws: as of ``gate``.
        names: of the baseline and the candidate, instead of their own.
        sample: how the queries were drawn.

    Raises:
        InputError: tables that cannot be read, with file and line.
        UsageError: a metric of a rule that they do not have; not two systems.
    """
    ruled = tuple(dict.fromkeys(str(rule["metric"]) for rule in rules.rules if rule.get("metric")))
    if not ruled:
        problem = "no rule of the policy looks at a metric; give judgments and runs."
        raise UsageError(problem, code="unsupported-rule")
    found = given_scores(
        scores,
        ruled,
        directions=direction,
        unequal=rules["unequal"],
        extra=extra,
        tags=tags,
        slices=rules.slices,
    )
    asked = [str(each) for each in systems if each is not None]
    both = found.named(asked)
    if len(both) != 2:
        known = ", ".join(found.systems)
        raise UsageError(
            f"a gate takes a baseline and a candidate; the scores have {known}: name two of them.",
            code="missing-input",
        )
    test = Test(
        interval=interval, level=1 - rules["alpha"], power=rules["power"], seed=rules["seed"]
    )
    base, other = systems_apart(both, [], names)
    if sample is not None:
        refuse_undesigned(rules, (), None)
    designs = of_people(sample, [base, other])
    (result,) = compared(base, other, Rules(test, unequal=rules["unequal"], sizes=False), designs)
    inputs = Inputs(ranges=found.ranges, values_only=True, design=designs[0] if designs else None)
    again = 0 if designs else redraws
    return decide(result, rules, inputs, today=today, redraws=again).noted(_HOLES)
