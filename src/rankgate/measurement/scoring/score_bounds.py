"""Bounds of values for unjudged documents, and values in two scenarios.

The judgments of the documents in a batch are completed without another reading: each retrieved
document without a grade of 0 or more, down to the metric's cutoff (through the whole list
without a cutoff), gets a grade from 0 to the best of the scale: the highest possible where the
judgments state it, else the highest given to any document, at least 1. Documents that were not
retrieved stay as they are.

``low`` and ``high`` enclose the values by all completions, for metrics that declare bounds and
under conventions with parameters that keep them. A metric that rises with the grades in the
ranking and falls with those of the pool is least where what is shown is irrelevant and what is
judged is best, and greatest the other way round. A metric that does not use the pool attains
both (``exact``); else they may lie further out than any completion (``safe``).

``all_irrelevant`` and ``all_best`` are the values by two completions. A completed judgment is
a judgment like any other. It raises R and the ideal as well: a metric that is normalised by
them (nDCG, AP, R) can even lose, where an ideal list was retrieved in full.

To RBP the upper values add the weight of what lies behind the end of the list, p^n, so that it
is RBP and its residual (Moffat & Zobel, ACM TOIS 27(1), 2008, doi:10.1145/1416950.1416952). A
query that the run lacks, or that returned nothing, has nothing to complete.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from rankgate.core.frozen import dataclass
from rankgate.measurement.scoring.alignment.aligned_run import align
from rankgate.measurement.scoring.alignment.kernel_inputs import Block
from rankgate.measurement.scoring.alignment.top_documents import first
from rankgate.measurement.scoring.run_sources import add_empty_queries
from rankgate.measurement.scoring.scoring_job import Job, mean
from rankgate.measurement.scoring.scoring_plan import Measurement, Plan

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.qrels import Qrels
    from rankgate.data.run import Duplicates
    from rankgate.data.run_scores import RunScores
    from rankgate.measurement.metrics.metric_declaration import Metric
    from rankgate.measurement.scoring.alignment.aligned_run import AlignedRun, JudgedRanks
    from rankgate.measurement.scoring.alignment.judgment_index import JudgmentIndex
    from rankgate.measurement.scoring.convention import Alignment, Convention
    from rankgate.measurement.scoring.run_sources import RunSource


_OPEN_GRADE = np.inf  # marks a grade that is still to be set


@dataclass(frozen=True)
class CompletedRanks:
    """Rankings of a batch in which every document down to a cutoff has a grade.

    Attributes:
        aligned: the documents with a judgment, and those that get an open grade.
        met: the batch.
        added: ``(n,)``, the query (as code in the index) of each document that gets a judgment.
        replaced: judgments below 0 that are replaced, by position in the index.
    """

    aligned: JudgedRanks
    met: AlignedRun
    added: NDArray[np.int64]
    replaced: NDArray[np.int64]

    @classmethod
    def from_grades(
        cls, aligned_run: AlignedRun, search_alignment: Alignment, alignment: Alignment, cutoff: int | None
    ) -> CompletedRanks:
        """Find the documents without a grade of 0 or more.

        Args:
            aligned_run: a batch aligned with judgments.
            search_alignment: the alignment of the rankings that are searched.
            alignment: the alignment of the rankings to score.
            cutoff: the depth of the search; None is the whole list.
        """
        top_rows = first(aligned_run, search_alignment, cutoff).row
        grades = np.full(len(aligned_run.scores), np.nan)
        grades[aligned_run.row] = aligned_run.grade
        ungraded_rows = top_rows[~(grades[top_rows] >= 0)]
        old = (
            ~np.isin(aligned_run.row, ungraded_rows)
            if (aligned_run.grade < 0).any()
            else np.ones(len(aligned_run.row), bool)
        )
        rows = np.concatenate([aligned_run.row[old], ungraded_rows])
        row_grades = np.concatenate([aligned_run.grade[old], np.full(len(ungraded_rows), _OPEN_GRADE)])
        judgment = np.concatenate([aligned_run.judgment[old], np.full(len(ungraded_rows), -1)])
        row_order = np.argsort(rows, kind="stable")
        rows, row_grades, judgment = rows[row_order], row_grades[row_order], judgment[row_order]
        aligned = align(replace(aligned_run, row=rows, grade=row_grades, judgment=judgment), alignment)
        return cls(
            aligned,
            aligned_run,
            aligned_run.codes[aligned_run.owner[ungraded_rows]],
            aligned_run.judgment[~old],
        )

    def graded(self, grade: float) -> JudgedRanks:
        """The rankings with one grade for all documents that have an open grade."""
        grades = np.where(np.isinf(self.aligned.grade), grade, self.aligned.grade)
        return replace(self.aligned, grade=grades)

    def index(self, index: JudgmentIndex, grade: float) -> JudgmentIndex:
        """The completed judgments of the queries in the batch; other queries are left out."""
        T = len(index.query_ids)
        owner, judgment = index.rows(self.met.codes)
        old = ~np.isin(judgment, self.replaced) if len(self.replaced) else np.ones(len(judgment), bool)
        query_codes, grades = self.met.codes[owner[old]], index.grades[judgment[old]]
        old_counts, new = (np.bincount(query_codes, minlength=T), np.bincount(self.added, minlength=T))
        offsets = np.append(0, np.cumsum(old_counts + new))
        # judgments of a query are sorted by falling grade, so new ones are inserted between them
        inside = np.arange(len(query_codes)) - _begins(query_codes, self.met.codes, old_counts)
        places = offsets[query_codes] + inside + np.where(grades >= grade, 0, new[query_codes])
        all_grades = np.full(offsets[-1], grade)
        all_grades[places] = grades
        return replace(index, offsets=offsets, grades=all_grades)


def _begins(
    query_codes: NDArray[np.int64], codes: NDArray[np.int64], counts: NDArray[np.int64]
) -> NDArray[np.int64]:
    """For each judgment the start of its query's judgments, in the batch's order of queries."""
    lengths = counts[codes]
    first = np.zeros(len(counts), np.int64)
    first[codes] = np.cumsum(lengths) - lengths
    return first[query_codes]


_LabelledMetric = tuple[str, "Metric"]
_CompletedByKey = dict[tuple["Alignment", "Alignment", int | None], CompletedRanks]


@dataclass(frozen=True, eq=False)
class _BoundsGroup:
    """Metrics with one alignment and one cutoff, with the grades given to the unjudged.

    Attributes:
        plan: the metrics, and jobs for documents after the ends of lists.
        own: the rules that form the rankings whose unjudged documents are varied.
        cutoff: the depth; None is the whole list.
        grade: the grade of unjudged documents in the ranking.
        pool: the grade of unjudged documents among all judgments, for ideals and recall bases.
    """

    plan: Plan
    own: Alignment
    cutoff: int | None
    grade: float
    pool: float

    @classmethod
    def from_metrics(
        cls,
        group: tuple[Convention, int | None, list[_LabelledMetric]],
        how: Convention,
        grades: tuple[float, float],
        tail_grade: float | None = None,
    ) -> _BoundsGroup:
        """Make a group; ``tail_grade`` is the grade after the ends of lists, if used."""
        group_convention, cutoff, metrics = group
        jobs = tuple(Job.from_convention(label, metric, how) for label, metric in metrics)
        tails = () if tail_grade is None else tuple(job.tail(tail_grade) for job in jobs)
        plan = Plan((how,), (jobs + tuple(tail for tail in tails if tail is not None),))
        return cls(plan, group_convention.alignment, cutoff, *grades)

    def measure(
        self, aligned_run: AlignedRun, source: RunSource, rule: Duplicates, completed_by_key: _CompletedByKey
    ) -> Measurement:
        """Measure a batch; judgments are completed only once for equal settings."""
        total = Measurement(self.plan)
        for mode in self.plan.ways:
            if mode.duplicates != rule:
                continue
            key = (self.own, mode.alignment, self.cutoff)
            if key not in completed_by_key:
                completed_by_key[key] = CompletedRanks.from_grades(aligned_run, *key)
            judgments = completed_by_key[key].index(source.judgments, self.pool)
            block = Block(mode, completed_by_key[key].graded(self.grade), judgments)
            total = total.merge(self.plan.measure(block))
        return total

    def scored(self, total: Measurement, source: RunSource) -> RunScores:
        """The values, including the tails of lists that could continue."""
        scores = add_empty_queries(total, source).score(0, source, strict=False)
        jobs = {job.label: job for job in self.plan.jobs[0]}
        values, means = dict(scores.values), dict(scores.means)
        for label, job in jobs.items():
            if job.tail_label in jobs:
                values[label] = scores.values[label] + np.nan_to_num(scores.values[job.tail_label])
                unknown = scores.counts.unknown_queries
                means[label] = mean(values[label], scores.why[label], job, unknown=unknown)
        return replace(scores, values=values, means=means)


def with_bounds(
    source: RunSource, metrics: Sequence[_LabelledMetric], how: Convention, scores: RunScores
) -> RunScores:
    """The scores with ``low`` and ``high``, and with all unjudged documents irrelevant or best.

    Args:
        source: the run; it is read once more for each rule for duplicates.
        metrics: pairs of a label and a metric.
        how: the convention.
        scores: the result of ``score`` for these metrics.

    Raises:
        InputError: see ``score``.
    """
    best = best_grade(source.judgments.qrels)
    highest_grade = max(best, float(source.judgments.grades.max(initial=0)))
    groups = _groups(metrics, how)
    open_to = [group for group in groups if any(_has_bounds(metric, how) for _, metric in group[2])]
    ends = {"low": (0.0, best), "high": (best, 0.0)}
    groups_by_scenario = {
        "all_irrelevant": [_BoundsGroup.from_metrics(group, how, (0.0, 0.0)) for group in groups],
        "all_best": [_BoundsGroup.from_metrics(group, how, (best, best), highest_grade) for group in groups],
        **{
            name: [
                _BoundsGroup.from_metrics(group, how, pair, highest_grade if pair[0] else None)
                for group in open_to
            ]
            for name, pair in ends.items()
        },
    }
    group_scores = _measure_groups(
        source, [group for scenario_groups in groups_by_scenario.values() for group in scenario_groups]
    )
    completed = {
        name: _join_scores(scores, [group_scores.pop(0) for _ in scenario_groups])
        for name, scenario_groups in groups_by_scenario.items()
    }
    plain = {label for label, metric in metrics if Job.from_convention(label, metric, how).level <= 0}
    completed["all_irrelevant"] = _keep_current(completed["all_irrelevant"], scores, plain)
    bounded_metrics = [(label, metric) for label, metric in metrics if _has_bounds(metric, how)]
    low, high = envelope(bounded_metrics, how, scores, completed)
    return replace(
        scores, low=low, high=high, all_irrelevant=completed["all_irrelevant"], all_best=completed["all_best"]
    )


def _measure_groups(source: RunSource, groups: Sequence[_BoundsGroup]) -> list[RunScores]:
    """The scores of each group."""
    totals = [Measurement(group.plan) for group in groups]
    rules = [rule for total in totals for rule, _ in total.plan.by_rule()]
    for rule in dict.fromkeys(rules):
        measurements = source.over_queries(partial(_measure_run, rule=rule, groups=groups))
        totals = [total.merge(more) for total, more in zip(totals, measurements, strict=True)]
    return [group.scored(total, source) for group, total in zip(groups, totals, strict=True)]


def _has_bounds(metric: Metric, how: Convention) -> bool:
    """True if bounds are known for a metric with its actual parameters."""
    metric_convention = how.for_metric(metric)
    if (
        metric.bounds is None
        or metric_convention.forced
        or metric_convention.digits is not None
        or metric_convention.judged_only
    ):
        return False
    return metric.has_bounds(metric_convention.defaults(metric))


def envelope(
    metrics: Sequence[_LabelledMetric], how: Convention, scores: RunScores, completed: Mapping[str, RunScores]
) -> tuple[RunScores, RunScores]:
    """The lowest and the highest value over all completions of the judgments.

    A metric with bounds rises with the grades in the ranking and falls with those of the pool. Its
    minimum has irrelevant documents in the ranking and the best documents outside, and no
    completion is lower. If the metric does not depend on the pool, a completion reaches the
    minimum.

    Args:
        metrics: the metrics that have bounds.
        how: the convention.
        scores: the values with the current judgments.
        completed: values with the unjudged all irrelevant and all best, and for the ends.
    """
    ends: dict[str, dict[str, NDArray[np.float64]]] = {"low": {}, "high": {}}
    means: dict[str, dict[str, float]] = {"low": {}, "high": {}}
    for label, metric in metrics:
        candidate_values = [
            scores.values[label],
            *(scenario.values[label] for scenario in completed.values()),
        ]
        reason_codes = [scores.why[label], *(scenario.why[label] for scenario in completed.values())]
        high = np.fmax.reduce(candidate_values)
        unknown = (completed["high"].why[label] != 0) & (completed["all_best"].why[label] == 0)
        top = np.inf if metric.high is None else metric.high
        high = np.where(unknown, top, np.minimum(high, max(top, np.nanmax(candidate_values[-2], initial=0))))
        job = Job.from_convention(label, metric, how)
        has_equal_gaps = all(
            np.array_equal(np.isnan(scenario_values), np.isnan(candidate_values[0]))
            for scenario_values in candidate_values[:3]
        )
        for name, values in (("low", np.fmin.reduce(candidate_values)), ("high", high)):
            ends[name][label] = np.where(
                np.isnan(candidate_values[0]) & ~unknown, candidate_values[0], values
            )
            unknown_queries = scores.counts.unknown_queries
            mean_value = mean(ends[name][label], reason_codes[0], job, unknown=unknown_queries)
            means[name][label] = mean_value if has_equal_gaps and np.isfinite(mean_value) else float("nan")
    low, high_scores = (
        replace(
            scores,
            values=ends[name],
            means=means[name],
            why={label: scores.why[label] for label, _ in metrics},
            low=None,
            high=None,
        )
        for name in ("low", "high")
    )
    return low, high_scores


def _measure_run(source: RunSource, rule: Duplicates, groups: Sequence[_BoundsGroup]) -> list[Measurement]:
    """Measure each group on a run, with one rule for duplicates."""
    totals = [Measurement(group.plan) for group in groups]
    for aligned_run in source.aligned_batches(rule):
        completed_by_key: _CompletedByKey = {}
        batch_measurements = [group.measure(aligned_run, source, rule, completed_by_key) for group in groups]
        totals = [total.merge(more) for total, more in zip(totals, batch_measurements, strict=True)]
    return totals


def best_grade(qrels: Qrels) -> float:
    """The best grade of the scale: the highest possible grade, or the highest given; at least 1."""
    if qrels.scale is not None:
        return qrels.scale.highest
    highest_grade = qrels.table["grade"].max()
    return max(float(highest_grade), 1.0) if isinstance(highest_grade, int | float) else 1.0


def _groups(
    metrics: Sequence[_LabelledMetric], how: Convention
) -> list[tuple[Convention, int | None, list[_LabelledMetric]]]:
    """The metrics that have scenarios, grouped by alignment and cutoff."""
    groups: dict[tuple[str, int | None], tuple[Convention, list[_LabelledMetric]]] = {}
    for label, metric in metrics:
        if not metric.scenarios:
            continue
        metric_convention = how.for_metric(metric)
        cutoff = metric.bound(metric_convention.defaults(metric)).get("cutoff")
        shared_convention = replace(metric_convention, special={}, parameters={})
        _, group_metrics = groups.setdefault((shared_convention.hash, cutoff), (shared_convention, []))
        group_metrics.append((label, metric))
    return [
        (shared_convention, cutoff, group_metrics)
        for (_, cutoff), (shared_convention, group_metrics) in groups.items()
    ]


def _join_scores(scores: RunScores, parts: Sequence[RunScores]) -> RunScores:
    """Join scores of groups, with the labels in the order of the scores."""
    values = {label: column for group_scores in parts for label, column in group_scores.values.items()}
    reason_codes = {label: codes for group_scores in parts for label, codes in group_scores.why.items()}
    means = {label: mean_value for group_scores in parts for label, mean_value in group_scores.means.items()}
    labels = [label for label in scores.values if label in values]
    return replace(
        scores,
        values={label: values[label] for label in labels},
        why={label: reason_codes[label] for label in labels},
        means={label: means[label] for label in labels},
    )


def _keep_current(low: RunScores, current: RunScores, labels: set[str]) -> RunScores:
    """The lower values, with those of some metrics replaced by their current values.

    If grade 0 is relevant, no judgment can make a document irrelevant.
    """
    replaced_labels = [label for label in low.values if label in labels]
    return replace(
        low,
        values={**low.values, **{label: current.values[label] for label in replaced_labels}},
        why={**low.why, **{label: current.why[label] for label in replaced_labels}},
        means={**low.means, **{label: current.means[label] for label in replaced_labels}},
    )
