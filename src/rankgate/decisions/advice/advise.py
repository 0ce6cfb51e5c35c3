"""The verb ``advise``: recommend metrics to report and to gate on, with reasons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from rankgate.core.declare import Cutoff
from rankgate.core.present.result import run_notices
from rankgate.core.progress import step
from rankgate.data.collection import OF_SAMPLES, OF_TASKS, Collection
from rankgate.decisions.advice.advice import Advice, AdvisedMetric, Reason
from rankgate.decisions.advice.carried_metrics import carrying
from rankgate.decisions.advice.facts import (
    DEPTH,
    MARGIN,
    PAGE,
    Answers,
    DataFacts,
    PlannedJudgments,
    facts_of,
    facts_supposed,
)
from rankgate.decisions.advice.rules import CAUTIONS, ROLES, RULES, STEPS, named, worded
from rankgate.decisions.advice.sources import SOURCES
from rankgate.decisions.comparison import compared as parts
from rankgate.decisions.comparison.inference import Test
from rankgate.measurement.evaluation.ceilings import cutoff_of
from rankgate.measurement.evaluation.metric import metric_details
from rankgate.measurement.evaluation.scored_system import Scorer
from rankgate.measurement.metrics.names import parse
from rankgate.measurement.scoring.run_names import systems_apart

if TYPE_CHECKING:
    from rankgate.data.comparison import ScoredRun
    from rankgate.data.inputs import QrelsLike, RunsLike
    from rankgate.measurement.scoring import Convention


def advise(
    collection: Collection | QrelsLike | PlannedJudgments | None = None,
    runs: RunsLike = (),
    *,
    task: str = "explore",
    stage: str = "final",
    page: Cutoff = PAGE,
    depth: Cutoff = DEPTH,
    convention: str | Convention = "trec",
    test: Test | None = None,
) -> Advice:
    """Recommend metrics for your data: to gate on, to watch and to report.

    Args:
        collection: judgments, or a `Collection`, as ``evaluate`` takes them; `PlannedJudgments`,
            or None, where there are none yet.
        runs: a run, a list of runs, or ``{name: run}``; their differences to the first show what
            the queries can carry.
        task: navigational, find-one, explore, recall or recommend.
        stage: retrieval, reranking or final.
        page: how many documents people see.
        depth: how many candidates are passed on or looked through.
        convention: whose rules the numbers follow.
        test: what the gate shall decide: the loss that it allows (margin, 0.02 without one), the
            level (1 minus the chance of a false pass), and the power (the chance of a correct
            pass).

    Raises:
        InputError: data that cannot be read, with file and line.
        UsageError: an unknown task, stage or convention.

    >>> qrels = {f"q{i}": {"a": 3, "b": 1, "c": 0} for i in range(20)}
    >>> advice = advise(qrels, task="find-one")
    >>> [(each.metric, each.role) for each in advice.choices][:2]
    [('RR@10', 'gate'), ('nDCG@10', 'watch')]
    """
    test = (test or Test()).only("advise", "margin", "level", "power")
    plan = collection if isinstance(collection, PlannedJudgments) else PlannedJudgments()
    alpha = round(1 - test.level, 12)
    margin = test.margin or MARGIN
    said = Answers(
        task,
        stage,
        page,
        depth,
        margin,
        alpha,
        test.power,
        plan.queries,
        plan.grades,
        plan.complete,
    )
    if collection is None or isinstance(collection, PlannedJudgments):
        return _advice(said, facts_supposed(said), None, ())
    collection = Collection.of(collection)
    collection.refuse("advise", *OF_TASKS, *OF_SAMPLES)
    judgments = collection.qrels()
    step("looking at judgments")
    top = max(judgments.table["grade"].drop_nulls().to_list(), default=0.0)
    read = replace(collection, judgments=judgments, grades={})
    scorer = Scorer.of(read, _every(said, top), convention, depth=said.depth)
    systems, places = [], []
    for name, run in parts.named(runs):
        step(f"scoring {name or run if isinstance(run, str) else 'a run'}")
        systems.append(scorer.scored(run, name))
        places.append(run)
    systems = systems_apart(systems, places)
    facts = facts_of(judgments, len(scorer.index.query_ids), systems, said)
    return _advice(said, facts, scorer, tuple(systems))


def _advice(
    said: Answers, facts: DataFacts, scorer: Scorer | None, systems: tuple[ScoredRun, ...]
) -> Advice:
    every = choices(facts)
    chosen = tuple(
        replace(
            each, carrying=None if _about_judgments(each) else carrying(each.metric, systems, said)
        )
        for each in every
        if each.role != "avoid"
    )
    avoided = tuple(each for each in every if each.role == "avoid")
    cautions = tuple(
        Reason(each.id, worded(each.words, facts), each.source)
        for each in CAUTIONS
        if each.when(facts)
    )
    cited = {r.source for each in every for r in each.reasons} | {r.source for r in cautions}
    return Advice(
        said,
        facts,
        scorer.qrels.name if scorer else "",
        scorer.qrels.sha256 if scorer else "",
        tuple(system.name for system in systems),
        scorer.how.to_dict() if scorer else {},
        chosen,
        avoided,
        cautions,
        {key: words for key, words in SOURCES.items() if key in cited},
        tuple(notice for system in systems for notice in run_notices(system.name, system.cautions)),
    )


def _every(said: Answers, top: float) -> list[str]:
    """Every metric that a rule may choose, so that runs are read once."""
    chosen = [
        rule.metric
        for rule in RULES
        if rule.role != "avoid" and (top <= STEPS or "{most}" not in rule.metric)
    ]
    return list(dict.fromkeys(named(metric, said.page, said.depth, top) for metric in chosen))


def choices(facts: DataFacts) -> list[AdvisedMetric]:
    """Each metric in its strongest role, with the reasons for that role; the strongest first."""
    roles = list(ROLES)
    reasons: dict[tuple[str, str], list[Reason]] = {}
    for rule in RULES:
        if rule.when(facts):
            metric = named(rule.metric, facts.page, facts.depth, facts.top)
            reason = Reason(rule.id, worded(rule.reason, facts), rule.source)
            reasons.setdefault((metric, rule.role), []).append(reason)
    found: dict[str, str] = {}
    for metric, role in reasons:
        found[metric] = min(found.get(metric, role), role, key=roles.index)
    kept = [
        (metric, role)
        for metric, role in reasons
        # a metric that is only reported may also be one not to decide by
        if role == found[metric] or (role == "avoid" and found[metric] == "report")
    ]
    kept.sort(key=lambda pair: roles.index(pair[1]))
    return [_choice(metric, role, reasons[metric, role]) for metric, role in kept]


def deepest(metrics: Sequence[str]) -> int:
    """The last rank that any of the metrics looks at; 0 where none has a cutoff.

    >>> deepest(["RR@10", "R@100", "Bpref"]), deepest(["AP"])
    (100, 0)
    """
    return max((cutoff_of(parse(name)) or 0 for name in metrics), default=0)


def _about_judgments(choice: AdvisedMetric) -> bool:
    """Whether it says something of the judgments, and nothing of the ranking."""
    return choice.metric.startswith("Judged@")


def _choice(metric: str, role: str, reasons: Sequence[Reason]) -> AdvisedMetric:
    details = metric_details(parse(metric).name)
    return AdvisedMetric(metric, role, tuple(reasons), details.sees, details.blind_to, None)
