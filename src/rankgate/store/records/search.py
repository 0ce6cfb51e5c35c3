"""Find records: by kind, system, branch, label, verdict, words and time, a page at a time."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import sqlalchemy as sa

from rankgate.core.frozen import dataclass
from rankgate.store.records.records import Record
from rankgate.store.rows import unknown, value_of
from rankgate.store.tables.records import records

if TYPE_CHECKING:
    from sqlalchemy import Connection

_HASH = 6
"""Letters of a hash, at least, by which a record is found."""


@dataclass(frozen=True)
class RecordFilter:
    """Which records are asked for; None is any.

    Attributes:
        kinds: of their results.
        system, branch, verdict: exactly this.
        label: ``name=value``, or a name alone for any value.
        words: in the name, system, branch or revision, or the first letters of the hash.
        since: evaluated at this moment or later.
        until: evaluated before this moment.
        judged: only those with a verdict.
    """

    kinds: Sequence[str] = ()
    system: str | None = None
    branch: str | None = None
    verdict: str | None = None
    label: str | None = None
    words: str | None = None
    since: datetime | None = None
    until: datetime | None = None
    judged: bool = False


def found(
    connection: Connection,
    project: int,
    which: RecordFilter,
    *,
    before: int | None = None,
    most: int = 50,
) -> list[Record]:
    """The latest records that fit by their evaluation, the last first.

    Args:
        connection: of a store.
        project: which project.
        which: the filter.
        before: only what comes after this record in the list, to turn pages.
        most: how many.

    Raises:
        UsageError: there is no record ``before``.
    """
    at, number = records.c.evaluated_at, records.c.id
    chosen = sa.select(records).where(_fits(project, which))
    if before is not None:
        here = sa.and_(records.c.project == project, number == before)
        last = connection.scalar(sa.select(at).where(here))
        if last is None:
            raise unknown("record", before)
        chosen = chosen.where(sa.or_(at < last, sa.and_(at == last, number < before)))
    rows = connection.execute(chosen.order_by(at.desc(), number.desc()).limit(most))
    return [value_of(Record, row) for row in rows]


def count(connection: Connection, project: int, which: RecordFilter) -> int:
    """How many records fit."""
    chosen = sa.select(sa.func.count()).select_from(records).where(_fits(project, which))
    return int(connection.scalar(chosen) or 0)


def choices(connection: Connection, project: int) -> Mapping[str, Mapping[str, int]]:
    """The kinds, systems, branches and verdicts that a project's records have, with counts."""
    columns = {name: records.c[name] for name in ("kind", "system", "branch", "verdict")}
    here = records.c.project == project
    made: dict[str, dict[str, int]] = {}
    for name, column in columns.items():
        chosen = sa.select(column, sa.func.count()).where(here).group_by(column).order_by(column)
        made[name] = {word: int(n) for word, n in connection.execute(chosen) if word}
    return made


def _fits(project: int, which: RecordFilter) -> sa.ColumnElement[bool]:
    table = records.c
    wanted: list[sa.ColumnElement[bool]] = [table.project == project]
    if which.kinds:
        wanted.append(table.kind.in_(list(which.kinds)))
    for column, word in (
        (table.system, which.system), (table.branch, which.branch),
        (table.verdict, which.verdict),
    ):  # fmt: skip
        if word is not None:
            wanted.append(column == word)
    if which.judged:
        wanted.append(table.verdict.is_not(None))
    if which.label:
        name, equals, value = which.label.partition("=")
        label = table.labels[name].as_string()
        wanted.append(label == value if equals else label.is_not(None))
    if which.words:
        wanted.append(_has(which.words))
    if which.since is not None:
        wanted.append(table.evaluated_at >= which.since)
    if which.until is not None:
        wanted.append(table.evaluated_at < which.until)
    return sa.and_(*wanted)


def _has(words: str) -> sa.ColumnElement[bool]:
    table = records.c
    searched = (table.name, table.system, table.branch, table.revision)
    where = [each.icontains(words, autoescape=True) for each in searched]
    if len(words) >= _HASH:
        where.append(table.sha256.startswith(words, autoescape=True))
    return sa.or_(*where)
