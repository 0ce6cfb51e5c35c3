"""The result of ``gold check``: which labels are wrong, and which are ambiguous."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar

import polars as pl

from rankgate.core.frozen import dataclass
from rankgate.core.present.codec import InputHash
from rankgate.core.present.result import Notice, Result

CONFIRMED, WRONG, AMBIGUOUS, OPEN = "confirmed", "wrong", "ambiguous", "open"
"""Status of a label: raters agree with it, agree on another grade, do not agree; too few."""


@dataclass(frozen=True)
class GoldCheck(Result):
    """Gold labels compared with the grades of raters who have not seen them.

    Attributes:
        gold: name and hash.
        ratings: their name.
        raters: how many there are.
        majority: the share of a pair's raters that must give the same grade.
        fewest: ratings that a pair needs.
        labels: ``query_id``, ``doc_id``, ``gold``, ``grade`` (most raters'), ``agree`` (of
            ``ratings``), ``status``; wrong ones first.
        shares: ``status``, ``pairs``, ``share`` of those that raters decided or could not, with
            ``low`` and ``high`` (95 %, over queries).
        grades: ``gold``, ``pairs``, ``wrong``, ``ambiguous``, ``mean`` (of raters).
        error: how often a rater errs, if all err alike, by how often two of them agree.
        by_chance: labels that would look wrong by such errors alone if all were right.
        systems: ``metric``, ``system``, ``gold``, ``corrected``, ``delta``: means with the wrong
            labels replaced; empty without runs.
        convention: by which systems were scored; None without runs.
        cautions: what to know before labels are changed.
    """

    kind: ClassVar[str] = "gold_check"
    label: ClassVar[str] = "Are the gold labels right?"
    document_from: ClassVar[str] = "rankgate.judging.gold.document:document"
    SCHEMAS: ClassVar[Mapping[str, Mapping[str, type[pl.DataType]]]] = {
        "labels": {
            "query_id": pl.String,
            "doc_id": pl.String,
            "gold": pl.Float64,
            "grade": pl.Float64,
            "agree": pl.Int64,
            "ratings": pl.Int64,
            "status": pl.String,
        },
        "shares": {
            "status": pl.String,
            "pairs": pl.Int64,
            "share": pl.Float64,
            "low": pl.Float64,
            "high": pl.Float64,
        },
        "grades": {
            "gold": pl.Float64,
            "pairs": pl.Int64,
            "wrong": pl.Int64,
            "ambiguous": pl.Int64,
            "mean": pl.Float64,
        },
        "systems": {
            "metric": pl.String,
            "system": pl.String,
            "gold": pl.Float64,
            "corrected": pl.Float64,
            "delta": pl.Float64,
        },
    }

    gold: InputHash
    ratings: str
    raters: int
    majority: float
    fewest: int
    labels: pl.DataFrame
    shares: pl.DataFrame
    grades: pl.DataFrame
    error: float | None
    by_chance: float | None
    systems: pl.DataFrame
    convention: Mapping[str, Any] | None
    cautions: tuple[str, ...] = ()

    @property
    def notices(self) -> tuple[Notice, ...]:
        """What to know before labels are changed."""
        return tuple(Notice("gold-check", text, self.gold[0]) for text in self.cautions)

    def _table(self) -> pl.DataFrame:
        return self.labels
