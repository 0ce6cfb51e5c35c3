"""The result of ``rate``: a model's ratings of a pool."""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar

from rankgate.core.frozen import dataclass
from rankgate.core.present.codec import InputHash
from rankgate.core.present.result import Result


@dataclass(frozen=True)
class ModelRatings(Result):
    """A pool rated by a language model: how many pairs have a grade, why others have none, cost.

    Attributes:
        rater: who rates, in the file of ratings.
        model: who was asked.
        template: name and SHA-256 of the template.
        pairs: in the pool.
        graded: pairs with a grade now.
        known: pairs whose answer was there before.
        asked: pairs that were asked now.
        reasons: why pairs have no grade, with how many.
        unanswered: of them, those that will be asked again.
        left: pairs that were not asked.
        input_tokens, output_tokens: of this time.
        cost: of this time; None without prices.
        spent: on this file of ratings in all; None without prices.
        stopped: why pairs are left; empty where none are.
    """

    kind: ClassVar[str] = "model_ratings"
    label: ClassVar[str] = "Ratings of a language model"
    document_from: ClassVar[str] = "rankgate.judging.llm.document:document"

    rater: str
    model: str
    template: InputHash
    pairs: int
    graded: int
    known: int
    asked: int
    reasons: Mapping[str, int]
    unanswered: int
    left: int
    input_tokens: int
    output_tokens: int
    cost: float | None
    spent: float | None
    stopped: str = ""

    @property
    def status(self) -> int:
        """The exit code: 0 all pairs are answered; 3 some are not."""
        return 3 if self.left or self.unanswered else 0
