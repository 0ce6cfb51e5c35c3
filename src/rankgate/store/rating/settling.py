"""Settle tasks: done or disputed, by counts of answers and the strategy of the batch."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import sqlalchemy as sa

from rankgate.store.tables.facts import raters, ratings
from rankgate.store.tables.work import assignments, batches, tasks

if TYPE_CHECKING:
    from sqlalchemy import Connection

# statements are built once: that takes longer than running them
_NUMBER: sa.BindParameter[int] = sa.bindparam("number")
_LAST_FINAL = (
    sa.select(ratings.c.grade)
    .where(ratings.c.task == tasks.c.id, ratings.c.final)
    .order_by(ratings.c.id.desc())
    .limit(1)
    .correlate(tasks)
    .scalar_subquery()
)
_ANSWERS = (
    sa.select(
        tasks.c.gold,
        batches.c.kind,
        batches.c.strategy,
        batches.c.most,
        batches.c.state,
        _LAST_FINAL.label("final"),
        assignments.c.grade,
        assignments.c.choice,
        assignments.c.doubt,
        assignments.c.distance,
        raters.c.kind.label("of"),
    )
    .join(batches, batches.c.id == tasks.c.batch)
    .outerjoin(
        assignments,
        sa.and_(
            assignments.c.task == tasks.c.id,
            assignments.c.state == "answered",
        ),
    )
    .outerjoin(raters, raters.c.id == assignments.c.rater)
    .where(tasks.c.id == _NUMBER)
)
_UPDATE = sa.update(tasks).where(tasks.c.id == _NUMBER)


def settle(connection: Connection, task: int) -> str:
    """Recount people's answers to a task; return its new state.

    Models do not count, but where one doubts, or is far from what people said, the task is
    disputed, so that somebody has the final word.
    """
    number = {"number": task}
    answers = connection.execute(_ANSWERS, number).all()
    row = answers[0]
    people = [answer for answer in answers if answer.of == "person"]
    models = [answer for answer in answers if answer.of == "model"]
    people_answers = [answer.choice if answer.grade is None else answer.grade for answer in people]
    grades = [answer for answer in people_answers if answer not in ("", "none")]
    everybody = row.gold is not None or row.kind == "training"
    if everybody:
        state = "open"
    elif row.final is not None:  # somebody had the final word, and did not take it back
        state = "done"
    else:
        state = state_of(grades, len(people_answers), row.strategy, row.most)
        if state == "disputed" and row.kind in {"documents", "lists"}:
            state = "done"  # of preferences a difference is the result
        if models:
            asks_people = bool(row.most) and row.state != "closed"
            state = with_models(state, grades, models, asked=asks_people)
    counts = {"grades": len(grades), "answers": len(people_answers), "state": state}
    connection.execute(_UPDATE, number | counts)
    return state


def with_models(
    state: str, grades: Sequence[float | str], models: Sequence[Any], *, asked: bool
) -> str:
    """The state of a task that models rated too.

    Args:
        state: by what people said.
        grades: that people gave.
        models: with ``grade``, ``doubt``, and ``distance``, from which on a difference is a
            disagreement (None: never).
        asked: True if people are asked; otherwise a grade that the model does not doubt is enough.
    """
    if state == "open":
        doubt = any(model.doubt for model in models)
        return "open" if asked else "disputed" if doubt else "done"
    numbers = [grade for grade in grades if not isinstance(grade, str)]
    if state == "disputed" or not numbers:
        return state
    common_grade = Counter(numbers).most_common(1)[0][0]
    far = any(
        model.grade is not None
        and model.distance is not None
        and abs(model.grade - common_grade) >= model.distance
        for model in models
    )
    return "disputed" if far else state


def state_of(grades: Sequence[float | str], answers: int, strategy: str, max_answers: int) -> str:
    """The state of a task by people's answers.

    Args:
        grades: those given, or the sides preferred.
        answers: the number of answers, with those who cannot tell.
        strategy: of the batch.
        max_answers: after so many answers without a result a task is disputed.

    >>> state_of([2], 1, "1", 5), state_of([2, 0], 2, "2", 5), state_of([2, 0, 2], 3, "agree", 5)
    ('done', 'disputed', 'done')
    """
    counts = Counter(grades).most_common()
    if not answers:
        return "open"
    if strategy == "agree":
        if counts and counts[0][1] >= 2:
            return "done"
        return "disputed" if answers >= max_answers else "open"
    needed = int(strategy)
    if len(grades) >= needed:
        majority = counts[0][1] * 2 > len(grades)
        return "done" if majority else "disputed"
    return "disputed" if answers >= max(needed, max_answers) else "open"
