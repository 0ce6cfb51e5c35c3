"""Scorecards on Spark: accuracy and metrics of whole lists, from sums of groups of users."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.present.frames import frame
from rankgate.data.collection import Collection, Items
from rankgate.data.logs.items import read_described
from rankgate.measurement.evaluation.accumulate import Accumulator
from rankgate.measurement.evaluation.dominance import dominators
from rankgate.measurement.evaluation.lists.catalogue import catalogue_facts
from rankgate.measurement.evaluation.lists.inputs import named
from rankgate.measurement.metrics.lists import LIST_METRICS
from rankgate.measurement.metrics.names import parse
from rankgate.measurement.metrics.subtopics import FACET_METRICS
from rankgate.measurement.metrics.views import LISTS
from rankgate.measurement.scoring.alignment.subtopics import no_subtopics
from rankgate.measurement.scoring.chosen import chosen_convention
from rankgate.measurement.scoring.input_cautions import prefixed
from rankgate.recommenders.scorecard import Scorecard
from rankgate.recommenders.scorecard_figures import DIFFERENCES, FIGURES
from rankgate.recommenders.scorecard_warnings import catalogue_warnings
from rankgate.spark.accumulating import Accumulating, Seen
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
from rankgate.spark.prepared import prepare

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from rankgate.data.inputs import ColumnsLike, TableLike
    from rankgate.data.logs.interactions import LogLike
    from rankgate.data.logs.items import Described
    from rankgate.measurement.scoring import Convention
    from rankgate.spark.prepared import Prepared

GROUPS = 32
"""Groups of users that intervals are made of, at least."""


def scorecard(
    qrels: Any,  # noqa: ANN401 - as of evaluate
    runs: Any,  # noqa: ANN401 - as of evaluate
    metrics: Sequence[str],
    convention: str | Convention = "trec",
    *,
    catalogue: int | Iterable[object] | None = None,
    train: LogLike | None = None,
    items: TableLike | Described | None = None,
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
    partitions: value ± z · sd of the resamples, the same groups for every system. What is known
    of items is sent to every executor, and a few numbers for each item and group come back. Where
    judgments or lists have items that the catalogue lacks, all rows are read a second time.

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
            users or items; each part of the users sends as many numbers as all users do.
        columns: as of ``rankgate.evaluate``.
        names: of the runs, in their order.
        from_: as of ``rankgate.spark.evaluate``.
        partitions: groups of users; 32 or more if not given.
        level: of the intervals.
        resamples: of the groups.
        seed: of the drawing.
        spark: the session.

    Raises:
        InputError: data that cannot be read.
        UsageError: an unknown metric, or one that needs what was not given.
        MissingExtraError: PySpark is not installed.
    """
    table = None if items is None else read_described(items)
    stated = named(catalogue)
    known_items = Items(table, features=features, category=category, group=group)
    collection = Collection(
        items=replace(known_items, catalogue=stated), training=train, drop_seen=drop_seen
    )
    tables = SliceTables.of(slices, users, table, trained=train is not None)
    empty = Accumulator(
        list(metrics), convention, collection, item_parts=tables.by_items, open_catalogue=True
    )
    plain = [each for each in metrics if not _of_lists(each)]
    work = prepare(
        qrels, runs, plain or ["RR"], convention, (), (), columns, names, from_, partitions, spark,
        least=GROUPS,
    )  # fmt: skip
    accuracy = None
    if plain:
        accuracy = Accumulator(plain, convention, Collection(items=Items(table, category=category)))

    def task_of(every: Accumulator) -> Accumulating:
        parts = tables.slices(work, every, accuracy, drop_seen=drop_seen)
        whole = (every, *chain.from_iterable(each.empty(every) for each in parts))
        labels = tuple(each.label for each in work.tables)
        return Accumulating(work.plan, work.names, labels, parts, whole)

    task, found = _carried_out(work, empty, task_of)
    card = _card(work, task, found, (level, resamples, seed))
    warnings = card.warnings
    if (known := task.empty[0].catalogue) is not None:
        facts = catalogue_facts(known.items, [stated, *([table.ids] if table else [])])
        warnings += (*catalogue_warnings(known.items, facts, table, metrics_of(empty)),)
    return replace(card, convention=chosen_convention(convention).to_dict(), warnings=warnings)


def _carried_out(
    work: Prepared, empty: Accumulator, task_of: Callable[[Accumulator], Accumulating]
) -> tuple[Accumulating, list[list[Seen]]]:
    """What was seen of each run and group, and by which task.

    Items that the catalogue lacks are added to it, and all is measured again.

    Raises:
        InputError: what is wrong with the data; no judged item has a category.
    """
    while True:
        task = task_of(empty)
        _, sent = measured(work.by_cells(), task, work.tables, keep=False)
        found = [[Seen.from_text(each) for each in own] for own in sent]
        if not any(each.topical for each in found[0]):
            raise no_subtopics(work.qrels.label)
        unknown = [pl.read_ipc_stream(each.unknown) for each in found[0] if each.unknown]
        if not unknown:
            return task, found
        empty = empty.with_items(pl.concat(unknown)["doc_id"])


def _of_lists(name: str) -> bool:
    """Whether a metric is of lists as a whole."""
    return parse(name, (*FACET_METRICS, *LIST_METRICS)).view == LISTS


def _card(
    work: Prepared,
    task: Accumulating,
    found: Sequence[Sequence[Seen]],
    drawing: tuple[float, int, int],
) -> Scorecard:
    """The card of what was seen of all groups of users, and of the parts of slices."""
    from rankgate.measurement.stats.corrections import correct

    level, resamples, seed = drawing
    weights = np.random.default_rng(seed).poisson(1.0, (resamples, len(found[0])))
    metrics = metrics_of(task.empty[0])

    def pooled(part: int) -> list[Pooled]:
        return [
            Pooled.of(name, [_seen(task.empty[part], each.states[part]) for each in own], weights)
            for name, own in zip(work.names, found, strict=True)
        ]

    systems = pooled(0)
    rows, apart = figure_rows(systems, metrics, level)
    raw = np.array([row[5] for row in apart], np.float64)
    p_values = correct(raw, "holm") if apart else raw
    apart = [(*row[:6], float(p), row[7]) for row, p in zip(apart, p_values, strict=True)]
    counted = np.sum([each.sizes for each in found[0]], axis=0).tolist()
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
        warnings=tuple(text for each in systems for text in prefixed(each.name, each.cautions)),
    )


def _seen(empty: Accumulator, state: Mapping[str, Any]) -> Accumulator:
    """An accumulator that has seen what a state says."""
    found = copy(empty)
    found.merge(state)
    return found
