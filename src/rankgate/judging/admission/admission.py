"""The result of ``admit``: whether a judge agrees with people well enough."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, replace
from typing import Any, ClassVar, Self

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.codec import InputHash
from rankgate.core.present.result import Notice, Result
from rankgate.judging.admission.attacked import ATTACKS
from rankgate.judging.admission.bias import Bias
from rankgate.judging.admission.demands import Answer, Demand, Demands
from rankgate.judging.admission.judged_pairs import AnsweredShare
from rankgate.judging.admission.lineage import FAMILIES
from rankgate.judging.admission.order import SYSTEMS, SystemOrder
from rankgate.judging.admission.repeated_grades import COMPONENTS
from rankgate.measurement.stats.agreement.intervals import Agreement

_LEVEL = 0.95


@dataclass(frozen=True)
class JudgeAdmission(Result):
    """Whether a judge, a language model or clicks, agrees with people well enough to be used.

    Attributes:
        people, judge: name and hash of both sets of judgments.
        pairs, queries: judged by both.
        answers: how much of what it was asked the judge answered.
        demands: every requirement, how it ended.
        coefficients: of the agreement of both, by name; intervals leave out one query at a time.
        bias: of the judge.
        systems: ``metric``, ``system``, ``people``, ``judge``, ``delta``; empty without runs.
        orders: one a metric; empty with fewer than three runs.
        asked: what was required.
        convention: by which systems were scored; None without runs.
        cautions: what to know before the verdict is used.
        attacks: ``attack``, ``pairs``, ``queries``, ``raised`` (share of pairs, with ``low`` and
            ``high``), ``lowered``, ``shift`` (mean); empty without ratings under attack.
        families: the columns of `lineage.FAMILIES`; empty without a lineage.
        components: ``source``, ``levels``, ``variance``, ``share`` of the variance of a grade
            of the judge by what was repeated; empty without repetitions.
        resamples, seed: of intervals that an earlier version took from resampled queries; now 0.
    """

    kind: ClassVar[str] = "admission"
    label: ClassVar[str] = "Does the judge agree with people?"
    document_from: ClassVar[str] = "rankgate.judging.admission.document:document"
    charts: ClassVar[Mapping[str, str]] = {"admission": "rankgate.judging.admission.chart:draw"}

    SCHEMAS: ClassVar[Mapping[str, Mapping[str, type[pl.DataType]]]] = {
        "systems": SYSTEMS,
        "attacks": ATTACKS,
        "families": FAMILIES,
        "components": COMPONENTS,
    }

    people: InputHash
    judge: InputHash
    pairs: int
    queries: int
    answers: AnsweredShare
    demands: tuple[Demand, ...]
    coefficients: Mapping[str, Agreement]
    bias: Bias
    systems: pl.DataFrame
    orders: tuple[SystemOrder, ...]
    asked: Demands
    convention: Mapping[str, Any] | None
    cautions: tuple[str, ...] = ()
    attacks: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=ATTACKS))
    families: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=FAMILIES))
    components: pl.DataFrame = field(default_factory=lambda: pl.DataFrame(schema=COMPONENTS))
    resamples: int = 0
    seed: int = 0

    @property
    def verdict(self) -> Answer:
        """Fail if a requirement failed; else inconclusive if one is; else pass."""
        statuses = {demand.status for demand in self.demands}
        return (
            "fail"
            if "fail" in statuses
            else "inconclusive"
            if "inconclusive" in statuses
            else "pass"
        )

    @property
    def status(self) -> int:
        """The exit code: 0 admitted, 1 refused, 3 inconclusive."""
        return {"pass": 0, "fail": 1, "inconclusive": 3}[self.verdict]

    @property
    def notices(self) -> tuple[Notice, ...]:
        """What to know before the verdict is used."""
        return tuple(Notice("stray-grade", text, self.judge[0]) for text in self.cautions)

    def _table(self) -> pl.DataFrame:
        return self.bias.confusion

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        values = {**self.head(), "verdict": self.verdict, **super().to_dict()}
        for coefficient in values["coefficients"].values():  # the level is that of all admissions
            del coefficient["level"], coefficient["undefined"]
        return values

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The result that ``to_dict`` was called on."""
        coefficients = {name: {"level": _LEVEL, **e} for name, e in values["coefficients"].items()}
        # a count stays a whole number, though figures are floats otherwise
        demands = tuple(Demand(**fields) for fields in values["demands"])
        return replace(super().from_dict({**values, "coefficients": coefficients}), demands=demands)
