"""What the unjudged could hide: bounds of values, and values in two scenarios.

Judgments are completed: each retrieved document without a grade of 0 or more, down to the
metric's cutoff (through the whole list if there is none), gets a grade from 0 to the best of
the scale: the highest possible where the judgments say it, else the highest given to any
document, at least 1. Documents that were not retrieved stay as they are.

``low`` and ``high`` enclose the values by all completions, for metrics that declare bounds and
under conventions whose parameters keep them. A metric that rises with the grades in the ranking
and falls with those of the pool is least where what is shown is irrelevant and what is judged is
best, and greatest the other way round. A metric that knows no pool attains both (``exact``);
else they may lie further out than any completion (``safe``).

``all_irrelevant`` and ``all_best`` are the values by two completions. A completed judgment is a
judgment like any other. It raises R and the ideal as well: a metric that is normalised by them
(nDCG, AP, R) can even lose, where an ideal list was found in full.

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
from rankgate.measurement.scoring.alignment.block import Block
from rankgate.measurement.scoring.alignment.completion import Completed
from rankgate.measurement.scoring.job import Job
from rankgate.measurement.scoring.mean import mean
from rankgate.measurement.scoring.plan import Measurement, Plan
from rankgate.measurement.scoring.sources import with_empty

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.qrels import Qrels
    from rankgate.data.run import Duplicates
    from rankgate.data.scores import Scores
    from rankgate.measurement.metrics.declare import Metric
    from rankgate.measurement.scoring.alignment.met import Met
    from rankgate.measurement.scoring.convention import Alignment, Convention
    from rankgate.measurement.scoring.sources import RunSource

_Named = tuple[str, "Metric"]
_Found = dict[tuple["Alignment", "Alignment", int | None], Completed]


@dataclass(frozen=True, eq=False)
class _BoundsGroup:
    """Metrics whose rankings are formed alike and that look equally deep, with one grade given.

    Attributes:
        plan: the metrics, and what documents behind the ends of lists could add.
        own: how the rankings are formed in which unjudged documents are looked for.
        cutoff: how deep; None is through the whole list.
        grade: what the unjudged get where they are in the ranking.
        pool: what they get among all judgments, of which ideals and recall bases are made.
    """

    plan: Plan
    own: Alignment
    cutoff: int | None
    grade: float
    pool: float

    @classmethod
    def of(
        cls,
        group: tuple[Convention, int | None, list[_Named]],
        how: Convention,
        grades: tuple[float, float],
        most: float | None = None,
    ) -> _BoundsGroup:
        """A group; ``most`` is the grade of what lies behind the ends of lists, if it counts."""
        own, cutoff, metrics = group
        jobs = tuple(Job.of(label, metric, how) for label, metric in metrics)
        tails = () if most is None else tuple(job.tail(most) for job in jobs)
        plan = Plan((how,), (jobs + tuple(tail for tail in tails if tail is not None),))
        return cls(plan, own.alignment, cutoff, *grades)

    def measure(self, met: Met, source: RunSource, rule: Duplicates, found: _Found) -> Measurement:
        """The values of a batch; what is completed alike is completed once."""
        total = Measurement(self.plan)
        for way in self.plan.ways:
            if way.duplicates != rule:
                continue
            key = (self.own, way.alignment, self.cutoff)
            if key not in found:
                found[key] = Completed.of(met, *key)
            judgments = found[key].index(source.judgments, self.pool)
            block = Block(way, found[key].graded(self.grade), judgments)
            total = total.merge(self.plan.measure(block))
        return total

    def scored(self, total: Measurement, source: RunSource) -> Scores:
        """The values; lists that could go on, with what lies behind them."""
        found = with_empty(total, source).score(0, source, strict=False)
        jobs = {job.label: job for job in self.plan.jobs[0]}
        values, means = dict(found.values), dict(found.means)
        for label, job in jobs.items():
            if job.tail_label in jobs:
                values[label] = found.values[label] + np.nan_to_num(found.values[job.tail_label])
                unknown = found.counts.unknown_queries
                means[label] = mean(values[label], found.why[label], job, unknown=unknown)
        return replace(found, values=values, means=means)


def bounded(
    source: RunSource, metrics: Sequence[_Named], how: Convention, scores: Scores
) -> Scores:
    """The scores with ``low`` and ``high``, and with the unjudged all irrelevant and all best.

    Args:
        source: the run; it is read once more, and again for every other way to treat duplicates.
        metrics: each with the label that results carry.
        how: the convention.
        scores: what ``score`` gives for these.

    Raises:
        InputError: as ``score``.
    """
    best = best_grade(source.judgments.qrels)
    most = max(best, float(source.judgments.grades.max(initial=0)))
    groups = _groups(metrics, how)
    open_to = [group for group in groups if any(_has_bounds(each, how) for _, each in group[2])]
    ends = {"low": (0.0, best), "high": (best, 0.0)}
    every = {
        "all_irrelevant": [_BoundsGroup.of(group, how, (0.0, 0.0)) for group in groups],
        "all_best": [_BoundsGroup.of(group, how, (best, best), most) for group in groups],
        **{
            name: [
                _BoundsGroup.of(group, how, pair, most if pair[0] else None) for group in open_to
            ]
            for name, pair in ends.items()
        },
    }
    found = _measured(source, [group for some in every.values() for group in some])
    completed = {
        name: _joined(scores, [found.pop(0) for _ in some]) for name, some in every.items()
    }
    plain = {label for label, metric in metrics if Job.of(label, metric, how).level <= 0}
    completed["all_irrelevant"] = _as_now(completed["all_irrelevant"], scores, plain)
    some = [(label, metric) for label, metric in metrics if _has_bounds(metric, how)]
    low, high = envelope(some, how, scores, completed)
    return replace(
        scores,
        low=low,
        high=high,
        all_irrelevant=completed["all_irrelevant"],
        all_best=completed["all_best"],
    )


def _measured(source: RunSource, groups: Sequence[_BoundsGroup]) -> list[Scores]:
    """The scores of each group."""
    totals = [Measurement(group.plan) for group in groups]
    rules = [rule for total in totals for rule, _ in total.plan.by_rule()]
    for rule in dict.fromkeys(rules):
        found = source.over_queries(partial(_over, rule=rule, groups=groups))
        totals = [total.merge(more) for total, more in zip(totals, found, strict=True)]
    return [group.scored(total, source) for group, total in zip(groups, totals, strict=True)]


def _has_bounds(metric: Metric, how: Convention) -> bool:
    """Whether bounds are known for a metric with the parameters that hold."""
    own = how.for_metric(metric)
    if metric.bounds is None or own.forced or own.digits is not None or own.judged_only:
        return False
    return metric.has_bounds(own.defaults(metric))


def envelope(
    metrics: Sequence[_Named], how: Convention, scores: Scores, completed: Mapping[str, Scores]
) -> tuple[Scores, Scores]:
    """The least and the greatest value over all completions of the judgments.

    A metric with bounds rises with the grades in the ranking and falls with those of the pool.
    So it is least where what is shown is irrelevant and what could be shown is best, which no
    completion exceeds; where it does not depend on the pool, a completion attains it.

    Args:
        metrics: those that have bounds.
        how: the convention.
        scores: the values as judged.
        completed: values with the unjudged all irrelevant and all best, and for the ends.
    """
    ends: dict[str, dict[str, NDArray[np.float64]]] = {"low": {}, "high": {}}
    means: dict[str, dict[str, float]] = {"low": {}, "high": {}}
    for label, metric in metrics:
        known = [scores.values[label], *(each.values[label] for each in completed.values())]
        why = [scores.why[label], *(each.why[label] for each in completed.values())]
        high = np.fmax.reduce(known)
        unknown = (completed["high"].why[label] != 0) & (completed["all_best"].why[label] == 0)
        top = np.inf if metric.high is None else metric.high
        high = np.where(unknown, top, np.minimum(high, max(top, np.nanmax(known[-2], initial=0))))
        job = Job.of(label, metric, how)
        same = all(np.array_equal(np.isnan(each), np.isnan(known[0])) for each in known[:3])
        for name, values in (("low", np.fmin.reduce(known)), ("high", high)):
            ends[name][label] = np.where(np.isnan(known[0]) & ~unknown, known[0], values)
            unknown_queries = scores.counts.unknown_queries
            own = mean(ends[name][label], why[0], job, unknown=unknown_queries)
            means[name][label] = own if same and np.isfinite(own) else float("nan")
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


def _over(source: RunSource, rule: Duplicates, groups: Sequence[_BoundsGroup]) -> list[Measurement]:
    """What each group measures on a run, with one way to treat duplicates."""
    totals = [Measurement(group.plan) for group in groups]
    for met in source.met(rule):
        found: _Found = {}
        fresh = [group.measure(met, source, rule, found) for group in groups]
        totals = [total.merge(more) for total, more in zip(totals, fresh, strict=True)]
    return totals


def best_grade(qrels: Qrels) -> float:
    """The best grade of the scale: the highest possible, or given; at least 1."""
    if qrels.scale is not None:
        return qrels.scale.highest
    given = qrels.table["grade"].max()
    return max(float(given), 1.0) if isinstance(given, int | float) else 1.0


def _groups(
    metrics: Sequence[_Named], how: Convention
) -> list[tuple[Convention, int | None, list[_Named]]]:
    """The metrics that admit bounds, by how their rankings are formed and how deep they look."""
    groups: dict[tuple[str, int | None], tuple[Convention, list[_Named]]] = {}
    for label, metric in metrics:
        if not metric.scenarios:
            continue
        own = how.for_metric(metric)
        cutoff = metric.bound(own.defaults(metric)).get("cutoff")
        way = replace(own, special={}, parameters={})
        _, some = groups.setdefault((way.hash, cutoff), (way, []))
        some.append((label, metric))
    return [(way, cutoff, some) for (_, cutoff), (way, some) in groups.items()]


def _joined(scores: Scores, parts: Sequence[Scores]) -> Scores:
    """The parts as one, with the labels in the order of the scores."""
    values = {label: each for part in parts for label, each in part.values.items()}
    why = {label: each for part in parts for label, each in part.why.items()}
    means = {label: each for part in parts for label, each in part.means.items()}
    labels = [label for label in scores.values if label in values]
    return replace(
        scores,
        values={label: values[label] for label in labels},
        why={label: why[label] for label in labels},
        means={label: means[label] for label in labels},
    )


def _as_now(low: Scores, now: Scores, labels: set[str]) -> Scores:
    """The lower values, for some metrics those of now.

    Where a grade of 0 is relevant already, no judgment can say that a document is not.
    """
    chosen = [label for label in low.values if label in labels]
    return replace(
        low,
        values={**low.values, **{label: now.values[label] for label in chosen}},
        why={**low.why, **{label: now.why[label] for label in chosen}},
        means={**low.means, **{label: now.means[label] for label in chosen}},
    )
