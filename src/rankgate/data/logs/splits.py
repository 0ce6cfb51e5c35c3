"""Strategies for splitting a log into training and test sets, and the candidate items.

Candidates are the items that a system may put into a user's list: all items, all unseen items, or a
sample.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from itertools import pairwise
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Literal

import numpy as np
import polars as pl

from rankgate.core.arrays import Flags
from rankgate.core.declare import Range
from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.data.logs.interactions import parse_instant
from rankgate.data.table_rows import range_starts

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.data.logs.interactions import Interactions, Unit


CANDIDATES = ("unseen", "all", "sampled")
"""The sets of candidates; unseen is every item that the user did not have in training."""

WARNING = (
    "metrics on sampled candidates can put systems into another order than the exact ones (Krichene & "
    "Rendle, KDD 2020); never compare the two."
)


_SAMPLED = re.compile(r"\.sampled-(\d+)\b")


def sampling_mark(name: str) -> str:
    """The mark for judgments on sampled candidates, found by their name; empty for others.

    >>> sampling_mark("test.sampled-99.qrels"), sampling_mark("test.qrels")
    ('sampled(99)', '')
    """
    match = _SAMPLED.search(name)
    return f"sampled({match[1]})" if match else ""


def sampling_warnings(name: str) -> tuple[str, ...]:
    """The warning about figures by judgments on sampled candidates, found by their name."""
    mark = sampling_mark(name)
    return (f"{mark} candidates: {WARNING}",) if mark else ()


@dataclass(frozen=True)
class Sample:
    """A sample of candidates: for each user the relevant items and sampled negatives.

    Attributes:
        table: ``query_id`` and ``doc_id``.
        negatives: the number of items to draw for each user.
        short: users with too few items to draw from; they got all of these items.
        seed: the seed of the draw.
    """

    table: pl.DataFrame
    negatives: int
    short: int
    seed: int

    @property
    def mark(self) -> str:
        """The mark for figures on these candidates."""
        return f"sampled({self.negatives})"

    @property
    def name(self) -> str:
        """The name of the file with these candidates."""
        return f"candidates.sampled-{self.negatives}"

    @property
    def marked(self) -> pl.DataFrame:
        """The table with the mark in each row."""
        return self.table.with_columns(pl.lit(self.mark).alias("candidates"))


def sample(
    judged: pl.DataFrame,
    log: pl.DataFrame,
    negatives: int,
    seed: int = 0,
    *,
    items: pl.Series | None = None,
    random: np.random.Generator | None = None,
) -> Sample:
    """Draw items that a user never had, without replacement and with equal probability.

    Args:
        judged: the interactions to predict; each user's judged items are candidates.
        log: all interactions of training and test; items that the user had in either part are not
            drawn.
        negatives: the number of items to draw for each user.
        seed: the seed of the draw.
        items: the items to draw from, in byte order; by default those of the log.
        random: the generator, which continues from an earlier call, for the next users.
    """
    items = log["doc_id"].unique().sort() if items is None else items
    judged = judged.select("query_id", "doc_id")
    users = judged["query_id"].unique().sort()
    known_pairs = pl.concat([log.select("query_id", "doc_id"), judged]).unique()
    negative_codes, short_users = [], 0
    rng = random or np.random.default_rng(seed)
    for known_codes in _known_codes(known_pairs, users, items):
        unknown_count = len(items) - len(known_codes)
        short_users += unknown_count < negatives
        negative_codes.append(_draw_negatives(len(items), known_codes, negatives, rng))
    lengths = np.fromiter(map(len, negative_codes), np.int64, len(negative_codes))
    all_codes = np.concatenate([np.zeros(0, np.int64), *negative_codes])
    negative_pairs = pl.DataFrame(
        {
            "query_id": users.gather(np.repeat(np.arange(len(users)), lengths)),
            "doc_id": items.gather(all_codes),
        }
    )
    table = pl.concat([judged, negative_pairs]).sort("query_id", "doc_id")
    return Sample(table, negatives, short_users, seed)


def _known_codes(
    known_pairs: pl.DataFrame, users: pl.Series, items: pl.Series
) -> Iterator[NDArray[np.int64]]:
    """The sorted codes of the items that each user had."""
    sorted_pairs = known_pairs.filter(pl.col("query_id").is_in(users.implode())).sort("query_id", "doc_id")
    codes = items.search_sorted(sorted_pairs["doc_id"]).to_numpy().astype(np.int64)
    starts = range_starts(sorted_pairs["query_id"])
    ends = np.append(starts[1:], len(sorted_pairs))
    is_item = (
        sorted_pairs["doc_id"].is_in(items.implode()).to_numpy()
    )  # an item that is only in the test has no value
    for begin, end in zip(starts, ends, strict=True):
        yield codes[begin:end][is_item[begin:end]]


def draw_positions(free: int, negatives: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw positions of free items, in the order of drawing; all if there are too few."""
    count = min(negatives, free)
    return rng.choice(free, count, replace=False, shuffle=False)


def _draw_negatives(
    size: int, known_codes: NDArray[np.int64], negatives: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw positions among the items that a user does not have, and convert them to codes."""
    positions = np.sort(draw_positions(size - len(known_codes), negatives, rng))
    free_before = known_codes - np.arange(len(known_codes))  # free items before each known one
    return positions + np.searchsorted(free_before, positions, side="right")


Masks = list[tuple[Flags, Flags]]
"""For each fold the training rows and the test rows; a row may be in neither."""


SplitMethodName = Literal[
    "global",
    "windows",
    "user",
    "leave-last",
    "leave-one-out",
    "random",
    "cold-users",
    "cold-items",
    "sessions",
    "elsewhere",
]
"""The name of a method of splitting; `SPLIT_METHODS` has each that splits one log."""

ELSEWHERE: Literal["elsewhere"] = "elsewhere"
"""The way of a log that was split before: its parts are two logs."""


WHOLE_USERS = ("cold-users", "sessions")
"""The ways that hold users out as a whole, whose interactions can be input and targets."""


@dataclass(frozen=True)
class SplitPlan:
    """The rules that split a log into training and test sets.

    The plan of a result has its cut in microseconds since 1970, a whole number; it is taken as it
    is.

    Attributes:
        way: The way to split the log (see Ways below).
        share: The share of the interactions in the test set.
        last: With leave-last: how many interactions of each user are in the test set.
        cut: With global and sessions: the time at which the test set begins, as a date or as the log
            writes times.
        windows: With windows: the number of folds.
        validation: Also make a validation set, as large as the test set, from the time before it.
        seed: The seed of the random numbers.
        target: With global and windows: the test set has all interactions of its period, or the
            next one of each user only, which the user's training directly precedes (Gusak et al.,
            RecSys 2025, arXiv:2507.16289). With cold-users and sessions: all that follow the fold-in,
            the next one, or the last one, with all before it as the fold-in.
        core: Keep only users and items with at least so many interactions with each other, before
            the split (the k-core; Sun et al., RecSys 2020, doi:10.1145/3383313.3412489); 0 keeps
            all.
        fold_in: With cold-users and sessions: the share of the interactions of each user or session
            of the test that models get as input; the others are the targets (strong generalisation:
            Marlin 2004; Liang et al., WWW 2018, doi:10.1145/3178876.3186150). The first ones in the
            order of time; with cold-users and all targets drawn at random, as in these papers.
        gap: Divide the log of each user into sessions, at pauses of more than so many minutes;
            USER#1 is then ranked for by itself. 0 keeps users, or the sessions of a column.

    Raises:
        UsageError: an unknown way, a value out of its range, or an option of another way.

    Ways: ``global`` (by one time), ``windows`` (several test periods), ``user`` (the last share of
    each user), ``leave-last``, ``leave-one-out``, ``random``, ``cold-users``, ``cold-items``,
    ``sessions`` (whole sessions or users that end after one time) and ``elsewhere`` (a log in two
    files already).
    """

    way: SplitMethodName = "global"
    share: Annotated[float, Range(0, 1, exclusive=True)] = 0.2
    last: Annotated[int, Range(1)] = 1
    cut: int | str | None = None
    windows: Annotated[int, Range(1)] = 5
    validation: bool = False
    seed: Annotated[int, Range(0)] = 0
    target: Literal["all", "next", "last"] = "all"
    core: Annotated[int, Range(0)] = 0
    fold_in: Annotated[float, Range(0, 1)] = 0.0
    gap: Annotated[float, Range(0)] = 0.0

    def __post_init__(self) -> None:
        if self.way not in (ways := (*SPLIT_METHODS, ELSEWHERE)):
            raise UsageError(f"unknown split '{self.way}'; choose {', '.join(ways)}.", code="unknown-choice")
        if not 0 < self.share < 1:
            raise UsageError(f"share={self.share:g}; it must lie between 0 and 1.", code="out-of-range")
        if self.target not in {"all", "next", "last"}:
            raise UsageError(f"target='{self.target}'; choose all, next or last.", code="unknown-choice")
        if not 0 <= self.fold_in < 1:
            problem = f"fold_in={self.fold_in:g}; it must be 0, or between 0 and 1."
            raise UsageError(problem, code="out-of-range")
        if self.core < 0 or self.gap < 0:
            raise UsageError("core and gap must be 0 or more.", code="out-of-range")
        self._refuse_targets()
        if self.last < 1 or self.windows < 1:
            raise UsageError("last and windows must be 1 or more.", code="out-of-range")
        if self.validation and self.way == "windows":
            raise UsageError(
                "windows are several folds already; leave validation out.", code="conflicting-options"
            )
        if self.cut is not None and self.way not in {"global", "sessions"}:
            raise UsageError(
                f"{self.way} has no cut, which is the one time of global and sessions; leave it out.",
                code="conflicting-options",
            )

    def _refuse_targets(self) -> None:
        """Check that the way has the targets and the fold-in.

        Raises:
            UsageError: it has not.
        """
        problem = ""
        if self.way not in WHOLE_USERS and (self.fold_in or self.target == "last"):
            ways = " and ".join(WHOLE_USERS)
            problem = f"a fold-in, and the last interaction as target, are of {ways}, not of {self.way}"
        elif self.target == "next" and not self.fold_in and self.way not in {"global", "windows"}:
            problem = (
                "the next interaction follows one time, with global and windows, or a fold-in, with "
                f"cold-users and sessions: {self.way} has none"
            )
        elif self.target == "last" and self.fold_in:
            problem = "before the last interaction, all are fold-in; leave its share out"
        if problem:
            raise UsageError(f"{problem}.", code="conflicting-options")

    @classmethod
    def of(cls, plan: SplitMethodName | SplitPlan) -> SplitPlan:
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
        return replace(self, cut=parse_instant(self.cut, unit))


@dataclass(frozen=True)
class SplitMethod:
    """A split method: its function, its description in a sentence, and the data it needs."""

    masks: Callable[[Interactions, SplitPlan], Masks]
    title: str
    timed: str = ""
    drawn: bool = False


def make_masks(log: Interactions, plan: SplitPlan) -> Masks:
    """The training rows and the test rows of each fold.

    Args:
        log: the interactions, by user and time.
        plan: the method of the split.

    Raises:
        UsageError: the method needs times that the log does not have.
        InputError: the training part or the test part would be empty.
    """
    refuse_untimed(log.unit, log.name, plan)
    masks = SPLIT_METHODS[plan.way].masks(log, plan)
    for train, test in masks:
        refuse_empty(bool(train.any()), bool(test.any()), log.place.label, plan)
    return masks


def next_of_users(users: pl.Series, test: Flags) -> Flags:
    """Of the rows of the test the first of each user, ``(n,)``.

    Args:
        users: ``(n,)``, the user of each row; rows of a user are together and in order.
        test: ``(n,)``, the rows of the test.

    >>> next_of_users(pl.Series([*"uuuv"]), np.array([False, True, True, True])).tolist()
    [False, True, False, True]
    """
    rows = np.flatnonzero(test)
    is_next = np.zeros(len(test), bool)
    is_next[rows[range_starts(users.gather(rows))]] = True
    return is_next


def divide_test(rows: pl.DataFrame, test: Flags, plan: SplitPlan) -> tuple[Flags | None, Flags]:
    """Divide the rows of the test into the fold-in, if the plan has one, and the targets, ``(n,)``.

    Each user's fold-in has one interaction at least, and leaves one; a single one is fold-in only.

    Args:
        rows: n rows; ``query_id``, their users, is read where the plan divides the test, and has the
            rows of a user together and in order.
        test: ``(n,)``, the rows of the test.
        plan: the plan of the split.

    >>> rows = pl.DataFrame({"query_id": [*"uuuvvvvw"]})
    >>> test = np.array([False] * 3 + [True] * 5)
    >>> fold_in, targets = divide_test(rows, test, SplitPlan("sessions", target="last"))
    >>> fold_in.astype(int).tolist(), targets.astype(int).tolist()
    ([0, 0, 0, 1, 1, 1, 0, 1], [0, 0, 0, 0, 0, 0, 1, 0])
    """
    if plan.way not in WHOLE_USERS or (plan.target == "all" and not plan.fold_in):
        return None, test if plan.target == "all" else next_of_users(rows["query_id"], test)
    indices = np.flatnonzero(test)
    position, length = _positions(rows["query_id"].gather(indices))
    size = length - 1 if plan.target == "last" else np.floor(plan.fold_in * length + 0.5).astype(np.int64)
    size = np.clip(size, 1, np.maximum(length - 1, 1))
    if _is_drawn(plan):
        random = np.random.default_rng([plan.seed, 1]).random(len(indices))
        position[np.lexsort((random, np.cumsum(position == 0)))] = position.copy()
    is_target = position == size if plan.target == "next" else position >= size
    fold_in, targets = np.zeros(len(test), bool), np.zeros(len(test), bool)
    fold_in[indices], targets[indices] = position < size, is_target
    return fold_in, targets


def _is_drawn(plan: SplitPlan) -> bool:
    """True if the fold-in is drawn at random, and not the first interactions."""
    return plan.way == "cold-users" and plan.target == "all"


def session_ids(log: Interactions, minutes: float) -> pl.Series:
    """The session of each row, ``USER#1`` and so on: a pause of more than so many minutes ends one.

    Args:
        log: the interactions, by user and time.
        minutes: the longest pause within a session.

    Raises:
        UsageError: the log has no times that can be measured in minutes.
    """
    if log.unit in {"none", "place", "order"}:
        raise UsageError(
            f"{log.name} has no times in which a gap of minutes can be measured; give them with at=COLUMN.",
            code="missing-input",
        )
    is_pause = (pl.col("at").diff().over("query_id") > round(minutes * 60e6)).fill_null(value=False)
    number = is_pause.cum_sum().over("query_id") + 1
    return log.table.select(query_id=pl.format("{}#{}", "query_id", number)).to_series()


def core_rows(log: pl.DataFrame, core: int) -> Flags:
    """The rows of the k-core, ``(n,)``: users and items with so many rows with each other.

    Args:
        log: ``query_id`` and ``doc_id``.
        core: k, the least number of rows of each user and item that remain.

    >>> log = pl.DataFrame({"query_id": [*"uuvvw"], "doc_id": [*"ababa"]})
    >>> core_rows(log, 2).tolist()
    [True, True, True, True, False]
    """
    codes = [log[name].rank("dense").to_numpy().astype(np.int64) for name in ("query_id", "doc_id")]
    is_kept, row_count = np.ones(len(log), bool), -1
    while row_count != (row_count := int(is_kept.sum())):
        for code in codes:
            is_kept &= np.bincount(code[is_kept], minlength=int(code.max(initial=0)) + 1)[code] >= core
    return is_kept


def refuse_untimed(unit: Unit, name: str, plan: SplitPlan) -> None:
    """Check that a split method works for a log with times in a unit.

    Raises:
        UsageError: the method needs times that the log does not have, or is that of two files.
    """
    if plan.way == ELSEWHERE:
        raise UsageError(
            f"{plan.way} is the way of a log in two files; give the second as the test.", code="missing-input"
        )
    needs_order = plan.way in WHOLE_USERS and not _is_drawn(plan)
    needed_times = SPLIT_METHODS[plan.way].timed or "order" * needs_order
    if needed_times and (unit == "none" or (needed_times == "clock" and unit == "place")):
        need_text = "times that hold for all users" if needed_times == "clock" else "times"
        raise UsageError(
            f"{plan.way} needs {need_text}, which {name} does not have; name their column with at=COLUMN, or "
            "choose random.",
            code="missing-input",
        )


def refuse_empty(train: object, test: object, label: str, plan: SplitPlan) -> None:
    """Check that there are training rows and test rows.

    Raises:
        InputError: a part is empty.
    """
    for rows, purpose in ((train, "to learn from"), (test, "to predict")):
        if not rows:
            problem = f"{plan.way} leaves nothing {purpose}; choose another share or way."
            raise InputError(problem, source=label, code="no-interactions")


def find_cut_position(rows: int, share: float) -> int:
    """The position of the first test time among sorted times, from 0."""
    return min(rows - 1, math.ceil((1 - share) * rows))


def window_edges(first: int, last: int, windows: int) -> list[int]:
    """The times at the edges of windows, from the first test time to the last."""
    end = last + 1
    return [first + (end - first) * i // windows for i in range(windows + 1)]


def masks_between(log: Interactions, edges: list[int]) -> Masks:
    """The masks of `windows`, from the times at the edges."""
    times = _times(log)
    return [(times < low, (times >= low) & (times < high)) for low, high in pairwise(edges)]


def masks_without_one(log: Interactions, random: np.random.Generator) -> Masks:
    """The masks of `leave-one-out`; the generator continues for further users."""
    position, length = _positions(log.table["query_id"])
    starts = np.flatnonzero(position == 0)
    sampled_position = random.integers(0, length[starts])
    test = np.zeros(len(position), bool)
    test[(starts + sampled_position)[length[starts] > 1]] = True
    return [(~test, test)]


def _split_globally(log: Interactions, plan: SplitPlan) -> Masks:
    times = _times(log)
    cut_time = plan.dated(log.unit).cut
    if not isinstance(cut_time, int):
        cut_position = find_cut_position(len(times), plan.share)
        cut_time = int(np.partition(times, cut_position)[cut_position])
    test = times >= cut_time
    return [(~test, test)]


def _split_sessions(log: Interactions, plan: SplitPlan) -> Masks:
    starts = range_starts(log.table["query_id"])
    lengths = np.diff(starts, append=len(log.table))
    ends = replace(
        log, table=log.table.with_columns(at=np.repeat(_times(log)[starts + lengths - 1], lengths))
    )
    return _split_globally(ends, plan)


def _split_windows(log: Interactions, plan: SplitPlan) -> Masks:
    times = _times(log)
    cut_position = find_cut_position(len(times), plan.share)
    first_time = int(np.partition(times, cut_position)[cut_position])
    return masks_between(log, window_edges(first_time, int(times.max()), plan.windows))


def _split_users(log: Interactions, plan: SplitPlan) -> Masks:
    position, length = _positions(log.table["query_id"])
    test_count = np.minimum(np.floor(plan.share * length + 0.5), length - 1)
    test = position >= length - test_count
    return [(~test, test)]


def _leave_last(log: Interactions, plan: SplitPlan) -> Masks:
    position, length = _positions(log.table["query_id"])
    test = (position >= length - plan.last) & (length > plan.last)
    return [(~test, test)]


def _leave_one_out(log: Interactions, plan: SplitPlan) -> Masks:
    return masks_without_one(log, np.random.default_rng(plan.seed))


def _split_randomly(log: Interactions, plan: SplitPlan) -> Masks:
    rows = len(log.table)
    test = np.zeros(rows, bool)
    row_order = np.random.default_rng(plan.seed).permutation(rows)
    test[row_order[: math.floor(plan.share * rows + 0.5)]] = True
    return [(~test, test)]


def _make_cold_split(column: str) -> Callable[[Interactions, SplitPlan], Masks]:
    def masks(log: Interactions, plan: SplitPlan) -> Masks:
        names = log.table[column].unique().sort()
        name_order = np.random.default_rng(plan.seed).permutation(len(names))
        cold_names = names.gather(np.sort(name_order[: math.floor(plan.share * len(names) + 0.5)]))
        test = log.table[column].is_in(cold_names.implode()).to_numpy()
        return [(~test, test)]

    return masks


def _times(log: Interactions) -> NDArray[np.int64]:
    return log.table["at"].to_numpy()


def _positions(owner: pl.Series) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The position of each row among the rows of its user, from 0, and the number of these rows."""
    starts = range_starts(owner)
    lengths = np.diff(starts, append=len(owner))
    return np.arange(len(owner)) - np.repeat(starts, lengths), np.repeat(lengths, lengths)


SPLIT_METHODS: Mapping[str, SplitMethod] = MappingProxyType(
    {
        "global": SplitMethod(_split_globally, "one point in time separates training from test", "clock"),
        "windows": SplitMethod(
            _split_windows, "several consecutive test periods at the end, one fold each", "clock"
        ),
        "user": SplitMethod(_split_users, "the last share of each user's interactions", "order"),
        "leave-last": SplitMethod(_leave_last, "the last interactions of each user (see --last)", "order"),
        "leave-one-out": SplitMethod(_leave_one_out, "one interaction of each user, at random", drawn=True),
        "random": SplitMethod(_split_randomly, "a share of all interactions, at random", drawn=True),
        "cold-users": SplitMethod(
            _make_cold_split("query_id"), "all interactions of a share of the users, at random", drawn=True
        ),
        "cold-items": SplitMethod(
            _make_cold_split("doc_id"), "all interactions with a share of the items, at random", drawn=True
        ),
        "sessions": SplitMethod(
            _split_sessions, "whole sessions (or users), those that end after one point in time", "clock"
        ),
    }
)
"""Every method of splitting by its name; the first is the default."""
