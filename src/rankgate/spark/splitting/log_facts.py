"""Facts about a whole log that cutting its partitions needs: times, draws, generators."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.data.logs.interactions import Interactions
from rankgate.data.logs.splits import draw_positions, find_cut_position, refuse_empty, window_edges
from rankgate.data.table_rows import RowLocation
from rankgate.recommenders.split_parts import fold_masks_of, plan_of_validation
from rankgate.spark.splitting.packed_rows import (
    TEST,
    TRAIN,
    VALIDATION,
    collect_totals,
    run_task,
    unpack_rows,
)
from rankgate.spark.splitting.sorted_log import time_range_at

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray
    from pyspark.sql import DataFrame

    from rankgate.data.logs.splits import SplitPlan
    from rankgate.spark.splitting.sorted_log import SortedLog
    from rankgate.spark.table_rows import TableRows


_BINS = 1 << 14  # bins of times in one count
_EXACT_BINS = 1 << 16  # times; each of them then has its own bin

States = Mapping[tuple[int, int], Any]
"""A generator's state by its purpose and partition, before the first draw of the partition."""


@dataclass(frozen=True)
class LogFacts:
    """Facts about the whole log that the parts of users depend on.

    Attributes:
        edges: for each plan by time, the first and last time of its test.
        codes: the part of each row, user or item, if the draw depends on their positions only.
        states: the states of the generators of `leave-one-out`: 0 draws the test, 1 the validation.
    """

    edges: Mapping[SplitPlan, list[int]] = field(default_factory=dict)
    codes: NDArray[np.uint8] | None = None
    states: States = field(default_factory=dict)


def collect_facts(log: SortedLog, plan: SplitPlan) -> LogFacts:
    """The facts about a log that a plan needs.

    Raises:
        InputError: nothing would be left to learn from, or to predict.
    """
    inner = plan_of_validation(plan) if plan.validation else None
    if plan.way in {"global", "windows"}:
        return LogFacts(_edges(log, plan, inner))
    if plan.way == "leave-one-out":
        drawing = _LeaveOneOut((plan.seed, *([inner.seed] if inner else [])))
        return LogFacts(states=collect_generator_states(log.frame, drawing, log.rows))
    if plan.way in {"random", "cold-users", "cold-items"}:
        return LogFacts(codes=_codes(log, plan))
    return LogFacts()


def _edges(log: SortedLog, plan: SplitPlan, inner: SplitPlan | None) -> dict[SplitPlan, list[int]]:
    (low, high), label = log.span, log.rows.label
    first = plan.cut
    if not isinstance(first, int):
        first = _time_at_rank(log, find_cut_position(log.size, plan.share))
    if plan.way == "windows":
        return {plan: window_edges(first, high, plan.windows)}
    edges = {plan: [first]}
    if inner:
        known_bins = count_bins(log.frame, [TRAIN], log.rows, low, first - 1, 1 << 62)[0]
        refuse_empty(known_bins, log.size - known_bins, label, plan)
        edges[inner] = [_time_at_rank(log, find_cut_position(known_bins, inner.share))]
    return edges


def _time_at_rank(log: SortedLog, rank: int) -> int:
    """The time at a rank in ascending order, from 0, found by counts in ever narrower bins."""
    low, high, count_in_range = time_range_at(log.orders, rank)
    high = min(high, log.span[1])
    while low < high:
        width = 1 if count_in_range <= _EXACT_BINS else -(-(high - low + 1) // _BINS)
        bins = count_bins(log.frame, [TRAIN], log.rows, low, high, width)
        remaining = rank
        for number, count in sorted(bins.items()):
            if remaining < count:
                low, high = low + number * width, min(high, low + (number + 1) * width - 1)
                count_in_range = count
                break
            remaining -= count
    return low


@dataclass(frozen=True)
class _Bins:
    """The number of times of a partition in each bin; bin -1 has all earlier times."""

    low: int
    high: int
    width: int

    def process_batches(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Any]:
        """The bins with their counts."""
        counts_by_bin: Counter[int] = Counter()
        for _, table in unpack_rows(batches, ["at"]):
            times = table["at"].to_numpy()
            counts_by_bin[-1] += int(np.count_nonzero(times < self.low))
            times_inside = times[(times >= self.low) & (times <= self.high)]
            bins, counts = np.unique((times_inside - self.low) // self.width, return_counts=True)
            counts_by_bin.update(dict(zip(bins.tolist(), counts.tolist(), strict=True)))
        yield {"totals": [json.dumps([*counts_by_bin.items()])]}


def count_bins(
    frame: DataFrame, parts: Sequence[int], rows: TableRows, low: int, high: int, width: int
) -> Counter[int]:
    """The number of times in each bin, from 0; bin -1 has all earlier times.

    Args:
        frame: with `COLUMNS`.
        parts: the part numbers of the rows that count.
        rows: the log, for errors.
        low: the first time that counts.
        high: the last.
        width: the width of a bin.
    """
    from pyspark.sql import functions as F

    selected = frame.where(F.col("rows").isNotNull() & F.col("part").isin(*parts))
    partition_counts = collect_totals(
        run_task(selected.select("stretch", "rows"), _Bins(low, high, width)), rows
    )
    counts_by_bin: Counter[int] = Counter()
    for bin_counts in partition_counts:
        counts_by_bin.update(dict(bin_counts))
    return counts_by_bin


def _codes(log: SortedLog, plan: SplitPlan) -> NDArray[np.uint8]:
    """The parts of rows, users or items, for splits that depend on their positions only."""
    if plan.way == "random":
        table = pl.DataFrame({"query_id": pl.repeat(0, log.size, dtype=pl.UInt8, eager=True)})
    elif plan.way == "cold-users":
        table = pl.DataFrame({"query_id": pl.int_range(log.users, eager=True)})
    else:
        assert log.catalogue is not None
        table = pl.DataFrame({"doc_id": pl.int_range(log.catalogue.size, eager=True)})
    (fold_masks,) = fold_masks_of(Interactions(table, place=RowLocation(log.rows.label)), plan)
    part_codes = np.full(len(table), TRAIN, np.uint8)
    part_codes[fold_masks.test] = TEST
    if fold_masks.validation is not None:
        part_codes[fold_masks.validation] = VALIDATION
    return part_codes


@dataclass(frozen=True)
class _LeaveOneOut:
    """The draws of one row of each user; with a second seed, of one more row."""

    seeds: tuple[int, ...]

    def generators(self) -> dict[int, np.random.Generator]:
        """The generators by number, before any draw."""
        return {i: np.random.default_rng(seed) for i, seed in enumerate(self.seeds)}

    def draw(self, random: Mapping[int, np.random.Generator], fold: int, counts: Any) -> None:  # noqa: ANN401, ARG002 - an array; there is one fold
        """Draw as `masks_without_one` does, for users with these numbers of rows."""
        for generator in random.values():
            generator.integers(0, counts)
            counts = counts - (counts > 1)


@dataclass(frozen=True)
class CandidateDraws:
    """The draws of candidates, with a generator for each fold."""

    seed: int
    folds: int
    negatives: int

    def generators(self) -> dict[int, np.random.Generator]:
        """The generators by number, before any draw."""
        return {i: np.random.default_rng(self.seed) for i in range(self.folds)}

    def draw(self, random: Mapping[int, np.random.Generator], fold: int, counts: Any) -> None:  # noqa: ANN401 - an array
        """Draw as `sample` does, for users with these numbers of free items."""
        for free in counts.tolist():
            draw_positions(free, self.negatives, random[fold])


@dataclass(frozen=True)
class _Draws:
    """A task that makes all draws of all users in order, and keeps no drawn values.

    A draw can reject numbers, so the state of a generator after some users is known only after
    their draws. Executors then repeat the draws from the state before their own users.
    """

    drawing: _LeaveOneOut | CandidateDraws

    def process_batches(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Any]:
        """The state of each generator before each range."""
        random = self.drawing.generators()
        partitions_of_generator: dict[int, set[int]] = {i: set() for i in random}
        for batch in batches:
            for row in batch.to_pylist():
                is_sampled = isinstance(self.drawing, CandidateDraws)
                for i in [row["fold"]] if is_sampled else [*random]:
                    if row["stretch"] not in partitions_of_generator[i]:
                        partitions_of_generator[i].add(row["stretch"])
                        state = random[i].bit_generator.state
                        generator_state = {"draws": i, "stretch": row["stretch"], "state": state}
                        yield {"totals": [json.dumps(generator_state)]}
                self.drawing.draw(random, row["fold"], np.frombuffer(row["counts"], np.int64))


def collect_generator_states(
    frame: DataFrame, drawing: _LeaveOneOut | CandidateDraws, rows: TableRows
) -> States:
    """The states of the generators before each partition, found by one task over all users.

    Args:
        frame: the frame with ``counts``, as `counted` made it.
        drawing: the draws.
        rows: the log, for errors.
    """
    from pyspark.sql import functions as F

    counts = frame.where(F.col("counts").isNotNull()).select("stretch", "chunk", "place", "fold", "counts")
    ordered_counts = counts.repartition(1).sortWithinPartitions("stretch", "chunk", "place")
    generator_states = collect_totals(run_task(ordered_counts, _Draws(drawing)), rows)
    return {
        (generator_state["draws"], generator_state["stretch"]): generator_state["state"]
        for generator_state in generator_states
    }
