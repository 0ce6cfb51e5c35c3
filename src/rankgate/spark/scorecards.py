"""Scorecards on Spark: accuracy and metrics of whole lists, from sums of groups of users."""

from __future__ import annotations

import base64
import pickle
from collections.abc import Iterable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.data.logs.user_items import read_meetings
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
from rankgate.scoring.alignment.judgments import JudgmentIndex
from rankgate.scoring.chosen import chosen_convention
from rankgate.spark.card_tables import (
    Pooled,
    PooledPart,
    figure_rows,
    gap_table,
    metrics_of,
    slice_table,
)
from rankgate.spark.cells import unpacked
from rankgate.spark.executed import measured
from rankgate.spark.partition import JUDGED, located, rows_in
from rankgate.spark.prepared import prepare
from rankgate.spark.user_parts import user_slices

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import SparkSession

    from rankgate.data.inputs import ColumnsLike, TableLike
    from rankgate.data.logs.interactions import LogLike
    from rankgate.scoring import Convention
    from rankgate.scoring.plan import Plan
    from rankgate.spark.prepared import Prepared
    from rankgate.spark.user_parts import UserSlice

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
        slices: of the users.
    """

    plan: Plan
    runs: tuple[str, ...]
    labels: tuple[str, ...]
    empty: Accumulator
    slices: tuple[UserSlice, ...] = ()

    def over(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Any]:
        """What was seen of each run: of all users, and of each part of them with its size.

        Raises:
            InputError, DuplicateError: what is wrong with the rows.
            UsageError: a metric needs what was not given.
        """
        count = sum(len(each.parts) for each in self.slices)
        seen = [[copy(self.empty) for _ in range(1 + count)] for _ in self.runs]
        sizes = [0] * count
        for cell in unpacked(batches):
            table = rows_in(cell, JUDGED, "grade").select("query_id", "doc_id", "grade")
            runs = [rows_in(cell, i + 1, "score") for i in range(len(self.runs))]
            index = self._index(table)
            for i, (run, own) in enumerate(zip(runs, seen, strict=True), 1):
                with located(run, self.labels[i]):
                    refuse_holes(run, "score", Place(self.labels[i]))
                    own[0].update(index, run if len(run) else {})
            for at, users in enumerate(self._parts(table, runs)):
                sizes[at] += len(users)
                if not len(users):
                    continue
                inside = pl.col("query_id").is_in(users.implode())
                index = self._index(table.filter(inside))
                for run, own in zip(runs, seen, strict=True):
                    some = run.filter(inside)
                    own[1 + at].update(index, some if len(some) else {})
        found = [([each.state() for each in own], sizes) for own in seen]
        texts = [base64.b64encode(pickle.dumps(each)).decode() for each in found]
        yield {"run": [*range(len(self.runs))], "totals": texts}

    def _parts(self, table: pl.DataFrame, runs: Sequence[pl.DataFrame]) -> Iterator[pl.Series]:
        """The users of a cell that are in each part of each slice."""
        if self.slices:
            there = pl.concat([each["query_id"] for each in (table, *runs)]).unique()
            for each in self.slices:
                yield from each.users(there)

    def _index(self, table: pl.DataFrame) -> Any:  # noqa: ANN401 - judgments laid out
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
        slices: distinguish new, light and heavy users (activity), or the values of a column of
            users; each part sends as many numbers as all users do.
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
    met = None if train is None or not slices else read_meetings(train)
    groups = user_slices(slices, work, met, users)
    task = Accumulating(work.plan, work.names, labels, empty, groups)
    _, sent = measured(work.by_cells(), task, work.tables, keep=False)
    found = [[pickle.loads(base64.b64decode(each)) for each in own] for own in sent]  # noqa: S301 - of our own executors
    card = _card(work, empty, found, groups, (level, resamples, seed))
    return replace(card, convention=chosen_convention(convention).to_dict())


def _of_lists(name: str) -> bool:
    """Whether a metric is of lists as a whole."""
    return parse(name, LIST_METRICS).view == LISTS


def _card(
    work: Prepared,
    empty: Accumulator,
    found: Sequence[Sequence[tuple[Sequence[Mapping[str, Any]], Sequence[int]]]],
    groups: Sequence[UserSlice],
    drawing: tuple[float, int, int],
) -> Scorecard:
    """The card of what was seen of all groups of users, and of their parts."""
    from rankgate.stats.corrections import correct

    level, resamples, seed = drawing
    weights = np.random.default_rng(seed).poisson(1.0, (resamples, len(found[0])))
    metrics = metrics_of(empty)

    def pooled(part: int) -> list[Pooled]:
        return [
            Pooled.of(name, [_seen(empty, states[part]) for states, _ in own], weights)
            for name, own in zip(work.names, found, strict=True)
        ]

    systems = pooled(0)
    rows, apart = figure_rows(systems, metrics, level)
    raw = np.array([row[5] for row in apart], np.float64)
    p_values = correct(raw, "holm") if apart else raw
    apart = [(*row[:6], float(p), row[7]) for row, p in zip(apart, p_values, strict=True)]
    sizes = np.sum([own for _, own in found[0]], axis=0)
    named = [(each.name, value) for each in groups for value in each.parts]
    parts = [
        PooledPart(*name, int(size), pooled(at))
        for at, (name, size) in enumerate(zip(named, sizes, strict=True), 1)
        if size
    ]
    means = {each.name: [each.values[label] for label in metrics] for each in systems}
    over = dominators(means, [each.higher_is_better for each in metrics.values()])
    return Scorecard(
        systems=work.names,
        metrics=tuple(metrics),
        qrels=work.qrels.name,
        convention={},
        figures=frame(rows, FIGURES),
        differences=frame(apart, DIFFERENCES),
        slices=slice_table(parts, metrics, level),
        gaps=gap_table(parts, systems, metrics, weights, level),
        dominated=tuple((name, by) for name, by in over.items() if by is not None),
        users=systems[0].users,
        catalogue=empty.catalogue_size,
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
