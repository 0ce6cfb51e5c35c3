"""Cut partitions of whole users into parts, and compute the figures of a split.

The cuts are by the functions of the local engine. The figures of a split come from those of
its partitions.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from itertools import chain, groupby
from operator import itemgetter
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.data.logs.interactions import SCHEMA, Interactions
from rankgate.data.logs.splits import SPLIT_METHODS, masks_between, masks_without_one, sample
from rankgate.data.table_rows import RowLocation
from rankgate.recommenders.split import LeakCount
from rankgate.recommenders.split_parts import FoldMasks, FoldParts, fold_masks_of, split_parts
from rankgate.spark.splitting.packed_rows import (
    CANDIDATES,
    ITEMS,
    JUDGMENTS,
    TEST,
    TRAIN,
    TUNING,
    VALIDATION,
    collect_totals,
    pack_counts,
    pack_rows,
    run_task,
    unpack_rows,
    whole_users,
)

if TYPE_CHECKING:
    import pyarrow as pa
    from pyspark.sql import DataFrame

    from rankgate.data.logs.interactions import Unit
    from rankgate.data.logs.log_judgments import Truth
    from rankgate.data.logs.splits import Masks as Outer
    from rankgate.data.logs.splits import Sample, SplitPlan
    from rankgate.spark.shuffle import Cells, Columns
    from rankgate.spark.splitting.log_facts import LogFacts, States
    from rankgate.spark.table_rows import TableRows


_PAIR = ["query_id", "doc_id"]


@dataclass(frozen=True)
class Cutting:
    """Work of executors on a sorted log.

    Attributes:
        plan: the split.
        rule: the rule by which interactions become judgments.
        unseen: True to leave items that a user had before out of the ground truth.
        unit: the unit of times.
        label: the source of the log, for errors.
        before: for each partition the rows and users of those before it.
        facts: facts about the whole log.
        cells: the cells of items.
        catalogue: the number of items, if candidates are drawn.
        negatives: the number of candidates to draw for each user; None without candidates.
        states: the states of the generators of candidates, by fold and partition; None if only the
            numbers of items to draw from are computed.
    """

    plan: SplitPlan
    rule: Truth
    unseen: bool
    unit: Unit
    label: str
    before: Mapping[int, tuple[int, int]]
    facts: LogFacts
    cells: Cells
    catalogue: int = 0
    negatives: int | None = None
    states: States | None = None

    def process_batches(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Any]:
        """The parts of the users, in order; at the end the figures of each range."""
        for number, rows in groupby(unpack_rows(batches), key=itemgetter(0)):
            partition_cut = _PartitionCut(self, number)
            for table in whole_users(table for _, table in rows):
                yield from partition_cut.add(table)
            yield from partition_cut.items()
            yield partition_cut.totals()


class _PartitionCut:
    """A partition of a sorted log that is being cut: its position and its figures.

    Attributes:
        number: the number of the range.
    """

    def __init__(self, cutting: Cutting, number: int) -> None:
        self.number = number
        self._asked = cutting
        self._row, self._user = cutting.before[number]
        self._chunk = 0
        self._random = _generators(cutting.facts.states, number)
        self._samplers = _generators(cutting.states or {}, number)
        self._folds: dict[int, _FoldFigures] = {}
        self._items: dict[int, pl.DataFrame] = {}

    def add(self, table: pl.DataFrame) -> Iterator[Any]:
        """The tables of the parts of some whole users."""
        cutting = self._asked
        log = Interactions(table, cutting.unit, place=RowLocation(cutting.label))
        for fold, fold_masks in enumerate(self._masks(log)):
            fold_parts = split_parts(log, fold_masks, cutting.rule, unseen=cutting.unseen)
            if cutting.negatives is not None and cutting.states is None:
                if fold_parts.judgments is not None:
                    yield self._free(log.table, fold_parts.judgments.table, fold)
                continue
            figures = self._folds.setdefault(fold, _FoldFigures())
            figures.add(fold_parts)
            for part_number, rows in _tables(fold_parts):
                yield pack_rows(rows, self.number, fold, part_number)
            self._items[fold] = _joined([self._items.get(fold), _items(fold_parts)])
            if cutting.negatives is not None and fold_parts.judgments is not None:
                candidate_sample = self._draw_candidates(log.table, fold_parts.judgments.table, fold)
                figures.short += candidate_sample.short
                rows = candidate_sample.table.rename({"doc_id": "item"})
                yield pack_rows(rows, self.number, fold, CANDIDATES)

    def items(self) -> Iterator[Columns]:
        """The items of each fold, spread by a hash; the shuffle's key is the ``chunk``."""
        for fold, table in self._items.items():
            items_as_queries = table.rename({"doc_id": "query_id"})  # cells are made for queries
            for columns in self._asked.cells.packed([items_as_queries], ITEMS):
                count = len(columns["rows"])
                keys = {"stretch": [self.number] * count, "fold": [fold] * count}
                yield {**keys, "chunk": columns["key"], "part": columns["part"], "rows": columns["rows"]}

    def totals(self) -> Columns:
        """The figures of all users so far."""
        folds = {fold: vars(figures) for fold, figures in self._folds.items()}
        return {"totals": [json.dumps({"stretch": self.number, "folds": folds})]}

    def _masks(self, log: Interactions) -> list[FoldMasks]:
        codes, rows, split_way = self._asked.facts.codes, len(log.table), self._asked.plan.way
        if codes is None:
            return fold_masks_of(log, self._asked.plan, self._plan_masks)
        if split_way == "random":
            part_codes = codes[self._row : self._row + rows]
        elif split_way == "cold-users":
            users = log.table["query_id"].rle_id().to_numpy()
            part_codes = codes[self._user + users]
            self._user += int(users[-1]) + 1
        else:
            part_codes = codes[log.table["item"].to_numpy()]
        self._row += rows
        is_validation = part_codes == VALIDATION if self._asked.plan.validation else None
        return [FoldMasks(part_codes == TRAIN, is_validation, part_codes == TEST)]

    def _plan_masks(self, log: Interactions, plan: SplitPlan) -> Outer:
        """The masks of a plan, which may need facts about the whole log."""
        edges = self._asked.facts.edges
        if plan.way == "global":
            return SPLIT_METHODS[plan.way].masks(log, replace(plan, cut=edges[plan][0]))
        if plan.way == "windows":
            return masks_between(log, edges[plan])
        if plan.way == "leave-one-out":
            return masks_without_one(log, self._random[int(plan != self._asked.plan)])
        return SPLIT_METHODS[plan.way].masks(log, plan)

    def _free(self, log: pl.DataFrame, judged: pl.DataFrame, fold: int) -> Columns:
        """The number of items that may be drawn for each user with judgments."""
        users = judged.select("query_id").unique()
        items_of_user = log.join(users, on="query_id", how="semi").group_by("query_id")
        item_counts = items_of_user.agg(pl.col("item").n_unique()).sort("query_id")["item"].to_numpy()
        free = self._asked.catalogue - item_counts.astype(np.int64)
        self._chunk += 1
        return pack_counts(free, self.number, self._chunk, fold)

    def _draw_candidates(self, log: pl.DataFrame, judged: pl.DataFrame, fold: int) -> Sample:
        """Candidates of the users with judgments; items are numbers, in the order of their ids."""
        cutting = self._asked
        assert cutting.negatives is not None
        item_numbers = log.select(*_PAIR, "item").unique()
        return sample(
            judged.join(item_numbers, on=_PAIR).select("query_id", pl.col("item").alias("doc_id")),
            log.select("query_id", pl.col("item").alias("doc_id")),
            cutting.negatives,
            items=pl.int_range(cutting.catalogue, dtype=pl.Int32, eager=True),
            random=self._samplers[fold],
        )


def _generators(states: States, partition_id: int) -> dict[int, np.random.Generator]:
    """The generators in their states before a partition."""
    generators = {}
    for (draws, number), state in states.items():
        if number == partition_id:
            generators[draws] = np.random.default_rng()
            generators[draws].bit_generator.state = state
    return generators


def _tables(fold_parts: FoldParts) -> Iterator[tuple[int, pl.DataFrame]]:
    """The rows of one fold, by their part."""
    yield from _logs(fold_parts)
    for part_number, qrels in ((TUNING, fold_parts.tuning), (JUDGMENTS, fold_parts.judgments)):
        if qrels is not None:
            yield part_number, qrels.table


def _logs(fold_parts: FoldParts) -> Iterator[tuple[int, pl.DataFrame]]:
    """The interactions of one fold, by their part."""
    for part_number, log in (
        (TRAIN, fold_parts.train),
        (VALIDATION, fold_parts.validation),
        (TEST, fold_parts.test),
    ):
        if log is not None:
            yield part_number, log.table.select(*SCHEMA)


def _items(fold_parts: FoldParts) -> pl.DataFrame:
    """The items of one fold, with a bit for each log that has the item."""
    item_bits = [
        table.select(pl.col("doc_id").unique(), has=pl.lit(1 << part_number, pl.Int32))
        for part_number, table in _logs(fold_parts)
    ]
    return _joined(item_bits)


def _joined(tables: Sequence[pl.DataFrame | None]) -> pl.DataFrame:
    """Items with the bits of all tables."""
    all_items = pl.concat([table for table in tables if table is not None])
    return all_items.group_by("doc_id").agg(pl.col("has").bitwise_or())


@dataclass
class _FoldFigures:
    """The figures of one fold: sums over users, and first and last times.

    Attributes:
        parts: the rows, users, first and last time of each part, and True if a time or a grade is
            not a whole number.
        leaks: the sums of `LeakCount`.
        relevant: judgments of the test above 0.
        short: the number of users with fewer free items than the number to draw.
    """

    parts: dict[int, dict[str, Any]] = field(default_factory=dict)
    leaks: dict[str, int] = field(default_factory=dict)
    relevant: int = 0
    short: int = 0

    def add(self, fold_parts: FoldParts) -> None:
        """Count the parts of some users; each user is in one call only."""
        for part_number, table in _tables(fold_parts):
            if len(table):
                self._count(part_number, table)
        leaks = LeakCount(clock=False)
        leaks.add(fold_parts.train, fold_parts.validation, fold_parts.test)
        for name, count in leaks.counted.items():
            self.leaks[name] = self.leaks.get(name, 0) + count
        if fold_parts.judgments is not None:
            self.relevant += int((fold_parts.judgments.table["grade"] > 0).sum())

    def _count(self, number: int, table: pl.DataFrame) -> None:
        empty_figures = {"rows": 0, "users": 0, "first": None, "last": None, "broken": False}
        figures = self.parts.setdefault(number, empty_figures)
        figures["rows"] += len(table)
        figures["users"] += table["query_id"].n_unique()
        if number in {TUNING, JUDGMENTS}:
            figures["broken"] |= bool((table["grade"] % 1 != 0).any())
            return
        low_value, high_value = float(table["value"].to_numpy().min()), float(table["value"].to_numpy().max())
        figures["low"] = min(low_value, figures.get("low", low_value))
        figures["high"] = max(high_value, figures.get("high", high_value))
        times_column = table["at"]
        figures["broken"] |= bool((times_column % 1_000_000 != 0).any())
        if not times_column.null_count():
            times = times_column.to_numpy()
            low, high = int(times.min()), int(times.max())
            figures["first"] = low if figures["first"] is None else min(figures["first"], low)
            figures["last"] = high if figures["last"] is None else max(figures["last"], high)


LOGS = {TRAIN: "train", VALIDATION: "validation", TEST: "test"}
"""The parts that are interactions, with their names."""


class FoldTotals:
    """The figures of one fold, over all partitions."""

    def __init__(self, partition_figures: list[dict[str, Any]]) -> None:
        self._found = [figures for figures in partition_figures if figures]

    def total_of_part(self, part_number: int, name: str) -> int:
        """A sum over one part."""
        return sum(self.values_of_part(part_number, name))

    def values_of_part(self, part_number: int, name: str) -> list[int]:
        """The values of one part, from the partitions that have the part."""
        part_values = [figures["parts"].get(str(part_number), {}).get(name) for figures in self._found]
        return [value for value in part_values if value is not None]

    def total(self, name: str) -> int:
        """A sum over the fold."""
        return sum(figures[name] for figures in self._found)

    @property
    def leaks(self) -> dict[str, int]:
        """The sums of leaks."""
        names = self._found[0]["leaks"]
        return {name: sum(figures["leaks"][name] for figures in self._found) for name in names}

    @property
    def broken(self) -> frozenset[int]:
        """The parts whose times, or grades, are not whole numbers."""
        return frozenset(
            int(part_number)
            for figures in self._found
            for part_number, part_figures in figures["parts"].items()
            if part_figures["broken"]
        )


@dataclass(frozen=True)
class _ItemCounting:
    """Count the items that have the same bits, of items that no other partition has."""

    def process_batches(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Columns]:
        """Fold, bits and number of items, as text."""
        tables = [
            table.with_columns(fold=pl.lit(fold, pl.Int32))
            for fold, table in unpack_rows(batches, number="fold")
        ]
        if tables:
            item_bits = pl.concat(tables).group_by("fold", "query_id").agg(pl.col("has").bitwise_or())
            yield {"totals": [json.dumps(item_bits.group_by("fold", "has").len().rows())]}


def count_items(frame: DataFrame, rows: TableRows, partitions: int) -> dict[int, dict[int, int]]:
    """The number of items of each part, by fold; key -1 counts items that only the test has.

    Args:
        frame: with `COLUMNS`.
        rows: the log, for errors.
        partitions: the partitions of the shuffle.
    """
    from pyspark.sql import functions as F

    packed_items = frame.where(F.col("part") == ITEMS).select("chunk", "fold", "rows")
    items_by_chunk = packed_items.repartition(partitions, "chunk")
    counts_by_fold: dict[int, dict[int, int]] = {}
    for fold, has, count in chain(*collect_totals(run_task(items_by_chunk, _ItemCounting()), rows)):
        part_counts = counts_by_fold.setdefault(fold, dict.fromkeys((*LOGS, -1), 0))
        parts = [part_number for part_number in LOGS if has >> part_number & 1]
        for part_number in [*parts, *([-1] if parts == [TEST] else [])]:
            part_counts[part_number] += count
    return counts_by_fold
