"""The verb ``advise``: recommend metrics to report and to gate on, with reasons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Annotated

from rankgate.core.declare import Count, Cutoff, Range, Share
from rankgate.core.errors import UsageError
from rankgate.core.present.result import run_notices
from rankgate.core.progress import step
from rankgate.data import read_qrels
from rankgate.decisions.advice.advice import Advice, AdvisedMetric, Reason
from rankgate.decisions.advice.carried_metrics import carrying
from rankgate.decisions.advice.facts import (
    DEPTH,
    MARGIN,
    PAGE,
    Answers,
    DataFacts,
    facts_of,
    facts_supposed,
)
from rankgate.decisions.advice.rules import CAUTIONS, ROLES, RULES, STEPS, named, worded
from rankgate.decisions.advice.sources import SOURCES
from rankgate.decisions.comparison import compared as parts
from rankgate.measurement.evaluation.ceilings import cutoff_of
from rankgate.measurement.evaluation.metric import metric_details
from rankgate.measurement.evaluation.scored_system import Scorer
from rankgate.measurement.metrics.names import parse
from rankgate.measurement.scoring.run_names import systems_apart

if TYPE_CHECKING:
    from rankgate.data.comparison import ScoredRun
    from rankgate.data.inputs import QrelsLike, RunsLike
    from rankgate.measurement.scoring import Convention
    from rankgate.measurement.scoring.overrides import Overrides


def advise(
    qrels: QrelsLike | None = None,
    runs: RunsLike = (),
    *,
    task: str = "explore",
    stage: str = "final",
    page: Cutoff = PAGE,
    depth: Cutoff = DEPTH,
    margin: float = MARGIN,
    alpha: float = 0.05,
    power: float = 0.8,
    queries: Count | None = None,
    grades: Annotated[int, Range(2)] | None = None,
    complete: Share | None = None,
    convention: str | Convention = "trec",
    overrides: Overrides | Sequence[str] = (),
) -> Advice:
    """Recommend metrics for your data: to gate on, to watch and to report.

    Args:
        qrels: judgments: a path, a frame (Polars, pandas, Arrow), ``{query: {doc: grade}}``;
            None where there are none yet.
        runs: a run, a list of runs, or ``{name: run}``; their differences to the first show what
            the queries can carry.
        task: navigational, find-one, explore, recall or recommend.
        stage: retrieval, reranking or final.
        page: how many documents people see.
        depth: how many candidates are passed on or looked through.
        margin: the loss that the gate allows.
        alpha: the chance of a false pass.
        power: the chance of a correct pass.
        queries: without judgments: how many queries will be judged.
        grades: without judgments: how many grades they will have; 2 for yes and no, 4 by default.
        complete: without judgments: the share of the page that will be judged.
        convention: whose rules the numbers follow.
        overrides: axes of the convention that are chosen otherwise.

    Raises:
        InputError: data that cannot be read, with file and line.
        UsageError: an unknown task, stage or convention.

    >>> qrels = {f"q{i}": {"a": 3, "b": 1, "c": 0} for i in range(20)}
    >>> advice = advise(qrels, task="find-one")
    >>> [(each.metric, each.role) for each in advice.choices][:2]
    [('RR@10', 'gate'), ('nDCG@10', 'watch')]
    """
    said = Answers(task, stage, page, depth, margin, alpha, power, queries, grades, complete)
    if qrels is None:
        return _advice(said, facts_supposed(said), None, ())
    if said.supposed:
        raise UsageError(
            "judgments tell how many queries and grades there are, and runs how complete they "
            "are; leave these answers out.",
            code="conflicting-options",
        )
    judgments = read_qrels(qrels)
    step("looking at judgments")
    top = max(judgments.table["grade"].drop_nulls().to_list(), default=0.0)
    scorer = Scorer.of(
        judgments, _every(said, top), convention, overrides=overrides, depth=said.depth
    )
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
