"""All systems of a scorecard over the same users and items, and their values."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.data import read_qrels, read_run
from rankgate.data.logs.candidates import mark_in
from rankgate.errors import UsageError
from rankgate.evaluation.catalogue import catalogue_facts
from rankgate.evaluation.evaluate import named_runs
from rankgate.evaluation.list_inputs import Tables, kept, lists_of, named, world_of
from rankgate.metrics.lists.declare import ListMetric
from rankgate.metrics.views import SUBTOPICS
from rankgate.recommenders.scorecard_figures import Card
from rankgate.scoring.alignment.judgments import JudgmentIndex
from rankgate.scoring.alignment.subtopics import by_category, with_subtopics
from rankgate.scoring.catalogue import places
from rankgate.scoring.score import score

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from numpy.typing import NDArray

    from rankgate.data import Qrels, Run
    from rankgate.data.inputs import QrelsLike, RunsLike
    from rankgate.evaluation.context import Context
    from rankgate.metrics.declare import Metric
    from rankgate.metrics.lists.listed import Listed
    from rankgate.scoring import Convention
    from rankgate.scoring.catalogue import Catalogue

    Floats = NDArray[np.float64]


@dataclass(frozen=True)
class Field:
    """Systems over the same users and items.

    Attributes:
        judgments: what is relevant to whom.
        topics: the same by subtopic: as judged, or by the categories of items.
        runs: of every system, with the items only that may stand in lists.
        lists: of every system, the first of each list.
        world: users and items, and what is known of them.
        tables: what was given beside judgments and runs.
        how: the convention.
        unjudged: of every system the users without judgments that it serves; their lists count in
            metrics of lists, unless only judged users are looked at.
        stated: the items that the user states, from each place where some are stated.
    """

    judgments: Qrels
    topics: Qrels
    runs: tuple[Run, ...]
    lists: tuple[Listed, ...]
    world: Catalogue
    tables: Tables
    how: Convention
    unjudged: tuple[pl.Series, ...] = ()
    stated: tuple[pl.Series, ...] = ()

    @classmethod
    def of(
        cls,
        qrels: QrelsLike,
        runs: RunsLike,
        how: Convention,
        context: Context,
        depth: int,
    ) -> Field:
        """Read everything.

        Raises:
            InputError: data that cannot be read.
            UsageError: no run, a column that is not there, a system without its earlier lists.
        """
        tables = Tables.of(context)
        topics = read_qrels(qrels, subtopics=True)
        tables = replace(tables, mark=tables.mark or mark_in(topics.name))
        judgments = topics.by_document()
        if tables.items and context.category and not topics.by_subtopic:
            topics = by_category(judgments, tables.items.ids, tables.items.words(context.category))
        systems = [_filtered(run, tables, context) for run in named_runs(runs)]
        if not systems:
            raise UsageError("no run to measure; give at least one.", code="missing-input")
        context.refuse_strange([run.name for run in systems])
        unjudged = tuple(_unjudged(run, judgments) for run in systems)
        everyone = judgments
        if not context.judged_users_only:
            more = pl.concat(unjudged).unique().sort().to_list()
            everyone = replace(judgments, unjudged=(*judgments.unjudged, *more))
        index = JudgmentIndex.of(everyone)

        def top(run: Any) -> pl.DataFrame:  # noqa: ANN401 - a path, a frame
            return lists_of(_filtered(read_run(run), tables, context), index, how, depth)

        lists = [lists_of(run, index, how, depth) for run in systems]
        world = world_of(everyone, tables, context, lists, top)
        judged = ~world.queries.is_in(pl.concat(unjudged).unique().implode())
        world = replace(world, judged=None if judged.all() else judged.to_numpy())
        listed = tuple(
            world.listed(
                shown,
                _earlier(run.name, context, top),
                [top(each) for each in context.drawn_of(run.name)],
            )
            for run, shown in zip(systems, lists, strict=True)
        )
        stated = (named(context.catalogue), *([tables.items.ids] if tables.items else []))
        return cls(judgments, topics, tuple(systems), listed, world, tables, how, unjudged, stated)

    @property
    def catalogue(self) -> Mapping[str, Any]:
        """How many items there are, and whether the user states them; see `catalogue_facts`."""
        return catalogue_facts(self.world.items, self.stated)

    @property
    def judged(self) -> NDArray[np.bool_]:
        """Which users have judgments, ``(T,)``."""
        judged = self.world.judged
        return np.ones(len(self.world.queries), bool) if judged is None else judged

    def marked(self, metrics: Mapping[str, Metric]) -> dict[str, Metric]:
        """The same metrics under labels that tell of sampled candidates."""
        return {self._marked(label): metric for label, metric in metrics.items()}

    def cards(
        self,
        metrics: Mapping[str, Metric],
        on_progress: Callable[[str], None] | None = None,
    ) -> list[Card]:
        """The values of every system."""
        items = []
        for run, listed in zip(self.runs, self.lists, strict=True):
            if on_progress:
                on_progress(run.name)
            items.append(self._card(run, listed, metrics, self.judgments))
        return items

    def about(self, items: NDArray[np.bool_], metrics: Mapping[str, Metric]) -> list[Card]:
        """The accuracy of every system where only some items are relevant.

        Users to whom none of them is relevant have no value.
        """
        ids = self.world.items.filter(pl.Series(items))
        table = self.judgments.table.filter(pl.col("doc_id").is_in(ids.implode()))
        table = table.filter((pl.col("grade") >= 1).any().over("query_id"))
        some = None if table.is_empty() else replace(self.judgments, table=table, unjudged=())
        accuracy = {label: m for label, m in metrics.items() if not isinstance(m, ListMetric)}
        return [
            self._card(run, listed, accuracy, some)
            for run, listed in zip(self.runs, self.lists, strict=True)
        ]

    def _marked(self, label: str) -> str:
        return f"{label} {self.tables.mark}" if self.tables.mark else label

    def _card(
        self, run: Run, listed: Listed, metrics: Mapping[str, Metric], judged: Qrels | None
    ) -> Card:
        """One system's values, under marked labels."""
        values: dict[str, Floats] = {}
        means: dict[str, float] = {}
        accuracy = [(label, m) for label, m in metrics.items() if not isinstance(m, ListMetric)]
        for label, _ in accuracy:
            values[label], means[label] = np.full(len(self.world.queries), np.nan), np.nan
        if accuracy and judged is not None:
            index = JudgmentIndex.of(judged)
            if any(metric.view == SUBTOPICS for _, metric in accuracy):
                index = with_subtopics(index, self.topics)
            scores = score(index, run, accuracy, self.how)
            rows = places(scores.query_ids, self.world.queries)
            for label, _ in accuracy:
                values[label][rows] = scores.values[label]
                means[label] = scores.means[label]
        for label, metric in metrics.items():
            if isinstance(metric, ListMetric):
                means[label] = metric.value(listed)
                if metric.merge == "mean":
                    values[label] = metric.values(listed)
        return Card(
            run.name,
            {self._marked(label): each for label, each in values.items()},
            {self._marked(label): each for label, each in means.items()},
            listed,
        )


def _unjudged(run: Run, judgments: Qrels) -> pl.Series:
    """The users of a run, served or not, of whom nothing is known to be relevant or not."""
    named = [pl.Series("query_id", [], dtype=pl.String)]
    named += [piece["query_id"].unique() for piece in run.pieces()]
    named += [] if run.queries is None else [run.queries["query_id"]]
    users = pl.concat(named).unique()
    without = pl.Series("query_id", judgments.unjudged, dtype=pl.String)
    judged = pl.concat([judgments.table["query_id"].unique(), without])
    return users.filter(~users.is_in(judged.implode()))


def _filtered(run: Run, tables: Tables, context: Context) -> Run:
    run = kept(run, tables.candidates, inside=True)
    return kept(run, tables.train, inside=False) if context.drop_seen else run


def _earlier(
    name: str, context: Context, top: Callable[[Any], pl.DataFrame]
) -> pl.DataFrame | None:
    """The lists of the same system at an earlier time."""
    if context.earlier is None:
        return None
    if name not in context.earlier:
        known = ", ".join(context.earlier)
        raise UsageError(
            f"earlier lists of {name} are missing; there are those of {known}.",
            code="missing-input",
        )
    return top(context.earlier[name])
