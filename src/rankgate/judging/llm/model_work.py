"""Send a model's requests concurrently, with retries, and save each answer at once.

The file of a model's ratings holds answers and costs. A second file next to the ratings holds
requests until their answers are saved.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol, Self

from rankgate.core.frozen import dataclass
from rankgate.core.present.number_formats import count_noun
from rankgate.core.progress import step
from rankgate.data.streams.journal import Closing, Journal
from rankgate.engines.requests.workers import Workers
from rankgate.judging.llm.judge import Usage
from rankgate.judging.llm.model_client import Answer, parse_answer
from rankgate.judging.rating_session import PairRating, rating_row

if TYPE_CHECKING:
    from rankgate.judging.llm.judge import Budget, Judge, JudgeRequest, Prices
    from rankgate.judging.llm.model_client import Client, Reply


OVERHEAD = 1000
"""The most tokens that an endpoint adds to a request; a token has at least one byte."""

_MAX_FAILURES = 10


@dataclass(frozen=True)
class PairOutcome:
    """The outcome of a model's request for a pair.

    Attributes:
        answer: the grade, or the reason for a missing grade.
        answered: True if the model answered, even with an unreadable text; answered pairs are not
            requested again.
        text: the unchanged answer.
        input_tokens, output_tokens: the tokens of all attempts; if not counted, the largest
            possible numbers.
        cost: the cost of these tokens; None without prices.
        attempts: the number of requests sent.
        seconds: the time for the pair; None if no request was sent.
    """

    answer: Answer
    answered: bool
    text: str = ""
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float | None = None
    attempts: int = 0
    seconds: float | None = 0.0


class AnswerLog(Protocol):
    """A log of answers and sent requests, so that a killed program loses no answer."""

    def begin(self, ask: JudgeRequest, tokens: tuple[int, int], cost: float | None) -> None:
        """Record a request with its largest possible tokens and cost, before it is sent."""
        ...

    def discard(self, ask: JudgeRequest) -> None:
        """Record that the requests of a pair cost nothing and returned nothing."""
        ...

    def keep(self, ask: JudgeRequest, outcome: PairOutcome) -> None:
        """Save an outcome, which completes the requests of its pair."""
        ...

    def keep_unasked(self, ask: JudgeRequest, outcome: PairOutcome) -> None:
        """Save the outcome of a pair that is not sent to the model."""
        ...

    def known_outcome(self, ask: JudgeRequest) -> PairOutcome | None:
        """The outcome of an answered request, without its cost; None without an answer."""
        ...

    def last_request(self, ask: JudgeRequest) -> str | None:
        """The request of the last answer for a pair."""
        ...


EMPTY_DOCUMENT = "the document has no text"
_EMPTY_QUERY = "the query has no text"
_MAX_ANSWER = 4000  # largest number of characters of an answer


def requests_to_send(asks: Iterable[JudgeRequest], log: AnswerLog, *, again: bool) -> Iterator[JudgeRequest]:
    """The requests to send; pairs with a known answer get that answer without a request.

    If another template's answer has since replaced a known answer, the known answer becomes the
    last one again. A pair without texts gets no grade.

    Args:
        asks: all requests.
        log: the answers.
        again: True to treat answers without a grade as unknown.
    """
    for ask in asks:
        outcome = log.known_outcome(ask)
        if outcome is None or (again and outcome.answer.grade is None):
            reason = EMPTY_DOCUMENT if not ask.task.document else ""
            reason = reason if ask.task.query else _EMPTY_QUERY
            if not reason:
                yield ask
                continue
            outcome = unasked_outcome(Answer(None, reason))
        if log.last_request(ask) != ask.request:
            log.keep_unasked(ask, outcome)


def unasked_outcome(answer: Answer, text: str = "") -> PairOutcome:
    """The outcome, without cost, of a pair that is not sent to the model."""
    return PairOutcome(answer, answered=True, text=text, cost=0.0, seconds=None)


def outcome_fields(outcome: PairOutcome) -> dict[str, Any]:
    """The data of an outcome that are saved together with its rating."""
    return {
        "answered": outcome.answered,
        "input_tokens": outcome.input_tokens,
        "output_tokens": outcome.output_tokens,
        "cost": outcome.cost,
        "attempts": outcome.attempts,
        "answer": outcome.text[:_MAX_ANSWER],
    }


def rounded_seconds(outcome: PairOutcome) -> float | None:
    """The seconds of an outcome, rounded for storage."""
    return None if outcome.seconds is None else round(outcome.seconds, 3)


@dataclass
class Work:
    """Send requests until every pair is sent, a limit is reached, or the work cannot continue.

    Attributes:
        judge: the model with its limits.
        client: the endpoint.
        scale: the possible grades, with labels.
        log: saves each request before it is sent, and its outcome before the next request; its
            ``keep`` is called by one thread at a time.
        budget: the limits of spending.
        workers: the threads, with their wait before a retry.
        outcomes: the outcomes of this work, in order.
        problem: the reason for an early end after which the work cannot continue.
        poor: the limit that stopped the work.
    """

    judge: Judge
    client: Client
    scale: Mapping[float, str]
    log: AnswerLog
    budget: Budget
    workers: Workers = field(default_factory=Workers)
    outcomes: list[PairOutcome] = field(default_factory=list)
    problem: str = ""
    poor: str = ""
    _lock: Lock = field(default_factory=Lock)
    _failed: int = 0

    def run(self, asks: Iterable[JudgeRequest]) -> None:
        """Send all requests; when this method returns or is interrupted, no request is in progress.

        Each pair with a saved outcome is reported.

        Raises:
            RankgateError: an error of the log.
            KeyboardInterrupt: raised after the answers in progress are saved.
        """
        self.workers.run(partial(self._work_through, iter(asks)), self.judge.concurrency)

    def _work_through(self, asks: Iterator[JudgeRequest]) -> None:
        while not self.workers.stop.is_set():
            with self._lock:
                ask = next(asks, None)
            if ask is None:
                return
            outcome = self._ask_model(ask)
            if outcome is not None:
                with self._lock:
                    self.log.keep(ask, outcome)
                    self.outcomes.append(outcome)
                    step(f"{ask.task.query_id} {ask.task.doc_id}")
                    self._failed = 0 if outcome.answered else self._failed + 1
                    if self._failed >= _MAX_FAILURES and not self.problem:
                        reason = outcome.answer.reason or ""
                        self.problem = f"{count_noun(self._failed, 'pair')} in a row got {reason}"
                        self.workers.stop.set()

    def _ask_model(self, ask: JudgeRequest) -> PairOutcome | None:
        """Request the outcome of a pair; None if the work ended before an answer or a cost."""
        begin = time.monotonic()
        max_tokens = (len(ask.body) + OVERHEAD, self.judge.most_tokens or 0)
        used, attempts, reply = (0, 0), 0, None
        while attempts <= self.judge.retries and self.workers.wait_for_turn(attempts):
            reserve = self._usage(max_tokens)
            if poor := self.budget.take(reserve):
                self.poor = poor
                self.workers.stop.set()
                break
            cost = reserve  # until the reply gives a lower cost
            try:
                with self._lock:
                    self.log.begin(ask, max_tokens, None if self.judge.prices is None else reserve.money)
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
        self, ask: JudgeRequest, reply: Reply | None, used: tuple[int, int], attempts: int, seconds: float
    ) -> PairOutcome | None:
        if reply is None:
            return None
        endpoint_answer, text = reply.said, ""
        if endpoint_answer is not None:
            text = endpoint_answer.text
            if endpoint_answer.ended:  # an incomplete answer is not a grade
                answer = Answer(None, f"the answer was {endpoint_answer.ended}")
            else:
                answer = parse_answer(text, self.scale)
        else:
            answer = Answer(None, f"no answer: {reply.problem}")
            if reply.kind == "fatal":
                self.problem = self.problem or reply.problem
                self.workers.stop.set()
            is_interrupted = (
                self.workers.stop.is_set() and attempts <= self.judge.retries and reply.kind != "refused"
            )
            if is_interrupted and not any(used):  # the next run requests the pair again
                with self._lock:
                    self.log.discard(ask)
                return None
        cost = None if self.judge.prices is None else self._cost(used)
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
        return self.judge.prices.cost(*tokens) if self.judge.prices else 0.0

    def _asks_too_much(self, reply: Reply) -> bool:
        """Apply the wait that the server asks for; True if the wait is too long."""
        if reply.wait is None or self.workers.hold(reply.wait):
            return False
        self.problem = f"{reply.problem} (it asks to wait {reply.wait:.0f} seconds)"
        return True


def _token_usage(reply: Reply, max_tokens: tuple[int, int]) -> tuple[int, int]:
    """The tokens of input and output; the maximum if the endpoint does not count them."""
    if reply.said is None:
        return max_tokens if reply.billed else (0, 0)
    token_counts = (reply.said.input_tokens, reply.said.output_tokens)
    return (
        max_tokens[0] if token_counts[0] is None else token_counts[0],
        max_tokens[1] if token_counts[1] is None else token_counts[1],
    )


Row = dict[str, Any]

_UNREAD = "no answer: the program ended before it was read"


@dataclass
class RatingsFile(Closing):
    """A journal of ratings with the hashes of their requests; rows are only added.

    The file ``RATINGS.requests`` holds each request before it is sent, with its largest possible
    usage. A request is settled by a later row of its hash in the ratings. The requests of a killed
    program become rows without a grade when the ratings are opened again, so that limits count
    their possible cost. The file of requests is deleted when all requests are completed.

    Attributes:
        journal: the ratings.
        rater: the name of the rater in the ratings.
        model: the name of the model.
        guideline: the guideline saved with each rating.
    """

    journal: Journal
    rater: str
    model: str
    guideline: str
    _requests: Journal | None = None
    _answers: dict[str, Row] = field(default_factory=dict)
    _last: dict[tuple[str, str], Row] = field(default_factory=dict)

    @classmethod
    def open(cls, path: str | Path, rater: str, model: str, guideline: str) -> Self:
        """Open the files; requests that a killed program left become rows without a grade.

        Raises:
            InputError: a file has other contents.
            UsageError: a file cannot be written.
        """
        ratings = cls(Journal.open(path), rater, model, guideline)
        try:
            if ratings._requests_path.exists():
                ratings._requests = Journal.open(ratings._requests_path)
                if unread := ratings._unsettled(ratings._requests):
                    ratings.journal.extend(unread)
                ratings._close_requests()
        except BaseException:
            ratings.journal.close()
            raise
        rows = ratings.journal.rows
        ratings._answers = {str(row.get("request")): row for row in rows if row.get("answered")}
        ratings._last = ratings.last()
        return ratings

    @property
    def _requests_path(self) -> Path:
        return self.journal.path.with_name(f"{self.journal.path.name}.requests")

    def begin(self, ask: JudgeRequest, tokens: tuple[int, int], cost: float | None) -> None:
        """Record a request before it is sent.

        Raises:
            UsageError: the disk is full or missing.
        """
        if self._requests is None:
            self._requests = Journal.open(self._requests_path)
        outcome = PairOutcome(
            Answer(None, _UNREAD),
            answered=False,
            input_tokens=tokens[0],
            output_tokens=tokens[1],
            cost=cost,
            attempts=1,
        )
        self._requests.add({"rows": len(self.journal.rows), "row": self._row(ask, outcome)})

    def discard(self, ask: JudgeRequest) -> None:
        """Record that the requests of a pair cost nothing and returned nothing."""
        if self._requests is not None:
            self._requests.add({"discarded": ask.request})

    def keep(self, ask: JudgeRequest, outcome: PairOutcome) -> None:
        """Save an outcome on disk.

        Raises:
            UsageError: the disk is full or missing.
        """
        self.journal.add(self._row(ask, outcome))

    keep_unasked = keep

    def known_outcome(self, ask: JudgeRequest) -> PairOutcome | None:
        """The outcome of a request that was already answered when the file was opened."""
        row = self._answers.get(ask.request)
        if row is None:
            return None
        answer = Answer(row.get("grade"), row.get("reason"), row.get("comment"))
        return unasked_outcome(answer, str(row.get("answer", "")))

    def last_request(self, ask: JudgeRequest) -> str | None:
        """The request of the rater's last rating of a pair when the file was opened."""
        return self._last.get(ask.task.pair, {}).get("request")

    def last(self) -> dict[tuple[str, str], Row]:
        """The rater's last rating of each pair."""
        rows = (row for row in self.journal.rows if row.get("rater") == self.rater)
        return {(str(row.get("query_id")), str(row.get("doc_id"))): row for row in rows}

    def used(self, prices: Prices | None) -> Usage:
        """The requests, tokens and cost of the whole journal."""
        rows = self.journal.rows
        names = ("input_tokens", "output_tokens")
        tokens = sum(int(row.get(name) or 0) for row in rows for name in names)
        return Usage(sum(int(r.get("attempts") or 0) for r in rows), tokens, self.spent(prices))

    def spent(self, prices: Prices | None) -> float:
        """The cost of all requests in the journal; unpriced requests cost these prices."""
        total = 0.0
        for row in self.journal.rows:
            if row.get("cost") is not None:
                total += float(row["cost"])
            elif prices is not None:
                tokens = (row.get("input_tokens") or 0, row.get("output_tokens") or 0)
                total += prices.cost(*tokens)
        return total

    def close(self) -> None:
        """Close the files, and delete the file of requests if every request is completed."""
        self._close_requests()
        self.journal.close()

    def _row(self, ask: JudgeRequest, outcome: PairOutcome) -> Row:
        """The row of an outcome in the journal."""
        answer = outcome.answer
        rating = PairRating(answer.grade, answer.reason, answer.comment, rounded_seconds(outcome))
        moment = datetime.now(UTC)
        confidence = {} if answer.confidence is None else {"confidence": answer.confidence}
        return {
            **rating_row(ask.task, self.rater, rating, at=moment, guideline=self.guideline),
            "model": self.model,
            "request": ask.request,
            **confidence,
            **outcome_fields(outcome),
        }

    def _close_requests(self) -> None:
        requests, self._requests = self._requests, None
        if requests is None:
            return
        if not self._unsettled(requests):
            requests.path.unlink(missing_ok=True)
        requests.close()

    def _unsettled(self, requests: Journal) -> list[Row]:
        """The rows of requests that are neither discarded nor answered by a later rating."""
        lines: dict[str, list[Row]] = {}
        for line in requests.rows:
            if "discarded" in line:
                lines.pop(line["discarded"], None)
            else:
                lines.setdefault(line["row"]["request"], []).append(line)
        last = {row.get("request"): index for index, row in enumerate(self.journal.rows)}
        return [
            line["row"]
            for request, request_lines in lines.items()
            for line in request_lines
            if last.get(request, -1) < line["rows"]
        ]
