"""Scorecards on Spark: accuracy and metrics of whole lists, from sums of groups of users."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.present.frames import make_frame
from rankgate.data.collection import Collection, Items
from rankgate.data.logs.items import read_described_table
from rankgate.measurement.evaluation.accumulate import Accumulator
from rankgate.measurement.evaluation.dominance import dominators
from rankgate.measurement.evaluation.lists.catalogue import catalogue_facts
from rankgate.measurement.evaluation.lists.inputs import catalogue_ids
from rankgate.measurement.metrics.lists import LIST_METRICS
from rankgate.measurement.metrics.names import parse
from rankgate.measurement.metrics.subtopics import FACET_METRICS
from rankgate.measurement.metrics.views import LISTS
from rankgate.measurement.scoring.alignment.subtopics import no_subtopics
from rankgate.measurement.scoring.chosen import chosen_convention
from rankgate.measurement.scoring.input_cautions import with_run_name
from rankgate.recommenders.scorecard import ACCURACY, Scorecard
from rankgate.recommenders.scorecard_figures import DIFFERENCES, FIGURES
from rankgate.recommenders.scorecard_warnings import catalogue_warnings
from rankgate.spark.accumulating import GroupResults, UserAccumulation
from rankgate.spark.card_slices import SliceTables
from rankgate.spark.card_tables import (
    PooledPart,
    PooledSystem,
    figure_rows,
    gap_table,
    metrics_of,
    slice_table,
)
from rankgate.spark.executed import run_task
from rankgate.spark.prepared import COLLECTION_FIELDS, named_runs, prepare, refuse_others

if TYPE_CHECKING:
    from rankgate.measurement.metrics.declare import Metric
    from rankgate.measurement.scoring import Convention
    from rankgate.spark.prepared import SparkMeasurement

GROUPS = 32
"""Groups of users that intervals are made of, at least."""

RESAMPLES = 200
"""The largest number of resamples of the groups: more do not change intervals visibly."""


_TAKEN = COLLECTION_FIELDS - {"tags"} | {"users", "training", "drop_seen"}
_UNUSED = frozenset({"tags", "selection"})
"""Fields that cards do not use, on one machine either."""

_ITEMS = frozenset({"table", "features", "category", "group", "catalogue"})


def scorecard(
    collection: Collection,
    runs: Any,  # noqa: ANN401 - as of rankgate.scorecard
    metrics: Sequence[str | Metric],
    convention: str | Convention,
    *,
    slices: Sequence[str],
    level: float,
    resamples: int,
    seed: int,
) -> Scorecard:
    """Put systems on one card; arguments as of ``rankgate.scorecard``, whose values it has.

    Intervals and tests are those of a Poisson bootstrap of groups of users, which are the
    partitions, 32 or more: value ± z · sd of the resamples, of which `RESAMPLES` are drawn at most,
    the same groups for every system. What is known of items and users is sent to every executor,
    and a few numbers for each item and group come back. Where judgments or lists have items that
    the catalogue lacks, all rows are read a second time. Each part of the users in a slice sends
    as many numbers as all users do.

    Raises:
        InputError: data that cannot be read.
        UsageError: an unknown metric, or one that needs what the collection lacks; a field of it
            that Spark does not have.
        MissingExtraError: PySpark is not installed.
    """
    refuse_others(collection, "scorecard on Spark", _TAKEN | _UNUSED, _ITEMS)
    item_table, train, users = collection.items, collection.training, collection.users
    metrics = list(metrics or ACCURACY)
    table = None if item_table.table is None else read_described_table(item_table.table)
    stated_items = catalogue_ids(item_table.catalogue)
    category, drop_seen = item_table.category, collection.drop_seen
    shop = replace(item_table, table=table, catalogue=stated_items)
    measured_by = Collection(items=shop, training=train, drop_seen=drop_seen)
    resamples = min(resamples, RESAMPLES)
    tables = SliceTables.of(slices, users, table, trained=train is not None)
    empty = Accumulator(
        metrics, convention, measured_by, item_parts=tables.by_items, open_catalogue=True
    )
    ranking_metrics = [metric for metric in metrics if not _is_list_metric(metric)]
    work = prepare(
        collection, named_runs(runs), ranking_metrics or ["RR"], convention, least=GROUPS
    )
    accuracy = None
    if ranking_metrics:
        accuracy = Accumulator(
            ranking_metrics, convention, Collection(items=Items(table, category=category))
        )

    def task_of(all_accumulator: Accumulator) -> UserAccumulation:
        parts = tables.slices(work, all_accumulator, accuracy, drop_seen=drop_seen)
        accumulators = (
            all_accumulator,
            *chain.from_iterable(card_slice.empty(all_accumulator) for card_slice in parts),
        )
        labels = tuple(table.label for table in work.tables)
        return UserAccumulation(work.plan, work.names, labels, parts, accumulators)

    task, results = _measure_groups(work, empty, task_of)
    card = _card(work, task, results, (level, resamples, seed))
    warnings = card.warnings
    if (catalogue := task.empty[0].catalogue) is not None:
        facts = catalogue_facts(catalogue.items, [stated_items, *([table.ids] if table else [])])
        warnings += (*catalogue_warnings(catalogue.items, facts, table, metrics_of(empty)),)
    return replace(card, convention=chosen_convention(convention).to_dict(), warnings=warnings)


def _measure_groups(
    work: SparkMeasurement, empty: Accumulator, task_of: Callable[[Accumulator], UserAccumulation]
) -> tuple[UserAccumulation, list[list[GroupResults]]]:
    """The results of each run and group, and the task that made them.

    Items that the catalogue lacks are added to it, and everything is measured again.

    Raises:
        InputError: the data are wrong; no judged item has a category.
    """
    while True:
        task = task_of(empty)
        _, texts_by_run = run_task(work.by_cells(), task, work.tables, keep=False)
        results = [[GroupResults.from_text(text) for text in texts] for texts in texts_by_run]
        if not any(result.topical for result in results[0]):
            raise no_subtopics(work.qrels.label)
        unknown_items = [
            pl.read_ipc_stream(result.unknown) for result in results[0] if result.unknown
        ]
        if not unknown_items:
            return task, results
        empty = empty.with_items(pl.concat(unknown_items)["doc_id"])


def _is_list_metric(metric: str | Metric) -> bool:
    """True if a metric is about lists as a whole."""
    if not isinstance(metric, str):
        return metric.view == LISTS
    return parse(metric, (*FACET_METRICS, *LIST_METRICS)).view == LISTS


def _card(
    work: SparkMeasurement,
    task: UserAccumulation,
    results: Sequence[Sequence[GroupResults]],
    drawing: tuple[float, int, int],
) -> Scorecard:
    """The card from the results of all groups of users, and of the parts of slices."""
    from rankgate.measurement.stats.corrections import correct

    level, resamples, seed = drawing
    weights = np.random.default_rng(seed).poisson(1.0, (resamples, len(results[0])))
    metrics = metrics_of(task.empty[0])

    def pooled(part_index: int) -> list[PooledSystem]:
        return [
            PooledSystem.of(
                name,
                [
                    _restore(task.empty[part_index], result.states[part_index])
                    for result in run_results
                ],
                weights,
            )
            for name, run_results in zip(work.names, results, strict=True)
        ]

    systems = pooled(0)
    rows, differences = figure_rows(systems, metrics, level)
    raw = np.array([row[5] for row in differences], np.float64)
    p_values = correct(raw, "holm") if differences else raw
    differences = [
        (*row[:6], float(p), row[7]) for row, p in zip(differences, p_values, strict=True)
    ]
    part_sizes = np.sum([result.sizes for result in results[0]], axis=0).tolist()
    parts = []
    part_index = 0
    for card_slice in task.slices:
        for value_index, value in enumerate(card_slice.parts):
            size = card_slice.size(value_index, part_sizes[part_index])
            part_index += 1
            if size or card_slice.of == "items":
                part_metrics = metrics_of(task.empty[part_index])
                parts.append(
                    PooledPart(
                        card_slice.name,
                        card_slice.of,
                        value,
                        size,
                        part_metrics,
                        pooled(part_index),
                    )
                )
    means = {system.name: [system.values[label] for label in metrics] for system in systems}
    dominator_of_system = dominators(
        means, [metric.higher_is_better for metric in metrics.values()]
    )
    return Scorecard(
        systems=work.names,
        metrics=tuple(metrics),
        qrels=work.qrels.name,
        convention={},
        figures=make_frame(rows, FIGURES),
        differences=make_frame(differences, DIFFERENCES),
        slices=slice_table(parts, level),
        gaps=gap_table(parts, systems, metrics, weights, level),
        dominated=tuple(
            (name, dominator)
            for name, dominator in dominator_of_system.items()
            if dominator is not None
        ),
        users=systems[0].users,
        catalogue=task.empty[0].catalogue_size,
        candidates="",
        level=level,
        resamples=resamples,
        seed=seed,
        warnings=tuple(
            text for system in systems for text in with_run_name(system.name, system.cautions)
        ),
    )


def _restore(empty: Accumulator, state: Mapping[str, Any]) -> Accumulator:
    """An accumulator with a saved state."""
    accumulator = copy(empty)
    accumulator.merge(state)
    return accumulator
