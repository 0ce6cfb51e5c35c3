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
from rankgate.data.logs.candidates import sampling_mark
from rankgate.measurement.evaluation.lists.builder import ListBuilder
from rankgate.measurement.evaluation.lists.parts import relevant_judgments
from rankgate.measurement.evaluation.rankings import read_named_runs
from rankgate.measurement.evaluation.training import restrict_run
from rankgate.measurement.metrics.lists.declare import split_list_metrics
from rankgate.measurement.metrics.views import SUBTOPICS
from rankgate.measurement.scoring.alignment.judgments import JudgmentIndex
from rankgate.measurement.scoring.alignment.subtopics import judge_by_category, with_subtopics
from rankgate.measurement.scoring.catalogue import find_positions
from rankgate.measurement.scoring.facts import zeros_relevant
from rankgate.measurement.scoring.job import Job
from rankgate.measurement.scoring.lists import measure_lists
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
class ScorecardSystems:
    """Systems over the same users and items.

    Attributes:
        index: the relevance judgments, indexed for scoring.
        topics: the judgments by subtopic: as judged, or by the categories of items.
        runs: the run of every system, with the allowed items only.
        lists: the first documents of each list, of every system.
        catalogue: users and items, with facts about them.
        builder: the reader of lists.
        unjudged: of every system the users without judgments that it serves; their lists count in
            metrics of lists, unless only judged users are looked at.
        catalogue_facts: the number of items, and if the user states them.
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
    ) -> ScorecardSystems:
        """Read all inputs.

        Raises:
            InputError: data that cannot be read.
            UsageError: no run, a column that is not there.
        """
        rankings, of_lists = split_list_metrics(metrics)
        builder = ListBuilder.of(of_lists, how, collection, history=True)
        topics = collection.qrels(subtopics=True)
        index = JudgmentIndex.of(topics.by_document())
        item_table = builder.tables.items
        if item_table and collection.items.category and not topics.by_subtopic:
            topics = judge_by_category(
                index.qrels, item_table.ids, item_table.words(collection.items.category)
            )
        systems = read_named_runs(collection.run_source(runs))
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
            builder.tables.mark or sampling_mark(topics.name),
            zeros_relevant(jobs, index),
        )

    @property
    def judgments(self) -> Qrels:
        """The judgments as a table."""
        return self.index.qrels

    @property
    def how(self) -> Convention:
        """The convention."""
        return self.builder.how

    @property
    def judged(self) -> NDArray[np.bool_]:
        """(T,) True for users with judgments."""
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
        cards = []
        for run, item_lists in zip(self.runs, self.lists, strict=True):
            step(run.name)
            cards.append(self._card(run, item_lists, metrics, self.index))
        return cards

    @property
    def repeated(self) -> NDArray[np.bool_] | None:
        """The judgments whose pair of user and item training has; None without training."""
        train, table = self.builder.train, self.judgments.table
        return None if train is None else train.met.has(table["query_id"], table["doc_id"])

    def about(self, segment: Segment, metrics: Mapping[str, Metric]) -> list[Card]:
        """The accuracy of every system in a part of the items or of the pairs.

        Of items only those of the part are relevant, and users to whom none of them is relevant
        have no value. Of pairs, judgments and lists have those of the part only.
        """
        runs = self.runs
        if segment.of == "pairs":
            table = self.judgments.table.filter(pl.Series(segment.mask))
            users = table["query_id"].unique()
            served = pl.DataFrame({"query_id": users, "state": ["zero"] * len(users)})
            runs = tuple(self._of_history(run, segment.value, served) for run in runs)
            part_judgments = (
                None if table.is_empty() else replace(self.judgments, table=table, unjudged=())
            )
        else:
            ids = self.catalogue.items.filter(pl.Series(segment.mask))
            part_judgments = relevant_judgments(self.judgments, ids)
        accuracy, _ = split_list_metrics(metrics)
        index = None if part_judgments is None else JudgmentIndex.of(part_judgments)
        return [
            self._card(run, item_lists, accuracy, index)
            for run, item_lists in zip(runs, self.lists, strict=True)
        ]

    def _of_history(self, run: Run, value: str, served: pl.DataFrame) -> Run:
        """A run with only the pairs that training has, or lacks; a user may have none left."""
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
        self,
        run: Run,
        item_lists: Listed,
        metrics: Mapping[str, Metric],
        index: JudgmentIndex | None,
    ) -> Card:
        """The values of one system, under marked labels."""
        accuracy, lists = split_list_metrics(metrics)
        measured = measure_lists(lists, item_lists)
        mean_and_values = self._accuracy(run, accuracy, index)
        means = measured.numbers | {label: mean for label, (mean, _) in mean_and_values.items()}
        values = measured.values | {
            label: user_values for label, (_, user_values) in mean_and_values.items()
        }
        return Card(
            run.name,
            {self._marked(label): values[label] for label in metrics if label in values},
            {self._marked(label): means[label] for label in metrics},
            item_lists,
        )

    def _accuracy(
        self, run: Run, metrics: Mapping[str, Metric], index: JudgmentIndex | None
    ) -> dict[str, tuple[float, Floats]]:
        """The mean of each metric and the value of each user, NaN if there is none."""
        users = len(self.catalogue.queries)
        mean_and_values = {label: (np.nan, np.full(users, np.nan)) for label in metrics}
        if not metrics or index is None:
            return mean_and_values
        if any(metric.view == SUBTOPICS for metric in metrics.values()):
            index = with_subtopics(index, self.topics)
        scores = score(index, run, list(metrics.items()), self.how)
        rows = find_positions(scores.query_ids, self.catalogue.queries)
        for label, (_, values) in mean_and_values.items():
            values[rows] = scores.values[label]
        return {
            label: (scores.means[label], values) for label, (_, values) in mean_and_values.items()
        }


def _unjudged(run: Run, index: JudgmentIndex) -> pl.Series:
    """The users of a run, with or without lists, who have no judgments."""
    user_ids = [pl.Series("query_id", [], dtype=pl.String)]
    user_ids += [piece["query_id"].unique() for piece in run.pieces()]
    user_ids += [] if run.queries is None else [run.queries["query_id"]]
    users = pl.concat(user_ids).unique()
    return users.filter(pl.Series(index.codes(users) < 0))
