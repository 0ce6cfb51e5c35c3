"""Strategies for splitting a log into training and test sets."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
from numpy.typing import NDArray

from rankgate.core.declare import Range
from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.data.logs.clock import instant
from rankgate.data.stretches import starts_of

if TYPE_CHECKING:
    import polars as pl

    from rankgate.data.logs.clock import Unit
    from rankgate.data.logs.interactions import Interactions

Flags = NDArray[np.bool_]
Masks = list[tuple[Flags, Flags]]
"""For each fold the rows to learn from and the rows to predict; a row may be in neither."""


Way = Literal[
    "global", "windows", "user", "leave-last", "leave-one-out", "random", "cold-users", "cold-items"
]
"""The name of a way to split; `WAYS` has each."""


@dataclass(frozen=True)
class SplitPlan:
    """How a log is split into training and test sets.

    The plan of a result has its cut in microseconds since 1970, a whole number; it is taken as it
    is.

    Attributes:
        way: How to split the log (see Ways below).
        share: The share of the interactions in the test set.
        last: With leave-last: how many interactions of each user are in the test set.
        cut: With global: the time at which the test set begins, as a date or as the log writes
            times.
        windows: With windows: the number of folds.
        validation: Also make a validation set, as large as the test set, from the time before it.
        seed: The seed of the random numbers.

    Raises:
        UsageError: an unknown way, a value out of its range, or a cut for another way than global.

    Ways: ``global`` (by one time), ``windows`` (several test periods), ``user`` (the last share of
    each user), ``leave-last``, ``leave-one-out``, ``random``, ``cold-users`` and ``cold-items``.
    """

    way: Way = "global"
    share: Annotated[float, Range(0, 1, exclusive=True)] = 0.2
    last: Annotated[int, Range(1)] = 1
    cut: int | str | None = None
    windows: Annotated[int, Range(1)] = 5
    validation: bool = False
    seed: Annotated[int, Range(0)] = 0

    def __post_init__(self) -> None:
        if self.way not in WAYS:
            raise UsageError(
                f"no split is called '{self.way}'; choose {', '.join(WAYS)}.", code="unknown-choice"
            )
        if not 0 < self.share < 1:
            raise UsageError(
                f"share={self.share:g}; it must lie between 0 and 1.", code="out-of-range"
            )
        if self.last < 1 or self.windows < 1:
            raise UsageError("last and windows must be 1 or more.", code="out-of-range")
        if self.validation and self.way == "windows":
            raise UsageError(
                "windows are several folds already; leave validation out.",
                code="conflicting-options",
            )
        if self.cut is not None and self.way != "global":
            raise UsageError(
                f"{self.way} has no cut, which is the one time of global; leave it out.",
                code="conflicting-options",
            )

    @classmethod
    def of(cls, plan: Way | SplitPlan) -> SplitPlan:
        """Return a plan as it is, or make one of a way.

        Raises:
            UsageError: an unknown way.
        """
        return plan if isinstance(plan, SplitPlan) else cls(plan)

    def dated(self, unit: Unit) -> SplitPlan:
        """The plan for a log with times in a unit: its cut in microseconds.

        Raises:
            InputError: a cut that cannot be read as a time.
        """
        if not isinstance(self.cut, str):
            return self
        return replace(self, cut=instant(self.cut, unit))


@dataclass(frozen=True)
class SplitWay:
    """One way: its function, what it does in a sentence, and what it asks of the log."""

    masks: Callable[[Interactions, SplitPlan], Masks]
    title: str
    timed: str = ""
    drawn: bool = False


def masks_of(log: Interactions, plan: SplitPlan) -> Masks:
    """For each fold the rows to learn from and the rows to predict.

    Args:
        log: the interactions, by user and time.
        plan: how to split.

    Raises:
        UsageError: the way needs times that the log has not.
        InputError: nothing would be left to learn from, or to predict.
    """
    refuse_untimed(log.unit, log.name, plan)
    found = WAYS[plan.way].masks(log, plan)
    for train, test in found:
        refuse_empty(bool(train.any()), bool(test.any()), log.place.label, plan)
    return found


def refuse_untimed(unit: Unit, name: str, plan: SplitPlan) -> None:
    """Check that a log with times in a unit can be split in a way.

    Raises:
        UsageError: the way needs times that the log has not.
    """
    timed = WAYS[plan.way].timed
    if timed and (unit == "none" or (timed == "clock" and unit == "place")):
        needs = "times that hold for all users" if timed == "clock" else "times"
        raise UsageError(
            f"{plan.way} needs {needs}, and {name} has none; name their column with "
            "at=COLUMN, or choose random.",
            code="missing-input",
        )


def refuse_empty(train: object, test: object, label: str, plan: SplitPlan) -> None:
    """Check that there are rows to learn from and rows to predict.

    Raises:
        InputError: there are none.
    """
    for rows, part in ((train, "to learn from"), (test, "to predict")):
        if not rows:
            problem = f"{plan.way} leaves nothing {part}; choose another share or way."
            raise InputError(problem, source=label, code="no-interactions")


def cut_place(rows: int, share: float) -> int:
    """The place of the first time of the test among so many times in rising order, from 0 on."""
    return min(rows - 1, math.ceil((1 - share) * rows))


def edges_of(first: int, last: int, windows: int) -> list[int]:
    """The times between which windows lie, from the first time of the test to the last."""
    end = last + 1
    return [first + (end - first) * i // windows for i in range(windows + 1)]


def masks_between(log: Interactions, edges: list[int]) -> Masks:
    """The masks of `windows` by the times between which they lie."""
    at = _times(log)
    return [(at < low, (at >= low) & (at < high)) for low, high in pairwise(edges)]


def masks_without_one(log: Interactions, random: np.random.Generator) -> Masks:
    """The masks of `leave-one-out`; the generator goes on drawing for the next users."""
    place, length = _places(log.table["query_id"])
    starts = np.flatnonzero(place == 0)
    drawn = random.integers(0, length[starts])
    test = np.zeros(len(place), bool)
    test[(starts + drawn)[length[starts] > 1]] = True
    return [(~test, test)]


def _global(log: Interactions, plan: SplitPlan) -> Masks:
    at = _times(log)
    cut = plan.dated(log.unit).cut
    if not isinstance(cut, int):
        place = cut_place(len(at), plan.share)
        cut = int(np.partition(at, place)[place])
    test = at >= cut
    return [(~test, test)]


def _windows(log: Interactions, plan: SplitPlan) -> Masks:
    at = _times(log)
    place = cut_place(len(at), plan.share)
    first = int(np.partition(at, place)[place])
    return masks_between(log, edges_of(first, int(at.max()), plan.windows))


def _per_user(log: Interactions, plan: SplitPlan) -> Masks:
    place, length = _places(log.table["query_id"])
    predicted = np.minimum(np.floor(plan.share * length + 0.5), length - 1)
    test = place >= length - predicted
    return [(~test, test)]


def _last(log: Interactions, plan: SplitPlan) -> Masks:
    place, length = _places(log.table["query_id"])
    test = (place >= length - plan.last) & (length > plan.last)
    return [(~test, test)]


def _one_out(log: Interactions, plan: SplitPlan) -> Masks:
    return masks_without_one(log, np.random.default_rng(plan.seed))


def _random(log: Interactions, plan: SplitPlan) -> Masks:
    rows = len(log.table)
    test = np.zeros(rows, bool)
    drawn = np.random.default_rng(plan.seed).permutation(rows)
    test[drawn[: math.floor(plan.share * rows + 0.5)]] = True
    return [(~test, test)]


def _cold(column: str) -> Callable[[Interactions, SplitPlan], Masks]:
    def masks(log: Interactions, plan: SplitPlan) -> Masks:
        names = log.table[column].unique().sort()
        drawn = np.random.default_rng(plan.seed).permutation(len(names))
        cold = names.gather(np.sort(drawn[: math.floor(plan.share * len(names) + 0.5)]))
        test = log.table[column].is_in(cold.implode()).to_numpy()
        return [(~test, test)]

    return masks


def _times(log: Interactions) -> NDArray[np.int64]:
    at: NDArray[np.int64] = log.table["at"].to_numpy()
    return at


def _places(owner: pl.Series) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The place of each row among those of its user, from 0 on, and how many there are."""
    starts = starts_of(owner)
    lengths = np.diff(starts, append=len(owner))
    return np.arange(len(owner)) - np.repeat(starts, lengths), np.repeat(lengths, lengths)


WAYS: Mapping[str, SplitWay] = MappingProxyType(
    {
        "global": SplitWay(_global, "one point in time separates training from test", "clock"),
        "windows": SplitWay(
            _windows, "several consecutive test periods at the end, one fold each", "clock"
        ),
        "user": SplitWay(_per_user, "the last share of each user's interactions", "order"),
        "leave-last": SplitWay(_last, "the last interactions of each user (see --last)", "order"),
        "leave-one-out": SplitWay(_one_out, "one interaction of each user, at random", drawn=True),
        "random": SplitWay(_random, "a share of all interactions, at random", drawn=True),
        "cold-users": SplitWay(
            _cold("query_id"), "all interactions of a share of the users, at random", drawn=True
        ),
        "cold-items": SplitWay(
            _cold("doc_id"), "all interactions with a share of the items, at random", drawn=True
        ),
    }
)
"""Every way to split, by its name; the first is the default."""
