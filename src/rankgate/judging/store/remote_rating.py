"""A rater at the terminal who works on a batch of a server, over its REST API."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any
from uuid import uuid4

from rankgate.core.errors import UsageError
from rankgate.data.streams.journal import Closing
from rankgate.judging.rating_session import CANNOT_TELL, Screen

if TYPE_CHECKING:
    from rankgate.store.client.remote_project import RemoteProject


class RemoteRating(Closing):
    """Rate the tasks of a batch as the user of the token; each rating is sent at once.

    Args:
        project: the project of a server.
        batch: its name.

    Raises:
        UsageError: the batch does not exist; the token allows no ratings.
    """

    def __init__(self, project: RemoteProject, batch: str) -> None:
        self._client = project.client
        self._batch = project.batch(batch)
        self._given: list[int] = []
        self._show(self._client.get("rate", batch=self._batch))

    def _show(self, state: dict[str, Any]) -> None:
        self._state = state
        progress = state["progress"]
        self.done = int(progress["mine"])
        self.total = self.done + int(progress["total"]) - int(progress["done"])
        self._shown = time.monotonic()

    @property
    def _task(self) -> dict[str, Any]:
        task: dict[str, Any] | None = self._state["task"]
        assert task is not None
        return task

    @property
    def screen(self) -> Screen | None:
        """The pair to rate now; None when no pair remains for this rater."""
        task = self._state["task"]
        if task is None:
            return None
        if len(task["sides"]) != 1:
            problem = "this batch compares two documents or lists; rate it on the server's page."
            raise UsageError(problem, code="unsupported-batch")
        (side,) = task["sides"]
        query_fields = {name: task["query"][name] for name in ("text", "information_need")}
        document_fields = {
            field["name"]: "".join(text for text, _ in field["segments"]) for field in side["fields"]
        }
        return Screen(
            task["query"]["query_id"],
            side["doc_id"],
            {name: text for name, text in query_fields.items() if text},
            document_fields | ({"url": side["url"]} if side["url"] else {}),
            self.done,
            self.total,
            {grade["key"]: (grade["grade"], grade["label"]) for grade in self._state["scale"]},
        )

    def rate(self, grade: float) -> None:
        """Give the current pair a grade.

        Raises:
            UsageError: the server refuses.
        """
        self._send("ratings", rating_id=str(uuid4()), grade=grade, seconds=self._seconds)

    def cannot_tell(self, reason: str = "") -> None:
        """Record that the rater cannot grade the current pair, with a reason."""
        reason_text = reason.strip() or CANNOT_TELL
        self._send("ratings", rating_id=str(uuid4()), reason=reason_text, seconds=self._seconds)

    def skip(self) -> None:
        """Move the current pair to the end."""
        self._show(self._client.post("ratings/later", task=self._task["id"], batch=self._batch))

    def undo(self) -> bool:
        """Take back the last rating of this session, and show its pair again."""
        if not self._given:
            return False
        withdrawal = {"task": self._given.pop(), "rating_id": str(uuid4()), "batch": self._batch}
        self._show(self._client.post("ratings/withdraw", **withdrawal))
        return True

    @property
    def _seconds(self) -> float:
        return round(time.monotonic() - self._shown, 3)

    def _send(self, path: str, **values: Any) -> None:
        number = int(self._task["id"])
        state = self._client.post(path, task=number, batch=self._batch, **values)
        self._given.append(number)
        self._show(state)

    def close(self) -> None:
        """Do nothing, because the server releases the pair after a while."""
