"""How fast an engine is asked, and how often it is tried again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from rankgate.declare import Range


@dataclass(frozen=True)
class Pace:
    """How an engine is asked: the keys of ``[snapshot]``.

    Attributes:
        concurrency: Queries that are asked at the same time.
        rate: Queries a second, at most; unlimited without it.
        retries: How many times a query is tried again after a failure.
        backoff: Seconds before the first of them; doubled each time.
        warm_up: Queries asked before, whose answers and latencies are thrown away.
        give_up: Failed queries in a row after which the engine counts as down.
        scores: The scores of the run: the engine's, or made of the ranks.
    """

    concurrency: Annotated[int, Range(1, 256)] = 4
    rate: Annotated[float, Range(0, exclusive=True)] | None = None
    retries: Annotated[int, Range(0, 100)] = 3
    backoff: Annotated[float, Range(0, 3600)] = 0.5
    warm_up: Annotated[int, Range(0, 100_000)] = 0
    give_up: Annotated[int, Range(1)] = 10
    scores: Literal["engine", "rank"] = "engine"
