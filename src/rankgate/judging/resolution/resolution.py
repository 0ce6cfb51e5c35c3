"""The result of ``resolve``: judgments made of ratings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Self

import polars as pl

from rankgate.core.errors import InputError
from rankgate.core.frozen import dataclass
from rankgate.core.present.codec import encode, frame
from rankgate.core.present.result import Notice, Result
from rankgate.data.place import RowLocation
from rankgate.data.qrels import Qrels

_UNRESOLVED = {
    "query_id": pl.String,
    "doc_id": pl.String,
    "why": pl.String,
    "grades": pl.List(pl.Float64),
}
_JUDGED = {"query_id": pl.String, "doc_id": pl.String, "grade": pl.Float64}
_RATE_DIFFERENCE = 0.1  # a difference of rates of strata that rounding does not explain


@dataclass(frozen=True)
class ResolvedJudgments(Result):
    """Judgments made of ratings: at most one grade per query and document, by a stated rule.

    Attributes:
        name: of the ratings.
        qrels: the judgments, ready for ``evaluate``; None where no pair was resolved.
        unresolved: ``query_id``, ``doc_id``, ``why``, ``grades`` (as given): pairs without a
            judgment; they can be given out again as a pool.
        made_by: the rule with its parameters, as recorded in the judgments.
        counts: ratings, corrected, cannot_tell, beyond_slots, raters, pairs, resolved, ties;
            unordered with slots (pairs whose first grades are those of the file's order, as times
            are missing), adjudicated where a rater decides.
    """

    kind: ClassVar[str] = "resolution"
    label: ClassVar[str] = "Judgments made of ratings"
    document_from: ClassVar[str] = "rankgate.judging.resolution.document:document"

    name: str
    qrels: Qrels | None
    unresolved: pl.DataFrame
    made_by: Mapping[str, Any]
    counts: Mapping[str, int]

    @property
    def cautions(self) -> tuple[str, ...]:
        """What to know before the judgments are used."""
        return (*self._order(), *self._strata())

    @property
    def notices(self) -> tuple[Notice, ...]:
        """The cautions, for programs."""
        return (
            *(Notice("no-times", text) for text in self._order()),
            *(Notice("unlike-strata", text) for text in self._strata()),
        )

    def judgments(self, label: str) -> Qrels:
        """The judgments.

        Raises:
            InputError: not one pair was resolved.
        """
        if self.qrels is None:
            problem = "no pair has a judgment; nobody graded, or all ties."
            raise InputError(problem, source=label, code="no-grades")
        return self.qrels

    def _table(self) -> pl.DataFrame:
        return self.qrels.table if self.qrels else pl.DataFrame(schema=_JUDGED)

    def _order(self) -> tuple[str, ...]:
        if not self.counts.get("unordered"):
            return ()
        message = (
            f"{self.counts['unordered']} pairs have more ratings than slots and not all times: the "
            "first rows of the file were taken."
        )
        return (message,)

    def _strata(self) -> tuple[str, ...]:
        if self.qrels is None:
            return ()
        table = self.qrels.table
        if not {"stratum", "inclusion"} <= set(table.columns) or not (table["grade"] < 0).any():
            return ()
        sample_rows = table.filter(pl.col("inclusion").is_not_null())
        rates = sample_rows.group_by("stratum").agg(pl.col("inclusion").mean()).sort("stratum")
        low, high = rates["inclusion"].min(), rates["inclusion"].max()
        if low is None or high - low <= _RATE_DIFFERENCE:  # type: ignore[operator]
            return ()
        rates_text = ", ".join(f"{name} {rate:.2f}" for name, rate in rates.iter_rows())
        message = (
            f"strata of unlike rates ({rates_text}): infAP takes them for one and is too high; "
            "draw one stratum for it, or weigh each document by 1/inclusion."
        )
        return (message,)

    def to_dict(self) -> dict[str, Any]:
        """Plain values for JSON."""
        return {
            **self.head(),
            "ratings": self.name,
            "made_by": dict(self.made_by),
            "counts": dict(self.counts),
            "cautions": list(self.cautions),
            "judgments": encode(self.qrels.table) if self.qrels else [],
            "unresolved": encode(self.unresolved),
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Self:
        """The result that ``to_dict`` was called on."""
        name, made_by, judgments = values["ratings"], values["made_by"], values["judgments"]
        qrels = None
        if judgments:
            qrels = Qrels(frame(judgments, _JUDGED), name, None, (), made_by, RowLocation(name))
        unresolved = frame(values["unresolved"], _UNRESOLVED)
        return cls(name, qrels, unresolved, made_by, values["counts"])
