"""Systems of a scorecard, corrections for sampled candidates, and warnings.

All systems of a scorecard have the same users and items. Metrics on sampled candidates, estimated
for all items, are additional rows of a scorecard. Warnings are about omissions, leakage and missing
data.
"""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.number_formats import count_noun
from rankgate.core.progress import step
from rankgate.data.foreign_frames import require_runs
from rankgate.data.logs.splits import WARNING, sampling_mark
from rankgate.measurement.evaluation.lists.list_builder import ListBuilder
from rankgate.measurement.evaluation.lists.list_inputs import (
    add_place_facts,
    catalogue_notice,
    list_warnings,
    place_facts,
    zero_grades_notice,
)
from rankgate.measurement.evaluation.lists.list_resamples import relevant_judgments
from rankgate.measurement.evaluation.rankings import read_named_runs, restrict_run
from rankgate.measurement.metrics.lists.list_metric import split_list_metrics
from rankgate.measurement.metrics.metric_declaration import SUBTOPICS
from rankgate.measurement.metrics.ranking.reciprocal_rank import RR
from rankgate.measurement.metrics.sampled_ranks import OF_RANK, estimates
from rankgate.measurement.scoring.alignment.judgment_index import JudgmentIndex
from rankgate.measurement.scoring.alignment.kernel_inputs import judge_by_category, with_subtopics
from rankgate.measurement.scoring.first_items import measure_lists
from rankgate.measurement.scoring.item_catalogue import find_positions
from rankgate.measurement.scoring.run_sources import score
from rankgate.measurement.scoring.scoring_facts import zeros_relevant
from rankgate.measurement.scoring.scoring_job import Job
from rankgate.recommenders.scorecard_figures import Card
from rankgate.recommenders.scorecard_slices import HISTORY, REPEAT, slice_segments

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.core.arrays import Floats
    from rankgate.core.value_types import JsonObject
    from rankgate.data import Qrels, Run
    from rankgate.data.collection import Collection
    from rankgate.data.input_types import RunsLike
    from rankgate.data.logs.item_tables import DescribedTable
    from rankgate.measurement.evaluation.lists.list_builder import TopLists
    from rankgate.measurement.metrics.lists.list_input import Listed
    from rankgate.measurement.metrics.metric_declaration import Metric
    from rankgate.measurement.scoring import Convention
    from rankgate.measurement.scoring.item_catalogue import Catalogue
    from rankgate.recommenders.scorecard_slices import Segment


@dataclass(frozen=True)
class RunFacts:
    """Counts over the users of a run, for warnings; those of different users add up.

    Attributes:
        name: the run.
        unjudged: the number of users without judgments.
        places: the counts of `place_facts`.
        has_judged: True if a list has an item that is judged for its user.
    """

    name: str
    unjudged: int
    places: Mapping[str, Any]
    has_judged: bool

    def __add__(self, facts: RunFacts) -> RunFacts:
        """The counts over the users of both."""
        return RunFacts(
            self.name,
            self.unjudged + facts.unjudged,
            add_place_facts(self.places, facts.places),
            self.has_judged or facts.has_judged,
        )


@dataclass(frozen=True, kw_only=True)
class CardSystems(ABC):
    """Systems of a scorecard, on one machine or on Spark.

    Attributes:
        lists: the first documents of each list of every system.
        catalogue: users and items, with facts about them.
        builder: the reader of lists.
        catalogue_facts: the number of items, and true if the user states them.
        mark: the mark for figures on sampled candidates, or empty.
        zeros: the number of judgments of grade 0 that the convention's defaults count as relevant.
    """

    lists: tuple[Listed, ...]
    catalogue: Catalogue
    builder: ListBuilder
    catalogue_facts: Mapping[str, Any]
    mark: str
    zeros: int

    @property
    @abstractmethod
    def name(self) -> str:
        """The name of the judgments."""

    @property
    @abstractmethod
    def repeated_relevant(self) -> int:
        """The number of relevant items that their user has in training too."""

    @property
    @abstractmethod
    def users_without_relevant(self) -> int:
        """The number of judged users without a relevant item."""

    @abstractmethod
    def cards(self, metrics: Mapping[str, Metric]) -> list[Card]:
        """The values of every system."""

    @abstractmethod
    def segments(self, name: str) -> list[Segment]:
        """The parts of a slice; errors as of `slice_segments`."""

    @abstractmethod
    def accuracy_of_part(self, segment: Segment, metrics: Mapping[str, Metric]) -> list[Card]:
        """The accuracy of every system in a part of the items or pairs."""

    @abstractmethod
    def values_of(self, label: str, metric: Metric) -> list[Floats]:
        """The values of every system by one metric of accuracy."""

    @abstractmethod
    def run_facts(self) -> list[RunFacts]:
        """What warnings state of every run."""

    @property
    def convention(self) -> Convention:
        """The convention."""
        return self.builder.how

    @property
    def judged(self) -> NDArray[np.bool_]:
        """(T,) True for users with judgments."""
        judged = self.catalogue.judged
        return np.ones(len(self.catalogue.queries), bool) if judged is None else judged

    def marked(self, metrics: Mapping[str, Metric]) -> dict[str, Metric]:
        """The same metrics under labels that mention sampled candidates."""
        return {self.marked_label(label): metric for label, metric in metrics.items()}

    def marked_label(self, label: str) -> str:
        """A label that mentions sampled candidates, if figures are on them."""
        return f"{label} {self.mark}" if self.mark else label


@dataclass(frozen=True, kw_only=True)
class ScorecardSystems(CardSystems):
    """Systems with the same users and items.

    Attributes:
        index: the relevance judgments, indexed for scoring.
        topics: the judgments by subtopic: the judged subtopics, or the categories of items.
        runs: the run of every system, with only the allowed items.
        unjudged: the users without judgments in each system; their lists count in metrics of lists,
            unless only judged users are used.
        system_of_run: for a run that is one seed of a system, the name of the system.
    """

    index: JudgmentIndex
    topics: Qrels
    runs: tuple[Run, ...]
    unjudged: tuple[pl.Series, ...]
    system_of_run: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def read(
        cls, collection: Collection, runs: RunsLike, how: Convention, metrics: Mapping[str, Metric]
    ) -> ScorecardSystems:
        """Read all inputs.

        Raises:
            InputError: data cannot be read.
            UsageError: there is no run, or a column does not exist.
        """
        _, of_lists = split_list_metrics(metrics)
        builder = ListBuilder.from_collection(of_lists, how, collection, history=True)
        topics = collection.qrels(subtopics=True)
        index = JudgmentIndex.from_judgments(topics.by_document())
        systems = read_named_runs(collection.run_source(runs))
        require_runs(systems)
        seed_runs = {system.name: collection.seed_runs(system) for system in systems}
        ranked = [index.ranked(run) for seeds in seed_runs.values() for run in seeds]
        system_of_run = {run.name: name for name, seeds in seed_runs.items() for run in seeds}
        return replace(cls.from_runs(builder, topics, index, ranked, metrics), system_of_run=system_of_run)

    @classmethod
    def from_runs(
        cls,
        builder: ListBuilder,
        topics: Qrels,
        index: JudgmentIndex,
        systems: Sequence[Run],
        metrics: Mapping[str, Metric],
        catalogue_of: Callable[[ListBuilder, JudgmentIndex, Sequence[TopLists]], Catalogue] = (
            ListBuilder.joint_catalogue
        ),
    ) -> Self:
        """Form the lists of runs.

        Args:
            builder: the reader of lists.
            topics: the judgments, also by subtopic.
            index: the same judgments, indexed.
            systems: the runs.
            metrics: the metrics by label.
            catalogue_of: a function that gives the users with all items; by default the items of
                these tables.

        Raises:
            InputError: a run has an error.
        """
        item_table, category = builder.tables.items, builder.collection.items.category
        if item_table and category and not topics.by_subtopic:
            topics = judge_by_category(index.qrels, item_table.ids, item_table.description(category))
        tops = [builder.top(index, run) for run in systems]
        ranked = [builder.ranked(run) for run in systems]
        catalogue = catalogue_of(builder, index, tops)
        rankings, _ = split_list_metrics(metrics)
        jobs = [Job.from_convention(label, metric, builder.how) for label, metric in rankings.items()]
        return cls(
            lists=tuple(
                builder.listed(catalogue, index, run, top) for run, top in zip(systems, tops, strict=True)
            ),
            catalogue=catalogue,
            builder=builder,
            catalogue_facts=builder.facts(catalogue, index, tops),
            mark=builder.tables.mark or sampling_mark(topics.name),
            zeros=zeros_relevant(jobs, index),
            index=index,
            topics=topics,
            runs=tuple(ranked),
            unjudged=tuple(_users_without_judgments(run, index) for run in ranked),
        )

    @property
    def name(self) -> str:
        """The name of the judgments."""
        return self.judgments.name

    @property
    def judgments(self) -> Qrels:
        """The judgments as a table."""
        return self.index.qrels

    def cards(self, metrics: Mapping[str, Metric]) -> list[Card]:
        """The values of every system."""
        cards = []
        for run, item_lists in zip(self.runs, self.lists, strict=True):
            step(run.name)
            cards.append(self._card(run, item_lists, metrics, self.index))
        return cards

    @property
    def repeated(self) -> NDArray[np.bool_] | None:
        """True for judgments of pairs in training; None without training data."""
        train, table = self.builder.train, self.judgments.table
        return None if train is None else train.items_of_users.has(table["query_id"], table["doc_id"])

    def run_facts(self) -> list[RunFacts]:
        """What warnings state of every run."""
        return [
            RunFacts(
                self.system_of_run.get(run.name, run.name),
                len(unjudged),
                place_facts(item_lists),
                self.index.judges(run.pieces),
            )
            for run, item_lists, unjudged in zip(self.runs, self.lists, self.unjudged, strict=True)
        ]

    @property
    def repeated_relevant(self) -> int:
        """The number of relevant items that their user has in training too."""
        return 0 if self.repeated is None else int((self._is_relevant & self.repeated).sum())

    @property
    def users_without_relevant(self) -> int:
        """The number of judged users without a relevant item."""
        relevant = self.judgments.table.filter(pl.Series(self._is_relevant))
        return int(self.judged.sum()) - relevant["query_id"].n_unique()

    @property
    def _is_relevant(self) -> NDArray[np.bool_]:
        """True for judgments of a relevant item, which may be outside the catalogue."""
        return (self.judgments.table["grade"] >= 1).to_numpy()

    def segments(self, name: str) -> list[Segment]:
        """The parts of a slice; errors as of `slice_segments`."""
        repeated = self.repeated if name == HISTORY else None  # a look-up of all judgments
        return slice_segments(name, self.catalogue, self.builder.tables, repeated)

    def accuracy_of_part(self, segment: Segment, metrics: Mapping[str, Metric]) -> list[Card]:
        """The accuracy of every system in a part of the items or pairs; see `inputs_of_part`."""
        index, runs = self.inputs_of_part(segment)
        accuracy, _ = split_list_metrics(metrics)
        return [
            self._card(run, item_lists, accuracy, index)
            for run, item_lists in zip(runs, self.lists, strict=True)
        ]

    def inputs_of_part(self, segment: Segment) -> tuple[JudgmentIndex | None, tuple[Run, ...]]:
        """The judgments and the runs of a part of the items or pairs.

        For a part of items, only these items are relevant, and users without a relevant item have
        no value. For a part of pairs, judgments and lists have only these pairs.
        """
        runs = self.runs
        if segment.of == "pairs":
            table = self.judgments.table.filter(pl.Series(segment.mask))
            users = table["query_id"].unique()
            served = pl.DataFrame({"query_id": users, "state": ["zero"] * len(users)})
            runs = tuple(self._of_history(run, segment.value, served) for run in runs)
            part_judgments = None if table.is_empty() else replace(self.judgments, table=table, unjudged=())
        else:
            ids = self.catalogue.items.filter(pl.Series(segment.mask))
            part_judgments = relevant_judgments(self.judgments, ids)
        return None if part_judgments is None else JudgmentIndex.from_judgments(part_judgments), runs

    def _of_history(self, run: Run, value: str, served: pl.DataFrame) -> Run:
        """A run with only the pairs in training, or not in training; lists may become empty."""
        assert self.builder.train is not None
        return replace(
            restrict_run(run, self.builder.train.items_of_users, inside=value == REPEAT), queries=served
        )

    def values_of(self, label: str, metric: Metric) -> list[Floats]:
        """The values of every system by one metric of accuracy."""
        return [self._accuracy(run, {label: metric}, self.index)[label][1] for run in self.runs]

    def _card(
        self, run: Run, item_lists: Listed, metrics: Mapping[str, Metric], index: JudgmentIndex | None
    ) -> Card:
        """The values of one system, under marked labels."""
        accuracy, lists = split_list_metrics(metrics)
        measured = measure_lists(lists, item_lists)
        mean_and_values = self._accuracy(run, accuracy, index)
        means = measured.numbers | {label: mean for label, (mean, _) in mean_and_values.items()}
        values = measured.values | {label: user_values for label, (_, user_values) in mean_and_values.items()}
        return Card(
            run.name,
            {self.marked_label(label): values[label] for label in metrics if label in values},
            {self.marked_label(label): means[label] for label in metrics},
            item_lists,
            self.system_of_run.get(run.name, ""),
        )

    def _accuracy(
        self, run: Run, metrics: Mapping[str, Metric], index: JudgmentIndex | None
    ) -> dict[str, tuple[float, Floats]]:
        """The mean of each metric and the value of each user, NaN for a user without a value."""
        users = len(self.catalogue.queries)
        mean_and_values = {label: (np.nan, np.full(users, np.nan)) for label in metrics}
        if not metrics or index is None:
            return mean_and_values
        if any(metric.view == SUBTOPICS for metric in metrics.values()):
            index = with_subtopics(index, self.topics)
        scores = score(index, run, list(metrics.items()), self.convention)
        rows = find_positions(scores.query_ids, self.catalogue.queries)
        for label, (_, values) in mean_and_values.items():
            values[rows] = scores.values[label]
        return {label: (scores.means[label], values) for label, (_, values) in mean_and_values.items()}


def _users_without_judgments(run: Run, index: JudgmentIndex) -> pl.Series:
    """The users of a run, with or without lists, who have no judgments."""
    user_ids = [pl.Series("query_id", [], dtype=pl.String)]
    user_ids += [piece["query_id"].unique() for piece in run.pieces()]
    user_ids += [] if run.queries is None else [run.queries["query_id"]]
    users = pl.concat(user_ids).unique()
    return users.filter(pl.Series(index.codes(users) < 0))


_NAME = re.compile(r"([A-Za-z]+)(@\d+)?")


def correct_cards(
    systems: CardSystems, cards: Sequence[Card], metrics: Mapping[str, Metric]
) -> tuple[list[Card], dict[str, Metric], str]:
    """The scorecards with corrected values of each accuracy metric that can be corrected.

    The corrected value of a user is the estimate for the rank among all items that corresponds to
    the user's rank among the sampled items (Krichene and Rendle, KDD 2020); see `metrics.sampled`.

    Returns:
        the scorecards; the added metrics by label; and, if candidates are sampled and correction is
        impossible, the reason.
    """
    sample = re.fullmatch(r"sampled\((\d+)\)", systems.mark)
    correctable = {label: metric for label, metric in metrics.items() if _is_correctable(label, metric)}
    if sample is None or not correctable:
        return list(cards), {}, ""
    negatives, item_count = int(sample[1]), len(systems.catalogue.items)
    corrected = []
    for card, ranks in zip(cards, _ranks(systems), strict=True):
        if ranks is None or np.nanmax(ranks, initial=1) > negatives + 1 or negatives >= item_count:
            return (
                list(cards),
                {},
                (
                    "sampled metrics are not corrected: that needs one relevant item for each user that "
                    "every run ranks among all sampled items."
                ),
            )
        has_rank = ~np.isnan(ranks)
        values, means = dict(card.values), dict(card.means)
        for label in correctable:
            user_values = np.full(len(ranks), np.nan)
            _, user_values[has_rank] = estimates(
                ranks[has_rank].astype(np.int64), label, item_count, negatives
            )
            name = _label(label, negatives)
            values[name], means[name] = user_values, float(np.nanmean(user_values))
        corrected.append(replace(card, values=values, means=means))
    return (corrected, {_label(label, negatives): metric for label, metric in correctable.items()}, "")


def _label(label: str, negatives: int) -> str:
    return f"{label} corrected({negatives})"


def _is_correctable(label: str, metric: Metric) -> bool:
    """True if a metric is one of `OF_RANK`, with no other parameters than a cutoff."""
    return (
        metric.name in OF_RANK
        and _NAME.fullmatch(label) is not None
        and label.partition("@")[0] == metric.name
        and (metric.name != "P" or "@" in label)
    )


def _ranks(systems: CardSystems) -> list[NDArray[np.float64] | None]:
    """The rank of each user's relevant item in every run, ``(T,)``; None if a run lacks an item."""
    assert systems.catalogue.relevant is not None
    if (systems.catalogue.relevant.lengths[systems.judged] != 1).any():
        return [None] * len(systems.lists)
    ranks_by_run: list[NDArray[np.float64] | None] = []
    for values in systems.values_of("RR", RR):
        reciprocal_ranks = values[systems.judged]
        has_all_ranks = (reciprocal_ranks > 0).all()
        with np.errstate(divide="ignore"):
            ranks_by_run.append(np.round(1 / values) if has_all_ranks else None)
    return ranks_by_run


def warnings_of(systems: CardSystems, metrics: Mapping[str, Metric]) -> tuple[str, ...]:
    """The warnings of a scorecard with counts, in one sentence each."""
    warnings = [WARNING] if systems.mark else []
    if systems.zeros:
        warnings.append(f"{zero_grades_notice(systems.zeros, systems.convention.name)}.")
    warnings += _of_judgments(systems)
    warnings += _of_items(systems, metrics)
    for item_lists, facts in zip(systems.lists, systems.run_facts(), strict=True):
        if facts.unjudged:
            warnings.append(
                f"{facts.name}: {count_noun(facts.unjudged, 'user is', 'users are')} "
                f"{_unjudged_sentence(systems)}"
            )
        list_notes = list_warnings(systems.catalogue, item_lists, facts.places)
        warnings += [f"{facts.name}: {warning}" for warning in list_notes]
        if not facts.has_judged:
            text = "no item of its lists is judged for its user; check that both use the same ids"
            warnings.append(f"{facts.name}: {text}.")
    return tuple(dict.fromkeys(warnings))  # seeds of one system have the same


def _of_judgments(systems: CardSystems) -> Iterator[str]:
    if without := systems.users_without_relevant:
        yield (
            f"{count_noun(without, 'user is', 'users are')} without a relevant item: accuracy counts them as "
            "the convention defines, metrics of lists like any other user."
        )
    if repeated_count := systems.repeated_relevant:
        yield (
            f"{count_noun(repeated_count, 'relevant item is', 'relevant items are')} in their user's "
            "training too: the split leaks and rewards systems that repeat training; split the log again "
            "(rankgate split)."
        )


def _of_items(systems: CardSystems, metrics: Mapping[str, Metric]) -> Iterator[str]:
    catalogue = systems.catalogue
    table = systems.builder.tables.items
    yield from catalogue_warnings(catalogue.items, systems.catalogue_facts, table, metrics)
    if systems.builder.tables.users is not None:
        missing_count = len(catalogue.queries) - int(
            catalogue.queries.is_in(systems.builder.tables.users.ids.implode()).sum()
        )
        if missing_count:
            users = count_noun(missing_count, "user is", "users are")
            yield f"{users} not in the table of users, and in the part (none)."


def catalogue_warnings(
    item_ids: pl.Series, facts: JsonObject, table: DescribedTable | None, metrics: Mapping[str, Metric]
) -> Iterator[str]:
    """Unusual facts about the items, in one sentence each.

    Args:
        item_ids: the catalogue.
        facts: see `catalogue_facts`.
        table: the table of items, if any.
        metrics: the metrics of the scorecard, by label.
    """
    size = len(item_ids)
    _, lists = split_list_metrics(metrics)
    if lists:
        yield from (f"{notice}." for notice in catalogue_notice(facts))
    long = [label for label, metric in lists.items() if (metric.cutoff or 0) > size]
    if long:
        yield (f"{', '.join(long)}: lists cannot be so long: there are only {count_noun(size, 'item')}.")
    missing_count = 0 if table is None else size - int(item_ids.is_in(table.ids.implode()).sum())
    if missing_count:
        yield (
            f"{count_noun(missing_count, 'item is', 'items are')} not in the table of items: without "
            "category and group, with features of 0."
        )


def _unjudged_sentence(systems: CardSystems) -> str:
    """The treatment of users without judgments, as the end of a sentence."""
    if systems.catalogue.judged is None:
        return "without judgments, and left out."
    return "without judgments: metrics of lists count them, accuracy leaves them out."
