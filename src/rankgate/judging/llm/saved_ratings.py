"""A model's ratings on disk: answers, costs, and which pairs are done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from rankgate.judging.llm.costs import Usage
from rankgate.judging.rating.session import PairRating, rating_row

if TYPE_CHECKING:
    from rankgate.data.streams.journal import Journal
    from rankgate.judging.llm.costs import Prices
    from rankgate.judging.llm.judge import JudgeRequest
    from rankgate.judging.llm.work import PairOutcome

Row = dict[str, Any]

_MAX_ANSWER = 4000  # characters of an answer
_EMPTY_DOCUMENT = "the document has no text"


@dataclass
class SavedRatings:
    """Ratings with the hashes of their requests, in a journal; nothing in it is ever changed.

    Attributes:
        journal: where all is kept.
        rater: the name in the ratings.
        model: who is asked.
        guideline: kept with each rating.
    """

    journal: Journal
    rater: str
    model: str
    guideline: str

    def left(self, asks: Sequence[JudgeRequest], *, again: bool = False) -> list[JudgeRequest]:
        """The requests whose answers are not known.

        A known answer that another template's answer has replaced since becomes the last one again.
        A document without text is never asked about.

        Args:
            asks: all requests.
            again: answers without a grade count as not known.
        """
        answers = {row.get("request"): row for row in self.journal.rows if row.get("answered")}
        last = self.last()
        unanswered = []
        for ask in asks:
            row = answers.get(ask.request)
            if not ask.task.document:
                row = {"grade": None, "reason": _EMPTY_DOCUMENT}
            elif row is None or (again and row.get("grade") is None):
                unanswered.append(ask)
                continue
            if last.get(ask.task.pair, {}).get("request") != ask.request:
                self._repeat(ask, row)
        return unanswered

    def keep(self, ask: JudgeRequest, outcome: PairOutcome) -> None:
        """Put an outcome on disk.

        Raises:
            UsageError: the disk is full or gone.
        """
        self.journal.add(self.row(ask, outcome))

    def row(self, ask: JudgeRequest, outcome: PairOutcome) -> Row:
        """An outcome as its line."""
        answer = outcome.answer
        seconds = round(outcome.seconds, 3)
        rating = PairRating(answer.grade, answer.reason, answer.comment, seconds)
        confidence = {} if answer.confidence is None else {"confidence": answer.confidence}
        return {
            **self._rating(ask, rating),
            **confidence,
            "answered": outcome.answered,
            "input_tokens": outcome.input_tokens,
            "output_tokens": outcome.output_tokens,
            "cost": outcome.cost,
            "attempts": outcome.attempts,
            "answer": outcome.text[:_MAX_ANSWER],
        }

    def last(self) -> dict[tuple[str, str], Row]:
        """The rater's last rating of each pair."""
        rows = (row for row in self.journal.rows if row.get("rater") == self.rater)
        return {(str(row.get("query_id")), str(row.get("doc_id"))): row for row in rows}

    def used(self, prices: Prices | None) -> Usage:
        """Requests, tokens and cost of the whole journal."""
        rows = self.journal.rows
        names = ("input_tokens", "output_tokens")
        tokens = sum(int(row.get(name) or 0) for row in rows for name in names)
        return Usage(sum(int(r.get("attempts") or 0) for r in rows), tokens, self.spent(prices))

    def spent(self, prices: Prices | None) -> float:
        """The cost of all requests in the journal; those without one cost these prices."""
        total = 0.0
        for row in self.journal.rows:
            if row.get("cost") is not None:
                total += float(row["cost"])
            elif prices is not None:
                tokens = (row.get("input_tokens") or 0, row.get("output_tokens") or 0)
                total += prices.cost(*tokens)
        return total

    def _repeat(self, ask: JudgeRequest, row: Mapping[str, Any]) -> None:
        rating = PairRating(row["grade"], row.get("reason"), row.get("comment"))
        self.journal.add(
            {
                **self._rating(ask, rating),
                "answered": True,
                "input_tokens": 0,
                "output_tokens": 0,
                "cost": 0.0,
                "attempts": 0,
                "answer": row.get("answer", ""),
            }
        )

    def _rating(self, ask: JudgeRequest, rating: PairRating) -> Row:
        timestamp = datetime.now(UTC)
        row = rating_row(ask.task, self.rater, rating, at=timestamp, guideline=self.guideline)
        return {**row, "model": self.model, "request": ask.request}
