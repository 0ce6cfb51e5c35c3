"""Run requests concurrently, with retries; keep each answer at once."""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING

from rankgate.judging.llm.answers import Answer, answer_of

if TYPE_CHECKING:
    from rankgate.judging.llm.client import Client, Reply
    from rankgate.judging.llm.costs import CostLimit, Prices
    from rankgate.judging.llm.judge import Ask

OVERHEAD = 1000
"""Tokens that an endpoint may put around a request, at most; a token is a byte or more."""

_LONGEST_WAIT, _LONGEST_BACKOFF = 600.0, 60.0
_IN_A_ROW = 10
_GLANCE = 0.2


@dataclass(frozen=True)
class PairOutcome:
    """What came of a pair.

    Attributes:
        answer: the grade, or why there is none.
        answered: whether the model answered, readable or not; what was answered is not asked again.
        text: the answer as it came.
        input_tokens, output_tokens: of all tries; where nobody counted them, the most they can be.
        cost: of them; None without prices.
        attempts: requests that were sent.
        seconds: that the pair took.
    """

    answer: Answer
    answered: bool
    text: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    attempts: int = 0
    seconds: float = 0.0


@dataclass
class Work:
    """Asks until all is asked, the ceiling is reached, or it makes no sense to go on.

    Attributes:
        client: the endpoint.
        scale: the grades that are possible, with labels.
        keep: keeps an outcome for good before the next request goes out; called by one thread at
            a time.
        costs: what may be spent.
        prices: by which it is.
        most_tokens: of an answer; None where nothing bounds it.
        retries: how many times a request is tried again.
        backoff_seconds: seconds before the first of them; doubled each time, and drawn from the
            upper half, so that threads do not come back together.
        problem: why work ended early, if it makes no sense to go on.
        poor: whether it ended because of the ceiling.
    """

    client: Client
    scale: Mapping[float, str]
    keep: Callable[[Ask, PairOutcome], None]
    costs: CostLimit
    prices: Prices | None = None
    most_tokens: int | None = None
    retries: int = 5
    backoff_seconds: float = 1.0
    problem: str = ""
    poor: bool = False
    _stop: Event = field(default_factory=Event)
    _lock: Lock = field(default_factory=Lock)
    _not_before: float = 0.0
    _failed: int = 0
    _error: BaseException | None = None

    def run(self, asks: Iterable[Ask], threads: int) -> None:
        """Work through all requests; when this returns, or is interrupted, nothing is under way.

        Raises:
            RankgateError: what ``keep`` raises.
            KeyboardInterrupt: after the answers under way were kept.
        """
        left = iter(asks)
        ended = [Event() for _ in range(threads)]
        for end in ended:
            Thread(target=self._worker, args=(left, end), daemon=True).start()
        try:
            _wait_for(ended)
        except KeyboardInterrupt:
            self._stop.set()
            _wait_for(ended)
            raise
        if self._error:
            raise self._error

    def _worker(self, left: Iterator[Ask], end: Event) -> None:
        try:
            self._work_through(left)
        except Exception as error:  # noqa: BLE001 - it is raised by the thread that waits
            self._error = self._error or error
            self._stop.set()
        finally:
            end.set()

    def _work_through(self, left: Iterator[Ask]) -> None:
        while not self._stop.is_set():
            with self._lock:
                ask = next(left, None)
            if ask is None:
                return
            outcome = self._asked(ask)
            if outcome is not None:
                self._kept(ask, outcome)

    def _kept(self, ask: Ask, outcome: PairOutcome) -> None:
        with self._lock:
            self.keep(ask, outcome)
            self._failed = 0 if outcome.answered else self._failed + 1
            if self._failed >= _IN_A_ROW and not self.problem:
                result = outcome.answer.reason or ""
                self.problem = f"{self._failed} pairs in a row got {result}"
                self._stop.set()

    def _asked(self, ask: Ask) -> PairOutcome | None:
        """A pair's outcome; None where work ended before anything could be said or paid."""
        begin = time.monotonic()
        most = (len(ask.body) + OVERHEAD, self.most_tokens or 0)
        used, sent, reply = (0, 0), 0, None
        while sent <= self.retries and self._ready(sent):
            reserve = self._cost(most)
            if not self.costs.take(reserve):
                self.poor = True
                self._stop.set()
                break
            cost = reserve  # what is not known to be cheaper
            try:
                reply = self.client.send(ask.body)
                now = _used(reply, most)
                cost = self._cost(now)
            finally:
                self.costs.give_back(reserve, cost)
            used = (used[0] + now[0], used[1] + now[1])
            sent += 1
            if reply.kind != "again" or self._asks_too_much(reply):
                break
        return self._outcome(reply, used, sent, time.monotonic() - begin)

    def _outcome(
        self, reply: Reply | None, used: tuple[int, int], sent: int, seconds: float
    ) -> PairOutcome | None:
        if reply is None:
            return None
        said, text = reply.said, ""
        if said is not None:
            text = said.text
            answer = answer_of(text, self.scale)
            if answer.grade is None and said.ended:
                answer = Answer(None, f"the answer was {said.ended}", answer.comment)
        else:
            answer = Answer(None, f"no answer: {reply.problem}")
            if reply.kind == "fatal":
                self.problem = self.problem or reply.problem
                self._stop.set()
            over = self._stop.is_set() and sent <= self.retries and reply.kind != "refused"
            if over and not any(used):  # the next run takes it up where this one leaves it
                return None
        cost = None if self.prices is None else self._cost(used)
        return PairOutcome(answer, said is not None, text, *used, cost, sent, seconds)

    def _cost(self, tokens: tuple[int, int]) -> float:
        return self.prices.cost(*tokens) if self.prices else 0.0

    def _asks_too_much(self, reply: Reply) -> bool:
        """Take note of how long the server wants everybody to wait; True where it is too long."""
        if reply.wait is None:
            return False
        if reply.wait > _LONGEST_WAIT:
            self.problem = f"{reply.problem} (it asks to wait {reply.wait:.0f} seconds)"
            self._stop.set()
            return True
        with self._lock:
            self._not_before = max(self._not_before, time.monotonic() + reply.wait)
        return False

    def _ready(self, sent: int) -> bool:
        """Wait until it is time to send; False where work ended meanwhile."""
        if sent:
            backoff = min(self.backoff_seconds * 2 ** (sent - 1), _LONGEST_BACKOFF)
            self._stop.wait(backoff * random.uniform(0.5, 1))  # noqa: S311 - no secret
        while not self._stop.is_set():
            rest = self._not_before - time.monotonic()
            if rest <= 0:
                return True
            self._stop.wait(rest)
        return False


def _used(reply: Reply, most: tuple[int, int]) -> tuple[int, int]:
    """Tokens of input and output; the most they can be where nobody counted them."""
    if reply.said is None:
        return most if reply.billed else (0, 0)
    counted = (reply.said.input_tokens, reply.said.output_tokens)
    return (
        most[0] if counted[0] is None else counted[0],
        most[1] if counted[1] is None else counted[1],
    )


def _wait_for(ended: list[Event]) -> None:
    """Wait for all threads; in small steps, so that an interruption is noticed.

    Their own events are waited for: a thread whose ``join`` is interrupted counts as ended to
    Python up to 3.12, though it still runs, and its answer would be lost.
    """
    for end in ended:
        while not end.wait(_GLANCE):
            pass
