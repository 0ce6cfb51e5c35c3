"""Run the scheduled work of a server: jobs, checks of alerts, and messages.

A job runs rankgate commands in separate processes, with a log, a time limit and retries. The
scheduler runs in one of the server's processes.
"""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import field
from datetime import datetime, timedelta
from pathlib import Path
from typing import IO, TYPE_CHECKING

from rankgate.core.console.terminal_output import PROGRESS_VARIABLE
from rankgate.core.errors import RankgateError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.store import rows
from rankgate.store.database import STORE_VARIABLE
from rankgate.store.material import projects
from rankgate.store.models.model_jobs_table import this_process
from rankgate.store.records import records, scheduled_jobs
from rankgate.store.rows import now
from rankgate.workspace.records.alerts.alert_check import check_alerts
from rankgate.workspace.records.alerts.alert_queue import deliver
from rankgate.workspace.records.cron_times import last_due
from rankgate.workspace.records.record import LABELS_VARIABLE, SYSTEM_VARIABLE
from rankgate.workspace.records.schedule.job_kinds import JOBS

if TYPE_CHECKING:
    from rankgate.store.records.scheduled_jobs import Job, JobRun
    from rankgate.store.store import Store


_JOB_LOG = logging.getLogger("rankgate.jobs")
LEASE = timedelta(minutes=2)
RETRY_DELAYS = (timedelta(minutes=1), timedelta(minutes=5), timedelta(minutes=15))
"""The wait before each retry after a failure; the last value applies to all further retries."""

_SIGN, _LOOK, _MOST = 2.0, 0.2, 20_000
_WAKE = 1.0
"""The seconds between two checks for runs that users started."""


@dataclass(frozen=True)
class RunOutcome:
    """The result of a run's commands: the log, and the error (may be empty)."""

    log: str
    error: str


def run_job_now(store: Store, project: str, name: str, folder: Path | None) -> JobRun:
    """Run a job at once for cron or a person, without retries.

    Raises:
        UsageError: the project or job does not exist.
    """
    with store.write() as connection:
        number = projects.get_by_name(connection, project).id
        projects.refuse_archived(connection, number)
        job = scheduled_jobs.get_job(connection, number, name)
        planned_run = scheduled_jobs.plan_run(connection, job.id, now())
        run = scheduled_jobs.begin_run(connection, planned_run.id, this_process(), lease=LEASE)
    return execute_run(store, job, run, folder, retry=False)


def execute_run(
    store: Store,
    job: Job,
    run: JobRun,
    folder: Path | None,
    *,
    retry: bool = True,
    stop: threading.Event | None = None,
    environment: Mapping[str, str] | None = None,
) -> JobRun:
    """Run the commands of a run that this process has claimed, and store the result.

    Args:
        store: an open store.
        job: the job of the run.
        run: the run that this process has claimed.
        folder: the folder with one sub-folder per project, named after the project. Jobs read and
            write files only in the sub-folder of their project. None means no files.
        retry: True to retry after a failure.
        stop: set when this process ends; the commands then end too, and the run waits for another
            server.
        environment: further environment variables for the commands.
    """
    owner, started_at = run.owner, now()
    with store.read() as connection:
        project = projects.get(connection, job.project)
    try:
        home = None if folder is None else folder.resolve() / project.name
        result = _RunWorker(
            store, job, run, project.name, home, stop or threading.Event(), environment or {}
        ).run_commands()
    except RankgateError as error:
        result = RunOutcome("", str(error))
    with store.write() as connection:
        if result.error:
            is_stopped = stop is not None and stop.is_set()
            retry_at = now() if is_stopped else _next_try(job, run) if retry else None
            scheduled_jobs.mark_failed(
                connection, run.id, owner, log=result.log, error=result.error, next_try_at=retry_at
            )
        else:
            record_id = _find_record(store, job, started_at)
            scheduled_jobs.mark_done(connection, run.id, owner, log=result.log, record=record_id)
    level = logging.WARNING if result.error and retry else logging.INFO
    _JOB_LOG.log(level, "job %s of %s: %s", job.name, project.name, result.error or "done")
    if not result.error and project.settings.get("alerts"):
        check_alerts(store, project.name)
    with store.read() as connection:
        return scheduled_jobs.get_job_run(connection, run.id)


def _next_try(job: Job, run: JobRun) -> datetime | None:
    if run.tries > int(job.settings.get("retries", 0)):
        return None
    return now() + RETRY_DELAYS[min(run.tries, len(RETRY_DELAYS)) - 1]


def _find_record(store: Store, job: Job, started_at: datetime) -> int | None:
    """The record that the job's run created, found by its label and the start of the run."""
    with store.read() as connection:
        latest_records = records.list_records(connection, job.project, most=50)
    record_ids = [
        record.id
        for record in latest_records
        if record.labels.get("job") == job.name and record.recorded_at >= started_at
    ]
    return max(record_ids, default=None)


@dataclass(frozen=True)
class _RunWorker:
    """A worker for the commands of one run; ``folder`` is that of the project."""

    store: Store
    job: Job
    run: JobRun
    project: str
    folder: Path | None
    stop: threading.Event
    environment: Mapping[str, str]

    def run_commands(self) -> RunOutcome:
        """Run each command after the previous command has succeeded."""
        kind = JOBS.find(self.job.kind)
        values = dict(self.job.settings.get("values", {}))
        file_names = {name: values[name] for name in kind.files if values.get(name) is not None}
        values |= self._files(file_names)
        commands = kind.commands(self.project, values)
        limit = time.monotonic() + 60 * int(self.job.settings.get("timeout", 60))
        with tempfile.TemporaryFile() as log:
            for position, arguments in enumerate(commands):
                log.write(f"$ rankgate {' '.join(arguments)}\n".encode())
                log.flush()
                accepted_codes = kind.good if position == len(commands) - 1 else frozenset({0})
                problem = self._command(arguments, log, limit, accepted_codes)
                if problem:
                    text = _read_tail(log)
                    last_line = text.strip().splitlines()[-1]
                    return RunOutcome(
                        text, f"{problem} {last_line}" if not last_line.startswith("$") else problem
                    )
            return RunOutcome(_read_tail(log), "")

    def _files(self, file_names: dict[str, str]) -> dict[str, str]:
        """The paths of files, which must be in the project's folder after resolving links."""
        if not file_names:
            return {}
        if self.folder is None or not self.folder.is_dir():
            problem = f"there is no folder {self.project!r} in the folder of jobs."
            raise UsageError(problem, code="missing-input")
        home = self.folder.resolve()
        for name, file_name in file_names.items():
            if not (home / file_name).resolve().is_relative_to(home):
                problem = f"{name} is not in the folder of the project's jobs."
                raise UsageError(problem, code="outside-folder")
        return {name: str(home / file_name) for name, file_name in file_names.items()}

    def _command(
        self, arguments: list[str], log: IO[bytes], limit: float, accepted_codes: frozenset[int]
    ) -> str:
        """Run a command; return its problem, or an empty text."""
        kind = JOBS.find(self.job.kind)
        system = self.job.settings.get("values", {}).get(kind.system)
        environ = os.environ | {
            **self.environment,
            STORE_VARIABLE: self.store.url.render_as_string(hide_password=False),
            "RANKGATE_PROJECT": self.project,
            LABELS_VARIABLE: f"job={self.job.name}",
            SYSTEM_VARIABLE: system or "",
            PROGRESS_VARIABLE: "lines",
            "COLUMNS": "120",
        }
        process = subprocess.Popen(
            [sys.executable, "-m", "rankgate", *arguments],
            env=environ,
            stdout=log,
            stderr=log,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
        next_sign = time.monotonic() + _SIGN
        try:
            while process.poll() is None:
                if self.stop.wait(_LOOK):
                    return "the server stopped;"
                if time.monotonic() > limit:
                    return "it took longer than its limit;"
                if time.monotonic() > next_sign:
                    next_sign = time.monotonic() + _SIGN
                    if not self._alive(log):
                        return "another process took it over;"
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        code = process.returncode
        return "" if code in accepted_codes else f"rankgate {arguments[0]} ended with {code}:"

    def _alive(self, log: IO[bytes]) -> bool:
        with self.store.write() as connection:
            return scheduled_jobs.renew_lease(
                connection, self.run.id, self.run.owner, lease=LEASE, log=_read_tail(log)
            )


def _read_tail(log: IO[bytes]) -> str:
    """Read the end of a log while the commands may still write to it."""
    size = os.fstat(log.fileno()).st_size
    content = os.pread(log.fileno(), _MOST, max(0, size - _MOST))
    return content.decode(errors="replace").replace("\0", "")


_SCHEDULE_LOG = logging.getLogger("rankgate.schedule")
_LEASE_NAME = "schedule"
_LEASE_TIME = timedelta(seconds=60)
_MISSED_AFTER = timedelta(minutes=5)
"""A run that is overdue by more than this was missed, because no server ran."""

_CHECK_INTERVAL = timedelta(minutes=5)
"""The time between checks of alerts without new records, because evaluations become stale."""


@dataclass
class Scheduler:
    """A loop that runs due work every few seconds; servers of a store take turns by a lease.

    The loop waits by the monotonic clock, so that it continues when the machine's clock is put
    back. A local time that is then repeated is not due again.

    Attributes:
        store: an open store.
        folder: the folder of the jobs' files, with one sub-folder per project; None means no files.
        link: the address of the server, for links in messages.
        seconds: the time between two checks.
        threads: the largest number of jobs at the same time.
        environment: further environment variables for the commands of jobs.
    """

    store: Store
    folder: Path | None
    link: str = ""
    allow_http: bool = False
    seconds: float = 10.0
    threads: int = 2
    environment: Mapping[str, str] = field(default_factory=dict)
    _owner: str = field(default_factory=this_process)
    _checked: dict[int, tuple[int, str, datetime]] = field(default_factory=dict)
    _busy: list[Future[JobRun]] = field(default_factory=list)
    _pool: ThreadPoolExecutor | None = None
    _turn: threading.Lock = field(default_factory=threading.Lock)
    _stop: threading.Event = field(default_factory=threading.Event)

    def start(self) -> None:
        """Start a thread that checks for due work."""
        threading.Thread(target=self._watch, daemon=True, name="schedule").start()

    def stop(self) -> None:
        """Stop checking, end the running commands, and release the work for another process."""
        self._stop.set()
        if self._pool is not None:
            self._pool.shutdown(wait=True, cancel_futures=True)
        with self.store.write() as connection:
            rows.release(connection, _LEASE_NAME, self._owner)

    def _watch(self) -> None:
        next_look = time.monotonic() + self.seconds
        while not self._stop.wait(min(_WAKE, self.seconds)):
            try:
                if time.monotonic() < next_look and not self._has_waiting_run():
                    continue
                next_look = time.monotonic() + self.seconds
                self.look()
            except RankgateError as error:  # the database is not available; the loop tries again
                _SCHEDULE_LOG.warning("schedule: %s", error)
            except Exception:  # noqa: BLE001 - one bad job must not end all others
                _SCHEDULE_LOG.exception("schedule")

    def _has_waiting_run(self) -> bool:
        """True if a user started a job that this process can run."""
        self._busy = [future for future in self._busy if not future.done()]
        with self.store.read() as connection:
            is_waiting = scheduled_jobs.has_waiting_run(connection, now())
        return is_waiting and len(self._busy) < self.threads

    def look(self, moment: datetime | None = None) -> bool:
        """Plan, start, check and send all due work; False while another process has the lease."""
        current_time = moment or now()
        with self._turn:
            with self.store.write() as connection:
                if not rows.acquire(connection, _LEASE_NAME, self._owner, _LEASE_TIME):
                    return False
            self._plan(current_time)
            self._begin(current_time)
            self._check(current_time)
            deliver(self.store, link=self.link, allow_http=self.allow_http, moment=current_time)
        return True

    def _plan(self, moment: datetime) -> None:
        with self.store.read() as connection:
            enabled_jobs = scheduled_jobs.list_enabled(connection)
            last_runs = [
                (
                    job,
                    scheduled_jobs.last_run(connection, job.id),
                    scheduled_jobs.last_run(connection, job.id, until=moment),
                )
                for job in enabled_jobs
            ]
        for job, latest_run, last_run in last_runs:
            if latest_run is not None and latest_run.state in {"waiting", "running"}:
                continue  # one run of a job at a time; jobs due meanwhile become one run after it
            # a job that was changed in the future was changed before the clock was put back
            changed_at = job.changed_at if job.changed_at <= moment else moment - _MISSED_AFTER
            since = changed_at if last_run is None else max(changed_at, last_run.due_at)
            try:
                due_at = last_due(job.schedule, job.timezone, since, moment)
            except RankgateError as error:  # a plug-in or a time zone is missing
                _SCHEDULE_LOG.warning("job %s: %s", job.name, error)
                continue
            if due_at is not None:
                skip = moment - due_at > _MISSED_AFTER and job.settings.get("missed") == "skip"
                with self.store.write() as connection:
                    scheduled_jobs.plan_run(connection, job.id, due_at, state="missed" if skip else "waiting")

    def _begin(self, moment: datetime) -> None:
        self._busy = [future for future in self._busy if not future.done()]
        while len(self._busy) < self.threads:
            with self.store.write() as connection:
                run = scheduled_jobs.take_run(connection, self._owner, lease=LEASE, moment=moment)
                if run is None:
                    return
                job = scheduled_jobs.job_by_number(connection, run.job)
                if run.tries > int(job.settings.get("retries", 0)) + 1:
                    scheduled_jobs.mark_failed(
                        connection,
                        run.id,
                        self._owner,
                        log=run.log,
                        next_try_at=None,
                        error="the server ended while it ran",
                    )
                    continue
            if self._pool is None:
                self._pool = ThreadPoolExecutor(self.threads, thread_name_prefix="jobs")
            self._busy.append(self._pool.submit(self._execute, job, run))

    def _execute(self, job: Job, run: JobRun) -> JobRun:
        try:
            return execute_run(
                self.store, job, run, self.folder, stop=self._stop, environment=self.environment
            )
        except RankgateError as error:
            _SCHEDULE_LOG.warning("job %s: %s", job.name, error)
        except Exception:  # noqa: BLE001 - it is taken again when its lease has ended
            _SCHEDULE_LOG.exception("job %s", job.name)
        return run

    def wait(self) -> None:
        """Wait for the running jobs."""
        for future in self._busy:
            future.result()

    def _check(self, moment: datetime) -> None:
        """Check the alerts of projects with new records or rules, and regularly of all projects."""
        with self.store.read() as connection:
            record_counts = [
                (project, records.count_records(connection, project.id))
                for project in projects.list_projects(connection)
                if project.settings.get("alerts")
            ]
        for project, count in record_counts:
            rules = project.settings["alerts"]
            checked = self._checked.get(project.id)
            if checked and checked[:2] == (count, rules) and abs(moment - checked[2]) < _CHECK_INTERVAL:
                continue
            self._checked[project.id] = (count, rules, moment)
            try:
                check_alerts(self.store, project.name, moment)
            except RankgateError as error:  # rules of a missing plug-in
                _SCHEDULE_LOG.warning("alerts of %s: %s", project.name, error)
