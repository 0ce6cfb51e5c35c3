"""Jobs of a project: read from TOML, checked, kept in the store."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from rankgate.core.declare import Parameter, Range
from rankgate.core.declare.toml import Toml
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

CODE = "invalid-jobs"
COMMON = (
    Parameter("name", "text", "its name, unique", required=True),
    Parameter("kind", "text", "the kind of job", required=True),
    Parameter("schedule", "text", "when: minute, hour, day, month, day of the week, as cron has "
              "them", required=True),
    Parameter("timezone", "text", "the time zone of the schedule", "UTC"),
    Parameter("enabled", "bool", "whether it runs", default=True),
    Parameter("retries", "int", "how often it is tried again after a failure", 2,
              range=Range(0, 10)),
    Parameter("timeout", "int", "minutes after which it is stopped", 60, range=Range(1, 1440)),
    Parameter("missed", "text", "what to do with runs that were due while no server ran: run once, "
              "or skip them", "once", choices=("once", "skip")),
)  # fmt: skip
"""What every ``[[jobs]]`` may say."""

_NAME = re.compile(r"[a-z0-9][a-z0-9._-]{0,62}")


@dataclass(frozen=True)
class NewJob:
    """A job before it is kept.

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
    """The jobs that a text says.

    Raises:
        InputError: no TOML, an unknown key, a value that cannot be; with its line.
    """
    file = Toml.parse(text, source, code=CODE)
    file.check_keys(file.values, ("jobs",))
    tables = file.values.get("jobs", [])
    if not isinstance(tables, list) or not all(isinstance(each, dict) for each in tables):
        raise file.error("jobs are tables: [[jobs]].", "jobs")
    found = tuple(_job(file, each, str(place)) for place, each in enumerate(tables))
    names = [each.name for each in found]
    for place, name in enumerate(names):
        if name in names[:place]:
            raise file.error(f"two jobs are called {name!r}.", "jobs", str(place), "name")
    return found


def _job(file: Toml, table: dict[str, Any], place: str) -> NewJob:
    key = ("jobs", place)
    own = {each.name for each in COMMON}
    common = file.read_values({k: v for k, v in table.items() if k in own}, COMMON, *key)
    if not _NAME.fullmatch(common["name"]):
        problem = "name is lower case letters, digits and - . _"
        raise file.error(problem, *key, "name")
    try:
        kind = JOBS.named(common["kind"])
    except UsageError as error:
        raise file.error(error.problem, *key, "kind") from None
    try:
        due = next_due(common["schedule"], common["timezone"], now())
    except UsageError as error:
        raise file.error(error.problem, *key, "schedule") from None
    if due is None:
        problem = f"the schedule {common['schedule']!r} has no date; choose one that comes."
        raise file.error(problem, *key, "schedule")
    rest = {name: value for name, value in table.items() if name not in own}
    values = file.read_values(rest, kind.takes, *key)
    for name, value in values.items():
        problem = _word_problem(value, file=name in kind.files)
        if name == "output" and not problem and not str(value).endswith(".run"):
            problem = "is a file that ends in .run."  # nothing else is written over
        if problem:
            raise file.error(f"{name} {problem}", *key, name)
    settings = {name: common[name] for name in ("retries", "timeout", "missed")}
    return NewJob(
        common["name"], kind.name, common["schedule"], common["timezone"], common["enabled"],
        settings | {"values": {k: list(v) if isinstance(v, tuple) else v
                               for k, v in values.items()}},
    )  # fmt: skip


def _word_problem(value: object, *, file: bool) -> str:
    """What is wrong with the words of a value: they are no options, and stay in the folder."""
    for each in value if isinstance(value, list | tuple) else (value,):
        if each is None:
            continue
        if not isinstance(each, str) or not each or each.startswith("-"):
            return "is a word, or a list of words, none of which begins with a dash."
        if any(not sign.isprintable() for sign in each):
            return "has a sign that cannot be printed."
        if file and (Path(each).is_absolute() or ".." in Path(each).parts or "://" in each):
            return "is a file in the folder of jobs, as in engines/shop.toml."
    return ""


def set_jobs(
    connection: Connection,
    project: int,
    found: tuple[NewJob, ...],
    actor: Actor = COMMAND_LINE,
    *,
    others: bool = True,
) -> None:
    """Keep jobs.

    Args:
        connection: of a store, to write.
        project: the number.
        found: the jobs.
        actor: who does it.
        others: whether jobs of other names are disabled.
    """
    for each in found:
        jobs.put(connection, project, each.name, kind=each.kind, schedule=each.schedule,
                 timezone=each.timezone, settings=each.settings, enabled=each.enabled,
                 user=actor.user)  # fmt: skip
    names = {each.name for each in found}
    for old in jobs.listed(connection, project) if others else ():
        if old.name not in names and old.enabled:
            jobs.put(connection, project, old.name, kind=old.kind, schedule=old.schedule,
                     timezone=old.timezone, settings=old.settings, enabled=False,
                     user=actor.user)  # fmt: skip
    audit.record(connection, actor, "jobs.set", ", ".join(sorted(names)), project=project)
