"""The file next to a model's ratings that holds requests whose answers are not kept yet."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

from rankgate.data.streams.closing import Closing
from rankgate.data.streams.journal import Journal
from rankgate.judging.llm.answers import Answer
from rankgate.judging.llm.work import PairOutcome

if TYPE_CHECKING:
    from rankgate.judging.llm.judge import JudgeRequest
    from rankgate.judging.llm.saved_ratings import SavedRatings

_UNREAD = "no answer: the program ended before it was read"


@dataclass
class RequestFile(Closing):
    """Keep each request on disk before it is sent, with the most that it can take.

    A request is settled by a later row of its hash in the ratings. Those that a program left when
    it was killed become rows without a grade when the ratings are opened again, so that limits
    count what they may have cost. The file is gone when all is settled.

    Attributes:
        path: ``RATINGS.requests``.
        saved: the ratings.
    """

    path: Path
    saved: SavedRatings
    _journal: Journal | None = None

    @classmethod
    def open(cls, saved: SavedRatings) -> Self:
        """Open the file; requests that a killed program left become rows without a grade.

        Raises:
            InputError: the file holds something else.
            UsageError: a file that cannot be written.
        """
        path = saved.journal.path
        requests = cls(path.with_name(f"{path.name}.requests"), saved)
        if requests.path.exists():
            requests._journal = Journal.open(requests.path)
            if unread := requests._unsettled(requests._journal):
                saved.journal.extend(unread)
            requests.close()
        return requests

    def begin(self, ask: JudgeRequest, tokens: tuple[int, int], cost: float | None) -> None:
        """Record a request before it is sent.

        Raises:
            UsageError: the disk is full or gone.
        """
        if self._journal is None:
            self._journal = Journal.open(self.path)
        outcome = PairOutcome(
            Answer(None, _UNREAD),
            answered=False,
            input_tokens=tokens[0],
            output_tokens=tokens[1],
            cost=cost,
            attempts=1,
        )
        rows = len(self.saved.journal.rows)
        self._journal.add({"rows": rows, "row": self.saved.row(ask, outcome)})

    def discard(self, ask: JudgeRequest) -> None:
        """Record that the requests of a pair cost nothing and gave nothing."""
        if self._journal is not None:
            self._journal.add({"discarded": ask.request})

    def close(self) -> None:
        """Close the file, and remove it if every request is settled."""
        journal, self._journal = self._journal, None
        if journal is None:
            return
        if not self._unsettled(journal):
            self.path.unlink(missing_ok=True)
        journal.close()

    def _unsettled(self, journal: Journal) -> list[dict[str, Any]]:
        """The rows of requests that are neither discarded nor answered by a later rating."""
        lines: dict[str, list[dict[str, Any]]] = {}
        for line in journal.rows:
            if "discarded" in line:
                lines.pop(line["discarded"], None)
            else:
                lines.setdefault(line["row"]["request"], []).append(line)
        last = {row.get("request"): index for index, row in enumerate(self.saved.journal.rows)}
        return [
            line["row"]
            for request, request_lines in lines.items()
            for line in request_lines
            if last.get(request, -1) < line["rows"]
        ]
