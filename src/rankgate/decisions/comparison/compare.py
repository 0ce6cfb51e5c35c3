"""Compare systems on the same queries: differences, intervals and tests."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import UsageError
from rankgate.core.progress import step
from rankgate.data.collection import Collection
from rankgate.data.comparison import ScoredRun
from rankgate.decisions.comparison import compared as parts
from rankgate.decisions.comparison.comparison import Comparisons
from rankgate.decisions.comparison.designed import design_inputs, of_both, of_people
from rankgate.decisions.comparison.inference import Test
from rankgate.decisions.comparison.many import many
from rankgate.decisions.comparison.pairs import Rules, compared
from rankgate.decisions.comparison.scores.systems import (
    ReportedScores,
    metrics_of,
    read_scores,
    refuse_with_scores,
)
from rankgate.measurement.evaluation.evaluation import Evaluation
from rankgate.measurement.evaluation.scored_system import DEPTH, Scorer
from rankgate.measurement.metrics.names import DEFAULT_METRICS
from rankgate.measurement.scoring.run_names import refuse_baseline_again, systems_apart

if TYPE_CHECKING:
    from rankgate.data.inputs import QrelsLike, RunLike, RunsLike
    from rankgate.data.sample import Sample
    from rankgate.decisions.comparison.design import Design
    from rankgate.decisions.comparison.inference import Method
    from rankgate.decisions.comparison.scores.grouped import QueryGroups
    from rankgate.measurement.metrics.declare import Metric
    from rankgate.measurement.scoring import Convention

WHOLE_RESAMPLES = 1000
"""Resamples of users for numbers about all lists together, as of `scorecard`."""


def compare(
    collection: Collection | QrelsLike | Evaluation | ReportedScores,
    baseline: RunLike | None = None,
    candidates: RunsLike = (),
    metrics: str | Metric | Sequence[str | Metric] = DEFAULT_METRICS,
    convention: str | Convention = "trec",
    *,
    test: Method | Test = Test.method,
    slices: Sequence[str] = (),
    depth: int = DEPTH,
) -> Comparisons:
    """Compare one candidate or several with a baseline, query by query.

    Args:
        collection: judgments, or a `Collection` of them with what is known of queries, items and
            users; or what `evaluate` gives, or `read_scores`, the values of another tool.
        baseline: a run: a path, a frame, ``{query: {doc: score}}``, or ``{name: run}``; of an
            evaluation or reported scores the name of a system, by default the first.
        candidates: a run, a list of runs, or ``{name: run}``; of an evaluation or reported scores
            names of systems, by default all others.
        metrics: names such as ``"nDCG@10"``, or metrics such as ``nDCG(gain="exp") @ 10``; those
            of lists too, in addition to some of rankings.
        convention: whose rules the numbers follow.
        test: how differences are tested: a `Test`, or its method: t, randomization, wilcoxon, sign
            or bootstrap.
        slices: show results for each value of these tags, too.
        depth: the depth to which lists are compared.

    Raises:
        InputError: data that cannot be read, with file and line.
        UsageError: unknown names, query sets that differ.

    >>> qrels = {f"q{i}": {"a": 1} for i in range(20)}
    >>> old = {query: {"b": 2.0, "a": 1.0} for query in qrels}
    >>> new = {query: {"a": 2.0, "b": 1.0} for query in qrels}
    >>> result = compare(qrels, old, new, ["RR"])
    >>> result.metrics.select("n", "baseline", "candidate", "delta").row(0)
    (20, 0.5, 1.0, 0.5)
    """
    rules = Rules(Test.of(test), tuple(slices))
    if isinstance(collection, Evaluation):
        refuse_with_scores(convention, DEPTH)
        measured = collection.measured_from
        if measured is not None:
            systems_of = measured.named(baseline, _listed(candidates))
            return compare(
                measured.collection, *systems_of, metrics_of(metrics) or measured.metrics,
                measured.convention, test=test, slices=slices, depth=depth,
            )  # fmt: skip
        collection = read_scores(collection)
    if isinstance(collection, ReportedScores):
        refuse_with_scores(convention, depth)
        scores = collection.systems(metrics_of(metrics), rules.test.unequal, slices)
        asked = [] if baseline is None else [str(baseline), *_listed(candidates)]
        systems = systems_apart(scores.named(asked), [])
        sample = collection.read_sample()
        if scores.groups is not None:
            return _of_groups(systems, rules, scores.groups, sample)
        return _compared(systems, rules, of_people(sample, systems))
    collection = Collection.of(collection)
    if baseline is None:
        raise UsageError(
            "judgments, a baseline and a candidate are needed, or scores.", code="missing-input"
        )
    sample, model = design_inputs(collection)
    scorer = Scorer.of(collection, metrics, convention, depth=depth, slices=slices, every_kind=True)
    others = list(parts.named(candidates))
    refuse_baseline_again(baseline, [run for _, run in others])
    # a frame with several systems is several candidates, and one baseline
    named_baseline = parts.named(baseline) if isinstance(baseline, Mapping) else [(None, baseline)]
    runs = [*named_baseline, *others]
    systems = []
    for name, run in runs:
        step(f"scoring {name or ('a candidate' if systems else 'the baseline')}")
        systems.append(run if isinstance(run, ScoredRun) else scorer.scored(run, name))
    systems = systems_apart(systems, [run for _, run in runs])
    if len(systems) > 1 and scorer.builder is not None and scorer.builder.metrics:
        if sample is not None:
            raise UsageError(
                "a sample of queries is for metrics of rankings; leave out those of lists.",
                code="conflicting-options",
            )
        return _with_lists(scorer, systems, rules)
    if model is not None:
        step("scoring by the predicted judgments")
    scored, designs = of_both(
        scorer, model, sample, systems, [run for _, run in runs], rules.test.unequal
    )
    return _compared(scored, rules, designs)


def _compared(
    systems: Sequence[ScoredRun],
    rules: Rules,
    designs: Sequence[Design] = (),
) -> Comparisons:
    """The first system against each of the others.

    Raises:
        UsageError: there are no others.
    """
    if len(systems) < 2:
        raise UsageError(
            "no candidate; give one run or more besides the baseline.", code="missing-input"
        )
    found = compared(systems[0], systems[1:], rules, designs)
    step("comparing all systems")
    several = len(systems) > 2 and not designs
    return Comparisons(found, many(systems, rules.test) if several else None)


def _of_groups(
    systems: Sequence[ScoredRun], rules: Rules, groups: QueryGroups, drawn: Sample | None
) -> Comparisons:
    """The same of saved evaluations that have sums of groups of queries.

    Raises:
        UsageError: slices, or a sample, which need values of single queries.
    """
    if rules.slices or drawn is not None:
        raise UsageError(
            "slices and samples need values of single queries, and these evaluations have sums of "
            "groups of them; compare the runs where the data is, with rankgate.spark.compare.",
            code="conflicting-options",
        )
    found = _compared(systems, replace(rules, sizes=False))
    return Comparisons(tuple(map(groups.in_queries, found.comparisons)))


def _listed(candidates: Any) -> list[str]:  # noqa: ANN401 - names of systems
    return [candidates] if isinstance(candidates, str) else [*candidates]


def _with_lists(scorer: Scorer, runs: Sequence[ScoredRun], rules: Rules) -> Comparisons:
    """The same by metrics of lists too."""
    from rankgate.decisions.comparison.list_metrics import (  # few ask for them
        ComparedLists,
        with_wholes,
    )

    lists = ComparedLists.of(scorer, runs)
    runs = [lists.scored(at, run) for at, run in enumerate(runs)]
    found = tuple(
        with_wholes(each, lists.wholes(each, WHOLE_RESAMPLES, candidate=at), lists.warnings)
        for at, each in enumerate(compared(runs[0], runs[1:], rules), 1)
    )
    return Comparisons(found, many(runs, rules.test) if len(runs) > 2 else None)
