"""Read the jobs of a project from TOML, check them, and store them.

Functions of this module also list jobs and runs for the command line.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankgate.core.declare import Parameter, Range
from rankgate.core.declare.toml_file import TomlFile
from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.judging.store.store_people import StoreListing
from rankgate.store.material import projects
from rankgate.store.people.audit import COMMAND_LINE
from rankgate.store.records import scheduled_jobs
from rankgate.store.rows import now
from rankgate.workspace.records.cron_times import next_due
from rankgate.workspace.records.schedule.job_kinds import JOBS

if TYPE_CHECKING:
    from rankgate.core.value_types import JsonObject
    from rankgate.store.database import Connection
    from rankgate.store.people.audit import Actor
    from rankgate.store.store import Store


JOBS_CODE = "invalid-jobs"
JOB_PARAMETERS = (
    Parameter("name", "text", "its name, unique", required=True),
    Parameter("kind", "text", "the kind of job", required=True),
    Parameter(
        "schedule", "text", "when: minute, hour, day, month, day of the week, as cron has them", required=True
    ),
    Parameter("timezone", "text", "the time zone of the schedule", "UTC"),
    Parameter("enabled", "bool", "whether it runs", default=True),
    Parameter("retries", "int", "how often it is tried again after a failure", 2, range=Range(0, 10)),
    Parameter("timeout", "int", "minutes after which it is stopped", 60, range=Range(1, 1440)),
    Parameter(
        "missed",
        "text",
        "what to do with runs that were due while no server ran: run once, or skip them",
        "once",
        choices=("once", "skip"),
    ),
)
"""The parameters that every ``[[jobs]]`` may have."""

_NAME_PATTERN = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")


@dataclass(frozen=True)
class NewJob:
    """A job that is not stored yet.

    Attributes:
        name, kind, schedule, timezone, enabled: as in `rankgate.store.records.scheduled_jobs.Job`.
        settings: ``retries``, ``timeout``, ``missed``, and ``values`` of the kind's parameters.
    """

    name: str
    kind: str
    schedule: str
    timezone: str
    enabled: bool
    settings: Mapping[str, Any]


def read_jobs(text: str, source: str = "jobs") -> tuple[NewJob, ...]:
    """Read the jobs in a text.

    Raises:
        InputError: the text is not TOML; a key is unknown; a value is invalid. The error has the
            line.
    """
    file = TomlFile.parse(text, source, code=JOBS_CODE)
    file.check_keys(file.values, ("jobs",))
    tables = file.values.get("jobs", [])
    if not isinstance(tables, list) or not all(isinstance(table, dict) for table in tables):
        raise file.error("jobs are tables: [[jobs]].", "jobs")
    new_jobs = tuple(_read_job(file, table, str(position)) for position, table in enumerate(tables))
    names = [job.name for job in new_jobs]
    for position, name in enumerate(names):
        if name in names[:position]:
            raise file.error(f"two jobs are called {name!r}.", "jobs", str(position), "name")
    return new_jobs


def make_job(values: JsonObject) -> NewJob:
    """Create a job from the values of a form; None is a missing value.

    Raises:
        InputError: a key is unknown, or a value is invalid.
    """
    table = {name: value for name, value in values.items() if value is not None}
    return _read_job(TomlFile({"jobs": [table]}, "job", {}, code=JOBS_CODE), table, "0")


def _read_job(file: TomlFile, table: JsonObject, position: str) -> NewJob:
    key = ("jobs", position)
    common_names = {parameter.name for parameter in JOB_PARAMETERS}
    common_settings = file.read_values(
        {k: v for k, v in table.items() if k in common_names}, JOB_PARAMETERS, *key
    )
    if not _NAME_PATTERN.fullmatch(common_settings["name"]):
        problem = "name is lower case letters, digits and - . _"
        raise file.error(problem, *key, "name")
    try:
        kind = JOBS.find(common_settings["kind"])
    except UsageError as error:
        raise file.error(error.problem, *key, "kind") from None
    try:
        due_at = next_due(common_settings["schedule"], common_settings["timezone"], now())
    except UsageError as error:
        raise file.error(error.problem, *key, "schedule") from None
    if due_at is None:
        problem = f"the schedule {common_settings['schedule']!r} has no date; choose one that occurs."
        raise file.error(problem, *key, "schedule")
    kind_settings = {name: value for name, value in table.items() if name not in common_names}
    values = file.read_values(kind_settings, kind.takes, *key)
    for name, value in values.items():
        problem = _find_value_problem(value, file=name in kind.files)
        if name == "output" and not problem and not str(value).endswith(".run"):
            problem = "is a file that ends in .run."  # no other file is overwritten
        if problem:
            raise file.error(f"{name} {problem}", *key, name)
    settings = {name: common_settings[name] for name in ("retries", "timeout", "missed")}
    return NewJob(
        common_settings["name"],
        kind.name,
        common_settings["schedule"],
        common_settings["timezone"],
        common_settings["enabled"],
        settings | {"values": {k: list(v) if isinstance(v, tuple) else v for k, v in values.items()}},
    )


def _find_value_problem(value: object, *, file: bool) -> str:
    """The problem of a value: a wrong type, a text like an option, a path outside the folder."""
    for text in value if isinstance(value, list | tuple) else (value,):
        if text is None or isinstance(text, int | float):
            continue
        if not isinstance(text, str) or not text or text.startswith("-"):
            return "is a word, or a list of words; no word may begin with a dash."
        if any(not sign.isprintable() for sign in text):
            return "has a character that cannot be printed."
        if file and (Path(text).is_absolute() or ".." in Path(text).parts or "://" in text):
            return "is a file in the folder of jobs, as in engines/shop.toml."
    return ""


def set_jobs(
    connection: Connection,
    project: int,
    new_jobs: tuple[NewJob, ...],
    actor: Actor = COMMAND_LINE,
    *,
    others: bool = True,
) -> None:
    """Store jobs.

    Args:
        connection: a connection to a store, for writing.
        project: the number of the project.
        new_jobs: the jobs.
        actor: the user who changes them.
        others: True to disable the project's other jobs.
    """
    names = {job.name for job in new_jobs}
    stored_jobs = scheduled_jobs.list_jobs(connection, project) if others else []
    jobs: list[NewJob | scheduled_jobs.Job] = [
        *new_jobs,
        *(replace(job, enabled=False) for job in stored_jobs if job.name not in names and job.enabled),
    ]
    for job in jobs:
        scheduled_jobs.save_job(
            connection,
            project,
            job.name,
            kind=job.kind,
            schedule=job.schedule,
            timezone=job.timezone,
            settings=job.settings,
            enabled=job.enabled,
            user=actor.user,
        )
    actor.record(connection, "jobs.set", ", ".join(sorted(names)), project=project)


def set_jobs_from_file(store: Store, project: str, file: Path) -> tuple[str, ...]:
    """Replace the jobs of a project by the jobs of a file; return their names.

    Raises:
        UsageError: the project does not exist.
        InputError: the file cannot be read; the error has the line.
    """
    TomlFile.read(file, code=JOBS_CODE)  # errors name the file
    new_jobs = read_jobs(file.read_text(encoding="utf-8-sig"), str(file))
    with store.write() as connection:
        project_id = projects.get_by_name(connection, project).id
        projects.refuse_archived(connection, project_id)
        set_jobs(connection, project_id, new_jobs)
    return tuple(job.name for job in new_jobs)


def list_jobs(store: Store, project: str) -> StoreListing:
    """The jobs of a project with their last run and next due time.

    Raises:
        UsageError: the project does not exist.
    """
    rows = []
    with store.read() as connection:
        for job in scheduled_jobs.list_jobs(connection, projects.get_by_name(connection, project).id):
            last_run = scheduled_jobs.last_run(connection, job.id)
            due_at = next_due(job.schedule, job.timezone, now()) if job.enabled else None
            rows.append(
                {
                    "job": job.name,
                    "kind": job.kind,
                    "schedule": job.schedule,
                    "last": "" if last_run is None else f"{last_run.due_at:%Y-%m-%d %H:%M}",
                    "state": "" if last_run is None else last_run.state,
                    "next": "disabled" if due_at is None else f"{due_at:%Y-%m-%d %H:%M}",
                }
            )
    return StoreListing(store.name, "jobs", tuple(rows))


def list_runs(store: Store, project: str, job: str | None = None) -> StoreListing:
    """The latest runs of a project's jobs, or of one job.

    Raises:
        UsageError: the project or job does not exist.
    """
    with store.read() as connection:
        project_id = projects.get_by_name(connection, project).id
        names = {job.id: job.name for job in scheduled_jobs.list_jobs(connection, project_id)}
        if job is None:
            project_runs = scheduled_jobs.runs_of_project(connection, project_id)
        else:
            project_runs = scheduled_jobs.list_runs(
                connection, scheduled_jobs.get_job(connection, project_id, job).id
            )
    rows = tuple(
        {
            "run": run.id,
            "job": names[run.job],
            "due": f"{run.due_at:%Y-%m-%d %H:%M}",
            "state": run.state,
            "tries": run.tries,
            "record": run.record or "",
            "error": run.error,
        }
        for run in project_runs
    )
    return StoreListing(store.name, "runs", rows)
