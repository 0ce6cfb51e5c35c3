"""Scorecards on Spark: accuracy and metrics of whole lists, from sums of groups of users."""

from __future__ import annotations

import base64
import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.data.place import Place
from rankgate.data.qrels import Qrels, refuse_holes, without_empty
from rankgate.evaluation.accumulate import Accumulator
from rankgate.evaluation.context import Context
from rankgate.metrics.lists import LIST_METRICS
from rankgate.metrics.names import parse
from rankgate.metrics.subtopics import FACET_METRICS
from rankgate.metrics.views import LISTS
from rankgate.present.frames import frame
from rankgate.recommenders.dominance import dominators
from rankgate.recommenders.scorecard import Scorecard
from rankgate.recommenders.scorecard_figures import DIFFERENCES, FIGURES
from rankgate.scoring.alignment.judgments import JudgmentIndex
from rankgate.scoring.chosen import chosen_convention
from rankgate.spark.card_slices import SliceTables
from rankgate.spark.card_tables import (
    Pooled,
    PooledPart,
    figure_rows,
    gap_table,
    metrics_of,
    slice_table,
)
from rankgate.spark.executed import measured
from rankgate.spark.partition import JUDGED, located, rows_in
from rankgate.spark.prepared import prepare

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from rankgate.data.inputs import ColumnsLike, TableLike
    from rankgate.data.logs.interactions import LogLike
    from rankgate.scoring import Convention
    from rankgate.scoring.plan import Plan
    from rankgate.spark.card_slices import CardSlice, Cut
    from rankgate.spark.partition import Cell
    from rankgate.spark.prepared import Prepared

GROUPS = 32
"""Groups of users that intervals are made of, at least."""


@dataclass(frozen=True)
class Accumulating:
    """What `Accumulator`s keep of the users of a partition, for each run.

    Attributes:
        plan: whose metrics of rankings are measured; tells how rows have to be ordered.
        runs: the names of the runs.
        labels: where judgments and each run come from, for errors.
        slices: of the users, items and pairs.
        empty: accumulators that have seen nothing: of all, and of each part of each slice.
    """

    plan: Plan
    runs: tuple[str, ...]
    labels: tuple[str, ...]
    slices: tuple[CardSlice, ...]
    empty: tuple[Accumulator, ...]

    def over(self, cells: Iterable[Cell]) -> Iterator[Any]:
        """What was seen of each run: of all users, and of each part with its size.

        Raises:
            InputError, DuplicateError: what is wrong with the rows.
            UsageError: a metric needs what was not given.
        """
        seen = [[copy(each) for each in self.empty] for _ in self.runs]
        sizes = [0] * (len(self.empty) - 1)
        for cell in cells:
            table = without_empty(rows_in(cell, JUDGED, "grade"))
            runs = [rows_in(cell, i + 1, "score") for i in range(len(self.runs))]
            index = self._index(table)
            for i, (run, own) in enumerate(zip(runs, seen, strict=True), 1):
                with located(run, self.labels[i]):
                    refuse_holes(run, "score", Place(self.labels[i]))
                    own[0].update(index, _ranked(run))
            for at, (size, judged, ranked) in enumerate(self._cuts(table, runs)):
                sizes[at] += size
                index = self._index(judged)
                for some, own in zip(ranked, seen, strict=True):
                    own[1 + at].update(index, _ranked(some))
        found = [([each.state() for each in own], sizes) for own in seen]
        texts = [base64.b64encode(pickle.dumps(each)).decode() for each in found]
        yield {"run": [*range(len(self.runs))], "totals": texts}

    def _cuts(self, table: pl.DataFrame, runs: Sequence[pl.DataFrame]) -> Iterator[Cut]:
        """What each part of each slice measures of a cell."""
        for each in self.slices:
            with located(table, self.labels[0]):
                yield from each.cut(table, runs)

    def _index(self, table: pl.DataFrame) -> Any:  # noqa: ANN401 - judgments laid out
        if table.is_empty():  # users that are served and have no judgment
            return JudgmentIndex.without_queries(self.labels[0])
        with located(table, self.labels[0]):
            return JudgmentIndex.of(Qrels(table, self.labels[0], place=Place(self.labels[0])))


def _ranked(run: Any) -> Any:  # noqa: ANN401 - a run
    """A run as an accumulator takes it: rows, or nothing."""
    return {} if isinstance(run, pl.DataFrame) and run.is_empty() else run


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
    users: TableLike | None = None,
    slices: Sequence[str] = (),
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
        users: a table of users: user_id and columns, which is sent to every executor.
        slices: distinguish new, light and heavy users (activity), items of head and tail
            (popularity), repeat and new pairs of both (history), or the values of a column of
            users or items; each part of the users sends as many numbers as all users do. Slices of
            items need all items beforehand.
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
    tables = SliceTables.of(slices, users, items, trained=train is not None)
    empty = Accumulator(
        list(metrics), convention, catalogue=catalogue, context=inputs, item_parts=tables.by_items
    )
    plain = [each for each in metrics if not _of_lists(each)]
    work = prepare(
        qrels, runs, plain or ["RR"], convention, (), (), columns, names, from_, partitions, spark,
        least=GROUPS,
    )  # fmt: skip
    labels = tuple(each.label for each in work.tables)
    accuracy = Accumulator(plain, convention) if plain else None
    parts = tables.slices(work, empty, accuracy, drop_seen=drop_seen)
    every = (empty, *chain.from_iterable(each.empty(empty) for each in parts))
    task = Accumulating(work.plan, work.names, labels, parts, every)
    _, sent = measured(work.by_cells(), task, work.tables, keep=False)
    found = [[pickle.loads(base64.b64decode(each)) for each in own] for own in sent]  # noqa: S301 - of our own executors
    card = _card(work, task, found, (level, resamples, seed))
    return replace(card, convention=chosen_convention(convention).to_dict())


def _of_lists(name: str) -> bool:
    """Whether a metric is of lists as a whole."""
    return parse(name, (*FACET_METRICS, *LIST_METRICS)).view == LISTS


def _card(
    work: Prepared,
    task: Accumulating,
    found: Sequence[Sequence[tuple[Sequence[Mapping[str, Any]], Sequence[int]]]],
    drawing: tuple[float, int, int],
) -> Scorecard:
    """The card of what was seen of all groups of users, and of the parts of slices."""
    from rankgate.stats.corrections import correct

    level, resamples, seed = drawing
    weights = np.random.default_rng(seed).poisson(1.0, (resamples, len(found[0])))
    metrics = metrics_of(task.empty[0])

    def pooled(part: int) -> list[Pooled]:
        return [
            Pooled.of(name, [_seen(task.empty[part], states[part]) for states, _ in own], weights)
            for name, own in zip(work.names, found, strict=True)
        ]

    systems = pooled(0)
    rows, apart = figure_rows(systems, metrics, level)
    raw = np.array([row[5] for row in apart], np.float64)
    p_values = correct(raw, "holm") if apart else raw
    apart = [(*row[:6], float(p), row[7]) for row, p in zip(apart, p_values, strict=True)]
    counted = np.sum([own for _, own in found[0]], axis=0).tolist()
    parts = []
    at = 0
    for each in task.slices:
        for place, value in enumerate(each.parts):
            size = each.size(place, counted[at])
            at += 1
            if size or each.of == "items":
                own = metrics_of(task.empty[at])
                parts.append(PooledPart(each.name, each.of, value, size, own, pooled(at)))
    means = {each.name: [each.values[label] for label in metrics] for each in systems}
    over = dominators(means, [each.higher_is_better for each in metrics.values()])
    return Scorecard(
        systems=work.names,
        metrics=tuple(metrics),
        qrels=work.qrels.name,
        convention={},
        figures=frame(rows, FIGURES),
        differences=frame(apart, DIFFERENCES),
        slices=slice_table(parts, level),
        gaps=gap_table(parts, systems, metrics, weights, level),
        dominated=tuple((name, by) for name, by in over.items() if by is not None),
        users=systems[0].users,
        catalogue=task.empty[0].catalogue_size,
        candidates="",
        level=level,
        resamples=resamples,
        seed=seed,
        warnings=(),
    )


def _seen(empty: Accumulator, state: Mapping[str, Any]) -> Accumulator:
    """An accumulator that has seen what a state says."""
    found = copy(empty)
    found.merge(state)
    return found
