"""The items that a system may put into a user's list: all, all unseen ones, or a sample."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING

import numpy as np
import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.data.stretches import starts_of

if TYPE_CHECKING:
    from numpy.typing import NDArray

CANDIDATES = ("unseen", "all", "sampled")
"""The sets of candidates; unseen is all but what the user had in training."""

WARNING = (
    "metrics on sampled candidates can put systems into another order than the exact ones "
    "(Krichene & Rendle, KDD 2020); never compare the two."
)


_SAMPLED = re.compile(r"\.sampled-(\d+)\b")


def mark_in(name: str) -> str:
    """The mark of judgments whose name says that their candidates were sampled, else nothing.

    >>> mark_in("test.sampled-99.qrels"), mark_in("test.qrels")
    ('sampled(99)', '')
    """
    found = _SAMPLED.search(name)
    return f"sampled({found[1]})" if found else ""


def warned(name: str) -> tuple[str, ...]:
    """What to know of figures by judgments of this name: their candidates may be sampled."""
    mark = mark_in(name)
    return (f"{mark} candidates: {WARNING}",) if mark else ()


@dataclass(frozen=True)
class Sample:
    """A sample of candidates: for each user the relevant items, and negatives that were drawn.

    Attributes:
        table: ``query_id`` and ``doc_id``.
        negatives: how many were to be drawn for each user.
        short: users with fewer items to draw from, who got all of them.
        seed: of the draw.
    """

    table: pl.DataFrame
    negatives: int
    short: int
    seed: int

    @property
    def mark(self) -> str:
        """What every figure on such candidates is marked with."""
        return f"sampled({self.negatives})"

    @property
    def name(self) -> str:
        """What to call a file of them."""
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
    had = pl.concat([log.select("query_id", "doc_id"), judged]).unique()
    drawn, short = [], 0
    rng = random or np.random.default_rng(seed)
    for codes in _had(had, users, items):
        free = len(items) - len(codes)
        short += free < negatives
        drawn.append(_drawn(len(items), codes, negatives, rng))
    lengths = np.fromiter(map(len, drawn), np.int64, len(drawn))
    picked = np.concatenate([np.zeros(0, np.int64), *drawn])
    frame = pl.DataFrame(
        {
            "query_id": users.gather(np.repeat(np.arange(len(users)), lengths)),
            "doc_id": items.gather(picked),
        }
    )
    table = pl.concat([judged, frame]).sort("query_id", "doc_id")
    return Sample(table, negatives, short, seed)


def _had(had: pl.DataFrame, users: pl.Series, items: pl.Series) -> Iterator[NDArray[np.int64]]:
    """For each user the sorted codes of the items that the user had."""
    known = had.filter(pl.col("query_id").is_in(users.implode())).sort("query_id", "doc_id")
    codes = items.search_sorted(known["doc_id"]).to_numpy().astype(np.int64)
    starts = starts_of(known["query_id"])
    ends = np.append(starts[1:], len(known))
    inside = known["doc_id"].is_in(items.implode()).to_numpy()  # an item of the test alone has none
    for begin, end in zip(starts, ends, strict=True):
        yield codes[begin:end][inside[begin:end]]


def drawn_places(free: int, negatives: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """So many places of free items in the order of drawing, or all where there are fewer."""
    many = min(negatives, free)
    places: NDArray[np.int64] = rng.choice(free, many, replace=False, shuffle=False)
    return places


def _drawn(
    size: int, had: NDArray[np.int64], negatives: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """So many of the items that are not had: places among the free ones, turned into codes."""
    places = np.sort(drawn_places(size - len(had), negatives, rng))
    free_before = had - np.arange(len(had))  # free items before each that is had
    codes: NDArray[np.int64] = places + np.searchsorted(free_before, places, side="right")
    return codes
