"""Accumulate an evaluation over batches or machines, in any order."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from dataclasses import astuple, dataclass, field, fields, replace
from operator import add
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.data import Run
from rankgate.data.collection import Collection
from rankgate.data.foreign_frames import rename_columns
from rankgate.data.run_scores import Counts
from rankgate.data.table_rows import hash_table
from rankgate.measurement.evaluation.lists.list_builder import ListBuilder, all_users, judged_items
from rankgate.measurement.evaluation.metric_selection import find_metrics, is_of_lists, refuse_tasks
from rankgate.measurement.evaluation.rankings import measure_run, read_rankings
from rankgate.measurement.metrics.facet_metrics import FACET_METRICS
from rankgate.measurement.metrics.judged_block import ExactMean
from rankgate.measurement.metrics.lists import Sums
from rankgate.measurement.metrics.lists.list_metric import PartialResult, final_value, merge_partials
from rankgate.measurement.metrics.metric_declaration import SUBTOPICS
from rankgate.measurement.metrics.metric_name_parser import DEFAULT_METRICS
from rankgate.measurement.scoring.alignment.judgment_index import JudgmentIndex
from rankgate.measurement.scoring.alignment.kernel_inputs import (
    categories_of,
    judge_by_categories,
    with_known_subtopics,
    with_subtopics,
)
from rankgate.measurement.scoring.presets import chosen_convention
from rankgate.measurement.scoring.scoring_facts import BatchCautions
from rankgate.measurement.scoring.scoring_job import Job, mean_of_parts
from rankgate.measurement.scoring.scoring_plan import ListBlock, Measurement, Plan

if TYPE_CHECKING:
    from rankgate.data import RunScores
    from rankgate.data.input_types import QrelsLike, RunLike
    from rankgate.measurement.evaluation.lists.list_builder import TopLists
    from rankgate.measurement.evaluation.rankings import Rankings
    from rankgate.measurement.metrics.metric_declaration import Metric
    from rankgate.measurement.scoring import Convention
    from rankgate.measurement.scoring.item_catalogue import Catalogue


SUMMED_COUNTS = (
    "queries",
    "missing",
    "zero_result",
    "without_relevant",
    "unknown_queries",
    "ties_broken",
    "unrated",
)
"""The counts of `Counts` that add up over users."""


@dataclass
class BatchTotals:
    """Totals of all batches so far.

    Attributes:
        counts: the counts by name, as in `Counts`.
        means: the exact sum and the number of queries with a hit, by metric of rankings.
        judged_at: the share of judged documents, by cutoff.
        lists: the metrics of lists by label, in their order; None before the first batch.
        cautions: warnings about the judgments and the run.
    """

    counts: dict[str, int] = field(default_factory=lambda: dict.fromkeys(SUMMED_COUNTS, 0))
    means: dict[str, tuple[ExactMean, int]] = field(default_factory=dict)
    judged_at: dict[int, ExactMean] = field(default_factory=dict)
    lists: list[Any] | None = None
    cautions: BatchCautions = field(default_factory=BatchCautions)

    def added(self, other: BatchTotals) -> BatchTotals:
        """Add two totals."""
        lists = self.lists if other.lists is None else other.lists
        if self.lists is not None and other.lists is not None:
            lists = [
                merge_partials(first, second) for first, second in zip(self.lists, other.lists, strict=True)
            ]
        return BatchTotals(
            {name: self.counts[name] + other.counts[name] for name in SUMMED_COUNTS},
            merge_mappings(self.means, other.means, add_mean),
            merge_mappings(self.judged_at, other.judged_at, add),
            lists,
            self.cautions + other.cautions,
        )


def totals_from_scores(scores: RunScores) -> BatchTotals:
    """The totals of scores that were computed with ``exact``."""
    counts = {name: getattr(scores.counts, name) for name in SUMMED_COUNTS}
    parts = scores.parts
    lists = None if parts.lists is None else list(parts.lists)
    cautions = BatchCautions.combine(scores)
    return BatchTotals(counts, dict(parts.means), dict(parts.judged_at), lists, cautions)


def merge_mappings(
    left: Mapping[Any, Any], right: Mapping[Any, Any], combine: Callable[[Any, Any], Any]
) -> dict[Any, Any]:
    """Merge two mappings, and combine the values of shared keys."""
    return {**left, **right, **{name: combine(left[name], right[name]) for name in left if name in right}}


def add_mean(left: tuple[ExactMean, int], right: tuple[ExactMean, int]) -> tuple[ExactMean, int]:
    """Add two means of a metric, with the numbers of queries with a hit."""
    return left[0] + right[0], left[1] + right[1]


def part_to_plain(list_part: PartialResult) -> Any:  # noqa: ANN401 - of a metric of lists
    """Convert a part to plain values."""
    if isinstance(list_part, Sums):
        return {exact_mean.name: getattr(list_part, exact_mean.name) for exact_mean in fields(list_part)}
    return [list(astuple(exact_mean)) for exact_mean in list_part]


def part_from_plain(plain: Any) -> PartialResult:  # noqa: ANN401 - as above
    """Restore a part from `part_to_plain`."""
    if isinstance(plain, Mapping):
        return Sums(**plain)
    return tuple(ExactMean(*numbers) for numbers in plain)


SCHEMA_VERSION = 4
NOTHING = Collection()
"""Only judgments and runs are known."""

_NOBODY = pl.DataFrame(schema={"query_id": pl.String, "state": pl.String})


class Accumulator:
    """Metrics over batches of users; only sums and counts are kept.

    A batch is judgments and rankings of some whole users, in any form that `evaluate` takes. In
    in any order of batches and merges, the numbers are the same to the bit,
    and those of one pass to rounding. A user who comes in two batches counts as two; rows of
    matrices without names are users of their own batch.

    >>> from rankgate.data.collection import Items
    >>> shop = Collection(items=Items(catalogue=4))
    >>> pooled = Accumulator(["RR", "Coverage@1"], collection=shop)
    >>> pooled.update({"u": ["0"]}, {"u": ["1", "0"]})
    >>> other = Accumulator(["RR", "Coverage@1"], collection=shop)
    >>> other.update({"v": ["3"]}, {"v": ["3", "2"]})
    >>> pooled.merge(other)
    >>> pooled.result()
    {'RR': 0.75, 'Coverage@1': 0.5}
    >>> pooled.counts.queries
    2
    """

    def __init__(
        self,
        metrics: str | Metric | Sequence[str | Metric] = DEFAULT_METRICS,
        convention: str | Convention = "trec",
        collection: Collection = NOTHING,
        *,
        open_catalogue: bool = False,
    ) -> None:
        """Set what to compute; arguments as in `evaluate`, with a collection without judgments.

        Metrics of lists need all items in advance: from the catalogue, the training data or the
        table of items.
        With ``open_catalogue`` items may be added before the first batch (`with_items`).

        Raises:
            InputError: a table cannot be read.
            UsageError: a metric or convention is unknown, or metrics of lists have no items.
        """
        self._how = chosen_convention(convention)
        self._metrics = find_metrics(metrics, self._how, FACET_METRICS)
        refuse_tasks(self._metrics)
        self._collection = collection
        list_metrics = {label: metric for label, metric in self._metrics if is_of_lists(metric)}
        self._builder = ListBuilder.from_collection(list_metrics, self._how, collection)
        self._plan = Plan.from_conventions(self._metrics, [self._how])
        self._catalogue = self._builder.base() if list_metrics else None
        has_items = self._catalogue is None or open_catalogue or len(self._catalogue.items)
        if not has_items:
            message = (
                "metrics of lists need all items in advance; give the catalogue, training or a table of "
                "items."
            )
            raise UsageError(message, code="missing-input")
        tables, self._is_stated = self._builder.tables, self._builder.stated_items is not None
        self._categories = None
        if self._subtopics and tables.items is not None and collection.items.category:
            item_categories = tables.items.description(collection.items.category)
            self._categories = categories_of(tables.items.ids, item_categories)
        self._builder.tables = replace(tables, items=None, users=None)  # the catalogue has it
        self._seen = BatchTotals()

    def with_items(self, ids: pl.Series) -> Accumulator:
        """Copy the accumulator with more items in `catalogue`, before any batch.

        Args:
            ids: the ids of the items, such as those of `unknown_items`.
        """
        assert self._catalogue is not None
        accumulator = copy(self)
        accumulator._catalogue, accumulator._seen = self._catalogue.with_items(ids), BatchTotals()  # noqa: SLF001 - of this class
        return accumulator

    @property
    def metrics(self) -> tuple[str, ...]:
        """The metrics, as they were written."""
        return tuple(label for label, _ in self._metrics)

    @property
    def catalogue(self) -> Catalogue | None:
        """All items, without users; None where neither metrics nor parts need them."""
        return self._catalogue

    @property
    def catalogue_size(self) -> int:
        """The number of items; 0 without metrics of lists."""
        return 0 if self._catalogue is None else len(self._catalogue.items)

    @property
    def counts(self) -> Counts:
        """The counts behind the numbers so far."""
        judged = {k: share.value for k, share in sorted(self._seen.judged_at.items())}
        cautions = self._seen.cautions.of_run
        return Counts(judged_at=judged, cautions=cautions, **self._seen.counts)  # type: ignore[arg-type]

    def update(self, qrels: QrelsLike, run: RunLike) -> None:
        """Add a batch; if it is refused, no part of it is added.

        Args:
            qrels: the judgments of its users.
            run: their rankings.

        Raises:
            InputError: data that cannot be read; a judged item that is not in a catalogue that is
                not stated.
            UsageError: a metric of lists needs what was not given.
        """
        judged, rankings = self._read(qrels, run)
        train = self._builder.leaving
        total, source = measure_run(judged, rankings, self._plan, train, strict=False)
        if self._catalogue is not None:
            block = self._block(self._catalogue, judged, rankings)
            list_values = block.measure(self._plan.lists)
            total = total.merge(Measurement(self._plan, lists=list_values))
        scores = total.score(0, source, strict=False, exact=True)
        self._seen = self._seen.added(totals_from_scores(scores))

    def unknown_items(self, qrels: QrelsLike, run: RunLike) -> pl.Series:
        """The items that a batch adds to a catalogue that is not stated: judged ones, and columns.

        Args:
            qrels: the judgments of its users.
            run: their rankings.

        Raises:
            InputError: data that cannot be read.
        """
        judged, rankings = self._read(qrels, run)
        if self._catalogue is None:
            return pl.Series("doc_id", [], dtype=pl.String)
        return self._unknown(self._catalogue, judged, self._builder.top(judged, rankings))

    def merge(self, other: Accumulator | Mapping[str, Any]) -> None:
        """Add what another has seen.

        Args:
            other: an accumulator of the same metrics, convention and catalogue, or its `state`.

        Raises:
            UsageError: it has others.
        """
        other_state = other.state() if isinstance(other, Accumulator) else other
        own_kind = self._kind()
        for name, setting in own_kind.items():
            if other_state.get(name) != setting:
                word = name.replace("_", " ")
                raise UsageError(
                    f"the accumulators differ in {word}; merge accumulators of the same kind.",
                    code="accumulators-differ",
                )
        lists = other_state["lists"]
        if lists is not None:
            lists = [part_from_plain(list_part) for list_part in lists]
        means = {
            label: (ExactMean(*numbers[:3]), numbers[3]) for label, numbers in other_state["means"].items()
        }
        judged_at = {k: ExactMean(*numbers) for k, numbers in other_state["judged_at"].items()}
        cautions = BatchCautions(**other_state["cautions"])
        added_totals = BatchTotals(dict(other_state["counts"]), means, judged_at, lists, cautions)
        self._seen = self._seen.added(added_totals)

    def state(self) -> dict[str, Any]:
        """The totals as plain values: text, whole numbers and arrays, to be sent and merged."""
        lists = self._seen.lists
        if lists is not None:
            lists = [part_to_plain(list_part) for list_part in lists]
        return {
            **self._kind(),
            "counts": dict(self._seen.counts),
            "means": {label: [*astuple(mean), hits] for label, (mean, hits) in self._seen.means.items()},
            "judged_at": {k: list(astuple(mean)) for k, mean in self._seen.judged_at.items()},
            "lists": lists,
            "cautions": vars(self._seen.cautions),
        }

    def result(self) -> dict[str, float]:
        """The number of each metric; NaN where nothing was seen that has one."""
        lists = dict(zip(self._plan.lists, self._seen.lists or (), strict=False))
        numbers = {}
        for label, metric in self._metrics:
            numbers[label] = float("nan")
            if label in lists:
                numbers[label] = final_value(self._plan.lists[label], lists[label])
            elif (mean_and_hits := self._seen.means.get(label)) is not None:
                job = Job.from_convention(label, metric, self._how)
                unknown = self._seen.counts["unknown_queries"]
                mean, hits = mean_and_hits
                numbers[label] = mean_of_parts(np.array([mean.sum, mean.count, hits]), job, unknown)
        return numbers

    def _kind(self) -> dict[str, Any]:
        """The settings that must be equal in merged accumulators."""
        base = self._catalogue
        catalogue_hash = "" if base is None else hash_table(base.items.to_frame("doc_id"))
        return {
            "schema_version": SCHEMA_VERSION,
            "metrics": [f"{label}: {metric}" for label, metric in self._metrics],
            "convention": self._how.hash,
            "catalogue": catalogue_hash,
        }

    @property
    def _subtopics(self) -> bool:
        return any(metric.view == SUBTOPICS for _, metric in self._metrics)

    def _read(self, qrels: QrelsLike, run: RunLike) -> tuple[JudgmentIndex, Rankings]:
        """Read the rankings of a batch."""
        judged = JudgmentIndex.read(
            rename_columns(qrels, self._collection.frame_columns), subtopics=self._subtopics
        )
        if self._subtopics and len(judged.query_ids):
            judged = self._with_subtopics(judged, judged)
        rankings = read_rankings(rename_columns(run, self._collection.frame_columns), "run")
        if isinstance(rankings, Run) and rankings.queries is None:
            rankings = replace(rankings, queries=_NOBODY)  # a batch may have no rankings left
        return judged, judged.ranked(rankings)

    def _with_subtopics(self, index: JudgmentIndex, judged: JudgmentIndex) -> JudgmentIndex:
        """Add subtopics to judgments of a batch: as judged, or the categories of items."""
        if self._categories is None or judged.by_subtopic.by_subtopic:
            return with_subtopics(index, judged.by_subtopic)
        return with_known_subtopics(index, judge_by_categories(judged.qrels, self._categories))

    def _block(self, base: Catalogue, judged: JudgmentIndex, run: Rankings) -> ListBlock:
        """The lists of a batch."""
        top = self._builder.top(judged, run)
        for item in self._unknown(base, judged, top).head(1):
            problem = (
                f"item '{item}' is not in the catalogue; give all items there are, or begin with "
                "open_catalogue=True and add those of unknown_items."
            )
            raise InputError(problem, source=judged.name, code="unknown-item")
        catalogue = self._builder.of_batch(base, judged, all_users(judged, [top]))
        top = top.of_users(catalogue.queries)
        lists = self._builder.listed(catalogue, judged, run, top)
        self._builder.refuse_lacking(lists)
        return ListBlock(lists, catalogue.queries)

    def _unknown(self, base: Catalogue, judged: JudgmentIndex, top: TopLists) -> pl.Series:
        """The items that a catalogue lacks and one pass over all batches would have."""
        if self._is_stated:
            return pl.Series("doc_id", [], dtype=pl.String)
        items = self._builder.items(judged_items(judged), *([top.names] if top.every else []))
        return items.filter(~items.is_in(base.items.implode()))
