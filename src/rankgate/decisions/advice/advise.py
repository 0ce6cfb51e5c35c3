"""The verb ``advise`` and its result: metrics to report and to gate on, with reasons.

The result holds metrics for a task, with reasons.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from rankgate.core.declare import Cutoff
from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import Notice, NoticeText, Result, run_notices
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.common_columns import METRIC
from rankgate.core.present.document_model import Code, Entries, Entry, Warnings, make_printable
from rankgate.core.present.layout import Sentence, View, fill, layout_document
from rankgate.core.present.lazy_names import load_name
from rankgate.core.present.number_formats import count_noun
from rankgate.core.present.text_tables import shorten_middle
from rankgate.core.progress import step
from rankgate.core.value_types import JsonObject
from rankgate.data.collection import SAMPLE_FIELDS, TASK_FIELDS, Collection
from rankgate.data.foreign_frames import named_runs
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
from rankgate.decisions.comparison.inference import Test
from rankgate.measurement.evaluation.ceilings import cutoff_of
from rankgate.measurement.evaluation.metric_details import metric_details
from rankgate.measurement.evaluation.scored_system import Scorer
from rankgate.measurement.metrics.metric_name_parser import parse

if TYPE_CHECKING:
    from rankgate.core.present.document_model import Block, Document
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

    @property
    def reason_lines(self) -> tuple[str, ...]:
        """The reasons with their sources."""
        return tuple(f"{reason.words} [{reason.source}]" for reason in self.reasons)

    def margin_sentence(self, margin: float) -> str:
        """A sentence on the margin that the queries carry; empty without an estimate."""
        carrying = self.carrying
        if carrying is None or carrying.needed is None or carrying.margin is None:
            return ""
        if carrying.carries:
            verb, end = ("query carries", "queries carry"), "detect a difference of {detectable}"
        else:
            verb, end = ("query does not carry", "queries do not carry"), "carry one of {margin}"
        return fill(
            f"{count_noun(carrying.n, *verb)} a margin of {margin:g}, which takes {{needed:queries}}; they "
            f"{end}.",
            carrying,
        )


POWER = Columns(
    "One row per metric with an estimate.",
    METRIC,
    Column("n", pl.Int64, "queries of the widest pair of runs", "d"),
    Column("sd", pl.Float64, "the largest standard deviation of a run's differences to the first run"),
    Column("detectable", pl.Float64, "the smallest true difference that the queries detect"),
    Column("margin", pl.Float64, "the smallest margin that the queries carry", header="margin\ncarried"),
    Column("needed", pl.Float64, "the number of queries that the margin of the gate needs", "queries"),
    Column(
        "unmoved",
        pl.Float64,
        "the share of changed lists for which the metric does not move",
        ".0%",
        header="changed,\nunmoved",
    ),
    Column("e_rho2", pl.Float64, "the reliability of the order of the runs", ".2f", header="Eρ²"),
    Column("low", pl.Float64, "the low end of its interval", ".2f"),
    Column("high", pl.Float64, "the high end of its interval", ".2f"),
)
JUDGED = Columns(
    "One row per run.",
    Column("run", pl.String, "the name of the run", lambda name: shorten_middle(make_printable(name), 40)),
    Column("judged", pl.Float64, "the mean share of judged documents on the page", ".1%"),
)
_ROLES = {
    "gate": "decide by: a loss beyond the margin blocks",
    "watch": "watch: a loss beyond the margin warns",
    "report": "report as well",
}


def _input_warnings(advice: Advice) -> Iterator[Block]:
    yield Warnings.from_notices(advice.input_notices)


def _choice_entries(advice: Advice) -> Iterator[Block]:
    """The metrics of each role with their reasons, then those to avoid."""
    for role, heading in _ROLES.items():
        entries = []
        for choice in advice.of(role):
            lines = (*choice.reason_lines, f"sees: {choice.sees}", f"blind to: {choice.blind_to}")
            sentence = "" if role == "report" else choice.margin_sentence(advice.answers.margin)
            entries.append(Entry(choice.metric, (*lines, sentence) if sentence else lines))
        yield Entries(tuple(entries), heading)
    avoided = tuple(Entry(choice.metric, choice.reason_lines) for choice in advice.avoided)
    yield Entries(avoided, "do not decide by")


def _caution_entries(advice: Advice) -> Iterator[Block]:
    cautions = tuple(Entry("-", (f"{caution.words} [{caution.source}]",)) for caution in advice.cautions)
    yield Entries(cautions, "to know")


def _next_commands(advice: Advice) -> Iterator[Block]:
    if advice.commands:
        yield "to run next"
        yield Code("\n".join(shell_command(arguments, advice.columns) for arguments in advice.commands))


def _source_entries(advice: Advice) -> Iterator[Block]:
    sources = tuple(Entry(f"[{key}]", (citation,)) for key, citation in advice.sources.items())
    yield Entries(sources, "sources")


def shell_command(arguments: Sequence[str], width: int) -> str:
    r"""A command in shell syntax, with line breaks where a line would be too long.

    >>> print(shell_command(["rankgate", "eval", "my qrels.txt", "a.run", "-m", "RR"], 34))
    rankgate eval 'my qrels.txt' \
      a.run -m RR
    """
    lines = [""]
    for word in map(shlex.quote, arguments):
        longer_line = f"{lines[-1]} {word}" if lines[-1] else word
        if len(longer_line) > width - 2 and lines[-1]:
            lines.append(f"  {word}")
        else:
            lines[-1] = longer_line
    return " \\\n".join(lines)


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

    kind = "advice"
    KEYS: ClassVar[Mapping[str, str]] = {"qrels": "qrels.name", "qrels_sha256": "qrels.sha256"}
    csv_table = None
    order = 80
    layout = (
        _input_warnings,
        _choice_entries,
        View(
            "power",
            "differences that the queries can show, by these runs",
            (*tuple(POWER)[:-3], ("e_rho2", " ", ("low", "high"))),
            POWER,
            headers={"needed": "queries\nfor {answers.margin:g}"},
        ),
        View("judged_shares", "judged shares", columns=JUDGED, headers={"judged": "judged@{facts.page:d}"}),
        Sentence(
            "sd: of the differences to {runs[0]}, by the run that differs most unevenly. Detectable: the "
            "smallest true difference shown with a power of {answers.power:.0%}, two-sided, alpha "
            "{answers.alpha:g}. Margin carried: at it a candidate that is as good passes the gate with that "
            "power, one-sided. Changed, unmoved: lists with other documents at the top but an equal value of "
            "the metric. Eρ²: how far other queries would give these runs the same order, from 0 to 1, for "
            "three runs or more.",
            "power",
        ),
        _caution_entries,
        _next_commands,
        _source_entries,
    )
    commands: ClassVar[Sequence[Sequence[str]]] = ()
    columns: ClassVar[int] = 78
    notice_texts = ("input_notices", NoticeText("{row.rule}", "{row.words}", source="cautions"))

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

    def document(  # type: ignore[override] # options of its own
        self, *, commands: Sequence[Sequence[str]] = (), columns: int = 78
    ) -> Document:
        """Recommended metrics with reasons, power of the queries, cautions, next commands, sources.

        Args:
            commands: arguments of the commands to run next.
            columns: the width of their lines.
        """
        return layout_document(self, commands=commands, columns=columns)

    @property
    def headline(self) -> str:
        """The task and the inputs, in one sentence."""
        grades = ", ".join(f"{grade:g}" for grade in self.facts.grades[:8])
        grades = f"{grades}, …" if len(self.facts.grades) > 8 else grades
        request = (
            "Metrics for task {answers.task}, stage {answers.stage}, pages of {answers.page:d}, "
            "{answers.depth:n candidate}; "
        )
        inputs = (
            "judgments {qrels}: {facts.queries:n query}, {facts.judgments:n judged document}, grades "
            "{grades}, {facts.relevant:g} relevant a query (median); {run_names}; convention "
            "{convention[name]} ({convention[hash]})"
            if self.qrels
            else "no judgments yet: {facts.queries:n query}, grades {grades} assumed"
        )
        run_names = ", ".join(self.runs) or "no runs"
        return fill(request + inputs, self, {"grades": grades, "run_names": run_names})

    @property
    def power(self) -> pl.DataFrame:
        """The columns of `POWER`, where runs allow an estimate."""
        figures = tuple(POWER)[1:]
        rows = [
            (choice.metric, *(getattr(choice.carrying, name) for name in figures))
            for choice in self.choices
            if choice.carrying is not None and choice.carrying.sd is not None
        ]
        return pl.DataFrame(rows, POWER, orient="row")

    @property
    def judged_shares(self) -> pl.DataFrame:
        """The columns of `JUDGED`."""
        return pl.DataFrame(list(self.facts.judged.items()), JUDGED, orient="row")

    @property
    def heading(self) -> str:
        """The heading of the advice in a report."""
        return "Which metrics to decide by"

    @property
    def inputs(self) -> tuple[tuple[str, str, str], ...]:
        """The judgments."""
        return ((self.qrels, "judgments", self.qrels_sha256),) if self.qrels else ()

    @property
    def policy(self) -> str:
        """The advice as a policy in TOML; saved to a file, ``rankgate.gate`` reads it."""
        policy_text: str = load_name("rankgate.decisions.advice.advice_policy:policy")(self)
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
    systems = scorer.scored_systems(named_runs(runs))
    facts = read_facts(judgments, len(scorer.index.query_ids), systems, answers)
    advice = _make_advice(answers, facts, scorer, tuple(systems))
    return replace(advice, input_notices=(*advice.input_notices, *_golden_notices(collection)))


_GOLDEN = {"copied-query", "documents-missing", "near-duplicate-queries", "near-duplicate-documents"}
"""The checks of texts of a golden set."""


def _golden_notices(collection: Collection) -> list[Notice]:
    """Faults of the judgments as a golden set, where files have the texts of queries or documents."""
    from rankgate.data.files.validate import validate

    sources = (collection.judgments, collection.tags, collection.items.table)
    files = [source for source in sources if isinstance(source, str | Path)]
    if len(files) < 2 or files[0] is not collection.judgments:
        return []
    problems = validate(files, golden=True, columns=collection.columns, grades=collection.grades).problems
    golden_problems = [problem for problem in problems if problem.check in _GOLDEN]
    return [Notice(problem.check, f"{problem.what}; {problem.fix}") for problem in golden_problems]


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
