"""The verb ``advise`` and its result: metrics to report and to gate on, with reasons.

The result holds metrics for a task, with reasons.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any, ClassVar, Self

from rankgate.core.declare import Cutoff
from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import Notice, Result, run_notices
from rankgate.core.present.lazy_names import load_name
from rankgate.core.progress import step
from rankgate.core.value_types import JsonObject
from rankgate.data.collection import SAMPLE_FIELDS, TASK_FIELDS, Collection
from rankgate.decisions.advice.advice_inputs import (
    DEPTH,
    MARGIN,
    PAGE,
    Answers,
    DataFacts,
    MetricPower,
    PlannedJudgments,
    metric_power,
    planned_facts,
    read_facts,
)
from rankgate.decisions.advice.advice_rules import (
    CAUTIONS,
    ROLES,
    RULES,
    SOURCES,
    STEPS,
    fill_cutoffs,
    fill_facts,
)
from rankgate.decisions.comparison import comparison_tables as parts
from rankgate.decisions.comparison.inference import Test
from rankgate.measurement.evaluation.ceilings import cutoff_of
from rankgate.measurement.evaluation.metric_details import metric_details
from rankgate.measurement.evaluation.scored_system import Scorer
from rankgate.measurement.metrics.metric_name_parser import parse
from rankgate.measurement.scoring.alignment.top_documents import rename_duplicates

if TYPE_CHECKING:
    from rankgate.data.input_types import QrelsLike, RunsLike
    from rankgate.data.run_scores import ScoredRun
    from rankgate.measurement.scoring import Convention


@dataclass(frozen=True)
class Reason:
    """Reason for a metric's role: a rule, its sentence, and the key of its source."""

    rule: str
    words: str
    source: str


@dataclass(frozen=True)
class AdvisedMetric:
    """A metric and what it is for.

    Attributes:
        metric: its name.
        role: ``gate``, ``watch``, ``report`` or ``avoid``.
        reasons: the rules for this.
        sees: the data that can change its value.
        blind_to: the data that cannot change its value.
        carrying: the comparisons that these queries support with the given runs; None without runs,
            for metrics to avoid, and for Judged.
    """

    metric: str
    role: str
    reasons: tuple[Reason, ...]
    sees: str
    blind_to: str
    carrying: MetricPower | None


@dataclass(frozen=True)
class Advice(Result):
    """Metrics for a task, with reasons.

    Attributes:
        answers: the answers of the user.
        facts: facts about judgments and runs.
        qrels, qrels_sha256: the judgments; may be empty.
        runs: names.
        convention: name, axes and hash; empty as well.
        choices: metrics to gate on, to watch and to report, in this order.
        avoided: metrics not to decide by.
        cautions: problems that a choice of metrics cannot repair.
        sources: the cited ones, by key.
        input_notices: warnings about the judgments and the runs.
    """

    kind: ClassVar[str] = "advice"
    order: ClassVar[int] = 80
    document_from: ClassVar[str] = "rankgate.decisions.advice.advice_document:advice_document"

    answers: Answers
    facts: DataFacts
    qrels: str
    qrels_sha256: str
    runs: tuple[str, ...]
    convention: JsonObject
    choices: tuple[AdvisedMetric, ...]
    avoided: tuple[AdvisedMetric, ...]
    cautions: tuple[Reason, ...]
    sources: Mapping[str, str]
    input_notices: tuple[Notice, ...] = ()

    def of(self, role: str) -> tuple[AdvisedMetric, ...]:
        """The choices of one role."""
        return tuple(choice for choice in self.choices if choice.role == role)

    @property
    def heading(self) -> str:
        """The heading of the advice in a report."""
        return "Which metrics to decide by"

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        values = super().to_dict()
        qrels = {"name": self.qrels, "sha256": values.pop("qrels_sha256")}
        return {**values, "qrels": qrels}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """Read the output of ``to_dict``."""
        facts = {**values["facts"], "judged": tuple(values["facts"]["judged"].items())}
        qrels = {"qrels": values["qrels"]["name"], "qrels_sha256": values["qrels"]["sha256"]}
        return super().from_dict({**values, "facts": facts, **qrels})

    @property
    def inputs(self) -> tuple[tuple[str, str, str], ...]:
        """The judgments."""
        return ((self.qrels, "judgments", self.qrels_sha256),) if self.qrels else ()

    @property
    def notices(self) -> tuple[Notice, ...]:
        """The cautions of the runs, and those that hold for any choice of metrics."""
        cautions = tuple(Notice(caution.rule, caution.words) for caution in self.cautions)
        return (*self.input_notices, *cautions)

    @property
    def policy(self) -> str:
        """The advice as a policy in TOML; saved to a file, ``rankgate.gate`` reads it."""
        policy_text: str = load_name("rankgate.decisions.advice.advice_document:policy")(self)
        return policy_text


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
    """Recommend metrics for your data: for decisions, for monitoring and for reports.

    Args:
        collection: judgments, or a `Collection`, as ``evaluate`` takes them; `PlannedJudgments`,
            or None, where there are none yet.
        runs: a run, a list of runs, or ``{name: run}``; their differences to the first show what
            the queries can carry.
        task: navigational, find-one, explore, recall or recommend.
        stage: retrieval, reranking or final.
        page: the number of documents that users see.
        depth: the number of candidates that are passed on or looked through.
        convention: the convention of the metrics.
        test: the test of the gate: the loss that it allows (margin, 0.02 without one), the level (1
            minus the probability of a false pass), and the power (the probability of a correct
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
    answers = Answers(
        task, stage, page, depth, margin, alpha, test.power, plan.queries, plan.grades, plan.complete
    )
    if collection is None or isinstance(collection, PlannedJudgments):
        return _make_advice(answers, planned_facts(answers), None, ())
    collection = Collection.of(collection)
    collection.refuse("advise", *TASK_FIELDS, *SAMPLE_FIELDS)
    judgments = collection.qrels()
    step("looking at judgments")
    top_grade = max(judgments.table["grade"].drop_nulls().to_list(), default=0.0)
    loaded_collection = replace(collection, judgments=judgments, grades={})
    scorer = Scorer.from_metrics(
        loaded_collection, _possible_metrics(answers, top_grade), convention, depth=answers.depth
    )
    systems, run_inputs = [], []
    for name, run in parts.iterate_candidates(runs):
        step(f"scoring {name or run if isinstance(run, str) else 'a run'}")
        systems.append(scorer.scored(run, name))
        run_inputs.append(run)
    systems = rename_duplicates(systems, run_inputs)
    facts = read_facts(judgments, len(scorer.index.query_ids), systems, answers)
    return _make_advice(answers, facts, scorer, tuple(systems))


def _make_advice(
    answers: Answers, facts: DataFacts, scorer: Scorer | None, systems: tuple[ScoredRun, ...]
) -> Advice:
    advised_metrics = choices(facts)
    recommended = tuple(
        replace(
            choice,
            carrying=None if _is_judgment_metric(choice) else metric_power(choice.metric, systems, answers),
        )
        for choice in advised_metrics
        if choice.role != "avoid"
    )
    avoided = tuple(choice for choice in advised_metrics if choice.role == "avoid")
    cautions = tuple(
        Reason(caution.id, fill_facts(caution.words, facts), caution.source)
        for caution in CAUTIONS
        if caution.when(facts)
    )
    cited_keys = {reason.source for choice in advised_metrics for reason in choice.reasons} | {
        reason.source for reason in cautions
    }
    return Advice(
        answers,
        facts,
        scorer.qrels.name if scorer else "",
        scorer.qrels.sha256 if scorer else "",
        tuple(system.name for system in systems),
        scorer.how.to_dict() if scorer else {},
        recommended,
        avoided,
        cautions,
        {key: citation for key, citation in SOURCES.items() if key in cited_keys},
        tuple(notice for system in systems for notice in run_notices(system.name, system.cautions)),
    )


def _possible_metrics(answers: Answers, top: float) -> list[str]:
    """List every metric that a rule may choose, so that each run is read once."""
    templates = [
        rule.metric
        for rule in RULES
        if rule.role != "avoid" and (top <= STEPS or "{most}" not in rule.metric)
    ]
    return list(dict.fromkeys(fill_cutoffs(metric, answers.page, answers.depth, top) for metric in templates))


def choices(facts: DataFacts) -> list[AdvisedMetric]:
    """Choose metrics in their strongest role, with its reasons; the strongest role first."""
    roles = list(ROLES)
    reasons: dict[tuple[str, str], list[Reason]] = {}
    for rule in RULES:
        if rule.when(facts):
            metric = fill_cutoffs(rule.metric, facts.page, facts.depth, facts.top)
            reason = Reason(rule.id, fill_facts(rule.reason, facts), rule.source)
            reasons.setdefault((metric, rule.role), []).append(reason)
    strongest_role: dict[str, str] = {}
    for metric, role in reasons:
        strongest_role[metric] = min(strongest_role.get(metric, role), role, key=roles.index)
    metric_roles = [
        (metric, role)
        for metric, role in reasons
        # a metric that is only reported may also be a metric to avoid in decisions
        if role == strongest_role[metric] or (role == "avoid" and strongest_role[metric] == "report")
    ]
    metric_roles.sort(key=lambda pair: roles.index(pair[1]))
    return [_make_choice(metric, role, reasons[metric, role]) for metric, role in metric_roles]


def largest_cutoff(metrics: Sequence[str]) -> int:
    """The largest cutoff of the metrics; 0 if no metric has a cutoff.

    >>> largest_cutoff(["RR@10", "R@100", "Bpref"]), largest_cutoff(["AP"])
    (100, 0)
    """
    return max((cutoff_of(parse(name)) or 0 for name in metrics), default=0)


def _is_judgment_metric(choice: AdvisedMetric) -> bool:
    """True for a metric of the judgments, which does not depend on the ranking."""
    return choice.metric.startswith("Judged@")


def _make_choice(metric: str, role: str, reasons: Sequence[Reason]) -> AdvisedMetric:
    details = metric_details(parse(metric).name)
    return AdvisedMetric(metric, role, tuple(reasons), details.sees, details.blind_to, None)
