"""Accumulate an evaluation over batches or machines, in any order."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from copy import copy
from dataclasses import astuple, replace
from functools import reduce
from itertools import chain, repeat
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.data import Run
from rankgate.data.collection import Collection
from rankgate.data.columns import renamed
from rankgate.data.digest import digest
from rankgate.data.scores import Counts
from rankgate.measurement.evaluation.batch_totals import BatchTotals, part_from, plain, totals_of
from rankgate.measurement.evaluation.evaluate import is_of_lists, known_metrics
from rankgate.measurement.evaluation.lists.builder import ListBuilder
from rankgate.measurement.evaluation.lists.known_items import everyone, judged_items
from rankgate.measurement.evaluation.lists.parts import relevant_among, within
from rankgate.measurement.evaluation.rankings import measured_run, rankings_of
from rankgate.measurement.evaluation.sequences.asked import refuse_tasks
from rankgate.measurement.metrics.exact import ExactMean
from rankgate.measurement.metrics.lists import Sums
from rankgate.measurement.metrics.lists.accumulate import number_of
from rankgate.measurement.metrics.names import DEFAULT_METRICS
from rankgate.measurement.metrics.subtopics import FACET_METRICS
from rankgate.measurement.metrics.views import SUBTOPICS
from rankgate.measurement.scoring.alignment.judgments import JudgmentIndex
from rankgate.measurement.scoring.alignment.subtopics import (
    by_categories,
    categories_of,
    with_known_subtopics,
    with_subtopics,
)
from rankgate.measurement.scoring.chosen import chosen_convention
from rankgate.measurement.scoring.input_cautions import BatchCautions
from rankgate.measurement.scoring.job import Job
from rankgate.measurement.scoring.list_values import ListBlock
from rankgate.measurement.scoring.mean import of_parts
from rankgate.measurement.scoring.plan import Measurement, Plan

if TYPE_CHECKING:
    from rankgate.data.inputs import QrelsLike, RunLike
    from rankgate.data.logs.user_items import Meetings
    from rankgate.measurement.evaluation.lists.top import TopLists
    from rankgate.measurement.evaluation.rankings import Rankings
    from rankgate.measurement.metrics.declare import Metric
    from rankgate.measurement.metrics.lists.listed import Flags
    from rankgate.measurement.scoring import Convention
    from rankgate.measurement.scoring.catalogue import Catalogue

SCHEMA_VERSION = 4
NOTHING = Collection()
"""Nothing is known besides judgments and runs."""

_NOBODY = pl.DataFrame(schema={"query_id": pl.String, "state": pl.String})


class Accumulator:
    """Metrics over batches of users, of which nothing is kept but what adds up.

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
        item_parts: bool = False,
        open_catalogue: bool = False,
    ) -> None:
        """Say what is computed; arguments as of `evaluate`, the collection without judgments.

        Metrics of lists need all items beforehand: from the catalogue, training or the table of
        items. So do parts of the items (`of_items`), which ``item_parts`` announces. With
        ``open_catalogue`` items may be added before the first batch (`with_items`).

        Raises:
            InputError: a table that cannot be read.
            UsageError: an unknown metric or convention; metrics of lists without their items.
        """
        self._how = chosen_convention(convention)
        self._metrics = known_metrics(metrics, self._how, FACET_METRICS)
        refuse_tasks(self._metrics)
        self._collection = collection
        whole = {label: each for label, each in self._metrics if is_of_lists(each)}
        self._builder = ListBuilder.of(whole, self._how, collection)
        self._plan = Plan.of(self._metrics, [self._how])
        self._catalogue = self._builder.base() if whole or item_parts else None
        known = self._catalogue is None or open_catalogue or len(self._catalogue.items)
        if not known:
            what = "metrics of lists" if whole else "slices of items"
            words = (
                f"{what} need all items beforehand; give the catalogue, training or a table of "
                "items."
            )
            raise UsageError(words, code="missing-input")
        read = self._builder.tables
        self._categories = None
        if self._subtopics and read.items is not None and collection.items.category:
            of = read.items.words(collection.items.category)
            self._categories = categories_of(read.items.ids, of)
        self._builder.tables = replace(read, items=None, users=None)  # the catalogue has it
        self._kept: Flags | None = None
        self._seen = BatchTotals()

    def with_items(self, ids: pl.Series) -> Accumulator:
        """The same with more items in `catalogue`; nothing has been seen yet.

        Args:
            ids: of the items, such as those of `unknown_items`.
        """
        assert self._catalogue is not None
        found = copy(self)
        found._catalogue, found._seen = self._catalogue.with_items(ids), BatchTotals()  # noqa: SLF001 - of this class
        return found

    def of_items(self, kept: Flags) -> Accumulator:
        """The same for a part of the items, as the slices of a scorecard measure it.

        Only its items are relevant, and users to whom none of them is have no accuracy; lists are
        cut first, and have its items only.

        Args:
            kept: ``(I,)``, which items of `catalogue` there are.
        """
        found = copy(self)
        found._kept, found._seen = kept, BatchTotals()  # noqa: SLF001 - of this class
        return found

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
        """How many items there are; 0 without metrics of lists."""
        return 0 if self._catalogue is None else len(self._catalogue.items)

    @property
    def categories(self) -> pl.DataFrame | None:
        """Of each item its categories, where they are subtopics; None without such metrics."""
        return self._categories

    @property
    def train(self) -> Meetings | None:
        """Who met which item in training, if it is given."""
        return None if self._builder.train is None else self._builder.train.met

    @property
    def counts(self) -> Counts:
        """The counts behind the numbers so far."""
        judged = {k: part.value for k, part in sorted(self._seen.judged_at.items())}
        cautions = self._seen.cautions.of_run
        return Counts(judged_at=judged, cautions=cautions, **self._seen.counts)  # type: ignore[arg-type]

    def update(self, qrels: QrelsLike, run: RunLike) -> None:
        """Add a batch; if it is refused, nothing of it is added.

        Args:
            qrels: the judgments of its users.
            run: their rankings.

        Raises:
            InputError: data that cannot be read; a judged item, or one in a list, that is not in
                the catalogue.
            UsageError: a metric of lists needs what was not given.
        """
        judged, found = self._read(qrels, run)
        train = self._builder.leaving
        wanted = judged if self._kept is None else self._relevant(judged, self._kept)
        total, source = measured_run(wanted, found, self._plan, train, strict=False)
        if self._catalogue is not None:
            block = self._block(self._catalogue, judged, found)
            lists = self._plan.lists
            own = block.measure(lists) if self._kept is None else within(block, lists, self._kept)
            total = total.merge(Measurement(self._plan, lists=own))
        scores = total.score(0, source, strict=False, exact=True)
        self._seen = self._seen.added(totals_of(scores))

    def unknown_items(self, qrels: QrelsLike, run: RunLike) -> pl.Series:
        """The items of a batch that are judged or in lists, and not in the catalogue.

        Args:
            qrels: the judgments of its users.
            run: their rankings.

        Raises:
            InputError: data that cannot be read.
        """
        judged, found = self._read(qrels, run)
        if self._catalogue is None:
            return pl.Series("doc_id", [], dtype=pl.String)
        return _unknown(self._catalogue, judged, self._builder.top(judged, found))

    def merge(self, other: Accumulator | Mapping[str, Any]) -> None:
        """Add what another has seen.

        Args:
            other: an accumulator of the same metrics, convention and catalogue, or its `state`.

        Raises:
            UsageError: it has others.
        """
        found = other.state() if isinstance(other, Accumulator) else other
        mine = self._kind()
        for name, what in mine.items():
            if found.get(name) != what:
                word = name.replace("_", " ")
                raise UsageError(
                    f"the accumulators differ in {word}; merge accumulators of the same kind.",
                    code="accumulators-differ",
                )
        lists = found["lists"]
        if lists is not None:
            lists = [part_from(part) for part in lists]
        means = {label: (ExactMean(*part[:3]), part[3]) for label, part in found["means"].items()}
        judged_at = {k: ExactMean(*part) for k, part in found["judged_at"].items()}
        cautions = BatchCautions(**found["cautions"])
        fresh = BatchTotals(dict(found["counts"]), means, judged_at, lists, cautions)
        self._seen = self._seen.added(fresh)

    def pooled(self, parts: Sequence[Accumulator], times: Sequence[int]) -> Accumulator:
        """What accumulators of the same kind have seen, each so many times, as in a resample."""
        found = copy(self)
        again = (repeat(each._seen, n) for each, n in zip(parts, times, strict=True))  # noqa: SLF001 - of this class
        found._seen = reduce(BatchTotals.added, chain.from_iterable(again), BatchTotals())  # noqa: SLF001 - as above
        return found

    def mean_of(self, label: str) -> ExactMean | None:
        """The exact mean of a metric that is the mean of values of users; None of any other."""
        lists = dict(zip(self._plan.lists, self._seen.lists or (), strict=False))
        if label in lists:
            part = lists[label]
            mean = self._plan.lists[label].merge == "mean" and not isinstance(part, Sums)
            return part[0] if mean else None
        if dict(self._metrics)[label].aggregate != "mean" or label not in self._seen.means:
            return None
        return self._seen.means[label][0]

    def state(self) -> dict[str, Any]:
        """What was seen as plain values: words, whole numbers and arrays, to be sent and merged."""
        lists = self._seen.lists
        if lists is not None:
            lists = [plain(part) for part in lists]
        return {
            **self._kind(),
            "counts": dict(self._seen.counts),
            "means": {
                label: [*astuple(part), hits] for label, (part, hits) in self._seen.means.items()
            },
            "judged_at": {k: list(astuple(part)) for k, part in self._seen.judged_at.items()},
            "lists": lists,
            "cautions": self._seen.cautions.to_dict(),
        }

    def result(self) -> dict[str, float]:
        """The number of each metric; NaN where nothing was seen that has one."""
        lists = dict(zip(self._plan.lists, self._seen.lists or (), strict=False))
        found = {}
        for label, metric in self._metrics:
            found[label] = float("nan")
            if label in lists:
                found[label] = number_of(self._plan.lists[label], lists[label])
            elif (part := self._seen.means.get(label)) is not None:
                job = Job.of(label, metric, self._how)
                unknown = self._seen.counts["unknown_queries"]
                mean, hits = part
                found[label] = of_parts(np.array([mean.sum, mean.count, hits]), job, unknown)
        return found

    def _kind(self) -> dict[str, Any]:
        """What accumulators that are merged have in common."""
        base = self._catalogue
        items = "" if base is None else digest(base.items.to_frame("doc_id"))
        return {
            "schema_version": SCHEMA_VERSION,
            "metrics": [f"{label}: {metric}" for label, metric in self._metrics],
            "convention": self._how.hash,
            "catalogue": items,
        }

    @property
    def _subtopics(self) -> bool:
        return any(each.view == SUBTOPICS for _, each in self._metrics)

    def _read(self, qrels: QrelsLike, run: RunLike) -> tuple[JudgmentIndex, Rankings]:
        """A batch as it is measured."""
        judged = JudgmentIndex.read(
            renamed(qrels, self._collection.frame_columns), subtopics=self._subtopics
        )
        if self._subtopics and len(judged.query_ids):
            judged = self._with_subtopics(judged, judged)
        found = rankings_of(renamed(run, self._collection.frame_columns), "run")
        if isinstance(found, Run) and found.queries is None:
            found = replace(found, queries=_NOBODY)  # a batch may have no rankings left
        return judged, judged.ranked(found)

    def _with_subtopics(self, index: JudgmentIndex, judged: JudgmentIndex) -> JudgmentIndex:
        """Some judgments of a batch with subtopics: as judged, or the categories of items."""
        if self._categories is None or judged.by_subtopic.by_subtopic:
            return with_subtopics(index, judged.by_subtopic)
        return with_known_subtopics(index, by_categories(judged.qrels, self._categories))

    def _relevant(self, judged: JudgmentIndex, kept: Flags) -> JudgmentIndex:
        """The judgments of a batch where only the items of a part are relevant."""
        assert self._catalogue is not None
        some = relevant_among(judged.qrels, self._catalogue.items.filter(pl.Series(kept)))
        if some is None:
            return JudgmentIndex.without_queries(judged.name)
        index = JudgmentIndex.of(some)
        return index if judged.subtopics is None else self._with_subtopics(index, judged)

    def _block(self, base: Catalogue, judged: JudgmentIndex, run: Rankings) -> ListBlock:
        """The lists of a batch."""
        top = self._builder.top(judged, run)
        for item in _unknown(base, judged, top).head(1):
            problem = (
                f"item '{item}' is not in the catalogue; give all items there are, or begin with "
                "open_catalogue=True and add those of unknown_items."
            )
            place = run.name if item in top.shown else judged.name
            raise InputError(problem, source=place, code="unknown-item")
        catalogue = self._builder.of_batch(base, judged, everyone(judged, [top]))
        top = top.of_users(catalogue.queries)
        listed = self._builder.listed(catalogue, judged, run, top)
        self._builder.refuse_lacking(listed)
        return ListBlock(listed, catalogue.queries)


def _unknown(base: Catalogue, judged: JudgmentIndex, top: TopLists) -> pl.Series:
    """The judged items and those in lists that a catalogue lacks."""
    named = pl.concat([judged_items(judged).alias("doc_id"), top.shown.alias("doc_id")]).unique()
    return named.filter(~named.is_in(base.items.implode())).sort()
