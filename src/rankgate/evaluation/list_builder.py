"""What lists are like as a whole, beside the values of rankings: metrics on lists in `evaluate`."""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.data.columns import renamed
from rankgate.data.memory.ids import present
from rankgate.data.memory.matrices import Dense, MatrixInput, Padded
from rankgate.data.qrels import SCHEMA, Qrels
from rankgate.errors import UsageError
from rankgate.evaluation.catalogue import catalogue_facts
from rankgate.evaluation.context import EVERY
from rankgate.evaluation.list_inputs import GIVEN, Tables, named, world_of
from rankgate.evaluation.rankings import by_ids, rankings_of
from rankgate.evaluation.training import Train
from rankgate.metrics.judged import PAD
from rankgate.metrics.lists import NEEDS, NONE
from rankgate.metrics.lists.together import together
from rankgate.scoring.alignment.sheets import tops_by_number
from rankgate.scoring.catalogue import Catalogue, by_row, places
from rankgate.scoring.lists import firsts
from rankgate.scoring.mean import NOTHING_RETRIEVED

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from rankgate.data import Scores
    from rankgate.data.inputs import RunLike
    from rankgate.evaluation.context import Context
    from rankgate.evaluation.rankings import Rankings
    from rankgate.metrics.lists.declare import ListMetric
    from rankgate.metrics.lists.listed import Codes, Listed
    from rankgate.scoring import Convention
    from rankgate.scoring.alignment.judgments import JudgmentIndex
    from rankgate.scoring.lists import Places

_EMPTY = pl.DataFrame(schema={"query_id": pl.String, "doc_id": pl.String})


@dataclass(frozen=True)
class Top:
    """The first items of every user's list.

    Attributes:
        users: ``(T,)``, whose lists they are: the judged ones first.
        names: items, each once.
        codes: ``(T, K)``, their places, padded behind; whole numbers of any size.
        every: whether the names are all items there are, and not only those that are shown.
    """

    users: pl.Series
    names: pl.Series
    codes: Places
    every: bool

    @property
    def shown(self) -> pl.Series:
        """The items there are, as far as these lists say."""
        if self.every:
            return self.names
        there = np.zeros(len(self.names) + 1, bool)  # the last is where NONE points
        there[self.codes.ravel()] = True
        return self.names.filter(pl.Series(there[:-1]))

    def among(self, items: pl.Series) -> Codes:
        """The same by the places of items in a catalogue; `NONE` for those that are not in it."""
        place = np.append(places(self.names, items), NONE)  # so that NONE stays what it is
        found: Codes = place[self.codes]
        return found

    def of_users(self, users: pl.Series) -> Top:
        """The lists of these users; of one without a list an empty one."""
        if len(users) == len(self.users) and (users == self.users).all():
            return self
        row = places(users, self.users)
        codes: Places = self.codes[row]
        codes[row == NONE] = NONE
        return Top(users, self.names, codes, self.every)


@dataclass
class ListBuilder:
    """What the lists of users are to be read with.

    Attributes:
        metrics: on lists, by label.
        how: the convention, which says how ties are broken.
        context: what is given beside judgments and runs.
        tables: the same, read.
        catalogue: items that could be shown, beside those that are known otherwise.
    """

    metrics: Mapping[str, ListMetric]
    how: Convention
    context: Context
    tables: Tables
    catalogue: pl.Series

    @classmethod
    def of(
        cls,
        metrics: Mapping[str, Any],
        how: Convention,
        context: Context,
        catalogue: int | Iterable[object] | None,
        columns: Mapping[str, str] | None = None,
    ) -> ListBuilder:
        """Read what is given beside judgments and runs, frames by the names of their columns.

        Raises:
            InputError: a table that cannot be read.
        """
        frames = ("train", "baseline", "earlier")
        context = replace(
            context, **{name: renamed(getattr(context, name), columns) for name in frames}
        )
        drawn = {name: renamed([*each], columns) for name, each in (context.drawn or {}).items()}
        context = replace(context, drawn=drawn)
        items = named(context.catalogue if catalogue is None else catalogue)
        result = cls(metrics, how, context, Tables.of(context, train=False), items)
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
        return max(known) if len(known) == len(cuts) else None

    @cached_property
    def train(self) -> Train | None:
        """Training, if it is given."""
        return None if self.context.train is None else Train(self.context.train)

    @property
    def leaving(self) -> Train | None:
        """Training, where its items leave the lists."""
        return self.train if self.context.drop_seen else None

    def world(self, judged: JudgmentIndex, tops: Sequence[Top]) -> Catalogue:
        """Items and users: the catalogue is what is given, judged, or shown."""
        base = self.base(_named_by(judged), *(top.shown for top in tops))
        return self.of_batch(base, judged, everyone(judged, tops))

    def base(self, *names: pl.Series) -> Catalogue:
        """Items without users: the catalogue is what is given, and some names more."""
        nobody = Qrels(pl.DataFrame(schema=SCHEMA), unjudged=("",))
        own = () if self.train is None else (self.train.met.shown,)
        items = [each.to_frame("doc_id") for each in (self.catalogue, *own, *names)]
        context = replace(self.context, baseline=None)
        world = world_of(nobody, self.tables, context, items, lambda _: _EMPTY)
        return world if self.train is None else world.learned(self.train.met, history=False)

    def of_batch(self, base: Catalogue, judged: JudgmentIndex, users: pl.Series) -> Catalogue:
        """The items with some users, those with judgments first, and what is known of these."""
        known, more = len(judged.query_ids), len(users) - len(judged.query_ids)
        world = replace(base, queries=users)
        wanted_items = np.pad(
            relevant(judged, world.items), ((0, more), (0, 0)), constant_values=NONE
        )
        found: dict[str, Any] = {"relevant": wanted_items, "history": None}
        if more:
            found["judged"] = np.arange(len(users)) < known
        wanted = {need for metric in self.metrics.values() for need in metric.wanted}
        if self.train is not None and "history" in wanted:
            found["history"] = world.learned(self.train.met).history
        if self.context.baseline is not None:
            found["baseline"] = world.matrix(self.frame(judged, self.context.baseline))
        return replace(world, **found)

    def top(self, judged: JudgmentIndex, run: Rankings) -> Top:
        """The first items of every list.

        Raises:
            InputError, DuplicateError: what is wrong with the run.
            UsageError: whole lists are asked for of a matrix that holds a score for every item.
        """
        every = not self.context.judged_users_only
        if isinstance(run, MatrixInput):
            if self.depth is None and isinstance(run, Dense):
                label = next(name for name, each in self.metrics.items() if each.cutoff is None)
                result = (
                    f"{label} is of whole lists, and {run.name} ranks every item; say {label}@10."
                )
                raise UsageError(result, code="missing-cutoff")
            seen = self.leaving.seen(run) if self.leaving else None
            codes, others = tops_by_number(
                run, judged, self.how.alignment, self.depth, seen, everyone=every
            )
            users = pl.concat([judged.query_ids, others.alias(judged.query_ids.name)])
            return Top(users, run.items.names, codes, _says_all(run))
        names, codes_of_ids, others = firsts(
            by_ids(run, self.leaving), self.how, self.depth or PAD, judged.query_ids, everyone=every
        )
        users = pl.concat([judged.query_ids, others.alias(judged.query_ids.name)])
        return Top(users, names, codes_of_ids, every=False)

    def listed(self, world: Catalogue, judged: JudgmentIndex, run: Rankings, top: Top) -> Listed:
        """What metrics see of one run.

        Raises:
            UsageError: a metric needs what is not there.
        """
        earlier = None
        if self.context.earlier is not None:
            name = run.name if run.name in self.context.earlier else EVERY
            if name not in self.context.earlier:
                known = ", ".join(self.context.earlier)
                words = f"earlier lists of {run.name} are missing; there are those of {known}."
                raise UsageError(words, code="missing-input")
            earlier = self.frame(judged, self.context.earlier[name])
        drawn = [self.frame(judged, each) for each in self.context.drawn_of(run.name)]
        items = top.of_users(world.queries).among(world.items)
        found = replace(world.listed(_EMPTY, earlier, drawn), items=items)
        for label, metric in self.metrics.items():
            for need in metric.lacks(found):
                word, way = NEEDS[need], GIVEN[need]
                raise UsageError(
                    f"{label} needs {word}; give {way}, or see rankgate scorecard.",
                    code="missing-input",
                )
        return found

    def beside_scores(
        self, judged: JudgmentIndex, runs: Sequence[Rankings], scores: Sequence[Scores]
    ) -> list[Scores]:
        """The scores of all runs with what metrics say of their lists.

        Raises:
            InputError: what is wrong with a run.
            UsageError: a metric needs what is not there.
        """
        self.context.refuse_strange([run.name for run in runs])
        found = [self.top(judged, run) for run in runs]
        world = self.world(judged, found)
        facts = catalogue_facts(world.items, self.stated(judged, found))
        items = []
        for run, own in zip(runs, scores, strict=True):
            listed = self.listed(world, judged, run, found.pop(0))  # nobody holds it any more
            scored = with_lists(own, listed, self.metrics, world.queries)
            counts = replace(
                scored.counts,
                served_unjudged=len(world.queries) - len(judged.query_ids),
                catalogue=facts if self.uses_catalogue else None,
            )
            items.append(replace(scored, counts=counts))
        return items

    def stated(self, judged: JudgmentIndex, tops: Sequence[Top]) -> list[pl.Series]:
        """The items that the user states: a catalogue, a table, the columns of a matrix."""
        stated = [self.catalogue, *(top.names for top in tops if top.every)]
        stated += [] if self.tables.items is None else [self.tables.items.ids]
        if isinstance(judged.given, MatrixInput) and _says_all(judged.given):
            stated.append(judged.given.items.names)
        return stated

    def frame(self, judged: JudgmentIndex, run: RunLike) -> pl.DataFrame:
        """``query_id`` and ``doc_id`` of the first items of every list, the best first."""
        top = self.top(judged, rankings_of(run, "run"))
        row, place = np.nonzero(top.codes != NONE)
        users = top.users.gather(row).alias("query_id")
        return pl.DataFrame([users, top.names.gather(top.codes[row, place]).alias("doc_id")])


def everyone(judged: JudgmentIndex, tops: Sequence[Top]) -> pl.Series:
    """The judged users, and behind them all others who have a list, in byte order."""
    known = judged.query_ids
    others = pl.concat([top.users.slice(len(known)) for top in tops]).unique().sort()
    return pl.concat([known, others]) if len(others) else known


def _named_by(judged: JudgmentIndex) -> pl.Series:
    """The items that judgments name; of a matrix all of its columns."""
    if not isinstance(judged.given, MatrixInput):
        return judged.qrels.table["doc_id"].unique()
    if _says_all(judged.given):
        return judged.given.items.names
    return judged.numbers.ids.names.gather(present(judged.numbers.items))


def _says_all(source: MatrixInput) -> bool:
    """Whether a source names all items there are, and not only those that are in it."""
    if not isinstance(source, Padded):
        return True
    return source.items.given is not None and source.vocabulary is None


def relevant(judged: JudgmentIndex, items: pl.Series) -> Codes:
    """The places in a catalogue of what has a grade of 1 or more, ``(T, ·)``."""
    held = judged.grades >= 1
    owner = np.repeat(np.arange(len(judged.query_ids)), np.diff(judged.offsets))[held]
    if isinstance(judged.given, MatrixInput):
        place = places(judged.numbers.ids.names, items)[judged.numbers.items[held]]
    else:
        place = places(judged.doc_ids.filter(pl.Series(held)), items)
    return by_row(owner, place, len(judged.query_ids))


def with_lists(
    scores: Scores, listed: Listed, metrics: Mapping[str, ListMetric], queries: pl.Series
) -> Scores:
    """The same scores with what metrics say of the lists.

    A metric that is about all lists together has a mean and no values of single users.

    Args:
        scores: of the rankings.
        listed: the lists of all judged users.
        metrics: by label.
        queries: whose lists they are.
    """
    rows = places(scores.query_ids, queries)
    values, why, means = dict(scores.values), dict(scores.why), dict(scores.means)
    numbers, own = together(metrics, listed)
    means |= numbers
    nothing = listed.lengths[rows] == 0
    for label, found in own.items():
        values[label] = found[rows]
        empty = np.isnan(values[label]) & nothing
        why[label] = np.where(empty, NOTHING_RETRIEVED, 0).astype(np.int8)
    return replace(scores, values=values, why=why, means=means)
