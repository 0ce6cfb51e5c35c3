"""What has to be known of a whole log before partitions can be cut: times, draws, generators."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import field
from typing import TYPE_CHECKING, Any

import numpy as np
import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.data.logs.candidates import drawn_places
from rankgate.data.logs.interactions import Interactions
from rankgate.data.logs.splits import cut_place, edges_of, refuse_empty
from rankgate.data.place import Place
from rankgate.recommenders.split_parts import masks, plan_of_validation
from rankgate.spark.splitting.order import around
from rankgate.spark.splitting.tables import (
    TEST,
    TRAIN,
    VALIDATION,
    carried_out,
    totals_of,
    unpacked,
)

if TYPE_CHECKING:
    import pyarrow as pa
    from numpy.typing import NDArray
    from pyspark.sql import DataFrame

    from rankgate.data.logs.splits import SplitPlan
    from rankgate.spark.splitting.sorting import SortedLog
    from rankgate.spark.tables import Rows

_BINS = 1 << 14  # of times, counted at once
_FEW = 1 << 16  # times, of which each has a bin

States = Mapping[tuple[int, int], Any]
"""A generator's state by what it draws for, and the stretch before whose first draw it is."""


@dataclass(frozen=True)
class Facts:
    """What the parts of users depend on besides their own rows.

    Attributes:
        edges: for each plan by time the times between which its test lies.
        codes: the part of each row, user or item, where these were drawn from numbers alone.
        states: of the generators of `leave-one-out`: 0 draws the test, 1 the validation.
    """

    edges: Mapping[SplitPlan, list[int]] = field(default_factory=dict)
    codes: NDArray[np.uint8] | None = None
    states: States = field(default_factory=dict)


def facts_of(log: SortedLog, plan: SplitPlan) -> Facts:
    """What has to be known of a log for a plan.

    Raises:
        InputError: nothing would be left to learn from, or to predict.
    """
    inner = plan_of_validation(plan) if plan.validation else None
    if plan.way in {"global", "windows"}:
        return Facts(_edges(log, plan, inner))
    if plan.way == "leave-one-out":
        drawing = _LeaveOneOut((plan.seed, *([inner.seed] if inner else [])))
        return Facts(states=states_of(log.frame, drawing, log.rows))
    if plan.way in {"random", "cold-users", "cold-items"}:
        return Facts(codes=_codes(log, plan))
    return Facts()


def _edges(log: SortedLog, plan: SplitPlan, inner: SplitPlan | None) -> dict[SplitPlan, list[int]]:
    (low, high), label = log.span, log.rows.label
    first = plan.cut
    if not isinstance(first, int):
        first = _nth(log, cut_place(log.size, plan.share))
    if plan.way == "windows":
        return {plan: edges_of(first, high, plan.windows)}
    edges = {plan: [first]}
    if inner:
        known = bins_of(log.frame, [TRAIN], log.rows, low, first - 1, 1 << 62)[0]
        refuse_empty(known, log.size - known, label, plan)
        edges[inner] = [_nth(log, cut_place(known, inner.share))]
    return edges


def _nth(log: SortedLog, place: int) -> int:
    """The time at a place of the rising order, from 0 on, by counting in ever narrower bins."""
    low, high, many = around(log.orders, place)
    high = min(high, log.span[1])
    while low < high:
        width = 1 if many <= _FEW else -(-(high - low + 1) // _BINS)
        bins = bins_of(log.frame, [TRAIN], log.rows, low, high, width)
        left = place
        for number, count in sorted(bins.items()):
            if left < count:
                low, high = low + number * width, min(high, low + (number + 1) * width - 1)
                many = count
                break
            left -= count
    return low


@dataclass(frozen=True)
class _Bins:
    """How many times of a partition lie in each bin; in that of -1 are all before."""

    low: int
    high: int
    width: int

    def over(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Any]:
        """Bins, with their counts."""
        found: Counter[int] = Counter()
        for _, table in unpacked(batches, ["at"]):
            at = table["at"].to_numpy()
            found[-1] += int(np.count_nonzero(at < self.low))
            inside = at[(at >= self.low) & (at <= self.high)]
            bins, counts = np.unique((inside - self.low) // self.width, return_counts=True)
            found.update(dict(zip(bins.tolist(), counts.tolist(), strict=True)))
        yield {"totals": [json.dumps([*found.items()])]}


def bins_of(
    frame: DataFrame, parts: Sequence[int], rows: Rows, low: int, high: int, width: int
) -> Counter[int]:
    """How many times lie in each bin, from 0 on; in that of -1 are all before.

    Args:
        frame: with `COLUMNS`.
        parts: which rows count.
        rows: the log, for errors.
        low: the first time that counts.
        high: the last.
        width: of a bin.
    """
    from pyspark.sql import functions as F

    chosen = frame.where(F.col("rows").isNotNull() & F.col("part").isin(*parts))
    sent = totals_of(carried_out(chosen.select("stretch", "rows"), _Bins(low, high, width)), rows)
    found: Counter[int] = Counter()
    for each in sent:
        found.update(dict(each))
    return found


def _codes(log: SortedLog, plan: SplitPlan) -> NDArray[np.uint8]:
    """The parts of rows, users or items by their places, which is all that these ways look at."""
    if plan.way == "random":
        table = pl.DataFrame({"query_id": pl.repeat(0, log.size, dtype=pl.UInt8, eager=True)})
    elif plan.way == "cold-users":
        table = pl.DataFrame({"query_id": pl.int_range(log.users, eager=True)})
    else:
        assert log.catalogue is not None
        table = pl.DataFrame({"doc_id": pl.int_range(log.catalogue.size, eager=True)})
    (found,) = masks(Interactions(table, place=Place(log.rows.label)), plan)
    out = np.full(len(table), TRAIN, np.uint8)
    out[found.test] = TEST
    if found.validation is not None:
        out[found.validation] = VALIDATION
    return out


@dataclass(frozen=True)
class _LeaveOneOut:
    """The draws of one row of each user; with a second seed, of one of the others too."""

    seeds: tuple[int, ...]

    def generators(self) -> dict[int, np.random.Generator]:
        """By their number, before any draw."""
        return {i: np.random.default_rng(seed) for i, seed in enumerate(self.seeds)}

    def draw(self, random: Mapping[int, np.random.Generator], fold: int, counts: Any) -> None:  # noqa: ANN401, ARG002 - an array; there is one fold
        """Draw as `masks_without_one` does for users with so many rows."""
        for each in random.values():
            each.integers(0, counts)
            counts = counts - (counts > 1)


@dataclass(frozen=True)
class Sampled:
    """The draws of candidates, with a generator for each fold."""

    seed: int
    folds: int
    negatives: int

    def generators(self) -> dict[int, np.random.Generator]:
        """By their number, before any draw."""
        return {i: np.random.default_rng(self.seed) for i in range(self.folds)}

    def draw(self, random: Mapping[int, np.random.Generator], fold: int, counts: Any) -> None:  # noqa: ANN401 - an array
        """Draw as `sample` does for users with so many free items."""
        for free in counts.tolist():
            drawn_places(free, self.negatives, random[fold])


@dataclass(frozen=True)
class _Draws:
    """One task that makes all draws of all users in order, and keeps none of them.

    A draw can reject numbers, so that where a generator is after some users is known from their
    draws alone. Executors then draw again from where their own users begin.
    """

    drawing: _LeaveOneOut | Sampled

    def over(self, batches: Iterable[pa.RecordBatch]) -> Iterator[Any]:
        """The state of each generator before each stretch."""
        random = self.drawing.generators()
        seen: dict[int, set[int]] = {i: set() for i in random}
        for batch in batches:
            for row in batch.to_pylist():
                one = isinstance(self.drawing, Sampled)
                for i in [row["fold"]] if one else [*random]:
                    if row["stretch"] not in seen[i]:
                        seen[i].add(row["stretch"])
                        state = random[i].bit_generator.state
                        found = {"draws": i, "stretch": row["stretch"], "state": state}
                        yield {"totals": [json.dumps(found)]}
                self.drawing.draw(random, row["fold"], np.frombuffer(row["counts"], np.int64))


def states_of(frame: DataFrame, drawing: _LeaveOneOut | Sampled, rows: Rows) -> States:
    """Where the generators are before each stretch, by one task that sees a number a user.

    Args:
        frame: with ``counts``, as `counted` made them.
        drawing: what is drawn.
        rows: the log, for errors.
    """
    from pyspark.sql import functions as F

    counts = frame.where(F.col("counts").isNotNull()).select(
        "stretch", "chunk", "place", "fold", "counts"
    )
    ordered = counts.repartition(1).sortWithinPartitions("stretch", "chunk", "place")
    found = totals_of(carried_out(ordered, _Draws(drawing)), rows)
    return {(each["draws"], each["stretch"]): each["state"] for each in found}
