"""A model's ratings on disk: answers, costs, and which pairs are done."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from rankgate.judging.llm.costs import Usage
from rankgate.judging.rating.session import GivenRating, rating_row

if TYPE_CHECKING:
    from rankgate.data.streams.journal import Journal
    from rankgate.judging.llm.costs import Prices
    from rankgate.judging.llm.judge import Ask
    from rankgate.judging.llm.work import PairOutcome

Row = dict[str, Any]

_KEPT = 4000  # characters of an answer
_EMPTY = "the document has no text"


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

    def left(self, asks: Sequence[Ask], *, again: bool = False) -> list[Ask]:
        """The requests whose answers are not known.

        An answer that is known, and that another template's replaced in between, becomes the
        last word again. A document without text is never asked about.

        Args:
            asks: all requests.
            again: answers without a grade count as not known.
        """
        known = {row.get("request"): row for row in self.journal.rows if row.get("answered")}
        last = self.last()
        found = []
        for ask in asks:
            row = known.get(ask.request)
            if not ask.task.document:
                row = {"grade": None, "reason": _EMPTY}
            elif row is None or (again and row.get("grade") is None):
                found.append(ask)
                continue
            if last.get(ask.task.pair, {}).get("request") != ask.request:
                self._repeat(ask, row)
        return found

    def keep(self, ask: Ask, outcome: PairOutcome) -> None:
        """Put an outcome on disk.

        Raises:
            UsageError: the disk is full or gone.
        """
        self.journal.add(self.row(ask, outcome))

    def row(self, ask: Ask, outcome: PairOutcome) -> Row:
        """An outcome as its line."""
        answer = outcome.answer
        seconds = round(outcome.seconds, 3)
        given = GivenRating(answer.grade, answer.reason, answer.comment, seconds)
        sure = {} if answer.confidence is None else {"confidence": answer.confidence}
        return {
            **self._rating(ask, given),
            **sure,
            "answered": outcome.answered,
            "input_tokens": outcome.input_tokens,
            "output_tokens": outcome.output_tokens,
            "cost": outcome.cost,
            "attempts": outcome.attempts,
            "answer": outcome.text[:_KEPT],
        }

    def last(self) -> dict[tuple[str, str], Row]:
        """The rater's last rating of each pair."""
        rows = (row for row in self.journal.rows if row.get("rater") == self.rater)
        return {(str(row.get("query_id")), str(row.get("doc_id"))): row for row in rows}

    def used(self, prices: Prices | None) -> Usage:
        """What all requests of the journal took."""
        rows = self.journal.rows
        names = ("input_tokens", "output_tokens")
        tokens = sum(int(row.get(name) or 0) for row in rows for name in names)
        return Usage(sum(int(r.get("attempts") or 0) for r in rows), tokens, self.spent(prices))

    def spent(self, prices: Prices | None) -> float:
        """What all requests of the journal cost; those without a cost at these prices."""
        total = 0.0
        for row in self.journal.rows:
            if row.get("cost") is not None:
                total += float(row["cost"])
            elif prices is not None:
                tokens = (row.get("input_tokens") or 0, row.get("output_tokens") or 0)
                total += prices.cost(*tokens)
        return total

    def _repeat(self, ask: Ask, row: Mapping[str, Any]) -> None:
        given = GivenRating(row["grade"], row.get("reason"), row.get("comment"))
        self.journal.add(
            {
                **self._rating(ask, given),
                "answered": True,
                "input_tokens": 0,
                "output_tokens": 0,
                "cost": 0.0,
                "attempts": 0,
                "answer": row.get("answer", ""),
            }
        )

    def _rating(self, ask: Ask, given: GivenRating) -> Row:
        at = datetime.now(UTC)
        row = rating_row(ask.task, self.rater, given, at=at, guideline=self.guideline)
        return {**row, "model": self.model, "request": ask.request}
