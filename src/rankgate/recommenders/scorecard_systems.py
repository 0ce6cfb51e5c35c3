"""All systems of a scorecard over the same users and items, and their values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.progress import step
from rankgate.data.logs.candidates import mark_in
from rankgate.measurement.evaluation.lists.builder import ListBuilder
from rankgate.measurement.evaluation.lists.parts import relevant_among
from rankgate.measurement.evaluation.rankings import named_runs
from rankgate.measurement.evaluation.training import restrict_run
from rankgate.measurement.metrics.lists.declare import lists_apart
from rankgate.measurement.metrics.views import SUBTOPICS
from rankgate.measurement.scoring.alignment.judgments import JudgmentIndex
from rankgate.measurement.scoring.alignment.subtopics import by_category, with_subtopics
from rankgate.measurement.scoring.catalogue import places
from rankgate.measurement.scoring.facts import zeros_relevant
from rankgate.measurement.scoring.job import Job
from rankgate.measurement.scoring.lists import measured_lists
from rankgate.measurement.scoring.score import score
from rankgate.recommenders.scorecard_figures import Card
from rankgate.recommenders.scorecard_slices import REPEAT

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data import Qrels, Run
    from rankgate.data.collection import Collection
    from rankgate.data.inputs import RunsLike
    from rankgate.measurement.metrics.declare import Metric
    from rankgate.measurement.metrics.lists.listed import Listed
    from rankgate.measurement.scoring import Convention
    from rankgate.measurement.scoring.catalogue import Catalogue
    from rankgate.recommenders.scorecard_slices import Segment

    Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Systems:
    """Systems over the same users and items.

    Attributes:
        index: what is relevant to whom, laid out for scoring.
        topics: the same by subtopic: as judged, or by the categories of items.
        runs: of every system, with the items only that may be in lists.
        lists: of every system, the first of each list.
        catalogue: users and items, and what is known of them.
        builder: how lists are read.
        unjudged: of every system the users without judgments that it serves; their lists count in
            metrics of lists, unless only judged users are looked at.
        catalogue_facts: how many items there are, and whether the user states them.
        mark: of figures on sampled candidates, else empty.
        zeros: judgments of grade 0 that the convention's defaults count as relevant.
    """

    index: JudgmentIndex
    topics: Qrels
    runs: tuple[Run, ...]
    lists: tuple[Listed, ...]
    catalogue: Catalogue
    builder: ListBuilder
    unjudged: tuple[pl.Series, ...]
    catalogue_facts: Mapping[str, Any]
    mark: str
    zeros: int

    @classmethod
    def of(
        cls,
        collection: Collection,
        runs: RunsLike,
        how: Convention,
        metrics: Mapping[str, Metric],
    ) -> Systems:
        """Read everything.

        Raises:
            InputError: data that cannot be read.
            UsageError: no run, a column that is not there.
        """
        rankings, of_lists = lists_apart(metrics)
        builder = ListBuilder.of(of_lists, how, collection, history=True)
        topics = collection.qrels(subtopics=True)
        index = JudgmentIndex.of(topics.by_document())
        items = builder.tables.items
        if items and collection.items.category and not topics.by_subtopic:
            topics = by_category(index.qrels, items.ids, items.words(collection.items.category))
        systems = named_runs(collection.run_source(runs))
        if not systems:
            raise UsageError("no run to measure; give at least one.", code="missing-input")
        tops = [builder.top(index, run) for run in systems]
        ranked = [builder.ranked(run) for run in systems]
        catalogue = builder.joint_catalogue(index, tops)
        jobs = [Job.of(label, metric, how) for label, metric in rankings.items()]
        return cls(
            index,
            topics,
            tuple(ranked),
            tuple(
                builder.listed(catalogue, index, run, top)
                for run, top in zip(systems, tops, strict=True)
            ),
            catalogue,
            builder,
            tuple(_unjudged(run, index) for run in ranked),
            builder.facts(catalogue, index, tops),
            builder.tables.mark or mark_in(topics.name),
            zeros_relevant(jobs, index),
        )

    @property
    def judgments(self) -> Qrels:
        """What is relevant to whom, as a table."""
        return self.index.qrels

    @property
    def how(self) -> Convention:
        """The convention."""
        return self.builder.how

    @property
    def judged(self) -> NDArray[np.bool_]:
        """Which users have judgments, ``(T,)``."""
        judged = self.catalogue.judged
        return np.ones(len(self.catalogue.queries), bool) if judged is None else judged

    def marked(self, metrics: Mapping[str, Metric]) -> dict[str, Metric]:
        """The same metrics under labels that name sampled candidates."""
        return {self._marked(label): metric for label, metric in metrics.items()}

    def cards(
        self,
        metrics: Mapping[str, Metric],
    ) -> list[Card]:
        """The values of every system."""
        items = []
        for run, listed in zip(self.runs, self.lists, strict=True):
            step(run.name)
            items.append(self._card(run, listed, metrics, self.index))
        return items

    @property
    def repeated(self) -> NDArray[np.bool_] | None:
        """The judgments whose pair of user and item training has; None without training."""
        train, table = self.builder.train, self.judgments.table
        return None if train is None else train.met.has(table["query_id"], table["doc_id"])

    def about(self, part: Segment, metrics: Mapping[str, Metric]) -> list[Card]:
        """The accuracy of every system in a part of the items or of the pairs.

        Of items only those of the part are relevant, and users to whom none of them is relevant
        have no value. Of pairs, judgments and lists have those of the part only.
        """
        runs = self.runs
        if part.of == "pairs":
            table = self.judgments.table.filter(pl.Series(part.mask))
            users = table["query_id"].unique()
            served = pl.DataFrame({"query_id": users, "state": ["zero"] * len(users)})
            runs = tuple(self._of_history(run, part.value, served) for run in runs)
            some = None if table.is_empty() else replace(self.judgments, table=table, unjudged=())
        else:
            ids = self.catalogue.items.filter(pl.Series(part.mask))
            some = relevant_among(self.judgments, ids)
        accuracy, _ = lists_apart(metrics)
        index = None if some is None else JudgmentIndex.of(some)
        return [
            self._card(run, listed, accuracy, index)
            for run, listed in zip(runs, self.lists, strict=True)
        ]

    def _of_history(self, run: Run, value: str, served: pl.DataFrame) -> Run:
        """A run with the pairs only that training has, or has not; a user may have none left."""
        assert self.builder.train is not None
        return replace(
            restrict_run(run, self.builder.train.met, inside=value == REPEAT), queries=served
        )

    def values_of(self, label: str, metric: Metric) -> list[Floats]:
        """The values of one metric of accuracy of every system."""
        return [self._accuracy(run, {label: metric}, self.index)[label][1] for run in self.runs]

    def _marked(self, label: str) -> str:
        return f"{label} {self.mark}" if self.mark else label

    def _card(
        self, run: Run, listed: Listed, metrics: Mapping[str, Metric], index: JudgmentIndex | None
    ) -> Card:
        """One system's values, under marked labels."""
        accuracy, lists = lists_apart(metrics)
        measured = measured_lists(lists, listed)
        own = self._accuracy(run, accuracy, index)
        means = measured.numbers | {label: mean for label, (mean, _) in own.items()}
        values = measured.values | {label: found for label, (_, found) in own.items()}
        return Card(
            run.name,
            {self._marked(label): values[label] for label in metrics if label in values},
            {self._marked(label): means[label] for label in metrics},
            listed,
        )

    def _accuracy(
        self, run: Run, metrics: Mapping[str, Metric], index: JudgmentIndex | None
    ) -> dict[str, tuple[float, Floats]]:
        """The mean of each metric and the value of each user, NaN if there is none."""
        users = len(self.catalogue.queries)
        found = {label: (np.nan, np.full(users, np.nan)) for label in metrics}
        if not metrics or index is None:
            return found
        if any(metric.view == SUBTOPICS for metric in metrics.values()):
            index = with_subtopics(index, self.topics)
        scores = score(index, run, list(metrics.items()), self.how)
        rows = places(scores.query_ids, self.catalogue.queries)
        for label, (_, values) in found.items():
            values[rows] = scores.values[label]
        return {label: (scores.means[label], values) for label, (_, values) in found.items()}


def _unjudged(run: Run, index: JudgmentIndex) -> pl.Series:
    """The users of a run, served or not, of whom nothing is known to be relevant or not."""
    named = [pl.Series("query_id", [], dtype=pl.String)]
    named += [piece["query_id"].unique() for piece in run.pieces()]
    named += [] if run.queries is None else [run.queries["query_id"]]
    users = pl.concat(named).unique()
    return users.filter(pl.Series(index.codes(users) < 0))
