"""The result of ``admit-plan``: which pairs people must judge to know how well a judge agrees."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.codec import InputHash
from rankgate.core.present.result import Result
from rankgate.judging.admission.agreement_figures import AgreementFigure


@dataclass(frozen=True)
class AdmissionPlan(Result):
    """A stratified sample of the pairs that a judge graded, for people to judge.

    Attributes:
        judge: name and hash of its grades.
        people: of the pilot; None without one.
        figure: whose interval is to have the width.
        width: the half-width of its 95 % interval.
        reached: the half-width that the whole sample is expected to give; 0 where all pairs are
            judged.
        figures: ``figure``, ``value`` and ``half_width`` by the pilot (null where a stratum has
            too few pairs of it), ``pairs`` (that reach this width, if allocated for this
            figure),
            ``planned`` (half-width with this sample).
        strata: by the judge's ``grade``: ``stratum``, ``pool`` (pairs of the judge), ``pilot``
            (judged by people), ``deviation`` (of what a pair adds to the figure), ``assumed``
            (whether that is the worst case), ``pairs`` (in all), ``to_judge`` (without the
            pilot), ``inclusion``.
        sample: ``query_id``, ``doc_id``, ``stratum``, ``inclusion``, in random order: a pool.
        cost: of the pairs to judge; None without a price.
        minutes: that people need; None where not known for one pair.
        seed: of the draw.
        wider: the chance that the interval of the sample is wider than asked, as the deviations are
            those of the pilot; None without one.
        reached_high: the half-width that it stays below in 95 % of cases; None without a pilot.
    """

    kind: ClassVar[str] = "admission_plan"
    label: ClassVar[str] = "What must people judge to admit the judge?"
    document_from: ClassVar[str] = "rankgate.judging.admission.plan_document:document"
    SCHEMAS: ClassVar[Mapping[str, Mapping[str, type[pl.DataType]]]] = {
        "figures": {
            "figure": pl.String,
            "value": pl.Float64,
            "half_width": pl.Float64,
            "pairs": pl.Int64,
            "planned": pl.Float64,
        },
        "strata": {
            "stratum": pl.String,
            "grade": pl.Float64,
            "pool": pl.Int64,
            "pilot": pl.Int64,
            "deviation": pl.Float64,
            "assumed": pl.Boolean,
            "pairs": pl.Int64,
            "to_judge": pl.Int64,
            "inclusion": pl.Float64,
        },
        "sample": {
            "query_id": pl.String,
            "doc_id": pl.String,
            "stratum": pl.String,
            "inclusion": pl.Float64,
        },
    }

    judge: InputHash
    people: InputHash | None
    figure: AgreementFigure
    width: float
    reached: float
    figures: pl.DataFrame
    strata: pl.DataFrame
    sample: pl.DataFrame
    cost: float | None
    minutes: float | None
    seed: int
    wider: float | None = None
    reached_high: float | None = None

    def _table(self) -> pl.DataFrame:
        return self.strata
