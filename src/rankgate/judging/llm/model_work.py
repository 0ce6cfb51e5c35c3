"""Run a model's requests concurrently, with retries; keep each answer at once.

A model's ratings on disk hold answers, costs, and which pairs are done. The file next to them
holds requests until their answers are kept.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import field, replace
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from threading import Lock
from typing import TYPE_CHECKING, Any, Protocol, Self

from rankgate.core.frozen import dataclass
from rankgate.data.streams.journal import Closing, Journal
from rankgate.engines.requests.workers import Workers
from rankgate.judging.llm.judge import Usage
from rankgate.judging.llm.model_client import Answer, parse_answer
from rankgate.judging.rating.rating_session import PairRating, rating_row

if TYPE_CHECKING:
    from rankgate.judging.llm.judge import Budget, JudgeRequest, Prices
    from rankgate.judging.llm.model_client import Client, Reply


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
        input_tokens, output_tokens: of all tries; if not counted, the most they can be.
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
    """Send requests until every pair is sent, a limit is reached, or continuing makes no sense.

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
            outcome = self._ask_model(ask)
            if outcome is not None:
                self._saved_outcome(ask, outcome)

    def _saved_outcome(self, ask: JudgeRequest, outcome: PairOutcome) -> None:
        with self._lock:
            self.keep(ask, outcome)
            self._failed = 0 if outcome.answered else self._failed + 1
            if self._failed >= _MAX_FAILURES and not self.problem:
                reason = outcome.answer.reason or ""
                self.problem = f"{self._failed} pairs in a row got {reason}"
                self.workers.stop.set()

    def _ask_model(self, ask: JudgeRequest) -> PairOutcome | None:
        """A pair's outcome; None where work ended before a request was answered or paid."""
        begin = time.monotonic()
        max_tokens = (len(ask.body) + OVERHEAD, self.most_tokens or 0)
        used, attempts, reply = (0, 0), 0, None
        while attempts <= self.retries and self.workers.wait_for_turn(attempts):
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
            if endpoint_answer.ended:  # an answer that is not complete is not a grade
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


Row = dict[str, Any]

_MAX_ANSWER = 4000  # characters of an answer
_EMPTY_DOCUMENT = "the document has no text"


@dataclass
class SavedRatings:
    """Ratings with the hashes of their requests, in a journal; nothing in it is ever changed.

    Attributes:
        journal: where all is kept.
        rater: the name in the ratings.
        model: who is asked.
        guideline: kept with each rating.
    """

    journal: Journal
    rater: str
    model: str
    guideline: str

    def open_requests(
        self, asks: Sequence[JudgeRequest], *, again: bool = False
    ) -> list[JudgeRequest]:
        """The requests whose answers are not known.

        A known answer that another template's answer has replaced since becomes the last one again.
        A document without text is never asked about.

        Args:
            asks: all requests.
            again: answers without a grade count as not known.
        """
        answers = {row.get("request"): row for row in self.journal.rows if row.get("answered")}
        last = self.last()
        unanswered = []
        for ask in asks:
            row = answers.get(ask.request)
            if not ask.task.document:
                row = {"grade": None, "reason": _EMPTY_DOCUMENT}
            elif row is None or (again and row.get("grade") is None):
                unanswered.append(ask)
                continue
            if last.get(ask.task.pair, {}).get("request") != ask.request:
                self._repeat(ask, row)
        return unanswered

    def keep(self, ask: JudgeRequest, outcome: PairOutcome) -> None:
        """Put an outcome on disk.

        Raises:
            UsageError: the disk is full or gone.
        """
        self.journal.add(self.row(ask, outcome))

    def row(self, ask: JudgeRequest, outcome: PairOutcome) -> Row:
        """An outcome as its line."""
        answer = outcome.answer
        seconds = round(outcome.seconds, 3)
        rating = PairRating(answer.grade, answer.reason, answer.comment, seconds)
        confidence = {} if answer.confidence is None else {"confidence": answer.confidence}
        return {
            **self._rating(ask, rating),
            **confidence,
            "answered": outcome.answered,
            "input_tokens": outcome.input_tokens,
            "output_tokens": outcome.output_tokens,
            "cost": outcome.cost,
            "attempts": outcome.attempts,
            "answer": outcome.text[:_MAX_ANSWER],
        }

    def last(self) -> dict[tuple[str, str], Row]:
        """The rater's last rating of each pair."""
        rows = (row for row in self.journal.rows if row.get("rater") == self.rater)
        return {(str(row.get("query_id")), str(row.get("doc_id"))): row for row in rows}

    def used(self, prices: Prices | None) -> Usage:
        """Requests, tokens and cost of the whole journal."""
        rows = self.journal.rows
        names = ("input_tokens", "output_tokens")
        tokens = sum(int(row.get(name) or 0) for row in rows for name in names)
        return Usage(sum(int(r.get("attempts") or 0) for r in rows), tokens, self.spent(prices))

    def spent(self, prices: Prices | None) -> float:
        """The cost of all requests in the journal; those without one cost these prices."""
        total = 0.0
        for row in self.journal.rows:
            if row.get("cost") is not None:
                total += float(row["cost"])
            elif prices is not None:
                tokens = (row.get("input_tokens") or 0, row.get("output_tokens") or 0)
                total += prices.cost(*tokens)
        return total

    def _repeat(self, ask: JudgeRequest, row: Mapping[str, Any]) -> None:
        rating = PairRating(row["grade"], row.get("reason"), row.get("comment"))
        self.journal.add(
            {
                **self._rating(ask, rating),
                "answered": True,
                "input_tokens": 0,
                "output_tokens": 0,
                "cost": 0.0,
                "attempts": 0,
                "answer": row.get("answer", ""),
            }
        )

    def _rating(self, ask: JudgeRequest, rating: PairRating) -> Row:
        timestamp = datetime.now(UTC)
        row = rating_row(ask.task, self.rater, rating, at=timestamp, guideline=self.guideline)
        return {**row, "model": self.model, "request": ask.request}


_UNREAD = "no answer: the program ended before it was read"


@dataclass
class RequestFile(Closing):
    """Keep each request on disk before it is sent, with the most that it can take.

    A request is settled by a later row of its hash in the ratings. Those that a program left when
    it was killed become rows without a grade when the ratings are opened again, so that limits
    count what they may have cost. The file is gone when all is settled.

    Attributes:
        path: ``RATINGS.requests``.
        saved: the ratings.
    """

    path: Path
    saved: SavedRatings
    _journal: Journal | None = None

    @classmethod
    def open(cls, saved: SavedRatings) -> Self:
        """Open the file; requests that a killed program left become rows without a grade.

        Raises:
            InputError: the file holds something else.
            UsageError: a file that cannot be written.
        """
        path = saved.journal.path
        requests = cls(path.with_name(f"{path.name}.requests"), saved)
        if requests.path.exists():
            requests._journal = Journal.open(requests.path)
            if unread := requests._unsettled(requests._journal):
                saved.journal.extend(unread)
            requests.close()
        return requests

    def begin(self, ask: JudgeRequest, tokens: tuple[int, int], cost: float | None) -> None:
        """Record a request before it is sent.

        Raises:
            UsageError: the disk is full or gone.
        """
        if self._journal is None:
            self._journal = Journal.open(self.path)
        outcome = PairOutcome(
            Answer(None, _UNREAD),
            answered=False,
            input_tokens=tokens[0],
            output_tokens=tokens[1],
            cost=cost,
            attempts=1,
        )
        rows = len(self.saved.journal.rows)
        self._journal.add({"rows": rows, "row": self.saved.row(ask, outcome)})

    def discard(self, ask: JudgeRequest) -> None:
        """Record that the requests of a pair cost nothing and gave nothing."""
        if self._journal is not None:
            self._journal.add({"discarded": ask.request})

    def close(self) -> None:
        """Close the file, and remove it if every request is settled."""
        journal, self._journal = self._journal, None
        if journal is None:
            return
        if not self._unsettled(journal):
            self.path.unlink(missing_ok=True)
        journal.close()

    def _unsettled(self, journal: Journal) -> list[dict[str, Any]]:
        """The rows of requests that are neither discarded nor answered by a later rating."""
        lines: dict[str, list[dict[str, Any]]] = {}
        for line in journal.rows:
            if "discarded" in line:
                lines.pop(line["discarded"], None)
            else:
                lines.setdefault(line["row"]["request"], []).append(line)
        last = {row.get("request"): index for index, row in enumerate(self.saved.journal.rows)}
        return [
            line["row"]
            for request, request_lines in lines.items()
            for line in request_lines
            if last.get(request, -1) < line["rows"]
        ]
