"""What a scorecard is made of: lists of every system, and what is known of items and users."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import polars as pl

from rankgate.data.logs.items import read_candidates, read_described
from rankgate.data.logs.user_items import read_meetings
from rankgate.errors import UsageError
from rankgate.metrics.lists.declare import NEEDS, ListMetric
from rankgate.scoring.alignment.tops import tops
from rankgate.scoring.catalogue import Catalogue, grouped, numbers, one_hot

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from rankgate.data import Qrels, Run
    from rankgate.data.logs.items import Described
    from rankgate.data.logs.user_items import Meetings
    from rankgate.evaluation.context import Context
    from rankgate.metrics.declare import Metric
    from rankgate.metrics.lists.declare import Need
    from rankgate.metrics.lists.listed import Listed
    from rankgate.scoring.alignment.judgments import JudgmentIndex
    from rankgate.scoring.convention import Convention

_PAIR = ["query_id", "doc_id"]
DEPTH = 10
"""How far lists are looked at where a metric has no cutoff."""
GIVEN: Mapping[Need, str] = {
    "seen": "train",
    "relevant": "judgments",
    "history": "train",
    "baseline": "obvious",
    "earlier": "earlier",
    "features": "items and features",
    "categories": "items and category",
    "groups": "items and group",
    "alike": "it to Listed",
}
"""What is given for each need, as the options of the scorecard are called."""


@dataclass(frozen=True)
class Tables:
    """What was given beside judgments and runs, read.

    Attributes:
        train: who met which item in training, or None.
        items: the table of items, or None.
        users: the table of users, or None.
        candidates: the pairs that lists may hold, or None.
        mark: of figures on sampled candidates, else empty.
    """

    train: Meetings | None
    items: Described | None
    users: Described | None
    candidates: pl.DataFrame | None
    mark: str

    @classmethod
    def of(cls, context: Context, *, train: bool = True) -> Tables:
        """Read what was given.

        Args:
            context: what was given.
            train: whether training is read too.

        Raises:
            InputError: a table that cannot be read.
            UsageError: seen items are to leave, and no training says which they are.
        """
        if context.drop_seen and context.train is None:
            raise UsageError(
                "seen items are those of training; give it with train.", code="missing-input"
            )
        pairs, mark = (
            (None, "") if context.candidates is None else read_candidates(context.candidates)
        )
        return cls(
            read_meetings(context.train) if train and context.train is not None else None,
            None if context.items is None else read_described(context.items),
            None if context.users is None else read_described(context.users, "users"),
            pairs,
            mark,
        )


def world_of(
    qrels: Qrels,
    tables: Tables,
    context: Context,
    lists: Sequence[pl.DataFrame],
    top: Callable[[Any], pl.DataFrame],
) -> Catalogue:
    """Items, users, and all that is known of them.

    The catalogue is what training, the table of items, judgments and lists name; the relevant
    items are those with a grade of 1 or more.

    Args:
        qrels: the judgments.
        tables: what was given beside them, read.
        context: what was given beside them.
        lists: of every system, the best first.
        top: the lists of a run.

    Raises:
        InputError: a number that is none.
        UsageError: a column that is not there.
    """
    ids = [each["doc_id"].unique() for each in (qrels.table, *lists)]
    ids += [tables.train.shown.alias("doc_id")] if tables.train else []
    ids += [tables.items.ids] if tables.items else []
    ids += [named(context.catalogue)]
    queries = pl.concat([qrels.table["query_id"], pl.Series(qrels.unjudged, dtype=pl.String)])
    world = Catalogue(pl.concat(ids).unique().sort(), queries.unique().sort())
    world = replace(world, relevant=world.matrix(qrels.table.filter(pl.col("grade") >= 1)))
    if tables.train is not None:
        world = world.learned(tables.train)
    if context.baseline is not None:
        world = replace(world, baseline=world.matrix(top(context.baseline)))
    return _described(world, tables.items, context)


def named(catalogue: int | Iterable[object] | None) -> pl.Series:
    """The items of a catalogue: so many, called 0, 1, …, or those that are named."""
    if catalogue is None:
        return pl.Series([], dtype=pl.String)
    if isinstance(catalogue, int):
        return pl.int_range(catalogue, eager=True).cast(pl.String)
    return pl.Series([str(each) for each in catalogue], dtype=pl.String)


def missing(metric: Metric, listed: Listed) -> str:
    """What a metric needs and is not there, in words; empty if all is there."""
    lacks = metric.lacks(listed) if isinstance(metric, ListMetric) else ()
    return NEEDS[lacks[0]] if lacks else ""


def lists_of(run: Run, index: JudgmentIndex, how: Convention, depth: int) -> pl.DataFrame:
    """``query_id``, ``doc_id`` of the first of every list, the best first."""
    return tops(run, index, how, depth).select(_PAIR)


def kept(run: Run, pairs: pl.DataFrame | Meetings | None, *, inside: bool) -> Run:
    """A run with only some pairs, or without them; as it is for None."""
    if pairs is None:
        return run
    some = pairs.select(_PAIR).unique() if isinstance(pairs, pl.DataFrame) else pairs.frame

    def pieces() -> Iterator[pl.DataFrame]:
        for frame in run.pieces():
            way = "semi" if inside else "anti"
            yield frame.join(some, on=_PAIR, how=way, maintain_order="left")  # type: ignore[arg-type]

    return replace(run, pieces=pieces, rankings=None)


def _described(world: Catalogue, items: Described | None, context: Context) -> Catalogue:
    asked = (*context.features, context.category, context.group)
    if items is None:
        if any(asked):
            raise UsageError(
                "features, categories and groups are columns of items; give items.",
                code="missing-input",
            )
        return world
    if context.category:
        shares, _ = one_hot(world.items, items.ids, items.words(context.category))
        world = replace(world, categories=shares, features=shares)
    if context.features:
        columns = {name: items.numbers(name) for name in context.features}
        world = replace(world, features=numbers(world.items, items.ids, columns))
    if context.group:
        codes, _ = grouped(world.items, items.ids, items.words(context.group))
        world = replace(world, groups=codes)
    return world
