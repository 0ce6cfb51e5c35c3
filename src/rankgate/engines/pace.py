"""The rate, concurrency and retries of requests to an engine."""

from __future__ import annotations

from typing import Annotated, Literal

from rankgate.core.declare import Range
from rankgate.core.frozen import dataclass


@dataclass(frozen=True)
class Pace:
    """The pace of requests to an engine: the keys of ``[snapshot]``.

    Attributes:
        concurrency: Queries that are asked at the same time.
        rate: Queries a second, at most; unlimited without it.
        retries: How many times a query is tried again after a failure.
        backoff: Seconds before the first of them; doubled each time.
        warm_up: Queries asked before, whose answers and latencies are thrown away.
        give_up: Failed queries in a row after which the engine counts as down.
        scores: The scores of the run: the engine's, equal ones lowered by the least step so that
            their documents stay in the order in which they were served (served); the engine's as
            they are (engine); or made of the ranks (rank).
    """

    concurrency: Annotated[int, Range(1, 256)] = 4
    rate: Annotated[float, Range(0, exclusive=True)] | None = None
    retries: Annotated[int, Range(0, 100)] = 3
    backoff: Annotated[float, Range(0, 3600)] = 0.5
    warm_up: Annotated[int, Range(0, 100_000)] = 0
    give_up: Annotated[int, Range(1)] = 10
    scores: Literal["served", "engine", "rank"] = "served"

    def slower(self, other_pace: Pace) -> Pace:
        """The pace that neither of two engines' files exceeds."""
        rates = [rate for rate in (self.rate, other_pace.rate) if rate is not None]
        return Pace(
            concurrency=min(self.concurrency, other_pace.concurrency),
            rate=min(rates, default=None),
            retries=max(self.retries, other_pace.retries),
            backoff=max(self.backoff, other_pace.backoff),
            warm_up=max(self.warm_up, other_pace.warm_up),
            give_up=min(self.give_up, other_pace.give_up),
        )
