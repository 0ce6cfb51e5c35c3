"""Run requests concurrently, with retries; keep each answer at once."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field, replace
from functools import partial
from threading import Lock
from typing import TYPE_CHECKING, Protocol

from rankgate.core.frozen import dataclass
from rankgate.engines.requests.workers import Workers
from rankgate.judging.llm.answers import Answer, parse_answer
from rankgate.judging.llm.costs import Usage

if TYPE_CHECKING:
    from rankgate.judging.llm.client import Client, Reply
    from rankgate.judging.llm.costs import Budget, Prices
    from rankgate.judging.llm.judge import JudgeRequest

OVERHEAD = 1000
"""Tokens that an endpoint may put around a request, at most; a token is a byte or more."""

_MAX_FAILURES = 10


@dataclass(frozen=True)
class PairOutcome:
    """The outcome of a pair.

    Attributes:
        answer: the grade, or why there is none.
        answered: True if the model answered, readable or not; answered pairs are not asked again.
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


class RequestLog(Protocol):
    """Log of requests, written before they are sent, so that none is lost to a kill."""

    def begin(self, ask: JudgeRequest, tokens: tuple[int, int], cost: float | None) -> None:
        """Record a request before it is sent, with the most tokens and money that it can take."""
        ...

    def discard(self, ask: JudgeRequest) -> None:
        """Record that the requests of a pair cost nothing and gave nothing."""
        ...


@dataclass
class Work:
    """Ask until every pair is asked, a limit is reached, or continuing makes no sense.

    Attributes:
        client: the endpoint.
        scale: the grades that are possible, with labels.
        keep: keeps an outcome for good before the next request goes out; called by one thread at
            a time.
        log: keeps requests before they are sent; ``keep`` settles those of its pair.
        budget: what may be spent.
        prices: by which it is.
        most_tokens: of an answer; None where nothing bounds it.
        retries: how many times a request is tried again.
        workers: the threads, and how long they wait before they try again.
        problem: why work ended early, if it makes no sense to go on.
        poor: the limit that ended the work.
    """

    client: Client
    scale: Mapping[float, str]
    keep: Callable[[JudgeRequest, PairOutcome], None]
    log: RequestLog
    budget: Budget
    prices: Prices | None = None
    most_tokens: int | None = None
    retries: int = 5
    workers: Workers = field(default_factory=Workers)
    problem: str = ""
    poor: str = ""
    _lock: Lock = field(default_factory=Lock)
    _failed: int = 0

    def run(self, asks: Iterable[JudgeRequest], threads: int) -> None:
        """Work through all requests; when this returns, or is interrupted, nothing is under way.

        Raises:
            RankgateError: what ``keep`` raises.
            KeyboardInterrupt: after the answers under way were kept.
        """
        self.workers.run(partial(self._work_through, iter(asks)), threads)

    def _work_through(self, asks: Iterator[JudgeRequest]) -> None:
        while not self.workers.stop.is_set():
            with self._lock:
                ask = next(asks, None)
            if ask is None:
                return
            outcome = self._asked(ask)
            if outcome is not None:
                self._kept(ask, outcome)

    def _kept(self, ask: JudgeRequest, outcome: PairOutcome) -> None:
        with self._lock:
            self.keep(ask, outcome)
            self._failed = 0 if outcome.answered else self._failed + 1
            if self._failed >= _MAX_FAILURES and not self.problem:
                reason = outcome.answer.reason or ""
                self.problem = f"{self._failed} pairs in a row got {reason}"
                self.workers.stop.set()

    def _asked(self, ask: JudgeRequest) -> PairOutcome | None:
        """A pair's outcome; None where work ended before a request was answered or paid."""
        begin = time.monotonic()
        max_tokens = (len(ask.body) + OVERHEAD, self.most_tokens or 0)
        used, attempts, reply = (0, 0), 0, None
        while attempts <= self.retries and self.workers.ready(attempts):
            reserve = self._usage(max_tokens)
            if poor := self.budget.take(reserve):
                self.poor = poor
                self.workers.stop.set()
                break
            cost = reserve  # until the reply shows a lower cost
            try:
                with self._lock:
                    self.log.begin(ask, max_tokens, None if self.prices is None else reserve.money)
                reply = self.client.send(ask.body)
                request_tokens = _token_usage(reply, max_tokens)
                cost = self._usage(request_tokens)
            finally:
                self.budget.give_back(reserve, cost)
            used = (used[0] + request_tokens[0], used[1] + request_tokens[1])
            attempts += 1
            if reply.kind != "again" or self._asks_too_much(reply):
                break
        return self._outcome(ask, reply, used, attempts, time.monotonic() - begin)

    def _outcome(
        self,
        ask: JudgeRequest,
        reply: Reply | None,
        used: tuple[int, int],
        attempts: int,
        seconds: float,
    ) -> PairOutcome | None:
        if reply is None:
            return None
        endpoint_answer, text = reply.said, ""
        if endpoint_answer is not None:
            text = endpoint_answer.text
            if (
                endpoint_answer.ended
            ):  # an answer that is not complete is not a grade, whatever it says
                answer = Answer(None, f"the answer was {endpoint_answer.ended}")
            else:
                answer = parse_answer(text, self.scale)
        else:
            answer = Answer(None, f"no answer: {reply.problem}")
            if reply.kind == "fatal":
                self.problem = self.problem or reply.problem
                self.workers.stop.set()
            is_interrupted = (
                self.workers.stop.is_set() and attempts <= self.retries and reply.kind != "refused"
            )
            if is_interrupted and not any(used):  # the next run asks again
                with self._lock:
                    self.log.discard(ask)
                return None
        cost = None if self.prices is None else self._cost(used)
        storable = self.client.storable
        answer = replace(
            answer,
            reason=None if answer.reason is None else storable(answer.reason),
            comment=None if answer.comment is None else storable(answer.comment),
        )
        return PairOutcome(
            answer, endpoint_answer is not None, storable(text), *used, cost, attempts, seconds
        )

    def _usage(self, tokens: tuple[int, int]) -> Usage:
        return Usage(1, sum(tokens), self._cost(tokens))

    def _cost(self, tokens: tuple[int, int]) -> float:
        return self.prices.cost(*tokens) if self.prices else 0.0

    def _asks_too_much(self, reply: Reply) -> bool:
        """Apply the wait that the server asks for; True if it is too long."""
        if reply.wait is None or self.workers.hold(reply.wait):
            return False
        self.problem = f"{reply.problem} (it asks to wait {reply.wait:.0f} seconds)"
        return True


def _token_usage(reply: Reply, max_tokens: tuple[int, int]) -> tuple[int, int]:
    """Tokens of input and output; the maximum where the endpoint does not count them."""
    if reply.said is None:
        return max_tokens if reply.billed else (0, 0)
    token_counts = (reply.said.input_tokens, reply.said.output_tokens)
    return (
        max_tokens[0] if token_counts[0] is None else token_counts[0],
        max_tokens[1] if token_counts[1] is None else token_counts[1],
    )
