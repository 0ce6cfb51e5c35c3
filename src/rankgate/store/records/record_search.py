"""Find records by kind, system, branch, label, verdict, words and time, page by page."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING

import sqlalchemy as sa

from rankgate.core.frozen import dataclass
from rankgate.store.records.records import Record
from rankgate.store.rows import list_values, unknown_error
from rankgate.store.tables.record_tables import records

if TYPE_CHECKING:
    from sqlalchemy import Connection


_MIN_HASH_LETTERS = 6
"""The smallest number of letters of a hash for finding a record."""


@dataclass(frozen=True)
class RecordFilter:
    """A filter of records; None accepts any value.

    Attributes:
        kinds: the kinds of results.
        system, branch, verdict: the exact value.
        label: ``name=value``, or only a name for any value.
        words: words in the name, system, branch or revision, or the first letters of the hash.
        since: only evaluations at this time or later.
        until: only evaluations before this time.
        judged: only records with a verdict.
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


def find_records(
    connection: Connection,
    project: int,
    record_filter: RecordFilter,
    *,
    before: int | None = None,
    most: int = 50,
) -> list[Record]:
    """The latest records that match a filter, by evaluation time, newest first.

    Args:
        connection: a connection to a store.
        project: the number of the project.
        record_filter: the filter.
        before: the last record on the page before; only records after it in the list are returned.
        most: the largest number of records.

    Raises:
        UsageError: the record ``before`` does not exist.
    """
    time, number = records.c.evaluated_at, records.c.id
    statement = sa.select(records).where(_conditions(project, record_filter))
    if before is not None:
        is_record = sa.and_(records.c.project == project, number == before)
        last = connection.scalar(sa.select(time).where(is_record))
        if last is None:
            raise unknown_error("record", before)
        statement = statement.where(sa.or_(time < last, sa.and_(time == last, number < before)))
    return list_values(connection, Record, statement.order_by(time.desc(), number.desc()).limit(most))


def count_matches(connection: Connection, project: int, record_filter: RecordFilter) -> int:
    """Count the records that match a filter."""
    statement = sa.select(sa.func.count()).select_from(records).where(_conditions(project, record_filter))
    return int(connection.scalar(statement) or 0)


def count_choices(connection: Connection, project: int) -> Mapping[str, Mapping[str, int]]:
    """The kinds, systems, branches and verdicts of a project's records, with counts."""
    columns = {name: records.c[name] for name in ("kind", "system", "branch", "verdict")}
    in_project = records.c.project == project
    counts: dict[str, dict[str, int]] = {}
    for name, column in columns.items():
        statement = sa.select(column, sa.func.count()).where(in_project).group_by(column).order_by(column)
        counts[name] = {label: int(n) for label, n in connection.execute(statement) if label}
    return counts


def _conditions(project: int, record_filter: RecordFilter) -> sa.ColumnElement[bool]:
    table = records.c
    conditions: list[sa.ColumnElement[bool]] = [table.project == project]
    if record_filter.kinds:
        conditions.append(table.kind.in_(list(record_filter.kinds)))
    for column, wanted_value in (
        (table.system, record_filter.system),
        (table.branch, record_filter.branch),
        (table.verdict, record_filter.verdict),
    ):
        if wanted_value is not None:
            conditions.append(column == wanted_value)
    if record_filter.judged:
        conditions.append(table.verdict.is_not(None))
    if record_filter.label:
        name, equals, value = record_filter.label.partition("=")
        label = table.labels[name].as_string()
        conditions.append(label == value if equals else label.is_not(None))
    if record_filter.words:
        conditions.append(_text_condition(record_filter.words))
    if record_filter.since is not None:
        conditions.append(table.evaluated_at >= record_filter.since)
    if record_filter.until is not None:
        conditions.append(table.evaluated_at < record_filter.until)
    return sa.and_(*conditions)


def _text_condition(text: str) -> sa.ColumnElement[bool]:
    table = records.c
    searched = (table.name, table.system, table.branch, table.revision)
    conditions = [column.icontains(text, autoescape=True) for column in searched]
    if len(text) >= _MIN_HASH_LETTERS:
        conditions.append(table.sha256.startswith(text, autoescape=True))
    return sa.or_(*conditions)
