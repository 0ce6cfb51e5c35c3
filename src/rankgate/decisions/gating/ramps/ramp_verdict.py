"""The verdict on a day of a launch, and the share that the policy allows: ``watch``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Any, ClassVar

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.result import Notice, Result
from rankgate.decisions.gating.rule import Status
from rankgate.decisions.gating.verdict import RuleResult
from rankgate.online.experiments.experiment import Experiment

STEPS = {
    "step": pl.Int64,
    "share": pl.Float64,
    "since": pl.String,
    "until": pl.String,
    "units": pl.Int64,
    "alpha": pl.Float64,
    "status": pl.String,
    "why": pl.String,
}
STAGES = {
    "stage": pl.String,
    "alpha": pl.Float64,
    "status": pl.String,
    "source": pl.String,
}


@dataclass(frozen=True)
class RampVerdict(Result):
    """The decision of a policy about an experiment on a day.

    Attributes:
        verdict: pass: the next step is allowed; fail: the ramp stops; inconclusive: it stays.
        day: the last day of the log that was looked at.
        names: of the control and the treatment.
        allowed: the share of units that the treatment may have from now on.
        rules: those on KPIs with their outcomes in the current step.
        steps: of the ramp, with the status of those that have begun.
        stages: the stages that spend the error budget, with share and status.
        experiment: the figures of the current step; None before the first one.
        policy: the file.
        sha256: of its content.
        notes: notes on the verdict as a whole.
        exit: the policy's word for inconclusive: inconclusive, pass or fail.
    """

    kind: ClassVar[str] = "ramp_verdict"
    label: ClassVar[str] = "Ramp"
    document_from: ClassVar[str] = "rankgate.decisions.gating.ramps.document:document"
    order: ClassVar[int] = 1
    SCHEMAS: ClassVar[Mapping[str, Mapping[str, Any]]] = {"steps": STEPS, "stages": STAGES}

    verdict: Status
    day: str
    names: tuple[str, str]
    allowed: float
    rules: tuple[RuleResult, ...]
    steps: pl.DataFrame
    stages: pl.DataFrame
    experiment: Experiment | None
    policy: str
    sha256: str
    notes: tuple[str, ...] = field(default=())
    exit: str = "inconclusive"

    @property
    def passed(self) -> bool:
        """True if the next step is allowed."""
        return self.verdict == "pass"

    @property
    def status(self) -> int:
        """The exit code: 0 pass, 1 fail, 3 inconclusive unless the policy maps it."""
        word = self.exit if self.verdict == "inconclusive" else self.verdict
        return {"pass": 0, "fail": 1, "inconclusive": 3}[word]

    def __bool__(self) -> bool:
        raise TypeError("a verdict is not yes or no, it may be inconclusive; ask .passed.")

    @property
    def notices(self) -> tuple[Notice, ...]:
        """Notices about the verdict, then the faults of the experiment."""
        ramp_notices = tuple(Notice("ramp", text) for text in self.notes)
        return ramp_notices + (self.experiment.notices if self.experiment else ())

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON, with the exit code."""
        return {**super().to_dict(), "exit_code": self.status}

    def _table(self) -> pl.DataFrame:
        return pl.DataFrame([rule_result.to_dict() for rule_result in self.rules])
