"""The computation of one value: the result of ``explain``."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any, ClassVar

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.result import Notice, Result


@dataclass(frozen=True)
class ExplainedRow:
    """One document of a ranking, with its contribution.

    Attributes:
        rank: 1-based.
        doc_id: the document.
        grade: its judgment, None if unjudged.
        gain: what it is worth to the metric; None where the metric is not a sum over documents.
        weight: how much that counts at this rank.
        contribution: gain times weight, or by how much the value moves from the rank above
            to this one; None where there is no value.
        running: the sum, or the value of the list down to this rank.
        tied: whether other documents have the same score, so that the convention chose the order.
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
        name: what it is called; empty for a norm of 1.
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
        metric: what is computed under it.
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
        ties: how the convention orders equal scores.
        parameters: everything that the metric was computed with.
        usual: what those are where neither the metric nor the convention says anything.
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
        weighed: the name of the weight; empty if there is none.
        summed: the sum whose quotient by ``norm`` is the value; None if there is none.
        norm: what it is divided by.
        mean: the metric over all queries of the run.
        queries: how many those are.
        others: values of trec_eval that differ.
        notices: what the reader should know of the judgments and the run.
    """

    kind: ClassVar[str] = "explanation"
    document_from: ClassVar[str] = "rankgate.measurement.explanation.documents.explanation:document"
    charts: ClassVar[Mapping[str, str]] = {
        "explain": "rankgate.measurement.explanation.charts.gains:draw"
    }
    order: ClassVar[int] = 60

    qrels: str
    run: str
    query_id: str
    metric: str
    formula: str
    convention: Mapping[str, Any]
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

    def _table(self) -> pl.DataFrame:
        return pl.DataFrame([asdict(row) for row in self.rows], infer_schema_length=None)
