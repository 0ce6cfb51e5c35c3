"""What the unjudged could hide: values with all of them irrelevant, and with all of them best.

The judgments are completed, and everything is computed again. Each retrieved document without a
grade of 0 or more, down to the metric's cutoff (through the whole list where there is none), gets
the grade 0, or the best grade of the scale: the highest possible where the judgments say it, else
the highest given to any document, at least 1.

A completed judgment is a judgment like any other. It raises R and the ideal as well: a metric
that is normalised by them (nDCG, AP, R) can even lose, where an ideal list was found in full. To
RBP the upper value adds the weight of what lies behind the end of the list, p^n, so that it is
RBP and its residual (Moffat & Zobel, ACM TOIS 27(1), 2008, doi:10.1145/1416950.1416952). A query
that the run lacks, or that returned nothing, has nothing to complete.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

import numpy as np

from rankgate.data.run import ScatteredError
from rankgate.metrics.catalogue import by_name
from rankgate.scoring.align import meet
from rankgate.scoring.completion import Completed
from rankgate.scoring.index import Index
from rankgate.scoring.mean import mean
from rankgate.scoring.score import SHOWN, complete, summed_up
from rankgate.scoring.tally import Job, Tally

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from rankgate.data.qrels import Qrels
    from rankgate.data.run import Batch, Duplicates, Run
    from rankgate.data.scores import Scores
    from rankgate.metrics.declare import Metric
    from rankgate.scoring.align import Met
    from rankgate.scoring.convention import Alignment, Convention
    from rankgate.scoring.tally import Facts, Values

_Named = tuple[str, "Metric"]
_TAIL, _RETRIEVED = " tail", " retrieved"  # no name of a metric begins with a blank


@dataclass
class _Group:
    """Metrics whose rankings are formed alike and that look equally deep, with one grade given.

    Attributes:
        how: the convention of all.
        own: the choices that hold for these metrics.
        cutoff: how deep they look; None is through the whole list.
        metrics: each with its label.
        grade: what the unjudged get.
        best: whether that is the best grade.
        tallies: what was computed, by how duplicates are treated.
    """

    how: Convention
    own: Convention
    cutoff: int | None
    metrics: list[_Named]
    grade: float
    best: bool
    tallies: dict[Duplicates, Tally] = field(default_factory=dict)

    @property
    def named(self) -> list[_Named]:
        """All that is computed: the metrics, and what they need beside."""
        return [*self.metrics, *_tails(self.metrics, self.how)] if self.best else self.metrics

    @property
    def rules(self) -> list[Duplicates]:
        """The ways in which duplicates are treated."""
        ways = (self.how.for_metric(metric).duplicates for _, metric in self.named)
        return list(dict.fromkeys([self.how.duplicates, *ways]))

    def begin(self, index: Index, rule: Duplicates) -> None:
        """Nothing computed yet of what treats duplicates so."""
        jobs = [Job.of(label, metric, self.how) for label, metric in self.named]
        mine = [job for job in jobs if job.how.duplicates == rule]
        also = [self.how.alignment] if rule == self.how.duplicates else []
        if mine or also:
            self.tallies[rule] = Tally.of(mine, also, index, SHOWN)

    def add(self, met: Met, index: Index, rule: Duplicates, found: dict[object, Completed]) -> None:
        """Run the kernels over a batch; what is completed alike is completed once."""
        if rule not in self.tallies:
            return
        tally = self.tallies[rule]
        for way in tally.facts:
            key = (self.own.alignment, way, self.cutoff)
            if key not in found:
                found[key] = Completed.of(met, self.own.alignment, way, self.cutoff)
            tally.index = found[key].index(index, self.grade)
            tally.add(found[key].graded(self.grade), way)

    def scored(self, run: Run, index: Index) -> Scores:
        """The values, to RBP what lies behind the list."""
        values: dict[str, tuple[Job, Values]] = {}
        facts: dict[tuple[Duplicates, Alignment], Facts] = {}
        for rule, tally in self.tallies.items():
            tally.index = index
            complete(tally, run, index)
            values |= {job.label: (job, own) for some in tally.jobs.values() for job, own in some}
            facts |= {(rule, way): each for way, each in tally.facts.items()}
        known = facts[self.how.duplicates, self.how.alignment]
        told = summed_up([values[label] for label, _ in self.named], known, run, index, self.how)
        most = max(self.grade, float(index.grades.max(initial=0)))
        return _with_tails(told, self.metrics, self.how, most) if self.best else told


def bounded(
    qrels: Qrels,
    run: Run,
    metrics: Sequence[_Named],
    how: Convention,
    scores: Scores,
    *,
    index: Index | None = None,
) -> Scores:
    """The scores with ``low`` and ``high``, for all metrics that admit bounds.

    Args:
        qrels: the judgments.
        run: the run; it is read once more, and again for every other way to treat duplicates.
        metrics: each with the label that results carry.
        how: the convention.
        scores: what ``score`` gives for these.
        index: the judgments laid out, where that has been done.

    Raises:
        InputError: as ``score``.
    """
    index = Index.of(qrels) if index is None else index
    ends = {False: 0.0, True: best_grade(qrels)}
    groups = {
        best: [_Group(how, *each, grade, best) for each in _groups(metrics, how)]
        for best, grade in ends.items()
    }
    every = [group for some in groups.values() for group in some]
    for rule in dict.fromkeys(rule for group in every for rule in group.rules):
        try:
            _over(run.batches(rule), index, rule, every)
        except ScatteredError:  # a query came back after others: all rows at once
            _over([run.whole(rule)], index, rule, every)
    low, high = (
        _joined(scores, [group.scored(run, index) for group in some]) for some in groups.values()
    )
    plain = {label for label, metric in metrics if Job.of(label, metric, how).level <= 0}
    return replace(scores, low=_as_now(low, scores, plain), high=high)


def _over(
    batches: Iterable[Batch], index: Index, rule: Duplicates, groups: Sequence[_Group]
) -> None:
    for group in groups:
        group.begin(index, rule)
    for batch in batches:
        met = meet(batch, index)
        found: dict[object, Completed] = {}
        for group in groups:
            group.add(met, index, rule, found)


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


def _with_tails(found: Scores, metrics: Sequence[_Named], how: Convention, most: float) -> Scores:
    """To RBP what lies behind the list, all of the highest grade."""
    values, means = dict(found.values), dict(found.means)
    for label, metric in metrics:
        if metric.name == "RBP":
            job = Job.of(label, metric, how)
            worth = most if metric.bound(job.defaults).get("gain") == "linear" else 1.0
            there = found.values[_RETRIEVED] > 0
            rest = np.where(there, found.values[label + _TAIL] * worth, 0)
            values[label] = values[label] + rest
            unknown = found.counts.unknown_queries
            means[label] = mean(values[label], found.why[label], job, unknown=unknown)
    return replace(found, values=values, means=means)


def _tails(metrics: Sequence[_Named], how: Convention) -> list[_Named]:
    """What RBP needs beside itself: the weight behind each list, and whether there is one."""
    tails: list[_Named] = []
    for label, metric in metrics:
        if metric.name == "RBP":
            bound = metric.bound(how.for_metric(metric).defaults(metric))
            given = {name: bound[name] for name in ("p", "cutoff") if bound.get(name) is not None}
            tails.append((label + _TAIL, by_name["RBPResid"](**given, tail="always")))
    return [*tails, (_RETRIEVED, by_name["NumRet"])] if tails else []


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
