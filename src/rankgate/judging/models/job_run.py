"""Run a model's job, also for ``rankgate rate --llm`` on a batch of a store.

The work sends each task to a model; every answer is saved in the store before the next request. The
same call of ``rankgate rate --llm`` continues an earlier one.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread
from typing import TYPE_CHECKING

from rankgate.core.errors import RankgateError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.core.progress import step
from rankgate.engines.requests.workers import Workers
from rankgate.judging.llm.judge import Budget, Usage
from rankgate.judging.llm.model_client import Answer, Client
from rankgate.judging.llm.model_work import (
    PairOutcome,
    Work,
    outcome_fields,
    requests_to_send,
    rounded_seconds,
    unasked_outcome,
)
from rankgate.judging.llm.protocols import WIRES
from rankgate.judging.llm.rate import LIMITS, ModelRatings, key_of, model_ratings
from rankgate.judging.models.model_jobs import (
    Identity,
    Review,
    add_job,
    ensure_rater,
    identity_for,
    judge_of,
    models_by_number,
    settings_of,
    tasks_of_batch,
)
from rankgate.judging.rating_tasks import Task
from rankgate.store.material import projects
from rankgate.store.models import model_answers_by_request, model_jobs_table

if TYPE_CHECKING:
    from rankgate.judging.llm.judge import Judge, JudgeRequest
    from rankgate.store.database import Connection
    from rankgate.store.models.model_answers_by_request import TaskTexts
    from rankgate.store.store import Store
    from rankgate.store.stored_project import StoredProject


_PAGE = 500  # number of tasks whose texts are read at once
_LOST_JOB = "the job was cancelled, or another process has it"


@dataclass(frozen=True)
class StoredTask(Task):
    """A pair to be rated, with the number of the task."""

    number: int


class JobRun:
    """The work on a job that this process has claimed, with requests and answers in the store.

    Args:
        store: an open store.
        number: the number of the job.
        key_from: the environment variable of the key; the key is not stored.

    Raises:
        UsageError: another process has the job; there is no key; the address is invalid.
    """

    def __init__(self, store: Store, number: int, key_from: str | None = None) -> None:
        self._store, self._owner = store, model_jobs_table.this_process()
        with store.write() as connection:
            job = model_jobs_table.get(connection, number)
            if not model_jobs_table.claim(connection, number, self._owner):
                raise UsageError(
                    f"another process works on this job ({job.state}); wait until it ends.", code="job-active"
                )
        self._job = job
        self._workers = Workers(0.0)
        try:
            self._prepare(key_from)
        except Exception as error:
            self._end("failed", str(error) or type(error).__name__)
            raise

    def _prepare(self, key_from: str | None) -> None:
        job = self._job
        with self._store.read() as connection:
            rater = models_by_number(connection)[job.rater]
            settings = projects.get(connection, job.project).settings
            self._numbers = model_jobs_table.tasks_of(connection, job.id)
            self._known = model_answers_by_request.answers_by_request(connection, job)
            self._rated = model_answers_by_request.requests_by_task(connection, job)
            self._before = model_jobs_table.progress(connection, job)
        self._fields = list(settings.get("fields") or ())
        self._rater, self._identity = rater.name, Identity(rater.identity)
        self._judge = judge_of(rater, job, key_from)
        self._workers = Workers(self._judge.backoff)
        self._template, self._scale = self._identity.template, self._identity.scale
        self._client = Client(
            WIRES[self._judge.protocol],
            self._judge.url,
            key_of(key_from),
            timeout=self._judge.timeout,
            threads=self._judge.concurrency,
        )

    @property
    def open_tasks(self) -> int:
        """The tasks without an answer by this model."""
        return len(self._numbers) - self._before.done

    def run(self) -> ModelRatings:
        """Send the remaining tasks until all are done, or a limit or a cancellation ends the work.

        Each stored pair is reported.

        Raises:
            UsageError: the endpoint refuses to continue, with its message; earlier answers are in
                the store.
            KeyboardInterrupt: the user interrupts the work; earlier answers are in the store.
        """
        judge, earlier_progress = self._judge, self._before
        earlier_usage = Usage(
            earlier_progress.requests,
            earlier_progress.input_tokens + earlier_progress.output_tokens,
            earlier_progress.cost,
        )

        budget = Budget.from_limits(judge.ceilings, earlier_usage)
        work = Work(judge, self._client, self._scale, self, budget, self._workers)
        try:
            with self._alive():
                work.run(requests_to_send(self._asks(), self, again=self._judge.again))
        except BaseException as error:
            message = str(error) if isinstance(error, RankgateError) else "it was interrupted"
            self._end("failed" if isinstance(error, Exception) else "stopped", message)
            raise
        if work.problem:
            self._end("failed", work.problem)
            raise UsageError(
                f"{work.problem}; the answers so far are in the store, and the job can be resumed.",
                code="model-failed",
            )
        stopped = LIMITS[work.poor] if work.poor else ""
        stopped = stopped or (_LOST_JOB if self._workers.stop.is_set() else "")
        self._end("stopped" if work.poor else "done", stopped)
        return self._result(work, stopped)

    def _asks(self) -> Iterator[JudgeRequest]:
        """The requests for all tasks."""
        for task_texts in self._texts():
            task = StoredTask(
                task_texts.query_id, task_texts.doc_id, task_texts.query, task_texts.document, task_texts.task
            )
            yield self._judge.ask(task, self._template, self._scale)

    def _texts(self) -> Iterator[TaskTexts]:
        for begin in range(0, len(self._numbers), _PAGE):
            page_numbers = self._numbers[begin : begin + _PAGE]
            with self._store.read() as connection:
                page_texts = model_answers_by_request.read_task_texts(connection, page_numbers, self._fields)
            yield from page_texts

    def begin(self, ask: JudgeRequest, tokens: tuple[int, int], cost: float | None) -> None:
        """Record a request before it is sent."""
        with self._store.write() as connection:
            model_jobs_table.add_request(
                connection, self._job.id, _task_number(ask), ask.request, tokens, cost
            )

    def discard(self, ask: JudgeRequest) -> None:
        """Delete the requests of a pair, because they cost nothing."""
        with self._store.write() as connection:
            model_jobs_table.delete_requests(connection, self._job.id, _task_number(ask))

    def known_outcome(self, ask: JudgeRequest) -> PairOutcome | None:
        """The outcome of a request that was answered before this work."""
        saved_answer = self._known.get(ask.request)
        if saved_answer is None:
            return None
        answer = Answer(
            saved_answer.grade, saved_answer.reason, saved_answer.comment, saved_answer.confidence
        )
        return unasked_outcome(answer, saved_answer.answer)

    def last_request(self, ask: JudgeRequest) -> str | None:
        """The request of the model's last answer to a task before this work."""
        return self._rated.get(_task_number(ask))

    def keep_unasked(self, ask: JudgeRequest, outcome: PairOutcome) -> None:
        """Rate a task without a request to the model."""
        with self._store.write() as connection:
            self._record(connection, ask, outcome)
        step(f"{ask.task.query_id} {ask.task.doc_id}")

    def keep(self, ask: JudgeRequest, outcome: PairOutcome) -> None:
        """Store an outcome; stop if another process has the job."""
        with self._store.write() as connection:
            self._record(connection, ask, outcome)
            model_jobs_table.delete_requests(connection, self._job.id, _task_number(ask))
            if not model_jobs_table.renew_lease(connection, self._job.id, self._owner):
                self._workers.stop.set()

    def _record(self, connection: Connection, ask: JudgeRequest, outcome: PairOutcome) -> None:
        answer = outcome.answer
        model_answers_by_request.record_answer(
            connection,
            self._job,
            _task_number(ask),
            ask.request,
            grade=answer.grade,
            reason=answer.reason,
            comment=answer.comment,
            confidence=answer.confidence,
            guideline=f"{self._template.name} {self._template.sha256[:12]}",
            seconds=rounded_seconds(outcome),
            **outcome_fields(outcome),
        )

    @contextmanager
    def _alive(self) -> Iterator[None]:
        """Renew the lease of the job while requests run; stop if the job is cancelled."""
        has_ended = Event()

        def beat() -> None:
            while not has_ended.wait(min(2.0, model_jobs_table.LEASE.total_seconds() / 3)):
                with suppress(UsageError), self._store.write() as connection:  # retried later
                    if not model_jobs_table.renew_lease(connection, self._job.id, self._owner):
                        self._workers.stop.set()

        thread = Thread(target=beat, daemon=True)
        thread.start()
        try:
            yield
        finally:
            has_ended.set()
            thread.join()

    def _end(self, state: str, problem: str) -> None:
        with self._store.write() as connection:
            job = model_jobs_table.get(connection, self._job.id)
            if job.owner != self._owner or job.state not in model_jobs_table.UNDER_WAY:
                return  # another process has the job
            if job.state == "cancelling":
                state, problem = "cancelled", ""
            model_jobs_table.end(connection, self._job.id, state, problem)

    def _result(self, work: Work, stopped: str) -> ModelRatings:
        with self._store.read() as connection:
            progress = model_jobs_table.progress(connection, self._job)
            last = model_answers_by_request.last_grades(connection, self._job)
        answered = sum(outcome.answered for outcome in work.outcomes)
        failed = len(work.outcomes) - answered
        return model_ratings(
            work,
            self._rater,
            self._template,
            last,
            pairs=len(self._numbers),
            answered_before=progress.done - answered,
            unasked=len(self._numbers) - progress.done - failed,
            spent=progress.cost,
            stopped=stopped,
        )


def _task_number(ask: JudgeRequest) -> int:
    assert isinstance(ask.task, StoredTask)
    return ask.task.number


def rate_batch(stored: StoredProject, batch: str, judge: Judge, review: Review | None = None) -> JobRun:
    """Let a model rate a batch; answered tasks are not requested again.

    A job that ended early continues with the limits given now, which include its earlier costs.

    Args:
        stored: an open project.
        batch: the name of the batch.
        judge: the model and its settings.
        review: the answers that people review.

    Raises:
        UsageError: the batch does not exist; another process works on it; the key, the scale
            or the template is missing; the judge is under attack.
    """
    if judge.attack != "none":
        problem = "grades under an attack are not ratings of documents; leave --project out."
        raise UsageError(problem, code="conflicting-options")
    # check the address and the key before anything is written
    Client(WIRES[judge.protocol], judge.url, key_of(judge.key_from), timeout=judge.timeout)
    with stored.write() as connection:
        numbers = tasks_of_batch(connection, stored.number, batch)
        identity = identity_for(connection, stored.number, judge)
        rater = ensure_rater(connection, identity)
        earlier_jobs = [
            job
            for job in model_jobs_table.list_jobs(connection, stored.number, rater.id)
            if job.name == batch and job.endpoint is None and job.state != "done"
        ]
        if (
            earlier_jobs
            and earlier_jobs[0].state in model_jobs_table.UNDER_WAY
            and not model_jobs_table.is_free(earlier_jobs[0])
        ):
            raise UsageError(
                f"another process works on {batch} with this model; wait until it ends.", code="job-active"
            )
        if earlier_jobs:
            job = model_jobs_table.resume(connection, earlier_jobs[0].id)
            settings = settings_of(judge, review or Review.usual(identity.scale))
            model_jobs_table.update_job(connection, job.id, settings, numbers)
        else:
            job = add_job(connection, stored.number, judge, numbers, name=batch, review=review)
    return JobRun(stored.store, job.id, judge.key_from)
