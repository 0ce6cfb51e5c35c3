"""Attribute the change between two recorded evaluations to its causes.

The result of ``attribute`` has the causes of a changed value: system, judgments or queries.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import closing
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, ClassVar

import polars as pl

from rankgate.core.errors import RankgateError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.base_result import NoticeText, Result
from rankgate.core.present.columns import Column, Columns
from rankgate.core.present.layout import NOTICES, View
from rankgate.core.present.result_frames import make_frame
from rankgate.data.collection import Collection
from rankgate.data.id_match import ACCEPT
from rankgate.measurement.evaluation.evaluate import evaluate
from rankgate.measurement.metrics.metric_name_parser import DEFAULT_METRIC
from rankgate.workspace.records.rescoring import (
    JUDGE,
    RUN_CAUSES,
    EvaluationInputs,
    compare_corpora,
    find_evidence,
    mix_inputs,
    read_inputs,
)
from rankgate.workspace.records.storages.record_storage import open_storage

if TYPE_CHECKING:
    from rankgate.core.value_types import Json
    from rankgate.store.records.series import Point
    from rankgate.workspace.records.storages.record_storage import RecordStorage


PARTS_SCHEMA = Columns(
    "One row per cause; known parts add up to the difference minus the unknown part.",
    Column("cause", pl.String, "system, ids, corpus, judge, judgments, queries or convention"),
    Column(
        "changed", pl.String, "whether it changed: yes, no or unknown; unknown with 0 where nothing tells"
    ),
    Column("part", pl.Float64, "its part of the difference; null where it is not known", "signed"),
    Column("evidence", pl.String, "how this is known, in words", header="why"),
)


@dataclass(frozen=True)
class Attribution(Result):
    """The parts of a difference between two recorded evaluations.

    Attributes:
        metric: which.
        system: its name.
        old, new: the hashes of the two records.
        before, after: their values.
        parts: the columns of `PARTS_SCHEMA`.
        warnings: what is not known, and why.
    """

    kind = "attribution"
    label = "What a difference came from"
    SCHEMAS: ClassVar = {"parts": PARTS_SCHEMA}
    headline_text = "{metric} of {system}: {before:.4f} to {after:.4f}, {delta:+.4f}: {finding}"
    layout = (View("parts"), NOTICES)
    notice_texts = (NoticeText("attribution", "{row}", source="warnings"),)

    metric: str
    system: str
    old: str
    new: str
    before: float
    after: float
    parts: pl.DataFrame
    warnings: tuple[str, ...] = ()

    @property
    def delta(self) -> float:
        """After − before."""
        return self.after - self.before

    @property
    def answer(self) -> str:
        """The cause of more than half of what moved; several, none, or unknown."""
        effects = {row["cause"]: abs(row["part"] or 0.0) for row in self.parts.iter_rows(named=True)}
        if self.parts.filter(pl.col("changed") == "unknown")["part"].null_count():
            return "unknown"
        total = sum(effects.values())
        if not total:
            return "none"
        cause = max(effects, key=lambda name: effects[name])
        return cause if effects[cause] > total / 2 else "several"

    @property
    def finding(self) -> str:
        """The answer in words."""
        answers = {
            "several": "several causes",
            "none": "nothing changed",
            "unknown": "the cause is not known",
        }
        return answers.get(self.answer, f"mostly the {self.answer}")


CAUSES = ("system", "ids", "corpus", "judge", "judgments", "queries", "convention")


def attribute(
    old: str,
    new: str,
    from_: str | Path | None = None,
    *,
    store: str | None = None,
    project: str | None = None,
    metric: str | None = None,
    system: str | None = None,
) -> Attribution:
    """Say what the difference between two recorded evaluations came from.

    Each of the inputs that differ (run, convention, set of queries, grades of pairs that both
    judgments have, pairs that only one has) is exchanged while the others are the old or the new
    ones, in all combinations, and its part is its mean effect over all orders (Shapley 1953):
    the parts add up to the difference. Grades of common pairs are the judge's where the labels
    ``judge`` differ, else the judgments'. Where runs share no documents, the ids changed; where
    the labels ``corpus`` differ and the revision does not, the corpus did; where both differ, one
    run shows the sum of both only. Without these labels, what snapshots noted about their index is
    compared: the number of its documents, its state, and hashes of the texts of documents that both
    returned; where nothing was noted, or these are the same and the index was written to, a change
    of the corpus is not known. What is not kept or cannot be determined is unknown.

    Args:
        old: a record: its number, the first letters of its hash, or its date.
        new: the later record.
        from_: a folder of records.
        store: instead of a folder a store, or the URL of a server.
        project: the project in the store.
        metric: the metric; by default nDCG@10, or the first that both records have.
        system: the system, if the records have several.

    Raises:
        UsageError: no such record; the two share no metric of a system.
    """
    with closing(open_storage(None if from_ is None else str(from_), store, project)) as storage:
        points = storage.points(metric, system, "", None)
        before, after = pair_points(_find_points(points, old, metric), _find_points(points, new, metric))
        return attribute_points(storage, before, after)


def attribute_points(storage: RecordStorage, earlier: Point, later: Point) -> Attribution:
    """Attribute the difference between two figures of one metric to its causes, as `attribute`."""
    rows, warnings = _attribute_rows(storage, earlier, later)
    assert earlier.value is not None
    assert later.value is not None
    return Attribution(
        earlier.metric,
        later.system,
        earlier.sha256,
        later.sha256,
        earlier.value,
        later.value,
        make_frame(rows, PARTS_SCHEMA),
        warnings,
    )


def _find_points(points: Sequence[Point], record_key: str, metric: str | None) -> list[Point]:
    """The points of a record; if several records have the same date, those of the last."""
    if record_key.isdecimal() and len(record_key) < 8:
        matches = [point for point in points if point.record == int(record_key)]
    else:
        matches = [
            point
            for point in points
            if point.sha256.startswith(record_key) or point.evaluated_at.isoformat().startswith(record_key)
        ]
    matches = [point for point in matches if point.value is not None]
    if not matches:
        values = f"values of {metric}" if metric else "values"
        raise UsageError(f"there is no record {record_key!r} with {values}.", code="unknown-record")
    return [point for point in matches if point.record == matches[-1].record]


def pair_points(old: Sequence[Point], new: Sequence[Point]) -> tuple[Point, Point]:
    """The points of both records for the same system and metric.

    Raises:
        UsageError: the records share no points, or share points of several systems.
    """
    new_points = {(point.system, point.metric): point for point in new}
    pairs = [
        (point, new_points[point.system, point.metric])
        for point in old
        if (point.system, point.metric) in new_points
    ]
    systems = sorted({point.system for point, _ in pairs})
    if not pairs:
        problem = "the two records share no metric of a system; name others."
        raise UsageError(problem, code="not-comparable")
    if len(systems) > 1:
        problem = f"the records have several systems; choose one: {', '.join(systems)}."
        raise UsageError(problem, code="missing-input")
    return next((pair for pair in pairs if pair[0].metric == DEFAULT_METRIC), pairs[0])


def _attribute_rows(
    storage: RecordStorage, before: Point, after: Point
) -> tuple[list[dict[str, Json]], tuple[str, ...]]:
    inputs = read_inputs(storage, before), read_inputs(storage, after)
    evidence_by_cause = find_evidence(*inputs)
    evidence = {name: text for name, text in evidence_by_cause.items() if text}
    if not evidence:
        difference = (after.value or 0.0) - (before.value or 0.0)
        if abs(difference) > _TOLERANCE:
            reason = "all inputs have the same hashes"
            return [_make_row(cause, "unknown", None, reason) for cause in CAUSES], ()
        parts: Mapping[str, float] = {}
    elif len(evidence) == 1:  # the only change, so the whole difference
        parts = {next(iter(evidence)): (after.value or 0.0) - (before.value or 0.0)}
    else:
        try:
            parts = _shapley_effects(inputs, tuple(evidence), before.metric)
        except RankgateError as error:
            return [
                _make_row(cause, "unknown", None, evidence[cause])
                if cause in evidence
                else _effectless_row(cause, inputs)
                for cause in CAUSES
            ], (f"the parts are not known: {error}",)
    return [
        _make_row(cause, "yes", parts[cause], evidence[cause])
        if cause in parts
        else _effectless_row(cause, inputs)
        for cause in CAUSES
    ], ()


def _effectless_row(cause: str, inputs: tuple[EvaluationInputs, EvaluationInputs]) -> dict[str, Json]:
    """The row of a cause without a part: unchanged, not known, or a corpus without an effect."""
    old_point, new_point = (evaluation_inputs.point for evaluation_inputs in inputs)
    if cause == "corpus":
        corpus = compare_corpora(*inputs)
        changed = {True: "yes", False: "no", None: "unknown"}[corpus.changed]
        return _make_row(cause, changed, 0.0, corpus.evidence)
    is_one_judge = old_point.qrels_sha256 == new_point.qrels_sha256 != ""
    if (
        cause == "judge"
        and not is_one_judge
        and not (JUDGE in old_point.labels and JUDGE in new_point.labels)
    ):
        return _make_row(cause, "unknown", 0.0, "no label judge tells")
    return _make_row(cause, "no", 0.0, "")


_TOLERANCE = 1e-9


def _make_row(cause: str, changed: str, effect: float | None, evidence: str) -> dict[str, Json]:
    return {"cause": cause, "changed": changed, "part": effect, "evidence": evidence}


def _shapley_effects(
    inputs: tuple[EvaluationInputs, EvaluationInputs], causes: tuple[str, ...], metric: str
) -> Mapping[str, float]:
    """The mean effect of each cause over all possible orders of the causes."""
    run_causes = [cause for cause in causes if cause in RUN_CAUSES]
    if len(run_causes) > 1:
        problem = f"the rankings show {' and '.join(run_causes)} only together."
        raise UsageError(problem, code="not-comparable")
    values: dict[frozenset[str], float] = {}
    for size in range(len(causes) + 1):
        for names in combinations(causes, size):
            run, qrels, convention = mix_inputs(*inputs, frozenset(names))
            mean = evaluate(Collection(qrels, ids=ACCEPT), run, [metric], convention).runs[0].means[metric]
            values[frozenset(names)] = float(mean)
    endpoints = (frozenset[str](), inputs[0].point), (frozenset(causes), inputs[1].point)
    for new_causes, point in endpoints:
        if abs(values[new_causes] - (point.value or 0.0)) > _TOLERANCE:
            problem = f"the value of {point.evaluated_at:%Y-%m-%d} is not computed again from it."
            raise UsageError(problem, code="not-comparable")
    count = len(causes)
    parts = {}
    for cause in causes:
        total = 0.0
        for new_causes, value in values.items():
            if cause not in new_causes:
                size = len(new_causes)
                weight = 1 / (count * math.comb(count - 1, size))
                total += weight * (values[new_causes | {cause}] - value)
        parts[cause] = total
    return parts
