"""Ask engines queries: in threads, again after failures, until one is down."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack, suppress
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from itertools import chain
from queue import Empty, SimpleQueue
from threading import Lock
from typing import TYPE_CHECKING, TypeAlias

from rankgate.engines.engine import Answer
from rankgate.engines.failure import Failure
from rankgate.engines.requests.workers import Workers
from rankgate.engines.snapshots.outcome import Outcome

if TYPE_CHECKING:
    from rankgate.engines.engine import Connection, Engine, Query
    from rankgate.engines.pace import Pace

_GLANCE = 0.2  # seconds between two looks whether work ended

Task: TypeAlias = "tuple[int, Query]"
"""The number of an engine, and what it is asked."""


@dataclass
class Asking:
    """Asks until all is asked, or an engine counts as down.

    There are more threads than connections: while one puts its answers on disk, which takes as long
    as the disk takes, another one asks with its connection. No thread asks again before what it
    asked is on disk.

    Attributes:
        engines: what is asked; one, or several that are compared.
        pace: how fast and how often.
        keep: puts an outcome of an engine on disk; called by many threads.
        answered: for each engine, whether it has ever answered.
        problem: why it ended early.
        ended: the number of the engine that had the problem.
    """

    engines: Sequence[Engine]
    pace: Pace
    keep: Callable[[int, Outcome], None]
    answered: list[bool]
    workers: Workers = field(init=False)
    problem: str = ""
    ended: int = 0
    _lock: Lock = field(default_factory=Lock)
    _failed: list[list[Outcome]] = field(init=False)
    _slots: SimpleQueue[list[Connection]] = field(default_factory=SimpleQueue)
    _connected: int = 0

    def __post_init__(self) -> None:
        self.workers = Workers(self.pace.backoff, self.pace.rate)
        self._failed = [[] for _ in self.engines]

    def run(self, groups: Sequence[Sequence[Task]]) -> None:
        """Ask every query; when this returns, or is interrupted, nothing is under way.

        Args:
            groups: what one thread asks one after the other.

        Raises:
            RankgateError: an engine cannot be connected to; what ``keep`` raises.
            KeyboardInterrupt: after the answers under way were kept.
        """
        left = iter(groups)
        with ExitStack() as stack:
            self._warm_up(groups[: self.pace.warm_up], stack)
            threads = self.pace.concurrency + self.pace.concurrency // 2 + 1
            self.workers.run(lambda: self._through(left, stack), min(threads, len(groups)))

    def failed_while_down(self, number: int) -> list[str]:
        """The queries that failed since an engine answered for the last time, if it is down."""
        if self.answered[number] and not self.problem:
            return []
        return [outcome.query_id for outcome in self._failed[number] if outcome.down]

    def _warm_up(self, groups: Sequence[Sequence[Task]], stack: ExitStack) -> None:
        if not groups:
            return
        connections = [self._opened(engine, stack) for engine in self.engines]
        for number, query in chain.from_iterable(groups):
            if isinstance(connections[number].ask(query), Answer):
                self.answered[number] = True
        self._slots.put(connections)
        self._connected = 1

    def _through(self, left: Iterator[Sequence[Task]], stack: ExitStack) -> None:
        """Ask with connections that are free, and keep the answers while another thread asks."""
        self._connect(stack)
        while (connections := self._free()) is not None:
            try:
                with self._lock:
                    group = next(left, ())
                outcomes = [
                    (number, self._asked(number, connections[number], query))
                    for number, query in group
                ]
                self._count(outcomes)
            finally:
                self._slots.put(connections)
            if not group:
                return
            for number, outcome in outcomes:
                if outcome is not None:
                    self.keep(number, replace(outcome, concurrency=self.pace.concurrency))

    def _connect(self, stack: ExitStack) -> None:
        """As many threads as may ask at the same time make a connection to each engine."""
        with self._lock:
            if self._connected == self.pace.concurrency:
                return
            self._connected += 1
        self._slots.put([self._opened(engine, stack) for engine in self.engines])

    def _opened(self, engine: Engine, stack: ExitStack) -> Connection:
        connection = engine.connect()
        with self._lock:
            stack.callback(connection.close)
        return connection

    def _free(self) -> list[Connection] | None:
        """Connections that no thread uses; None where work ended."""
        while not self.workers.stop.is_set():
            with suppress(Empty):
                return self._slots.get(timeout=_GLANCE)
        return None

    def _asked(self, number: int, connection: Connection, query: Query) -> Outcome | None:
        """The outcome of a query; None where work ended before it had one."""
        began = datetime.now(UTC)
        latencies: list[float] = []
        reply: Answer | Failure | None = None
        while len(latencies) <= self.pace.retries and self.workers.ready(len(latencies)):
            start = time.perf_counter()
            reply = connection.ask(query)
            latencies.append(round((time.perf_counter() - start) * 1000, 3))
            if not isinstance(reply, Failure) or reply.kind != "again":
                break
            if not self._waits(number, reply):
                break
        if reply is None:
            return None
        started = began.isoformat(timespec="milliseconds")
        if isinstance(reply, Answer):
            self.answered[number] = True
            return answered(query, reply, started, latencies)
        if reply.kind == "fatal" and not self.answered[number]:  # not this query's fault
            self._end(number, reply.problem)
            return None
        tries_left = reply.kind == "again" and len(latencies) <= self.pace.retries
        if tries_left and self.workers.stop.is_set():
            return None  # the next run takes it up where this one leaves it
        down = reply.kind != "refused"
        return Outcome(query.query_id, "failed", started, latencies, reply.problem, down=down)

    def _waits(self, number: int, failure: Failure) -> bool:
        """Whether to try again, after as long as the engine asks all to wait."""
        if failure.wait is None or self.workers.hold(failure.wait):
            return True
        problem = f"{failure.problem} (it asks to wait {failure.wait:.0f} seconds)"
        self._end(number, problem)
        return False

    def _count(self, outcomes: Sequence[tuple[int, Outcome | None]]) -> None:
        """Count failures in a row; an engine with too many is down."""
        for number, outcome in outcomes:
            if outcome is None:
                continue
            with self._lock:
                row = [*self._failed[number], outcome] if outcome.state == "failed" else []
                self._failed[number] = row
            if len(row) >= self.pace.give_up:
                self._end(number, f"{len(row)} queries in a row failed: {outcome.error}")

    def _end(self, number: int, problem: str) -> None:
        with self._lock:
            if not self.problem:
                self.problem, self.ended = problem, number
        self.workers.stop.set()


def answered(
    query: Query, answer: Answer, started: str = "", latencies: Sequence[float] = ()
) -> Outcome:
    """The outcome that an answer is."""
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
        shared=answer.shared,
        unusable=answer.unusable,
        partial=answer.partial,
        shown=shown,
    )
