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

from dataclasses import replace
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.data.qrels import SCHEMA, Qrels
from rankgate.metrics.catalogue import by_name
from rankgate.scoring.align import align, meet
from rankgate.scoring.index import Index
from rankgate.scoring.mean import mean
from rankgate.scoring.score import score
from rankgate.scoring.tally import Job

if TYPE_CHECKING:
    from collections.abc import Sequence

    from rankgate.data.run import Run
    from rankgate.data.scores import Scores
    from rankgate.metrics.declare import Metric
    from rankgate.scoring.convention import Convention

WITHOUT = frozenset(
    {"Judged", "Unjudged", "NumUnjudged", "NumNonrelJudgedRet", "NumQ", "NumRet", "RBPResid"}
)
"""Metrics of the holes themselves, or of the lists alone: what the unjudged are does not bound
them."""

_Named = tuple[str, "Metric"]
_PAIR = ["query_id", "doc_id"]
_TAIL, _RETRIEVED = " tail", " retrieved"  # no name of a metric begins with a blank


def bounded(
    qrels: Qrels, run: Run, metrics: Sequence[_Named], how: Convention, scores: Scores
) -> Scores:
    """The scores with ``low`` and ``high``, for all metrics that admit bounds.

    Args:
        qrels: the judgments.
        run: the run; it is read twice more, and again for every other cutoff.
        metrics: each with the label that results carry.
        how: the convention.
        scores: what ``score`` gives for these.

    Raises:
        InputError: as ``score``.
    """
    values: dict[bool, list[Scores]] = {False: [], True: []}
    for own, cutoff, some in _groups(metrics, how):
        table = _unjudged(qrels, run, own, cutoff)
        for best, found in values.items():
            index = Index.of(_completed(qrels, table, best_grade(qrels) if best else 0.0))
            found.append(_scored(index, run, some, how, best=best))
    low, high = (_joined(scores, found) for found in values.values())
    plain = {label for label, metric in metrics if Job.of(label, metric, how).level <= 0}
    return replace(scores, low=_as_now(low, scores, plain), high=high)


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
        if metric.name in WITHOUT:
            continue
        own = how.for_metric(metric)
        cutoff = metric.bound(own.defaults(metric)).get("cutoff")
        way = replace(own, special={}, parameters={})
        _, some = groups.setdefault((way.hash, cutoff), (way, []))
        some.append((label, metric))
    return [(way, cutoff, some) for (_, cutoff), (way, some) in groups.items()]


def _unjudged(qrels: Qrels, run: Run, how: Convention, cutoff: int | None) -> pl.DataFrame:
    """``query_id`` and ``doc_id`` of the retrieved documents that lack a grade of 0 or more."""
    batch = run.whole(how.duplicates)
    met = meet(batch, Index.of(qrels))
    rows = np.arange(len(met.scores))
    every = replace(met, row=rows, grade=np.zeros(len(rows)))  # as if all had been judged
    placed = align(every, replace(how.alignment, judged_only=False))
    within = placed.rank <= (cutoff or placed.rank.max(initial=0))
    counted = batch.frame.select(_PAIR)[placed.row[within]].unique(maintain_order=True)
    return counted.join(qrels.table.filter(pl.col("grade") >= 0), on=_PAIR, how="anti")


def _completed(qrels: Qrels, unjudged: pl.DataFrame, grade: float) -> Qrels:
    """The judgments with some more."""
    graded = unjudged.with_columns(pl.lit(grade).alias("grade"))
    kept = qrels.table.select(*SCHEMA).join(unjudged, on=_PAIR, how="anti", maintain_order="left")
    table = pl.concat([kept, graded.select(*SCHEMA)])
    return replace(qrels, table=table)


def _scored(
    index: Index, run: Run, metrics: Sequence[_Named], how: Convention, *, best: bool
) -> Scores:
    """The values under completed judgments, to RBP what lies behind the list."""
    found = score(index, run, [*metrics, *_tails(metrics, how)] if best else metrics, how)
    values, means = dict(found.values), dict(found.means)
    for label, metric in metrics:
        if best and metric.name == "RBP":
            job = Job.of(label, metric, how)
            worth = best_worth(index) if metric.bound(job.defaults).get("gain") == "linear" else 1.0
            there = found.values[_RETRIEVED] > 0
            rest = np.where(there, found.values[label + _TAIL] * worth, 0)
            values[label] = values[label] + rest
            unknown = found.counts.unknown_queries
            means[label] = mean(values[label], found.why[label], job, unknown=unknown)
    return replace(found, values=values, means=means)


def best_worth(index: Index) -> float:
    """The highest grade of completed judgments."""
    return float(index.grades.max(initial=0))


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
