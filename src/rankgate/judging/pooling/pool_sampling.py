"""Sample pools and queries, and create judgments from a sample.

Samples have inclusion probabilities. The design of a pool defines the sampling of documents and
queries, and the order of judging. Judgments from a sample have inclusion probabilities, and the
grade −1 for the other documents of the pool.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, get_args

import numpy as np
import polars as pl

from rankgate.core.declare import Count, Range
from rankgate.core.errors import InputError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.number_formats import count_noun
from rankgate.data.query_tags import read_tags_file
from rankgate.judging.counting_ratings import PAIR

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from rankgate.core.arrays import Floats
    from rankgate.data.qrels import Qrels


QuerySampling = Literal["random", "changed", "stratified", "pps"]
"""Equal probabilities, of all queries or of those whose lists differ; as many of the head, the torso
and the tail; probabilities proportional to size."""

_TRAFFIC_SHARES = {"head": 1 / 3, "torso": 2 / 3, "tail": 1.0}


def parse_strata(text: str) -> tuple[tuple[int, float], ...]:
    """Read strata of ranks from ``10:1,50:0.3``: the first ten ranks, then 30 % of the next forty.

    Raises:
        UsageError: the text has another form; ranks do not rise; a rate is outside (0, 1].

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
                f"{stratum_text!r} is not a stratum; write RANK:RATE with rising ranks and rates between 0 "
                "and 1, as in 10:1,50:0.3.",
                code="invalid-stratum",
            )
        strata.append(step)
    return tuple(strata)


def sample_pool(
    pool: pl.DataFrame, strata: Sequence[tuple[int, float]], seed: int = 0
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """A stratified random sample of a pool, drawn query by query without replacement.

    From the N documents of a stratum, n = max(1, round(rate · N)) are drawn. The probability of
    each, n/N, is recorded as ``inclusion``. Estimates weigh a document by the inverse of this
    probability (Horvitz and Thompson 1952); infAP and similar estimators also need the pool's
    documents that were not drawn, graded −1 (Yilmaz, Kanoulas and Aslam, SIGIR 2008).

    Args:
        pool: a pool with ``best_rank``; documents beyond the last stratum are in neither result.
        strata: the last rank of each stratum with its rate.
        seed: the seed of the random draws.

    Returns:
        the sample with ``stratum`` and ``inclusion``, and the rest of the pool.
    """
    begins = [1, *(end + 1 for end, _ in strata[:-1])]
    names = [f"{begin}-{end}" for begin, (end, _) in zip(begins, strata, strict=True)]
    last_ranks = np.array([end for end, _ in strata])
    stratum_index = np.searchsorted(last_ranks, pool["best_rank"].to_numpy())
    ranked_pool = pool.with_columns(pl.Series("at", stratum_index)).filter(pl.col("at") < len(strata))
    ranked_pool = ranked_pool.sort("query_id", "at", "doc_id")
    chance = pl.Series("chance", np.random.default_rng(seed).random(len(ranked_pool)))
    cell = ("query_id", "at")
    size = pl.len().over(cell)
    rates = pl.col("at").replace_strict(dict(enumerate(rate for _, rate in strata)), return_dtype=pl.Float64)
    draw_count = (rates * size).round(mode="half_away_from_zero").clip(lower_bound=1)
    result = ranked_pool.with_columns(chance).with_columns(
        (pl.col("chance").rank("ordinal").over(cell) <= draw_count).alias("in"),
        (draw_count / size).alias("inclusion"),
        pl.col("at").replace_strict(dict(enumerate(names)), return_dtype=pl.String).alias("stratum"),
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
    """Draw a sample of queries.

    Args:
        queries: all queries.
        count: the number of queries to draw.
        kind: ``random`` and ``changed``: each with the same probability, so that a larger number of
            ``changed`` queries has the smaller one in it; ``stratified``: equal numbers from head,
            torso and tail, each with a third of the traffic; ``pps``: with probabilities
            proportional to size, by a systematic draw through the queries in random order (Madow
            1949).
        sizes: the frequency of each query; not needed for ``random`` and ``changed``.
        seed: the seed of the random draws.

    Returns:
        ``query_id``, ``query_inclusion`` (the probability of being drawn), ``query_stratum``
        (null except for ``stratified``), by query.

    Raises:
        UsageError: there are fewer queries; sizes are missing or not above 0.
    """
    names = sorted(queries)
    if not 0 < count <= len(names):
        raise UsageError(
            f"{count_noun(count, 'query')} of {len(names)} cannot be drawn; ask for fewer.",
            code="out-of-range",
        )
    rng = np.random.default_rng(seed)
    strata: list[str | None] = [None] * len(names)
    if kind == "random":
        total = len(names)
        is_drawn = np.zeros(total, np.bool_)
        is_drawn[rng.choice(total, count, replace=False)] = True
        chance = np.full(total, count / total)
    elif kind == "changed":
        is_drawn, chance = rng.permutation(len(names)) < count, np.full(len(names), count / len(names))
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
        raise UsageError("this sample needs the frequency of each query; give sizes.", code="missing-input")
    missing = [name for name in names if not sizes.get(name, 0) > 0]
    if missing:
        raise UsageError(
            f"query {missing[0]!r} has no size above 0 "
            f"({count_noun(len(missing), 'such query')}); give a size, or leave the query out.",
            code="missing-input",
        )
    return np.array([sizes[name] for name in names], np.float64)


def _sample_by_size(size: Floats, count: int, rng: np.random.Generator) -> tuple[NDArray[np.bool_], Floats]:
    """Draw queries with probabilities in proportion to size, at most 1."""
    chance = np.zeros(size.size)
    is_certain = np.zeros(size.size, np.bool_)
    while True:
        remaining_count = count - int(is_certain.sum())
        chance = np.where(
            is_certain, 1.0, remaining_count * size / max(size[~is_certain].sum(), np.finfo(float).tiny)
        )
        is_too_large = (chance >= 1) & ~is_certain
        if not is_too_large.any():
            break
        is_certain |= is_too_large
    other_queries = rng.permutation(np.flatnonzero(~is_certain))
    cumulative_chance = np.cumsum(chance[other_queries])
    cumulative_chance[-1:] = remaining_count  # round to a whole number in spite of rounding errors
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
            f"{count_noun(count, 'query cannot', 'queries cannot')} fill {group_count} strata; ask for more "
            "queries.",
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
    """Distribute the count one by one to the strata that have room left."""
    counts = [0] * len(capacities)
    while count:
        for i, capacity in enumerate(capacities):
            if count and counts[i] < capacity:
                counts[i] += 1
                count -= 1
    return counts


DEPTH = 10
"""The default depth of each list in the pool."""

Order = Literal["rank", "disagreement", "move-to-front", "influence"]
"""The order of a pool; ``influence`` uses ``holes`` of the comparison of the first two runs."""


@dataclass(frozen=True)
class PoolDesign:
    """The sampling of the documents and queries of a pool, and the order of judging.

    Attributes:
        depth: The depth of the pool: how many documents of each list; with strata, their last rank.
        order: The order of judging: rank, disagreement, move-to-front or influence.
        metric: The metric for ``order`` influence, which compares the first two runs.
        rel: The smallest relevant grade, for move-to-front.
        strata: Draw a sample: 10:1,50:0.3 takes all of the first ten ranks and 30 % of the others
            down to rank 50. Each document has its probability in the column inclusion.
        queries: Sample this many queries.
        query_sampling: The sampling of queries: random, random among those whose lists differ
            (changed), stratified by head, torso and tail, or in proportion to frequency (pps).
        sizes: A table of query_id and frequency (or count, size, weight), for --query-sampling
            stratified and pps.
        seed: The seed of the random numbers.

    Raises:
        UsageError: an unknown order or way to sample; strata that cannot be; a way to sample
            queries, or their sizes, without a number of queries.

    >>> PoolDesign(strata="5:1,20:0.3").last_rank
    20
    """

    depth: Count = DEPTH
    order: Order = "rank"
    metric: str = "nDCG@10"
    rel: float = 1.0
    strata: str | None = None
    queries: Count | None = None
    query_sampling: QuerySampling = "random"
    sizes: Mapping[str, float] | str | Path | None = None
    seed: Annotated[int, Range(0)] = 0

    def __post_init__(self) -> None:
        if self.order not in get_args(Order):
            raise UsageError(
                f"unknown order {self.order!r}; the orders are {', '.join(get_args(Order))}.",
                code="unknown-choice",
            )
        if self.query_sampling not in get_args(QuerySampling):
            raise UsageError(
                f"query_sampling={self.query_sampling!r}; choose {', '.join(get_args(QuerySampling))}.",
                code="unknown-choice",
            )
        if self.strata:
            parse_strata(self.strata)  # invalid strata are an error before the work
        if self.queries is None and (self.query_sampling != "random" or self.sizes is not None):
            raise UsageError(
                "a way to sample queries, or their sizes, needs the number of queries; give --queries, or "
                "leave them out.",
                code="missing-input",
            )

    @property
    def ranks(self) -> tuple[tuple[int, float], ...]:
        """The last rank of each stratum with its rate; none without strata."""
        return parse_strata(self.strata) if self.strata else ()

    @property
    def last_rank(self) -> int:
        """The last rank of a list that is in the pool."""
        return self.ranks[-1][0] if self.strata else self.depth

    def frequencies(self) -> dict[str, float] | None:
        """The frequency of each query; None where it is not known.

        Raises:
            InputError: a table that cannot be read.
            UsageError: a table without such a column.
        """
        if self.sizes is None or isinstance(self.sizes, Mapping):
            return None if self.sizes is None else dict(self.sizes)
        table = read_tags_file(self.sizes)
        columns = {name.lower(): name for name in table.columns}
        usual_names = ("frequency", "count", "size", "weight")
        column = next((columns[name] for name in usual_names if name in columns), None)
        if column is None:
            raise UsageError(
                f"{self.sizes}: no column frequency, count, size or weight; rename a column.",
                code="missing-column",
            )
        numbers = table[column].cast(float, strict=False)
        return {q: n for q, n in zip(table["query_id"], numbers, strict=True) if n is not None}


UNDRAWN_GRADE = -1.0
"""The grade of undrawn documents of the pool, as infAP requires it."""

_SAMPLE_COLUMNS = ("stratum", "inclusion")


def add_inclusion(qrels: Qrels, sample: pl.DataFrame, rest: Qrels | None = None) -> Qrels:
    """Add inclusion probabilities to judgments, for estimates from a sample.

    Args:
        qrels: the grades of drawn documents.
        sample: ``query_id``, ``doc_id``, ``stratum`` and ``inclusion`` of the documents drawn.
        rest: the pool's documents that were not drawn, graded −1.

    Returns:
        the judgments with ``stratum`` and ``inclusion``; with a rest also the drawn documents
        without a grade and the rest, graded −1, which have neither.

    Raises:
        InputError: a graded document is not in the sample, or is in the rest; the rest has grades.
    """
    outside_sample = qrels.table.join(sample, on=PAIR, how="anti")
    if len(outside_sample):
        query, document = outside_sample.row(0)[:2]
        problem = (
            f"document '{document}' of query '{query}' has a grade and is not in the sample "
            f"({len(outside_sample)} such); estimates need its inclusion probability: remove it."
        )
        raise InputError(problem, source=qrels.name, code="not-in-sample")
    inclusions = sample.select(*PAIR, *(name for name in _SAMPLE_COLUMNS if name in sample.columns))
    table = qrels.table.select(*PAIR, "grade").join(inclusions, on=PAIR, how="left", maintain_order="left")
    if rest is not None:
        ungraded = sample.select(PAIR).join(qrels.table, on=PAIR, how="anti", maintain_order="left")
        ungraded_rows = ungraded.with_columns(pl.lit(UNDRAWN_GRADE).alias("grade"))
        graded_rows = rest.table.filter(pl.col("grade") != UNDRAWN_GRADE)
        if len(graded_rows):
            query, document, grade = graded_rows.select(*PAIR, "grade").row(0)
            problem = f"document '{document}' of query '{query}' has grade {grade:g}, where -1 is needed."
            raise InputError(problem, source=rest.name, code="contradiction")
        overlap = qrels.table.join(rest.table, on=PAIR, how="semi")
        if len(overlap):
            query, document = overlap.row(0)[:2]
            problem = f"document '{document}' of query '{query}' was drawn and is in the rest too."
            raise InputError(problem, source=rest.name, code="contradiction")
        table = pl.concat([table, ungraded_rows, rest.table.select(*PAIR, "grade")], how="diagonal")
    return replace(qrels, table=table)
