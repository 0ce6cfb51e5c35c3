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

_TRAFFIC_SHARES = {"head": 1 / 3, "torso": 2 / 3, "tail": 1.0}


def parse_strata(text: str) -> tuple[tuple[int, float], ...]:
    """Strata of ranks from ``10:1,50:0.3``: all of the first ten ranks, 30 % of the next forty.

    Raises:
        UsageError: words of another form, ranks that do not rise, a rate outside (0, 1].

    >>> parse_strata("10:1,50:0.3")
    ((10, 1.0), (50, 0.3))
    """
    strata: list[tuple[int, float]] = []
    for stratum_text in text.split(","):
        end, colon, rate = stratum_text.partition(":")
        try:
            step = (int(end), float(rate))
        except ValueError:
            step = (0, 0.0)
        if not colon or step[0] <= (strata[-1][0] if strata else 0) or not 0 < step[1] <= 1:
            raise UsageError(
                f"{stratum_text!r} is not a stratum; write RANK:RATE with rising ranks and rates "
                "between 0 and 1, as in 10:1,50:0.3.",
                code="invalid-stratum",
            )
        strata.append(step)
    return tuple(strata)


def sample_pool(
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
    last_ranks = np.array([end for end, _ in strata])
    stratum_index = np.searchsorted(last_ranks, pool["best_rank"].to_numpy())
    ranked_pool = pool.with_columns(pl.Series("at", stratum_index)).filter(
        pl.col("at") < len(strata)
    )
    ranked_pool = ranked_pool.sort("query_id", "at", "doc_id")
    chance = pl.Series("chance", np.random.default_rng(seed).random(len(ranked_pool)))
    cell = ("query_id", "at")
    size = pl.len().over(cell)
    rates = pl.col("at").replace_strict(
        dict(enumerate(rate for _, rate in strata)), return_dtype=pl.Float64
    )
    draw_count = (rates * size).round(mode="half_away_from_zero").clip(lower_bound=1)
    result = ranked_pool.with_columns(chance).with_columns(
        (pl.col("chance").rank("ordinal").over(cell) <= draw_count).alias("in"),
        (draw_count / size).alias("inclusion"),
        pl.col("at")
        .replace_strict(dict(enumerate(names)), return_dtype=pl.String)
        .alias("stratum"),
    )
    sample = result.filter("in").drop("in", "chance", "at")
    return sample.sort(PAIR), result.filter(~pl.col("in")).select(PAIR).sort(PAIR)


def sample_queries(
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
        is_drawn, chance = _sample_equally(len(names), count, rng)
    else:
        size = _query_sizes(names, sizes)
        if kind == "pps":
            is_drawn, chance = _sample_by_size(size, count, rng)
        else:
            is_drawn, chance, strata = _sample_by_stratum(size, count, rng)
    return pl.DataFrame(
        {"query_id": names, "query_inclusion": chance, "query_stratum": strata},
        schema_overrides={"query_id": pl.String, "query_stratum": pl.String},
    ).filter(pl.Series(is_drawn))


def _query_sizes(names: list[str], sizes: dict[str, float] | None) -> Floats:
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


def _sample_equally(
    total: int, count: int, rng: np.random.Generator
) -> tuple[NDArray[np.bool_], Floats]:
    is_drawn = np.zeros(total, np.bool_)
    is_drawn[rng.choice(total, count, replace=False)] = True
    return is_drawn, np.full(total, count / total)


def _sample_by_size(
    size: Floats, count: int, rng: np.random.Generator
) -> tuple[NDArray[np.bool_], Floats]:
    """Queries too large for their share are certain; the others share the rest of the count."""
    chance = np.zeros(size.size)
    is_certain = np.zeros(size.size, np.bool_)
    while True:
        remaining_count = count - int(is_certain.sum())
        chance = np.where(
            is_certain,
            1.0,
            remaining_count * size / max(size[~is_certain].sum(), np.finfo(float).tiny),
        )
        is_too_large = (chance >= 1) & ~is_certain
        if not is_too_large.any():
            break
        is_certain |= is_too_large
    other_queries = rng.permutation(np.flatnonzero(~is_certain))
    cumulative_chance = np.cumsum(chance[other_queries])
    cumulative_chance[-1:] = remaining_count  # a whole number, regardless of rounding
    steps = np.floor(np.concatenate([[0.0], cumulative_chance]) + rng.random())
    is_drawn = is_certain.copy()
    is_drawn[other_queries[np.diff(steps) > 0]] = True
    return is_drawn, chance


def _sample_by_stratum(
    size: Floats, count: int, rng: np.random.Generator
) -> tuple[NDArray[np.bool_], Floats, list[str | None]]:
    order = np.argsort(-size, kind="stable")
    middle = (np.cumsum(size[order]) - size[order] / 2) / size.sum()
    label = np.empty(size.size, np.int64)
    label[order] = np.searchsorted(list(_TRAFFIC_SHARES.values()), middle)
    label = np.minimum(label, len(_TRAFFIC_SHARES) - 1)
    members = [np.flatnonzero(label == i) for i in range(len(_TRAFFIC_SHARES))]
    group_count = sum(len(group) > 0 for group in members)
    if count < group_count:
        raise UsageError(
            f"{count} queries cannot fill {group_count} strata; ask for more queries.",
            code="out-of-range",
        )
    quota = _share_count(count, [len(group) for group in members])
    is_drawn, chance = np.zeros(size.size, np.bool_), np.zeros(size.size)
    for group, draw_count in zip(members, quota, strict=True):
        if len(group):
            is_drawn[rng.choice(group, draw_count, replace=False)] = True
            chance[group] = draw_count / len(group)
    return is_drawn, chance, [list(_TRAFFIC_SHARES)[i] for i in label]


def _share_count(count: int, capacities: list[int]) -> list[int]:
    """The count distributed one by one to the strata that have room left."""
    counts = [0] * len(capacities)
    while count:
        for i, capacity in enumerate(capacities):
            if count and counts[i] < capacity:
                counts[i] += 1
                count -= 1
    return counts
