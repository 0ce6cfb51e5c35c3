"""Build the input of metrics on lists, for every verb."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.errors import UsageError
from rankgate.data import read_run
from rankgate.data.columns import renamed
from rankgate.data.memory.matrices import Dense, MatrixInput
from rankgate.measurement.evaluation.lists.catalogue import catalogue_facts
from rankgate.measurement.evaluation.lists.inputs import DEPTH, GIVEN, Tables, named
from rankgate.measurement.evaluation.lists.known_items import (
    everyone,
    judged_items,
    names_all_items,
    relevant,
)
from rankgate.measurement.evaluation.lists.top import TopLists
from rankgate.measurement.evaluation.rankings import by_ids, rankings_of
from rankgate.measurement.evaluation.training import Train, restrict_run
from rankgate.measurement.metrics.judged import PAD
from rankgate.measurement.metrics.lists import NEEDS, NONE
from rankgate.measurement.scoring.alignment.sheets import tops_by_number
from rankgate.measurement.scoring.catalogue import Catalogue, places
from rankgate.measurement.scoring.list_values import ListBlock
from rankgate.measurement.scoring.lists import firsts

if TYPE_CHECKING:
    from rankgate.data import Run, Scores
    from rankgate.data.collection import Collection
    from rankgate.data.comparison import ScoredRun
    from rankgate.data.inputs import RunLike
    from rankgate.measurement.evaluation.rankings import Rankings
    from rankgate.measurement.metrics.lists.declare import ListMetric
    from rankgate.measurement.metrics.lists.listed import Listed
    from rankgate.measurement.scoring import Convention
    from rankgate.measurement.scoring.alignment.judgments import JudgmentIndex
    from rankgate.measurement.scoring.plan import Plan

_EMPTY = pl.DataFrame(schema={"query_id": pl.String, "doc_id": pl.String})


@dataclass
class ListBuilder:
    """How the lists of users are read, and what is known of users and items.

    Attributes:
        metrics: on lists, by label.
        how: the convention, which says how ties are broken.
        collection: what is known of items and users.
        tables: the same, read.
        stated: items that could be shown, in addition to those that are known otherwise.
        history: whether what users had in training is wanted, even if no metric needs it.
    """

    metrics: Mapping[str, ListMetric]
    how: Convention
    collection: Collection
    tables: Tables
    stated: pl.Series
    history: bool = False

    @classmethod
    def of(
        cls,
        metrics: Mapping[str, Any],
        how: Convention,
        collection: Collection,
        *,
        history: bool = False,
    ) -> ListBuilder:
        """Read the tables of a collection.

        Raises:
            InputError: a table that cannot be read.
            UsageError: seen items are to leave, and no training says which they are.
        """
        items = named(collection.items.catalogue)
        result = cls(metrics, how, collection, Tables.of(collection), items, history)
        if result.train is not None:
            result.train.read()
        return result

    @property
    def uses_catalogue(self) -> bool:
        """Whether a metric depends on which items could have been shown."""
        return any(each.merge == "items" or "seen" in each.wanted for each in self.metrics.values())

    @property
    def depth(self) -> int | None:
        """How far lists are looked at; None where a metric looks to their end."""
        cuts = [each.cutoff for each in self.metrics.values()]
        known = [cut for cut in cuts if cut is not None]
        return max(known, default=DEPTH) if len(known) == len(cuts) else None

    @cached_property
    def train(self) -> Train | None:
        """Training, if it is given."""
        training = self.collection.training
        if training is None:
            return None
        return Train(renamed(training, self.collection.frame_columns))

    @property
    def leaving(self) -> Train | None:
        """Training, where its items leave the lists."""
        return self.train if self.collection.drop_seen else None

    def allowed(self, run: Rankings) -> Rankings:
        """A run with the candidates only, if there are some."""
        pairs = self.tables.candidates
        return run if pairs is None else restrict_run(read_run(run), pairs, inside=True)

    def ranked(self, run: Rankings) -> Run:
        """A run by ids, without what is no candidate and what leaves the lists."""
        return by_ids(self.allowed(run), self.leaving)

    def joint_catalogue(self, judged: JudgmentIndex, tops: Sequence[TopLists]) -> Catalogue:
        """Items and users: the catalogue is what is given, judged, or shown."""
        base = self.base(judged_items(judged), *(top.shown for top in tops))
        return self.of_batch(base, judged, everyone(judged, tops))

    def base(self, *names: pl.Series) -> Catalogue:
        """Items without users: the catalogue is what is given, and some names more."""
        tables, described = self.tables, self.tables.items
        ids = [self.stated, *names]
        ids += [] if self.train is None else [self.train.met.shown]
        ids += [] if described is None else [described.ids]
        items = pl.concat([each.alias("doc_id") for each in ids]).unique().sort()
        catalogue = tables.described(
            Catalogue(items, pl.Series([], dtype=pl.String)), self.collection
        )
        return catalogue if self.train is None else catalogue.learned(self.train.met, history=False)

    def of_batch(self, base: Catalogue, judged: JudgmentIndex, users: pl.Series) -> Catalogue:
        """The items with some users, and what is known of these."""
        catalogue = replace(base, queries=users)
        found: dict[str, Any] = {"relevant": relevant(judged, catalogue.items)}
        if len(users) > len(judged.query_ids):
            row = places(users, judged.query_ids)
            found = {"relevant": found["relevant"].at(row), "judged": row != NONE}
        wanted = {need for metric in self.metrics.values() for need in metric.wanted}
        if self.train is not None and (self.history or "history" in wanted):
            found["history"] = catalogue.learned(self.train.met).history
        if self.collection.reference is not None:
            found["baseline"] = catalogue.matrix(self.frame(judged, self.collection.reference))
        return replace(catalogue, **found)

    def top(self, judged: JudgmentIndex, run: Rankings) -> TopLists:
        """The first items of every list.

        Raises:
            InputError, DuplicateError: what is wrong with the run.
            UsageError: whole lists are asked for of a matrix that holds a score for every item.
        """
        every = not self.collection.judged_users_only
        run = self.allowed(run)
        if isinstance(run, MatrixInput):
            if self.depth is None and isinstance(run, Dense):
                label = next(name for name, each in self.metrics.items() if each.cutoff is None)
                result = (
                    f"{label} is of whole lists, and {run.name} ranks every item; use {label}@10."
                )
                raise UsageError(result, code="missing-cutoff")
            seen = self.leaving.seen(run) if self.leaving else None
            codes, others = tops_by_number(
                run, judged, self.how.alignment, self.depth, seen, everyone=every
            )
            users = pl.concat([judged.query_ids, others.alias(judged.query_ids.name)])
            return TopLists(users, run.items.names, codes, names_all_items(run))
        names, codes_of_ids, others = firsts(
            by_ids(run, self.leaving), self.how, self.depth or PAD, judged.query_ids, everyone=every
        )
        users = pl.concat([judged.query_ids, others.alias(judged.query_ids.name)])
        return TopLists(users, names, codes_of_ids)

    def listed(
        self,
        catalogue: Catalogue,
        judged: JudgmentIndex,
        system: Rankings | ScoredRun,
        top: TopLists,
    ) -> Listed:
        """What metrics see of one system.

        Args:
            catalogue: users and items.
            judged: the judgments.
            system: its run, with earlier and repeated rankings where there are some.
            top: the first items of its lists.
        """
        run = getattr(system, "earlier", None)  # a matrix has none
        earlier = None if run is None else self.frame(judged, run)
        drawn = [self.frame(judged, run) for run in getattr(system, "repeats", ())]
        items = top.of_users(catalogue.queries).among(catalogue.items)
        return replace(catalogue.listed(_EMPTY, earlier, drawn), items=items)

    def refuse_lacking(self, listed: Listed) -> None:
        """Check that all is there that metrics need.

        Raises:
            UsageError: what one of them needs.
        """
        for label, metric in self.metrics.items():
            for need in metric.lacks(listed):
                raise UsageError(
                    f"{label} needs {NEEDS[need]}; give {GIVEN[need]}, as an option or under "
                    "[lists] of a policy.",
                    code="missing-input",
                )

    def with_lists(
        self,
        plan: Plan,
        judged: JudgmentIndex,
        runs: Sequence[Rankings],
        scores: Sequence[Scores],
    ) -> list[Scores]:
        """The scores of all runs with what a plan's metrics on lists measure.

        Raises:
            InputError: what is wrong with a run.
            UsageError: a metric needs what is not there.
        """
        found = [self.top(judged, run) for run in runs]
        catalogue = self.joint_catalogue(judged, found)
        facts = self.facts(catalogue, judged, found)
        items = []
        for run, own in zip(runs, scores, strict=True):
            listed = self.listed(catalogue, judged, run, found.pop(0))  # used here last
            self.refuse_lacking(listed)
            measured = plan.measure(ListBlock(listed, catalogue.queries)).lists
            assert measured is not None
            scored = measured.added_to(own)
            counts = replace(
                scored.counts,
                served_unjudged=len(catalogue.queries) - len(judged.query_ids),
                catalogue=facts if self.uses_catalogue else None,
            )
            items.append(replace(scored, counts=counts))
        return items

    def facts(
        self, catalogue: Catalogue, judged: JudgmentIndex, tops: Sequence[TopLists]
    ) -> Mapping[str, Any]:
        """How many items there are, and whether the user states them; see `catalogue_facts`."""
        ids = [self.stated, *(top.names for top in tops if top.every)]
        ids += [] if self.tables.items is None else [self.tables.items.ids]
        if isinstance(judged.given, MatrixInput) and names_all_items(judged.given):
            ids.append(judged.given.items.names)
        return catalogue_facts(catalogue.items, ids)

    def frame(self, judged: JudgmentIndex, run: RunLike) -> pl.DataFrame:
        """``query_id`` and ``doc_id`` of the first items of every list, the best first."""
        top = self.top(judged, rankings_of(self.collection.run_source(run), "run"))
        row, place = np.nonzero(top.codes != NONE)
        users = top.users.gather(row).alias("query_id")
        return pl.DataFrame([users, top.names.gather(top.codes[row, place]).alias("doc_id")])
