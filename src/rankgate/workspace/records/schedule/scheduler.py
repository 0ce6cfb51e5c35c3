"""What a server does by the clock: jobs, checks of alerts, messages; in one of its processes."""

from __future__ import annotations

import logging
import threading
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from rankgate.core.errors import RankgateError
from rankgate.store import leases
from rankgate.store.material import projects
from rankgate.store.models.jobs import this_process
from rankgate.store.records import job_runs, jobs, records
from rankgate.store.rows import now
from rankgate.workspace.records.alerts.alert_check import check_alerts
from rankgate.workspace.records.alerts.deliver import deliver
from rankgate.workspace.records.schedule.clock import last_due
from rankgate.workspace.records.schedule.run import LEASE, execute

if TYPE_CHECKING:
    from rankgate.store.records.job_runs import JobRun
    from rankgate.store.records.jobs import Job
    from rankgate.store.store import Store

_LOG = logging.getLogger("rankgate.schedule")
_NAME = "schedule"
_HOLD = timedelta(seconds=60)
_LATE = timedelta(minutes=5)
"""A run that is due for longer was missed: no server ran."""

_CHECK = timedelta(minutes=5)
"""How often alerts are checked where no record comes in: evaluations get old by themselves."""


@dataclass
class Scheduler:
    """Looks every few seconds at what is due; several servers of a store take turns by a lease.

    It waits by the monotonic clock, so that it goes on when the machine's clock is put back. A time
    that the clock then shows again is not due again.

    Attributes:
        store: an open store.
        folder: of the jobs' files, with a folder for each project; None is without.
        link: the address of the server, for links in messages.
        seconds: between two looks.
        threads: jobs at the same time.
    """

    store: Store
    folder: Path | None
    link: str = ""
    allow_http: bool = False
    seconds: float = 10.0
    threads: int = 2
    _owner: str = field(default_factory=this_process)
    _checked: dict[int, tuple[int, str, datetime]] = field(default_factory=dict)
    _busy: list[Future[JobRun]] = field(default_factory=list)
    _pool: ThreadPoolExecutor | None = None
    _turn: threading.Lock = field(default_factory=threading.Lock)
    _stop: threading.Event = field(default_factory=threading.Event)

    def start(self) -> None:
        """Begin to look, in a thread."""
        threading.Thread(target=self._watch, daemon=True, name="schedule").start()

    def stop(self) -> None:
        """Look no more, end the commands under way, and let another process go on."""
        self._stop.set()
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
        with self.store.write() as connection:
            leases.release(connection, _NAME, self._owner)

    def _watch(self) -> None:
        while not self._stop.wait(self.seconds):
            try:
                self.look()
            except RankgateError as error:  # the database is away; it is tried again
                _LOG.warning("schedule: %s", error)
            except Exception:  # noqa: BLE001 - one bad job must not end all others
                _LOG.exception("schedule")

    def look(self, moment: datetime | None = None) -> bool:
        """Plan, begin, check and send what is due; False while another process has the lease."""
        at = moment or now()
        with self._turn:
            with self.store.write() as connection:
                if not leases.hold(connection, _NAME, self._owner, _HOLD):
                    return False
            self._plan(at)
            self._begin(at)
            self._check(at)
            deliver(self.store, link=self.link, allow_http=self.allow_http, moment=at)
        return True

    def _plan(self, moment: datetime) -> None:
        with self.store.read() as connection:
            every = jobs.enabled(connection)
            last_runs = [
                (job, job_runs.last(connection, job.id),
                 job_runs.last(connection, job.id, until=moment))
                for job in every
            ]  # fmt: skip
        for job, latest, last in last_runs:
            if latest is not None and latest.state in {"waiting", "running"}:
                continue  # one run of a job at a time; what comes due meanwhile is one run after it
            # a job that was changed in the future was changed before the clock was put back
            changed = job.changed_at if job.changed_at <= moment else moment - _LATE
            since = changed if last is None else max(changed, last.due_at)
            try:
                due = last_due(job.schedule, job.timezone, since, moment)
            except RankgateError as error:  # a plug-in is gone, or a time zone
                _LOG.warning("job %s: %s", job.name, error)
                continue
            if due is not None:
                skip = moment - due > _LATE and job.settings.get("missed") == "skip"
                with self.store.write() as connection:
                    job_runs.plan(connection, job.id, due, state="missed" if skip else "waiting")

    def _begin(self, moment: datetime) -> None:
        self._busy = [each for each in self._busy if not each.done()]
        while len(self._busy) < self.threads:
            with self.store.write() as connection:
                run = job_runs.take(connection, self._owner, lease=LEASE, moment=moment)
                if run is None:
                    return
                job = jobs.numbered_job(connection, run.job)
                if run.tries > int(job.settings.get("retries", 0)) + 1:
                    job_runs.failed(connection, run.id, self._owner, log=run.log, next_try_at=None,
                                    error="the server ended while it ran")  # fmt: skip
                    continue
            self._busy.append(self._work(job, run))

    def _work(self, job: Job, run: JobRun) -> Future[JobRun]:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.threads, thread_name_prefix="jobs")
        return self._pool.submit(self._execute, job, run)

    def _execute(self, job: Job, run: JobRun) -> JobRun:
        try:
            return execute(self.store, job, run, self.folder, stop=self._stop)
        except RankgateError as error:
            _LOG.warning("job %s: %s", job.name, error)
        except Exception:  # noqa: BLE001 - it is taken again when its lease has ended
            _LOG.exception("job %s", job.name)
        return run

    def wait(self) -> None:
        """Wait for the jobs that are under way."""
        for each in self._busy:
            each.result()

    def _check(self, moment: datetime) -> None:
        """Check the alerts of projects with new records or rules, and of all after a while."""
        with self.store.read() as connection:
            watched = [
                (each, records.count(connection, each.id))
                for each in projects.listed(connection)
                if each.settings.get("alerts")
            ]
        for project, count in watched:
            rules = str(project.settings["alerts"])
            known = self._checked.get(project.id)
            if known and known[:2] == (count, rules) and abs(moment - known[2]) < _CHECK:
                continue
            self._checked[project.id] = (count, rules, moment)
            try:
                check_alerts(self.store, project.name, moment)
            except RankgateError as error:  # rules of a plug-in that is gone
                _LOG.warning("alerts of %s: %s", project.name, error)
