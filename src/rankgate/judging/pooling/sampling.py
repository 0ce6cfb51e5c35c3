"""Sample pools and queries, with inclusion probabilities."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Literal

import numpy as np
import polars as pl

from rankgate.core.errors import UsageError
from rankgate.judging.standing import PAIR

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

QuerySampling = Literal["random", "stratified", "pps"]
"""Equal chances; as many of the head, the torso and the tail; chances proportional to size."""

_SHARES = {"head": 1 / 3, "torso": 2 / 3, "tail": 1.0}


def strata_of(words: str) -> tuple[tuple[int, float], ...]:
    """Strata of ranks from ``10:1,50:0.3``: all of the first ten ranks, 30 % of the next forty.

    Raises:
        UsageError: words of another form, ranks that do not rise, a rate outside (0, 1].

    >>> strata_of("10:1,50:0.3")
    ((10, 1.0), (50, 0.3))
    """
    items: list[tuple[int, float]] = []
    for word in words.split(","):
        end, colon, rate = word.partition(":")
        try:
            step = (int(end), float(rate))
        except ValueError:
            step = (0, 0.0)
        if not colon or step[0] <= (items[-1][0] if items else 0) or not 0 < step[1] <= 1:
            raise UsageError(
                f"{word!r} is not a stratum; write RANK:RATE with rising ranks and rates between 0 "
                "and 1, as in 10:1,50:0.3.",
                code="invalid-stratum",
            )
        items.append(step)
    return tuple(items)


def sampled(
    pool: pl.DataFrame, strata: Sequence[tuple[int, float]], seed: int = 0
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """A stratified random sample of a pool, drawn query by query without replacement.

    Of the N documents of a stratum n = max(1, round(rate · N)) are drawn; each had the
    probability n/N to be drawn, which is recorded as ``inclusion``. Estimates weigh a document
    by its inverse (Horvitz and Thompson 1952); infAP and its like also need the pool's documents
    that were not drawn, graded −1 (Yilmaz, Kanoulas and Aslam, SIGIR 2008).

    Args:
        pool: with ``best_rank``; documents beyond the last stratum are in neither part.
        strata: the last rank of each with its rate.
        seed: of the drawing.

    Returns:
        the sample with ``stratum`` and ``inclusion``, and the rest of the pool.
    """
    begins = [1, *(end + 1 for end, _ in strata[:-1])]
    names = [f"{begin}-{end}" for begin, (end, _) in zip(begins, strata, strict=True)]
    ends = np.array([end for end, _ in strata])
    place = np.searchsorted(ends, pool["best_rank"].to_numpy())
    within = pool.with_columns(pl.Series("at", place)).filter(pl.col("at") < len(strata))
    within = within.sort("query_id", "at", "doc_id")
    chance = pl.Series("chance", np.random.default_rng(seed).random(len(within)))
    cell = ("query_id", "at")
    size = pl.len().over(cell)
    rates = pl.col("at").replace_strict(
        dict(enumerate(rate for _, rate in strata)), return_dtype=pl.Float64
    )
    drawn = (rates * size).round(mode="half_away_from_zero").clip(lower_bound=1)
    result = within.with_columns(chance).with_columns(
        (pl.col("chance").rank("ordinal").over(cell) <= drawn).alias("in"),
        (drawn / size).alias("inclusion"),
        pl.col("at")
        .replace_strict(dict(enumerate(names)), return_dtype=pl.String)
        .alias("stratum"),
    )
    kept = result.filter("in").drop("in", "chance", "at")
    return kept.sort(PAIR), result.filter(~pl.col("in")).select(PAIR).sort(PAIR)


def queries_drawn(
    queries: Sequence[str],
    count: int,
    kind: QuerySampling = "random",
    sizes: dict[str, float] | None = None,
    seed: int = 0,
) -> pl.DataFrame:
    """A sample of queries.

    Args:
        queries: all of them.
        count: how many to draw.
        kind: ``random``: each with the same probability; ``stratified``: as many of the head, the
            torso and the tail, which have a third of the traffic each; ``pps``: with probabilities
            proportional to size, by a systematic draw through the queries in random order (Madow
            1949).
        sizes: how often each query is asked; needed by all but ``random``.
        seed: of the drawing.

    Returns:
        ``query_id``, ``query_inclusion`` (the probability of being drawn), ``query_stratum``
        (null but for ``stratified``), by query.

    Raises:
        UsageError: more than there are, sizes that are missing or not above 0.
    """
    names = sorted(queries)
    if not 0 < count <= len(names):
        raise UsageError(
            f"{count} queries of {len(names)} cannot be drawn; ask for fewer.", code="out-of-range"
        )
    rng = np.random.default_rng(seed)
    strata: list[str | None] = [None] * len(names)
    if kind == "random":
        chosen, chance = _alike(len(names), count, rng)
    else:
        size = _sizes(names, sizes)
        if kind == "pps":
            chosen, chance = _proportional(size, count, rng)
        else:
            chosen, chance, strata = _stratified(size, count, rng)
    return pl.DataFrame(
        {"query_id": names, "query_inclusion": chance, "query_stratum": strata},
        schema_overrides={"query_id": pl.String, "query_stratum": pl.String},
    ).filter(pl.Series(chosen))


def _sizes(names: list[str], sizes: dict[str, float] | None) -> Floats:
    if sizes is None:
        raise UsageError(
            "this sample needs to know how often each query is asked; give sizes.",
            code="missing-input",
        )
    missing = [name for name in names if not sizes.get(name, 0) > 0]
    if missing:
        raise UsageError(
            f"query {missing[0]!r} has no size above 0 ({len(missing)} such queries); give one, "
            "or leave the query out.",
            code="missing-input",
        )
    return np.array([sizes[name] for name in names], np.float64)


def _alike(total: int, count: int, rng: np.random.Generator) -> tuple[NDArray[np.bool_], Floats]:
    chosen = np.zeros(total, np.bool_)
    chosen[rng.choice(total, count, replace=False)] = True
    return chosen, np.full(total, count / total)


def _proportional(
    size: Floats, count: int, rng: np.random.Generator
) -> tuple[NDArray[np.bool_], Floats]:
    """Queries too large for their share are certain; the others share the rest of the count."""
    chance = np.zeros(size.size)
    sure = np.zeros(size.size, np.bool_)
    while True:
        left = count - int(sure.sum())
        chance = np.where(sure, 1.0, left * size / max(size[~sure].sum(), np.finfo(float).tiny))
        over = (chance >= 1) & ~sure
        if not over.any():
            break
        sure |= over
    others = rng.permutation(np.flatnonzero(~sure))
    ends = np.cumsum(chance[others])
    ends[-1:] = left  # a whole number, regardless of rounding
    steps = np.floor(np.concatenate([[0.0], ends]) + rng.random())
    chosen = sure.copy()
    chosen[others[np.diff(steps) > 0]] = True
    return chosen, chance


def _stratified(
    size: Floats, count: int, rng: np.random.Generator
) -> tuple[NDArray[np.bool_], Floats, list[str | None]]:
    order = np.argsort(-size, kind="stable")
    middle = (np.cumsum(size[order]) - size[order] / 2) / size.sum()
    label = np.empty(size.size, np.int64)
    label[order] = np.searchsorted(list(_SHARES.values()), middle)
    label = np.minimum(label, len(_SHARES) - 1)
    members = [np.flatnonzero(label == i) for i in range(len(_SHARES))]
    filled = sum(len(each) > 0 for each in members)
    if count < filled:
        raise UsageError(
            f"{count} queries cannot fill {filled} strata; ask for more queries.",
            code="out-of-range",
        )
    quota = _shared(count, [len(each) for each in members])
    chosen, chance = np.zeros(size.size, np.bool_), np.zeros(size.size)
    for own, drawn in zip(members, quota, strict=True):
        if len(own):
            chosen[rng.choice(own, drawn, replace=False)] = True
            chance[own] = drawn / len(own)
    return chosen, chance, [list(_SHARES)[i] for i in label]


def _shared(count: int, rooms: list[int]) -> list[int]:
    """The count distributed one by one to the strata that have room left."""
    items = [0] * len(rooms)
    while count:
        for i, room in enumerate(rooms):
            if count and items[i] < room:
                items[i] += 1
                count -= 1
    return items
