"""Work on a job: ask a model about each task; every answer is in the store before the next."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import RankgateError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.present.codec import Named
from rankgate.core.progress import step
from rankgate.engines.requests.workers import Workers
from rankgate.judging.llm.client import Client
from rankgate.judging.llm.costs import Budget, Usage
from rankgate.judging.llm.model_ratings import ModelRatings
from rankgate.judging.llm.protocols import WIRES
from rankgate.judging.llm.rate import LIMITS, key_of
from rankgate.judging.llm.work import PairOutcome, Work
from rankgate.judging.models.identity import Identity
from rankgate.judging.models.job import judge_of, models
from rankgate.judging.rating.tasks import Task
from rankgate.store.material import projects
from rankgate.store.models import answers, jobs, requests

if TYPE_CHECKING:
    from rankgate.judging.llm.judge import Ask
    from rankgate.store.models.answers import ModelAnswer, TaskTexts
    from rankgate.store.store import Store

_KEPT = 4000  # characters of an answer
_PAGE = 500  # tasks whose texts are read at once
_EMPTY = "the document has no text"
_SILENT = "the query has no text"
_LOST = "the job was cancelled, or another process has it"


@dataclass(frozen=True)
class StoredTask(Task):
    """A pair to be rated, with the number of its task."""

    number: int


class _StoreRequests:
    """Keeps the requests of a job in the store before they are sent."""

    def __init__(self, store: Store, job: int) -> None:
        self._store, self._job = store, job

    def begin(self, ask: Ask, tokens: tuple[int, int], cost: float | None) -> None:
        """Keep that a request goes out."""
        with self._store.write() as connection:
            requests.begin(connection, self._job, _number(ask), ask.request, tokens, cost)

    def discard(self, ask: Ask) -> None:
        """Forget the requests of a pair, which took nothing."""
        with self._store.write() as connection:
            requests.settle(connection, self._job, _number(ask))


class JobRun:
    """Works on a job that this process has claimed.

    Args:
        store: an open store.
        number: of the job.
        key_from: the environment variable of the key; it is kept nowhere.

    Raises:
        UsageError: another process has the job; no key; an invalid address.
    """

    def __init__(self, store: Store, number: int, key_from: str | None = None) -> None:
        self._store, self._owner = store, jobs.this_process()
        with store.write() as connection:
            job = jobs.get(connection, number)
            if not jobs.claim(connection, number, self._owner):
                raise UsageError(
                    f"another process works on this job ({job.state}); wait until it ends.",
                    code="job-active",
                )
        self._job = job
        self._workers = Workers(0.0)
        self._now: list[PairOutcome] = []
        try:
            self._prepare(key_from)
        except Exception as error:
            self._end("failed", str(error) or type(error).__name__)
            raise

    def _prepare(self, key_from: str | None) -> None:
        job = self._job
        with self._store.read() as connection:
            rater = models(connection)[job.rater]
            settings = projects.get(connection, job.project).settings
            self._numbers = jobs.tasks_of(connection, job.id)
            self._known = answers.known(connection, job)
            self._rated = answers.rated_for(connection, job)
            self._before = jobs.progress(connection, job)
        self._fields = list(settings.get("fields") or ())
        self._rater, self._identity = rater.name, Identity(rater.identity)
        self._judge = judge_of(rater, job, key_from)
        self._workers = Workers(self._judge.backoff)
        self._template, self._scale = self._identity.template, self._identity.scale
        self._client = Client(
            WIRES[self._judge.protocol], self._judge.url, key_of(key_from),
            timeout=self._judge.timeout, threads=self._judge.concurrency,
        )  # fmt: skip

    @property
    def left(self) -> int:
        """Tasks without an answer of this model."""
        return len(self._numbers) - self._before.done

    def run(self) -> ModelRatings:
        """Ask what is left to ask, until it is done, cancelled, or a limit is reached.

        Each pair that is in the store is reported.

        Raises:
            UsageError: it makes no sense to go on, with what the endpoint said; what was
                answered is in the store.
            KeyboardInterrupt: as Python raises it; what was answered is in the store.
        """
        work = self._work()
        try:
            with self._alive():
                work.run(self._asks(), self._judge.concurrency)
        except BaseException as error:
            words = str(error) if isinstance(error, RankgateError) else "it was interrupted"
            self._end("failed" if isinstance(error, Exception) else "stopped", words)
            raise
        if work.problem:
            self._end("failed", work.problem)
            raise UsageError(
                f"{work.problem}; what is answered is in the store, and the job can be resumed.",
                code="model-failed",
            )
        stopped = LIMITS[work.poor] if work.poor else ""
        stopped = stopped or (_LOST if self._workers.stop.is_set() else "")
        self._end("stopped" if work.poor else "done", stopped)
        return self._result(stopped)

    def _work(self) -> Work:
        judge, before = self._judge, self._before
        spent = Usage(before.requests, before.input_tokens + before.output_tokens, before.cost)

        def keep(ask: Ask, outcome: PairOutcome) -> None:
            self._keep(ask, outcome)
            self._now.append(outcome)
            step(f"{ask.task.query_id} {ask.task.doc_id}")

        return Work(
            self._client, self._scale, keep, _StoreRequests(self._store, self._job.id),
            Budget.of(judge.ceilings, spent), judge.prices, judge.most_tokens,
            judge.retries, self._workers,
        )  # fmt: skip

    def _asks(self) -> Iterator[Ask]:
        """What is to be asked; what is known is rated without asking."""
        for each in self._texts():
            task = StoredTask(each.query_id, each.doc_id, each.query, each.document, each.task)
            ask = self._judge.ask(task, self._template, self._scale)
            known = self._known.get(ask.request)
            if known is not None and self._judge.again and known.grade is None:
                known = None
            if self._rated.get(task.number) == ask.request and known is not None:
                continue
            why = "" if known is not None else _SILENT if not task.query else ""
            why = why or ("" if known is not None or task.document else _EMPTY)
            if known is None and not why:
                yield ask
                continue
            self._repeat(ask, known, why)
            step(f"{task.query_id} {task.doc_id}")

    def _texts(self) -> Iterator[TaskTexts]:
        for begin in range(0, len(self._numbers), _PAGE):
            part = self._numbers[begin : begin + _PAGE]
            with self._store.read() as connection:
                found = answers.texts(connection, part, self._fields)
            yield from found

    def _repeat(self, ask: Ask, known: ModelAnswer | None, why: str) -> None:
        """Rate by an answer that is known, or say why the model is not asked."""
        said: dict[str, Any] = {
            "grade": None,
            "reason": why,
            "comment": None,
            "confidence": None,
            "answer": "",
        }
        if known is not None:
            said = {name: getattr(known, name) for name in said}
        with self._store.write() as connection:
            answers.record(
                connection, self._job, _number(ask), ask.request, answered=True,
                guideline=self._guideline, cost=0.0, **said,
            )  # fmt: skip

    def _keep(self, ask: Ask, outcome: PairOutcome) -> None:
        """Put an outcome into the store; stop if the job is not ours any more."""
        answer = outcome.answer
        with self._store.write() as connection:
            answers.record(
                connection, self._job, _number(ask), ask.request, answered=outcome.answered,
                grade=answer.grade, reason=answer.reason, comment=answer.comment,
                confidence=answer.confidence, guideline=self._guideline,
                input_tokens=outcome.input_tokens, output_tokens=outcome.output_tokens,
                cost=outcome.cost, attempts=outcome.attempts, seconds=round(outcome.seconds, 3),
                answer=outcome.text[:_KEPT],
            )  # fmt: skip
            requests.settle(connection, self._job.id, _number(ask))
            if not jobs.keep(connection, self._job.id, self._owner):
                self._workers.stop.set()

    @property
    def _guideline(self) -> str:
        return f"{self._template.name} {self._template.sha256[:12]}"

    @contextmanager
    def _alive(self) -> Iterator[None]:
        """Give signs of life, and notice that the job is cancelled while requests take long."""
        ended = Event()

        def beat() -> None:
            while not ended.wait(min(2.0, jobs.LEASE.total_seconds() / 3)):
                with suppress(UsageError), self._store.write() as connection:  # it is tried again
                    if not jobs.keep(connection, self._job.id, self._owner):
                        self._workers.stop.set()

        thread = Thread(target=beat, daemon=True)
        thread.start()
        try:
            yield
        finally:
            ended.set()
            thread.join()

    def _end(self, state: str, problem: str) -> None:
        with self._store.write() as connection:
            found = jobs.get(connection, self._job.id)
            if found.owner != self._owner or found.state not in jobs.UNDER_WAY:
                return  # another process has it
            if found.state == "cancelling":
                state, problem = "cancelled", ""
            jobs.end(connection, self._job.id, state, problem)

    def _result(self, stopped: str) -> ModelRatings:
        now, priced = self._now, self._judge.prices is not None
        with self._store.read() as connection:
            after = jobs.progress(connection, self._job)
            last = answers.last_of_job(connection, self._job)
        reasons = [str(why) for grade, why in last if grade is None]
        reasons += [str(each.answer.reason) for each in now if not each.answered]
        failed = sum(not each.answered for each in now)
        return ModelRatings(
            rater=self._rater,
            model=self._judge.model,
            template=Named(self._template.name, self._template.sha256),
            pairs=len(self._numbers),
            graded=sum(grade is not None for grade, _ in last),
            known=after.done - sum(each.answered for each in now),
            asked=len(now),
            reasons=dict(Counter(each.partition(":")[0] for each in reasons).most_common()),
            unanswered=failed,
            left=len(self._numbers) - after.done - failed,
            input_tokens=sum(each.input_tokens for each in now),
            output_tokens=sum(each.output_tokens for each in now),
            cost=sum(each.cost or 0.0 for each in now) if priced else None,
            spent=after.cost if priced else None,
            stopped=stopped,
        )


def _number(ask: Ask) -> int:
    assert isinstance(ask.task, StoredTask)
    return ask.task.number
