"""Scheduled work of a server: jobs, checks of alerts, messages; in one of its processes."""

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
from rankgate.workspace.records.schedule.run import LEASE, execute_run

if TYPE_CHECKING:
    from rankgate.store.records.job_runs import JobRun
    from rankgate.store.records.jobs import Job
    from rankgate.store.store import Store

_LOG = logging.getLogger("rankgate.schedule")
_LEASE_NAME = "schedule"
_LEASE_TIME = timedelta(seconds=60)
_MISSED_AFTER = timedelta(minutes=5)
"""A run that is due for longer than this was missed, as no server ran."""

_CHECK_INTERVAL = timedelta(minutes=5)
"""The time between checks of alerts without new records: evaluations get old by themselves."""


@dataclass
class Scheduler:
    """Checks every few seconds what is due; several servers of a store take turns by a lease.

    It waits by the monotonic clock, so that it goes on when the machine's clock is put back. A time
    that the clock then shows again is not due again.

    Attributes:
        store: an open store.
        folder: of the jobs' files, with a folder for each project; None is without.
        link: the address of the server, for links in messages.
        seconds: between two checks.
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
        """Begin to check, in a thread."""
        threading.Thread(target=self._watch, daemon=True, name="schedule").start()

    def stop(self) -> None:
        """Stop checking, end the running commands, and let another process continue."""
        self._stop.set()
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
        with self.store.write() as connection:
            leases.release(connection, _LEASE_NAME, self._owner)

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
        current_time = moment or now()
        with self._turn:
            with self.store.write() as connection:
                if not leases.acquire(connection, _LEASE_NAME, self._owner, _LEASE_TIME):
                    return False
            self._plan(current_time)
            self._begin(current_time)
            self._check(current_time)
            deliver(self.store, link=self.link, allow_http=self.allow_http, moment=current_time)
        return True

    def _plan(self, moment: datetime) -> None:
        with self.store.read() as connection:
            enabled_jobs = jobs.list_enabled(connection)
            last_runs = [
                (
                    job,
                    job_runs.last_run(connection, job.id),
                    job_runs.last_run(connection, job.id, until=moment),
                )
                for job in enabled_jobs
            ]
        for job, latest_run, last_run in last_runs:
            if latest_run is not None and latest_run.state in {"waiting", "running"}:
                continue  # one run of a job at a time; what comes due meanwhile is one run after it
            # a job that was changed in the future was changed before the clock was put back
            changed_at = job.changed_at if job.changed_at <= moment else moment - _MISSED_AFTER
            since = changed_at if last_run is None else max(changed_at, last_run.due_at)
            try:
                due_at = last_due(job.schedule, job.timezone, since, moment)
            except RankgateError as error:  # a plug-in is gone, or a time zone
                _LOG.warning("job %s: %s", job.name, error)
                continue
            if due_at is not None:
                skip = moment - due_at > _MISSED_AFTER and job.settings.get("missed") == "skip"
                with self.store.write() as connection:
                    job_runs.plan_run(
                        connection, job.id, due_at, state="missed" if skip else "waiting"
                    )

    def _begin(self, moment: datetime) -> None:
        self._busy = [future for future in self._busy if not future.done()]
        while len(self._busy) < self.threads:
            with self.store.write() as connection:
                run = job_runs.take_run(connection, self._owner, lease=LEASE, moment=moment)
                if run is None:
                    return
                job = jobs.job_by_number(connection, run.job)
                if run.tries > int(job.settings.get("retries", 0)) + 1:
                    job_runs.mark_failed(
                        connection,
                        run.id,
                        self._owner,
                        log=run.log,
                        next_try_at=None,
                        error="the server ended while it ran",
                    )
                    continue
            self._busy.append(self._work(job, run))

    def _work(self, job: Job, run: JobRun) -> Future[JobRun]:
        if self._pool is None:
            self._pool = ThreadPoolExecutor(self.threads, thread_name_prefix="jobs")
        return self._pool.submit(self._execute, job, run)

    def _execute(self, job: Job, run: JobRun) -> JobRun:
        try:
            return execute_run(self.store, job, run, self.folder, stop=self._stop)
        except RankgateError as error:
            _LOG.warning("job %s: %s", job.name, error)
        except Exception:  # noqa: BLE001 - it is taken again when its lease has ended
            _LOG.exception("job %s", job.name)
        return run

    def wait(self) -> None:
        """Wait for the jobs that are under way."""
        for future in self._busy:
            future.result()

    def _check(self, moment: datetime) -> None:
        """Check the alerts of projects with new records or rules, and of all after a while."""
        with self.store.read() as connection:
            record_counts = [
                (project, records.count_records(connection, project.id))
                for project in projects.list_projects(connection)
                if project.settings.get("alerts")
            ]
        for project, count in record_counts:
            rules = str(project.settings["alerts"])
            checked = self._checked.get(project.id)
            if (
                checked
                and checked[:2] == (count, rules)
                and abs(moment - checked[2]) < _CHECK_INTERVAL
            ):
                continue
            self._checked[project.id] = (count, rules, moment)
            try:
                check_alerts(self.store, project.name, moment)
            except RankgateError as error:  # rules of a plug-in that is gone
                _LOG.warning("alerts of %s: %s", project.name, error)
