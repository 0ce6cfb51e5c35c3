"""Build the input of metrics on lists, for every verb."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
import polars as pl

from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.number_formats import count_noun
from rankgate.data import read_run
from rankgate.data.foreign_frames import rename_columns
from rankgate.data.id_match import IdRules
from rankgate.data.memory.ids import GrowingArray, unique_codes
from rankgate.data.memory.matrices import Dense, MatrixInput, Padded
from rankgate.measurement.evaluation.lists.list_inputs import (
    DEPTH,
    EXAMPLES,
    INPUT_OF_NEED,
    Tables,
    catalogue_facts,
    catalogue_ids,
    place_facts,
)
from rankgate.measurement.evaluation.rankings import TrainingData, read_rankings, restrict_run, run_by_ids
from rankgate.measurement.metrics.judged_block import PAD
from rankgate.measurement.metrics.lists import NEEDS, NONE
from rankgate.measurement.metrics.lists.list_input import Ragged
from rankgate.measurement.scoring.first_items import top_items
from rankgate.measurement.scoring.item_catalogue import Catalogue, find_positions, pad_by_row, rows_at
from rankgate.measurement.scoring.matrix_source import tops_by_number
from rankgate.measurement.scoring.scoring_plan import ListBlock

if TYPE_CHECKING:
    from rankgate.data import Run, RunScores
    from rankgate.data.collection import Collection
    from rankgate.data.input_types import RunLike
    from rankgate.data.run_scores import ScoredRun
    from rankgate.measurement.evaluation.rankings import Rankings
    from rankgate.measurement.metrics.lists.list_input import Codes, Listed
    from rankgate.measurement.metrics.lists.list_metric import ListMetric
    from rankgate.measurement.scoring import Convention
    from rankgate.measurement.scoring.alignment.judgment_index import JudgmentIndex
    from rankgate.measurement.scoring.first_items import ItemCodes
    from rankgate.measurement.scoring.scoring_plan import Plan


@dataclass(frozen=True)
class TopLists:
    """The first items of every user's list.

    Attributes:
        users: ``(T,)``, the users of the lists; when read from data, judged users come first.
        names: the ids of items, each once.
        codes: ``(T, K)``, positions in `names`, padded at the end; whole numbers of any size.
        every: True if the names are all existing items, not only the shown items.
    """

    users: pl.Series
    names: pl.Series
    codes: ItemCodes
    every: bool = False

    @classmethod
    def of_rows(cls, users: pl.Series, rows: pl.DataFrame) -> TopLists:
        """Make lists from rows of ``query_id`` and ``doc_id``, the best of each list first."""
        names = rows["doc_id"].unique().sort()
        owner, item = find_positions(rows["query_id"], users), find_positions(rows["doc_id"], names)
        row_order = np.argsort(owner, kind="stable")
        return cls(users, names, pad_by_row(owner[row_order], item[row_order], len(users)))

    @property
    def all_items(self) -> pl.Series:
        """The items of these lists, or all items if known."""
        if self.every:
            return self.names
        is_shown = np.zeros(len(self.names) + 1, bool)  # the last position is for NONE
        is_shown[self.codes.ravel()] = True
        return self.names.filter(pl.Series(is_shown[:-1]))

    def positions_in(self, items: pl.Series) -> Codes:
        """The items of the lists by their positions in a catalogue; `NONE` for other items."""
        new_code = np.append(find_positions(self.names, items), NONE)  # keeps NONE as NONE
        return new_code[self.codes]

    def of_users(self, users: pl.Series) -> TopLists:
        """The lists of some users; an empty list for a user without a list."""
        if len(users) == len(self.users) and (users == self.users).all():
            return self
        codes = rows_at(self.codes, find_positions(users, self.users))
        return TopLists(users, self.names, codes, self.every)


_PIECE = 1 << 22  # judgments whose items are looked up together


def all_users(judged: JudgmentIndex, tops: Sequence[TopLists]) -> pl.Series:
    """The judged users and all other users with a list, in byte order."""
    judged_users = judged.query_ids
    other_users = pl.concat([top.users.slice(len(judged_users)) for top in tops]).unique()
    return pl.concat([judged_users, other_users]).sort() if len(other_users) else judged_users


def judged_items(judged: JudgmentIndex) -> pl.Series:
    """The items in judgments; for a matrix all columns."""
    if not isinstance(judged.given, MatrixInput):
        return judged.qrels.table["doc_id"].unique()
    if names_all_items(judged.given):
        return judged.given.items.names
    return judged.numbers.ids.names.gather(unique_codes(judged.numbers.items))


def names_all_items(source: MatrixInput) -> bool:
    """True if a source names all existing items, not only the items with entries."""
    if not isinstance(source, Padded):
        return True
    return source.items.given is not None and source.vocabulary is None


def relevant_codes(judged: JudgmentIndex, items: pl.Series) -> Ragged:
    """The catalogue codes of items with a grade of 1 or more, a row for each query."""
    matrix = isinstance(judged.given, MatrixInput)
    names = find_positions(judged.numbers.ids.names, items) if matrix else None
    codes = GrowingArray(np.int32)
    for begin in range(0, len(judged.grades), _PIECE):
        rows = begin + np.flatnonzero(judged.grades[begin : begin + _PIECE] >= 1)
        if names is None:
            codes.add(find_positions(judged.documents(rows), items))
        else:
            codes.add(names[judged.numbers.items[rows]])
    before = np.append(0, np.cumsum(judged.grades >= 1))
    return Ragged.from_offsets(codes.values, before[judged.offsets])


def no_judged_item(source: str, judged: pl.Series, items: pl.Series) -> InputError:
    """The error that no judged item is in the stated catalogue."""
    return InputError(
        f"no judged item, such as '{judged.sort()[0]}', is in the stated catalogue of "
        f"{count_noun(len(items), 'item')}; state the items by the ids of the judgments.",
        source=source,
        code="unknown-item",
    )


_EMPTY = pl.DataFrame(schema={"query_id": pl.String, "doc_id": pl.String})


@dataclass
class ListBuilder:
    """A reader of users' lists, with data on users and items.

    Attributes:
        metrics: metrics on lists, by label.
        how: the convention, with its rule for ties.
        collection: the collection, with data on items and users.
        tables: the tables of the collection, after reading.
        stated: the catalogue of the collection; empty if it is not given.
        history: True to read the users' items in training, even if no metric needs them.
    """

    metrics: Mapping[str, ListMetric]
    how: Convention
    collection: Collection
    tables: Tables
    stated: pl.Series
    history: bool = False

    @classmethod
    def from_collection(
        cls, metrics: Mapping[str, Any], how: Convention, collection: Collection, *, history: bool = False
    ) -> ListBuilder:
        """Read the tables of a collection.

        Raises:
            InputError: a table cannot be read.
            UsageError: seen items are to be removed, but there is no training data.
        """
        stated_items = catalogue_ids(collection.items.catalogue)
        result = cls(metrics, how, collection, Tables.from_collection(collection), stated_items, history)
        if result.train is not None:
            result.train.read()
        return result

    @property
    def depth(self) -> int | None:
        """The depth that the metrics need; None if a metric needs complete lists."""
        cuts = [metric.cutoff for metric in self.metrics.values()]
        finite_cuts = [cutoff for cutoff in cuts if cutoff is not None]
        return max(finite_cuts, default=DEPTH) if len(finite_cuts) == len(cuts) else None

    @cached_property
    def train(self) -> TrainingData | None:
        """The training data, if any."""
        training = self.collection.training
        if training is None:
            return None
        rules = IdRules.read(self.collection.ids)
        return TrainingData(rename_columns(training, self.collection.frame_columns), rules)

    @property
    def leaving(self) -> TrainingData | None:
        """The training data, if its items are removed from the lists."""
        return self.train if self.collection.drop_seen else None

    def allowed(self, run: Rankings) -> Rankings:
        """A run with only the candidates, if candidates are given."""
        pairs = self.tables.candidates
        return run if pairs is None else restrict_run(read_run(run), pairs, inside=True)

    def ranked(self, run: Rankings) -> Run:
        """A run by ids, without items that are not candidates or that users had in training."""
        return run_by_ids(self.allowed(run), self.leaving)

    def joint_catalogue(self, judged: JudgmentIndex, tops: Sequence[TopLists]) -> Catalogue:
        """Items and users of all systems; see `base` for the items.

        Raises:
            InputError: see `refuse_near_fits`; no judged item is in the stated catalogue.
            UsageError: the columns of systems' matrices would make another catalogue for each.
        """
        judged_ids, users = judged_items(judged), all_users(judged, tops)
        self.refuse_near_fits("item", [judged_ids, *(top.all_items for top in tops)])
        self.refuse_near_fits("user", [users])
        base = self.base(judged_ids, *(top.names for top in tops if top.every))
        if self.metrics and len(judged_ids) and not judged_ids.is_in(base.items.implode()).any():
            raise no_judged_item(judged.name, judged_ids, base.items)
        if self.stated_items is None and any(top.every for top in tops):
            own_sizes = {len(self.items(judged_ids, *([top.names] if top.every else []))) for top in tops}
            if own_sizes != {len(base.items)}:
                raise UsageError(
                    "the columns of matrices are a catalogue here, and not all systems have the same; state "
                    "it as Items(catalogue=…), or give a table of items.",
                    code="ambiguous-input",
                )
        return self.of_batch(base, judged, users)

    def refuse_near_fits(self, kind: Literal["item", "user"], names: Sequence[pl.Series]) -> None:
        """Refuse training and tables of items and users with the ids in another spelling.

        Raises:
            InputError: see `IdRules.refuse_near_fits`.
        """
        table = self.tables.items if kind == "item" else self.tables.users
        side_ids = {} if table is None else {f"the {kind}s": table.ids}
        if self.train is not None:
            log = self.train.items_of_users
            side_ids["training"] = log.items if kind == "item" else log.users
        if not side_ids:
            return
        rules = IdRules.read(self.collection.ids)
        ids = pl.concat([series.alias("id") for series in names]).unique()
        for name, table_ids in side_ids.items():
            rules.refuse_near_fits(kind, ids, table_ids, ("judgments and lists", name), name)

    @property
    def stated_items(self) -> pl.Series | None:
        """The stated catalogue: that of the collection, or its table of items; None without both."""
        if len(self.stated):
            return self.stated
        return None if self.tables.items is None else self.tables.items.ids

    def items(self, *names: pl.Series) -> pl.Series:
        """The ids of the catalogue: the stated items, else those of training and some others."""
        ids = [self.stated_items] if self.stated_items is not None else list(names)
        if self.stated_items is None and self.train is not None:
            ids.append(self.train.items_of_users.all_items)
        empty = pl.Series("doc_id", [], dtype=pl.String)
        return pl.concat([empty, *(series.alias("doc_id") for series in ids)]).unique().sort()

    def base(self, *names: pl.Series) -> Catalogue:
        """Items without users.

        A stated catalogue is the catalogue. Else it has the items of training and judgments, and
        of matrices with a column for every item; never an item because a list shows it, as the
        figures of one system would depend on the others.

        Args:
            names: items that belong to a catalogue that is not stated.
        """
        items, tables = self.items(*names), self.tables
        catalogue = tables.described(Catalogue(items, pl.Series([], dtype=pl.String)), self.collection)
        return (
            catalogue if self.train is None else catalogue.learned(self.train.items_of_users, history=False)
        )

    def of_batch(self, base: Catalogue, judged: JudgmentIndex, users: pl.Series) -> Catalogue:
        """Add users with their data to the items."""
        catalogue = replace(base, queries=users)
        facts: dict[str, Any] = {"relevant": relevant_codes(judged, catalogue.items)}
        if len(users) > len(judged.query_ids):
            row = find_positions(users, judged.query_ids)
            facts = {"relevant": facts["relevant"].rows(row), "judged": row != NONE}
        needs = {need for metric in self.metrics.values() for need in metric.inputs_needed}
        if self.train is not None and (self.history or "history" in needs):
            facts["history"] = catalogue.learned(self.train.items_of_users).history
        if self.collection.reference is not None:
            facts["baseline"] = catalogue.matrix(self.frame(judged, self.collection.reference))
        return replace(catalogue, **facts)

    def top(self, judged: JudgmentIndex, run: Rankings) -> TopLists:
        """The first items of every list.

        Raises:
            InputError, DuplicateError: the run has an error.
            UsageError: a metric needs complete lists of a matrix that has a score for every item.
        """
        include_unjudged = not self.collection.judged_users_only
        run = self.allowed(run)
        if isinstance(run, MatrixInput):
            if self.depth is None and isinstance(run, Dense):
                label = next(name for name, metric in self.metrics.items() if metric.cutoff is None)
                result = f"{label} needs whole lists, and {run.name} ranks every item; use {label}@10."
                raise UsageError(result, code="missing-cutoff")
            seen_items = self.leaving.items_of_run(run) if self.leaving else None
            codes, other_users = tops_by_number(
                run, judged, self.how.alignment, self.depth, seen_items, everyone=include_unjudged
            )
            users = pl.concat([judged.query_ids, other_users.alias(judged.query_ids.name)])
            return TopLists(users, run.items.names, codes, names_all_items(run))
        names, codes_of_ids, other_users = top_items(
            run_by_ids(run, self.leaving),
            self.how,
            self.depth or PAD,
            judged.query_ids,
            everyone=include_unjudged,
        )
        users = pl.concat([judged.query_ids, other_users.alias(judged.query_ids.name)])
        return TopLists(users, names, codes_of_ids)

    def listed(
        self, catalogue: Catalogue, judged: JudgmentIndex, system: Rankings | ScoredRun, top: TopLists
    ) -> Listed:
        """The lists of one system, with the data that metrics need.

        Args:
            catalogue: users and items.
            judged: the judgments.
            system: its run, with earlier and repeated rankings if any.
            top: the first items of its lists.
        """
        run = getattr(system, "earlier", None)  # a matrix has no earlier run
        earlier = None if run is None else self.frame(judged, run)
        samples = [self.frame(judged, run) for run in getattr(system, "repeats", ())]
        top = top.of_users(catalogue.queries)
        item_codes = top.positions_in(catalogue.items)
        outside_places = (item_codes == NONE) & (top.codes != NONE)
        lists = replace(catalogue.listed(_EMPTY, earlier, samples), items=item_codes)
        examples = top.names.gather(np.unique(top.codes[outside_places])).sort().head(EXAMPLES).to_list()
        return replace(
            lists, outside_places=outside_places if examples else None, outside_examples=tuple(examples)
        )

    def refuse_lacking(self, lists: Listed) -> None:
        """Check that the inputs of all metrics are available.

        Raises:
            UsageError: an input that a metric needs is missing.
        """
        for label, metric in self.metrics.items():
            for need in metric.lacks(lists):
                raise UsageError(
                    f"{label} needs {NEEDS[need]}; give {INPUT_OF_NEED[need]}, as an option or under [lists] "
                    "of a policy.",
                    code="missing-input",
                )

    def with_lists(
        self, plan: Plan, judged: JudgmentIndex, runs: Sequence[Rankings], scores: Sequence[RunScores]
    ) -> list[RunScores]:
        """Add the values of a plan's metrics on lists to the scores of all runs.

        Raises:
            InputError: a run has an error.
            UsageError: a metric lacks an input.
        """
        top_lists = [self.top(judged, run) for run in runs]
        catalogue = self.joint_catalogue(judged, top_lists)
        facts = self.facts(catalogue, judged, top_lists)
        scored_runs = []
        for run, run_scores in zip(runs, scores, strict=True):
            lists = self.listed(catalogue, judged, run, top_lists.pop(0))  # used here last
            self.refuse_lacking(lists)
            measured = plan.measure(ListBlock(lists, catalogue.queries)).lists
            assert measured is not None
            scored = measured.added_to(run_scores)
            counts = replace(
                scored.counts,
                served_unjudged=0 if lists.judged is None else int((lists.is_user & ~lists.judged).sum()),
                catalogue=facts | place_facts(lists),
            )
            scored_runs.append(replace(scored, counts=counts))
        return scored_runs

    def facts(self, catalogue: Catalogue, judged: JudgmentIndex, tops: Sequence[TopLists]) -> dict[str, Any]:
        """The size of the catalogue, and True if the user states it; see `catalogue_facts`."""
        ids = [top.names for top in tops if top.every]
        if isinstance(judged.given, MatrixInput) and names_all_items(judged.given):
            ids.append(judged.given.items.names)
        return self.catalogue_facts(catalogue.items, judged_items(judged), ids)

    def catalogue_facts(
        self, items: pl.Series, judged: pl.Series, columns: Sequence[pl.Series] = ()
    ) -> dict[str, Any]:
        """The facts of `catalogue_facts`.

        Args:
            items: the catalogue.
            judged: judged items; those in the catalogue may be missing.
            columns: the items of matrices that name every item.
        """
        if self.stated_items is None:
            return catalogue_facts(items, columns)
        used_ids = pl.concat([items, judged.alias(items.name)]).unique()
        return catalogue_facts(used_ids, [items]) | {"items": len(items)}

    def frame(self, judged: JudgmentIndex, run: RunLike) -> pl.DataFrame:
        """``query_id`` and ``doc_id`` of the first items of every list, best first."""
        top = self.top(judged, read_rankings(self.collection.run_source(run), "run"))
        row, position = np.nonzero(top.codes != NONE)
        users = top.users.gather(row).alias("query_id")
        return pl.DataFrame([users, top.names.gather(top.codes[row, position]).alias("doc_id")])
