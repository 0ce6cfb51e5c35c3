"""Cut partitions of whole users into parts, by the functions of the local engine."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.data.logs.candidates import sample
from rankgate.data.logs.interactions import SCHEMA, Interactions
from rankgate.data.logs.splits import WAYS, masks_between, masks_without_one
from rankgate.data.place import Place
from rankgate.recommenders.leaks import LeakCount
from rankgate.recommenders.split_parts import FoldParts, Masks, masks, parts
from rankgate.spark.splitting.tables import (
    CANDIDATES,
    ITEMS,
    JUDGMENTS,
    TEST,
    TRAIN,
    TUNING,
    VALIDATION,
    counted,
    packed,
    unpacked,
)
from rankgate.spark.splitting.users import whole_users

if TYPE_CHECKING:
    import pyarrow as pa

    from rankgate.data.logs.candidates import Sample
    from rankgate.data.logs.clock import Unit
    from rankgate.data.logs.relevance import Truth
    from rankgate.data.logs.splits import Masks as Outer
    from rankgate.data.logs.splits import SplitPlan
    from rankgate.spark.cells import Cells
    from rankgate.spark.splitting.facts import Facts, States

_PAIR = ["query_id", "doc_id"]


@dataclass(frozen=True)
class Cutting:
    """What executors do with a sorted log.

    Attributes:
        plan: how to split.
        rule: how interactions become judgments.
        unseen: whether what a user had before is no ground truth.
        unit: what times were written in.
        label: where the log comes from, for errors.
        before: for each stretch the rows and users of those before it.
        facts: what is known of the whole log.
        cells: over which items are spread.
        catalogue: how many items there are, where candidates are drawn.
        negatives: how many are drawn for each user; None where none are.
        states: of the generators of candidates, by fold and stretch; None where the numbers of
            items to draw from are all that is wanted.
    """

    plan: SplitPlan
    rule: Truth
    unseen: bool
    unit: Unit
    label: str
    before: Mapping[int, tuple[int, int]]
    facts: Facts
    cells: Cells
    catalogue: int = 0
    negatives: int | None = None
    states: States | None = None

    def over(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Any]:
        """The parts of some users after the others; at the end the figures of each stretch."""
        for number, rows in groupby(unpacked(batches), key=itemgetter(0)):
            stretch = _Stretch(self, number)
            for table in whole_users(each for _, each in rows):
                yield from stretch.add(table)
            yield from stretch.items()
            yield stretch.totals()


class _Stretch:
    """Partition of a sorted log as it is cut: how far it is, and its figures.

    Attributes:
        number: of the stretch.
    """

    def __init__(self, asked: Cutting, number: int) -> None:
        self.number = number
        self._asked = asked
        self._row, self._user = asked.before[number]
        self._chunk = 0
        self._random = _generators(asked.facts.states, number)
        self._samplers = _generators(asked.states or {}, number)
        self._folds: dict[int, _FoldFigures] = {}
        self._items: dict[int, pl.DataFrame] = {}

    def add(self, table: pl.DataFrame) -> Iterator[Any]:
        """Tables of the parts of some whole users."""
        asked = self._asked
        log = Interactions(table, asked.unit, place=Place(asked.label))
        for fold, chosen in enumerate(self._masks(log)):
            made = parts(log, chosen, asked.rule, unseen=asked.unseen)
            if asked.negatives is not None and asked.states is None:
                if made.judgments is not None:
                    yield self._free(log.table, made.judgments.table, fold)
                continue
            figures = self._folds.setdefault(fold, _FoldFigures())
            figures.add(made)
            for part, rows in _tables(made):
                yield packed(rows, self.number, fold, part)
            self._items[fold] = _joined([self._items.get(fold), _items(made)])
            if asked.negatives is not None and made.judgments is not None:
                drawn = self._drawn(log.table, made.judgments.table, fold)
                figures.short += drawn.short
                rows = drawn.table.rename({"doc_id": "item"})
                yield packed(rows, self.number, fold, CANDIDATES)

    def items(self) -> Iterator[dict[str, Any]]:
        """The items of each fold, spread by a hash; the shuffle's key is the ``chunk``."""
        for fold, table in self._items.items():
            named = table.rename({"doc_id": "query_id"})  # what cells are of
            for each in self._asked.cells.packed([named], ITEMS):
                many = len(each["rows"])
                own = {"stretch": [self.number] * many, "fold": [fold] * many}
                yield {**own, "chunk": each["key"], "part": each["part"], "rows": each["rows"]}

    def totals(self) -> dict[str, Any]:
        """The figures of all users so far."""
        folds = {fold: each.to_dict() for fold, each in self._folds.items()}
        return {"totals": [json.dumps({"stretch": self.number, "folds": folds})]}

    def _masks(self, log: Interactions) -> list[Masks]:
        codes, rows, way = self._asked.facts.codes, len(log.table), self._asked.plan.way
        if codes is None:
            return masks(log, self._asked.plan, self._of)
        if way == "random":
            own = codes[self._row : self._row + rows]
        elif way == "cold-users":
            users = log.table["query_id"].rle_id().to_numpy()
            own = codes[self._user + users]
            self._user += int(users[-1]) + 1
        else:
            own = codes[log.table["item"].to_numpy()]
        self._row += rows
        tuned = own == VALIDATION if self._asked.plan.validation else None
        return [Masks(own == TRAIN, tuned, own == TEST)]

    def _of(self, log: Interactions, plan: SplitPlan) -> Outer:
        """The masks of a plan, which may need what is known of the whole log."""
        edges = self._asked.facts.edges
        if plan.way == "global":
            return WAYS[plan.way].masks(log, replace(plan, cut=edges[plan][0]))
        if plan.way == "windows":
            return masks_between(log, edges[plan])
        if plan.way == "leave-one-out":
            return masks_without_one(log, self._random[int(plan != self._asked.plan)])
        return WAYS[plan.way].masks(log, plan)

    def _free(self, log: pl.DataFrame, judged: pl.DataFrame, fold: int) -> dict[str, Any]:
        """How many items may be drawn for each user with judgments."""
        users = judged.select("query_id").unique()
        had = log.join(users, on="query_id", how="semi").group_by("query_id")
        many = had.agg(pl.col("item").n_unique()).sort("query_id")["item"].to_numpy()
        free = self._asked.catalogue - many.astype(np.int64)
        self._chunk += 1
        return counted(free, self.number, self._chunk, fold)

    def _drawn(self, log: pl.DataFrame, judged: pl.DataFrame, fold: int) -> Sample:
        """Candidates of the users with judgments; items are numbers, in the order of their ids."""
        asked = self._asked
        assert asked.negatives is not None
        known = log.select(*_PAIR, "item").unique()
        return sample(
            judged.join(known, on=_PAIR).select("query_id", pl.col("item").alias("doc_id")),
            log.select("query_id", pl.col("item").alias("doc_id")),
            asked.negatives,
            items=pl.int_range(asked.catalogue, dtype=pl.Int32, eager=True),
            random=self._samplers[fold],
        )


def _generators(states: States, stretch: int) -> dict[int, np.random.Generator]:
    """The generators as they are before a stretch."""
    found = {}
    for (draws, number), state in states.items():
        if number == stretch:
            found[draws] = np.random.default_rng()
            found[draws].bit_generator.state = state
    return found


def _tables(made: FoldParts) -> Iterator[tuple[int, pl.DataFrame]]:
    """The rows of one fold, by their part."""
    yield from _logs(made)
    for part, qrels in ((TUNING, made.tuning), (JUDGMENTS, made.judgments)):
        if qrels is not None:
            yield part, qrels.table


def _logs(made: FoldParts) -> Iterator[tuple[int, pl.DataFrame]]:
    """The interactions of one fold, by their part."""
    for part, log in ((TRAIN, made.train), (VALIDATION, made.validation), (TEST, made.test)):
        if log is not None:
            yield part, log.table.select(*SCHEMA)


def _items(made: FoldParts) -> pl.DataFrame:
    """The items of one fold, with a bit for each log that has them."""
    has = [
        table.select(pl.col("doc_id").unique(), has=pl.lit(1 << part, pl.Int32))
        for part, table in _logs(made)
    ]
    return _joined(has)


def _joined(tables: Sequence[pl.DataFrame | None]) -> pl.DataFrame:
    """Items with the bits of all tables."""
    every = pl.concat([table for table in tables if table is not None])
    return every.group_by("doc_id").agg(pl.col("has").bitwise_or())


@dataclass
class _FoldFigures:
    """The figures of one fold that are sums over users, or the first and last of times.

    Attributes:
        parts: of each part the rows, users, first and last time, and whether a time or a grade is
            no whole number.
        leaks: the sums of `LeakCount`.
        relevant: judgments of the test above 0.
        short: users with fewer items to draw from than were to be drawn.
    """

    parts: dict[int, dict[str, Any]] = field(default_factory=dict)
    leaks: dict[str, int] = field(default_factory=dict)
    relevant: int = 0
    short: int = 0

    def add(self, made: FoldParts) -> None:
        """Count the parts of some users, whom no other call has."""
        for part, table in _tables(made):
            if len(table):
                self._count(part, table)
        leaks = LeakCount(clock=False)
        leaks.add(made.train, made.validation, made.test)
        for name, count in leaks.counted.items():
            self.leaks[name] = self.leaks.get(name, 0) + count
        if made.judgments is not None:
            self.relevant += int((made.judgments.table["grade"] > 0).sum())

    def _count(self, number: int, table: pl.DataFrame) -> None:
        own = {"rows": 0, "users": 0, "first": None, "last": None, "broken": False}
        part = self.parts.setdefault(number, own)
        part["rows"] += len(table)
        part["users"] += table["query_id"].n_unique()
        if number in {TUNING, JUDGMENTS}:
            part["broken"] |= bool((table["grade"] % 1 != 0).any())
            return
        at = table["at"]
        part["broken"] |= bool((at % 1_000_000 != 0).any())
        if not at.null_count():
            times = at.to_numpy()
            low, high = int(times.min()), int(times.max())
            part["first"] = low if part["first"] is None else min(part["first"], low)
            part["last"] = high if part["last"] is None else max(part["last"], high)

    def to_dict(self) -> dict[str, Any]:
        """The figures in plain values."""
        return vars(self)
