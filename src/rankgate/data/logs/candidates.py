"""The items that a system may put into a user's list: all, all unseen ones, or a sample."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.data.stretches import range_starts

if TYPE_CHECKING:
    from numpy.typing import NDArray

CANDIDATES = ("unseen", "all", "sampled")
"""The sets of candidates; unseen is every item that the user did not have in training."""

WARNING = (
    "metrics on sampled candidates can put systems into another order than the exact ones "
    "(Krichene & Rendle, KDD 2020); never compare the two."
)


_SAMPLED = re.compile(r"\.sampled-(\d+)\b")


def sampling_mark(name: str) -> str:
    """The mark of judgments whose name says that candidates were sampled, else nothing.

    >>> sampling_mark("test.sampled-99.qrels"), sampling_mark("test.qrels")
    ('sampled(99)', '')
    """
    match = _SAMPLED.search(name)
    return f"sampled({match[1]})" if match else ""


def sampling_warnings(name: str) -> tuple[str, ...]:
    """Warn of figures by judgments whose name says that their candidates are sampled."""
    mark = sampling_mark(name)
    return (f"{mark} candidates: {WARNING}",) if mark else ()


@dataclass(frozen=True)
class Sample:
    """A sample of candidates: for each user the relevant items and sampled negatives.

    Attributes:
        table: ``query_id`` and ``doc_id``.
        negatives: the number of items to draw for each user.
        short: users with fewer items to draw from, who got all of them.
        seed: of the draw.
    """

    table: pl.DataFrame
    negatives: int
    short: int
    seed: int

    @property
    def mark(self) -> str:
        """The mark of every figure on such candidates."""
        return f"sampled({self.negatives})"

    @property
    def name(self) -> str:
        """The name of a file of these candidates."""
        return f"candidates.sampled-{self.negatives}"

    @property
    def marked(self) -> pl.DataFrame:
        """The table with the mark in every row."""
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
    """Draw items that a user never had, without replacement, each as likely as any other.

    Args:
        judged: what is predicted; each user's judged items are candidates.
        log: all interactions, of training and of the test: an item that the user had in any part
            is not drawn.
        negatives: how many to draw for each user.
        seed: of the draw.
        items: what to draw from, in byte order; the items of the log if not given.
        random: goes on drawing where another call stopped, for the next users.
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
    """For each user the sorted codes of the items that the user had."""
    sorted_pairs = known_pairs.filter(pl.col("query_id").is_in(users.implode())).sort(
        "query_id", "doc_id"
    )
    codes = items.search_sorted(sorted_pairs["doc_id"]).to_numpy().astype(np.int64)
    starts = range_starts(sorted_pairs["query_id"])
    ends = np.append(starts[1:], len(sorted_pairs))
    is_item = (
        sorted_pairs["doc_id"].is_in(items.implode()).to_numpy()
    )  # an item of the test alone has none
    for begin, end in zip(starts, ends, strict=True):
        yield codes[begin:end][is_item[begin:end]]


def draw_positions(free: int, negatives: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Draw positions of free items, in the order of drawing; all if there are too few."""
    count = min(negatives, free)
    positions: NDArray[np.int64] = rng.choice(free, count, replace=False, shuffle=False)
    return positions


def _draw_negatives(
    size: int, known_codes: NDArray[np.int64], negatives: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw items that a user does not have: positions among the free ones, turned into codes."""
    positions = np.sort(draw_positions(size - len(known_codes), negatives, rng))
    free_before = known_codes - np.arange(len(known_codes))  # free items before each that is had
    codes: NDArray[np.int64] = positions + np.searchsorted(free_before, positions, side="right")
    return codes
