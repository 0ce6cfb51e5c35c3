"""Which metrics to report and to gate on, what they would not see, and what the queries carry."""

from __future__ import annotations

from dataclasses import asdict, dataclass, replace
from typing import TYPE_CHECKING, Any

from rankgate.advice.carried_metrics import Carrying, carrying
from rankgate.advice.facts import Answers, Facts, facts_of, facts_supposed
from rankgate.advice.rules import CAUTIONS, ROLES, RULES, STEPS, named, worded
from rankgate.advice.sources import SOURCES
from rankgate.comparison import compared as parts
from rankgate.data import read_qrels
from rankgate.errors import UsageError
from rankgate.evaluation.ceilings import cutoff_of
from rankgate.evaluation.metric_details import passport
from rankgate.evaluation.scored_system import Scorer
from rankgate.metrics.names import parse
from rankgate.scoring.run_names import sides_apart

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from rankgate.data.comparison import Side
    from rankgate.scoring import Convention
    from rankgate.scoring.overrides import Overrides


@dataclass(frozen=True)
class Reason:
    """Why a metric has its role: a rule, its words, and the key of its source."""

    rule: str
    words: str
    source: str


@dataclass(frozen=True)
class Choice:
    """A metric and what it is for.

    Attributes:
        metric: its name.
        role: ``gate``, ``watch``, ``report`` or ``avoid``.
        reasons: the rules that say so.
        sees: what can change its value.
        blind_to: what cannot.
        carrying: what the runs at hand let these queries show; None without runs, for what is to
            be avoided, and for Judged.
    """

    metric: str
    role: str
    reasons: tuple[Reason, ...]
    sees: str
    blind_to: str
    carrying: Carrying | None


@dataclass(frozen=True)
class Advice:
    """Metrics for a task, with reasons.

    Attributes:
        answers: what was said.
        facts: what was seen.
        qrels, qrels_sha256: the judgments; empty where there are none yet.
        runs: names.
        convention: name, axes and hash; empty as well.
        choices: metrics to gate on, to watch and to report, in this order.
        avoided: metrics not to decide by.
        cautions: what no choice mends.
        sources: those that are cited, by key.
    """

    answers: Answers
    facts: Facts
    qrels: str
    qrels_sha256: str
    runs: tuple[str, ...]
    convention: Mapping[str, Any]
    choices: tuple[Choice, ...]
    avoided: tuple[Choice, ...]
    cautions: tuple[Reason, ...]
    sources: Mapping[str, str]

    def of(self, role: str) -> tuple[Choice, ...]:
        """The choices of one role."""
        return tuple(each for each in self.choices if each.role == role)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            "schema_version": 1,
            "answers": asdict(self.answers),
            "facts": self.facts.to_dict(),
            "qrels": {"name": self.qrels, "sha256": self.qrels_sha256},
            "runs": list(self.runs),
            "convention": dict(self.convention),
            "choices": [asdict(each) for each in self.choices],
            "avoided": [asdict(each) for each in self.avoided],
            "cautions": [asdict(each) for each in self.cautions],
            "sources": dict(self.sources),
        }


def advise(
    qrels: Any,  # noqa: ANN401 - a path, a frame, a dict of dicts
    runs: Any = (),  # noqa: ANN401 - a run, a list, or {name: run}
    answers: Answers | None = None,
    how: str | Convention = "trec",
    *,
    overrides: Overrides | Sequence[str] = (),
    on_progress: Callable[[str], None] | None = None,
) -> Advice:
    """Advise on metrics for a task, from judgments, runs and a few answers.

    Args:
        qrels: judgments, as ``evaluate`` takes them; None where there are none yet.
        runs: runs whose differences show what the queries can carry; the first is the baseline.
        answers: the task and the stage, cutoffs, margin.
        how: the convention.
        overrides: axes that are chosen otherwise.
        on_progress: told what is being done.

    Raises:
        InputError: data that cannot be read, with file and line.
        UsageError: an unknown task, stage or convention; nothing to go by.
    """
    say = on_progress or (lambda _: None)
    said = answers or Answers()
    if qrels is None:
        return _advice(said, facts_supposed(said), None, ())
    if said.supposed:
        raise UsageError(
            "judgments tell how many queries and grades there are, and runs how complete they "
            "are; leave these answers out.",
            code="conflicting-options",
        )
    judgments = read_qrels(qrels)
    say("looking at judgments")
    top = max(judgments.table["grade"].drop_nulls().to_list(), default=0.0)
    scorer = Scorer.of(judgments, _every(said, top), how, overrides=overrides, depth=said.depth)
    sides, places = [], []
    for name, run in parts.named(runs):
        say(f"scoring {name or run if isinstance(run, str) else 'a run'}")
        sides.append(scorer.side(run, name))
        places.append(run)
    sides = sides_apart(sides, places)
    facts = facts_of(judgments, len(scorer.index.query_ids), sides, said)
    return _advice(said, facts, scorer, tuple(sides))


def _advice(
    said: Answers, facts: Facts, scorer: Scorer | None, sides: tuple[Side, ...]
) -> Advice:  # fmt: skip
    every = choices(facts)
    chosen = tuple(
        replace(
            each, carrying=None if _about_judgments(each) else carrying(each.metric, sides, said)
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
        said, facts, scorer.qrels.name if scorer else "", scorer.qrels.sha256 if scorer else "",
        tuple(side.name for side in sides), scorer.how.to_dict() if scorer else {}, chosen,
        avoided, cautions, {key: words for key, words in SOURCES.items() if key in cited},
    )  # fmt: skip


def _every(said: Answers, top: float) -> list[str]:
    """Every metric that a rule may choose, so that runs are read once."""
    chosen = [
        rule.metric
        for rule in RULES
        if rule.role != "avoid" and (top <= STEPS or "{most}" not in rule.metric)
    ]
    return list(dict.fromkeys(named(metric, said.page, said.depth, top) for metric in chosen))


def choices(facts: Facts) -> list[Choice]:
    """Each metric in its strongest role, with the reasons for that role; the strongest first."""
    roles = list(ROLES)
    reasons: dict[tuple[str, str], list[Reason]] = {}
    for rule in RULES:
        if rule.when(facts):
            metric = named(rule.metric, facts.page, facts.depth, facts.top)
            told = Reason(rule.id, worded(rule.reason, facts), rule.source)
            reasons.setdefault((metric, rule.role), []).append(told)
    found: dict[str, str] = {}
    for metric, role in reasons:
        found[metric] = min(found.get(metric, role), role, key=roles.index)
    kept = [
        (metric, role)
        for metric, role in reasons
        # what is only reported may be told not to decide by, too
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


def _about_judgments(choice: Choice) -> bool:
    """Whether it says something of the judgments, and nothing of the ranking."""
    return choice.metric.startswith("Judged@")


def _choice(metric: str, role: str, reasons: Sequence[Reason]) -> Choice:
    told = passport(parse(metric).name)
    return Choice(metric, role, tuple(reasons), told.sees, told.blind_to, None)
