"""Jobs of a project: read from TOML, checked, and saved in the store."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankgate.core.declare import Parameter, Range
from rankgate.core.declare.toml import TomlFile
from rankgate.core.errors import UsageError
from rankgate.core.frozen import dataclass
from rankgate.store.people import audit
from rankgate.store.people.audit import COMMAND_LINE
from rankgate.store.records import jobs
from rankgate.store.rows import now
from rankgate.workspace.records.schedule.clock import next_due
from rankgate.workspace.records.schedule.kinds import JOBS

if TYPE_CHECKING:
    from rankgate.store.database import Connection
    from rankgate.store.people.audit import Actor

JOBS_CODE = "invalid-jobs"
JOB_PARAMETERS = (
    Parameter("name", "text", "its name, unique", required=True),
    Parameter("kind", "text", "the kind of job", required=True),
    Parameter(
        "schedule",
        "text",
        "when: minute, hour, day, month, day of the week, as cron has them",
        required=True,
    ),
    Parameter("timezone", "text", "the time zone of the schedule", "UTC"),
    Parameter("enabled", "bool", "whether it runs", default=True),
    Parameter(
        "retries", "int", "how often it is tried again after a failure", 2, range=Range(0, 10)
    ),
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
    """A job before it is stored.

    Attributes:
        name, kind, schedule, timezone, enabled: as of `rankgate.store.records.jobs.Job`.
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
        InputError: not TOML, an unknown key, an invalid value; with its line.
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


def _read_job(file: TomlFile, table: dict[str, Any], position: str) -> NewJob:
    key = ("jobs", position)
    common_names = {parameter.name for parameter in JOB_PARAMETERS}
    common_settings = file.read_values(
        {k: v for k, v in table.items() if k in common_names}, JOB_PARAMETERS, *key
    )
    if not _NAME_PATTERN.fullmatch(common_settings["name"]):
        problem = "name is lower case letters, digits and - . _"
        raise file.error(problem, *key, "name")
    try:
        kind = JOBS.named(common_settings["kind"])
    except UsageError as error:
        raise file.error(error.problem, *key, "kind") from None
    try:
        due_at = next_due(common_settings["schedule"], common_settings["timezone"], now())
    except UsageError as error:
        raise file.error(error.problem, *key, "schedule") from None
    if due_at is None:
        problem = (
            f"the schedule {common_settings['schedule']!r} has no date; choose one that comes."
        )
        raise file.error(problem, *key, "schedule")
    kind_settings = {name: value for name, value in table.items() if name not in common_names}
    values = file.read_values(kind_settings, kind.takes, *key)
    for name, value in values.items():
        problem = _find_value_problem(value, file=name in kind.files)
        if name == "output" and not problem and not str(value).endswith(".run"):
            problem = "is a file that ends in .run."  # nothing else is written over
        if problem:
            raise file.error(f"{name} {problem}", *key, name)
    settings = {name: common_settings[name] for name in ("retries", "timeout", "missed")}
    return NewJob(
        common_settings["name"],
        kind.name,
        common_settings["schedule"],
        common_settings["timezone"],
        common_settings["enabled"],
        settings
        | {"values": {k: list(v) if isinstance(v, tuple) else v for k, v in values.items()}},
    )


def _find_value_problem(value: object, *, file: bool) -> str:
    """The problem of a value: it is not text, looks like an option, or leaves the folder."""
    for text in value if isinstance(value, list | tuple) else (value,):
        if text is None:
            continue
        if not isinstance(text, str) or not text or text.startswith("-"):
            return "is a word, or a list of words, none of which begins with a dash."
        if any(not sign.isprintable() for sign in text):
            return "has a sign that cannot be printed."
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
        connection: of a store, to write.
        project: the number.
        new_jobs: the jobs.
        actor: the user who changes them.
        others: True if jobs of other names are disabled.
    """
    for job in new_jobs:
        jobs.save_job(
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
    names = {job.name for job in new_jobs}
    for stored_job in jobs.list_jobs(connection, project) if others else ():
        if stored_job.name not in names and stored_job.enabled:
            jobs.save_job(
                connection,
                project,
                stored_job.name,
                kind=stored_job.kind,
                schedule=stored_job.schedule,
                timezone=stored_job.timezone,
                settings=stored_job.settings,
                enabled=False,
                user=actor.user,
            )
    audit.record(connection, actor, "jobs.set", ", ".join(sorted(names)), project=project)
