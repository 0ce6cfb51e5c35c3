"""Results of ``explain`` and ``reconcile``.

The result of ``explain`` is the computation of one value. The results of ``reconcile`` are one
metric on one run under all conventions, the steps from one convention to another, and the
conventions and cutoffs that give a reported value.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import Notice, Result
from rankgate.core.value_types import JsonObject
from rankgate.measurement.explanation.convention_path import Step


@dataclass(frozen=True)
class ExplainedRow:
    """One document of a ranking, with its contribution.

    Attributes:
        rank: 1-based.
        doc_id: the document.
        grade: its judgment, None if unjudged.
        gain: its value for the metric; None if the metric is not a sum over documents.
        weight: the weight at this rank.
        contribution: gain times weight, or by how much the value moves from the rank above
            to this one; None where there is no value.
        running: the sum, or the value of the list down to this rank.
        tied: True if other documents have the same score, so that the convention chose the order.
        skipped: documents between the row above and this one that are not shown.
    """

    rank: int
    doc_id: str
    grade: float | None
    gain: float | None
    weight: float | None
    contribution: float | None
    running: float | None
    tied: bool = False
    skipped: int = 0


@dataclass(frozen=True)
class IdealRow:
    """One document of the ideal ranking; fields as in ``ExplainedRow``, and where the run has it.

    Attributes:
        found: its rank in the run, None where it was not retrieved.
    """

    rank: int
    doc_id: str
    grade: float
    gain: float | None
    weight: float | None
    contribution: float | None
    running: float | None
    found: int | None


@dataclass(frozen=True)
class Sum:
    """Terms that add up; no terms where the number is a count.

    Attributes:
        name: its name; empty for a norm of 1.
        terms: those that are not 0, in rank order.
        value: the sum.
    """

    name: str
    terms: tuple[float, ...]
    value: float


@dataclass(frozen=True)
class Other:
    """The value that trec_eval gives, for this metric or for its own.

    Attributes:
        convention: its name.
        title: the tool.
        metric: the metric under this convention.
        value: None if undefined.
    """

    convention: str
    title: str
    metric: str
    value: float | None


@dataclass(frozen=True)
class Explanation(Result):
    """One value of one metric for one query.

    Attributes:
        qrels: the name of the judgments.
        run: the name of the run.
        query_id: the query.
        metric: as it was written.
        formula: its definition.
        convention: name, hash and axes.
        ties: the convention's order of equal scores.
        parameters: everything that the metric was computed with.
        usual: their defaults, without the metric and the convention.
        value: None if undefined.
        why: why the value is undefined or is substituted, empty where it does neither: ``missing``,
            ``no relevant``, ``nothing retrieved``.
        rows: the documents that matter, by rank.
        left_out: documents behind the last row that are not shown.
        retrieved: documents of the ranking that count.
        excluded: documents of the run that do not: unjudged ones where only judged ones
            count, and those behind the depth of the convention.
        ideal: the relevant documents, the best first.
        ideal_left_out: relevant documents that are not shown.
        relevant: relevant documents there are.
        best: the value of the ideal ranking.
        start: the value of an empty list, for a metric that is not a sum over documents.
        weighed: the name of the weight; may be empty.
        summed: the sum that ``norm`` divides, or None.
        norm: the divisor.
        mean: the metric over all queries of the run.
        queries: the number of these queries.
        others: values of trec_eval that differ.
        notices: warnings about the judgments and the run.
    """

    kind = "explanation"
    main_table = "rows"
    document_from = "rankgate.measurement.explanation.explanation_documents:explanation_document"
    charts: ClassVar = {"explain": "rankgate.measurement.explanation.explanation_charts:GAINS"}
    order = 60

    qrels: str
    run: str
    query_id: str
    metric: str
    formula: str
    convention: JsonObject
    ties: str
    parameters: Mapping[str, Any]
    usual: Mapping[str, Any]
    value: float | None
    why: str
    rows: tuple[ExplainedRow, ...]
    left_out: int
    retrieved: int
    excluded: int
    ideal: tuple[IdealRow, ...]
    ideal_left_out: int
    relevant: int
    best: float | None
    start: float | None
    weighed: str
    summed: Sum | None
    norm: Sum | None
    mean: float | None
    queries: int
    others: tuple[Other, ...]
    notices: tuple[Notice, ...] = ()

    @property
    def heading(self) -> str:
        """Metric, run and query."""
        return f"{self.metric} of {self.run} for query {self.query_id}"


@dataclass(frozen=True)
class Group:
    """Conventions that give one number.

    Attributes:
        value: the mean; None if undefined.
        conventions: their names.
        queries: the number of queries in the mean, by convention.
        nearest: the convention of the first group that differs from one here in least; with
            ``member``, that one, it tells the two between which the steps go.
        member: the convention of this group that the steps arrive at.
        steps: the changes of the number on the path from ``nearest`` to ``member``.
    """

    value: float | None
    conventions: tuple[str, ...]
    queries: tuple[int, ...]
    nearest: str | None = None
    member: str | None = None
    steps: tuple[Step, ...] = ()


@dataclass(frozen=True)
class Refusal:
    """A convention that cannot take the data, or does not define the metric there."""

    convention: str
    reason: str


@dataclass(frozen=True)
class Reconciliation(Result):
    """One metric on one run under all conventions.

    Attributes:
        qrels: the name of the judgments.
        run: the name of the run.
        metric: the metric as it was written.
        groups: conventions by the number they give, the largest group first.
        refusals: conventions that give none, and why.
        notices: warnings about the judgments and the run.
    """

    kind = "reconciliation"
    main_table = "means_by_convention"
    document_from = "rankgate.measurement.explanation.explanation_documents:reconciliation_document"
    order = 61
    charts: ClassVar = {"reconcile": "rankgate.measurement.explanation.explanation_charts:RECONCILED"}

    qrels: str
    run: str
    metric: str
    groups: tuple[Group, ...]
    refusals: tuple[Refusal, ...]
    notices: tuple[Notice, ...] = ()

    @property
    def heading(self) -> str:
        """Metric and run."""
        return f"{self.metric} of {self.run} under all conventions"

    @property
    def means_by_convention(self) -> pl.DataFrame:
        """A row for each convention: ``convention``, ``value``."""
        rows = [(name, group.value) for group in self.groups for name in group.conventions]
        return pl.DataFrame(rows, {"convention": pl.String, "value": pl.Float64}, orient="row")


@dataclass(frozen=True)
class Bridge(Result):
    """The steps from one convention's number to another's.

    Attributes:
        qrels: the name of the judgments.
        run: the name of the run.
        metric: the metric as it was written.
        begin: name, hash and axes of the convention at the start.
        end: those of the convention at the end.
        before: the mean under ``begin``.
        after: the mean under ``end``.
        steps: one axis after the other; their effects add up to ``after`` less ``before``.
        notices: warnings about the judgments and the run.
    """

    kind = "bridge"
    main_table = "steps"
    document_from = "rankgate.measurement.explanation.explanation_documents:bridge_document"
    order = 61

    qrels: str
    run: str
    metric: str
    begin: Mapping[str, Any]
    end: Mapping[str, Any]
    before: float | None
    after: float | None
    steps: tuple[Step, ...]
    notices: tuple[Notice, ...] = ()

    @property
    def heading(self) -> str:
        """Metric, run and both conventions."""
        return f"{self.metric} of {self.run}: {self.begin['name']} to {self.end['name']}"


@dataclass(frozen=True)
class Fit:
    """One number with the conventions that give it.

    Attributes:
        metric: the metric with its cutoff.
        mean: the number.
        conventions: those under which it does.
    """

    metric: str
    mean: float
    conventions: tuple[str, ...]


@dataclass(frozen=True)
class Finding(Result):
    """The conventions that give a reported value.

    Attributes:
        qrels: the name of the judgments.
        run: the name of the run.
        metric: the metric as it was written.
        reported: the value as it was written.
        value: the mean that was looked for; of a percentage the hundredth part.
        tolerance: half a unit of the last digit written.
        percent: True if the value was taken as a percentage.
        fits: the combinations that give it, the requested metric first, then by cutoff.
        nearest: the closest values, if none fits.
        tried: the metrics tried.
        conventions: the number of conventions that were tried.
        notices: warnings about the judgments and the run.
    """

    kind = "finding"
    main_table = "matches"
    document_from = "rankgate.measurement.explanation.explanation_documents:finding_document"
    order = 61

    qrels: str
    run: str
    metric: str
    reported: str
    value: float
    tolerance: float
    percent: bool
    fits: tuple[Fit, ...]
    nearest: tuple[Fit, ...]
    tried: tuple[str, ...]
    conventions: int
    notices: tuple[Notice, ...] = ()

    @property
    def heading(self) -> str:
        """The value that was looked for."""
        return f"The conventions that give {self.metric} = {self.reported} for {self.run}"

    @property
    def matches(self) -> pl.DataFrame:
        """A row for each fit, or for each of the nearest: ``metric``, ``mean``, ``conventions``."""
        rows = [(fit.metric, fit.mean, list(fit.conventions)) for fit in self.fits or self.nearest]
        return pl.DataFrame(rows, ["metric", "mean", "conventions"], orient="row")
