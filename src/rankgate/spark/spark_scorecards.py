"""Scorecards on Spark: accuracy and metrics of whole lists, and their tables.

All values come from sums over groups of users: figures, differences, slices and gaps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import replace
from itertools import chain
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.result_frames import make_frame
from rankgate.data.collection import Collection, Items
from rankgate.data.logs.item_tables import read_described_table
from rankgate.measurement.evaluation.accumulator import Accumulator
from rankgate.measurement.evaluation.lists.list_inputs import catalogue_facts, catalogue_ids
from rankgate.measurement.evaluation.tradeoff import dominators
from rankgate.measurement.metrics.facet_metrics import FACET_METRICS
from rankgate.measurement.metrics.lists import LIST_METRICS
from rankgate.measurement.metrics.metric_declaration import LISTS
from rankgate.measurement.metrics.metric_name_parser import parse
from rankgate.measurement.scoring.alignment.kernel_inputs import no_subtopics
from rankgate.measurement.scoring.presets import chosen_convention
from rankgate.measurement.scoring.scoring_facts import with_run_name
from rankgate.recommenders.scorecard import ACCURACY, Scorecard
from rankgate.recommenders.scorecard_figures import DIFFERENCES, FIGURES, GAPS, SLICES, correct_p_values
from rankgate.recommenders.scorecard_systems import catalogue_warnings
from rankgate.spark.accumulated_users import GroupResults, UserAccumulation
from rankgate.spark.card_slices import SliceTables
from rankgate.spark.spark_inputs import COLLECTION_FIELDS, named_runs, prepare, refuse_others
from rankgate.spark.task_results import run_task

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.core.arrays import Floats
    from rankgate.core.value_types import Schema
    from rankgate.measurement.metrics.judged_block import ExactMean
    from rankgate.measurement.metrics.metric_declaration import Metric
    from rankgate.measurement.scoring import Convention
    from rankgate.spark.spark_inputs import SparkMeasurement

    Rows = list[tuple[object, ...]]


@dataclass(frozen=True)
class PooledSystem:
    """The numbers of one system over some users: for all groups, and for resamples of groups.

    Attributes:
        name: the name of the system.
        groups: the accumulator of each group.
        values: the values by metric, of all groups.
        drawn: the resampled values by metric, ``(B,)``.
        users: the number of judged users.
        valued: by metric, the number of users with a value, or the number of lists.
        cautions: as in `Counts`.
    """

    name: str
    groups: Sequence[Accumulator]
    values: Mapping[str, float]
    drawn: Mapping[str, Floats]
    users: int
    valued: Mapping[str, int]
    cautions: Mapping[str, str]

    @classmethod
    def from_groups(
        cls, name: str, groups: Sequence[Accumulator], weights: NDArray[np.int64]
    ) -> PooledSystem:
        """The numbers from groups, and from ``(B, G)`` resamples of the groups."""
        all_users = groups[0].pooled(groups, [1] * len(groups))
        resampled = [groups[0].pooled(groups, row).result() for row in weights.tolist()]
        resampled_values = {
            label: np.array([metric_values[label] for metric_values in resampled])
            for label in all_users.metrics
        }
        counts = all_users.counts
        return cls(
            name,
            groups,
            all_users.result(),
            resampled_values,
            counts.queries,
            _count_users(all_users),
            counts.cautions,
        )


def _count_users(accumulator: Accumulator) -> dict[str, int]:
    """By metric, the number of users with a value; for metrics of all lists, of users with a list.

    Ratios of sums over lists do not count empty lists: all judged users count.
    """
    user_counts = dict.fromkeys(accumulator.metrics, accumulator.counts.queries)
    state, metrics = accumulator.state(), metrics_of(accumulator)
    lists = [label for label, metric in metrics.items() if metric.view == LISTS]
    for label, list_state in zip(lists, state["lists"] or (), strict=False):
        if isinstance(list_state, Mapping):
            user_counts[label] = int(list_state["filled"])
    for label, metric in metrics.items():
        mean = accumulator.mean_of(label)
        if mean is not None and metric.aggregate != "weighted":
            user_counts[label] = int(mean.count) - mean.undefined
    return user_counts


def metrics_of(empty: Accumulator) -> dict[str, Metric]:
    """The metrics of an accumulator by their labels."""
    return {name: parse(name, (*FACET_METRICS, *LIST_METRICS)) for name in empty.metrics}


def figure_rows(
    systems: Sequence[PooledSystem], metrics: Mapping[str, Metric], level: float
) -> tuple[Rows, Rows]:
    """Rows of `FIGURES` and, except for the first system, of `DIFFERENCES` without correction."""
    from rankgate.measurement.stats.special_functions import ndtr, ndtri

    z_level = float(ndtri((1 + level) / 2))
    rows: Rows = []
    differences: Rows = []
    first = systems[0]
    for label, metric in metrics.items():
        view = "lists" if metric.view == LISTS else "accuracy"
        highest = np.inf if metric.high is None else metric.high
        for system in systems:
            value, resampled_values = system.values[label], system.drawn[label]
            half_width = z_level * resampled_values.std()
            low, high = np.clip((value - half_width, value + half_width), metric.low, highest)
            better = metric.higher_is_better
            rows.append((system.name, label, view, value, low, high, system.valued[label], better))
            if system is not first:
                delta, error = (
                    value - first.values[label],
                    float((resampled_values - first.drawn[label]).std()),
                )
                p = float(2 * ndtr(-abs(delta) / error)) if error else float(delta == 0)
                ends = (delta - z_level * error, delta + z_level * error)
                differences.append((system.name, label, delta, *ends, p, p, (delta > 0) == better))
    return rows, differences


@dataclass(frozen=True)
class PooledPart:
    """A part of a slice.

    Attributes:
        slice: its name.
        of: users, items or pairs.
        value: the value of the slice.
        size: the number of users, items or pairs.
        metrics: the metrics of the part, by label.
        systems: the numbers of every system.
    """

    slice: str
    of: str
    value: str
    size: int
    metrics: Mapping[str, Metric]
    systems: Sequence[PooledSystem]


def slice_table(parts: Sequence[PooledPart], level: float) -> pl.DataFrame:
    """The columns of `SLICES`; p is corrected over each slice (Benjamini-Hochberg)."""
    rows: Rows = []
    for slice_part in parts:
        figures, difference_rows = figure_rows(slice_part.systems, slice_part.metrics, level)
        differences = {row[:2]: row for row in difference_rows}
        no_difference = (None,) * 8
        for row in figures:
            _, _, delta, low, high, p, _, better = differences.get(row[:2], no_difference)
            part_columns = (slice_part.slice, slice_part.of, slice_part.value, slice_part.size)
            rows.append((*part_columns, *row, delta, low, high, p, None, better))
    return _correct_table(rows, SLICES)


def gap_table(
    parts: Sequence[PooledPart],
    systems: Sequence[PooledSystem],
    metrics: Mapping[str, Metric],
    weights: NDArray[np.int64],
    level: float,
) -> pl.DataFrame:
    """The columns of `GAPS`: the mean of each part's users less that of all others."""
    from rankgate.measurement.stats.special_functions import ndtr, ndtri

    z_level = float(ndtri((1 + level) / 2))
    rows: Rows = []
    for user_part in (candidate for candidate in parts if candidate.of == "users"):
        for part_users, all_users in zip(user_part.systems, systems, strict=True):
            for label, metric in metrics.items():
                pairs = [
                    (part_mean.mean_of(label), overall_mean.mean_of(label))
                    for part_mean, overall_mean in zip(part_users.groups, all_users.groups, strict=True)
                ]
                if all(overall_mean is None for _, overall_mean in pairs):  # a metric of all lists together
                    continue
                gap, resampled_gaps = _compute_gap(pairs, weights)
                error = float(resampled_gaps.std())
                p = float(2 * ndtr(-abs(gap) / error)) if error else float(gap == 0)
                ends = (gap - z_level * error, gap + z_level * error)
                better = (gap > 0) == metric.higher_is_better
                rows.append(
                    (user_part.slice, user_part.value, all_users.name, label, gap, *ends, p, None, better)
                )
    return _correct_table(rows, GAPS)


def _compute_gap(
    pairs: Sequence[tuple[ExactMean | None, ExactMean | None]], weights: NDArray[np.int64]
) -> tuple[float, Floats]:
    """The gap of a part's users from all other users, and the gaps of resamples of the groups."""
    from rankgate.measurement.metrics.judged_block import ExactMean

    means = [(part_mean or ExactMean(), overall_mean or ExactMean()) for part_mean, overall_mean in pairs]
    table = np.array(
        [
            (
                part_mean.sum,
                part_mean.count,
                overall_mean.sum - part_mean.sum,
                overall_mean.count - part_mean.count,
            )
            for part_mean, overall_mean in means
        ]
    )
    part_users = sum((part_mean for part_mean, _ in means), ExactMean())
    all_users = sum((overall_mean for _, overall_mean in means), ExactMean())
    other_users = ExactMean(all_users.total - part_users.total, all_users.weight - part_users.weight)
    sums = weights @ table
    with np.errstate(invalid="ignore", divide="ignore"):
        resampled_gaps = sums[:, 0] / sums[:, 1] - sums[:, 2] / sums[:, 3]
    return part_users.value - other_users.value, resampled_gaps


def _correct_table(rows: Rows, schema: Schema) -> pl.DataFrame:
    """Rows as a table, p corrected over each slice."""
    corrected_rows = pl.DataFrame(rows, schema=dict(schema), orient="row").fill_nan(None)
    slices = corrected_rows.partition_by("slice", maintain_order=True)
    return pl.concat([pl.DataFrame(schema=dict(schema)), *map(correct_p_values, slices)])


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
    partitions, 32 or more: value ± z · sd of the resamples, at most `RESAMPLES` of them,
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
    tables = SliceTables.read(slices, users, table, trained=train is not None)
    empty = Accumulator(metrics, convention, measured_by, item_parts=tables.by_items, open_catalogue=True)
    ranking_metrics = [metric for metric in metrics if not _is_list_metric(metric)]
    work = prepare(collection, named_runs(runs), ranking_metrics or ["RR"], convention, least=GROUPS)
    accuracy = None
    if ranking_metrics:
        accuracy = Accumulator(ranking_metrics, convention, Collection(items=Items(table, category=category)))

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
        unknown_items = [pl.read_ipc_stream(result.unknown) for result in results[0] if result.unknown]
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
    """The scorecard from the results of all groups of users, and of the parts of slices."""
    from rankgate.measurement.stats.multiple_comparisons import correct

    level, resamples, seed = drawing
    weights = np.random.default_rng(seed).poisson(1.0, (resamples, len(results[0])))
    metrics = metrics_of(task.empty[0])

    def pooled(part_index: int) -> list[PooledSystem]:
        return [
            PooledSystem.from_groups(
                name,
                [_restore(task.empty[part_index], result.states[part_index]) for result in run_results],
                weights,
            )
            for name, run_results in zip(work.names, results, strict=True)
        ]

    systems = pooled(0)
    rows, differences = figure_rows(systems, metrics, level)
    raw = np.array([row[5] for row in differences], np.float64)
    p_values = correct(raw, "holm") if differences else raw
    differences = [(*row[:6], float(p), row[7]) for row, p in zip(differences, p_values, strict=True)]
    part_sizes = np.sum([result.sizes for result in results[0]], axis=0).tolist()
    parts = []
    part_index = 0
    for card_slice in task.slices:
        for value_index, value in enumerate(card_slice.parts):
            size = card_slice.size(value_index, part_sizes[part_index])
            part_index += 1
            if size or card_slice.part_kind == "items":
                part_metrics = metrics_of(task.empty[part_index])
                parts.append(
                    PooledPart(
                        card_slice.name, card_slice.part_kind, value, size, part_metrics, pooled(part_index)
                    )
                )
    means = {system.name: [system.values[label] for label in metrics] for system in systems}
    dominator_of_system = dominators(means, [metric.higher_is_better for metric in metrics.values()])
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
            (name, dominator) for name, dominator in dominator_of_system.items() if dominator is not None
        ),
        users=systems[0].users,
        catalogue=task.empty[0].catalogue_size,
        candidates="",
        level=level,
        resamples=resamples,
        seed=seed,
        warnings=tuple(text for system in systems for text in with_run_name(system.name, system.cautions)),
    )


def _restore(empty: Accumulator, state: Mapping[str, Any]) -> Accumulator:
    """An accumulator with a saved state."""
    accumulator = copy(empty)
    accumulator.merge(state)
    return accumulator
