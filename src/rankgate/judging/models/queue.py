"""The jobs of models that a server works on, and jobs for the documents of new runs."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from threading import Event, Lock, Thread
from typing import TYPE_CHECKING, Any

from rankgate.core.errors import RankgateError, UsageError
from rankgate.judging.models.identity import ensure_rater, identity_for
from rankgate.judging.models.job import Review, add_job, tasks_to_depth
from rankgate.judging.models.request import judge_for
from rankgate.judging.models.run import JobRun
from rankgate.store.kept import runs
from rankgate.store.models import jobs, rules
from rankgate.store.people import audit

if TYPE_CHECKING:
    from rankgate.judging.models.endpoints import Endpoint
    from rankgate.store.database import Connection
    from rankgate.store.models.rules import ModelRule
    from rankgate.store.store import Store

_LOG = logging.getLogger("rankgate.models")
_AUTOMATIC = audit.Actor("new runs")


@dataclass
class ModelQueue:
    """Run waiting jobs, one thread each; several servers of a store share them.

    A job whose server was killed goes on in the next one: what is answered is not asked again.

    Attributes:
        store: an open store.
        endpoints: that may be asked, by name.
        threads: jobs at the same time.
        seconds: between two looks.
    """

    store: Store
    endpoints: Mapping[str, Endpoint]
    threads: int = 2
    seconds: float = 2.0
    _busy: dict[int, Thread] = field(default_factory=dict)
    _lock: Lock = field(default_factory=Lock)
    _wake: Event = field(default_factory=Event)
    _stop: Event = field(default_factory=Event)

    def start(self) -> None:
        """Begin to look for jobs, in a thread."""
        Thread(target=self._watch, daemon=True, name="models").start()

    def wake(self) -> None:
        """Look for jobs now."""
        self._wake.set()

    def stop(self) -> None:
        """Take no more jobs; those under way go on until the process ends."""
        self._stop.set()
        self._wake.set()

    def _watch(self) -> None:
        while not self._stop.is_set():
            try:
                self.look()
            except RankgateError as error:  # the database is away; it is tried again
                _LOG.warning("jobs of models: %s", error)
            except Exception:  # noqa: BLE001 - one bad job must not end all others
                _LOG.exception("jobs of models")
            self._wake.wait(self.seconds)
            self._wake.clear()

    def look(self) -> None:
        """Make jobs for new runs, and begin those that wait."""
        with self.store.read() as connection:
            due_rules = rules.find_due_rules(connection)
            waiting_jobs = list(jobs.waiting_jobs(connection))
        for rule, numbers in due_rules:
            self._new_runs(rule, numbers)
            self._wake.set()
        with self._lock:
            self._busy = {job: thread for job, thread in self._busy.items() if thread.is_alive()}
            for job in waiting_jobs:
                if len(self._busy) >= self.threads:
                    return
                endpoint = self.endpoints.get(job.endpoint or "")
                if endpoint is not None and job.id not in self._busy:
                    work = Thread(target=self._work, args=(job.id, endpoint), daemon=True)
                    self._busy[job.id] = work
                    work.start()

    def _work(self, job: int, endpoint: Endpoint) -> None:
        with suppress(RankgateError):  # the job records the error
            JobRun(self.store, job, endpoint.key_from).run()

    def _new_runs(self, rule: ModelRule, numbers: list[int]) -> None:
        """Add a job for the first documents of new runs, by the rule of their project."""
        with self.store.write() as connection:
            current = rules.rule_of_project(connection, rule.project)
            if current is None or current.after_run >= numbers[-1]:
                return  # another server did it
            names = [e.name for e in runs.list_runs(connection, rule.project) if e.id in numbers]
            rules.mark_checked(connection, rule.project, numbers[-1])
            problem = ""
            try:
                with connection.begin_nested():
                    self._add_job(connection, rule, names, numbers[-1])
            except RankgateError as error:
                problem = str(error)
            audit.record(
                connection,
                _AUTOMATIC,
                "model.automatic",
                ", ".join(names),
                project=rule.project,
                details={"problem": problem} if problem else {},
            )

    def _add_job(
        self, connection: Connection, rule: ModelRule, names: list[str], last: int
    ) -> None:
        settings: Mapping[str, Any] = rule.settings
        judge = judge_for(self.endpoints, settings)
        identity = identity_for(connection, rule.project, judge)
        rater = ensure_rater(connection, identity)
        description = f"{', '.join(names)[:60]} to depth {settings['depth']}"
        numbers = tasks_to_depth(
            connection,
            self.store.blobs,
            rule.project,
            names,
            settings["depth"],
            batch=f"model: {description} ({last})",
            rater=rater.id,
        )
        active_jobs = [
            e
            for e in jobs.list_jobs(connection, rule.project, rater.id)
            if e.state in jobs.UNDER_WAY
        ]
        if active_jobs:  # the active job takes these tasks
            jobs.update_job(connection, active_jobs[0].id, active_jobs[0].settings, numbers)
            raise UsageError(f"job {active_jobs[0].id} took the tasks.", code="job-active")
        if numbers:
            review = Review(settings.get("distance"), settings.get("doubt"))
            add_job(
                connection,
                rule.project,
                judge,
                numbers,
                name=description,
                review=review,
                endpoint=settings["endpoint"],
            )
