"""The design of a pool: how its documents and queries are drawn, and what is judged first."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Literal, get_args

from rankgate.core.declare import Count, Range
from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.data.formats.tags import read_tags_file
from rankgate.judging.pooling.sampling import QuerySampling, parse_strata

DEPTH = 10
"""The default depth of each list in the pool."""

Order = Literal["rank", "disagreement", "move-to-front", "influence"]
"""Every order; influence is that of ``holes``, on the comparison of the first two runs."""


@dataclass(frozen=True)
class PoolDesign:
    """How the documents and queries of a pool are drawn, and in which order they are judged.

    Attributes:
        depth: The depth of the pool: how many documents of each list; with strata, their last rank.
        order: What is judged first: rank, disagreement, move-to-front or influence.
        metric: The metric for --order influence, which compares the first two runs.
        rel: The smallest relevant grade, for move-to-front.
        strata: Draw a sample: 10:1,50:0.3 takes all of the first ten ranks and 30 % of the others
            down to rank 50. Each document has its probability in the column inclusion.
        queries: Sample this many queries.
        query_sampling: How to sample queries: random, stratified by head, torso and tail, or in
            proportion to frequency (pps).
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
                f"no order is called {self.order!r}; the orders are {', '.join(get_args(Order))}.",
                code="unknown-choice",
            )
        if self.query_sampling not in get_args(QuerySampling):
            raise UsageError(
                f"query_sampling={self.query_sampling!r}; choose "
                f"{', '.join(get_args(QuerySampling))}.",
                code="unknown-choice",
            )
        if self.strata:
            parse_strata(self.strata)  # strata that cannot be are an error now
        if self.queries is None and (self.query_sampling != "random" or self.sizes is not None):
            raise UsageError(
                "a way to sample queries, or their sizes, needs the number of queries; give "
                "--queries, or leave them out.",
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
        """How often each query is asked; None where nothing says so.

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
                f"{self.sizes}: no column frequency, count, size or weight; name one so.",
                code="missing-column",
            )
        numbers = table[column].cast(float, strict=False)
        return {q: n for q, n in zip(table["query_id"], numbers, strict=True) if n is not None}
