"""A rater at the terminal who works on a batch of a store, with the tasks of the web page."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

from rankgate.core.errors import UsageError
from rankgate.data.streams.journal import Closing
from rankgate.judging.rating_session import CANNOT_TELL, Screen, grade_keys, grades_of
from rankgate.store.material import projects
from rankgate.store.people import users
from rankgate.store.rating import batch_rules, batches, next_task, ratings, tasks

if TYPE_CHECKING:
    from rankgate.store.rating.tasks import Task
    from rankgate.store.stored_project import StoredProject


class StoreRating(Closing):
    """Rate the tasks of a batch one after another; each rating is stored at once.

    Args:
        project: an open project.
        batch: the name of the batch.
        rater: who rates; a user of the store, or anybody else.

    Raises:
        UsageError: the batch does not exist; the project has no scale.
    """

    def __init__(self, project: StoredProject, batch: str, rater: str) -> None:
        self._project = project
        with self._project.write() as connection:
            self._batch = batches.get_by_name(connection, project.number, batch).id
            scale = projects.scale(connection, project.number)
            user_ids = {user.name: user.id for user in users.list_users(connection)}
            self._rater = (
                users.rater_of_user(connection, user_ids[rater])
                if rater in user_ids
                else users.ensure(connection, rater)
            ).id
        if scale is None:
            raise UsageError(
                f"the project {project.name} has no scale; give it one when it is made.",
                code="scale-without-grades",
            )
        labels = dict(scale.labels)
        self._keys = {
            key: (grade, labels.get(grade, f"{grade:g}"))
            for key, grade in grade_keys(grades_of(scale)).items()
        }
        self._given: list[int] = []
        self._take()

    def _take(self) -> None:
        with self._project.write() as connection:
            project = self._project.number
            open_batches = batch_rules.prepare(connection, project, self._rater)
            number = next_task.take(
                connection,
                project,
                self._rater,
                batch=self._batch,
                barred=open_batches.barred,
                reserved=open_batches.reserved,
            )
            self._task: Task | None = None if number is None else tasks.get_task(connection, number)
            self.done = tasks.count_done(connection, self._project.number, self._batch).get(self._rater, 0)
            remaining_count = tasks.count_remaining(connection, self._batch, self._rater)
        self.total = self.done + remaining_count
        self._shown = time.monotonic()

    @property
    def screen(self) -> Screen | None:
        """The pair to rate now; None when no pair remains for this rater."""
        task = self._task
        if task is None or task.document is None:
            return None
        query_fields = {"text": task.query.text, "information_need": task.query.information_need}
        document_fields = {name: str(value) for name, value in task.document.fields.items()}
        return Screen(
            task.query.query_id,
            task.document.doc_id,
            {name: text for name, text in query_fields.items() if text},
            document_fields | ({"url": task.document.url} if task.document.url else {}),
            self.done,
            self.total,
            self._keys,
        )

    def rate(self, grade: float) -> None:
        """Give the current pair a grade.

        Raises:
            UsageError: a grade that is not on the scale.
        """
        self._keep(grade, None)

    def cannot_tell(self, reason: str = "") -> None:
        """Record that the rater cannot grade the current pair, with a reason."""
        self._keep(None, reason.strip() or CANNOT_TELL)

    def _keep(self, grade: float | None, reason: str | None) -> None:
        assert self._task is not None
        seconds = round(time.monotonic() - self._shown, 3)
        with self._project.write() as connection:
            ratings.rate(
                connection,
                self._task.id,
                self._rater,
                rating_id=ratings.new_rating_id(),
                grade=grade,
                reason=reason,
                seconds=seconds,
            )
        self._given.append(self._task.id)
        self._take()

    def skip(self) -> None:
        """Move the current pair to the end."""
        assert self._task is not None
        with self._project.write() as connection:
            next_task.postpone(connection, self._task.id, self._rater)
        self._take()

    def undo(self) -> bool:
        """Take back the last rating of this session, and show its pair again."""
        if not self._given:
            return False
        task = self._given.pop()
        with self._project.write() as connection:
            if self._task is not None:
                next_task.release(connection, self._task.id, self._rater)
            ratings.withdraw(connection, task, self._rater, rating_id=ratings.new_rating_id())
        self._take()
        return True

    def close(self) -> None:
        """Release the pair on the screen."""
        if self._task is not None:
            with self._project.write() as connection:
                next_task.release(connection, self._task.id, self._rater)
            self._task = None
