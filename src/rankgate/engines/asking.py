"""Ask an engine every query: in threads, again after failures, until it is down."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from threading import Lock
from typing import TYPE_CHECKING

from rankgate.engines.engine import Answer, Failure
from rankgate.engines.outcome import Outcome
from rankgate.engines.workers import Workers

if TYPE_CHECKING:
    from rankgate.engines.engine import Connection, Engine, Query
    from rankgate.engines.pace import Pace


@dataclass
class Asking:
    """Asks until all is asked, or the engine counts as down.

    Attributes:
        engine: what is asked.
        pace: how fast and how often.
        keep: puts an outcome on disk; called by many threads.
        problem: why it ended early.
    """

    engine: Engine
    pace: Pace
    keep: Callable[[Outcome], None]
    workers: Workers = field(init=False)
    problem: str = ""
    _lock: Lock = field(default_factory=Lock)
    _failed: int = 0

    def __post_init__(self) -> None:
        self.workers = Workers(self.pace.backoff, self.pace.rate)

    def run(self, queries: Sequence[Query]) -> None:
        """Ask every query; when this returns, or is interrupted, nothing is under way.

        Raises:
            RankgateError: the engine cannot be connected to; what ``keep`` raises.
            KeyboardInterrupt: after the answers under way were kept.
        """
        self._warm_up(queries[: self.pace.warm_up])
        left = iter(queries)
        self.workers.run(lambda: self._through(left), min(self.pace.concurrency, len(queries)))

    def _warm_up(self, queries: Sequence[Query]) -> None:
        if not queries:
            return
        connection = self.engine.connect()
        try:
            for query in queries:
                connection.ask(query)
        finally:
            connection.close()

    def _through(self, left: Iterator[Query]) -> None:
        connection = self.engine.connect()
        try:
            while not self.workers.stop.is_set():
                with self._lock:
                    query = next(left, None)
                if query is None:
                    return
                outcome = self._asked(connection, query)
                if outcome is not None:
                    self.keep(outcome)
                    self._count(outcome)
        finally:
            connection.close()

    def _asked(self, connection: Connection, query: Query) -> Outcome | None:
        """The outcome of a query; None where work ended before it had one."""
        began = datetime.now(UTC)
        latencies: list[float] = []
        reply: Answer | Failure | None = None
        while len(latencies) <= self.pace.retries and self.workers.ready(len(latencies)):
            start = time.perf_counter()
            reply = connection.ask(query)
            latencies.append(round((time.perf_counter() - start) * 1000, 3))
            if isinstance(reply, Answer) or reply.kind != "again" or not self._waits(reply):
                break
        if reply is None:
            return None
        started = began.isoformat(timespec="milliseconds")
        if isinstance(reply, Answer):
            return _answered(query, reply, started, latencies)
        if reply.kind == "fatal":
            self._end(reply.problem)
        over = self.workers.stop.is_set() and reply.kind != "refused"
        if over and len(latencies) <= self.pace.retries:
            return None  # the next run takes it up where this one leaves it
        return Outcome(query.query_id, "failed", started, latencies, reply.problem)

    def _waits(self, failure: Failure) -> bool:
        """Whether to try again, after as long as the engine asks all to wait."""
        if failure.wait is None or self.workers.hold(failure.wait):
            return True
        self._end(f"{failure.problem} (it asks to wait {failure.wait:.0f} seconds)")
        return False

    def _count(self, outcome: Outcome) -> None:
        with self._lock:
            self._failed = self._failed + 1 if outcome.state == "failed" else 0
            down = self._failed >= self.pace.give_up
        if down:
            self._end(f"{self._failed} queries in a row failed: {outcome.error}")

    def _end(self, problem: str) -> None:
        self.problem = self.problem or problem
        self.workers.stop.set()


def _answered(query: Query, answer: Answer, started: str, latencies: Sequence[float]) -> Outcome:
    shown = {
        doc_id: values
        for doc_id, values in zip(answer.doc_ids, answer.fields, strict=False)
        if values
    }
    return Outcome(
        query.query_id,
        "ok" if answer.doc_ids else "zero",
        started,
        latencies,
        doc_ids=answer.doc_ids,
        scores=answer.scores,
        total=answer.total,
        repeated=answer.repeated,
        shown=shown,
    )
