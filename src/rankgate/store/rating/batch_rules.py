"""Rules of a batch: its raters, the qualification, repeated pairs, and the end of the batch.

The rules are settings of the batch. A stopped batch is paused: raters get no new tasks from it, and
answers in progress are still recorded.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from rankgate.core.frozen import dataclass
from rankgate.core.present.number_formats import count_noun
from rankgate.store.rating import batches as batches_of
from rankgate.store.rating import tasks as tasks_of
from rankgate.store.rows import insert, now
from rankgate.store.tables.rating_tables import (
    QUERY_SHOWN,
    answer_counts,
    assignments,
    batches,
    raters,
    tasks,
)

if TYPE_CHECKING:
    from sqlalchemy import Connection

    from rankgate.core.value_types import JsonObject
    from rankgate.store.rating.batches import Batch

QUALIFIED_SHARE = 0.8
"""The default share of known grades that a qualification requires."""

AGAIN_HOURS = 24.0
"""The default hours after which pairs are repeated."""


@dataclass(frozen=True)
class BatchRules:
    """The rules of a batch.

    Attributes:
        raters: the numbers of the raters who may rate the batch; empty means all.
        qualification: the number of the batch that raters must pass first.
        share: the share of known grades in that batch that a rater must match.
        again_share: the share of pairs that the same rater gets a second time.
        again_hours: the number of hours before a pair is repeated.
        again_of: the number of the batch whose pairs this batch repeats.
        stop_ratings: the number of ratings after which the batch stops.
        stop_hours: the hours of work after which the batch stops.
        stop_at: the time at which the batch stops.
        stop_agreed: True if the batch stops when no pair is open or disputed.
        stopped: the reason why the batch stopped; empty while it continues.
    """

    raters: tuple[int, ...] = ()
    qualification: int | None = None
    share: float = QUALIFIED_SHARE
    again_share: float = 0.0
    again_hours: float = AGAIN_HOURS
    again_of: int | None = None
    stop_ratings: int | None = None
    stop_hours: float | None = None
    stop_at: datetime | None = None
    stop_agreed: bool = False
    stopped: str = ""


_DEFAULT_RULES = BatchRules()


def rules_of(settings: Mapping[str, Any]) -> BatchRules:
    """The rules in the settings of a batch."""
    values = dict(settings.get("rules") or {})
    if values.get("stop_at"):
        values["stop_at"] = datetime.fromisoformat(values["stop_at"])
    values["raters"] = tuple(values.get("raters") or ())
    return BatchRules(**values)


def set_rules(connection: Connection, batch: Batch, rules: BatchRules) -> Batch:
    """Save rules in the settings of a batch."""
    values = {name: value for name, value in vars(rules).items() if value != getattr(_DEFAULT_RULES, name)}
    if rules.raters:
        values["raters"] = list(rules.raters)
    if rules.stop_at is not None:
        values["stop_at"] = rules.stop_at.isoformat()
    other_settings = {name: value for name, value in batch.settings.items() if name != "rules"}
    settings: JsonObject = {**other_settings, **({"rules": values} if values else {})}
    return batches_of.change_batch(connection, batch.id, settings=settings)


@dataclass(frozen=True)
class OpenBatches:
    """The open batches of a project, for one rater.

    Attributes:
        barred: batches from which the rater gets no tasks.
        reserved: batches from which the rater gets only the tasks reserved for them.
        failed: qualifications that the rater completed and did not pass.
    """

    barred: frozenset[int] = frozenset()
    reserved: frozenset[int] = frozenset()
    failed: tuple[Qualification, ...] = ()


@dataclass(frozen=True)
class Qualification:
    """The result of a rater in a batch with known grades.

    Attributes:
        batch: the number of the batch.
        name: the name of the batch.
        questions: the number of known grades.
        answered: the number of these that the rater answered.
        right: the number of these answered with the known grade.
        share: the required share of right answers.
    """

    batch: int
    name: str
    questions: int
    answered: int
    right: int
    share: float

    @property
    def passed(self) -> bool:
        """True if all questions are answered, and enough answers are right."""
        return self.answered >= self.questions > 0 and self.right >= self.share * self.questions


_OPEN = (
    sa.select(batches.c.id, batches.c.name, batches.c.settings)
    .where(
        batches.c.project == sa.bindparam("project"),
        batches.c.state == "open",
        batches.c.archived_at.is_(None),
    )
    .order_by(batches.c.id)
)


def prepare(connection: Connection, project: int, rater: int, moment: datetime | None = None) -> OpenBatches:
    """Apply the rules of a project's open batches before a rater gets a task.

    Finished batches are paused, and repeated pairs are reserved for the rater.

    Args:
        connection: a connection to a store, for writing.
        project: the number of the project.
        rater: the number of the rater.
        moment: the time, for tests.
    """
    asked_at = moment or now()
    barred, reserved, failed = set(), set(), []
    for row in connection.execute(_OPEN, {"project": project}).all():
        rules = rules_of(row.settings)
        if rules == _DEFAULT_RULES:
            continue
        if reason := _stop_reason(connection, project, row.id, rules, asked_at):
            stored_batch = batches_of.change_batch(connection, row.id, state="paused")
            stopped_rules = BatchRules(**(vars(rules) | {"stopped": reason}))
            set_rules(connection, stored_batch, stopped_rules)
            continue
        if rules.again_of is not None:
            reserved.add(row.id)
        if rules.raters and rater not in rules.raters:
            barred.add(row.id)
        elif rules.qualification is not None:
            result = qualification(connection, rater, rules.qualification, rules.share)
            if not result.passed:
                barred.add(row.id)
                if result.answered >= result.questions:
                    failed.append(result)
        if rules.again_share and row.id not in barred:
            again_batch = _again_batch(connection, row.id, row.name)
            _keep_again(connection, row.id, again_batch, rater, rules, asked_at)
            reserved.add(again_batch)
    return OpenBatches(frozenset(barred), frozenset(reserved), tuple(dict.fromkeys(failed)))


def qualification(
    connection: Connection, rater: int, batch: int, share: float = QUALIFIED_SHARE
) -> Qualification:
    """The result of a rater in a batch with known grades."""
    is_answer = sa.and_(
        assignments.c.task == tasks.c.id, assignments.c.rater == rater, assignments.c.state == "answered"
    )
    statement = (
        sa.select(
            sa.func.count(tasks.c.id),
            sa.func.count(assignments.c.task),
            sa.func.count().filter(assignments.c.grade == tasks.c.gold),
        )
        .select_from(tasks.outerjoin(assignments, is_answer))
        .where(tasks.c.batch == batch, tasks.c.gold.is_not(None), QUERY_SHOWN)
    )
    questions, answered, right = connection.execute(statement).one()
    name = connection.scalar(sa.select(batches.c.name).where(batches.c.id == batch)) or ""
    return Qualification(batch, name, questions, answered, right, share)


def _stop_reason(
    connection: Connection, project: int, batch: int, rules: BatchRules, moment: datetime
) -> str:
    """The reason why a batch must stop; empty if it continues."""
    if rules.stop_at is not None and moment >= rules.stop_at:
        return f"the date {rules.stop_at:%Y-%m-%d %H:%M} UTC is reached"
    if rules.stop_ratings is not None or rules.stop_hours is not None:
        of_batch = sa.select(tasks.c.id).where(tasks.c.batch == batch)
        answered = sa.select(sa.func.count()).where(
            assignments.c.task.in_(of_batch), assignments.c.state == "answered"
        )
        worked = sa.select(sa.func.sum(answer_counts.c.active_seconds)).where(
            answer_counts.c.project == project, answer_counts.c.batch == batch
        )
        count, seconds = connection.scalar(answered) or 0, float(connection.scalar(worked) or 0.0)
        if rules.stop_ratings is not None and count >= rules.stop_ratings:
            return f"{count_noun(count, 'rating is', 'ratings are')} given"
        if rules.stop_hours is not None and seconds >= rules.stop_hours * 3600:
            return f"{seconds / 3600:.1f} hours are worked"
    if rules.stop_agreed:
        progress = tasks_of.progress(connection, project, batch)
        if progress.total and not progress.open and not progress.disputed:
            return "every pair has its grade"
    return ""


def _again_batch(connection: Connection, batch: int, name: str) -> int:
    """The number of the batch that repeats pairs of another batch; a missing batch is created.

    Its ratings are marked as training ratings: they do not count, and do not correct earlier
    ratings.
    """
    original = batches_of.get_batch(connection, batch)
    again_name = f"{name} (again)"
    number = connection.scalar(
        sa.select(batches.c.id).where(batches.c.project == original.project, batches.c.name == again_name)
    )
    if number is not None:
        return int(number)
    new_batch = batches_of.add_batch(
        connection,
        original.project,
        again_name,
        kind="training",
        priority=original.priority,
        blind=original.blind,
        by_query=original.by_query,
        seed=original.seed,
        guideline=original.guideline,
    )
    set_rules(connection, new_batch, BatchRules(again_of=batch))
    return new_batch.id


_THOUSAND = 1000


def _keep_again(
    connection: Connection, batch: int, again_batch: int, rater: int, rules: BatchRules, moment: datetime
) -> None:
    """Reserve pairs for a rater who rated them some time ago."""
    again_task = tasks.alias()
    own_assignments = assignments.alias()
    kept_subjects = (
        sa.select(again_task.c.id)
        .join(own_assignments, own_assignments.c.task == again_task.c.id)
        .where(
            again_task.c.batch == again_batch,
            again_task.c.query == tasks.c.query,
            again_task.c.subject == tasks.c.subject,
            own_assignments.c.rater == rater,
        )
        .exists()
    )
    is_chosen = (tasks.c.place + rater * 7919) % _THOUSAND < round(rules.again_share * _THOUSAND)
    statement = (
        sa.select(tasks.c.project, tasks.c.query, tasks.c.document, tasks.c.subject, tasks.c.place)
        .join(assignments, assignments.c.task == tasks.c.id)
        .where(
            tasks.c.batch == batch,
            tasks.c.document.is_not(None),
            tasks.c.gold.is_(None),
            assignments.c.rater == rater,
            assignments.c.state == "answered",
            assignments.c.grade.is_not(None),
            assignments.c.at <= moment - timedelta(hours=rules.again_hours),
            is_chosen,
            sa.not_(kept_subjects),
        )
        .limit(_THOUSAND)
    )
    due_rows = [dict(row._mapping) for row in connection.execute(statement)]  # noqa: SLF001 - public
    if not due_rows:
        return
    connection.execute(
        insert(connection, tasks).on_conflict_do_nothing(),
        [{**row, "batch": again_batch} for row in due_rows],
    )
    for row in due_rows:
        is_pair = sa.and_(
            tasks.c.batch == again_batch, tasks.c.query == row["query"], tasks.c.subject == row["subject"]
        )
        number = connection.scalar(sa.select(tasks.c.id).where(is_pair))
        statement_of_one = insert(connection, assignments).values(
            task=number, rater=rater, state="later", until=None, at=moment
        )
        connection.execute(statement_of_one.on_conflict_do_nothing())


def count_reserved(connection: Connection, rater: int, batch_numbers: Sequence[int]) -> dict[int, int]:
    """Count the tasks of batches that are reserved for a rater or answered by the rater."""
    statement = (
        sa.select(tasks.c.batch, sa.func.count())
        .join(assignments, assignments.c.task == tasks.c.id)
        .where(tasks.c.batch.in_(batch_numbers), assignments.c.rater == rater)
        .group_by(tasks.c.batch)
    )
    return {batch: count for batch, count in connection.execute(statement)}  # noqa: C416 - rows


@dataclass(frozen=True)
class SelfAgreement:
    """A rater's agreement with their own earlier grades: pairs, equal grades, mean distance."""

    rater: str
    pairs: int
    equal: int
    distance: float


def self_agreement(connection: Connection, project: int) -> list[SelfAgreement]:
    """The agreement of each rater's grades on repeated pairs."""
    first_task, first = tasks.alias(), assignments.alias()
    original: dict[int, int] = {
        batch.id: rules.again_of
        for batch in batches_of.list_batches(connection, project)
        if (rules := rules_of(batch.settings)).again_of is not None
    }
    pairs: dict[str, list[float]] = {}
    for again_batch, batch in original.items():
        statement = (
            sa.select(raters.c.name, assignments.c.grade, first.c.grade.label("first"))
            .select_from(tasks)
            .join(assignments, assignments.c.task == tasks.c.id)
            .join(raters, raters.c.id == assignments.c.rater)
            .join(
                first_task,
                sa.and_(
                    first_task.c.batch == batch,
                    first_task.c.query == tasks.c.query,
                    first_task.c.subject == tasks.c.subject,
                ),
            )
            .join(first, sa.and_(first.c.task == first_task.c.id, first.c.rater == assignments.c.rater))
            .where(
                tasks.c.batch == again_batch,
                assignments.c.state == "answered",
                assignments.c.grade.is_not(None),
                first.c.grade.is_not(None),
            )
            .order_by(raters.c.name, tasks.c.id)
        )
        for name, grade, first_grade in connection.execute(statement):
            pairs.setdefault(name, []).append(abs(grade - first_grade))
    return [
        SelfAgreement(
            name,
            len(distances),
            sum(distance == 0 for distance in distances),
            sum(distances) / len(distances),
        )
        for name, distances in sorted(pairs.items())
    ]
