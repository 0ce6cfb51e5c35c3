"""Scorecards on Spark: accuracy and metrics of whole lists, from sums of groups of users."""

from __future__ import annotations

import base64
import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.data.place import Place
from rankgate.data.qrels import Qrels, refuse_holes
from rankgate.evaluation.accumulate import Accumulator
from rankgate.evaluation.context import Context
from rankgate.metrics.lists import LIST_METRICS
from rankgate.metrics.names import parse
from rankgate.metrics.views import LISTS
from rankgate.present.frames import frame
from rankgate.recommenders.dominance import dominators
from rankgate.recommenders.scorecard import Scorecard
from rankgate.recommenders.scorecard_figures import DIFFERENCES, FIGURES
from rankgate.recommenders.scorecard_parts import GAPS, SLICES
from rankgate.scoring.alignment.judgments import JudgmentIndex
from rankgate.scoring.chosen import chosen_convention
from rankgate.spark.cells import unpacked
from rankgate.spark.executed import measured
from rankgate.spark.partition import JUDGED, Cell, located, rows_in
from rankgate.spark.prepared import prepare

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from rankgate.data.inputs import ColumnsLike, TableLike
    from rankgate.data.logs.interactions import LogLike
    from rankgate.scoring import Convention
    from rankgate.scoring.plan import Plan

GROUPS = 32
"""Groups of users that intervals are made of, at least."""

_EMPTY = Qrels(pl.DataFrame({"query_id": ["none"], "doc_id": ["none"], "grade": [0.0]}))


@dataclass(frozen=True)
class Accumulating:
    """What an `Accumulator` keeps of the users of a partition, for each run.

    Attributes:
        plan: whose metrics of rankings are measured; tells how rows have to be ordered.
        runs: the names of the runs.
        labels: where judgments and each run come from, for errors.
        empty: an accumulator that has seen nothing.
    """

    plan: Plan
    runs: tuple[str, ...]
    labels: tuple[str, ...]
    empty: Accumulator

    def over(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Any]:
        """The states of all runs.

        Raises:
            InputError, DuplicateError: what is wrong with the rows.
            UsageError: a metric needs what was not given.
        """
        seen: list[Accumulator] = [pickle.loads(pickle.dumps(self.empty)) for _ in self.runs]  # noqa: S301 - our own copy
        for cell in unpacked(batches):
            index = self._judgments(cell)
            for i, each in enumerate(seen):
                run = rows_in(cell, i + 1, "score")
                with located(run, self.labels[i + 1]):
                    refuse_holes(run, "score", Place(self.labels[i + 1]))
                    each.update(index, run if len(run) else {})
        states = [base64.b64encode(pickle.dumps(each.state())).decode() for each in seen]
        yield {"run": [*range(len(self.runs))], "totals": states}

    def _judgments(self, cell: Cell) -> Any:  # noqa: ANN401 - judgments laid out
        table = rows_in(cell, JUDGED, "grade").select("query_id", "doc_id", "grade")
        if table.is_empty():  # users that are served and have no judgment
            none = np.zeros(0, np.int64)
            ids = pl.Series("query_id", [], dtype=pl.String)
            return JudgmentIndex(_EMPTY, ids, np.zeros(1, np.int64), np.zeros(0), _rows=none)
        with located(table, self.labels[0]):
            return JudgmentIndex.of(Qrels(table, self.labels[0], place=Place(self.labels[0])))


def scorecard(
    qrels: Any,  # noqa: ANN401 - as of evaluate
    runs: Any,  # noqa: ANN401 - as of evaluate
    metrics: Sequence[str],
    convention: str | Convention = "trec",
    *,
    catalogue: int | Iterable[object] | None = None,
    train: LogLike | None = None,
    items: TableLike | None = None,
    features: Sequence[str] = (),
    category: str | None = None,
    group: str | None = None,
    drop_seen: bool = False,
    columns: ColumnsLike | None = None,
    names: Sequence[str] = (),
    from_: str | None = None,
    partitions: int | None = None,
    level: float = 0.95,
    resamples: int = 200,
    seed: int = 0,
    spark: SparkSession | None = None,
) -> Scorecard:
    """Put systems on one card, as ``rankgate.scorecard`` does; values equal its values.

    Intervals and tests are those of a Poisson bootstrap of groups of users, which are the
    partitions: value ± z · sd of the resamples, the same groups for every system. Metrics of lists
    need all items beforehand; what is known of items is sent to every executor, and a few numbers
    for each item and group come back.

    Args:
        qrels: as of ``rankgate.spark.evaluate``.
        runs: as there; the first is what the others are compared with.
        metrics: of accuracy and of lists.
        convention: as of ``rankgate.evaluate``.
        catalogue: how many items there are, numbered from 0, or their ids.
        train: the training log of the systems.
        items: a table of items.
        features: its columns of numbers.
        category: its column of categories, several between bars.
        group: its column of groups.
        drop_seen: whether items of training leave users' lists.
        columns: as of ``rankgate.evaluate``.
        names: of the runs, in their order.
        from_: as of ``rankgate.spark.evaluate``.
        partitions: groups of users; 32 or more if not given.
        level: of the intervals.
        resamples: of the groups.
        seed: of the drawing.
        spark: the session.

    Raises:
        InputError: data that cannot be read; an item that is not in the catalogue.
        UsageError: an unknown metric, or one that needs what was not given.
        MissingExtraError: PySpark is not installed.
    """
    inputs = Context(
        train=train, items=items, features=tuple(features), category=category, group=group,
        drop_seen=drop_seen,
    )  # fmt: skip
    empty = Accumulator(list(metrics), convention, catalogue=catalogue, context=inputs)
    plain = [each for each in metrics if not _of_lists(each)] or ["RR"]
    work = prepare(
        qrels, runs, plain, convention, (), (), columns, names, from_, partitions, spark,
        least=GROUPS,
    )  # fmt: skip
    labels = tuple(each.label for each in work.tables)
    task = Accumulating(work.plan, work.names, labels, empty)
    _, sent = measured(work.by_cells(), task, work.tables, keep=False)
    states = [[pickle.loads(base64.b64decode(each)) for each in own] for own in sent]  # noqa: S301 - of our own executors
    return _card(work.names, work.qrels.name, empty, states, (level, resamples, seed), convention)


def _of_lists(name: str) -> bool:
    """Whether a metric is of lists as a whole."""
    return parse(name, LIST_METRICS).view == LISTS


def _card(
    names: Sequence[str],
    qrels: str,
    empty: Accumulator,
    states: Sequence[Sequence[Mapping[str, Any]]],
    drawing: tuple[float, int, int],
    convention: str | Convention,
) -> Scorecard:
    """The card of the states of all groups."""
    from scipy.special import ndtr, ndtri

    from rankgate.stats.corrections import correct

    level, resamples, seed = drawing
    rng = np.random.default_rng(seed)
    weights = rng.poisson(1.0, (resamples, len(states[0])))
    values = [_numbers(empty, own, np.ones(len(own), int))[0] for own in states]
    drawn = [[_numbers(empty, own, row)[0] for row in weights] for own in states]
    users = [_numbers(empty, own, np.ones(len(own), int))[1] for own in states]
    metrics = {name: parse(name, LIST_METRICS) for name in empty.metrics}
    z = float(ndtri((1 + level) / 2))
    rows, apart = [], []
    for label, metric in metrics.items():
        first = np.array([each[label] for each in drawn[0]])
        for i, name in enumerate(names):
            value, own = values[i][label], np.array([each[label] for each in drawn[i]])
            top = np.inf if metric.high is None else metric.high
            low, high = np.clip((value - z * own.std(), value + z * own.std()), metric.low, top)
            about = "lists" if metric.view == LISTS else "accuracy"
            rows.append((name, label, about, value, low, high, users[i], metric.higher_is_better))
            if i:
                delta, error = value - values[0][label], float((own - first).std())
                p = float(2 * ndtr(-abs(delta) / error)) if error else float(delta == 0)
                ends = (delta - z * error, delta + z * error)
                better = (delta > 0) == metric.higher_is_better
                apart.append((name, label, delta, *ends, p, p, better))
    raw = np.array([row[5] for row in apart], np.float64)
    p_values = correct(raw, "holm") if apart else raw
    apart = [(*row[:6], float(p), row[7]) for row, p in zip(apart, p_values, strict=True)]
    means = {name: [values[i][label] for label in metrics] for i, name in enumerate(names)}
    found = dominators(means, [each.higher_is_better for each in metrics.values()])
    return Scorecard(
        systems=tuple(names),
        metrics=tuple(metrics),
        qrels=qrels,
        convention=chosen_convention(convention).to_dict(),
        figures=frame(rows, FIGURES),
        differences=frame(apart, DIFFERENCES),
        slices=pl.DataFrame(schema=SLICES),
        gaps=pl.DataFrame(schema=GAPS),
        dominated=tuple((name, by) for name, by in found.items() if by is not None),
        users=users[0],
        catalogue=empty.catalogue_size,
        candidates="",
        level=level,
        resamples=resamples,
        seed=seed,
        warnings=(),
    )


def _numbers(
    empty: Accumulator, states: Sequence[Mapping[str, Any]], weights: np.ndarray[Any, Any]
) -> tuple[dict[str, float], int]:
    """The numbers of groups that count so many times each, and how many users they have."""
    whole: Accumulator = pickle.loads(pickle.dumps(empty))  # noqa: S301 - our own copy
    for state, times in zip(states, weights, strict=True):
        for _ in range(int(times)):
            whole.merge(state)
    return whole.result(), whole.counts.queries
