"""Run a job: commands of rankgate in processes of their own, with a log, a limit and retries."""

from __future__ import annotations

import logging
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
from datetime import timedelta
from pathlib import Path
from typing import IO, TYPE_CHECKING

from rankgate.core.errors import RankgateError, UsageError
from rankgate.core.frozen import dataclass
from rankgate.store.address import STORE_VARIABLE
from rankgate.store.material import projects
from rankgate.store.models.jobs import this_process
from rankgate.store.records import job_runs, jobs, records
from rankgate.store.rows import now
from rankgate.workspace.records.alerts.alert_check import check_alerts
from rankgate.workspace.records.schedule.kinds import JOBS

if TYPE_CHECKING:
    from datetime import datetime

    from rankgate.store.records.job_runs import JobRun
    from rankgate.store.records.jobs import Job
    from rankgate.store.store import Store

_LOG = logging.getLogger("rankgate.jobs")
LEASE = timedelta(minutes=2)
RETRY_DELAYS = (timedelta(minutes=1), timedelta(minutes=5), timedelta(minutes=15))
"""The wait before each retry after a failure; the last one counts for all further ones."""

_SIGN, _LOOK, _MOST = 20.0, 0.2, 20_000


@dataclass(frozen=True)
class RunOutcome:
    """The result of a run's commands: the log, and the error; empty if there is none."""

    log: str
    error: str


def run_job_now(store: Store, project: str, name: str, folder: Path | None) -> JobRun:
    """Run a job at once, as cron or a person asks for it; it is not tried again.

    Raises:
        UsageError: no such project or job.
    """
    with store.write() as connection:
        number = projects.get_by_name(connection, project).id
        projects.refuse_archived(connection, number)
        job = jobs.get_job(connection, number, name)
        planned_run = job_runs.plan_run(connection, job.id, now())
        run = job_runs.begin_run(connection, planned_run.id, this_process(), lease=LEASE)
    return execute_run(store, job, run, folder, retry=False)


def execute_run(
    store: Store,
    job: Job,
    run: JobRun,
    folder: Path | None,
    *,
    retry: bool = True,
    stop: threading.Event | None = None,
) -> JobRun:
    """Run the commands of a run that this process has taken, and store the result.

    Args:
        store: an open store.
        job: the job of the run.
        run: the run that `rankgate.store.records.job_runs` gave to this process.
        folder: with a folder for each project, by its name, in which the job's files are; nothing
            outside of that is read or written. None is without files.
        retry: True if it is tried again after a failure.
        stop: set when this process ends: the commands are ended, too, and the run waits for another
            server.
    """
    owner, started_at = run.owner, now()
    with store.read() as connection:
        project = projects.get(connection, job.project)
    try:
        home = None if folder is None else folder.resolve() / project.name
        result = _RunWorker(store, job, run, project.name, home, stop or threading.Event()).done()
    except RankgateError as error:
        result = RunOutcome("", str(error))
    with store.write() as connection:
        if result.error:
            is_stopped = stop is not None and stop.is_set()
            retry_at = now() if is_stopped else _next_try(job, run) if retry else None
            job_runs.mark_failed(
                connection, run.id, owner, log=result.log, error=result.error, next_try_at=retry_at
            )
        else:
            record_id = _find_record(store, job, started_at)
            job_runs.mark_done(connection, run.id, owner, log=result.log, record=record_id)
    level = logging.WARNING if result.error and retry else logging.INFO
    _LOG.log(level, "job %s of %s: %s", job.name, project.name, result.error or "done")
    if not result.error and project.settings.get("alerts"):
        check_alerts(store, project.name)
    with store.read() as connection:
        return job_runs.get_job_run(connection, run.id)


def _next_try(job: Job, run: JobRun) -> datetime | None:
    if run.tries > int(job.settings.get("retries", 0)):
        return None
    return now() + RETRY_DELAYS[min(run.tries, len(RETRY_DELAYS)) - 1]


def _find_record(store: Store, job: Job, started_at: datetime) -> int | None:
    """The record that the job made: by its label, since it began."""
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
    """The commands of one run; ``folder`` is that of the project."""

    store: Store
    job: Job
    run: JobRun
    project: str
    folder: Path | None
    stop: threading.Event

    def done(self) -> RunOutcome:
        """Run each command after the one before it has ended well."""
        kind = JOBS.named(self.job.kind)
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
        """The paths of files, which must be in the project's folder, wherever links lead."""
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
        """Run a command; return the problem with how it ended, empty if there is none."""
        environ = os.environ | {
            STORE_VARIABLE: self.store.url.render_as_string(hide_password=False),
            "RANKGATE_PROJECT": self.project,
            "RANKGATE_LABELS": f"job={self.job.name}",
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
            return job_runs.renew_lease(
                connection, self.run.id, self.run.owner, lease=LEASE, log=_read_tail(log)
            )


def _read_tail(log: IO[bytes]) -> str:
    """The end of a log; the commands go on writing at its end."""
    size = os.fstat(log.fileno()).st_size
    content = os.pread(log.fileno(), _MOST, max(0, size - _MOST))
    return content.decode(errors="replace").replace("\0", "")
