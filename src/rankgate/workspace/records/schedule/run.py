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
from rankgate.store.address import VARIABLE
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
AGAIN = (timedelta(minutes=1), timedelta(minutes=5), timedelta(minutes=15))
"""How long after each failure a job is tried again; the last one counts for all further ones."""

_SIGN, _LOOK, _MOST = 20.0, 0.2, 20_000


@dataclass(frozen=True)
class Ended:
    """How the commands of a run ended: the log, and why it failed; empty if it did not."""

    log: str
    error: str


def run_now(store: Store, project: str, name: str, folder: Path | None) -> JobRun:
    """Run a job at once, as cron or a person asks for it; it is not tried again.

    Raises:
        UsageError: no such project or job.
    """
    with store.write() as connection:
        number = projects.named(connection, project).id
        projects.refuse_archived(connection, number)
        job = jobs.get(connection, number, name)
        planned = job_runs.plan(connection, job.id, now())
        run = job_runs.begin(connection, planned.id, this_process(), lease=LEASE)
    return execute(store, job, run, folder, retry=False)


def execute(
    store: Store,
    job: Job,
    run: JobRun,
    folder: Path | None,
    *,
    retry: bool = True,
    stop: threading.Event | None = None,
) -> JobRun:
    """Do what a run that this process has taken is for, and note how it ended.

    Args:
        store: an open store.
        job: whose run.
        run: that `rankgate.store.records.job_runs` gave to this process.
        folder: with a folder for each project, by its name, in which the job's files are; nothing
            outside of that is read or written. None is without files.
        retry: whether it is tried again after a failure.
        stop: set when this process ends: the commands are ended, too, and the run waits for another
            server.
    """
    owner, begin = run.owner, now()
    with store.read() as connection:
        project = projects.get(connection, job.project)
    try:
        home = None if folder is None else folder.resolve() / project.name
        ended = _Work(store, job, run, project.name, home, stop or threading.Event()).done()
    except RankgateError as error:
        ended = Ended("", str(error))
    with store.write() as connection:
        if ended.error:
            stopped = stop is not None and stop.is_set()
            again = now() if stopped else _again(job, run) if retry else None
            job_runs.failed(connection, run.id, owner, log=ended.log, error=ended.error,
                            next_try_at=again)  # fmt: skip
        else:
            made = _recorded(store, job, begin)
            job_runs.done(connection, run.id, owner, log=ended.log, record=made)
    level = logging.WARNING if ended.error and retry else logging.INFO
    _LOG.log(level, "job %s of %s: %s", job.name, project.name, ended.error or "done")
    if not ended.error and project.settings.get("alerts"):
        check_alerts(store, project.name)
    with store.read() as connection:
        return job_runs.get(connection, run.id)


def _again(job: Job, run: JobRun) -> datetime | None:
    if run.tries > int(job.settings.get("retries", 0)):
        return None
    return now() + AGAIN[min(run.tries, len(AGAIN)) - 1]


def _recorded(store: Store, job: Job, begin: datetime) -> int | None:
    """The record that the job made: by its label, since it began."""
    with store.read() as connection:
        found = records.listed(connection, job.project, most=50)
    mine = [each.id for each in found
            if each.labels.get("job") == job.name and each.recorded_at >= begin]  # fmt: skip
    return max(mine, default=None)


@dataclass(frozen=True)
class _Work:
    """The commands of one run; ``folder`` is that of the project."""

    store: Store
    job: Job
    run: JobRun
    project: str
    folder: Path | None
    stop: threading.Event

    def done(self) -> Ended:
        """Run each command after the one before it has ended well."""
        kind = JOBS.named(self.job.kind)
        values = dict(self.job.settings.get("values", {}))
        named = {name: values[name] for name in kind.files if values.get(name) is not None}
        values |= self._files(named)
        commands = kind.commands(self.project, values)
        limit = time.monotonic() + 60 * int(self.job.settings.get("timeout", 60))
        with tempfile.TemporaryFile() as log:
            for place, words in enumerate(commands):
                log.write(f"$ rankgate {' '.join(words)}\n".encode())
                log.flush()
                good = kind.good if place == len(commands) - 1 else frozenset({0})
                problem = self._command(words, log, limit, good)
                if problem:
                    text = _tail(log)
                    said = text.strip().splitlines()[-1]
                    return Ended(text, f"{problem} {said}" if not said.startswith("$") else problem)
            return Ended(_tail(log), "")

    def _files(self, named: dict[str, str]) -> dict[str, str]:
        """The places of files, which are in the project's folder, wherever links lead."""
        if not named:
            return {}
        if self.folder is None or not self.folder.is_dir():
            problem = f"there is no folder {self.project!r} in the folder of jobs."
            raise UsageError(problem, code="missing-input")
        home = self.folder.resolve()
        for name, word in named.items():
            if not (home / word).resolve().is_relative_to(home):
                problem = f"{name} is not in the folder of the project's jobs."
                raise UsageError(problem, code="outside-folder")
        return {name: str(home / word) for name, word in named.items()}

    def _command(self, words: list[str], log: IO[bytes], limit: float, good: frozenset[int]) -> str:
        """What is wrong with how a command ended; empty if nothing is."""
        environ = os.environ | {
            VARIABLE: self.store.url.render_as_string(hide_password=False),
            "RANKGATE_PROJECT": self.project,
            "RANKGATE_LABELS": f"job={self.job.name}",
            "COLUMNS": "120",
        }
        process = subprocess.Popen(
            [sys.executable, "-m", "rankgate", *words], env=environ, stdout=log,
            stderr=log, stdin=subprocess.DEVNULL, start_new_session=True,
        )  # fmt: skip
        sign = time.monotonic() + _SIGN
        try:
            while process.poll() is None:
                if self.stop.wait(_LOOK):
                    return "the server stopped;"
                if time.monotonic() > limit:
                    return "it took longer than its limit;"
                if time.monotonic() > sign:
                    sign = time.monotonic() + _SIGN
                    if not self._alive(log):
                        return "another process took it over;"
        finally:
            if process.poll() is None:
                os.killpg(process.pid, signal.SIGKILL)
                process.wait()
        code = process.returncode
        return "" if code in good else f"rankgate {words[0]} ended with {code}:"

    def _alive(self, log: IO[bytes]) -> bool:
        with self.store.write() as connection:
            return job_runs.alive(
                connection, self.run.id, self.run.owner, lease=LEASE, log=_tail(log)
            )


def _tail(log: IO[bytes]) -> str:
    """The end of a log; the commands go on writing at its end."""
    size = os.fstat(log.fileno()).st_size
    content = os.pread(log.fileno(), _MOST, max(0, size - _MOST))
    return content.decode(errors="replace").replace("\0", "")
