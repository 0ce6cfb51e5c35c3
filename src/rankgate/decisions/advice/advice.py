"""Metrics for a task, with reasons: the result of the verb ``advise``."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

from rankgate.core.frozen import dataclass
from rankgate.core.present.resolve import load_name
from rankgate.core.present.result import Notice, Result
from rankgate.decisions.advice.carried_metrics import MetricPower  # noqa: TC001 - from_dict reads it
from rankgate.decisions.advice.facts import Answers, DataFacts


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
        reasons: the rules that say so.
        sees: what can change its value.
        blind_to: what cannot.
        carrying: what the given runs let these queries show; None without runs, for what is to
            be avoided, and for Judged.
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
        answers: what the user said.
        facts: what judgments and runs show.
        qrels, qrels_sha256: the judgments; empty where there are none yet.
        runs: names.
        convention: name, axes and hash; empty as well.
        choices: metrics to gate on, to watch and to report, in this order.
        avoided: metrics not to decide by.
        cautions: what no choice of metrics repairs.
        sources: the cited ones, by key.
        input_notices: what the reader should know of the judgments and the runs.
    """

    kind: ClassVar[str] = "advice"
    order: ClassVar[int] = 80
    document_from: ClassVar[str] = "rankgate.decisions.advice.document:document"

    answers: Answers
    facts: DataFacts
    qrels: str
    qrels_sha256: str
    runs: tuple[str, ...]
    convention: Mapping[str, Any]
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
        policy_text: str = load_name("rankgate.decisions.advice.policy:policy")(self)
        return policy_text
